"""Passes of LDS accesses and their reasons: the compiled way against NumPy's, address by address."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.arch import get
from isaprof.arch.table import LdsPattern
from isaprof.sim.events import MemEvents
from isaprof.sim.timing import banks as under_test
from isaprof.sim.timing.accesses import Accesses, reduce
from isaprof.sim.timing.banks import banks
from isaprof.sim.trace import MemEvent

Named = tuple[int, int, tuple[int | None, str] | None]
#: architectures with the sizes of their waves
SIZES = [("gfx942", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1201", 32), ("gfx1201", 64)]


pytestmark = pytest.mark.usefixtures("compiled")


@st.composite
def waves(draw: st.DrawFn) -> list[dict[int, MemEvent]]:
    """Waves whose accesses repeat, move by dwords or bytes, are strided or random; some lanes come twice."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    shapes = []
    for _ in range(draw(st.integers(1, 5))):
        width, store = draw(st.sampled_from([1, 2, 4, 8, 12, 16, 24])), draw(st.booleans())
        lanes = np.flatnonzero(rng.random(64) < draw(st.sampled_from([0.1, 0.6, 1.1])))
        lanes = lanes if len(lanes) else np.array([63])
        twice = draw(st.sampled_from(["once", "behind", "beside", "shuffled"]))
        if twice == "behind":
            lanes = np.concatenate((lanes, lanes[::2], lanes[:1]))
        elif twice == "beside":
            lanes = np.repeat(lanes, 2)
        elif twice == "shuffled":
            lanes = rng.permutation(np.concatenate((lanes, lanes)))
        step = draw(st.sampled_from([None, 0, 4, 16, 64, 100, 128, 256, -8]))
        at = (
            rng.integers(0, draw(st.sampled_from([64, 1 << 16])), len(lanes))
            if step is None
            else step * lanes
        )
        at = at - draw(st.sampled_from([0, 700]))  # also below 0
        for moved in (0, draw(st.sampled_from([0, 1, 4, 64]))):
            shapes.append(MemEvent("lds", not store, store, width, at + moved, lanes.astype(np.int16)))
    shapes.append(MemEvent("global", True, False, 4, np.arange(4) * 4, np.arange(4, dtype=np.int16)))
    chosen = st.lists(st.sampled_from(shapes), max_size=10)
    return [dict(enumerate(draw(chosen))) for _ in range(draw(st.integers(1, 3)))]


def both(
    lib: ctypes.CDLL,
    memories: list[dict[int, MemEvent]],
    atomics: int,
    patterns: Mapping[str, LdsPattern],
) -> list[Named]:
    """(passes, least, reason) of each access, which must come out twice the same."""
    x = Accesses.of([MemEvents.of(m) for m in memories])
    atomic = np.array([atomics >> i % 8 & 1 for i in range(len(x.count))], dtype=bool)
    same = reduce(None, x, atomic, 7).same
    results = []
    for b in (banks(lib, x, same, atomic, patterns), banks(None, x, same, atomic, patterns)):
        assert b.passes.dtype == b.least.dtype == b.reason.dtype == np.int32
        reasons = [None if i < 0 else b.reasons[i] for i in b.reason.tolist()]
        results.append(list(zip(b.passes.tolist(), b.least.tolist(), reasons, strict=True)))
    assert results[0] == results[1]
    return results[0]


@given(waves(), st.integers(0, 255), st.sampled_from(SIZES))
def test_compiled_banks_are_the_reference(
    compiled: ctypes.CDLL, memories: list[dict[int, MemEvent]], atomics: int, size: tuple[str, int]
) -> None:
    patterns = get(size[0])["lds_lane_groups"][size[1]]
    events = [e for m in memories for e in m.values()]
    for event, (passes, least, reason) in zip(
        events, both(compiled, memories, atomics, patterns), strict=True
    ):
        assert (least > 0) == (event.space == "lds")
        assert (reason is not None) == (passes > least)


@pytest.mark.parametrize(("arch", "size"), SIZES)
def test_random_addresses_of_every_kind(compiled: ctypes.CDLL, arch: str, size: int) -> None:
    rng = np.random.default_rng(7)
    lanes = np.arange(size, dtype=np.int16)
    memory = {
        n: MemEvent("lds", n % 2 == 0, n % 2 == 1, (4, 8, 12, 16)[n // 2 % 4],
                    rng.integers(0, 1 << 12, size) * (4 if n < 160 else 16), lanes)
        for n in range(320)
    }  # fmt: skip
    got = both(compiled, [memory], 0b10010000, get(arch)["lds_lane_groups"][size])
    assert all(passes > least and reason is not None for passes, least, reason in got)


def test_only_the_first_patterns_of_a_shape_are_named(
    compiled: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each shape, however they alternate; a pattern that moved by dwords is known."""
    monkeypatch.setattr(under_test, "MAX_PATTERNS", 3)
    rng = np.random.default_rng(1)
    at = [rng.integers(0, 64, 32) * 128 for _ in range(6)]
    lanes = np.arange(32, dtype=np.int16)
    events = [
        MemEvent("lds", True, False, width, at[n] + moved, lanes)
        for n in range(6)
        for moved in (0, 8)
        for width in (4, 8)
    ]
    got = both(compiled, [dict(enumerate(events))], 0, get("gfx942")["lds_lane_groups"][64])
    assert [reason is not None for _, _, reason in got] == [n < 12 for n in range(24)]
    assert got[0][2] == got[2][2]


def test_what_the_compiled_way_cannot_hold_is_left_to_the_reference(compiled: ctypes.CDLL) -> None:
    """Groups that share a lane, more banks than it knows."""
    event = MemEvent("lds", True, False, 4, np.arange(8) * 1024, np.arange(8, dtype=np.int16))
    for pattern, passes in ((LdsPattern(((0, 1), (1, 2)), 32), 4), (LdsPattern((tuple(range(8)),), 512), 4)):
        found = both(compiled, [{0: event}], 0, dict.fromkeys(under_test._KINDS, pattern))
        assert found[0][0] == passes
