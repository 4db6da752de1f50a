"""decode(encode(x)) == x for whole programs: waves with branches, loops, calls, barriers, waits and loss."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.parsers.sqtt.generations import GENERATIONS
from tests.parsers.programs import UNIT, Run, make, read, rows_of

ALL = sorted(GENERATIONS)
SIZES = {"seed": st.integers(0, 1 << 32), "segments": st.integers(0, 6), "waves": st.integers(1, 7)}
FAST = settings(max_examples=12, deadline=None)
LONG = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(params=[False, True], ids=["reference", "compiled"], scope="module")
def fast(request: pytest.FixtureRequest) -> bool:
    if request.param:
        pytest.importorskip("numba")
    return bool(request.param)


def exact(run: Run, *, fast: bool) -> None:
    """Everything comes back as it was."""
    raw = read(run, fast=fast)
    assert raw.warnings == []
    waves, states = raw.tables["waves"], raw.tables["states"]
    assert len(waves) == len(run.waves)
    number = {(w.cu, w.simd, w.slot, w.begin): w for w in waves.itertuples()}
    for want in run.waves:
        got = number[want.unit, want.simd, want.slot, want.begin]
        assert (got.end, got.traced, got.complete) == (want.end, want.unit == UNIT, True)
        assert rows_of(raw, got.wave) == [r.key() for r in want.rows]
        own = states[states.wave == got.wave]
        if want.rows:
            assert own.begin.tolist() == [want.begin, *(own.begin + own.duration).tolist()[:-1]]


def exact_before_loss(run: Run, *, fast: bool) -> None:
    """What lies before the loss comes back as it was; the loss is counted."""
    raw = read(run, fast=fast)
    assert [(w.kind, w.amount) for w in raw.warnings if w.kind == "data_lost"] == [("data_lost", 1)]
    assert raw.tables["events"].kind.tolist().count("data_lost") == 1
    number = {(w.cu, w.simd, w.slot, w.begin): w for w in raw.tables["waves"].itertuples()}
    assert run.cut is not None
    for want in run.waves:
        if want.sent[0].packet >= run.cut:
            continue
        got = number[want.unit, want.simd, want.slot, want.begin]
        if want.sent[-1].packet < run.cut:
            assert (got.end, got.complete) == (want.end, True)
        before = []
        for r in want.rows:
            if any(s.packet >= run.cut for s in r.needs):
                break
            before.append(r.key())
        assert rows_of(raw, got.wave)[: len(before)] == before


@pytest.mark.parametrize("name", ALL)
@FAST
@given(**SIZES)
def test_programs_survive(name: str, fast: bool, seed: int, segments: int, waves: int) -> None:
    exact(make(name, seed, segments, waves), fast=fast)


@pytest.mark.parametrize("name", ALL)
@FAST
@given(**SIZES)
def test_loss_spares_what_is_before(name: str, fast: bool, seed: int, segments: int, waves: int) -> None:
    exact_before_loss(make(name, seed, segments, waves, loss=True), fast=fast)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@LONG
@given(**SIZES | {"segments": st.integers(0, 12), "waves": st.integers(1, 12)})
def test_more_programs_survive(name: str, fast: bool, seed: int, segments: int, waves: int) -> None:
    exact(make(name, seed, segments, waves), fast=fast)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
@LONG
@given(**SIZES | {"segments": st.integers(0, 12), "waves": st.integers(1, 12)})
def test_more_loss_spares_what_is_before(name: str, fast: bool, seed: int, segments: int, waves: int) -> None:
    exact_before_loss(make(name, seed, segments, waves, loss=True), fast=fast)
