"""Directed rounding: f64 arithmetic and integer conversions against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.sim.mode import RDOWN, RTZ, RUP, FloatMode
from isaprof.sim.semantics import floats as fl
from isaprof.sim.semantics import vector_table

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def bounded(exact: Fraction, r: float, rounding: int) -> bool:
    """Whether r is the float next to ``exact`` in the direction of rounding."""
    up = rounding == RUP or (rounding == RTZ and exact < 0)
    if np.isinf(r):
        return (r > 0) == up and abs(exact) > Fraction(np.finfo(np.float64).max)
    x = Fraction(r)
    with np.errstate(over="ignore"):
        inner = float(np.nextafter(r, -np.inf if up else np.inf))
    beyond = np.isinf(inner) or (Fraction(inner) < exact if up else Fraction(inner) > exact)
    return (x >= exact if up else x <= exact) and (x == exact or beyond)


@given(FLOATS, FLOATS, FLOATS, st.sampled_from([RUP, RDOWN, RTZ]))
@settings(max_examples=150, deadline=None)
def test_f64_arithmetic_rounds_as_mode_says(a: float, b: float, c: float, rounding: int) -> None:
    m = FloatMode(round16_64=rounding)
    x, y, z = (np.array([v]) for v in (a, b, c))
    with np.errstate(all="ignore"):
        got = [fl.add(m, x, z)[0], fl.mul(m, x, y)[0], fl.fma64(m, x, y, z)[0]]
    fa, fb, fc = Fraction(a), Fraction(b), Fraction(c)
    for exact, r in zip((fa + fc, fa * fb, fa * fb + fc), got, strict=True):
        assert bounded(exact, float(r), rounding), (exact, r)


@pytest.mark.parametrize(("rounding", "sign"), [(RUP, 0), (RDOWN, 1), (RTZ, 0)])
def test_the_sign_of_an_exact_zero(rounding: int, sign: int) -> None:
    m = FloatMode(round16_64=rounding)
    one = np.array([1.0])
    assert np.signbit(fl.add(m, one, -one))[0] == sign
    assert np.signbit(fl.mul(m, np.array([-0.0]), one))[0]
    assert not np.signbit(fl.add(m, np.array([0.0]), np.array([0.0])))[0]


@pytest.mark.parametrize("rounding", [RUP, RDOWN, RTZ])
@pytest.mark.parametrize(("name", "low", "high"), [("i32", -(1 << 31), 1 << 31), ("u32", 0, 1 << 32)])
def test_integers_to_f32(rounding: int, name: str, low: int, high: int) -> None:
    m = FloatMode(round32=rounding)
    values = np.random.default_rng(1).integers(low, high, 200)
    fn = vector_table()[f"v_cvt_f32_{name}"].fn
    got = fn(m, values.astype(np.int32 if name == "i32" else np.uint32))
    for v, r in zip(values.tolist(), got.tolist(), strict=True):
        up = rounding == RUP or (rounding == RTZ and v < 0)
        assert r >= v if up else r <= v
        assert abs(r - v) < 256
