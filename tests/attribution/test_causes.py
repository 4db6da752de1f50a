"""One worked example per category; the same numbers stand in docs/attribution.md."""

from __future__ import annotations

import pytest

from isaprof.attribution import analyse
from isaprof.attribution.depend import wait_alu_fields
from isaprof.capture.model import Capture
from tests.attribution.build import Wave, capture, memory_table
from tests.attribution.invariants import check

Piece = tuple[int, str, str, int, int]


def waits(arch: str, program: list[str], *waves: Wave, wave: int = 0) -> list[Piece]:
    """(line, part, cause, culprit, cycles) of the stall and idle pieces of one wave."""
    cap = capture(arch, program, waves)
    a = analyse(cap)
    check(cap, a)
    s = a.segments
    s = s[s["part"].isin(("stall", "idle")) & (s["wave"] == wave)]
    columns = (s[c].tolist() for c in ("line", "part", "cause", "culprit", "cycles"))
    return [tuple(x) for x in zip(*columns, strict=True)]


def test_valu_dependency_rdna() -> None:
    program = ["v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v1, v1"]
    wave = Wave().add(0, issue=1).add(1, idle=4, issue=1)
    assert waits("gfx1100", program, wave) == [(1, "idle", "VALU dependency", 0, 4)]


def test_no_valu_dependency_without_a_shared_register() -> None:
    program = ["v_add_f32_e32 v1, v2, v3", "v_mul_f32_e32 v4, v5, v5"]
    wave = Wave().add(0, issue=1).add(1, idle=4, issue=1)
    assert waits("gfx1100", program, wave) == [(1, "idle", "unexplained", -1, 4)]


def test_transcendental_result_rdna() -> None:
    # 10 cycles on gfx11: issue at 0, the consumer issues at 10
    program = ["v_exp_f32_e32 v1, v2", "v_mul_f32_e32 v4, v1, v1"]
    wave = Wave().add(0, issue=1).add(1, idle=9, issue=1)
    assert waits("gfx1100", program, wave) == [(1, "idle", "VALU dependency", 0, 9)]


@pytest.mark.parametrize(
    ("arch", "idle", "issue"), [("gfx1100", 17, 1), ("gfx1201", 17, 1), ("gfx950", 8, 4)]
)
def test_memory_waits_for_the_vector_alu(arch: str, idle: int, issue: int) -> None:
    load = "ds_read_b32 v5, v9" if arch == "gfx950" else "ds_load_b32 v5, v9"
    wave = Wave().add(0, issue=issue).add(1, idle=idle, issue=issue)
    program = ["v_add_f32_e32 v1, v2, v3", load]
    assert waits(arch, program, wave) == [(1, "idle", "VALU dependency", 0, idle)]


def test_scalar_dependency_rdna() -> None:
    program = ["s_add_u32 s0, s1, s2", "s_lshl_b32 s3, s0, 2"]
    wave = Wave().add(0, issue=1).add(1, idle=1, issue=1)
    assert waits("gfx1100", program, wave) == [(1, "idle", "SALU dependency", 0, 1)]


def test_scalar_load_after_scalar_alu() -> None:
    program = ["s_lshl_b32 s2, s15, 5", "s_load_b64 s[0:1], s[8:9], 0x10"]
    wave = Wave().add(0, issue=1).add(1, idle=8, issue=1)
    assert waits("gfx1100", program, wave) == [(1, "idle", "SALU dependency", 0, 8)]


def test_s_wait_alu_makes_a_scalar_chain_wait_nine_cycles() -> None:
    program = ["s_add_co_i32 s0, s1, s2", "s_wait_alu 0xfffe", "s_add_co_i32 s3, s0, s4"]
    wave = Wave().add(0, issue=1).add(2, idle=8, issue=1)
    assert waits("gfx1201", program, wave) == [(2, "idle", "SALU dependency", 0, 8)]


