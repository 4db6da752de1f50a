"""Registers, LDS, branches, dead code and offsets."""

from __future__ import annotations

import pytest

from isaprof.lint import Severity
from isaprof.lint.rules.offsets import number
from tests.lint.kernels import clean, lint, of_rule, only


@pytest.mark.parametrize(
    ("instruction", "arch", "names"),
    [
        ("v_mov_b32 v40, 0", "gfx942", "v40 needs 41 VGPRs, 40 can be named"),
        ("v_mov_b32 v32, 0", "gfx1100", "v32 needs 33 VGPRs, 32 can be named"),
        ("global_load_dwordx4 v[38:41], v0, s[2:3]", "gfx90a", "v[38:41] needs 42"),
        ("s_mov_b32 s64, 0", "gfx942", "s64 needs 65 SGPRs, 64 can be named"),
        ("v_accvgpr_write_b32 a0, v1", "gfx942", "a0 needs 1 AGPRs, 0 can be named"),
    ],
)
def test_beyond_the_grant(instruction: str, arch: str, names: str) -> None:
    vgprs = 32 if arch == "gfx1100" else 40
    f = only(f"\t{instruction}", "register-grant", arch, vgprs=vgprs)
    assert names in f.message
    assert (f.severity, f.line) == (Severity.ERROR, 9)
    inside = instruction.replace("v40", "v39").replace("v32", "v31").replace("[38:41]", "[36:39]")
    inside = inside.replace("s64", "s63").replace("v_accvgpr_write_b32 a0", "v_mov_b32 v0")
    assert clean(f"\t{inside}", "register-grant", arch, vgprs=vgprs)


def test_accum_offset() -> None:
    """Above accum_offset a VGPR is an AGPR: an error where a value is lost by that, else a warning."""
    store = "\n	global_store_dword v0, {}, s[2:3]"
    lost = "	v_accvgpr_write_b32 a4, v1\n	v_mov_b32 v36, 0" + store.format("a4")
    message = only(lost, "register-grant", vgprs=64, accum=32).message
    assert "v36 is also a4" in message
    assert "global_store_dword" in message
    lost = "	v_mov_b32 v36, 0\n	v_accvgpr_write_b32 a4, v1" + store.format("v36")
    assert "a4 is also v36" in only(lost, "register-grant", vgprs=64, accum=32).message
    # one after the other, in a loop too: nothing is lost (attention kernels share registers like this)
    turns = (
        "	v_accvgpr_write_b32 a4, v1" + store.format("a4") + "\n	v_mov_b32 v36, 0" + store.format("v36")
    )
    turns = f"again:\n{turns}\n	s_cbranch_scc0 again"
    assert clean(turns, "register-grant", vgprs=64, accum=32)
    f = only(turns, "vgpr-above-accum-offset", vgprs=64, accum=32)
    assert "a4, which this kernel names" in f.message
    # other registers than the AGPRs that are named
    apart = "	v_accvgpr_write_b32 a4, v1\n	v_mov_b32 v40, 0" + store.format("a4")
    assert clean(apart, "register-grant", vgprs=64, accum=32)
    assert "does not name" in only(apart, "vgpr-above-accum-offset", vgprs=64, accum=32).message
    assert (
        "a32 needs 33 AGPRs, 32"
        in only("	v_accvgpr_write_b32 a32, v1", "register-grant", vgprs=64, accum=32).message
    )
    alone = "	v_mov_b32 v36, 0\n	v_mov_b32 v37, 0"
    assert clean(alone, "register-grant", vgprs=64, accum=32)
    f = only(alone, "vgpr-above-accum-offset", vgprs=64, accum=32)
    assert (f.severity, len(f.also)) == (Severity.WARNING, 1)
    assert only("	v_mov_b32 v64, 0", "register-grant", vgprs=64, accum=32)


def test_grant_where_registers_are_indexed() -> None:
    """An index is added to the number: what is beyond the grant without it is with it."""
    body = "	v_mov_b32 v{}, 0\n	s_set_gpr_idx_on s3, gpr_idx(DST)\n	v_mov_b32 v1, 0\n	s_set_gpr_idx_off"
    assert "v40 needs 41" in only(body.format(40), "register-grant", vgprs=40).message
    assert clean(body.format(39), "register-grant", vgprs=40)


def test_unreachable_registers_do_not_count() -> None:
    assert clean("	s_branch end\n	v_mov_b32 v200, 0\nend:", "register-grant", vgprs=32)


def test_lds_beyond_the_size() -> None:
    body = "	v_mov_b32 v1, 0x3f0\n	ds_write_b64 v1, v[2:3] offset:8"
    assert clean(body, "lds-size", lds=1024)
    f = only(body.replace("offset:8", "offset:16"), "lds-size", lds=1024)
    assert "1024 to 1031" in f.message
    assert clean("	ds_write_b64 v1, v[2:3] offset:65528", "lds-size", lds=1024)  # base not known
    two = "	v_mov_b32 v1, 0\n	ds_read2st64_b32 v[2:3], v1 offset0:0 offset1:{n}"
    assert clean(two.format(n=3), "lds-size", lds=1024)
    assert only(two.format(n=4), "lds-size", lds=1024)


