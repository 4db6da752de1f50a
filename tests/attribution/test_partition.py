"""Conservation on generated captures: whatever the records are, the pieces tile the wave."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.attribution import analyse
from isaprof.errors import BadInput
from tests.attribution.build import Wave, capture
from tests.attribution.invariants import check, check_detail

PROGRAMS = {
    "gfx950": (
        "s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "v_add_u32_e32 v1, v2, v3",
        "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]", "ds_read_b128 v[4:7], v1",
        "buffer_load_dword v9, v1, s[4:7], 0 offen", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_barrier",
        "s_nop 3", "v_cmp_gt_i32_e32 vcc, 40, v2", "s_cbranch_vccnz 65530",
        "global_store_dword v[2:3], v1, off", "s_endpgm",
    ),
    "gfx1100": (
        "s_load_b128 s[4:7], s[0:1], null", "s_waitcnt lgkmcnt(0)", "s_delay_alu instid0(VALU_DEP_1)",
        "v_add_f32_e32 v1, v2, v3", "v_exp_f32_e32 v4, v1", "ds_load_b128 v[4:7], v1", "s_barrier",
        "global_load_b32 v9, v[2:3], off", "s_waitcnt vmcnt(0)", "s_clause 0x1", "s_cbranch_execz 3",
        "global_store_b32 v[2:3], v1, off", "s_endpgm",
    ),
    "gfx1201": (
        "s_load_b128 s[4:7], s[0:1], null", "s_wait_kmcnt 0x0", "s_wait_alu 0xfffe",
        "v_wmma_f32_16x16x16_f16 v[38:45], v[30:33], v[34:37], v[38:45]", "v_rcp_f32_e32 v4, v1",
        "ds_load_b128 v[4:7], v1", "s_wait_dscnt 0x0", "s_barrier_signal -1", "s_barrier_wait 0xffff",
        "global_load_b32 v9, v[2:3], off", "s_wait_loadcnt_dscnt 0x0", "s_endpgm",
    ),
}  # fmt: skip


@st.composite
def captures(draw: st.DrawFn, *, tidy: bool):
    """Random captures; ``tidy`` ones have no overlap of stalls and stay inside their waves."""
    arch = draw(st.sampled_from(sorted(PROGRAMS)))
    program = PROGRAMS[arch]
    waves = []
    for _ in range(draw(st.integers(0, 4))):
        wave = Wave(
            begin=draw(st.integers(-50, 500)), cu=draw(st.integers(0, 1)), simd=draw(st.integers(0, 1))
        )
        now = wave.begin
        for _ in range(draw(st.integers(0, 12))):
            line = draw(st.one_of(st.none(), st.integers(0, len(program) - 1)))
            stall = draw(st.sampled_from((0, 0, 1, 4, 12, 90, 700)))
            issue = draw(st.sampled_from((0, 1, 4, 8, 30)))
            if tidy:
                # at most into the issue part of the record before: what hardware traces show
                back = min(draw(st.integers(0, 8)), wave.rows[-1][3] - wave.rows[-1][2]) if wave.rows else 0
                time = now - back + draw(st.sampled_from((0, 0, 4, 60)))
            else:
                time = now + draw(st.integers(-40, 40))
            category = draw(st.sampled_from((None, None, None, "JUMP", "NEXT", "CONTEXT")))
            wave.rows.append((line, time, stall, stall + issue, category))
            now = time + stall + issue
        last = max((t + d for _, t, _, d, _ in wave.rows), default=wave.begin)
        extra = draw(st.integers(0, 60)) if tidy else draw(st.integers(-60, 60))
        wave.end = max(wave.begin, last + extra)
        waves.append(wave)
    return capture(arch, program, waves)


@settings(max_examples=40, deadline=None)
@given(captures(tidy=True))
def test_tidy_records_keep_amds_stall_and_idle(cap) -> None:
    analysis = analyse(cap)
    check(cap, analysis)
    s = analysis.segments
    for part, column in ((("stall",), "stall"), (("launch", "idle"), "idle")):
        sums = s[s["part"].isin(part)].groupby("line")["cycles"].sum()
        assert [sums.get(i, 0) for i in analysis.lines["line"]] == analysis.lines[column].tolist()


@settings(max_examples=50, deadline=None)
@given(captures(tidy=False))
def test_any_records_are_conserved(cap) -> None:
    check(cap, analyse(cap))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(captures(tidy=True), captures(tidy=False))
def test_many_records(tidy, loose) -> None:
    test_tidy_records_keep_amds_stall_and_idle.hypothesis.inner_test(tidy)
    test_any_records_are_conserved.hypothesis.inner_test(loose)


@settings(max_examples=12, deadline=None)
@given(st.booleans().flatmap(lambda tidy: captures(tidy=tidy)))
def test_the_split_and_every_roll_up_are_exact(cap) -> None:
    check_detail(analyse(cap))


def test_the_parts_of_a_plain_wave() -> None:
    wave = Wave(begin=100, end=260).add(0, idle=28).add(1, stall=40, issue=0).add(2, idle=4).add(3, stall=12)
    a = analyse(capture("gfx950", PROGRAMS["gfx950"], [wave]))
    parts = [(r.part, r.seq, r.line, r.begin, r.cycles) for r in a.segments.itertuples()]
    assert parts == [
        ("launch", -1, 0, 100, 28), ("issue", 0, 0, 128, 4), ("stall", 1, 1, 132, 40), ("idle", 2, 2, 172, 4),
        ("issue", 2, 2, 176, 4), ("stall", 3, 3, 180, 12), ("issue", 3, 3, 192, 4),
        ("drain", -1, -1, 196, 64),
    ]  # fmt: skip
    assert a.total_cycles == 160
    assert a.span_cycles == 160


def test_an_overlap_trims_the_issue_of_the_earlier_record() -> None:
    # an SALU that issues for 8 cycles, followed after 4 by a wait: seen on gfx950
    wave = Wave(begin=0, end=40)
    wave.rows = [(2, 0, 0, 8, None), (1, 4, 20, 20, None)]
    a = analyse(capture("gfx950", PROGRAMS["gfx950"], [wave]))
    parts = [(r.part, r.begin, r.cycles) for r in a.segments.itertuples()]
    assert parts == [("issue", 0, 4), ("stall", 4, 20), ("drain", 24, 16)]
    assert a.overlap_cycles == 4
    assert a.lines.loc[2, "latency"] == 8


def test_a_long_record_goes_on_issuing_after_a_short_one() -> None:
    wave = Wave(begin=0, end=60)
    wave.rows = [(3, 0, 0, 50, None), (2, 4, 0, 4, None), (2, 55, 0, 4, None)]
    a = analyse(capture("gfx950", PROGRAMS["gfx950"], [wave]))
    parts = [(r.part, r.line, r.begin, r.cycles) for r in a.segments.itertuples()]
    assert parts == [("issue", 3, 0, 4), ("issue", 2, 4, 4), ("issue", 3, 8, 42), ("idle", 2, 50, 5),
                     ("issue", 2, 55, 4), ("drain", -1, 59, 1)]  # fmt: skip


def test_the_end_of_s_endpgm_is_drain() -> None:
    wave = Wave(begin=0).add(2).add(12, issue=240)
    a = analyse(capture("gfx950", PROGRAMS["gfx950"], [wave]))
    assert a.lines.loc[12, "latency"] == 240
    assert a.lines.loc[12, "issue"] == 4
    assert dict(zip(a.causes["cause"], a.causes["cycles"], strict=True)) == {"drain": 236, "issue": 8}


def test_records_without_a_line_count_as_unexplained() -> None:
    wave = Wave(begin=0, end=100).add(2).add(None, issue=20).add(2, idle=6).add(None, issue=30)
    a = analyse(capture("gfx950", PROGRAMS["gfx950"], [wave]))
    assert a.lines.loc[2, "idle"] == 26
    causes = dict(zip(a.causes["cause"], a.causes["cycles"], strict=True))
    assert causes == {"unexplained": 20 + 6 + 30, "issue": 8, "drain": 36}
    assert any("2 records" in n for n in a.notes)


def test_a_trap_is_a_context_switch() -> None:
    wave = Wave(begin=0).add(2).add(None, issue=500, category="CONTEXT").add(2)
    a = analyse(capture("gfx950", PROGRAMS["gfx950"], [wave]))
    causes = dict(zip(a.causes["cause"], a.causes["cycles"], strict=True))
    assert causes == {"trap/context switch": 500, "issue": 8}


@pytest.mark.parametrize("waves", [[], [Wave(begin=5, end=5)], [Wave(begin=5, end=90)]])
def test_waves_without_records(waves: list[Wave]) -> None:
    cap = capture("gfx950", PROGRAMS["gfx950"], waves)
    a = analyse(cap)
    check(cap, a)
    assert a.unexplained_share in (0.0, 1.0)


@pytest.mark.parametrize("bad", [2**62, -(2**62), 2**58])
def test_impossible_times_are_refused(bad: int) -> None:
    wave = Wave(begin=0, end=10)
    wave.rows = [(2, bad, 0, 4, None)]
    with pytest.raises(BadInput, match="cycles"):
        analyse(capture("gfx950", PROGRAMS["gfx950"], [wave] * 8))


def test_an_unknown_architecture_is_bad_input() -> None:
    cap = capture("gfx950", ["s_endpgm"], [Wave().add(0)])
    cap.meta["arch"] = "sm_90"
    with pytest.raises(BadInput, match="sm_90"):
        analyse(cap)
