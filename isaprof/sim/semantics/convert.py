"""Conversions between number formats (VOP1, VOP3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.sim.mode import RNE, RTZ, FloatMode
from isaprof.sim.semantics import floats as fl
from isaprof.sim.semantics.formats import (
    bf16_to_f32,
    decode,
    encode,
    f32_to_bf16,
)
from isaprof.sim.semantics.spec import table

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
_U = np.uint32
M: dict[str, Any] = {"mode": True}


def to_int(lo: int, hi: int, dtype: Any, rounding: Callable[[Vec], Vec] = np.trunc) -> Callable[[Vec], Vec]:
    """Float to integer: round (towards zero by default), saturate, NaN becomes 0."""

    def fn(a: Vec) -> Vec:
        x = rounding(a.astype(np.float64))
        x = np.where(np.isnan(x), 0.0, np.clip(x, lo, hi))
        return x.astype(np.int64).astype(dtype)

    return fn


I8, U8 = (-128, 127), (0, 255)
_I16, _U16 = (-32768, 32767, np.int16), (0, 65535, np.uint16)
_I32, _U32 = (-(1 << 31), (1 << 31) - 1, np.int32), (0, (1 << 32) - 1, np.uint32)


def pair(lo: Vec, hi: Vec) -> Vec:
    """Two 16-bit values (any 16-bit type) in one dword."""
    return lo.view(np.uint16).astype(_U) | hi.view(np.uint16).astype(_U) << _U(16)


def _norm(scale: int, lo: int, dtype: Any) -> Callable[[Vec], Vec]:
    def fn(a: Vec) -> Vec:
        x = np.clip(a.astype(np.float64), lo, 1.0) * scale
        return np.where(np.isnan(x), 0.0, np.rint(x)).astype(np.int64).astype(dtype)

    return fn


_SNORM, _UNORM = _norm(32767, -1, np.int16), _norm(65535, 0, np.uint16)


def _both(fn: Callable[[Vec], Vec]) -> Callable[[Vec, Vec], Vec]:
    return lambda a, b: pair(fn(a), fn(b))


def _clip16(lo: int, hi: int) -> Callable[[Vec], Vec]:
    return lambda a: np.clip(a, lo, hi).astype(np.uint32).astype(np.uint16)


def narrow16(m: FloatMode, a: Vec) -> Vec:
    """f32 to f16 in MODE's 16-bit rounding; FP16_OVFL clamps finite values instead of inf."""
    r = fl.narrow(a, np.float16, m.round16_64)
    if m.fp16_ovfl:
        big = np.float16(65504)
        r = np.where(np.isinf(r) & np.isfinite(a), np.copysign(big, r), r)
    return r


def _from_int32(m: FloatMode, a: Vec) -> Vec:
    if m.round32 == RNE:
        return a.astype(np.float32)
    return fl.narrow(a.astype(np.float64), np.float32, m.round32)


def _from_int16(m: FloatMode, a: Vec) -> Vec:
    if m.round16_64 == RNE:
        return a.astype(np.float16)
    return fl.narrow(a.astype(np.float64), np.float16, m.round16_64)


def _rtz16(a: Vec) -> Vec:
    return fl.narrow(a, np.float16, RTZ)


def _ubyte(i: int) -> Callable[[Vec], Vec]:
    return lambda a: ((a >> _U(8 * i)) & _U(0xFF)).astype(np.float32)


_OFF_I4 = (
    np.array([0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1], np.float32) / np.float32(16)
).copy()


def _pk_u8(rounding: Callable[[Vec], Vec]) -> Callable[[Vec, Vec, Vec], Vec]:
    byte = to_int(0, 255, np.uint32, rounding)

    def fn(a: Vec, sel: Vec, c: Vec) -> Vec:
        shift = (sel & _U(3)) * _U(8)
        return (c & ~(_U(0xFF) << shift)) | byte(a) << shift

    return fn


def fp8_name(m: FloatMode, name: str) -> str:
    return name + "_fnuz" if m.fp8_fnuz else name


def _pk_small(name: str) -> Callable[[FloatMode, Vec, Vec], Vec]:
    """Two f32 to fp8 or bf8 codes; saturating when MODE.FP16_OVFL is set."""

    def fn(m: FloatMode, a: Vec, b: Vec) -> Vec:
        f = fp8_name(m, name)
        lo, hi = (encode(f, x, saturate=m.fp16_ovfl) for x in (a, b))
        return (lo | hi << _U(8)).astype(np.uint16)

    return fn


def _from_small(name: str) -> Callable[[FloatMode, Vec], Vec]:
    return lambda m, a: decode(fp8_name(m, name), a & _U(0xFF))


def _pk_from_small(name: str) -> Callable[[FloatMode, Vec], Vec]:
    def fn(m: FloatMode, a: Vec) -> Vec:
        f = fp8_name(m, name)
        lo, hi = (decode(f, x & np.uint16(0xFF)).view(_U).astype(np.uint64) for x in (a, a >> np.uint16(8)))
        return lo | hi << np.uint64(32)

    return fn


def _quiet_f32_f16(a: Vec) -> Vec:
    return a.astype(np.float32)


