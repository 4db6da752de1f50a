"""Issue times, stalls, latencies and how much of a stall other waves hide."""

from __future__ import annotations

import pytest

from isaprof.attribution import analyse
from isaprof.transforms.timeline import Pause, Timeline
from tests.attribution.build import Wave, capture

PROGRAM = [
    "global_load_dword v0, v[20:21], off",
    "s_waitcnt vmcnt(0)",
    "v_mov_b32_e32 v1, v0",
    "s_endpgm",
]


def wave(simd: int = 0, begin: int = 0) -> Wave:
    w = Wave(begin=begin, simd=simd).add(0).add(1, stall=400).add(2)
    return w.add(0).add(1, stall=200).add(2).add(3)


def timeline(*waves: Wave) -> Timeline:
    return Timeline(analyse(capture("gfx942", PROGRAM, waves)))


def test_issues_and_stalls() -> None:
    t = timeline(wave())
    assert t.line(0x1008) == 1
    assert t.line(0x9999) == -1
    assert t.issues(0) == {0: [0, 412]}
    assert t.pauses(1) == [Pause(0, 4, 404, 0), Pause(0, 416, 616, 0)]
    assert t.last_issue(0, 0, 412) == 0
    assert t.last_issue(0, 0, 413) == 412
    assert t.last_issue(0, 0, 0) is None
    assert t.last_issue(0, 7, 100) is None


def test_latency() -> None:
    t = timeline(wave())
    assert t.latency([0]) == pytest.approx((404 + 204) / 2)
    assert t.latency([2]) is None


def test_exposure() -> None:
    """A second wave on the same SIMD hides what it issues meanwhile; one on another SIMD hides nothing."""
    assert timeline(wave()).exposure([1]) == 1
    busy = [Wave(begin=100, simd=simd).add(2, issue=150).add(3) for simd in (0, 1)]
    assert timeline(wave(), busy[1]).exposure([1]) == 1
    assert timeline(wave(), busy[0]).exposure([1]) == pytest.approx(1 - 154 / 600)
    assert timeline(wave()).exposure([2]) == 1, "no stall: nothing is hidden"
