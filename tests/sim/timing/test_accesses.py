"""Reduced accesses: the compiled reduction against NumPy's, and both against the addresses themselves."""

from __future__ import annotations

import ctypes
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.sim.events import MemEvents
from isaprof.sim.timing.accesses import LOCAL, VECTOR, Accesses, Reduced, reduce
from isaprof.sim.trace import MemEvent

pytestmark = pytest.mark.usefixtures("compiled")


@st.composite
def waves(draw: st.DrawFn) -> list[dict[int, MemEvent]]:
    """Waves whose accesses repeat, run up, run down, are scattered, cross lines, or are scalar."""
    shapes = []
    for _ in range(draw(st.integers(1, 5))):
        space = draw(st.sampled_from(["lds", "gds", "global", "buffer", "scalar", "scratch"]))
        width, load = draw(st.sampled_from([1, 4, 8, 12, 16])), draw(st.booleans())
        lanes = draw(st.lists(st.integers(0, 63), min_size=1, max_size=64, unique=True).map(sorted))
        first = draw(st.integers(0, 1 << 40))
        step = draw(st.sampled_from([None, 0, 4, 16, 100, -8, 256]))
        at = [first + (draw(st.integers(0, 5000)) if step is None else n * step) for n in range(len(lanes))]
        if space == "scalar":
            at, lanes = at[:1], []
        shapes.append((space, load, not load, width, np.array(at, np.int64), np.array(lanes, np.int16)))
    chosen = st.lists(st.sampled_from(shapes), max_size=8)
    return [{i: MemEvent(*s) for i, s in enumerate(draw(chosen))} for _ in range(draw(st.integers(1, 3)))]


def both(
    lib: ctypes.CDLL, memories: list[dict[int, MemEvent]], atomics: int, shift: int
) -> tuple[Accesses, Reduced]:
    """The accesses; the reduction, which must come out twice the same."""
    x = Accesses.of([MemEvents.of(m) for m in memories])
    atomic = np.array([atomics >> i % 8 & 1 for i in range(len(x.count))], dtype=bool)
    one, two = reduce(lib, x, atomic, shift), reduce(None, x, atomic, shift)
    for f in fields(Reduced):
        a, b = getattr(one, f.name), getattr(two, f.name)
        assert a.dtype == b.dtype, f.name
        np.testing.assert_array_equal(a, b, f.name)
    return x, one


@given(waves(), st.integers(0, 255), st.sampled_from([6, 7]))
def test_compiled_reduction_is_the_reference(
    compiled: ctypes.CDLL, memories: list[dict[int, MemEvent]], atomics: int, shift: int
) -> None:
    x, got = both(compiled, memories, atomics, shift)
    events = [e for m in memories for e in m.values()]
    for n, e in enumerate(events):
        ends = [*e.addresses.tolist(), *(e.addresses + e.bytes - 1).tolist()]
        assert (int(got.lowest[n]), int(got.highest[n])) == (min(ends), max(ends))
        lines = got.lines[got.lines_ptr[n] : got.lines_ptr[n + 1]].tolist()
        assert lines == (sorted({a >> shift for a in ends}) if x.space[n] == VECTOR else [])
        assert (got.same[n] >= 0) == (x.space[n] == LOCAL)
        if got.same[n] >= 0:
            first = events[got.same[n]]
            assert got.same[n] <= n
            assert first.addresses.tolist() == e.addresses.tolist()
            assert first.lanes.tolist() == e.lanes.tolist()


def test_many_patterns_are_told_apart(compiled: ctypes.CDLL) -> None:
    """More than the table starts with, every one of them twice."""
    lanes = np.arange(64, dtype=np.int16)
    at = np.random.default_rng(5).integers(0, 1 << 16, (3000, 64))
    memory = {n: MemEvent("lds", True, False, 4, at[n % 3000], lanes) for n in range(6000)}
    _, got = both(compiled, [memory], 0, 7)
    assert got.same.tolist() == [*range(3000), *range(3000)]


def test_waves_without_accesses(compiled: ctypes.CDLL) -> None:
    _, got = both(compiled, [{}, {}], 0, 7)
    assert len(got.lines) == len(got.same) == 0
