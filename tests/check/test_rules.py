"""Every rule: a kernel that breaks it once, and a near twin that does not."""

from __future__ import annotations

import pytest

from isaprof.check.model import Finding, Severity
from tests.check.kernels import DESCRIPTOR, END, LOAD, START, TO_LDS, launch, sanitize

GOOD = START + LOAD + END
BARRIER = " s_waitcnt lgkmcnt(0)\n s_barrier\n"
#: reads the LDS dword of the same lane in the other of two waves
OTHER_WAVE = " v_xor_b32_e32 v3, 0x100, v1\n ds_read_b32 v2, v3\n s_waitcnt lgkmcnt(0)\n"
TWO_WAVES = {"run": launch(128, threads=128), "lds": 512}


def only(rule: str, body: str, **more: object) -> Finding:
    """The one finding of a kernel."""
    report = sanitize(body, **more)  # type: ignore[arg-type]
    assert [f.rule for f in report.findings] == [rule], [f.message for f in report.findings]
    return report.findings[0]


def clean(body: str, **more: object) -> None:
    report = sanitize(body, **more)  # type: ignore[arg-type]
    assert not report.findings, [(f.rule, f.message) for f in report.findings]


def test_a_right_kernel_has_no_findings() -> None:
    clean(GOOD)
    clean(START + LOAD + TO_LDS + BARRIER + OTHER_WAVE + END, **TWO_WAVES, orders=2)


# -- registers ----------------------------------------


def test_vgpr_that_nobody_wrote() -> None:
    f = only("uninitialised-register", START + LOAD + " v_add_u32_e32 v2, v2, v9\n" + END)
    assert f.severity is Severity.ERROR  # the output depends on it
    assert f.values["register"] == "v9"
    assert len(f.lanes) == 64
    assert "instead of" in f.message
    clean(START + " v_mov_b32_e32 v9, 1\n" + LOAD + " v_add_u32_e32 v2, v2, v9\n" + END)


def test_vgpr_that_nobody_wrote_and_nothing_depends_on() -> None:
    f = only("uninitialised-register", START + LOAD + " v_add_u32_e32 v8, v2, v9\n" + END)
    assert f.severity is Severity.WARNING
    clean(START + LOAD + " v_xor_b32_e32 v9, v9, v9\n v_add_u32_e32 v2, v2, v9\n" + END)


def test_vgpr_written_in_half_of_the_lanes() -> None:
    half = " s_mov_b64 exec, 0xffff\n v_mov_b32_e32 v9, 0\n s_mov_b64 exec, -1\n"
    use = " v_add_u32_e32 v2, v2, v9\n"
    f = only("uninitialised-register", START + LOAD + half + use + END)
    assert f.lanes == tuple(range(16, 64))
    assert f.count == 48
    masked = half.replace(" s_mov_b64 exec, -1\n", "") + use + " s_mov_b64 exec, -1\n"
    clean(START + LOAD + masked + END)


@pytest.mark.parametrize(
    ("bad", "setup", "name"),
    [
        ("s_add_u32 s12, s13, 1\n v_mov_b32_e32 v2, s12", "s_mov_b32 s13, 0", "s13"),
        ("v_cndmask_b32_e32 v2, v2, v1, vcc", "s_mov_b64 vcc, 0", "vcc_lo"),
        ("s_cselect_b32 s12, 1, 2\n v_mov_b32_e32 v2, s12", "s_cmp_eq_u32 s4, s4", "scc"),
        ("v_accvgpr_read_b32 v2, a3", "v_accvgpr_write_b32 a3, 1", "a3"),
    ],
)
def test_other_registers_that_nobody_wrote(bad: str, setup: str, name: str) -> None:
    report = sanitize(START + LOAD + f" {bad}\n" + END, agprs=True)
    assert name in [f.values.get("register") for f in report.findings]
    assert {f.rule for f in report.findings} == {"uninitialised-register"}
    clean(START + LOAD + f" {setup}\n {bad}\n" + END, agprs=True)


