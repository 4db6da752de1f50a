"""Loops of two captures paired by their aligned lines; skeletons under each other; exposed waits."""

from __future__ import annotations

import dataclasses

import pytest

from isaprof.attribution import Analysis, analyse
from isaprof.compare.align import compare
from isaprof.compare.loops import NONE, exposure_change, pair_loops, pair_skeletons
from tests.attribution.build import Wave, capture

BEFORE = (
    "s_mov_b32 s0, 3",
    "ds_read_b128 v[4:7], v1",
    "s_waitcnt lgkmcnt(0)",
    "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]",
    "s_cbranch_scc1 65529",
    "s_endpgm",
)
#: one read more in the loop
AFTER = (*BEFORE[:2], "ds_read_b128 v[8:11], v1 offset:16", *BEFORE[2:4], "s_cbranch_scc1 65527", "s_endpgm")


def run(program: tuple[str, ...], stall: int) -> Analysis:
    """Two waves of a SIMD, three passes through the loop, ``stall`` at its wait."""
    waves = []
    for begin in (0, 4):
        wave = Wave(begin).add(0)
        last = len(program) - 2
        for i in range(3):
            for line in range(1, last):
                wave.add(line, stall=stall if program[line].startswith("s_waitcnt") else 0)
            wave.add(last, category="JUMP" if i < 2 else "NEXT")
        waves.append(wave.add(last + 1))
    return analyse(capture("gfx950", program, waves))


def test_loops_are_paired_by_the_lines_they_share() -> None:
    a, b = run(BEFORE, 40), run(AFTER, 16)
    table = pair_loops(compare(a, b))
    assert list(zip(table["loop_a"], table["loop_b"], strict=True)) == [(-1, -1), (0, 0)]
    loop = table.iloc[1]
    assert (loop["t_iter_median_a"], loop["t_iter_median_b"]) == (56, 36)
    assert (loop["skeleton_a"], loop["skeleton_b"]) == ("R1 w M1", "R2 w M1")


def test_a_loop_that_one_side_lacks_stands_alone() -> None:
    straight = analyse(capture("gfx950", ("s_nop 0", "s_endpgm"), [Wave().straight((0, 1))]))
    table = pair_loops(compare(run(BEFORE, 40), straight))
    assert list(zip(table["loop_a"], table["loop_b"], strict=True)) == [(-1, -1), (0, NONE)]
    assert not isinstance(table.iloc[1]["skeleton_b"], str)


def test_exposed_waits_per_wave_sum_to_those_of_the_captures() -> None:
    c = compare(run(BEFORE, 40), run(AFTER, 16))
    table = exposure_change(c)
    for side, analysis in (("a", c.a), ("b", c.b)):
        assert analysis.detail is not None
        exposed = int(analysis.detail.by("category")["exposed"].sum()) / 2
        of = table.set_index(["kind", "name"])[f"per_wave_{side}"]
        assert of["class", "exposed"] == exposed > 0
        assert of["cause"].sum() == pytest.approx(exposed)


def test_sums_only_have_neither() -> None:
    a = dataclasses.replace(run(BEFORE, 40), detail=None)
    c = compare(a, run(AFTER, 16))
    assert not len(pair_loops(c))
    assert not len(exposure_change(c))


def test_skeletons_stand_under_each_other() -> None:
    pairs = pair_skeletons("w (G2 w M1) S1", "w (G2 B w M2 M3) S1")
    assert "".join(x for x, _ in pairs) == "w(G2wM1)S1"
    assert "".join(y for _, y in pairs) == "w(G2BwM2M3)S1"
    assert [p for p in pairs if p[0] != p[1]] == [("", "B"), ("M1", "M2"), ("", "M3")]
    assert pair_skeletons("", "") == []
