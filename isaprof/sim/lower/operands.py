"""Operands by type: getters for vector and scalar sources, and result writers.

A vector getter returns a NumPy vector over lanes, or a NumPy scalar for a
source that is the same in all lanes (SGPR, constant). Constants: RDNA3 ISA,
"Literal constants" and "Inline constants"; LLVM prints them resolved.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Operand, OperandKind, RegClass, RegSpan
from isaprof.sim.lower.context import Context, IllegalOperand, Unimplemented
from isaprof.sim.state import EXEC, FLAT_SCRATCH, M0, NULL, TTMP, VCC, XNACK_MASK, Wave, mask_of

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
Get = Callable[[Wave], Any]
Put = Callable[[Wave, Any, bool, Any], None]

DTYPES: dict[str, Any] = {
    "u32": np.uint32, "i32": np.int32, "f32": np.float32, "u16": np.uint16, "i16": np.int16,
    "f16": np.float16, "bf16": np.uint16, "u64": np.uint64, "i64": np.int64, "f64": np.float64,
}  # fmt: skip
FLOATS = frozenset({"f32", "f16", "f64"})
WIDE = frozenset({"u64", "i64", "f64"})
HALF = frozenset({"u16", "i16", "f16", "bf16"})

#: 64-bit apertures of LDS and scratch in the flat address space (high dword), as ROCm sets them up
SHARED_BASE_HI, PRIVATE_BASE_HI = 0x0001_0000, 0x0002_0000
_SOURCES = {
    "src_shared_base": SHARED_BASE_HI << 32, "shared_base": SHARED_BASE_HI << 32,
    "src_shared_limit": SHARED_BASE_HI << 32 | 0xFFFFFFFF, "shared_limit": SHARED_BASE_HI << 32 | 0xFFFFFFFF,
    "src_private_base": PRIVATE_BASE_HI << 32, "private_base": PRIVATE_BASE_HI << 32,
    "src_private_limit": PRIVATE_BASE_HI << 32 | 0xFFFFFFFF,
    "private_limit": PRIVATE_BASE_HI << 32 | 0xFFFFFFFF,
}  # fmt: skip

#: LLVM prints 1/(2*pi) rounded; the hardware constant per width (RDNA3 ISA, inline constant 248)
_INV_2PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}


def scalar_slot(reg: RegSpan) -> int | None:
    """Slot in the scalar file; None when ``reg`` is no scalar register."""
    match reg.cls:
        case RegClass.SGPR:
            return reg.index
        case RegClass.VCC:
            return VCC + reg.index
        case RegClass.TTMP:
            return TTMP + reg.index
        case RegClass.M0:
            return M0
        case RegClass.NULL:
            return NULL
        case RegClass.EXEC:
            return EXEC + reg.index
        case RegClass.FLAT_SCRATCH:
            return FLAT_SCRATCH + reg.index
        case RegClass.XNACK_MASK:
            return XNACK_MASK + reg.index
    return None


def row_of(ctx: Context, reg: RegSpan, count: int | None = None) -> int:
    """Row in Wave.v of a VGPR or AGPR span; IllegalOperand beyond what the kernel was granted.

    One file holds both: AGPR n is row ACCUM_OFFSET + n, and a VGPR number beyond
    ACCUM_OFFSET is that row (LLVM AMDGPU usage guide, compute_pgm_rsrc3: "offset of a first
    AccVGPR in the unified register file"; aiter's attention kernels for
    gfx950 use v255 with an ACCUM_OFFSET of 160).
    """
    n = reg.count if count is None else count
    if reg.cls is RegClass.VGPR:
        granted = ctx.vgprs + ctx.agprs
        if reg.index + n > granted:
            raise IllegalOperand(
                f"v{reg.index + n - 1} is beyond the {granted} VGPRs of the kernel descriptor"
            )
        return reg.index
    if reg.cls is RegClass.AGPR:
        if reg.index + n > ctx.agprs:
            raise IllegalOperand(
                f"a{reg.index + n - 1} is beyond the {ctx.agprs} AGPRs of the kernel descriptor"
            )
        return ctx.vgprs + reg.index
    raise Unimplemented(f"{reg.cls} where a vector register is needed")


def is_vector(o: Operand) -> bool:
    return o.reg is not None and o.reg.cls in (RegClass.VGPR, RegClass.AGPR)


def constant_bits(o: Operand, bits: int, *, is_float: bool = False) -> int:
    """Bit pattern of a constant operand of width 16, 32 or 64.

    Integers are sign-extended; float constants take the pattern of the width.
    A 32-bit literal in front of an f64 source is its high dword.
    """
    mask = (1 << bits) - 1
    if o.kind is OperandKind.INT and isinstance(o.value, int):
        if bits == 64 and is_float and not -16 <= o.value <= 64:
            return (o.value & 0xFFFFFFFF) << 32
        return o.value & mask
    if o.kind is OperandKind.FLOAT and o.value is not None:
        v = float(o.value)
        if abs(v - 0.15915494309189532) < 1e-4:
            return _INV_2PI[bits]
        code = {16: "<e", 32: "<f", 64: "<d"}[bits]
        return int.from_bytes(struct.pack(code, v), "little")
    raise Unimplemented(f"operand {o.text!r}")


def scalar_getter(ctx: Context, o: Operand, bits: int, *, is_float: bool = False) -> Callable[[Wave], int]:
    """Getter of a scalar source as an unsigned Python int of 16, 32 or 64 bits."""
    if o.kind is not OperandKind.REG or o.reg is None:
        k = constant_bits(o, bits, is_float=is_float)
        return lambda w: k
    reg = o.reg
    text = o.text.lstrip("-|").rstrip("|")
    if text.endswith("vccz"):
        return lambda w: int(w.lane_mask(VCC) == 0)
    if text.endswith("execz"):
        return lambda w: int(w.lane_mask(EXEC) == 0)
    if reg.cls is RegClass.SCC:
        return lambda w: w.scc
    if reg.cls is RegClass.SOURCE:
        value = _SOURCES.get(text)
        if value is None:
            raise Unimplemented(f"source {text}")
        v = value if bits == 64 else value >> 32
        return lambda w: v
    slot = scalar_slot(reg)
    if slot is None:
        raise Unimplemented(f"{o.text} as a scalar source")
    if slot == NULL:
        return lambda w: 0
    if bits == 64:
        i = slot
        return lambda w: w.s[i] | w.s[i + 1] << 32
    i = slot
    if bits == 16:
        shift = 16 if o.half == "h" else 0
        return lambda w: w.s[i] >> shift & 0xFFFF
    return lambda w: w.s[i]


def scalar_putter(o: Operand, bits: int) -> Callable[[Wave, int], None]:
    """Writer of an unsigned int to a scalar destination."""
    slot = None if o.reg is None else scalar_slot(o.reg)
    if slot is None:
        raise Unimplemented(f"{o.text} as a scalar destination")
    i = slot
    if i == NULL:
        return lambda w, x: None
    if bits == 64:

        def put64(w: Wave, x: int) -> None:
            w.s[i] = x & 0xFFFFFFFF
            w.s[i + 1] = x >> 32
            if i >= EXEC:
                w.refresh_exec()

        return put64

    def put(w: Wave, x: int) -> None:
        w.s[i] = x
        if i >= EXEC:
            w.refresh_exec()

    def put_low(w: Wave, x: int) -> None:
        w.s[i] = x

    return put if i >= EXEC else put_low


def _scalar_as_type(ctx: Context, o: Operand, t: str, half: int) -> Get:
    if t in WIDE:
        g = scalar_getter(ctx, o, 64, is_float=t == "f64")
        dtype = DTYPES[t]
        return lambda w: np.uint64(g(w)).view(dtype)
    if t in HALF:
        if o.kind is OperandKind.REG:
            g = scalar_getter(ctx, o, 32)
            shift = 16 * (half or o.half == "h")
        else:
            # 16 bits are meaningful: of a float constant op_sel's upper half is zero, of an integer its sign
            k = constant_bits(o, 16 if o.kind is OperandKind.FLOAT else 32)
            g, shift = (lambda w: k), 16 * half
        dtype = DTYPES[t]
        return lambda w: np.uint16(g(w) >> shift & 0xFFFF).view(dtype)
    g = scalar_getter(ctx, o, 32)
    dtype = DTYPES[t]
    return lambda w: np.uint32(g(w)).view(dtype)


def join64(lo: Vec, hi: Vec) -> Vec:
    out = np.empty(lo.shape[0], np.uint64)
    halves = out.view(np.uint32)
    halves[0::2] = lo
    halves[1::2] = hi
    return out


def getter(ctx: Context, o: Operand, t: str, *, half: int = 0, mods: bool = True) -> Get:
    """Getter of source ``o`` as type ``t``; ``half`` 1 takes the upper 16 bits (op_sel)."""
    if t == "mask":
        slot = None if o.reg is None else scalar_slot(o.reg)
        if slot is None:
            raise Unimplemented(f"{o.text} as a lane mask")
        return mask_getter(slot)
    if is_vector(o) and o.reg is not None:
        get = _vector(ctx, o.reg, t, half or int(o.half == "h"))
    else:
        get = _scalar_as_type(ctx, o, t, half)
        if o.kind is not OperandKind.REG:
            constant = get(None)  # type: ignore[arg-type]
            get = lambda w: constant  # noqa: E731
    return with_modifiers(get, o, t) if mods else get


def mask_getter(slot: int) -> Get:
    def get(w: Wave) -> Vec:
        bits = w.lane_mask(slot).to_bytes(w.lanes // 8, "little")
        return np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little").view(np.bool_)

    return get


def with_modifiers(get: Get, o: Operand, t: str) -> Get:
    """Apply |x| and -x of a float source (abs first)."""
    if not (o.neg or o.abs) or (t not in FLOATS and t != "bf16"):
        return get
    if t == "bf16":
        if o.abs:
            return lambda w: (get(w) & np.uint16(0x7FFF)) ^ np.uint16(0x8000 * o.neg)
        return lambda w: get(w) ^ np.uint16(0x8000)
    if o.abs and o.neg:
        return lambda w: -np.abs(get(w))
    return (lambda w: np.abs(get(w))) if o.abs else (lambda w: -get(w))


def _vector(ctx: Context, reg: RegSpan, t: str, half: int) -> Get:
    if t in WIDE:
        row = row_of(ctx, reg, 2)
        dtype = DTYPES[t]

        def wide(w: Wave) -> Vec:
            u = w.tables["u32"]
            return join64(u[row], u[row + 1]).view(dtype)

        return wide
    row = row_of(ctx, reg, 1)
    if t in HALF:
        key = ("u16" if t == "bf16" else t) + (".h" if half else ".l")
        return lambda w: w.tables[key][row]
    if t not in DTYPES:
        raise Unimplemented(f"operand type {t}")
    return lambda w: w.tables[t][row]


def view_raw(raw: Vec, t: str, half: int = 0) -> Vec:
    """A raw uint32 lane vector as type ``t`` (32 and 16 bits)."""
    if t in HALF:
        return (raw >> np.uint32(16) if half else raw).astype(np.uint16).view(DTYPES[t])
    return raw.view(DTYPES[t])


def putter(ctx: Context, o: Operand, t: str, *, half: int = 0, keep_high: bool = True) -> Put:
    """Writer of a result vector of type ``t``: put(wave, value, full, mask)."""
    if t == "mask":
        slot = None if o.reg is None else scalar_slot(o.reg)
        if slot is None:
            raise Unimplemented(f"{o.text} as a lane mask")
        return mask_putter(slot)
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} as a vector destination")
    if t in WIDE:
        row = row_of(ctx, o.reg, 2)

        def wide(w: Wave, r: Vec, full: bool, mask: Vec) -> None:
            halves = r.view(np.uint32)
            u = w.tables["u32"]
            if full:
                u[row][:] = halves[0::2]
                u[row + 1][:] = halves[1::2]
            else:
                np.copyto(u[row], halves[0::2], where=mask)
                np.copyto(u[row + 1], halves[1::2], where=mask)

        return wide
    row = row_of(ctx, o.reg, 1)
    if t in HALF:
        half = half or int(o.half == "h")
        if not keep_high and not half and o.half is None:

            def cleared(w: Wave, r: Vec, full: bool, mask: Vec) -> None:
                np.copyto(w.tables["u32"][row], r.view(np.uint16), where=True if full else mask)

            return cleared
        t = ("u16" if t == "bf16" else t) + (".h" if half else ".l")

    def put(w: Wave, r: Vec, full: bool, mask: Vec) -> None:
        if full:
            w.tables[t][row][:] = r
        else:
            np.copyto(w.tables[t][row], r, where=mask)

    return put


def mask_putter(slot: int) -> Put:
    """Lane-mask result: one bit per active lane, 0 for inactive ones."""

    def put(w: Wave, r: Vec, full: bool, mask: Vec) -> None:
        w.set_lane_mask(slot, mask_of(r if full else r & mask))

    return put