@pytest.mark.parametrize("field", ["0xfff", "depctr_va_vdst(0)"])
def test_s_wait_alu_for_vector_results_blames_the_last_of_them(field: str) -> None:
    """Whatever stands behind it, and whether it reads the result or not."""
    program = ["v_add_f32_e32 v4, v3, v3", f"s_wait_alu {field}", "v_mov_b32_e32 v9, v8"]
    assert waits("gfx1201", program, Wave().add(0, issue=1).add(2, idle=17, issue=1)) == [
        (2, "idle", "VALU dependency", 0, 17)
    ]
    program[2] = "s_nop 0"
    assert waits("gfx1201", program, Wave().add(0, issue=1).add(2, stall=17, issue=1)) == [
        (2, "stall", "VALU dependency", 0, 17)
    ]
    # gfx11's has a packet of its own
    program[1] = program[1].replace("s_wait_alu", "s_waitcnt_depctr")
    wave = Wave().add(0, issue=1).add(1, stall=17, issue=1).add(2, issue=1)
    assert waits("gfx1100", program, wave)[0] == (1, "stall", "VALU dependency", 0, 17)


def test_s_wait_alu_for_a_scalar_result_of_the_vector_alu() -> None:
    program = ["v_cmp_eq_u32_e32 vcc_lo, v1, v2", "s_wait_alu 0xf1ff", "v_mov_b32_e32 v9, v8"]
    assert waits("gfx1201", program, Wave().add(0, issue=1).add(2, idle=16, issue=1)) == [
        (2, "idle", "VALU dependency", 0, 16)
    ]


def test_an_sgpr_from_the_vector_alu_cdna() -> None:
    program = ["v_readfirstlane_b32 s4, v1", "s_add_i32 s5, s4, 4"]
    assert waits("gfx950", program, Wave().add(0).add(1, idle=16)) == [(1, "idle", "VALU dependency", 0, 16)]


def test_matrix_pipe_busy() -> None:
    # 16x16x32 bf16 is 4 passes: 16 cycles; the second MFMA stalls 12 behind the first
    mfma = "v_mfma_f32_16x16x32_bf16 v[{0}:{1}], v[40:43], v[44:47], v[{0}:{1}]"
    program = [mfma.format(0, 3), mfma.format(4, 7)]
    assert waits("gfx950", program, Wave().add(0).add(1, stall=12)) == [
        (1, "stall", "matrix pipe busy", 0, 12)
    ]


def test_matrix_pipe_busy_by_another_wave_of_the_simd() -> None:
    program = ["v_mfma_f32_16x16x32_bf16 v[0:3], v[40:43], v[44:47], v[0:3]"]
    first, second = Wave(begin=0).add(0), Wave(begin=0, slot=1).add(0, idle=4, stall=12)
    second.rows.insert(0, (0, -40, 0, 4, None))
    second.begin = -40
    found = waits("gfx950", program, first, second, wave=1)
    assert found[-1] == (0, "stall", "matrix pipe busy", 0, 12)


def test_matrix_dependency() -> None:
    # D of a 4-pass MFMA is read by a VALU 4 * (4 + 4) = 32 cycles after its issue at the earliest
    program = ["v_mfma_f32_16x16x32_bf16 v[0:3], v[40:43], v[44:47], v[0:3]", "v_add_f32_e32 v9, v0, v1"]
    assert waits("gfx950", program, Wave().add(0).add(1, stall=28)) == [
        (1, "stall", "matrix dependency", 0, 28)
    ]


@pytest.mark.parametrize(
    "behind",
    ["v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", "v_exp_f32_e32 v0, v1", "v_cvt_pk_bf16_f32 v0, v1, v2"],
)
def test_what_takes_both_vector_ports_behind_a_matrix_instruction(behind: str) -> None:
    # 4 * (8 + 3) = 44 cycles after a 32x32x16
    program = ["v_mfma_f32_32x32x16_bf16 a[0:15], v[40:43], v[44:47], a[0:15]", behind]
    assert waits("gfx950", program, Wave().add(0).add(1, stall=40)) == [
        (1, "stall", "matrix pipe busy", 0, 40)
    ]


