"""Vector floating point: arithmetic, min/max, rounding functions, transcendentals."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from isaprof.sim.mode import FloatMode
from isaprof.sim.semantics import floats as fl
from isaprof.sim.semantics.spec import table

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
M: dict[str, Any] = {"mode": True}
ACC: dict[str, Any] = {"mode": True, "accumulate": True}

_FMA = {"f32": fl.fma32, "f16": fl.fma16, "f64": fl.fma64}


def dx9(fn: Callable[..., Vec]) -> Callable[..., Vec]:
    """Multiply rule "0 times anything is 0" (v_mul_dx9_zero, v_mul_legacy and their fma forms)."""

    def wrapped(m: FloatMode, a: Vec, b: Vec, *rest: Vec) -> Vec:
        zero = (a == 0) | (b == 0)
        r = fn(m, a, b, *rest)
        if not zero.any():
            return r
        instead = rest[0] if rest else np.zeros_like(r)
        return np.where(zero, instead, r)

    return wrapped


def mad(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    """Unfused multiply-add (v_mad_f32, v_mac_f32): two roundings."""
    return fl.add(m, fl.mul(m, a, b), c)


def via64(fn: Callable[[Vec], Vec]) -> Callable[[Vec], Vec]:
    """A transcendental function evaluated in float64 and rounded to the source's type."""

    def wrapped(a: Vec) -> Vec:
        return fn(a.astype(np.float64)).astype(a.dtype)

    return wrapped


def _turns(fn: Any) -> Callable[[Vec], Vec]:
    """v_sin/v_cos take turns, not radians."""
    return via64(lambda x: fn(2 * np.pi * (x - np.floor(x))))


def fract(m: FloatMode, a: Vec) -> Vec:
    return fl.add(m, a, -np.floor(a))


