"""Exact float building blocks: denormal flush, fused multiply-add, min/max, rounding.

All functions work on lane vectors (or NumPy scalars) and return the type they
are given. Rules: RDNA3 ISA, sections "Floating-point" of the VALU chapter
(denormals, rounding, NaN) and the instruction descriptions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from isaprof.sim.mode import RDOWN, RNE, RTZ, RUP, FloatMode

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any

#: per float type: (bits as unsigned, exponent mask, sign mask, mantissa mask)
_EXP: dict[Any, tuple[Any, Any, Any, Any]] = {
    np.dtype(np.float16): (np.uint16, np.uint16(0x7C00), np.uint16(0x8000), np.uint16(0x3FF)),
    np.dtype(np.float32): (np.uint32, np.uint32(0x7F800000), np.uint32(0x80000000), np.uint32(0x7FFFFF)),
    np.dtype(np.float64): (
        np.uint64,
        np.uint64(0x7FF << 52),
        np.uint64(1 << 63),
        np.uint64((1 << 52) - 1),
    ),
}


def flush(x: Vec) -> Vec:
    """Denormals become zero of the same sign."""
    uint, exp, sign, _ = _EXP[x.dtype]
    bits = x.view(uint)
    return np.where((bits & exp) == 0, bits & sign, bits).view(x.dtype)


def signbit(x: Vec) -> Vec:
    uint, _, sign, _ = _EXP[x.dtype]
    return (x.view(uint) & sign) != 0


def is_snan(x: Vec) -> Vec:
    """Signalling NaN: exponent all ones, quiet bit clear, mantissa not zero."""
    uint, exp, _, mant = _EXP[x.dtype]
    bits = x.view(uint)
    quiet = uint((int(mant) + 1) >> 1)
    return ((bits & exp) == exp) & ((bits & mant) != 0) & ((bits & quiet) == 0)


def quiet(x: Vec) -> Vec:
    """NaNs with the quiet bit set; everything else unchanged."""
    uint, _, _, mant = _EXP[x.dtype]
    bit = uint((int(mant) + 1) >> 1)
    return np.where(np.isnan(x), x.view(uint) | bit, x.view(uint)).view(x.dtype)


def exponent(x: Vec) -> Vec:
    """Biased exponent field as int64."""
    uint, _, _, _mant = _EXP[x.dtype]
    width = {2: (10, 31), 4: (23, 255), 8: (52, 2047)}[x.dtype.itemsize]
    return ((x.view(uint) >> uint(width[0])) & uint(width[1])).astype(np.int64)


def is_denormal(x: Vec) -> Vec:
    uint, exp, _, mant = _EXP[x.dtype]
    bits = x.view(uint)
    return ((bits & exp) == 0) & ((bits & mant) != 0)


def two_sum(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """a + b = s + e exactly (Knuth), for finite values without overflow."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _odd(s: Vec, e: Vec) -> Vec:
    """s + e rounded to odd, given s = RN(s + e): keeps the sticky bit for a later rounding."""
    bits = s.view(np.int64)
    step = np.where((e > 0) == (s > 0), np.int64(1), np.int64(-1))
    fix = (e != 0) & ((bits & 1) == 0) & np.isfinite(s) & np.isfinite(e) & (s != 0)
    return np.where(fix, bits + step, bits).view(np.float64)


def round_pair(hi: Vec, lo: Vec, dtype: Any, rounding: int) -> Vec:
    """hi + lo (float64, |lo| at most half an ulp of hi) rounded once to f32 or f16."""
    x = _odd(hi, lo)
    r = x.astype(dtype)
    if rounding == RNE:
        return r
    back = r.astype(np.float64)
    uint = _EXP[np.dtype(dtype)][0]
    toward = {RUP: np.inf, RDOWN: -np.inf}
    if rounding in toward:
        wrong = back < x if rounding == RUP else back > x
        return np.where(wrong, np.nextafter(r, dtype(toward[rounding])), r)
    assert rounding == RTZ
    wrong = np.abs(back) > np.abs(x)
    return np.where(wrong & np.isfinite(x), r.view(uint) - uint(1), r.view(uint)).view(dtype)


