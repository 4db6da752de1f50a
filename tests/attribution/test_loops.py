"""Loops, matrix pipe, VGPR banks, LDS pattern, source lines: small programs whose figures are known."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof import arch
from isaprof.attribution import Analysis, analyse
from isaprof.attribution.detail import Detail
from isaprof.attribution.matrixpipe import lds_cover
from isaprof.attribution.static import static_code
from isaprof.isa.decode import decode_lines
from isaprof.isa.vgpr_banks import bank_conflict
from isaprof.sim.timing import lds
from tests.attribution.build import Wave, capture

#: 8 bytes a line: the branch of line 6 goes back to line 1, 6 lines before its own end
PROGRAM = (
    "s_mov_b32 s0, 3",
    "ds_read_b128 v[4:7], v1",
    "ds_read_b128 v[8:11], v1 offset:16",
    "s_waitcnt lgkmcnt(0)",
    "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]",
    "s_barrier",
    "s_cbranch_scc1 65525",
    "s_endpgm",
)


def looped(iterations: int = 3, stall: int = 40) -> Analysis:
    wave = Wave().add(0)
    for i in range(iterations):
        wave.straight((1, 2)).add(3, stall=stall, issue=0).add(4).add(5, issue=0)
        wave.add(6, category="JUMP" if i + 1 < iterations else "NEXT")
    wave.add(7)
    return analyse(capture("gfx950", PROGRAM, [wave]))


def detail(a: Analysis) -> Detail:
    assert a.detail is not None
    return a.detail


def test_iterations_and_the_split_of_a_loop() -> None:
    d = detail(looped())
    loop = d.loops[d.loops["loop"] == 0].iloc[0]
    assert (loop["first_line"], loop["last_line"], loop["iterations"], loop["runs"]) == (1, 6, 3, 1)
    # two reads, 40 cycles of wait, the MFMA, the branch
    assert d.iterations[d.iterations["loop"] == 0]["t_iter"].tolist() == [56, 56]
    assert (loop["prologue"], loop["cycles"], loop["between"], loop["epilogue"]) == (4, 168, 0, 4)
    assert loop["skeleton"] == "R2 w M1 B"


def test_the_matrix_pipe_of_a_loop() -> None:
    d = detail(looped())
    loop = d.loops[d.loops["loop"] == 0].iloc[0]
    assert (loop["matrix_ops"], loop["matrix_cycles"]) == (3, 48)
    assert loop["matrix_efficiency"] == pytest.approx(48 / 168)
    assert (loop["matrix_gap_mean"], loop["matrix_gap_median"]) == (56, 56)
    assert loop["matrix_idle"] == 2 * (56 - 16)
    assert (loop["cover_needed"], loop["cover_present"]) == (32, 16)
    # all but 4 of the idle cycles: the wait for the second read of each iteration
    first = d.gaps[d.gaps["loop"] == 0].iloc[0]
    assert (first["line"], first["culprit"], first["cause"], first["gaps"]) == (3, 2, "wait: LDS", 2)


@pytest.mark.parametrize(("name", "cycles"), [("gfx942", 32), ("gfx950", 16)])
def test_cover_that_a_128_bit_lds_read_needs(name: str, cycles: int) -> None:
    code = static_code(capture(name, ["ds_read_b128 v[4:7], v1", "s_endpgm"], []))
    assert lds_cover(code, 64).tolist() == [cycles, 0]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gfx1151", "v_wmma_f32_16x16x16_bf16 v[25:32], v[83:90], v[51:58], v[25:32]", ("WMMA", 2)),
        ("gfx1151", "v_wmma_f32_16x16x16_bf16 v[25:32], v[83:90], v[50:57], v[25:32]", None),
        ("gfx1201", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]", None),
        ("gfx1100", "v_fma_f32 v1, v4, v8, v12", ("VOP3", 1)),
        ("gfx1100", "v_fma_f32 v1, v4, v8, v13", None),
        ("gfx1100", "v_fma_f32 v1, v4, v4, v8", None),
        ("gfx1100", "v_dual_mul_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v5, v7", ("VOPD", None)),
        ("gfx1100", "v_dual_mul_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v6, v7", None),
        ("gfx950", "v_fma_f32 v1, v4, v8, v12", None),
    ],
)
def test_vgpr_banks(name: str, text: str, expected: tuple[str, int | None] | None) -> None:
    found = bank_conflict(decode_lines(name, [(0, (), text)])[0], arch.get(name))
    assert (None if found is None else (found.form, found.extra)) == expected


def test_a_vgpr_conflict_is_charged_where_every_execution_shows_it() -> None:
    program = ("v_fma_f32 v1, v4, v8, v12", "v_mov_b32_e32 v20, v21", "s_endpgm")
    steady = Wave(simd=0)
    for _ in range(3):
        steady.add(0, issue=1).add(1, idle=1, issue=1)
    d = detail(analyse(capture("gfx1100", program, [steady])))
    assert d.vgpr_banks.iloc[0][["line", "possible", "charged"]].tolist() == [0, 3, 3]
    once = Wave().add(0, issue=1).add(1, idle=1, issue=1).add(0, issue=1).add(1, issue=1)
    d = detail(analyse(capture("gfx1100", program, [once])))
    assert d.vgpr_banks.iloc[0][["line", "possible", "charged"]].tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    ("name", "width", "stride", "expected"),
    [
        ("gfx942", 4, 128, (128, 32)),  # one bank for each 32 lanes
        ("gfx942", 4, 8, (8, 2)),
        ("gfx942", 4, 4, (4, 1)),
        ("gfx950", 16, 256, (256, 16)),  # 64 banks, 16 lanes together
        ("gfx942", 16, 128, (128, 8)),  # 32 banks, 8 lanes together
    ],
)
def test_the_pattern_of_an_lds_conflict(
    name: str, width: int, stride: int, expected: tuple[int, int]
) -> None:
    lanes = np.arange(64, dtype=np.int16)
    patterns = arch.get(name)["lds_lane_groups"][64]
    step, who = lds.clash(patterns, False, width, lanes.astype(np.int64) * stride, lanes)
    assert (step, len(who)) == expected