def test_what_the_launch_sets_is_written() -> None:
    """Work-item id, kernarg pointer and the two workgroup ids; the third is not enabled."""
    clean(START + " v_add_u32_e32 v2, s2, v0\n v_add_u32_e32 v2, s3, v2\n" + END)
    f = only("uninitialised-register", START + " s_nop 4\n v_add_u32_e32 v2, s14, v0\n" + END)
    assert f.values["register"] == "s14"


# -- wait counters ----------------------------------------


def test_read_before_the_wait() -> None:
    f = only("wait-missing", GOOD.replace(" s_waitcnt vmcnt(0)\n", ""))
    assert f.severity is Severity.ERROR
    assert f.missing == "s_waitcnt vmcnt(0)"
    assert f.other is not None
    assert f.other.text.startswith("global_load_dword v2")
    assert "v2" in f.message


def test_wait_that_lets_one_too_many_pass() -> None:
    two = (
        START + " global_load_dword v2, v1, s[4:5]\n global_load_dword v3, v1, s[4:5]\n s_waitcnt vmcnt({})\n"
    )
    use = " global_store_dword v1, v2, s[6:7]\n s_endpgm\n"
    assert only("wait-missing", (two + use).format(2)).missing == "s_waitcnt vmcnt(1)"
    clean((two + use).format(1))


def test_overwrite_while_the_load_is_outstanding() -> None:
    body = START + " global_load_dword v3, v1, s[4:5]\n v_mov_b32_e32 v3, 5\n" + LOAD + END
    f = only("wait-missing", body)
    assert "overwrites v3" in f.message
    assert f.missing == "s_waitcnt vmcnt(0)"


def test_scalar_load_used_too_early() -> None:
    f = only("wait-missing", GOOD.replace(" s_waitcnt lgkmcnt(0)\n", "", 1))
    assert f.missing == "s_waitcnt lgkmcnt(0)"


def test_lanes_that_the_load_leaves_alone_need_no_wait() -> None:
    body = (
        START
        + LOAD
        + """
 s_mov_b64 exec, 0xffff
 global_load_dword v3, v1, s[4:5]
 s_mov_b64 exec, 0xffff0000
 v_mov_b32_e32 v3, 1
 s_mov_b64 exec, -1
 s_waitcnt vmcnt(0)
"""
        + END
    )
    clean(body)
    assert only("wait-missing", body.replace("0xffff0000", "0xfff0f000")).lanes == (12, 13, 14, 15)


def test_wait_of_gfx12() -> None:
    body = """
 s_load_b128 s[4:7], s[0:1], 0x0
 v_lshlrev_b32_e32 v1, 2, v0
 s_wait_kmcnt 0x0
 global_load_b32 v2, v1, s[4:5]
 {}
 global_store_b32 v1, v2, s[6:7]
 s_endpgm
"""
    one = launch(32, threads=32)
    assert only("wait-missing", body.format(""), arch="gfx1200", run=one).missing == "s_wait_loadcnt 0"
    clean(body.format("s_wait_loadcnt 0x0"), arch="gfx1200", run=one)


# -- hazards ----------------------------------------


def test_wait_states_on_the_executed_path() -> None:
    bad = " v_readfirstlane_b32 s12, v2\n {}v_mov_b32_e32 v2, s12\n"
    f = only("hazard", START + LOAD + bad.format("") + END)
    assert f.values["hazard"] == "valu-sgpr-valu"
    assert f.missing == "s_nop 1"
    assert f.source
    clean(START + LOAD + bad.format("s_nop 1\n ") + END)


def test_hazards_on_paths_that_no_wave_takes_are_not_reported() -> None:
    body = " s_branch over\n v_readfirstlane_b32 s12, v2\n v_mov_b32_e32 v2, s12\nover:\n"
    clean(START + LOAD + body + END)


# -- LDS ----------------------------------------


