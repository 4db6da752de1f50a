"""Text of a code object builds the same code object again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.asm import assemble_text, disassemble_object
from isaprof.asm.metadata_text import to_yaml
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput
from isaprof.isa.decode import disassemble

SOURCE = """
	.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
	.amdhsa_code_object_version 5
	.text
	.globl two
	.p2align 8
	.type two,@function
two:
	s_cbranch_scc0 skip
	s_nop 3
skip:
	s_endpgm
	.size two, .-two
	.globl one
	.p2align 8
	.type one,@function
one:
	v_mov_b32 v0, 0x12345678
loop:
	s_add_u32 s0, s0, 1
	s_cmp_lt_u32 s0, 4
	s_cbranch_scc1 loop
	s_endpgm
	.size one, .-one
	.section .rodata,"a"
	.p2align 6
	.amdhsa_kernel one
		.amdhsa_next_free_vgpr 17
		.amdhsa_next_free_sgpr 20
		.amdhsa_group_segment_fixed_size 1024
		{extra}
	.end_amdhsa_kernel
	.p2align 6
	.amdhsa_kernel two
		.amdhsa_next_free_vgpr 24
		.amdhsa_next_free_sgpr 1
		{extra}
	.end_amdhsa_kernel
	.long 0x11223344
	.amdgpu_metadata
amdhsa.kernels:
  - .name: one
    .symbol: one.kd
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 20
    .vgpr_count: 17
    .max_flat_workgroup_size: 256
    .args:
      - {{ .name: !str 'true', .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global }}
      - {{ .name: n, .offset: 8, .size: 4, .value_kind: by_value }}
amdhsa.version: [1, 2]
	.end_amdgpu_metadata
"""
TARGETS = ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201"]


def own_object(arch: str) -> bytes:
    nine = arch.startswith("gfx9")
    extra = ".amdhsa_accum_offset 20" if nine else ""
    return assemble_text(SOURCE.format(arch=arch, extra=extra, wave=64 if nine else 32))


def raw_descriptors(co: CodeObject) -> dict[str, bytes]:
    """Descriptor bytes without the entry offset, which the linker's layout decides."""
    at = {k.name: k.descriptor.address for k in co.kernels}
    return {name: co.read(a, 16) + co.read(a + 24, 40) for name, a in at.items()}


def assert_same(before: bytes, after: bytes) -> None:
    a, b = CodeObject.from_bytes(before), CodeObject.from_bytes(after)
    assert (a.target_id, a.e_flags, a.code_object_version) == (b.target_id, b.e_flags, b.code_object_version)
    assert b"".join(s.data for s in a.text) == b"".join(s.data for s in b.text)
    assert [k.name for k in a.kernels] == [k.name for k in b.kernels]
    assert raw_descriptors(a) == raw_descriptors(b)
    assert a.metadata == b.metadata
    text_a, text_b = a.text[0].address, b.text[0].address
    assert {n: x - text_a for x, n in a.labels.items()} == {n: x - text_b for x, n in b.labels.items()}
    assert [k.entry - text_a for k in a.kernels] == [k.entry - text_b for k in b.kernels]
    assert [k.size for k in a.kernels] == [k.size for k in b.kernels]


@pytest.mark.parametrize("arch", TARGETS)
def test_own_object(arch: str) -> None:
    before = own_object(arch)
    done = disassemble_object(before)
    assert done.kernels == ("one", "two") or set(done.kernels) == {"one", "two"}
    assert done.kept_as_words == 0
    assert_same(before, assemble_text(done.text))


@pytest.mark.parametrize(
    "name",
    ["sqtt/gfx1100/gemm_run0", "sqtt/gfx1200/gemm_run0", "sqtt/gfx950/gemm_run0", "sqtt/gfx1100/plus_run0"],
)
def test_trace_objects(name: str, data_dir: Path) -> None:
    before = (data_dir / name / "kernel.co").read_bytes()
    assert_same(before, assemble_text(disassemble_object(before).text))


@pytest.mark.slow
def test_every_shared_object(data_dir: Path) -> None:
    files = [*sorted(data_dir.glob("co/**/*.co")), *sorted(data_dir.glob("att/*/host/*.out"))]
    assert len(files) > 40
    for f in files:
        before = f.read_bytes()
        assert_same(before, assemble_text(disassemble_object(before, path=f).text, f.name))


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_inserting_a_nop_changes_only_that(data: st.DataObject) -> None:
    before = own_object("gfx942")
    lines = disassemble_object(before).text.split("\n")
    first = lines.index("\t.text")
    last = lines.index("\t.amdgpu_metadata")
    code = [
        i for i in range(first, last) if lines[i].startswith("\t") and not lines[i].strip().startswith(".")
    ]
    at = data.draw(st.sampled_from(code))
    after = assemble_text("\n".join([*lines[:at], "\ts_nop 0", *lines[at:]]))
    a, b = disassemble(before), disassemble(after)
    texts_a = [i.mnemonic for i in a.instructions if i.mnemonic != "s_nop"]
    texts_b = [i.mnemonic for i in b.instructions if i.mnemonic != "s_nop"]
    assert texts_a == texts_b
    x, y = CodeObject.from_bytes(before), CodeObject.from_bytes(after)
    assert raw_descriptors(x) == raw_descriptors(y)
    assert x.metadata == y.metadata
    assert sum(k.size for k in y.kernels) == sum(k.size for k in x.kernels) + 4


def test_errors_point_at_the_users_line(tmp_path: Path) -> None:
    text = disassemble_object(own_object("gfx942")).text.replace("s_nop 3", "s_nope 3")
    line = next(i for i, t in enumerate(text.split("\n"), 1) if "s_nope" in t)
    path = tmp_path / "edited.s"
    with pytest.raises(BadInput, match=rf"edited\.s:{line}:"):
        assemble_text(text, path)


def test_source_without_target() -> None:
    with pytest.raises(BadInput, match="names no target"):
        assemble_text("s_endpgm\n")


def test_yaml_keeps_types() -> None:
    assert ".name: !str 'true'" in to_yaml({".name": "true"})
    assert ".name: !str '12'" in to_yaml({".name": "12"})
    assert ".flag: true" in to_yaml({".flag": True})
    assert "- 'a: b'" in to_yaml({"x": ["a: b"]})
