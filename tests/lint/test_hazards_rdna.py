"""Hazards of gfx11 and gfx12, and s_delay_alu."""

from __future__ import annotations

import pytest

from isaprof.lint import Kind, Severity
from tests.lint.kernels import clean, lint, of_rule, only

WMMA = {
    "gfx1100": "v_wmma_f32_16x16x16_f16 v[{d}:{e}], v[{a}:{b}], v[32:39], v[{d}:{e}]",
    "gfx1200": "v_wmma_f32_16x16x16_f16 v[{d}:{e}], v[{a}:{b}], v[32:35], v[{d}:{e}]",
}


def wmma(arch: str, d: int, a: int) -> str:
    width = 7 if arch == "gfx1100" else 3
    return "\t" + WMMA[arch].format(d=d, e=d + 7, a=a, b=a + width) + "\n"


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1200"])
def test_wmma_result_as_a(arch: str) -> None:
    first, second = wmma(arch, 0, 16), wmma(arch, 8, 0)
    f = only(first + second, "wmma-source", arch)
    assert (f.severity, f.required, f.present, f.unit) == (Severity.ERROR, 1, 0, Kind.VALU)
    assert clean(first + "	v_nop\n" + second, "wmma-source", arch)
    assert clean(first + wmma(arch, 0, 16), "wmma-source", arch)
    # s_nop is no VALU instruction
    assert only(first + "	s_nop 7\n" + second, "wmma-source", arch)


def test_wmma_on_gfx1250_has_no_rule() -> None:
    body = "	v_wmma_f32_16x16x32_f16 v[0:7], v[16:23], v[32:39], v[0:7]"
    report = lint(body, "gfx1250")
    assert {u.topic for u in report.unjudged} == {"hazards", "matrix_hazard"}


def test_transcendental_on_gfx11_0() -> None:
    body = "	v_exp_f32 v1, v2\n{}	v_add_f32 v3, v1, v1"
    valu = "	v_mov_b32 v9, v8\n"
    assert only(body.format(""), "trans-use", "gfx1100").present == 0
    assert only(body.format(valu * 5), "trans-use", "gfx1100").present == 5
    assert clean(body.format(valu * 6), "trans-use", "gfx1100")
    assert clean(body.format("	s_waitcnt_depctr 0xfff\n"), "trans-use", "gfx1100")
    assert clean(body.format("	ds_load_b32 v20, v21\n"), "trans-use", "gfx1100")
    assert clean(body.format(""), "trans-use", "gfx1151")


def test_mask_rewritten_and_read_in_wave64() -> None:
    body = """
	v_cndmask_b32_e64 v1, v2, v3, s[4:5]
	s_mov_b64 s[4:5], s[6:7]
{}	s_and_b64 s[8:9], s[4:5], s[10:11]
"""
    f = only(body.format(""), "valu-mask-write", "gfx1100", wave=64)
    assert (f.severity, f.line) == (Severity.ERROR, 12)
    assert clean(body.format("	s_waitcnt_depctr 0xfffe\n"), "valu-mask-write", "gfx1100", wave=64)
    other = body.format("").replace("s_mov_b64 s[4:5]", "s_mov_b64 s[14:15]")
    assert clean(other, "valu-mask-write", "gfx1100", wave=64)
    narrow = body.format("").replace("s[4:5]", "s4").replace("b64", "b32").replace("s[6:7]", "s6")
    narrow = narrow.replace("s[8:9]", "s8").replace("s[10:11]", "s10")
    assert clean(narrow, "valu-mask-write", "gfx1100", wave=32)


def test_partial_forwarding_in_wave64() -> None:
    body = """
	v_mov_b32 v1, v9
	s_mov_b64 exec, s[4:5]
	v_mov_b32 v2, v8
{}	v_add_f32 v3, v1, v2
"""
    assert only(body.format(""), "partial-forwarding", "gfx1100", wave=64).line == 13
    assert clean(body.format("	s_waitcnt_depctr 0xfff\n"), "partial-forwarding", "gfx1100", wave=64)
    assert clean(body.format("	v_mov_b32 v20, v21\n" * 5), "partial-forwarding", "gfx1100", wave=64)
    assert clean(body.format("").replace("exec", "s[8:9]"), "partial-forwarding", "gfx1100", wave=64)


