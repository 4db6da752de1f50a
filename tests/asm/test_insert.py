"""One more ``s_nop 0`` anywhere in the text gives an object whose diff is exactly that line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.asm import assemble_text, disassemble_object
from isaprof.asm.facets import read_facets
from isaprof.asm.object_diff import ObjectDiff, diff_objects
from isaprof.codeobj.elf import CodeObject
from tests.asm.objects import TARGETS, build, source

OBJECTS = (
    "sqtt/gfx950/gemm_run0/kernel.co",
    "sqtt/gfx1100/gemm_run0/kernel.co",
    "sqtt/gfx1200/gemm_run0/kernel.co",
    "sqtt/gfx1100/sync_run0/kernel0.co",
    "co/gfx942/hip-quant/lfm.co",
    "co/gfx1200/hip-quant/lfm.co",
    "co/gfx1030/rdc/binary_search_kernels.co",
    "co/gfx950/topksoftmax/topksoftmax_4x128x4.co",
    "co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128.co",
    "co/gfx1250/fmha_v3_bwd/bwd_hd128_dq_convert_bf16.co",
    "att/wave_gemm_gfx950/host/3785403_gfx950_code_object_id_3.out",
)


@cache
def own(arch: str) -> bytes:
    """Two kernels, loops, a call distance into data, preloaded padding, labels of its own."""
    add, carry = (
        ("s_add_co_u32", "s_add_co_ci_u32") if arch.startswith("gfx12") else ("s_add_u32", "s_addc_u32")
    )
    body = (
        f"head:\n\ts_nop 0\n\ts_getpc_b64 s[4:5]\n\t{add} s4, s4, t@rel32@lo+4\n"
        f"\t{carry} s5, s5, t@rel32@hi+12\n"
        "\ts_cbranch_scc0 .Lout\n"
        ".Lloop:\n\ts_nop 0\n\ts_nop 0\n\ts_cbranch_scc1 .Lloop\n\ts_branch head\n"
        ".Lout:\n\ts_nop 0"
    )
    second = (
        "t:\n\t.long 1,2\n\t.text\n\t.p2align 8\n"
        "\t.globl f\n\t.protected f\n\t.type f,@function\nf:\n\ts_branch k\n"
        "\ts_nop 0\n\ts_endpgm\n.Lf:\n\t.size f, .Lf-f\n\t.section .rodata"
    )
    return build(source(arch, body, data=second))


def code_lines(lines: list[str]) -> list[int]:
    """Lines that are instructions, in executable sections."""
    out, inside = [], False
    for i, line in enumerate(lines):
        if line.startswith(("\t.text", "\t.section")):
            inside = line.startswith("\t.text") or '"ax"' in line
        if inside and line.startswith("\t") and (line[1] != "." or line.startswith("\t.long")):
            out.append(i)
        if line == "\t.amdgpu_metadata":
            break
    return out


def inserted(data: bytes, at: int, arch: str | None = None) -> tuple[ObjectDiff, bytes]:
    """The diff after a nop before the ``at``-th code line (modulo their number), and the new object."""
    lines = disassemble_object(data, arch=arch).text.split("\n")
    places = code_lines(lines)
    i = places[at % len(places)]
    made = assemble_text("\n".join([*lines[:i], "\ts_nop 0", *lines[i:]]))
    return diff_objects(read_facets(data, arch=arch), read_facets(made, arch=arch)), made


def only_the_nop(diff: ObjectDiff) -> None:
    assert diff.differences == ()
    assert [x.status for x in diff.changed] == ["inserted"]
    assert diff.encodings == ()
    new = diff.changed[0].b
    assert new is not None
    assert diff.rows_b[new][2] == "s_nop 0"


@pytest.mark.parametrize(
    ("arch", "step"),
    [
        *((t, 1 if t == "gfx942" else 4) for t in TARGETS if t != "gfx1250"),
        pytest.param("gfx1200", 1, marks=pytest.mark.slow),
    ],
)
def test_everywhere_in_an_own_object(arch: str, step: int) -> None:
    lines = disassemble_object(own(arch)).text.split("\n")
    for at in range(0, len(code_lines(lines)), step):
        diff, made = inserted(own(arch), at)
        only_the_nop(diff)
        before, after = CodeObject.from_bytes(own(arch)), CodeObject.from_bytes(made)
        assert [k.entry % 256 for k in after.kernels] == [0]
        assert after.metadata == before.metadata


@given(st.sampled_from(OBJECTS), st.integers(0, 1 << 20))
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_in_real_objects(data_dir: Path, name: str, at: int) -> None:
    arch = "gfx1100" if name.endswith("kernel0.co") else None
    only_the_nop(inserted((data_dir / name).read_bytes(), at, arch)[0])


@pytest.mark.slow
@given(st.sampled_from(OBJECTS), st.integers(0, 1 << 20))
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_many_places_in_real_objects(data_dir: Path, name: str, at: int) -> None:
    test_in_real_objects.hypothesis.inner_test(data_dir, name, at)


def test_changes_that_are_more_than_a_line() -> None:
    """The diff is not blind: a branch to another place, another distance, another size are seen."""
    text = disassemble_object(own("gfx942")).text
    base = read_facets(own("gfx942"))
    for old, new, status in (
        ("s_cbranch_scc0 .L_", "s_cbranch_scc0 head ; .L_", "changed"),
        ("s_nop 0", "s_nop 1", "changed"),
        ("\ts_endpgm\n", "\ts_endpgm\n\ts_endpgm\n", "inserted"),
    ):
        edited = text.replace(old, new, 1)
        assert edited != text
        diff = diff_objects(base, read_facets(assemble_text(edited)))
        assert status in {str(x.status) for x in diff.changed}
    edited = text.replace("(1<<0)", "(3<<0)", 1).replace("group_segment_fixed_size", "", 1)
    diff = diff_objects(
        base, read_facets(assemble_text(text.replace("\t.long\t0\t\t; group", "\t.long\t64\t\t; group", 1)))
    )
    assert [(d.part, d.where) for d in diff.differences] == [("resource", "k.kd group_segment_fixed_size")]
    assert diff.changed == ()
