"""Element types of operands: storage, conversion to float64, poison pattern.

Sub-byte types are packed as the hardware reads them: element 0 in the lowest
bits of byte 0 (fp4: two a byte, low nibble first; fp6: four in three bytes,
little-endian). Sources: OCP MX specification 1.0 (fp8 E4M3/E5M2, fp6, fp4,
E8M0), AMD CDNA3 ISA (FNUZ fp8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class DType:
    """``bits`` per element; ``numpy`` names the NumPy or ml_dtypes type.

    ``poison``: the bytes an output is filled with before the run (repeated):
    a NaN with an unlikely payload for floats, a sentinel for integers.
    """

    name: str
    bits: int
    numpy: str
    poison: bytes
    is_float: bool = True

    @property
    def np(self) -> np.dtype[Any]:
        import ml_dtypes

        dtype: np.dtype[Any] = np.dtype(getattr(np, self.numpy, None) or getattr(ml_dtypes, self.numpy))
        return dtype

    def nbytes(self, elements: int) -> int:
        """Bytes that ``elements`` packed elements take."""
        return -(-elements * self.bits // 8)

    def encode(self, values: NDArray[Any]) -> Bytes:
        """Flat values to packed bytes, rounded to nearest even."""
        flat = np.ascontiguousarray(values).reshape(-1)
        if self.is_float and flat.dtype != self.np:
            # through float32: ml_dtypes rounds once from there; float32 itself from float64
            flat = flat.astype(np.float64 if self.bits >= 32 else np.float32)
        codes = flat.astype(self.np)
        if self.bits >= 8:
            return codes.view(np.uint8).copy()
        return _pack(codes.view(np.uint8), self.bits)

    def decode(self, data: Bytes | bytes, elements: int) -> NDArray[Any]:
        """Packed bytes to float64 (floats) or int64 (integers), flat."""
        raw = np.frombuffer(bytes(data), np.uint8)[: self.nbytes(elements)]
        codes = raw if self.bits >= 8 else _unpack(raw, self.bits, elements)
        typed = np.ascontiguousarray(codes).view(self.np)[:elements]
        if not self.is_float:
            return typed.astype(np.int64)
        with np.errstate(invalid="ignore"):  # signalling NaNs are quieted, which is no news
            return (
                typed.astype(np.float64) if self.bits >= 32 else typed.astype(np.float32).astype(np.float64)
            )

    def poisoned(self, nbytes: int) -> Bytes:
        """``nbytes`` of poison."""
        n = -(-nbytes // len(self.poison))
        return np.frombuffer(self.poison * n, np.uint8)[:nbytes].copy()


def _pack(codes: Bytes, bits: int) -> Bytes:
    mask = np.uint8((1 << bits) - 1)
    lanes = ((codes & mask)[:, None] >> np.arange(bits, dtype=np.uint8)) & np.uint8(1)
    return np.packbits(lanes.reshape(-1), bitorder="little")


def _unpack(raw: Bytes, bits: int, elements: int) -> Bytes:
    lanes = np.unpackbits(raw, bitorder="little")[: elements * bits].reshape(elements, bits)
    codes: Bytes = (lanes << np.arange(bits, dtype=np.uint8)).sum(axis=1).astype(np.uint8)
    return codes


def _int(name: str, bits: int, sentinel: int) -> DType:
    return DType(
        name, bits, f"{'u' if name[0] == 'u' else ''}int{bits}", sentinel.to_bytes(bits // 8, "little"), False
    )


#: name -> type
DTYPES: Mapping[str, DType] = {
    d.name: d
    for d in (
        DType("f64", 64, "float64", (0x7FF8_DEAD_DEAD_DEAD).to_bytes(8, "little")),
        DType("f32", 32, "float32", (0x7FC0_DEAD).to_bytes(4, "little")),
        DType("f16", 16, "float16", (0x7EAD).to_bytes(2, "little")),
        DType("bf16", 16, "bfloat16", (0x7FED).to_bytes(2, "little")),
        DType("fp8_e4m3", 8, "float8_e4m3fn", b"\x7f"),
        DType("fp8_e5m2", 8, "float8_e5m2", b"\x7d"),
        DType("fp8_e4m3fnuz", 8, "float8_e4m3fnuz", b"\x80"),
        DType("fp8_e5m2fnuz", 8, "float8_e5m2fnuz", b"\x80"),
        DType("e8m0", 8, "float8_e8m0fnu", b"\xff"),
        DType("fp6_e2m3", 6, "float6_e2m3fn", b"\xad\xde\x7b"),
        DType("fp6_e3m2", 6, "float6_e3m2fn", b"\xad\xde\x7b"),
        DType("fp4", 4, "float4_e2m1fn", b"\xda\x7e"),
        _int("i64", 64, 0xDEAD_BEEF_DEAD_BEEF),
        _int("u64", 64, 0xDEAD_BEEF_DEAD_BEEF),
        _int("i32", 32, 0xDEAD_BEEF),
        _int("u32", 32, 0xDEAD_BEEF),
        _int("i16", 16, 0xDEAD),
        _int("u16", 16, 0xDEAD),
        _int("i8", 8, 0xAD),
        _int("u8", 8, 0xAD),
    )
}