def test_lds_race_without_a_barrier() -> None:
    f = only("lds-race", START + LOAD + TO_LDS + " s_waitcnt lgkmcnt(0)\n" + OTHER_WAVE + END, **TWO_WAVES)
    assert f.severity is Severity.ERROR
    assert "s_barrier" in str(f.missing)
    assert f.values["waves"][0] != f.values["waves"][1]
    assert f.other is not None
    assert {f.other.text.split()[0], f.place.text.split()[0]} == {"ds_write_b32", "ds_read_b32"}  # type: ignore[union-attr]


def test_lds_race_across_a_barrier_for_want_of_a_wait() -> None:
    f = only("lds-race", START + LOAD + TO_LDS + " s_barrier\n" + OTHER_WAVE + END, **TWO_WAVES)
    assert f.missing == "s_waitcnt lgkmcnt(0)"
    assert "before the barrier" in f.message


def test_lds_race_with_split_barriers() -> None:
    body = """
 s_load_b128 s[4:7], s[0:1], 0x0
 v_lshlrev_b32_e32 v1, 2, v0
 v_xor_b32_e32 v3, 0x80, v1
 s_wait_kmcnt 0x0
 global_load_b32 v2, v1, s[4:5]
 s_wait_loadcnt 0x0
 ds_store_b32 v1, v2
 {}
 s_barrier_signal -1
 {}
 s_barrier_wait -1
 ds_load_b32 v2, v3
 s_wait_dscnt 0x0
 global_store_b32 v1, v2, s[6:7]
 s_endpgm
"""
    more = {"arch": "gfx1200", "run": launch(64, threads=64), "lds": 512}
    clean(body.format("s_wait_dscnt 0x0", ""), **more)
    f = only("lds-race", body.format("", "s_wait_dscnt 0x0"), **more)  # behind the signal is too late
    assert f.missing == "s_wait_dscnt 0"
    f = only(
        "lds-race",
        body.replace(" s_barrier_signal -1", "").replace(" s_barrier_wait -1", "").format("", ""),
        **more,
    )
    assert "s_barrier_signal -1" in str(f.missing)


def test_lds_write_after_read_without_a_barrier() -> None:
    again = " ds_write_b32 v1, v2\n"
    body = START + LOAD + TO_LDS + BARRIER + OTHER_WAVE + "{}" + again + END
    clean(body.format(" s_barrier\n"), **TWO_WAVES)
    f = only("lds-race", body.format(""), **TWO_WAVES)
    assert "s_barrier" in str(f.missing)


def test_the_same_wave_and_atomics_do_not_race() -> None:
    own = " ds_read_b32 v2, v1\n s_waitcnt lgkmcnt(0)\n"
    clean(START + LOAD + TO_LDS + own + END, **TWO_WAVES)
    atomic = """
 v_mov_b32_e32 v5, 0
 v_mov_b32_e32 v6, 1
 v_cmp_eq_u32_e32 vcc, 0, v0
 s_and_saveexec_b64 s[12:13], vcc
 ds_write_b32 v5, v5
 s_mov_b64 exec, s[12:13]
 s_waitcnt lgkmcnt(0)
 s_barrier
 ds_add_u32 v5, v6
"""
    clean(START + LOAD + atomic + END, **TWO_WAVES)


DMA = """
 s_mov_b32 m0, 0
 global_load_lds_dword v1, s[4:5]
 {}
 ds_read_b32 v2, v1
 s_waitcnt lgkmcnt(0)
"""


def test_lds_dma_read_before_its_wait() -> None:
    f = only("lds-dma-wait-missing", START + DMA.format("") + END, lds=512)
    assert f.missing == "s_waitcnt vmcnt(0)"
    clean(START + DMA.format("s_waitcnt vmcnt(0)") + END, lds=512)


def test_lds_that_nobody_wrote() -> None:
    read = " ds_read_b32 v2, v1{}\n s_waitcnt lgkmcnt(0)\n"
    f = only("uninitialised-lds", START + LOAD + TO_LDS + read.format(" offset:256") + END, lds=512)
    assert f.severity is Severity.ERROR
    assert f.values["offset"] == 256
    assert f.count == 64
    clean(START + LOAD + TO_LDS + read.format("") + END, lds=512)


