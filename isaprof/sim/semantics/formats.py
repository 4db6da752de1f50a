"""Small float formats: bf16, fp8 and bf8 (OCP and FNUZ), fp6, bf6, fp4, e8m0.

Sources: OCP 8-bit Floating Point Specification, OCP Microscaling Formats (MX)
Specification; FNUZ variants: CDNA3 ISA, "FP8 and BF8 formats".
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any

#: name -> (ml_dtypes type, code bits)
_TYPES = {
    "fp8": ("float8_e4m3fn", 8),
    "bf8": ("float8_e5m2", 8),
    "fp8_fnuz": ("float8_e4m3fnuz", 8),
    "bf8_fnuz": ("float8_e5m2fnuz", 8),
    "fp6": ("float6_e2m3fn", 6),
    "bf6": ("float6_e3m2fn", 6),
    "fp4": ("float4_e2m1fn", 4),
}


def _dtype(name: str) -> Any:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, _TYPES[name][0]))


@cache
def decode_table(name: str) -> NDArray[np.float32]:
    """Value of each code of format ``name``, indexed by code."""
    codes = np.arange(1 << _TYPES[name][1], dtype=np.uint8)
    values: NDArray[np.float32] = codes.view(_dtype(name)).astype(np.float32)
    values.setflags(write=False)
    return values


def decode(name: str, codes: Vec) -> Vec:
    """Codes (uint8 or wider integers) as f32."""
    return decode_table(name)[codes]


@cache
def _limits(name: str) -> tuple[float, int, int]:
    """(largest finite value, its code, code of NaN or of infinity)."""
    values = decode_table(name)
    finite = np.where(np.isfinite(values), values, -1)
    top = int(np.argmax(finite))
    special = {"fp8": 0x7F, "bf8": 0x7C, "fp8_fnuz": 0x80, "bf8_fnuz": 0x80}.get(name, top)
    return float(values[top]), top, special


def encode(name: str, x: Vec, *, saturate: bool = False) -> Vec:
    """f32 to codes (uint32), nearest even; overflow to the largest value when ``saturate``."""
    x = np.asarray(x, np.float32)
    codes = x.astype(_dtype(name)).view(np.uint8).astype(np.uint32)
    if saturate:
        largest, top, _ = _limits(name)
        sign_bit = 1 << (_TYPES[name][1] - 1)
        over = (np.abs(x) > largest) & ~np.isnan(x)
        codes = np.where(over, np.uint32(top) | np.where(x < 0, np.uint32(sign_bit), np.uint32(0)), codes)
    if name in ("fp4", "fp6", "bf6") and np.isnan(x).any():
        # no code for NaN: the largest magnitude, sign kept (OCP MX leaves it to the implementation)
        half = 1 << (_TYPES[name][1] - 1)
        largest_code = np.uint32(half - 1) | np.where(np.signbit(x), np.uint32(half), np.uint32(0))
        codes = np.where(np.isnan(x), largest_code, codes)
    return codes


@cache
def _grid(name: str) -> tuple[int, int]:
    """(stored mantissa bits, exponent of the smallest normal) of a format, or of f16 and bf16."""
    return {
        "fp8": (3, -6), "bf8": (2, -14), "fp8_fnuz": (3, -7), "bf8_fnuz": (2, -15),
        "fp6": (3, 0), "bf6": (2, -2), "fp4": (1, 0), "f16": (10, -14), "bf16": (7, -126),
    }[name]  # fmt: skip


def encode_stochastic(name: str, x: Vec, random: Vec, *, saturate: bool = False) -> Vec:
    """float64 to codes, rounded up in magnitude with the probability of the cut-off part.

    ``random`` (uint32) is the threshold as a fraction of the last kept bit.
    """
    mantissa, smallest = _grid(name)
    magnitude = np.abs(x)
    finite = np.isfinite(x)
    _, e = np.frexp(np.where(finite, magnitude, 1.0))
    unit = np.maximum(e - 1, smallest) - mantissa
    steps = np.floor(np.ldexp(np.where(finite, magnitude, 0.0), -unit) + random.astype(np.float64) / 2.0**32)
    cut = np.where(finite, np.copysign(np.ldexp(steps, unit), x), x)
    if name == "f16":
        half = cut.astype(np.float16)
        if saturate:
            half = np.where(np.isinf(half) & finite, np.copysign(np.float16(65504), half), half)
        return half.view(np.uint16).astype(np.uint32)
    f = cut.astype(np.float32)
    return f32_to_bf16(f).astype(np.uint32) if name == "bf16" else encode(name, f, saturate=saturate)


def bf16_to_f32(codes: Vec) -> Vec:
    """uint16 codes to f32 (exact)."""
    return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(x: Vec, *, rtz: bool = False) -> Vec:
    """f32 to bf16 codes (uint16), nearest even; NaNs stay NaN (quiet)."""
    bits = x.view(np.uint32)
    if rtz:
        rounded = bits >> np.uint32(16)
    else:
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    nan = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.where(np.isnan(x), nan, rounded).astype(np.uint16)


def e8m0_to_f32(codes: Vec) -> Vec:
    """Block scale codes to f32: 2^(e - 127); 0 is 2^-127 (a denormal), 0xFF is NaN."""
    e = codes.astype(np.uint32)
    bits = np.where(e == 0, np.uint32(0x00400000), e << np.uint32(23))
    return np.where(e == 0xFF, np.uint32(0x7FC00000), bits).view(np.float32)