@pytest.mark.parametrize(
    ("arch", "mfma", "issue", "idle"),
    [
        ("gfx942", "v_mfma_i32_16x16x32_i8 v[0:3], v[8:9], v[10:11], v[0:3]", 4, 8),
        # the scales are loaded in a slot of their own, before
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:11], v[12:15], v[0:3], v20, v21 "
                   "op_sel_hi:[0,0,0] cbsz:4 blgp:4", 8, 4),
    ],
)  # fmt: skip
def test_lds_behind_a_matrix_instruction_cdna(arch: str, mfma: str, issue: int, idle: int) -> None:
    program = [mfma, "ds_read_b128 v[40:43], v44"]
    wave = Wave().add(0, issue=issue).add(1, idle=idle)
    assert waits(arch, program, wave) == [(1, "idle", "matrix pipe busy", 0, idle)]


def test_behind_a_vector_instruction_of_another_wave_that_takes_its_port_for_long_cdna() -> None:
    program = ["v_cvt_f64_f32_e32 v[0:1], v2", "v_add_u32_e32 v3, v4, v5"]
    slow = Wave(slot=0).add(0, issue=16)
    plain = Wave(slot=1, begin=4).add(1, stall=12)
    assert waits("gfx942", program, slow, plain, wave=1) == [(1, "stall", "VALU pipe busy", 0, 12)]


@pytest.mark.parametrize(("arch", "cause"), [("gfx1100", "VALU pipe busy"), ("gfx942", "unexplained")])
def test_a_stalled_vector_instruction_stands_before_a_full_queue_rdna(arch: str, cause: str) -> None:
    # the queue is full of operations that wait for each other, which says nothing of how long it is
    program = ["v_add_f32_e32 v1, v2, v3", "v_max_f32_e32 v4, v5, v6"]
    wave = Wave().add(0, issue=1).add(1, stall=4, issue=1)
    assert waits(arch, program, wave) == [(1, "stall", cause, 0 if arch == "gfx1100" else -1, 4)]


def test_a_fetch_bubble_counts_from_the_begin_of_the_wait() -> None:
    # of 28 cycles the matrix pipe explains the first 12; the rest alone would be too short for an inference
    mfma = "v_mfma_f32_16x16x32_bf16 a[{0}:{1}], v[40:43], v[44:47], a[{0}:{1}]"
    program = [mfma.format(0, 3), mfma.format(4, 7)]
    assert waits("gfx950", program, Wave().add(0).add(1, idle=28)) == [
        (1, "idle", "matrix pipe busy", 0, 12),
        (1, "idle", "instruction fetch", -1, 16),
    ]


def test_wmma_queue_rdna() -> None:
    # eight WMMAs fill the queue; the ninth issues when the first is through
    wmma = "v_wmma_f32_16x16x16_f16 v[{0}:{1}], v[100:103], v[104:107], v[{0}:{1}]"
    program = [wmma.format(8 * i, 8 * i + 7) for i in range(9)]
    wave = Wave()
    for i in range(8):
        wave.add(i, issue=1)
    wave.add(8, stall=23, issue=1)
    (found,) = waits("gfx1201", program, wave)
    assert found[:3] == (8, "stall", "matrix pipe busy")
    assert found[4] == 23


def test_memory_waits_for_a_wmma_to_retire_rdna() -> None:
    # a bf16 WMMA takes 32 cycles on gfx1151, and the store reads its result 17 after that
    program = ["v_wmma_f32_16x16x16_bf16 v[0:7], v[100:107], v[108:115], v[0:7]", "ds_store_b32 v50, v0"]
    wave = Wave().add(0, issue=1).add(1, idle=48, issue=1)
    assert waits("gfx1151", program, wave) == [(1, "idle", "matrix dependency", 0, 48)]


def test_s_nop() -> None:
    program = ["v_add_u32_e32 v1, v2, v3", "s_nop 3"]
    assert waits("gfx950", program, Wave().add(0).add(1, stall=16, issue=0)) == [
        (1, "stall", "s_nop/s_sleep", 1, 16)
    ]