def test_lds_beyond_the_allocation() -> None:
    write = " ds_write_b32 v1, v2 offset:{}\n s_waitcnt lgkmcnt(0)\n"
    f = only("lds-outside", START + LOAD + write.format(512) + END, lds=512)
    assert f.values["lds_bytes"] == 512
    clean(START + LOAD + write.format(256) + END, lds=512)


# -- memory ----------------------------------------


def test_load_outside_the_operand() -> None:
    f = only("outside-operand", GOOD.replace("s[4:5]\n", "s[4:5] offset:4\n", 1))
    assert f.lanes == (63,)
    assert f.values["operand"] == "in"
    assert f.values["byte"] == 256
    clean(GOOD.replace("s[4:5]\n", "s[4:5] offset:4\n", 1), run=launch(64, inputs=65))


def test_store_outside_the_operand_goes_on() -> None:
    f = only(
        "outside-operand",
        GOOD.replace("v1, v2, s[6:7]\n", "v1, v2, s[6:7] offset:-4\n global_store_dword v1, v2, s[6:7]\n"),
    )
    assert f.lanes == (0,)
    assert "4 bytes before out" in f.message


def test_write_to_an_input() -> None:
    store = " global_store_dword v1, v2, s[{}]\n"
    f = only("write-to-input", START + LOAD + store.format("4:5") + END)
    assert f.values["operand"] == "in"
    clean(START + LOAD + store.format("6:7") + END)


def test_memory_that_nobody_wrote() -> None:
    read = " global_load_dword v2, v1, s[{}]\n s_waitcnt vmcnt(0)\n"
    f = only("uninitialised-memory", START + read.format("6:7") + END)
    assert f.severity is Severity.ERROR
    assert f.values["operand"] == "out"
    clean(START + read.format("4:5") + END)


def test_misaligned_scalar_load_and_atomic() -> None:
    load = """
 s_add_u32 s4, s4, {}
 s_addc_u32 s5, s5, 0
 s_load_dword s12, s[4:5], 0x0
 s_waitcnt lgkmcnt(0)
 v_mov_b32_e32 v2, s12
"""
    f = only("misaligned", START + load.format(2) + END)
    assert f.values["low_bits"] == 2
    clean(START + load.format(4) + END)
    atomic = """
 v_mov_b32_e32 v3, {}
 v_mov_b32_e32 v5, 4
 s_mov_b64 exec, 1
 ds_write_b32 v3, v2
 ds_write_b32 v5, v2
 ds_add_u32 v3, v2
 s_mov_b64 exec, -1
 s_waitcnt lgkmcnt(0)
"""
    report = sanitize(START + LOAD + atomic.format(2) + END, lds=512)
    assert [(f.rule, f.severity, f.lanes) for f in report.findings] == [
        ("misaligned", Severity.ERROR, (0,)),  # the atomic
        ("misaligned", Severity.WARNING, (0,)),  # the plain write before it, which is only slower
    ]
    clean(START + LOAD + atomic.format(0) + END, lds=512)


# -- descriptors ----------------------------------------

BUFFER = (
    START
    + DESCRIPTOR
    + " s_mov_b32 s10, {}\n buffer_load_dword v2, v1, s[8:11], 0 offen{}\n s_waitcnt vmcnt(0)\n"
    + END
)


def test_descriptor_that_allows_an_overrun() -> None:
    f = only("descriptor-allows-overrun", BUFFER.format(264, " offset:4"))
    assert f.lanes == (63,)
    assert f.values["num_records"] == 264
    assert "8 bytes more" in f.message
    clean(BUFFER.format(256, ""))


def test_descriptor_that_hides_an_overrun() -> None:
    f = only("descriptor-hides-overrun", BUFFER.format(256, " offset:4"))
    assert f.severity is Severity.WARNING
    assert f.lanes == (63,)


