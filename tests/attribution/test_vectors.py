"""Sorts and sums that are done for all records at once, against the plain way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isaprof.attribution.explain import _by_record
from isaprof.attribution.partition import in_time
from isaprof.attribution.rollup import _sum_by

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(-50, 50)), max_size=60)


def columns(rows: Sequence[tuple[int, ...]], n: int) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    table = np.array(rows, dtype=np.int64).reshape(-1, n)
    return [table[:, i].copy() for i in range(n)]


@given(pairs)
def test_orders_are_those_of_a_stable_sort(rows: list[tuple[int, int]]) -> None:
    want = sorted(range(len(rows)), key=lambda i: rows[i])
    a, b = columns(rows, 2)
    assert in_time(a, b).tolist() == want
    assert _by_record(a, b).tolist() == want


@given(
    st.lists(
        st.tuples(st.integers(-1, 4), st.integers(0, 3), st.integers(-1, 9), st.integers(0, 99)), max_size=60
    )
)
def test_sums_by_several_keys(rows: list[tuple[int, int, int, int]]) -> None:
    want: Counter[tuple[int, ...]] = Counter()
    for *key, cycles in rows:
        want[tuple(key)] += cycles
    *keys, cycles_of = columns(rows, 4)
    got = [x.tolist() for x in _sum_by(keys, cycles_of)]
    assert list(zip(*got, strict=True)) == [(*key, want[key]) for key in sorted(want)]