def med3(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    low = fl.minimum(m, fl.minimum(m, a, b), c)
    mid = fl.maximum(m, fl.minimum(m, a, b), fl.minimum(m, fl.maximum(m, a, b), c))
    return np.where(np.isnan(a) | np.isnan(b) | np.isnan(c), low, mid)


def _chain(first: Any, second: Any) -> Callable[..., Vec]:
    return lambda m, a, b, c: second(m, first(m, a, b), c)


def ldexp(a: Vec, e: Vec) -> Vec:
    """a * 2^e rounded once (float64 holds every step for f16 and f32)."""
    n = np.clip(e.astype(np.int64), -2200, 2200).astype(np.int32)
    if a.dtype == np.float64:
        return np.ldexp(a, n)
    return np.ldexp(a.astype(np.float64), np.clip(n, -800, 800)).astype(a.dtype)


def frexp_exp(a: Vec) -> Vec:
    _, e = np.frexp(a)
    return np.where(np.isfinite(a), e, 0).astype(np.int32)


def frexp_mant(a: Vec) -> Vec:
    return np.where(np.isfinite(a), np.frexp(a)[0], a)


def cmp_class(a: Vec, mask: Vec) -> Vec:
    """v_cmp_class: mask bits 0 sNaN, 1 qNaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, ... 9 +inf."""
    neg, nan, inf = fl.signbit(a), np.isnan(a), np.isinf(a)
    den = fl.is_denormal(a)
    rank = np.where(inf, 0, np.where(a == 0, 3, np.where(den, 2, 1)))
    bit = np.where(nan, np.where(fl.is_snan(a), 0, 1), np.where(neg, 2 + rank, 9 - rank))
    return (mask.astype(np.uint32) >> bit.astype(np.uint32)) & np.uint32(1) != 0


_F32_MAX = np.finfo(np.float32).max


def _limits(dtype: Any) -> tuple[int, int, int]:
    """(exponent gap that needs scaling, scale exponent, exponent of a tiny numerator)."""
    return (96, 64, 23) if dtype == np.float32 else (768, 128, 53)


def _below_normal(x: Vec, dtype: Any) -> Vec:
    """Whether a float64 value is not zero and too small for a normal number of ``dtype``."""
    return (x != 0) & (np.abs(x) < np.finfo(dtype).tiny)


def div_scale(a: Vec, den: Vec, num: Vec) -> tuple[Vec, Vec]:
    """v_div_scale: pre-scale numerator or denominator of a division (ISA pseudocode)."""
    gap, step, tiny = _limits(a.dtype)
    up, down = (
        ldexp(a, np.int32(step) + np.zeros(a.shape, np.int32)),
        ldexp(a, np.full(a.shape, -step, np.int32)),
    )
    same_den = a.view(fl._EXP[a.dtype][0]) == den.view(fl._EXP[a.dtype][0])
    same_num = a.view(fl._EXP[a.dtype][0]) == num.view(fl._EXP[a.dtype][0])
    zero = (num == 0) | (den == 0)
    far = fl.exponent(num) - fl.exponent(den) >= gap
    den_den = fl.is_denormal(den)
    # "denormal" in the type of the division, before any flush (the pseudocode's float64 cannot hold for f32)
    recip = _below_normal(1.0 / den.astype(np.float64), a.dtype)
    quotient = _below_normal(num.astype(np.float64) / den, a.dtype)
    small_num = fl.exponent(num) <= tiny
    cases = [zero, far, den_den, recip & quotient, recip, quotient, small_num]
    values = [
        np.full_like(a, np.nan), np.where(same_den, up, a), up, np.where(same_den, up, a), down,
        np.where(same_num, up, a), up,
    ]  # fmt: skip
    flag = np.select(
        cases, [np.True_, np.True_, np.False_, np.True_, np.False_, np.True_, np.False_], np.False_
    )
    return np.select(cases, values, a).astype(a.dtype), flag & np.ones(a.shape, bool)


def div_fmas(m: FloatMode, a: Vec, b: Vec, c: Vec, vcc: Vec) -> Vec:
    """fma, scaled where v_div_scale said so: by 2^64 (f64: 2^128), down when the addend is below 2.

    The ISA pseudocode of RDNA3 names one factor only; hardware tests and LLVM's
    division expansion need both directions.
    """
    wide = a.dtype == np.float64
    r = _FMA["f64" if wide else "f32"](m, a, b, c)
    if not vcc.any():
        return r
    step, bias = (128, 1023) if wide else (64, 127)
    power = np.where(fl.exponent(c) > bias, step, -step)
    return np.where(vcc, ldexp(r, power), r)


def div_fixup(a: Vec, den: Vec, num: Vec) -> Vec:
    """v_div_fixup: the special cases of a division (ISA pseudocode)."""
    dtype = a.dtype
    uint, _, sign_mask, _ = fl._EXP[dtype]
    sign = (den.view(uint) ^ num.view(uint)) & sign_mask
    near = {2: -24, 4: -150, 8: -1075}[dtype.itemsize]
    inf = dtype.type(np.inf)
    under = fl.exponent(num) - fl.exponent(den) < near
    nan = dtype.type(np.nan)
    cases = [
        np.isnan(num) | np.isnan(den), (den == 0) & (num == 0), np.isinf(den) & np.isinf(num),
        (den == 0) | np.isinf(num), np.isinf(den) | (num == 0), under, np.isnan(a),
    ]  # fmt: skip
    magnitude = np.select(cases, [nan, nan, nan, inf, dtype.type(0), dtype.type(0), inf], np.abs(a)).astype(
        dtype
    )
    return np.where(np.isnan(magnitude), magnitude.view(uint), magnitude.view(uint) & ~sign_mask | sign).view(
        dtype
    )


def cube(which: str) -> Callable[[Vec, Vec, Vec], Vec]:
    """v_cube{id,sc,tc,ma}: face selection of cube maps."""

    def fn(x: Vec, y: Vec, z: Vec) -> Vec:
        ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
        is_z = (az >= ax) & (az >= ay)
        is_y = ~is_z & (ay >= ax)
        one = np.float32
        if which == "id":
            r = np.where(is_z, np.where(z < 0, one(5), one(4)), np.where(is_y, np.where(y < 0, one(3),
                one(2)),
                         np.where(x < 0, one(1), one(0))))  # fmt: skip
        elif which == "sc":
            r = np.where(is_z, np.where(z < 0, -x, x), np.where(is_y, x, np.where(x < 0, z, -z)))
        elif which == "tc":
            r = np.where(is_z, -y, np.where(is_y, np.where(y < 0, -z, z), -y))
        else:
            r = np.where(is_z, z * one(2), np.where(is_y, y * one(2), x * one(2)))
        return r.astype(np.float32)

    return fn


def mullit(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    low = np.float32(-_F32_MAX)
    bad = (b == low) | (b == -np.inf) | np.isnan(b) | (c <= 0) | np.isnan(c)
    return np.where(bad, low, dx9(fl.mul)(m, a, b))


def _per_type() -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for t in ("f32", "f16", "f64"):
        fma = _FMA[t]
        two, three = f"{t} {t} -> {t}", f"{t} {t} {t} -> {t}"
        rows += [
            (f"v_add_{t}", f"add_{t}", two, fl.add, M),
            (f"v_mul_{t}", f"mul_{t}", two, fl.mul, M),
            (f"v_fma_{t}", f"fma_{t}", three, fma, M),
            (f"v_fmac_{t}", f"fmac_{t}", three, fma, ACC),
            (f"v_min_{t} v_min_num_{t}", f"min_{t}", two, fl.minimum, M),
            (f"v_max_{t} v_max_num_{t}", f"max_{t}", two, fl.maximum, M),
            (f"v_minimum_{t}", f"minimum_{t}", two, fl.minimum_nan, M),
            (f"v_maximum_{t}", f"maximum_{t}", two, fl.maximum_nan, M),
            (f"v_floor_{t}", f"floor_{t}", f"{t} -> {t}", np.floor),
            (f"v_ceil_{t}", f"ceil_{t}", f"{t} -> {t}", np.ceil),
            (f"v_trunc_{t}", f"trunc_{t}", f"{t} -> {t}", np.trunc),
            (f"v_rndne_{t}", f"rndne_{t}", f"{t} -> {t}", np.rint),
            (f"v_fract_{t}", f"fract_{t}", f"{t} -> {t}", fract, M),
            (f"v_rcp_{t}" + (" v_rcp_iflag_f32 v_s_rcp_f32" if t == "f32" else " v_s_rcp_f16" * (t == "f16")),
             f"rcp_{t}", f"{t} -> {t}", via64(lambda x: 1.0 / x)),
            (f"v_rsq_{t} v_s_rsq_{t}", f"rsq_{t}", f"{t} -> {t}", via64(lambda x: 1.0 / np.sqrt(x))),
            (f"v_sqrt_{t} v_s_sqrt_{t}", f"sqrt_{t}", f"{t} -> {t}", via64(np.sqrt)),
            (f"v_frexp_mant_{t}", f"frexp_mant_{t}", f"{t} -> {t}", frexp_mant),
            (f"v_div_fixup_{t}" + " v_div_fixup_legacy_f16" * (t == "f16"), f"div_fixup_{t}",
             three, div_fixup),
        ]  # fmt: skip
        if t != "f64":
            rows += [
                (f"v_sub_{t}", f"sub_{t}", two, fl.sub, M),
                (f"v_subrev_{t}", f"subrev_{t}", two, lambda m, a, b: fl.sub(m, b, a), M),
                (f"v_fmamk_{t} v_fmaak_{t}", f"fmak_{t}",
                 three, fma, M),  # operands in printed order: a * b + c
                (f"v_exp_{t} v_s_exp_{t}", f"exp_{t}", f"{t} -> {t}", via64(np.exp2)),
                (f"v_log_{t} v_s_log_{t}", f"log_{t}", f"{t} -> {t}", via64(np.log2)),
                (f"v_sin_{t}", f"sin_{t}", f"{t} -> {t}", _turns(np.sin)),
                (f"v_cos_{t}", f"cos_{t}", f"{t} -> {t}", _turns(np.cos)),
                (f"v_min3_{t} v_min3_num_{t}", f"min3_{t}", three, _chain(fl.minimum, fl.minimum), M),
                (f"v_max3_{t} v_max3_num_{t}", f"max3_{t}", three, _chain(fl.maximum, fl.maximum), M),
                (f"v_med3_{t} v_med3_num_{t}", f"med3_{t}", three, med3, M),
                (f"v_minmax_{t} v_minmax_num_{t}", f"minmax_{t}", three, _chain(fl.minimum, fl.maximum), M),
                (f"v_maxmin_{t} v_maxmin_num_{t}", f"maxmin_{t}", three, _chain(fl.maximum, fl.minimum), M),
                (f"v_minimum3_{t}", f"minimum3_{t}", three, _chain(fl.minimum_nan, fl.minimum_nan), M),
                (f"v_maximum3_{t}", f"maximum3_{t}", three, _chain(fl.maximum_nan, fl.maximum_nan), M),
                (f"v_minimummaximum_{t}", f"minimummaximum_{t}",
                 three, _chain(fl.minimum_nan, fl.maximum_nan), M),
                (f"v_maximumminimum_{t}", f"maximumminimum_{t}",
                 three, _chain(fl.maximum_nan, fl.minimum_nan), M),
            ]  # fmt: skip
        if t != "f16":
            rows += [
                (f"v_div_scale_{t}", f"div_scale_{t}", f"{t} {t} {t} -> {t} mask", div_scale),
                (f"v_div_fmas_{t}", f"div_fmas_{t}", f"{t} {t} {t} mask -> {t}", div_fmas,
                 {"mode": True, "implicit_vcc": True}),
            ]  # fmt: skip
    return rows


@cache
def _two_over_pi() -> int:
    """floor(2/pi * 2^1201): the fraction that v_trig_preop_f64 takes its bits from (Machin's formula)."""
    bits = 1400
    pi = 4 * (4 * _atan(5, bits) - _atan(239, bits))
    return ((2 << 2 * bits) // pi) >> (bits - 1201)


def _atan(n: int, bits: int) -> int:
    """floor-like 2^bits * arctan(1/n)."""
    power = (1 << bits) // n
    total, k, sign = 0, 1, 1
    while power:
        total += sign * (power // k)
        power //= n * n
        k, sign = k + 2, -sign
    return total


def trig_preop(a: Vec, segment: Vec) -> Vec:
    """v_trig_preop_f64: 53 bits of 2/pi for argument reduction, chosen by the exponent and segment."""
    exponents, segments = np.broadcast_arrays(fl.exponent(a), segment)
    out = np.zeros(exponents.shape)
    mask = (1 << 1201) - 1
    for i, (e, s) in enumerate(zip(exponents.flat, segments.flat, strict=True)):
        shift = (int(s) & 31) * 53 + max(0, int(e) - 1077)
        bits = (_two_over_pi() << shift & mask) >> (1201 - 53)
        out.flat[i] = np.ldexp(float(bits), -53 - shift + (128 if e >= 1968 else 0))
    return out


TABLE = table(
    "RDNA3, RDNA4 and CDNA3 ISA, Instructions: VOP1, VOP2, VOP3 (floating point)",
    [
        *_per_type(),
        ("v_mul_legacy_f32 v_mul_dx9_zero_f32", "mul_dx9_zero_f32", "f32 f32 -> f32", dx9(fl.mul), M),
        ("v_fma_dx9_zero_f32 v_fma_legacy_f32", "fma_dx9_zero_f32", "f32 f32 f32 -> f32", dx9(fl.fma32), M),
        ("v_fmac_dx9_zero_f32 v_fmac_legacy_f32", "fmac_dx9_zero_f32", "f32 f32 f32 -> f32",
         dx9(fl.fma32), ACC),
        ("v_fma_legacy_f16", "fma_legacy_f16", "f16 f16 f16 -> f16", fl.fma16,
         {"mode": True, "keeps_high16": False}),
        ("v_mad_f32 v_madmk_f32 v_madak_f32", "mad_f32", "f32 f32 f32 -> f32", mad, M),
        ("v_mac_f32", "mac_f32", "f32 f32 f32 -> f32", mad, ACC),
        ("v_mad_f16 v_mad_legacy_f16", "mad_f16", "f16 f16 f16 -> f16", mad, M),
        ("v_mullit_f32", "mullit_f32", "f32 f32 f32 -> f32", mullit, M),
        ("v_ldexp_f32", "ldexp_f32", "f32 i32 -> f32", ldexp),
        ("v_ldexp_f16", "ldexp_f16", "f16 i16 -> f16", ldexp),
        ("v_ldexp_f64", "ldexp_f64", "f64 i32 -> f64", ldexp),
        ("v_frexp_exp_i32_f32", "frexp_exp_i32_f32", "f32 -> i32", frexp_exp),
        ("v_frexp_exp_i32_f64", "frexp_exp_i32_f64", "f64 -> i32", frexp_exp),
        ("v_frexp_exp_i16_f16", "frexp_exp_i16_f16", "f16 -> i16", lambda a: frexp_exp(a).astype(np.int16)),
        ("v_trig_preop_f64", "trig_preop_f64", "f64 u32 -> f64", trig_preop),
        ("v_cubeid_f32", "cubeid_f32", "f32 f32 f32 -> f32", cube("id")),
        ("v_cubesc_f32", "cubesc_f32", "f32 f32 f32 -> f32", cube("sc")),
        ("v_cubetc_f32", "cubetc_f32", "f32 f32 f32 -> f32", cube("tc")),
        ("v_cubema_f32", "cubema_f32", "f32 f32 f32 -> f32", cube("ma")),
    ],
)  # fmt: skip
