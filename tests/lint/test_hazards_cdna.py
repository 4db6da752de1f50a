"""Wait states on CDNA: each rule finds what breaks it, with the counts, and accepts what keeps it."""

from __future__ import annotations

import pytest

from isaprof.lint import Kind, Severity
from tests.lint.kernels import clean, lint, of_rule, only, variants

READLANE = "	v_readlane_b32 s4, v1, 3\n"

#: (rule, producer, consumer, wait states needed, architectures)
PAIRS = [
    ("valu-sgpr-vmem", "v_readfirstlane_b32 s4, v1", "buffer_load_dword v2, v3, s[4:7], 0 offen", 5,
     ("gfx90a", "gfx942", "gfx950")),
    ("valu-sgpr-vmem", "v_readfirstlane_b32 s4, v1", "global_load_dword v2, v3, s[4:5]", 5, ("gfx942",)),
    ("valu-sgpr-vmem", "v_cmp_eq_u32_e64 s[8:9], v1, v2", "buffer_store_dword v2, v3, s[12:15], s8 offen", 5,
     ("gfx942",)),
    ("valu-vcc-div-fmas", "v_div_scale_f32 v1, vcc, v2, v3, v4", "v_div_fmas_f32 v5, v6, v7, v8", 4,
     ("gfx90a", "gfx942")),
    ("valu-sgpr-lane", "v_readfirstlane_b32 s4, v1", "v_readlane_b32 s5, v2, s4", 4, ("gfx90a", "gfx950")),
    ("valu-sgpr-lane", "v_readfirstlane_b32 s4, v1", "v_writelane_b32 v2, 1, s4", 4, ("gfx942",)),
    ("valu-dpp", "v_mov_b32 v1, v9", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 2,
     ("gfx90a", "gfx942")),
    ("valu-dpp", "v_cmpx_eq_u32 v8, v9", "v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", 5,
     ("gfx942",)),
    ("setreg", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "s_getreg_b32 s4, hwreg(HW_REG_MODE)",
     2, ("gfx90a", "gfx950")),
    ("wide-store-data", "global_store_dwordx4 v0, v[4:7], s[2:3]", "v_mov_b32 v5, 0", 2,
     ("gfx942", "gfx950")),
    ("wide-store-data", "buffer_store_dwordx3 v[4:6], v0, s[4:7], 0 offen", "v_mov_b32 v6, 0", 1,
     ("gfx90a",)),
    ("salu-m0", "s_mov_b32 m0, 0", "s_sendmsg sendmsg(MSG_INTERRUPT)", 1, ("gfx90a", "gfx942")),
    ("trans-valu", "v_exp_f32 v1, v2", "v_add_f32 v3, v1, v1", 1, ("gfx942", "gfx950")),
    ("part-write-valu", "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]", "v_mov_b32 v4, v1", 1, ("gfx942",)),
    ("part-write-valu", "v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
     "v_add_u32 v4, v1, v1", 1, ("gfx942",)),
    ("valu-sgpr-valu", "v_readfirstlane_b32 s4, v1", "v_add_u32 v3, s4, v2", 2, ("gfx942", "gfx950")),
    ("valu-sgpr-valu", "v_cmp_eq_u32 vcc, v1, v2", "v_mov_b32 v3, vcc_lo", 2, ("gfx942",)),
    ("valu-lane-access", "v_mov_b32 v1, v2", "v_readfirstlane_b32 s4, v1", 1, ("gfx942", "gfx950")),
    ("valu-lane-access", "v_cmpx_eq_u32 v8, v9", "v_readlane_b32 s4, v1, 0", 4, ("gfx942",)),
    ("permlane-swap", "v_mov_b32 v1, v2", "v_permlane32_swap_b32 v1, v3", 2, ("gfx950",)),
    ("permlane-swap", "v_cmpx_eq_u32 v8, v9", "v_permlane16_swap_b32 v1, v3", 4, ("gfx950",)),
    ("dot-wait-states", "v_dot2_f32_f16 v1, v2, v3, v4", "v_add_f32 v5, v1, v6", 3, ("gfx90a", "gfx942")),
    ("dot-wait-states", "v_dot2_f32_f16 v1, v2, v3, v4", "v_dot2_f32_f16 v5, v1, v6, v7", 3, ("gfx942",)),
    ("dot-wait-states", "v_dot2_f32_f16 v1, v2, v3, v4", "ds_write_b32 v0, v1", 3, ("gfx942",)),
]  # fmt: skip
CASES = [(rule, p, c, n, arch) for rule, p, c, n, archs in PAIRS for arch in archs]


