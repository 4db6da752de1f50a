"""Invariants of the records on generated programs, paths and launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.arch import get
from isaprof.capture.schema import TABLES
from isaprof.capture.tables import to_arrow
from isaprof.errors import UsageError
from isaprof.isa.model import Listing
from isaprof.sim.fast import build
from isaprof.sim.timing.compiled import CHOICE, library
from isaprof.sim.trace import MemEvent, WaveTrace
from tests.sim.timing.programs import global_event, lds_event, listing, run

_RDNA = (
    "v_add_f32_e32 v1, v0, v1", "v_lshlrev_b64 v[2:3], 2, v[2:3]", "v_rcp_f32_e32 v4, v1",
    "v_cmp_eq_u32_e32 vcc_lo, 0, v0", "v_mul_lo_u32 v5, v1, v4", "s_add_u32 s2, s2, s3", "s_cmp_eq_u32 s2, 0",
    "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)", "s_clause 0x1", "s_nop 3",
    "s_setprio 1", "ds_load_b32 v6, v7", "ds_store_b128 v7, v[8:11]",
    "global_load_b128 v[12:15], v16, s[4:5]",
    "global_store_b32 v16, v17, s[4:5]", "s_load_b64 s[8:9], s[4:5], 0x0", "s_cbranch_scc0 0",
    "v_wmma_f32_16x16x16_f16 v[20:27], v[28:35], v[36:43], v[20:27]",
)  # fmt: skip
_GFX11 = (*_RDNA, "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(1)", "s_waitcnt_vscnt null, 0x0", "s_barrier")
_GFX12 = (
    *_RDNA[:9], *_RDNA[11:17], "s_wait_dscnt 0x0", "s_wait_loadcnt 0x1", "s_wait_kmcnt 0x0",
    "s_wait_storecnt 0x0", "s_barrier_signal -1", "s_barrier_wait 0xffff", "s_wait_alu 0xfffe",
)  # fmt: skip
_GFX9 = (
    "v_add_f32_e32 v1, v0, v1", "v_lshlrev_b64 v[2:3], 2, v[2:3]", "v_exp_f32_e32 v4, v1",
    "v_pk_mul_f32 v[2:3], v[4:5], v[6:7]", "v_cmp_eq_u32_e32 vcc, 0, v0", "v_readfirstlane_b32 s2, v0",
    "s_add_u32 s2, s2, s3", "s_cmp_eq_u32 s2, 0", "s_nop 3", "s_setprio 2", "ds_read_b128 v[8:11], v7",
    "ds_write_b64 v7, v[8:9]", "buffer_load_dwordx4 v[12:15], v16, s[4:7], 0 offen",
    "global_store_dword v16, v17, s[4:5]", "s_load_dwordx2 s[8:9], s[4:5], 0x0", "s_waitcnt lgkmcnt(0)",
    "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0) lgkmcnt(2)", "s_barrier", "s_cbranch_scc0 0",
    "v_mfma_f32_16x16x16_f16 v[20:23], v[24:25], v[26:27], v[20:23]",
    "v_mfma_f32_32x32x2_f32 v[32:47], v20, v21, v[32:47]",
)  # fmt: skip
PROGRAMS = {"gfx1100": _GFX11, "gfx1201": _GFX12, "gfx942": _GFX9, "gfx950": _GFX9}


@st.composite
def launches(draw: st.DrawFn) -> tuple[Listing, list[list[WaveTrace]], dict[str, Any]]:
    """A program, workgroups of waves that take paths through it, and resources."""
    arch = draw(st.sampled_from(sorted(PROGRAMS)))
    texts = draw(st.lists(st.sampled_from(PROGRAMS[arch]), min_size=1, max_size=24))
    program = listing(arch, *texts, "s_endpgm")
    end = len(texts)
    waves = draw(st.integers(1, 5))
    groups = []
    for _ in range(draw(st.integers(1, 4))):
        repeats = draw(st.integers(1, 3))
        # all waves of a workgroup pass the same barriers
        base = list(range(end)) * repeats
        group = []
        for n in range(waves):
            keep = [i for i in base if "barrier" in texts[i] or draw(st.integers(0, 9)) > 0]
            lines = np.array([*keep, end], dtype=np.int32)
            memory = {s: e for s, i in enumerate(keep) if (e := _event(draw, program, i)) is not None}
            taken = frozenset(s for s, i in enumerate(keep) if "cbranch" in texts[i] and draw(st.booleans()))
            group.append(WaveTrace((0, 0, 0), n, 32, lines, memory, taken))
        groups.append(group)
    more = {
        "vgprs": draw(st.sampled_from([16, 96, 256])),
        "lds_bytes": draw(st.sampled_from([0, 1024, 40960])),
    }
    return program, groups, {**more, "warm": draw(st.booleans())}


def _event(draw: st.DrawFn, program: Listing, line: int) -> MemEvent | None:
    mem = program.instructions[line].mem
    if mem is None or draw(st.integers(0, 9)) == 0:
        return None
    start, stride = draw(st.integers(0, 1 << 20)) * 4, draw(st.sampled_from([4, 16, 128, 256]))
    if mem.space.value == "scalar":
        lanes = np.zeros(0, dtype=np.int16)
        return MemEvent("scalar", True, False, mem.bytes, np.array([start], dtype=np.int64), lanes)
    make = lds_event if mem.space.value == "lds" else global_event
    return make([start + stride * n for n in range(draw(st.integers(1, 32)))], mem.bytes, store=mem.store)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(launches())
def test_records_obey_time(launch: tuple[Listing, list[list[WaveTrace]], dict[str, Any]]) -> None:
    program, groups, more = launch
    out = run(program, groups, **more)
    period, grain = get(program.arch)["issue_period"], get(program.arch)["time_grain"]
    flat = [w for g in groups for w in g]
    insts, waves = out["insts"], out["waves"]
    assert len(waves) == len(flat)
    for w, trace in enumerate(flat):
        rows = insts[insts.wave == w]
        traced = [int(i) for i in trace.lines if program.instructions[i].traced]
        assert rows.line.tolist() == traced  # program order, nothing lost, nothing invented
        assert rows.seq.tolist() == list(range(len(traced)))
        time, stall, duration = (rows[c].to_numpy() for c in ("time", "stall", "duration"))
        assert (stall >= 0).all()
        assert (stall <= duration).all()
        assert (time % grain == 0).all()
        assert (duration % grain == 0).all()
        own = rows[[program.instructions[i].pipe.value != "INTERNAL" for i in rows.line]]
        issue = (own.time + own.stall).to_numpy()
        assert (np.diff(issue) >= period).all()
        assert (np.diff(time + stall) >= 0).all()
        begin, end = int(waves.begin[w]), int(waves.end[w])
        assert begin <= time[0]
        assert (time + duration).max() <= end
        states = out["states"][out["states"].wave == w]
        assert int(states.duration.sum()) == end - begin
        ends = (states.begin + states.duration).to_numpy()
        assert (states.begin.to_numpy()[1:] == ends[:-1]).all()
    _one_issue_a_port(program, insts, waves, period)
    _slots_are_not_shared(waves)
    for name, frame in out.items():
        assert len(to_arrow(name, frame)) == len(frame)
        assert set(frame.columns) == {c.name for c in TABLES[name]}


def _one_issue_a_port(program: Listing, insts: pd.DataFrame, waves: pd.DataFrame, period: int) -> None:
    """On one SIMD, scalar, LDS and vector memory instructions never issue in the same turn twice."""
    frame = insts.assign(
        unit=[program.instructions[i].pipe.value for i in insts.line],
        simd=waves.simd.to_numpy()[insts.wave.to_numpy()],
        issue=insts.time + insts.stall,
    )
    for unit in ("SALU", "LDS", "VMEM", "MATRIX"):
        rows = frame[frame.unit == unit]
        for _, mine in rows.groupby("simd"):
            assert (np.diff(np.sort(mine.issue.to_numpy())) >= period).all()


def _slots_are_not_shared(waves: pd.DataFrame) -> None:
    for _, mine in waves.sort_values("begin").groupby(["simd", "slot"]):
        assert (mine.begin.to_numpy()[1:] >= mine.end.to_numpy()[:-1]).all()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(launches())
def test_both_loops_give_the_same_records(
    launch: tuple[Listing, list[list[WaveTrace]], dict[str, Any]],
) -> None:
    """The compiled loop against the reference, and each of them twice."""
    program, groups, more = launch
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, "reference")
        first = run(program, groups, **more)
        if compiler_missing():
            return
        patch.setenv(CHOICE, "compiled")
        for again in (run(program, groups, **more), run(program, groups, **more)):
            for name in first:
                pd.testing.assert_frame_equal(first[name], again[name])


def compiler_missing() -> bool:
    try:
        build.load()
    except build.Unavailable:
        return True
    return False


def test_the_loop_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "reference")
    assert library() is None
    monkeypatch.setenv(CHOICE, "nonsense")
    with pytest.raises(UsageError, match="expected auto, reference or compiled"):
        library()
    monkeypatch.setenv(CHOICE, "auto")
    assert (library() is None) == compiler_missing()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(launches())
def test_no_wait_ends_before_what_it_waits_for(
    launch: tuple[Listing, list[list[WaveTrace]], dict[str, Any]],
) -> None:
    """A wait for zero LDS operations ends no earlier than the shortest latency after the last one."""
    program, groups, more = launch
    out = run(program, groups, **more)
    table = get(program.arch)
    shortest = min(*table["lds_read_latency"].values(), *table["lds_write_latency"].values())
    names = {"lgkmcnt", "dscnt"}
    for w in range(len(out["waves"])):
        last = None
        for r in out["insts"][out["insts"].wave == w].itertuples():
            i = program.instructions[r.line]
            if i.pipe.value == "LDS":
                last = r.time + r.stall
            elif last is not None and any(c in names and n == 0 for c, n in i.waits):
                assert r.time + r.duration >= last + shortest


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(launches())
def test_many_launches(launch: tuple[Listing, list[list[WaveTrace]], dict[str, Any]]) -> None:
    test_records_obey_time.hypothesis.inner_test(launch)
    test_both_loops_give_the_same_records.hypothesis.inner_test(launch)
    test_no_wait_ends_before_what_it_waits_for.hypothesis.inner_test(launch)
