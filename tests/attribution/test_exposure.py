"""Exposed, hidden, covered, unknown: by hand on two waves, by property on any capture."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.attribution import Analysis, analyse
from isaprof.attribution.exposure import SPLIT
from isaprof.attribution.intervals import Axis, shared, union
from tests.attribution.build import Wave, capture, memory_table

GFX950 = (
    "global_load_dword v9, v[2:3], off",  # 0
    "s_waitcnt vmcnt(0)",  # 1
    "v_add_u32_e32 v1, v2, v3",  # 2
    "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]",  # 3
    "ds_read_b128 v[4:7], v1",  # 4
    "s_waitcnt vmcnt(0) lgkmcnt(0)",  # 5
    "s_waitcnt lgkmcnt(0)",  # 6
)


def split(a: Analysis, line: int) -> tuple[int, int, int]:
    assert a.detail is not None
    row = a.detail.lines.loc[line]
    return int(row["exposed"]), int(row["hidden"]), int(row["unknown"])


def waiting() -> Wave:
    """Loads, then stalls 100 cycles from 4 on."""
    return Wave().add(0).add(1, stall=100, issue=0)


def other(simd: int = 0) -> Wave:
    """Four VALU instructions from 20 on, two of them back to back: 16 issue cycles, ends at 60."""
    return Wave(begin=20, simd=simd, slot=1).add(2).add(2).add(2, idle=12).add(2, idle=12)


def test_another_wave_of_the_simd_hides_what_it_issues() -> None:
    assert split(analyse(capture("gfx950", GFX950, [waiting(), other()])), 1) == (84, 16, 0)


def test_two_other_waves_at_once_hide_the_union_not_the_sum() -> None:
    a = analyse(capture("gfx950", GFX950, [waiting(), other(), other()]))
    assert split(a, 1) == (84, 16, 0)


def whole_split(a: Analysis, line: int) -> tuple[int, ...]:
    assert a.detail is not None
    return tuple(int(a.detail.lines.loc[line, name]) for name in SPLIT)


def test_the_matrix_pipe_covers_what_nobody_hides() -> None:
    # the other wave's MFMA issues 20 to 24 and is in the pipe until 36
    a = analyse(capture("gfx950", GFX950, [waiting(), Wave(begin=20, slot=1).add(3)]))
    assert whole_split(a, 1) == (84, 4, 12, 0)


def test_what_a_third_wave_issues_under_a_busy_matrix_pipe_is_hidden_not_covered() -> None:
    third = Wave(begin=28, slot=2).add(2).add(2)  # issues 28 to 36
    a = analyse(capture("gfx950", GFX950, [waiting(), Wave(begin=20, slot=1).add(3), third]))
    assert whole_split(a, 1) == (84, 12, 4, 0)


def test_the_pipe_is_covered_by_the_waiting_waves_own_matrix_instruction_too() -> None:
    wave = Wave().add(3).add(3, stall=12)
    a = analyse(capture("gfx950", GFX950, [wave, other()]))
    assert a.detail is not None
    assert whole_split(a, 3) == (0, 0, 12, 0)
    assert a.detail.lines.loc[3, "own_pipe"] == 12


def test_one_wave_only_is_unknown() -> None:
    assert split(analyse(capture("gfx950", GFX950, [waiting()])), 1) == (0, 0, 100)


def test_another_simd_tells_nothing_without_occupancy_and_all_with_it() -> None:
    cap = capture("gfx950", GFX950, [waiting(), other(simd=1)])
    assert split(analyse(cap), 1) == (0, 0, 100)
    cap._tables["occupancy"] = pd.DataFrame({"se": [0], "time": [0]})
    assert split(analyse(cap), 1) == (100, 0, 0)


def test_a_resident_wave_without_records_makes_its_time_unknown() -> None:
    cap = capture("gfx950", GFX950, [waiting(), other(), Wave(begin=50, end=80, slot=2)])
    cap.waves.loc[2, "traced"] = False
    # 56-60 of the other wave lies in it and is hidden all the same
    assert split(analyse(cap), 1) == (84 - 26, 16, 26)


def test_time_inside_an_rdna_barrier_is_split_at_its_line() -> None:
    # gfx11 books it as execution of s_barrier: no stall, no idle, yet waits of 99 and 76 behind a slot each
    early = Wave().add(0, issue=1).add(1, issue=100)
    late = Wave(begin=20, slot=1).straight([0] * 4, issue=1).add(1, issue=77)
    a = analyse(capture("gfx1100", ("s_mov_b32 s1, s2", "s_barrier"), [early, late]))
    assert a.detail is not None
    row = a.detail.lines.loc[1]
    assert (row["wait"], row["held"]) == (0, 99 + 76)
    barrier = a.detail.by("category").set_index("cause").loc["barrier"]
    of_line = a.detail.exposure.query("line == 1 and cause == 'barrier'")[list(SPLIT)].sum()
    assert of_line.tolist() == barrier[list(SPLIT)].tolist() == [94 + 76, 5, 0, 0]
    assert row[list(SPLIT)].tolist() == of_line.tolist()  # the late one issued five times
    assert a.detail.most_exposed["line"].tolist() == [1]


def test_a_bank_conflict_under_a_longer_load_wait_costs_nothing() -> None:
    wave = Wave().add(0).add(4).add(5, stall=600, issue=0)
    cap = capture("gfx950", GFX950, [wave, other()])
    cap._tables["memory"] = memory_table([(0, 1, 12, 4)])
    a = analyse(cap)
    assert a.detail is not None
    row = a.detail.conflicts.iloc[0]
    assert (row["line"], row["extra"], row["charged"], row["exposed"]) == (4, 8, 0, 0)


def test_a_bank_conflict_that_the_wait_ends_with_is_charged_and_split() -> None:
    wave = Wave().add(4).add(6, stall=100, issue=0)
    late = Wave(begin=98, slot=1).add(2)  # issues 98 to 102, over half of the last 8 cycles
    cap = capture("gfx950", GFX950, [wave, late])
    cap._tables["memory"] = memory_table([(0, 0, 12, 4)])
    a = analyse(cap)
    assert a.detail is not None
    row = a.detail.conflicts.iloc[0]
    assert (row["charged"], row["exposed"], row["hidden"], row["degree"]) == (8, 4, 4, 3.0)


# -- cycle by cycle ----------------------------------------------------------------
#: line of the program below -> cycles its pipe is kept, and whether that is the matrix pipe
PIPES = {0: (4, False), 1: (8, False), 2: (16, True)}
STEPS = (
    "v_add_u32_e32 v1, v2, v3",
    "v_exp_f32_e32 v4, v5",
    "v_mfma_f32_16x16x32_bf16 v[8:11], v[12:15], v[16:19], v[8:11]",
    "s_waitcnt vmcnt(0)",
)
records = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=8)
lives = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), records), min_size=2, max_size=4)


@settings(max_examples=25, deadline=None)
@given(lives)
def test_the_split_as_counted_cycle_by_cycle(
    drawn: list[tuple[int, int, list[tuple[int, int, int]]]],
) -> None:
    waves = []
    for slot, (simd, begin, rows) in enumerate(drawn):
        wave = Wave(begin=4 * begin, simd=simd, slot=slot)
        for line, idle, stall in rows:
            wave.add(line, idle=4 * idle, stall=4 * stall, issue=0 if line == 3 else 4)
        waves.append(wave)
    cap = capture("gfx950", STEPS, waves)
    cap._tables["occupancy"] = pd.DataFrame({"se": [0], "time": [0]})
    high = max(w.now or 0 for w in waves) + 20
    busy, matrix = np.zeros((len(waves), high), bool), np.zeros((2, high), bool)
    for n, w in enumerate(waves):
        for line, time, stall, duration, _ in w.rows:
            busy[n, time + stall : time + duration] = True
            cycles, on_matrix = PIPES.get(line or 0, (0, False))
            (matrix[w.simd] if on_matrix else busy[n])[time + stall : time + stall + cycles] = True
    expected = np.zeros((len(STEPS), 3), np.int64)
    for n, w in enumerate(waves):
        mates = [m for m, o in enumerate(waves) if m != n and o.simd == w.simd]
        others, before = busy[mates].any(axis=0), w.begin
        for line, time, stall, duration, _ in w.rows:
            at = slice(before, time + stall)
            hidden, covered = others[at].sum(), (matrix[w.simd, at] & ~others[at]).sum()
            expected[line or 0] += (time + stall - before - hidden - covered, hidden, covered)
            before = time + duration
    a = analyse(cap)
    assert a.detail is not None
    lines = a.detail.lines
    assert lines[["exposed", "hidden", "covered"]].to_numpy().tolist() == expected.tolist()
    assert not lines["unknown"].any()


# -- intervals -------------------------------------------------------------------
stretches = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 40), st.integers(0, 12)), max_size=12
)


@settings(max_examples=200, deadline=None)
@given(stretches, st.integers(0, 45), st.integers(0, 20))
def test_unions_and_others_as_counted_cycle_by_cycle(
    rows: list[tuple[int, int, int, int]], begin: int, length: int
) -> None:
    unit, member, start, end = (
        np.array(x, np.int64)
        for x in zip(*[(u, 4 * u + m, s, s + n) for u, m, s, n in rows] or [(0, 0, 0, 0)], strict=True)
    )
    axis = Axis(0, 80)
    cover = union(axis.key(unit, start), axis.key(unit, end))
    both = shared(axis, unit, member, start, end)
    for u in range(3):
        a, b = np.array([begin]), np.array([begin + length])
        active = [
            {m for m, s, e, v in zip(member, start, end, unit, strict=True) if v == u and s <= t < e}
            for t in range(begin, begin + length)
        ]
        key = axis.key(np.array([u]), a), axis.key(np.array([u]), b)
        assert cover.measure(*key)[0] == sum(bool(x) for x in active)
        for m in np.unique(member[unit == u]).tolist():
            others = both.others(axis.keys(np.array([u]), a, b), axis.keys(np.array([m]), a, b))[0]
            assert others == sum(bool(x - {m}) for x in active)


@pytest.mark.parametrize("arch", ["gfx950", "gfx1100"])
def test_a_capture_without_waves_has_empty_details(arch: str) -> None:
    a = analyse(capture(arch, ["s_endpgm"], []))
    assert a.detail is not None
    assert not len(a.detail.exposure)
    assert not a.detail.lines["exposed"].any()