def test_descriptor_that_cuts_the_operand() -> None:
    f = only("descriptor-cuts-operand", BUFFER.format(128, ""))
    assert f.lanes == tuple(range(32, 64))
    assert f.values["byte"] == 128


# -- outputs ----------------------------------------


def test_output_that_is_never_written() -> None:
    f = only("output-unwritten", GOOD, run=launch(80, inputs=64))
    assert f.values["unwritten"] == 64  # bytes: this launch knows no element type
    assert f.place is None
    clean(GOOD, run=launch(64))


def test_output_written_twice_by_two_workgroups() -> None:
    value = " v_mov_b32_e32 v2, s{}\n"
    f = only("output-written-twice", START + value.format(2) + END, run=launch(grid=2))
    assert f.workgroup == (1, 0, 0)
    assert f.values["writers"] == [[0, 0, 0], 0]
    clean(START + value.format(3) + END, run=launch(grid=2))  # the same value


def test_output_written_twice_by_two_lanes_and_by_two_waves() -> None:
    same = START + LOAD + " v_and_b32_e32 v3, 0xfc, v1\n global_store_dword v3, v2, s[6:7]\n s_endpgm\n"
    f = only("output-written-twice", same, run=launch(64, threads=128, inputs=128))
    assert f.wave == 1
    ordered = (
        START
        + LOAD
        + """
 v_and_b32_e32 v3, 0xfc, v1
 v_cmp_gt_u32_e32 vcc, 64, v0
 s_and_saveexec_b64 s[12:13], vcc
 global_store_dword v3, v2, s[6:7]
 s_waitcnt vmcnt(0)
 s_mov_b64 exec, s[12:13]
 s_barrier
 v_cmp_le_u32_e32 vcc, 64, v0
 s_and_saveexec_b64 s[12:13], vcc
 global_store_dword v3, v2, s[6:7]
 s_endpgm
"""
    )
    clean(ordered, run=launch(64, threads=128, inputs=128))
    lanes = START + LOAD + " v_and_b32_e32 v3, 0x7c, v1\n global_store_dword v3, v2, s[6:7]\n s_endpgm\n"
    assert "two lanes" in only("output-written-twice", lanes, run=launch(32, threads=64, inputs=64)).message


# -- barriers and orders ----------------------------------------

SKIP = (
    START
    + LOAD
    + """
 v_readfirstlane_b32 s12, v0
 s_barrier
 s_cmp_lg_u32 s12, {}
 s_cbranch_scc1 over
 s_barrier
over:
"""
    + END
)


def test_barrier_that_one_wave_skips() -> None:
    two = launch(128, threads=128)
    f = only("barrier-mismatch", SKIP.format(0), run=two)
    assert f.values["barriers"] == [2, 1]
    clean(SKIP.format(7), run=two)


ORDER = (
    START
    + """
 v_mov_b32_e32 v3, 0
 v_mov_b32_e32 v4, 1
 v_mov_b32_e32 v2, 0
 s_mov_b64 exec, 1
 global_atomic_add v2, v3, v4, s[6:7] offset:{} sc0
 s_waitcnt vmcnt(0)
 s_mov_b64 exec, -1
 v_readfirstlane_b32 s12, v2
 s_nop 4
 v_mov_b32_e32 v2, {}
"""
    + END
)


def test_result_that_depends_on_the_order_of_waves() -> None:
    two = launch(129, threads=128)
    two.operands[1].role = "inout"  # the counter starts at 0
    f = only("order-dependent", ORDER.format(512, "s12"), run=two, orders=6)
    assert f.severity is Severity.ERROR
    assert f.values["operand"] == "out"
    clean(ORDER.format(512, "s2"), run=two, orders=6)


def test_deadlock_and_fault_are_findings() -> None:
    body = START + LOAD + " s_setpc_b64 s[4:5]\n" + END
    report = sanitize(body)
    assert [f.rule for f in report.findings] == ["fault"]
    assert not report.complete
