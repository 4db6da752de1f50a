"""Unpacking of matrix operands: registers [n, lanes] to elements [per lane, lanes].

All values come back as float64 (exact for every type) or int64, ready for one
exact product sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isaprof.sim.semantics.formats import bf16_to_f32, decode_table

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any

BITS = {
    "f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i8": 8, "u8": 8, "i4": 4, "u4": 4,
    "fp8": 8, "bf8": 8, "fp8_fnuz": 8, "bf8_fnuz": 8, "fp6": 6, "bf6": 6, "fp4": 4,
}  # fmt: skip


def _split(regs: Vec, dtype: Any) -> Vec:
    """Registers as fields of ``dtype``, low bits first: [fields, lanes]."""
    n, lanes = regs.shape
    per = 4 // np.dtype(dtype).itemsize
    fields = np.ascontiguousarray(regs).view(dtype).reshape(n, lanes, per)
    return fields.transpose(0, 2, 1).reshape(n * per, lanes)


def _nibbles(regs: Vec) -> Vec:
    b = _split(regs, np.uint8)
    return np.stack([b & 15, b >> 4], axis=1).reshape(2 * b.shape[0], b.shape[1])


def _six_bits(regs: Vec) -> Vec:
    """32 codes of 6 bits from 6 registers."""
    bits = np.unpackbits(_split(regs, np.uint8), axis=0, bitorder="little")
    codes = bits.reshape(-1, 6, regs.shape[1])
    return (codes * (1 << np.arange(6, dtype=np.uint8))[None, :, None]).sum(axis=1).astype(np.uint8)


def codes_of(regs: Vec, bits: int) -> Vec:
    """Codes of 4, 6 or 8 bits in registers (uint32 [n, lanes]), uint8 [codes, lanes]."""
    if bits == 8:
        return _split(regs, np.uint8)
    return _nibbles(regs) if bits == 4 else _six_bits(regs)


def pack_codes(codes: Vec, bits: int) -> Vec:
    """The inverse of :func:`codes_of`: codes [n, lanes] into registers uint32 [n * bits / 32, lanes]."""
    n, lanes = codes.shape
    each = np.unpackbits(codes.astype(np.uint8).T.reshape(lanes, n, 1), axis=2, bitorder="little")[
        :, :, :bits
    ]
    packed = np.packbits(each.reshape(lanes, n * bits), axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32).T


def unpack(regs: Vec, kind: str) -> Vec:
    """Elements of ``kind`` in registers (uint32 [n, lanes]), as float64 or int64."""
    match kind:
        case "f32":
            return regs.view(np.float32).astype(np.float64)
        case "f64":
            return (regs[0::2].astype(np.uint64) | regs[1::2].astype(np.uint64) << np.uint64(32)).view(
                np.float64
            )
        case "f16":
            return _split(regs, np.uint16).view(np.float16).astype(np.float64)
        case "bf16":
            return bf16_to_f32(_split(regs, np.uint16)).astype(np.float64)
        case "i8":
            return _split(regs, np.int8).astype(np.int64)
        case "u8":
            return _split(regs, np.uint8).astype(np.int64)
        case "u4":
            return _nibbles(regs).astype(np.int64)
        case "i4":
            x = _nibbles(regs).astype(np.int64)
            return x - 16 * (x >= 8)
        case "fp4":
            return decode_table("fp4")[_nibbles(regs)].astype(np.float64)
        case "fp6" | "bf6":
            return decode_table(kind)[_six_bits(regs)].astype(np.float64)
    return decode_table(kind)[_split(regs, np.uint8)].astype(np.float64)
