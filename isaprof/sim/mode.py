"""Floating point mode of a wave: rounding, denormals, NaN rules.

Layout of the MODE register: RDNA3 ISA, "Mode register" (FP_ROUND bits 0-3,
FP_DENORM bits 4-7, DX10_CLAMP 8, IEEE 9, FP16_OVFL 23).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

#: values of a rounding field
RNE, RUP, RDOWN, RTZ = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class FloatMode:
    """Decoded MODE, passed to operations that depend on it."""

    round32: int = RNE
    round16_64: int = RNE
    flush_in32: bool = False
    flush_out32: bool = False
    flush_in16_64: bool = False
    flush_out16_64: bool = False
    dx10_clamp: bool = True
    ieee: bool = False
    fp16_ovfl: bool = False
    fp8_fnuz: bool = False  #: fp8/bf8 are FNUZ (gfx942) rather than OCP
    plain: bool = field(init=False, default=True)  #: nearest even, denormals kept: what NumPy does by itself

    def __post_init__(self) -> None:
        special = (
            self.round32
            or self.round16_64
            or self.flush_in32
            or self.flush_out32
            or self.flush_in16_64
            or self.flush_out16_64
        )
        object.__setattr__(self, "plain", not special)


@lru_cache(maxsize=256)
def decode_mode(mode: int, fp8_fnuz: bool = False) -> FloatMode:
    """The FloatMode of a MODE register value.

    FP_DENORM per precision: 0 flush sources and results, 1 flush results... as
    the ISA documents number them: bit 0 keeps input, bit 1 keeps output denormals.
    """
    denorm32, denorm16 = mode >> 4 & 3, mode >> 6 & 3
    return FloatMode(
        mode & 3,
        mode >> 2 & 3,
        not denorm32 & 1,
        not denorm32 & 2,
        not denorm16 & 1,
        not denorm16 & 2,
        bool(mode >> 8 & 1),
        bool(mode >> 9 & 1),
        bool(mode >> 23 & 1),
        fp8_fnuz,
    )
