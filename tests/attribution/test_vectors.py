"""Sorts and sums that are done for all records at once, against the plain way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.attribution import barriers
from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.counters import simulate
from isaprof.attribution.explain import _by_record
from isaprof.attribution.partition import in_time
from isaprof.attribution.records import read_records
from isaprof.attribution.rollup import _sum_by
from isaprof.attribution.static import static_code
from tests.attribution.build import Wave, capture

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


#: line and cycles of each segment of a wave, the first line being -1 where nobody is known
lives = st.lists(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(1, 9)), max_size=8), min_size=1, max_size=4
)
#: barrier, wave, arrival, line of each barrier record
arrivals = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-3, 40), st.integers(4, 5)))


def plain_blame(life: list[list[tuple[int, int]]], group: list[tuple[int, int, int, int]]) -> list[int]:
    """Culprits of the records of one barrier, cycle by cycle."""
    if len({w for _, w, _, _ in group}) == 1:
        return [-1] * len(group)
    until = max(at for _, _, at, _ in group)
    last = next(n for n, (_, _, at, _) in enumerate(group) if at == until)
    doing = [line for line, cycles in life[group[last][1]] for _ in range(cycles)]
    out = []
    for n, (_, _, at, own) in enumerate(group):
        spent = Counter(line for line in doing[max(at, 0) : max(until, 0)] if line >= 0)
        longest = min(spent, key=lambda line: (-spent[line], line), default=own)
        out.append(own if n == last else longest)
    return out


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@given(life=lives, rows=arrivals)
def test_barriers_blame_what_the_last_wave_did_longest(
    at_once: int, life: list[list[tuple[int, int]]], rows: list[tuple[int, int, int, int]]
) -> None:
    rows = sorted((b, w % len(life), at, own) for b, w, at, own in rows)
    if not rows:
        return
    groups = [list(g) for _, g in groupby(rows, key=lambda row: row[0])]
    segments = [
        (w, begin, cycles, line)
        for w, wave in enumerate(life)
        for (line, cycles), begin in zip(wave, np.cumsum([0, *(c for _, c in wave)]).tolist(), strict=False)
    ]
    _, w, time, line = columns(rows, 4)
    owner, begin, cycles, culprit = columns(segments, 4)
    s: Any = SimpleNamespace(w=owner, begin=begin, cycles=cycles, culprit=culprit, r=np.full(len(owner), -1))
    records: Any = SimpleNamespace(w=w, time=time, line=line)
    first = np.cumsum([0, *(len(g) for g in groups)])[:-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(barriers, "_AT_ONCE", at_once)
        got = barriers._blamed(records, s, np.arange(len(rows)), first)
    assert got.tolist() == [x for g in groups for x in plain_blame(life, g)]


COUNTED = [
    "global_load_dword v1, v[2:3], off", "buffer_store_dword v4, v5, s[4:7], 0 offen", "ds_read_b32 v3, v4",
    "s_load_dword s4, s[0:1], 0x0", "flat_load_dword v1, v[2:3]", "s_waitcnt vmcnt(0) lgkmcnt(0)",
    "s_waitcnt vmcnt(1)", "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v9, v8",
]  # fmt: skip


@given(st.lists(st.lists(st.integers(0, len(COUNTED) - 1), max_size=30), min_size=1, max_size=3),
       st.lists(st.integers(0, 2), max_size=6))  # fmt: skip
def test_waves_on_one_path_are_counted_like_each_alone(paths: list[list[int]], chosen: list[int]) -> None:
    waves = [paths[n % len(paths)] for n in chosen]
    cap = capture("gfx950", COUNTED, [Wave().straight(lines) for lines in waves])
    got = simulate(static_code(cap), read_records(cap))
    first = 0
    waits: dict[int, list[Any]] = {}
    for w, lines in enumerate(waves):
        one = capture("gfx950", COUNTED, [Wave().straight(lines)])
        alone = simulate(static_code(one), read_records(one))
        waits |= {
            first + r: [(g.counter, g.ordered, [first + op.r for op in g.culprits]) for g in groups]
            for r, groups in alone.waits.items()
        }
        assert got.last_store[w] == alone.last_store[0]
        first += len(lines)
    mine = got.waits
    assert waits == {
        r: [(g.counter, g.ordered, [op.r for op in g.culprits]) for g in groups] for r, groups in mine.items()
    }
    single = {r: groups[0].culprits[0] for r, groups in mine.items()
              if len(groups) == len(groups[0].culprits) == 1}  # fmt: skip
    assert got.several == {r: groups for r, groups in mine.items() if r not in single}
    found = zip(*(c.tolist() for c in got.single), strict=True)
    assert sorted(found) == [(r, op.r, op.line, CAUSE_CODE[op.cause]) for r, op in sorted(single.items())]
