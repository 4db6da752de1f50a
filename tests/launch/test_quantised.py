"""References of the quantised GEMMs, against the formats' definitions written out element by element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.launch.reference_quantised import mxfp4_matmul_nt, quantise_mxfp4, w4a16_matmul_nt
from isaprof.launch.references import Case, ReferenceError_

FP4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
half = st.floats(-60000, 60000, width=16).map(float)


def _nearest(x: float) -> float:
    """The fp4 value nearest to ``x``; of two the one with the even code."""
    code = min(range(8), key=lambda c: (abs(FP4[c] - abs(x)), c % 2))
    return float(np.copysign(FP4[code], x))


@given(st.lists(half, min_size=32, max_size=32))
@settings(max_examples=60, deadline=None)
def test_a_block_is_scaled_by_its_largest_and_rounded_to_the_nearest(values: list[float]) -> None:
    got = quantise_mxfp4(np.array([values]))[0]
    amax = max(abs(v) for v in values)
    if amax == 0:
        assert not got.any()
        return
    mantissa, exponent = np.frexp(amax)  # 0.5 <= mantissa < 1
    scale = 2.0 ** (int(exponent) - 1 + (mantissa >= 0.875) - 2)
    assert max(abs(v) for v in values) / scale < 7
    assert got.tolist() == [_nearest(v / scale) * scale for v in values]


def test_blocks_do_not_share_a_scale() -> None:
    x = np.concatenate([np.full(32, 1.0), np.full(32, 1000.0)])[None]
    assert quantise_mxfp4(x)[0].tolist() == [1.0] * 32 + [1024.0] * 32


def _case(inputs: dict[str, np.ndarray], shape: tuple[int, int]) -> Case:
    return Case(inputs, {}, {}, {"C": shape})


def test_w4_codes_lie_where_the_packing_says() -> None:
    """One code at a time: element j of an int32 meets column j of the identity, minus 8."""
    shifts = [0, 16, 4, 20, 8, 24, 12, 28]
    codes = np.arange(8) + 3
    word = sum(int(c) << s for c, s in zip(codes, shifts, strict=True))
    w = np.full((1, 4), word, dtype=np.int64)
    out = w4a16_matmul_nt(_case({"A": np.eye(32), "W": w, "scales": np.array([[0.5]])}, (32, 1)))["C"]
    assert out[:, 0].tolist() == [0.5 * (c - 8) for c in codes] * 4


def test_w4_scales_belong_to_groups_of_k() -> None:
    w = np.full((2, 8), 0x99999999, dtype=np.int64)  # every code 9: weight 1 * scale
    scales = np.array([[1.0, 10.0], [100.0, 1000.0]])
    out = w4a16_matmul_nt(_case({"A": np.ones((1, 64)), "W": w, "scales": scales}, (1, 2)))["C"]
    assert out.tolist() == [[32 * 11.0, 32 * 1100.0]]


def test_mxfp4_quantises_only_a() -> None:
    a, b = np.full((1, 32), 1.1), np.full((1, 32), 6.0)
    out = mxfp4_matmul_nt(_case({"A": a, "B": b, "ScaleB": np.array([[0.25]])}, (1, 1)))["C"]
    assert out.tolist() == [[32 * 1.0 * 1.5]], "1.1 becomes 1.0 (steps of an eighth of 4: 4.4 / 4 -> 4 / 4)"


@pytest.mark.parametrize("k", [32, 96])
def test_sizes_that_do_not_fit_are_refused(k: int) -> None:
    inputs = {"A": np.ones((1, k)), "B": np.ones((1, 64)), "ScaleB": np.ones((1, 2))}
    with pytest.raises(ReferenceError_):
        mxfp4_matmul_nt(_case(inputs, (1, 1)))
    inputs = {"A": np.ones((1, k)), "W": np.ones((1, 8), dtype=np.int64), "scales": np.ones((1, 2))}
    with pytest.raises(ReferenceError_):
        w4a16_matmul_nt(_case(inputs, (1, 1)))