def test_a_taken_branch_cdna() -> None:
    program = ["v_add_u32_e32 v1, v2, v3", "s_branch 65534"]
    wave = Wave().add(0).add(1, category="JUMP").add(0, idle=16)
    assert waits("gfx950", program, wave) == [(0, "idle", "branch", 1, 16)]


@pytest.mark.parametrize(("arch", "idle", "issue"), [("gfx950", 16, 4), ("gfx1100", 8, 1)])
@pytest.mark.parametrize(
    "jump", ["s_setpc_b64 s[4:5]", "s_swappc_b64 s[4:5], s[6:7]", "s_call_b64 s[4:5], 7"]
)
def test_a_jump_by_register_or_a_call_is_a_taken_branch(arch: str, idle: int, issue: int, jump: str) -> None:
    # the trace counts it as a scalar instruction
    wave = Wave().add(0, issue=issue, category="SALU").add(1, idle=idle, issue=issue)
    assert waits(arch, [jump, "v_mov_b32_e32 v1, v2"], wave) == [(1, "idle", "branch", 0, idle)]


def test_a_taken_branch_to_an_s_nop_is_branch_first_then_nop() -> None:
    # hardware books the refetch as stall of the s_nop: s_nop 6 reads 44, not 28
    program = ["s_nop 6", "s_branch 65534"]
    wave = Wave().add(1, category="JUMP").add(0, stall=44, issue=0)
    assert waits("gfx950", program, wave) == [
        (0, "stall", "branch", 1, 16),
        (0, "stall", "s_nop/s_sleep", 0, 28),
    ]


def test_a_branch_waits_for_its_compare_rdna() -> None:
    program = ["s_cmp_eq_u32 s0, 0", "s_cbranch_scc1 4"]
    wave = Wave().add(0, issue=1).add(1, idle=9, issue=1, category="NEXT")
    assert waits("gfx1201", program, wave) == [(1, "idle", "SALU dependency", 0, 9)]


def test_lost_arbitration() -> None:
    program = ["v_add_u32_e32 v1, v2, v3", "v_sub_u32_e32 v4, v5, v6"]
    first = Wave(begin=0).add(0).add(1).add(0)
    second = Wave(begin=0, slot=1).add(0, idle=12)
    second.rows = [(0, -4, 0, 4, None), (1, 0, 12, 16, None)]
    second.begin = -4
    assert waits("gfx950", program, first, second, wave=1) == [(1, "stall", "lost arbitration", 0, 12)]


def test_vector_memory_queue() -> None:
    program = [
        "buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen",
        "buffer_load_dwordx4 v[8:11], v1, s[4:7], 0 offen",
    ]
    assert waits("gfx950", program, Wave().add(0).add(1, stall=60)) == [(1, "stall", "VMEM pipe busy", 0, 60)]


def test_lds_queue() -> None:
    program = ["ds_read_b128 v[4:7], v1", "ds_read_b128 v[8:11], v1"]
    assert waits("gfx950", program, Wave().add(0).add(1, stall=12)) == [(1, "stall", "LDS pipe busy", 0, 12)]


@pytest.mark.parametrize(("arch", "cycles"), [("gfx950", 8), ("gfx942", 16)])
def test_lds_bank_conflict(arch: str, cycles: int) -> None:
    """Eight passes more, of a cycle each; on gfx942 of two."""
    program = ["ds_read_b128 v[4:7], v1", "s_nop 0", "s_waitcnt lgkmcnt(0)"]
    wave = Wave().add(0).add(1, stall=4, issue=0).add(2, stall=100, issue=0)
    plain = capture(arch, program, [wave])
    tables = {name: plain.table(name) for name in ("code", "waves", "insts")}
    cap = Capture(plain.meta, {**tables, "memory": memory_table([(0, 0, 12, 4)])})
    a = analyse(cap)
    check(cap, a)
    found = a.culprits[a.culprits["victim"] == 2]
    assert set(zip(found["culprit"], found["cause"], found["cycles"], strict=True)) == {
        (0, "wait: LDS", 100 - cycles),
        (0, "LDS bank conflict", cycles),
    }


