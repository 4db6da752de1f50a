"""ds_read_b64_tr_* and ds_read_b96_tr_b6: rows in, columns out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.sim.lower.lds import transpose

from .fast.differential import compare, listing_from_texts

TEXTS = [
    "ds_read_b64_tr_b16 v[2:3], v63 offset:64",
    "ds_read_b64_tr_b8 v[2:3], v63",
    "ds_read_b64_tr_b4 a[2:3], v62",
    "ds_read_b96_tr_b6 v[2:4], v62 offset:16",
    "ds_permute_b32 v2, v62, v4 offset:8",
    "ds_permute_b32 v2, v3, v2",
]


def test_16_lanes_read_four_rows_and_receive_columns() -> None:
    """Lanes 4r to 4r + 3 of a group read row r; lane i receives column i, element r from row r."""
    rows = np.arange(4 * 4 * 16, dtype=np.uint16).reshape(4, 4, 16)  # [group, row, column]
    lanes = rows.reshape(64, 4)  # each lane reads four neighbours
    got = transpose(np.ascontiguousarray(lanes).view(np.uint32).T, 16)
    columns = np.ascontiguousarray(got.T).view(np.uint16).reshape(4, 16, 4)
    np.testing.assert_array_equal(columns, rows.transpose(0, 2, 1))


@given(st.sampled_from([(16, 2), (8, 2), (4, 2), (6, 3)]), st.integers(0, 1 << 30))
@settings(max_examples=20, deadline=None)
def test_every_element_arrives_once_and_columns_are_rows_of_the_transposed(
    shape: tuple[int, int], seed: int
) -> None:
    bits, dwords = shape
    data = np.random.default_rng(seed).integers(0, 1 << 32, (dwords, 64), dtype=np.uint32)
    got = transpose(data, bits)

    def codes(x: np.ndarray) -> list[list[int]]:
        whole = [sum(int(x[d, lane]) << 32 * d for d in range(dwords)) for lane in range(64)]
        return [[w >> bits * e & (1 << bits) - 1 for e in range(32 * dwords // bits)] for w in whole]

    before, after = codes(data), codes(got)
    per = 32 * dwords // bits
    for lane in range(64):
        for k in range(per):
            row = [v for other in range(16 // per) for v in before[lane // 16 * 16 + k * (16 // per) + other]]
            assert after[lane][k] == row[lane % 16]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("mask", [None, 0x0FF0_5555_FFFF_1234, 0])
def test_both_executors_agree(text: str, mask: int | None) -> None:
    for seed in range(4):
        bad, left = compare("gfx950", listing_from_texts("gfx950", [text]), seed, exec_mask=mask)
        assert bad is None, (text, seed, bad)
        assert left == 0
