"""Memory accesses as columns against the events they stand for."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.sim.events import SPACES, MemEvents
from isaprof.sim.trace import MemEvent


def plain(event: MemEvent) -> tuple[Any, ...]:
    """An event that can be compared."""
    assert event.addresses.dtype == np.int64
    assert event.lanes.dtype == np.int16
    lanes, addresses = event.lanes.tolist(), event.addresses.tolist()
    return event.space, event.load, event.store, event.bytes, addresses, lanes


@st.composite
def events(draw: st.DrawFn) -> MemEvent:
    space = draw(st.sampled_from(SPACES))
    load, store, width = draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from([1, 4, 8, 16]))
    if space == "scalar":
        return MemEvent(
            space, load, store, width, np.array([draw(st.integers(0, 1 << 47))]), np.zeros(0, np.int16)
        )
    lanes = draw(st.lists(st.integers(0, 63), min_size=1, max_size=70))
    first = draw(st.integers(0, 1 << 46))
    addresses = [first + draw(st.integers(0, 4096)) for _ in lanes]
    return MemEvent(space, load, store, width, np.array(addresses), np.array(lanes, np.int16))


memories = st.dictionaries(st.integers(0, 500), events(), max_size=12)


@given(memories)
def test_columns_are_a_mapping_of_the_same_events(memory: dict[int, MemEvent]) -> None:
    columns = MemEvents.of(memory)
    assert MemEvents.of(columns) is columns
    assert list(columns) == sorted(memory)
    assert {s: plain(e) for s, e in columns.items()} == {s: plain(e) for s, e in memory.items()}
    assert 1000 not in columns
    with pytest.raises(KeyError):
        columns[1000]


@given(memories, memories)
def test_a_step_that_comes_twice_is_one_event(
    first: dict[int, MemEvent], second: dict[int, MemEvent]
) -> None:
    """The second address of ds_read2: its lanes follow the first one's."""
    want = dict(first)
    for step, e in second.items():
        old = want.get(step)
        if old is not None:
            if "scalar" in (old.space, e.space):
                return  # they have one address
            addresses, lanes = np.append(old.addresses, e.addresses), np.append(old.lanes, e.lanes)
            e = dataclasses.replace(e, addresses=addresses, lanes=lanes)
        want[step] = e
    got = MemEvents.joined([MemEvents.of(first), MemEvents.of(second)])
    assert {s: plain(e) for s, e in got.items()} == {s: plain(want[s]) for s in sorted(want)}


@given(memories, st.dictionaries(st.integers(0, 1 << 20), st.integers(0, 500), max_size=200))
def test_moved_events_keep_everything_but_their_step(
    memory: dict[int, MemEvent], origin: dict[int, int]
) -> None:
    want = {new: plain(memory[old]) for new, old in origin.items() if old in memory}
    assert {s: plain(e) for s, e in MemEvents.of(memory).moved(origin).items()} == want


@given(memories, st.lists(st.integers(0, 500), max_size=300))
def test_one_lane_of_lds_accesses(memory: dict[int, MemEvent], steps: list[int]) -> None:
    want = {}
    for s, e in memory.items():
        if s in steps and e.space == "lds":
            e = dataclasses.replace(e, addresses=e.addresses[:1], lanes=e.lanes[:1])
        want[s] = plain(e)
    assert {s: plain(e) for s, e in MemEvents.of(memory).of_one_lane(steps, "lds").items()} == want
