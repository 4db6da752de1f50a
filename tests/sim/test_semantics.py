"""Properties of the operations: exact rounding, NaN rules, table hygiene."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.sim.mode import RDOWN, RTZ, RUP, FloatMode, decode_mode
from isaprof.sim.semantics import floats as fl
from isaprof.sim.semantics import formats, vector_table
from isaprof.sim.semantics.salu import TABLE as SALU
from isaprof.sim.semantics.valu_int import perm

RNE_MODE = FloatMode()
f32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
f64 = st.floats(allow_nan=False, allow_infinity=False)


def one(x: float, dtype: type = np.float32) -> np.ndarray:
    return np.array([x], dtype)


def nearest32(x: Fraction) -> float:
    """Correctly rounded f32 of an exact value, by integers only."""
    if x == 0:
        return 0.0
    sign, x = (-1, -x) if x < 0 else (1, x)
    e = x.numerator.bit_length() - x.denominator.bit_length()
    if Fraction(2) ** e > x:
        e -= 1
    ulp = Fraction(2) ** (max(e, -126) - 23)
    n, rest = divmod(x, ulp)
    n = int(n) + (rest * 2 > ulp or (rest * 2 == ulp and n % 2 == 1))
    value = n * ulp
    return float("inf") * sign if value >= Fraction(2) ** 128 else sign * float(value)


@given(f32, f32, f32)
@settings(max_examples=300, deadline=None)
def test_fma_rounds_once(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        got = float(fl.fma32(RNE_MODE, one(a), one(b), one(c))[0])
    assert got == nearest32(Fraction(a) * Fraction(b) + Fraction(c))


def test_fma_where_double_rounding_would_hurt() -> None:
    # 1 + 2^-24 (a tie) plus a tiny product: up; float64 alone would round to even
    got = fl.fma32(RNE_MODE, one(2.0**-60), one(1.0), one(1.0))
    assert got[0] == 1
    a, b = one(1 + 2.0**-12), one(1 + 2.0**-12)  # a * b = 1 + 2^-11 + 2^-24: a tie
    got = fl.fma32(RNE_MODE, a, b, one(2.0**-100))
    assert got[0] == np.float32(1 + 2.0**-11 + 2.0**-23)


@given(f64, f64, f64)
@settings(max_examples=300, deadline=None)
def test_fma64_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        want = float(exact)
    except OverflowError:
        want = float("inf") if exact > 0 else float("-inf")
    with np.errstate(all="ignore"):
        got = float(fl.fma64(RNE_MODE, one(a, np.float64), one(b, np.float64), one(c, np.float64))[0])
    assert got == want


@given(f32, f32)
@settings(max_examples=200, deadline=None)
def test_directed_rounding_brackets_the_exact_sum(a: float, b: float) -> None:
    exact = Fraction(a) + Fraction(b)
    with np.errstate(all="ignore"):
        down, up, zero = (
            float(fl.add(FloatMode(round32=r), one(a), one(b))[0]) for r in (RDOWN, RUP, RTZ)
        )  # fmt: skip
    if abs(exact) > Fraction(float(np.finfo(np.float32).max)):
        return
    assert Fraction(down) <= exact <= Fraction(up)
    assert zero == (down if exact >= 0 else up)
    if Fraction(down) != exact:
        assert np.nextafter(np.float32(down), np.float32(np.inf)) == np.float32(up)


def test_max_prefers_numbers_and_positive_zero() -> None:
    nan = np.float32(np.nan)
    a = np.array([nan, 1, -0.0, nan], np.float32)
    b = np.array([2, nan, 0.0, nan], np.float32)
    r = fl.maximum(RNE_MODE, a, b)
    assert r[:2].tolist() == [2, 1]
    assert not np.signbit(r[2])
    assert np.isnan(r[3])
    assert np.signbit(fl.minimum(RNE_MODE, a, b)[2])


def test_ieee_mode_quiets_signalling_nans() -> None:
    snan = np.array([0x7F800001], np.uint32).view(np.float32)
    r = fl.maximum(FloatMode(ieee=True), snan, one(1.0)).view(np.uint32)
    assert r[0] == 0x7FC00001
    assert fl.maximum(RNE_MODE, snan, one(1.0))[0] == 1


def test_mode_register_fields() -> None:
    m = decode_mode(0b1111_0000)
    assert m.plain
    m = decode_mode(0b0001_0110)
    assert (m.round32, m.round16_64) == (2, 1)
    assert not m.flush_in32
    assert m.flush_out32
    assert m.flush_in16_64


def test_fp8_overflow_and_variants() -> None:
    x = np.array([448, 1000, -1000, np.nan], np.float32)
    assert formats.encode("fp8", x).tolist()[0] == 0x7E
    assert formats.encode("fp8", x, saturate=True).tolist()[:3] == [0x7E, 0x7E, 0xFE]
    assert formats.decode("fp8", np.array([0x38]))[0] == 1
    assert formats.decode("fp8_fnuz", np.array([0x40]))[0] == 1


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp8_fnuz", "bf8_fnuz", "fp4", "fp6", "bf6"])
def test_small_formats_round_trip(name: str) -> None:
    values = formats.decode_table(name)
    finite = np.flatnonzero(np.isfinite(values))
    again = formats.decode(name, formats.encode(name, values[finite]))
    np.testing.assert_array_equal(again, values[finite])


def test_e8m0_lowest_scale_is_a_denormal() -> None:
    assert formats.e8m0_to_f32(np.array([0, 127, 254], np.uint32)).tolist() == [2.0**-127, 1, 2.0**127]
    assert np.isnan(formats.e8m0_to_f32(np.array([255], np.uint32))[0])


def test_perm_selectors() -> None:
    a, b = np.array([0x87654321], np.uint32), np.array([0x0FEDCBA9], np.uint32)
    assert perm(a, b, np.array([0x07060504], np.uint32))[0] == 0x87654321
    assert perm(a, b, np.array([0x03020100], np.uint32))[0] == 0x0FEDCBA9
    assert perm(a, b, np.array([0x0D0C0B08], np.uint32))[0] == 0xFF00FF00 | (0xFF if 0xCB & 0x80 else 0)


def test_every_row_names_its_operation_once_and_its_source() -> None:
    by_op: dict[str, set[int]] = {}
    for row in vector_table().values():
        assert row.source
        by_op.setdefault(row.op, set()).add(id(row.fn))
    # one operation name stands for one behaviour: cmp and cmpx share theirs
    several = {op for op, fns in by_op.items() if len(fns) > 1}
    assert not several
    assert all(row.source for row in SALU.values())
