"""Operand and modifier syntax: what LLVM prints is taken apart, nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.isa.model import OperandKind, RegClass, RegSpan
from isaprof.isa.text import parse_operand, parse_text, split_encoding


@pytest.mark.parametrize(
    ("text", "reg"),
    [
        ("v7", RegSpan(RegClass.VGPR, 7)),
        ("v[4:7]", RegSpan(RegClass.VGPR, 4, 4)),
        ("a[0:15]", RegSpan(RegClass.AGPR, 0, 16)),
        ("s[2:3]", RegSpan(RegClass.SGPR, 2, 2)),
        ("ttmp9", RegSpan(RegClass.TTMP, 9)),
        ("ttmp[4:7]", RegSpan(RegClass.TTMP, 4, 4)),
        ("vcc", RegSpan(RegClass.VCC, 0, 2)),
        ("vcc_hi", RegSpan(RegClass.VCC, 1)),
        ("exec_lo", RegSpan(RegClass.EXEC, 0)),
        ("m0", RegSpan(RegClass.M0, 0)),
        ("null", RegSpan(RegClass.NULL, 0)),
        ("src_scc", RegSpan(RegClass.SCC, 0)),
        ("flat_scratch", RegSpan(RegClass.FLAT_SCRATCH, 0, 2)),
    ],
)
def test_registers(text: str, reg: RegSpan) -> None:
    o = parse_operand(text)
    assert (o.kind, o.reg, o.neg, o.abs) == (OperandKind.REG, reg, False, False)


@pytest.mark.parametrize(
    ("text", "neg", "abs_", "sext", "half"),
    [
        ("-v1", True, False, False, None),
        ("|v1|", False, True, False, None),
        ("-|v1|", True, True, False, None),
        ("sext(v1)", False, False, True, None),
        ("-sext(v1)", True, False, True, None),
        ("-|v1.h|", True, True, False, "h"),
        ("v1.l", False, False, False, "l"),
        ("neg(v1)", True, False, False, None),
    ],
)
def test_source_modifiers(text: str, neg: bool, abs_: bool, sext: bool, half: str | None) -> None:
    o = parse_operand(text)
    assert o.reg == RegSpan(RegClass.VGPR, 1)
    assert (o.neg, o.abs, o.sext, o.half) == (neg, abs_, sext, half)


@pytest.mark.parametrize(
    ("text", "kind", "value", "neg"),
    [
        ("-1", OperandKind.INT, -1, False),
        ("0x3f800000", OperandKind.INT, 0x3F800000, False),
        ("64", OperandKind.INT, 64, False),
        ("-4.0", OperandKind.FLOAT, -4.0, False),
        ("0.15915494", OperandKind.FLOAT, 0.15915494, False),
        ("neg(1.0)", OperandKind.FLOAT, 1.0, True),
        ("|2.0|", OperandKind.FLOAT, 2.0, False),
        ("lit(0xffffffff)", OperandKind.INT, 0xFFFFFFFF, False),
        ("hwreg(HW_REG_MODE, 0, 4)", OperandKind.NAME, None, False),
        ("sendmsg(MSG_DEALLOC_VGPRS)", OperandKind.NAME, None, False),
        ("off", OperandKind.NAME, None, False),
    ],
)
def test_numbers_and_names(text: str, kind: OperandKind, value: object, neg: bool) -> None:
    o = parse_operand(text)
    assert (o.text, o.kind, o.value, o.neg) == (text, kind, value, neg)


@pytest.mark.parametrize(
    ("mnemonic", "base", "enc"),
    [
        ("v_add_f32_e32", "v_add_f32", "e32"),
        ("v_add_f32_e64_dpp", "v_add_f32", "e64_dpp"),
        ("v_add_f32_dpp", "v_add_f32", "dpp"),
        ("v_or_b32_sdwa", "v_or_b32", "sdwa"),
        ("s_mov_b32", "s_mov_b32", ""),
    ],
)
def test_encoding_suffix(mnemonic: str, base: str, enc: str) -> None:
    assert split_encoding(mnemonic) == (base, enc)


def operands(text: str) -> list[str]:
    return [o.text for o in parse_text(text).operands]


def test_memory_modifiers() -> None:
    p = parse_text("buffer_load_dwordx4 v1, s[8:11], s3 offen offset:4095 sc0 nt lds")
    assert [o.text for o in p.operands] == ["v1", "s[8:11]", "s3"]
    assert p.modifiers == {"offen": True, "offset": 4095, "sc0": True, "nt": True, "lds": True}
    p = parse_text("global_load_b32 v5, v[3:4], off offset:-128 th:TH_LOAD_NT scope:SCOPE_DEV")
    assert p.modifiers == {"offset": -128, "th": "TH_LOAD_NT", "scope": "SCOPE_DEV"}
    p = parse_text("ds_read2st64_b64 v[0:3], v4 offset0:1 offset1:0x2 gds")
    assert p.modifiers == {"offset0": 1, "offset1": 2, "gds": True}


def test_flags_without_operands() -> None:
    p = parse_text("buffer_wbl2 sc0 sc1")
    assert (p.operands, p.modifiers) == ((), {"sc0": True, "sc1": True})
    p = parse_text("v_nop_dpp quad_perm:[0,1,2,3] row_mask:0xf")
    assert (p.operands, p.modifiers) == ((), {"quad_perm": (0, 1, 2, 3), "row_mask": 15})


def test_lane_and_packed_modifiers() -> None:
    p = parse_text("v_add_f32_dpp v1, v2, v3 row_newbcast:3 row_mask:0xf bank_mask:0xf bound_ctrl:1 fi:1")
    assert p.modifiers == {"row_newbcast": 3, "row_mask": 15, "bank_mask": 15, "bound_ctrl": 1, "fi": 1}
    assert parse_text("v_mov_b32_dpp v1, v2 row_mirror row_mask:0xf").modifiers == {
        "row_mirror": True,
        "row_mask": 15,
    }
    assert parse_text("v_mov_b32_dpp v1, v2 dpp8:[7,6,5,4,3,2,1,0]").modifiers["dpp8"] == (
        7,
        6,
        5,
        4,
        3,
        2,
        1,
        0,
    )
    p = parse_text(
        "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[0,1,0]"
    )
    assert p.modifiers == {"op_sel": (0, 1, 0), "op_sel_hi": (1, 0, 1), "neg_lo": (0, 1, 0)}
    p = parse_text("v_or_b32_sdwa v1, v2, sext(v3) dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0")
    assert p.modifiers["dst_sel"] == "WORD_1"
    assert p.operands[2].sext
    p = parse_text("v_mul_f32_e64 v1, -v2, |v3| clamp mul:2")
    assert p.modifiers == {"clamp": True, "mul": 2}


def test_an_unknown_modifier_is_kept() -> None:
    p = parse_text("v_new_op v1, v2 some_future:thing matrix_z_reuse")
    assert p.modifiers == {"some_future": "thing", "matrix_z_reuse": True}


def test_fields_of_waits_and_delays() -> None:
    assert operands("s_waitcnt vmcnt(1) lgkmcnt(0)") == ["vmcnt(1)", "lgkmcnt(0)"]
    assert operands("s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(SALU_CYCLE_1)") == [
        "instid0(VALU_DEP_2)",
        "instskip(NEXT)",
        "instid1(SALU_CYCLE_1)",
    ]
    assert operands("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3") == ["hwreg(HW_REG_MODE, 0, 4)", "3"]


def test_dual_issue_pair() -> None:
    p = parse_text("v_dual_mov_b32 v1, 0 :: v_dual_fmac_f32 v4, v2, v3")
    assert (p.base, len(p.operands)) == ("v_dual_mov_b32", 2)
    assert p.dual is not None
    assert (p.dual.base, [o.text for o in p.dual.operands]) == ("v_dual_fmac_f32", ["v4", "v2", "v3"])


def test_address_lists_and_export_operands() -> None:
    assert operands("image_sample v[0:3], [v1, v5], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_2D") == [
        "v[0:3]", "v1", "v5", "s[0:7]", "s[8:11]",
    ]  # fmt: skip
    p = parse_text("exp mrt0 v0, v1, off, off done")
    assert [o.text for o in p.operands] == ["mrt0", "v0", "v1", "off", "off"]
    assert p.modifiers == {"done": True}


def test_the_register_that_a_comment_resolves_counts() -> None:
    p = parse_text("v_mov_b32_e32 v72 /*v328*/, v[4:5] /*v[260:261]*/")
    assert [o.reg for o in p.operands] == [RegSpan(RegClass.VGPR, 328), RegSpan(RegClass.VGPR, 260, 2)]
    p = parse_text(
        "v_min_num_f64_e32 v[1:2]/*Invalid register, operand has 'VReg_64_Align2' register class*/, v[8:9]"
    )
    assert p.operands[0].reg == RegSpan(RegClass.VGPR, 1, 2)


@given(st.text(max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    p = parse_text(text)
    assert isinstance(p.mnemonic, str)


_WORDS = st.sampled_from(
    ["v1", "v[2:3]", "off", "0x10", "-1", "|v2|", "offset:4", "[1,2]", "(", "]", "::", ",", "x:"]
)


@given(st.lists(_WORDS, max_size=12))
def test_no_word_order_is_too_odd(words: list[str]) -> None:
    parse_text("v_op " + " ".join(words))
