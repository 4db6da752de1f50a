"""Operand bytes: dtypes, packing, layouts, fills."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.launch.dtypes import DTYPES
from isaprof.launch.fills import FILLS, make
from isaprof.launch.layouts import place


@pytest.mark.parametrize("name", list(DTYPES))
def test_decode_then_encode_keeps_every_code(name: str) -> None:
    d = DTYPES[name]
    raw = (
        np.arange(256, dtype=np.uint8)
        if d.bits <= 8
        else np.random.default_rng(0).integers(0, 256, 4096, np.uint8)
    )
    n = raw.size * 8 // d.bits
    values = d.decode(raw, n)
    assert values.shape == (n,)
    back = d.decode(d.encode(values), n)
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("name", [n for n, d in DTYPES.items() if d.is_float and d.bits >= 8])
def test_poison_of_floats_is_nan(name: str) -> None:
    d = DTYPES[name]
    assert np.isnan(d.decode(d.poisoned(d.bits), 8)).all()


def test_fp4_is_packed_low_nibble_first() -> None:
    assert bytes(DTYPES["fp4"].encode(np.array([0.5, -6.0, 1.5, 4.0]))) == bytes([0xF1, 0x63])


def test_fp6_packs_four_in_three_bytes_little_endian() -> None:
    data = DTYPES["fp6_e2m3"].encode(np.array([0.125, 0.0, 0.0, -7.5]))
    assert int.from_bytes(bytes(data), "little") == 0b000001 | 0b111111 << 18


def test_bf16_rounds_to_nearest_even() -> None:
    # 1 + 2^-8 lies half way between two bf16 numbers; the even one is 1.0
    values = DTYPES["bf16"].decode(DTYPES["bf16"].encode(np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8])), 2)
    assert values.tolist() == [1.0, 1 + 2.0**-6]


def test_fnuz_and_ocp_fp8_differ_in_bias() -> None:
    one = np.array([1.0])
    assert bytes(DTYPES["fp8_e4m3"].encode(one)) == b"\x38"
    assert bytes(DTYPES["fp8_e4m3fnuz"].encode(one)) == b"\x40"


@given(
    st.sampled_from(["row", "col"]),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 5),
    st.integers(0, 3),
)
def test_layouts_place_every_element_once(name: str, m: int, n: int, pad: int, extra: int) -> None:
    pitch = (n if name == "row" else m) + pad if pad else 0
    p = place(name, (m, n), pitch, extra)
    assert len(set(p.positions.tolist())) == m * n
    assert p.positions.max() < p.elements
    logical = np.arange(m * n).reshape(m, n)
    storage = p.scatter(logical, np.full(p.elements, -1))
    np.testing.assert_array_equal(p.gather(storage), logical)
    i, j = m - 1, n - 1
    step = pitch or (n if name == "row" else m)
    assert storage[i * step + j if name == "row" else j * step + i] == logical[i, j]


def test_pitch_smaller_than_the_row_is_refused() -> None:
    with pytest.raises(ValueError, match="pitch"):
        place("row", (4, 8), 7)


def test_weight_shuffle_formula() -> None:
    p = place("shuffle16x16", (32, 64))
    storage = p.scatter(np.arange(32 * 64).reshape(32, 64), np.zeros(32 * 64, np.int64))
    # row 17 = 16*1 + 1, byte 53 = 32*1 + 16*1 + 5
    assert storage[(((1 * 2 + 1) * 2 + 1) * 16 + 1) * 16 + 5] == 17 * 64 + 53
    with pytest.raises(ValueError, match="16"):
        place("shuffle16x16", (8, 64))


@pytest.mark.parametrize("rule", list(FILLS))
def test_fills_are_reproducible_and_differ_by_operand(rule: str) -> None:
    a = make(rule, {}, 7, "A", (16, 16))
    np.testing.assert_array_equal(a, make(rule, {}, 7, "A", (16, 16)))
    if rule in ("normal", "uniform", "integers"):
        assert (a != make(rule, {}, 7, "B", (16, 16))).any()
        assert (a != make(rule, {}, 8, "A", (16, 16))).any()


def test_integers_include_both_ends() -> None:
    values = make("integers", {"low": -1, "high": 1}, 0, "A", (1000,))
    assert set(values.tolist()) == {-1, 0, 1}