@pytest.mark.parametrize(("rule", "producer", "consumer", "states", "arch"), CASES)
def test_each_distance(rule: str, producer: str, consumer: str, states: int, arch: str) -> None:
    """Back to back is an error that names the counts; one state too few is; enough is none."""
    fillers = [[], [f"s_nop {states - 2}"] if states > 1 else [], [f"s_nop {states - 1}"],
               ["s_mov_b32 s20, 0"] * states]  # fmt: skip
    found = of_rule(lint(variants(producer, consumer, fillers), arch), rule)
    short, enough = [f for f in found if f.present == 0], [f for f in found if f.present != 0]
    assert len(short) == 1 + (states == 1)
    f = short[0]
    assert (f.required, f.unit, f.severity) == (states, Kind.WAIT_STATES, Severity.ERROR)
    assert (f.path[0].line, f.line) == (9, 10)
    assert all((f.source, f.why))
    assert [f.present for f in enough] == ([states - 1] if states > 1 else [])


def test_other_registers_are_no_hazard() -> None:
    assert clean(
        "	v_readfirstlane_b32 s40, v1\n	buffer_load_dword v2, v3, s[4:7], 0 offen", "valu-sgpr-vmem"
    )
    assert clean("	v_exp_f32 v1, v2\n	v_add_f32 v3, v4, v4", "trans-valu")
    assert clean("	v_exp_f32 v1, v2\n	v_exp_f32 v3, v1", "trans-valu")
    # an old destination that DPP keeps does not go through the lanes
    assert clean(
        "	v_mov_b32 v2, 0\n	v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf", "valu-dpp"
    )
    assert clean(
        "	s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3\n	s_getreg_b32 s4, hwreg(HW_REG_HW_ID)",
        "setreg",
    )


def test_gfx90a_has_no_rules_of_gfx940() -> None:
    assert clean("	v_exp_f32 v1, v2\n	v_add_f32 v3, v1, v1", "trans-valu", "gfx90a")
    assert clean(READLANE + "	v_mov_b32 v3, s4", "valu-sgpr-valu", "gfx90a")


def test_the_shortest_path_counts() -> None:
    body = """
	s_cbranch_scc1 far
	v_readfirstlane_b32 s4, v1
	s_branch join
far:
	v_readfirstlane_b32 s4, v1
	s_nop 7
join:
	buffer_load_dword v2, v3, s[4:7], 0 offen
"""
    f = only(body, "valu-sgpr-vmem")
    assert (f.present, f.required) == (1, 5)
    assert [s.text.split()[0] for s in f.path] == ["v_readfirstlane_b32", "s_branch", "buffer_load_dword"]


def test_a_loop_carries_the_producer_round() -> None:
    body = """
loop:
	buffer_load_dword v2, v3, s[4:7], 0 offen
	v_readfirstlane_b32 s4, v1
	s_cbranch_scc1 loop
"""
    assert only(body, "valu-sgpr-vmem").present == 1


def test_disputed_pairs_only_warn_and_once() -> None:
    """LLVM pads them, AMD's other sources and kernels do not."""
    body = "	v_cmp_eq_u32 vcc, v1, v2\n	v_cndmask_b32 v3, v4, v5, vcc\n" * 3
    f = only(body, "valu-sgpr-mask")
    assert (f.severity, len(f.also)) == (Severity.WARNING, 2)
    assert not of_rule(lint(body), "valu-sgpr-valu")
    f = only("	s_mov_b32 m0, s4\n	buffer_load_dword v2, s[4:7], 0 offen lds", "salu-m0-lds-dma")
    assert f.severity is Severity.WARNING
    f = only(
        "	buffer_store_dwordx4 v[4:7], v0, s[4:7], s9 offen\n	v_mov_b32 v5, 0",
        "wide-store-data-soffset",
    )
    assert f.severity is Severity.WARNING


def test_carry_chains_are_not_constants() -> None:
    body = "	v_add_co_u32 v1, vcc, v2, v3\n	v_addc_co_u32 v4, vcc, v5, v6, vcc"
    assert clean(body, "valu-sgpr-valu")
    assert len(of_rule(lint(body), "valu-sgpr-mask")) == 1