TABLE = table(
    "RDNA3, RDNA4, CDNA3 and CDNA4 ISA, Instructions: VOP1, VOP3 (conversions)",
    [
        ("v_cvt_f32_i32", "cvt_f32_i32", "i32 -> f32", _from_int32, M),
        ("v_cvt_f32_u32", "cvt_f32_u32", "u32 -> f32", _from_int32, M),
        ("v_cvt_f64_i32", "cvt_f64_i32", "i32 -> f64", lambda a: a.astype(np.float64)),
        ("v_cvt_f64_u32", "cvt_f64_u32", "u32 -> f64", lambda a: a.astype(np.float64)),
        ("v_cvt_f16_i16", "cvt_f16_i16", "i16 -> f16", _from_int16, M),
        ("v_cvt_f16_u16", "cvt_f16_u16", "u16 -> f16", _from_int16, M),
        ("v_cvt_i32_f32", "cvt_i32_f32", "f32 -> i32", to_int(*_I32)),
        ("v_cvt_u32_f32", "cvt_u32_f32", "f32 -> u32", to_int(*_U32)),
        ("v_cvt_i32_f64", "cvt_i32_f64", "f64 -> i32", to_int(*_I32)),
        ("v_cvt_u32_f64", "cvt_u32_f64", "f64 -> u32", to_int(*_U32)),
        ("v_cvt_i16_f16", "cvt_i16_f16", "f16 -> i16", to_int(*_I16)),
        ("v_cvt_u16_f16", "cvt_u16_f16", "f16 -> u16", to_int(*_U16)),
        ("v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32", "cvt_nearest_i32_f32", "f32 -> i32",
         to_int(*_I32, lambda x: np.floor(x + 0.5))),
        ("v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", "cvt_floor_i32_f32", "f32 -> i32", to_int(*_I32, np.floor)),
        ("v_cvt_i32_i16", "cvt_i32_i16", "i16 -> i32", lambda a: a.astype(np.int32)),
        ("v_cvt_u32_u16", "cvt_u32_u16", "u16 -> u32", lambda a: a.astype(_U)),
        ("v_cvt_f16_f32", "cvt_f16_f32", "f32 -> f16", narrow16, M),
        ("v_cvt_f32_f16", "cvt_f32_f16", "f16 -> f32", _quiet_f32_f16),
        ("v_cvt_f64_f32", "cvt_f64_f32", "f32 -> f64", lambda a: a.astype(np.float64)),
        ("v_cvt_f32_f64", "cvt_f32_f64", "f64 -> f32", lambda m, a: fl.narrow(a, np.float32, m.round32), M),
        ("v_cvt_f32_bf16", "cvt_f32_bf16", "u16 -> f32", bf16_to_f32),
        ("v_cvt_pk_bf16_f32", "cvt_pk_bf16_f32", "f32 f32 -> u32", _both(f32_to_bf16)),
        ("v_cvt_pk_f16_f32", "cvt_pk_f16_f32", "f32 f32 -> u32",
         lambda m, a, b: pair(narrow16(m, a), narrow16(m, b)), M),
        ("v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32", "cvt_pk_rtz_f16_f32", "f32 f32 -> u32", _both(_rtz16)),
        *[(f"v_cvt_f32_ubyte{i}", f"cvt_f32_ubyte{i}", "u32 -> f32", _ubyte(i)) for i in range(4)],
        ("v_cvt_off_f32_i4", "cvt_off_f32_i4", "u32 -> f32", lambda a: _OFF_I4[a & _U(15)]),
        ("v_cvt_pk_u8_f32", "cvt_pk_u8_f32", "f32 u32 u32 -> u32", _pk_u8(np.trunc)),
        ("v_cvt_pkaccum_u8_f32", "cvt_pkaccum_u8_f32", "f32 u32 u32 -> u32", _pk_u8(np.trunc),
         {"accumulate": True}),
        ("v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32", "cvt_pk_norm_i16_f32", "f32 f32 -> u32",
         _both(_SNORM)),
        ("v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32", "cvt_pk_norm_u16_f32", "f32 f32 -> u32",
         _both(_UNORM)),
        ("v_cvt_pknorm_i16_f16 v_cvt_pk_norm_i16_f16", "cvt_pk_norm_i16_f16", "f16 f16 -> u32",
         _both(_SNORM)),
        ("v_cvt_pknorm_u16_f16 v_cvt_pk_norm_u16_f16", "cvt_pk_norm_u16_f16", "f16 f16 -> u32",
         _both(_UNORM)),
        ("v_cvt_norm_i16_f16", "cvt_norm_i16_f16", "f16 -> i16", _SNORM),
        ("v_cvt_norm_u16_f16", "cvt_norm_u16_f16", "f16 -> u16", _UNORM),
        ("v_cvt_pk_i16_f32", "cvt_pk_i16_f32", "f32 f32 -> u32", _both(to_int(*_I16))),
        ("v_cvt_pk_u16_f32", "cvt_pk_u16_f32", "f32 f32 -> u32", _both(to_int(*_U16))),
        ("v_cvt_pk_i16_i32", "cvt_pk_i16_i32", "i32 i32 -> u32", _both(_clip16(-32768, 32767))),
        ("v_cvt_pk_u16_u32", "cvt_pk_u16_u32", "u32 u32 -> u32", _both(_clip16(0, 65535))),
        ("v_cvt_pk_fp8_f32", "cvt_pk_fp8_f32", "f32 f32 -> u16", _pk_small("fp8"),
         {"mode": True, "keeps_high16": True}),
        ("v_cvt_pk_bf8_f32", "cvt_pk_bf8_f32", "f32 f32 -> u16", _pk_small("bf8"),
         {"mode": True, "keeps_high16": True}),
        ("v_cvt_f32_fp8", "cvt_f32_fp8", "u8 -> f32", _from_small("fp8"), M),
        ("v_cvt_f32_bf8", "cvt_f32_bf8", "u8 -> f32", _from_small("bf8"), M),
        ("v_cvt_pk_f32_fp8", "cvt_pk_f32_fp8", "u16 -> u64", _pk_from_small("fp8"), M),
        ("v_cvt_pk_f32_bf8", "cvt_pk_f32_bf8", "u16 -> u64", _pk_from_small("bf8"), M),
    ],
)  # fmt: skip