def test_lds_direct() -> None:
    body = "	v_mov_b32 v1, v2\n	v_mov_b32 v8, v9\n	lds_direct_load v1 wait_vdst:{}"
    assert only(body.format(15), "lds-direct", "gfx1100").required == 1
    assert clean(body.format(1), "lds-direct", "gfx1100")


def test_sgpr_written_after_valu_read_on_gfx12() -> None:
    body = """
	v_mov_b32 v1, s4
	s_mov_b32 s4, s6
{}	v_mov_b32 v2, s4
"""
    f = only(body.format(""), "valu-sgpr-read", "gfx1200")
    assert (f.severity, f.line) == (Severity.ERROR, 11)
    assert "sa_sdst(0)" in f.message
    assert clean(body.format("	s_wait_alu 0xfffe\n"), "valu-sgpr-read", "gfx1200")
    assert clean(body.format("	s_load_b32 s20, s[0:1], 0x0\n"), "valu-sgpr-read", "gfx1200")
    assert clean(body.format("").replace("v_mov_b32 v1, s4", "v_mov_b32 v1, s8"), "valu-sgpr-read", "gfx1200")
    assert clean(body.format(""), "valu-sgpr-read", "gfx1100")
    # the pair counts: s5 was read, s4 is written
    assert only(body.format("").replace("v1, s4", "v1, s5"), "valu-sgpr-read", "gfx1200")


def test_vcc_written_by_valu_on_gfx12() -> None:
    body = "	v_cndmask_b32 v1, v2, v3, vcc_lo\n	v_cmp_eq_u32 vcc_lo, v4, v5\n{}"
    body += "	v_cndmask_b32 v6, v7, v8, vcc_lo"
    assert "va_vcc(0)" in only(body.format(""), "valu-sgpr-read", "gfx1200").message
    assert clean(body.format("	s_wait_alu 0xfffd\n"), "valu-sgpr-read", "gfx1200")


def test_delay_alu_that_names_no_producer() -> None:
    first = "	s_delay_alu instid0(VALU_DEP_1)\n	v_mov_b32 v1, v2"
    f = only(first, "delay-alu-wrong", "gfx1100")
    assert f.severity is Severity.WARNING
    assert "no such instruction" in f.message
    other = "	v_mov_b32 v5, v6\n	s_delay_alu instid0(VALU_DEP_1)\n	v_mov_b32 v1, v2"
    assert "writes nothing that it reads" in only(other, "delay-alu-wrong", "gfx1200").message
    assert clean(other.replace("v1, v2", "v1, v5"), "delay-alu-wrong", "gfx1200")
    second = (
        "	v_mov_b32 v1, v2\n	v_mov_b32 v3, v4\n	s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | "
    )
    second += "instid1(VALU_DEP_2)\n	v_mov_b32 v5, v1\n	v_mov_b32 v6, v3"
    assert clean(second, "delay-alu-wrong", "gfx1100")
    assert only(second.replace("v6, v3", "v6, v9"), "delay-alu-wrong", "gfx1100")


def test_delay_alu_missing() -> None:
    body = "	v_mov_b32 v1, v2\n	s_delay_alu instid0(VALU_DEP_1)\n	v_mov_b32 v3, v1\n	v_mov_b32 v4, v3"
    f = only(body, "delay-alu-missing", "gfx1100")
    assert (f.severity, f.line) == (Severity.WARNING, 12)
    # a kernel without any hint gets one finding
    body = "	v_mov_b32 v1, v2\n	v_mov_b32 v3, v1\n	v_mov_b32 v4, v3"
    assert "2 VALU instructions" in only(body, "delay-alu-missing", "gfx1200").message
    assert not of_rule(lint(body, "gfx942"), "delay-alu-missing")