def test_a_base_that_differs_between_paths_is_not_known() -> None:
    body = """
	v_mov_b32 v1, 0
	s_cbranch_scc1 skip
	v_mov_b32 v1, 0x1000
skip:
	ds_read_b32 v2, v1
"""
    assert clean(body, "lds-size", lds=1024)
    assert only(body.replace("v1, 0\n", "v1, 0x1000\n"), "lds-size", lds=1024)
    loop = "	v_mov_b32 v1, 0x1000\nloop:\n	ds_read_b32 v2, v1\n	v_add_u32 v1, v1, v3\n"
    loop += "	s_cbranch_scc1 loop"
    assert clean(loop, "lds-size", lds=1024)
    masked = "	v_mov_b32 v1, 0x1000\n	s_mov_b64 exec, s[4:5]\n	ds_read_b32 v2, v1"
    assert clean(masked, "lds-size", lds=1024)


def test_no_static_lds_is_no_verdict() -> None:
    report = lint("	v_mov_b32 v1, 0x100\n	ds_read_b32 v2, v1", lds=0)
    assert [u.topic for u in report.unjudged] == ["dynamic_lds"]
    assert only("	v_mov_b32 v1, 0x10000\n	ds_read_b32 v2, v1", "lds-size", lds=0)


def test_branches() -> None:
    into = only("	s_cbranch_scc1 1\n	v_mov_b32 v1, 0x12345678\n	s_nop 0", "branch-target")
    assert "into the middle of" in into.message
    assert "outside the code" in only("	s_cbranch_scc1 20000", "branch-target").message
    assert clean("	s_cbranch_scc1 2\n	v_mov_b32 v1, 0x12345678\n	s_nop 0", "branch-target")


def test_what_does_not_assemble() -> None:
    body = "	s_cbranch_scc1 far\n" + "	.fill 40000, 4, 0xbf800000\n" + "far:"
    report = lint(body)
    assert report.findings
    assert {f.rule for f in report.findings} <= {"assembles", "branch-target"}
    f = only("	v_nonsense v1\n	s_nop 0", "assembles")
    assert (f.line, f.severity, f.text) == (9, Severity.ERROR, "v_nonsense v1")


def test_running_off_the_end() -> None:
    from isaprof.lint import lint_source
    from tests.lint.kernels import source

    text = source("	s_nop 0").replace("	s_endpgm\n", "")
    assert [f.rule for f in lint_source(text).findings] == ["code-end"]


def test_dead_code() -> None:
    f = only("	s_branch end\n	v_mov_b32 v1, 0\n	v_mov_b32 v2, 0\nend:", "dead-code")
    assert (f.severity, f.line) == (Severity.WARNING, 10)
    assert "2 instructions" in f.message
    assert clean("	s_branch end\n	s_nop 0\nend:", "dead-code")
    assert clean("	s_cbranch_scc1 end\n	v_mov_b32 v1, 0\nend:", "dead-code")


@pytest.mark.parametrize(
    ("instruction", "arch", "says"),
    [
        (
            "buffer_load_dword v1, v0, s[4:7], 0 offen offset:4100",
            "gfx942",
            "offset:4100, encoded is offset:4",
        ),
        (
            "buffer_load_b32 v1, v0, s[4:7], 0 offen offset:4100",
            "gfx1100",
            "offset:4100, encoded is offset:4",
        ),
        ("buffer_store_dword v1, v0, s[4:7], 0 offen offset:0x2000", "gfx90a", "encoded is offset:0"),
        ("buffer_load_dword v1, v0, s[4:7], 0 offen offset:BASE+4", "gfx950", "offset:BASE+4, encoded is"),
    ],
)
def test_offsets_that_wrap(instruction: str, arch: str, says: str) -> None:
    body = f"\t.set BASE, 4096\n\t{instruction}"
    f = only(body, "offset-wraps", arch)
    assert says in f.message
    assert (f.severity, f.line) == (Severity.ERROR, 10)


def test_offsets_that_fit() -> None:
    body = """
	buffer_load_dword v1, v0, s[4:7], 0 offen offset:4095
	buffer_load_dword v1, v0, s[4:7], 0 offen offset:0  ; offset:4100 in a comment
	ds_read_b32 v1, v0 offset:65532
	ds_read2_b32 v[2:3], v0 offset0:1 offset1:255
	global_load_dword v1, v0, s[2:3] offset:-8
"""
    assert clean(body, "offset-wraps")


def test_offset_expressions() -> None:
    symbols = {"A": "16", "B": "A * 2 + 1", "LOOP": "LOOP"}
    assert number("0x10", symbols) == 16
    assert number("B", symbols) == 33
    assert number("(A+B)*-2", symbols) == -98
    assert number("LOOP", symbols) is None
    assert number("C", symbols) is None
    assert number("A+", symbols) is None
    report = lint("	.irp n, 4, 8\n	ds_read_b32 v1, v0 offset:\\n\n	.endr")
    assert not of_rule(report, "offset-wraps")