def fma32(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    """a * b + c with one rounding, f32. The product is exact in float64."""
    p = a.astype(np.float64) * b
    c64 = c.astype(np.float64)
    s = p + c64
    # double rounding can only hurt when the float64 sum sits on a tie of the f32 grid
    if m.round32 == RNE and not ((s.view(np.int64) & 0x0FFFFFFF) == 0).any():
        r = s.astype(np.float32)
    else:
        r = round_pair(*two_sum(p, c64), np.float32, m.round32)
    if np.isnan(r).any():
        # the first NaN of the factors, whatever order NumPy multiplies in
        r = np.where(np.isnan(a), quiet(a), np.where(np.isnan(b), quiet(b), r))
    return r


def fma16(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    """a * b + c with one rounding, f16."""
    p = a.astype(np.float64) * b
    s, e = two_sum(p, c.astype(np.float64))
    return round_pair(s, e, np.float16, m.round16_64)


_SPLIT = 134217729.0  # 2^27 + 1


def _two_product(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """a * b = p + e exactly (Dekker), barring over- and underflow."""
    p = a * b
    ah = _SPLIT * a
    ah = ah - (ah - a)
    bh = _SPLIT * b
    bh = bh - (bh - b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def fma64(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    """a * b + c with one rounding, f64 (Boldo and Melquiond, "Emulation of FMA")."""
    a, b, c = np.broadcast_arrays(a, b, c)
    if m.round16_64 != RNE:
        return _directed64(m, a, b, c)
    uh, ul = _two_product(a, b)
    th, tl = two_sum(c, ul)
    vh, vl = two_sum(uh, th)
    zs, ze = two_sum(tl, vl)
    r = np.array(vh + _odd(zs, ze))
    # extreme exponents: the error terms over- or underflow, so those lanes are done in exact arithmetic
    ea, eb, ec = exponent(a), exponent(b), exponent(c)
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    extreme = finite & (
        (ea + eb < 1023 + 120) | (ea + eb > 1023 + 2040) | (ea > 2000) | (eb > 2000) | (ec > 2040) | (r == 0)
    )
    r = np.where(finite, r, a * b + c)
    for i in np.flatnonzero(extreme):
        r.flat[i] = _fma64_exact(float(a.flat[i]), float(b.flat[i]), float(c.flat[i]))
    return r


def _fma64_exact(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # a * b is -c or a zero, so nothing is rounded and the sign is IEEE's
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def _directed64(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    """a * b + c in f64, rounded up, down or towards zero; lane by lane in exact arithmetic."""
    a, b, c = np.broadcast_arrays(a, b, c)
    out = np.array(a * b + c)
    for i in range(out.size):
        x, y, z = float(a.flat[i]), float(b.flat[i]), float(c.flat[i])
        if np.isfinite(x) and np.isfinite(y) and np.isfinite(z):
            out.flat[i] = _round64(x, y, z, m.round16_64)
    return out


def _round64(a: float, b: float, c: float, rounding: int) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        # opposite zeros, or numbers that cancel: -0 when rounding down, else +0
        same = np.signbit(a) ^ np.signbit(b) == np.signbit(c) and (a == 0 or b == 0) and c == 0
        return float(np.copysign(0.0, c)) if same else -0.0 if rounding == RDOWN else 0.0
    near = _fma64_exact(a, b, c)
    if np.isinf(near):
        excess = -1 if near > 0 else 1
    else:
        gap = exact - Fraction(near)
        excess = (gap > 0) - (gap < 0)
    toward = {RUP: np.inf, RDOWN: -np.inf, RTZ: -np.inf if exact > 0 else np.inf}[rounding]
    wrong = (excess > 0) if toward > 0 else (excess < 0)
    return float(np.nextafter(near, toward)) if wrong else near


def add(m: FloatMode, a: Vec, b: Vec) -> Vec:
    """a + b in their own type, rounded as MODE says."""
    dtype = a.dtype.type
    rounding = m.round32 if dtype is np.float32 else m.round16_64
    if rounding == RNE:
        return a + b
    if dtype is np.float64:
        return _directed64(m, a, np.float64(1), b)
    return round_pair(*two_sum(a.astype(np.float64), b.astype(np.float64)), dtype, rounding)


def sub(m: FloatMode, a: Vec, b: Vec) -> Vec:
    return a - b if m.plain else add(m, a, -b)


def mul(m: FloatMode, a: Vec, b: Vec) -> Vec:
    dtype = a.dtype.type
    rounding = m.round32 if dtype is np.float32 else m.round16_64
    if rounding == RNE:
        return a * b
    if dtype is np.float64:
        return _directed64(m, a, b, np.copysign(0.0, a) * np.copysign(1.0, b))
    p = a.astype(np.float64) * b
    return round_pair(p, np.zeros_like(p), dtype, rounding)


def narrow(x: Vec, dtype: Any, rounding: int) -> Vec:
    """float64 or f32 values to a narrower float type, with the given rounding."""
    if rounding == RNE:
        return x.astype(dtype)
    wide = x.astype(np.float64)
    return round_pair(wide, np.zeros_like(wide), dtype, rounding)


def maximum(m: FloatMode, a: Vec, b: Vec) -> Vec:
    """v_max_*: the number when one source is NaN; +0 above -0; IEEE=1 quiets signalling NaNs."""
    return _extreme(m, a, b, np.fmax, largest=True)


def minimum(m: FloatMode, a: Vec, b: Vec) -> Vec:
    return _extreme(m, a, b, np.fmin, largest=False)


def _extreme(m: FloatMode, a: Vec, b: Vec, fn: Any, *, largest: bool) -> Vec:
    r = fn(a, b)
    if np.isnan(r).any():
        # NumPy lets a signalling NaN win; here the number does
        r = np.where(np.isnan(a), b, np.where(np.isnan(b), a, r))
    zero = (a == 0) & (b == 0)
    if zero.any():
        uint = _EXP[r.dtype][0]
        x, y = a.view(uint), b.view(uint)
        r = np.where(zero, (x & y) if largest else (x | y), r.view(uint)).view(r.dtype)
    if m.ieee:
        snan_a, snan_b = is_snan(a), is_snan(b)
        if snan_a.any() or snan_b.any():
            r = np.where(snan_a, quiet(a), np.where(snan_b, quiet(b), r))
    return r


def maximum_nan(m: FloatMode, a: Vec, b: Vec) -> Vec:
    """IEEE 754-2019 maximum (gfx12 v_maximum_*): a NaN source gives NaN; +0 above -0."""
    return _propagate(a, b, _extreme(_NO_IEEE, a, b, np.fmax, largest=True))


def minimum_nan(m: FloatMode, a: Vec, b: Vec) -> Vec:
    return _propagate(a, b, _extreme(_NO_IEEE, a, b, np.fmin, largest=False))


_NO_IEEE = FloatMode()


def _propagate(a: Vec, b: Vec, r: Vec) -> Vec:
    return np.where(np.isnan(a), quiet(a), np.where(np.isnan(b), quiet(b), r))