def test_instruction_fetch_on_the_first_pass_only() -> None:
    program = ["v_add_u32_e32 v1, v2, v3", "v_sub_u32_e32 v4, v5, v6"]
    wave = Wave().add(0).add(1, idle=60).add(0).add(1, idle=60)
    assert waits("gfx950", program, wave) == [
        (1, "idle", "instruction fetch", -1, 60),
        (1, "idle", "unexplained", -1, 60),
    ]


def test_short_gaps_are_not_called_fetch() -> None:
    program = ["v_add_u32_e32 v1, v2, v3", "v_sub_u32_e32 v4, v5, v6"]
    assert waits("gfx950", program, Wave().add(0).add(1, idle=12)) == [(1, "idle", "unexplained", -1, 12)]


def test_a_barrier_blames_what_kept_the_last_wave() -> None:
    program = [
        "v_add_u32_e32 v1, v2, v3",
        "buffer_load_dword v9, v1, s[4:7], 0 offen",
        "s_waitcnt vmcnt(0)",
        "s_barrier",
    ]
    early = Wave(simd=0).add(0).add(3, stall=516, issue=0)
    late = Wave(simd=1).add(1).add(2, stall=500, issue=0).add(3, stall=16, issue=0)
    assert waits("gfx950", program, early, late) == [(3, "stall", "barrier", 1, 516)]
    # the last wave only waits for the release
    assert waits("gfx950", program, early, late, wave=1) == [
        (2, "stall", "wait: global load", 1, 500),
        (3, "stall", "barrier", 3, 16),
    ]


def test_time_inside_an_rdna_barrier_counts_as_barrier() -> None:
    # gfx11 books it as execution of s_barrier: stall 0
    program = ["v_add_f32_e32 v1, v2, v3", "s_barrier"]
    cap = capture("gfx1100", program, [Wave().add(0, issue=1).add(1, issue=40, category="MESSAGE")])
    a = analyse(cap)
    check(cap, a)
    assert dict(zip(a.causes["cause"], a.causes["cycles"], strict=True)) == {"barrier": 39, "issue": 2}
    assert a.lines.loc[1, "cause"] == "barrier"
    assert a.lines.loc[1, "rank"] == 1


def test_an_untraced_s_delay_alu_takes_a_slot() -> None:
    program = ["s_waitcnt lgkmcnt(0)", "s_delay_alu instid0(VALU_DEP_1)", "v_add_f32_e32 v1, v2, v3"]
    wave = Wave().add(0, stall=1, issue=0).add(2, idle=1, issue=1)
    assert waits("gfx1100", program, wave)[-1] == (2, "idle", "issue", 1, 1)


def test_launch_is_charged_to_the_first_line_but_not_ranked() -> None:
    a = analyse(capture("gfx1100", ["v_mov_b32_e32 v0, 0"], [Wave().add(0, idle=500, issue=1)]))
    line = a.lines.loc[0]
    assert (line["idle"], line["cause"], line["lost"], line["rank"]) == (500, "launch", 0, 0)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("s_wait_alu 0xfffe", "s_wait_alu depctr_sa_sdst(0)"),
        ("s_waitcnt_depctr 0xfffd", "s_waitcnt_depctr depctr_va_vcc(0)"),
    ],
)
def test_wait_alu_words_and_names_mean_the_same(text: str, same: str) -> None:
    assert wait_alu_fields(text) == wait_alu_fields(same) != 0
    assert wait_alu_fields("s_waitcnt_depctr 0xffff") == 0


def test_a_vector_instruction_behind_a_wait_waits_until_lds_takes_up_the_access() -> None:
    """RDNA, with more reads than LDS takes at once: no fetch, though the wave is here for the first time."""
    program = ["ds_load_b128 v[2:5], v1", "s_wait_dscnt 0x1", "v_add_f32_e32 v0, v0, v6"]
    wave = Wave().add(0, issue=1).add(1, issue=1).add(2, idle=30, issue=1)
    assert waits("gfx1201", program, wave) == [(2, "idle", "LDS pipe busy", 0, 30)]
