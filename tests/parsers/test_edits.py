"""Corrections of records and timelines made all at once equal the same ones made one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isaprof.parsers.sqtt.model import Cat, State
from isaprof.parsers.sqtt.records import Edits, Records, Timeline

STATES = st.sampled_from([State.IDLE, State.EXEC, State.STALL, State.WAIT])


@given(
    runs=st.lists(st.tuples(STATES, st.integers(1, 20)), max_size=12),
    stretches=st.lists(st.tuples(st.integers(-5, 150), st.integers(-3, 30)), max_size=8),
    ordered=st.booleans(),
)
def test_timeline(runs: list[tuple[State, int]], stretches: list[tuple[int, int]], ordered: bool) -> None:
    if ordered:
        stretches.sort()
        nexts = [a for a, _ in stretches[1:]] + [999]
        stretches = [(a, min(n, b - a)) for (a, n), b in zip(stretches, nexts, strict=False)]
    one, all_ = Timeline(), Timeline()
    for t in (one, all_):
        for state, n in runs:
            t.add(state, n)
    for begin, cycles in stretches:
        one.overwrite(begin, cycles, State.WAIT)
    all_.overwrite_all(stretches, State.WAIT)
    assert all_.runs == one.runs


@given(
    n=st.integers(0, 12),
    known=st.sets(st.integers(0, 14)),
    plan=st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=8),
)
def test_records(n: int, known: set[int], plan: list[tuple[int, bool]]) -> None:
    r = Records()
    for i in range(n):
        r.append(Cat.VALU, 10 * i, i, 0)
    r.lines = list(range(n))
    r.pcs = {k: 100 + k for k in known}
    r.unfinished = {k for k in known if k < n}
    edits, seen = Edits(), set()
    rows: list[tuple[str, int]] = [("old", i) for i in range(n)]
    inserted = 0
    for i, delete in sorted(plan, key=lambda x: x[0]):
        if i >= n or i in seen:
            continue
        if delete:
            edits.delete(i)
            seen.add(i)
            rows.remove(("old", i))
        else:
            edits.insert(i, Cat.IMMED, 7, inserted, 0)
            rows.insert(rows.index(("old", i)), ("new", inserted))
            inserted += 1
    r.apply(edits)
    got = [("new", d) if c is Cat.IMMED else ("old", d) for c, d in zip(r.category, r.duration, strict=True)]
    assert got == rows
    assert len(r.time) == len(r.stall) == len(r.lines) == len(rows)
    place = {i: k for k, (what, i) in enumerate(rows) if what == "old"}
    beyond = len(rows) - n
    assert r.pcs == {place[k] if k < n else k + beyond: 100 + k for k in known if k >= n or k in place}
    assert r.unfinished == {place[k] for k in known if k in place}
