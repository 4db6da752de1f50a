"""One test for each kind of object that is hard to carry through text."""

from __future__ import annotations

import re
import struct

import pytest

from isaprof.asm import Disassembly, disassemble_object
from isaprof.asm.facets import read_facets
from isaprof.asm.prove import Proof, prove
from isaprof.codeobj.elf import CodeObject
from isaprof.codeobj.tables import read_tables
from isaprof.isa.decode import disassemble
from tests.asm.objects import TARGETS, build, source


def proven(data: bytes, arch: str | None = None) -> Disassembly:
    """The round trip must be identical; the text."""
    result: Proof = prove(data, path="k.co", arch=arch)
    assert result.outcome is not None
    assert (result.verdict, result.outcome.differences) == ("identical", ())
    return disassemble_object(data, arch=arch)


@pytest.mark.parametrize("arch", TARGETS)
def test_every_target(arch: str) -> None:
    done = proven(build(source(arch, "\ts_cbranch_scc0 .Lend\n\tv_mov_b32 v1, 0x12345678\n\ts_nop 3")))
    assert done.kept_as_words == done.with_bits == 0
    assert re.search(r"s_cbranch_scc0 \.L_\w+$", done.text, re.M)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1250"])
@pytest.mark.parametrize("fill", [0x00, 0xFF, 0x5A])
def test_descriptor_of_any_value(arch: str, fill: int) -> None:
    data = bytearray(build(source(arch, "\ts_nop 0")))
    rodata = next(s for s in read_tables(bytes(data)).sections if s.name == ".rodata")
    for i in (*range(16), *range(24, 64)):
        data[rodata.offset + i] = fill
    done = proven(bytes(data))
    assert done.kernels == ("k",)


@pytest.mark.parametrize(
    "target",
    ["gfx942:sramecc+:xnack-", "gfx90a:xnack+", "gfx1010:xnack+", "gfx908:sramecc-", "gfx950:xnack+"],
)
def test_target_features(target: str) -> None:
    arch, _, features = target.partition(":")
    done = proven(build(source(arch, "\ts_nop 0", features=f":{features}")))
    assert f"amdhsa--{target}" in done.text
    assert "isaprof.e_flags" not in done.text


@pytest.mark.parametrize("flags", [0x341, 0xC41, 0x1000041])
def test_features_on_a_target_that_has_none(flags: int) -> None:
    done = proven(build(source("gfx1100", "\ts_nop 0"), header=(4, flags)))
    assert f"isaprof.e_flags: {flags:#x}" in done.text


@pytest.mark.parametrize("version", [4, 5, 6])
def test_code_object_versions(version: int) -> None:
    data = build(source("gfx1030", "\ts_nop 0", version=version))
    assert CodeObject.from_bytes(data).code_object_version == version
    assert f".amdhsa_code_object_version {version}" in proven(data).text


@pytest.mark.parametrize(("abi", "flags"), [(0, 0x30), (1, 0x130), (1, 0x230)])
def test_old_versions_that_llvm_no_longer_writes(abi: int, flags: int) -> None:
    data = build(source("gfx908", "\ts_nop 0", version=5), header=(abi, flags))
    assert CodeObject.from_bytes(data).code_object_version == abi + 2
    assert f"isaprof.abi_version: {abi}" in proven(data).text


def test_version_2_metadata_and_kernel_type() -> None:
    note = '\t.section .note,"a",@note\n\t.long 4,12,10\n\t.asciz "AMD"\n\t.ascii "Version: [1]"\n'
    text = source("gfx908", "\ts_nop 0").split("\t.amdgpu_metadata")[0] + note
    done = proven(build(text, header=(0, 0x30)))
    assert ".amdgpu_metadata" not in done.text
    assert "Version: [1]" in done.text


def test_several_symbols_on_one_address() -> None:
    more = (
        "\t.globl alias\n\t.type alias,@function\nalias:\nplain:\n\ts_nop 0\n"
        "\t.weak w\n\t.hidden w\nw:\n\ts_nop 1"
    )
    done = proven(build(source("gfx1100", more)))
    assert {"alias:", "plain:", "w:", "k:"} <= set(done.text.split("\n"))


def test_local_labels_that_look_like_kernels_and_repeat() -> None:
    """Local symbols of one name come from linking several files; .L names from other assemblers."""
    data = build(
        source("gfx1100", 'twin:\n\ts_nop 0\ntwix:\n\ts_nop 1\nxL_7:\n\ts_nop 2\n"q.kd":\n\ts_nop 3')
    )
    data = data.replace(b"\0twix\0", b"\0twin\0").replace(b"\0xL_7\0", b"\0.L_7\0")
    names = [s.name for s in read_tables(data).symbols]
    assert names.count("twin") == 2
    assert ".L_7" in names
    assert "isaprof0$twin:" in proven(data).text


def test_symbols_inside_instructions_and_past_the_end() -> None:
    body = (
        "\tv_mov_b32 v1, 0x12345678\n\t.set inside, .Lx+4\n.Lx:\n"
        "\tv_mov_b32 v2, 0x12345678\n\t.set past, .Lend+64"
    )
    proven(build(source("gfx1100", body)))


def test_branch_into_another_kernel_and_past_the_end() -> None:
    body = "\ts_branch other\n\ts_cbranch_scc1 .Lout"
    more = (
        "\t.text\n\t.p2align 8\n\ts_nop 7\nother:\n\ts_nop 6\n\ts_endpgm\n"
        "\t.set .Lout, other+8\n\t.section .rodata"
    )
    done = proven(build(source("gfx942", body, data=more)))
    assert re.search(r"s_cbranch_scc1 \.L_\w+", done.text)


def test_branch_outside_the_section_stays_a_number() -> None:
    proven(build(source("gfx942", "\ts_branch 0x4000\n\ts_branch 0xc000")))


@pytest.mark.parametrize("align", [2, 4, 6, 12])
def test_alignment_of_code(align: int) -> None:
    text = source("gfx1100", "\ts_nop 0").replace("\t.p2align 8\n", f"\t.p2align {align}\n", 1)
    proven(build(text))


def test_other_sections() -> None:
    data = (
        '\t.section .mine,"a"\n\t.globl table\n\t.type table,@object\ntable:\n'
        "\t.long 1,2,3\n\t.size table,12\n"
        '\t.section .data,"aw"\n\t.p2align 4\nvar:\n\t.byte 1,2,3\n'
        '\t.section .bss,"aw",@nobits\n\t.globl room\n\t.type room,@object\nroom:\n'
        "\t.zero 4096\n\t.size room,4096\n"
        '\t.section .code2,"ax",@progbits\nfar:\n\ts_nop 5\n\ts_setpc_b64 s[30:31]\n'
    )
    done = proven(build(source("gfx90a", "\ts_nop 0", data=data)))
    assert ".section\t.bss" in done.text
    assert "room:" in done.text
    assert ".section\t.code2" in done.text


def test_dynamic_relocations() -> None:
    data = (
        "\t.globl seen\n\t.type seen,@object\n"
        '\t.section .data.rel.ro,"aw"\n\t.p2align 3\nptrs:\n\t.quad k\n'
        "\t.quad seen+8\n\t.quad local+4\n\t.long 9\n"
        '\t.section .data,"aw"\nlocal:\n\t.long 1,2\nseen:\n\t.quad 3\n'
    )
    done = proven(build(source("gfx1100", "\ts_nop 0", data=data)))
    assert ".quad\tseen+8" in done.text


def test_unresolved_symbols() -> None:
    data = '\t.section .data,"aw"\n\t.p2align 3\n\t.quad elsewhere\n\t.weak maybe\n\t.quad maybe\n'
    done = proven(build(source("gfx1100", "\ts_nop 0", data=data)))
    assert "isaprof.link: undefined" in done.text


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1030", "gfx1200", "gfx1250"])
def test_distances_to_other_sections_are_symbolic(arch: str) -> None:
    if arch == "gfx1250":
        body = "\ts_get_pc_i64 s[4:5]\n\ts_add_nc_u64 s[4:5], s[4:5], table@rel64+4"
    else:
        add, carry = ("s_add_co_u32", "s_add_co_ci_u32") if arch == "gfx1200" else ("s_add_u32", "s_addc_u32")
        body = f"\ts_getpc_b64 s[4:5]\n\t{add} s4, s4, table@rel32@lo+4\n\t{carry} s5, s5, table@rel32@hi+12"
    done = proven(build(source(arch, body, data="\ttable:\n\t.long 1,2,3")))
    assert re.search(r"s_add\w+ s\S+, s\S+, table-\.Lpc_", done.text)


def test_got() -> None:
    body = (
        "\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, seen@gotpcrel32@lo+4\n"
        "\ts_addc_u32 s5, s5, seen@gotpcrel32@hi+12\n\ts_load_dwordx2 s[4:5], s[4:5], 0x0"
    )
    data = '\t.section .data,"aw"\n\t.globl seen\n\t.type seen,@object\nseen:\n\t.quad 3\n\t.size seen,8\n'
    assert "seen@gotpcrel32@lo+4" in proven(build(source("gfx90a", body, data=data))).text


def test_sections_at_places_of_their_own() -> None:
    body = "\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, t@rel32@lo+4\n\ts_addc_u32 s5, s5, t@rel32@hi+12"
    data = build(source("gfx90a", body, data="t:\n\t.long 1"), "--section-start=.text=0x5000")
    assert "isaprof.addresses:" in proven(data).text


def test_stripped() -> None:
    data = build(source("gfx1100", "loop:\n\ts_branch loop"), "--strip-all")
    done = proven(data)
    assert "isaprof.link: strip" in done.text


def test_true16() -> None:
    body = "\tv_add_f16 v1.h, v2.l, v3.h\n\tv_mov_b16 v4.l, v5.h\n\tv_max_f16 v4.h, |v4.h|, |v4.h|"
    done = proven(build(source("gfx1100", body)))
    assert done.kept_as_words == 0
    assert "v_mov_b16" in done.text
    assert "v4.l, v5.h" in done.text


def test_dont_care_bits() -> None:
    """Compilers write inline 0 into the unused third source of VOP3, LLVM 22's assembler 0."""
    data = build(source("gfx1100", "\t.long 0xd7006a00, 0x02020008\n\t.long 0xd7006a00, 0x02020008"))
    done = proven(data)
    assert (done.kept_as_words, done.with_bits) == (0, 2)
    assert "v_add_co_u32 v0, vcc_lo, s8, v0\t; isaprof.bits 4:0x20008->0x2020008" in done.text


def test_instructions_llvm_does_not_take_back() -> None:
    data = build(source("gfx1200", "\t.long 0xc8c6ffff, 0xffffffff\n\t.long 0xffffffff\n\ts_nop 1"))
    done = proven(data)
    assert "0xffffffff" in done.text


def test_zero_runs_and_data_in_text() -> None:
    body = "\ts_branch .Lgo\n\t.zero 64\n\t.long 0xdeadbeef, 0, 0, 1\n.Lgo:\n\ts_nop 0"
    for arch in ("gfx942", "gfx1100", "gfx1200"):
        data = build(source(arch, body))
        words = sum(len(i.words) for i in disassemble(data).instructions)
        assert words * 4 == len(CodeObject.from_bytes(data).text[0].data)
        proven(data)


def test_text_that_is_no_multiple_of_four() -> None:
    proven(build(source("gfx942", "\ts_nop 0", data='\t.text\n\t.byte 1,2,3\n\t.section .rodata,"a"')))


def test_kernarg_preload_start_stays_aligned() -> None:
    extra = "\t.amdhsa_user_sgpr_kernarg_preload_length 2\n\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
    body = (
        "\ts_load_dwordx2 s[2:3], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n"
        "\ts_branch .Lgo\n\t.p2align 8\n.Lgo:\n\ts_nop 0"
    )
    data = build(source("gfx942", body, extra=extra))
    kernel = CodeObject.from_bytes(data).kernel()
    assert kernel.start == kernel.entry + 256
    done = proven(data)
    edited = done.text.replace("\ts_load_dwordx2", "\ts_nop 0\n\ts_load_dwordx2", 1)
    from isaprof.asm import assemble_text

    again = CodeObject.from_bytes(assemble_text(edited)).kernel()
    at = next(i.target for i in disassemble(assemble_text(edited)).instructions if i.target)
    assert at == again.start


def test_wave64_on_rdna() -> None:
    text = source(
        "gfx1100",
        "\tv_cmp_eq_u32 vcc, v0, v1\n\ts_and_saveexec_b64 s[2:3], vcc",
        extra="\t.amdhsa_wavefront_size32 0\n",
    )
    text = f"; isaprof.mattr: +real-true16,-wavefrontsize32,+wavefrontsize64\n{text}"
    done = proven(build(text.replace(".wavefront_size: 32", ".wavefront_size: 64")))
    assert done.kept_as_words == 0
    assert "vcc, v0, v1" in done.text


@pytest.mark.parametrize(
    "name", ["two words", "f(int*, \u00e9)", "v0", "vcc", "_Z3fooIiEvT_", "1st", "s_nop"]
)
def test_names_that_need_quotes(name: str) -> None:
    data = build(source("gfx1100", "\ts_branch .Lend", name=name))
    assert CodeObject.from_bytes(data).kernel().name == name
    proven(data)


def test_symbol_with_a_backslash() -> None:
    proven(build(source("gfx1100", '\t.globl "a\\\\b"\n"a\\\\b":\n\ts_nop 0\n"c d":\n\ts_nop 1')))


ODD = [
    "x" * 100_000, "true", "12", "0x1F", "1e5", "~", "", " lead", "tail ", "a: b", "#c", "- d", "it's",
    "\u00e9",     "&x", "*y", "!z", "%", "@", "`", "{a}", "[b]", "multi\nline", "tab\there", "null", ".nan", 
    "\u2028", "--- x",
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=range(len(ODD)))
def test_long_and_odd_metadata_strings(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    text = source("gfx1100", "\ts_nop 0").replace(
        "amdhsa.version:", f'custom: !str "{quoted}"\namdhsa.version:'
    )
    data = build(text)
    assert CodeObject.from_bytes(data).metadata["custom"] == value
    proven(data)


def test_metadata_that_yaml_does_not_reproduce() -> None:
    """Another MessagePack writer chose wider numbers: kept byte by byte."""
    note = bytes([0x81, 0xAE]) + b"amdhsa.version" + bytes([0x92, 0xCE, 0, 0, 0, 1, 0xCD, 0, 2])
    body = ", ".join(str(b) for b in note)
    raw = (
        f'\t.section .note,"a",@note\n\t.long 7,{len(note)},32\n\t.asciz "AMDGPU"\n'
        f"\t.p2align 2\n\t.byte {body}\n\t.p2align 2\n"
    )
    data = build(source("gfx1100", "\ts_nop 0").split("\t.amdgpu_metadata")[0] + raw)
    assert CodeObject.from_bytes(data).metadata == {"amdhsa.version": [1, 2]}
    assert ".amdgpu_metadata" not in proven(data).text


def minimal_elf(code: bytes, descriptor: bytes) -> bytes:
    names = b"\0.text\0.rodata\0.strtab\0"
    body = bytearray(256) + code
    body += bytes(-len(body) % 64)
    at = len(body)
    body += descriptor
    heads = [(1, 1, 6, 256, 256, len(code)), (7, 1, 2, at, at, 64), (15, 3, 0, 0, len(body), len(names))]
    body += names
    body[:64] = (
        b"\x7fELF\x02"
        + bytes(11)
        + struct.pack("<HHIQQQIHHHHHH", 0, 0, 0, 0, 0, len(body), 0, 0, 0, 0, 0, 3, 2)
    )
    for h in heads:
        body += struct.pack("<IIQQQQIIQQ", *h, 0, 0, 0, 0)
    return bytes(body)


def test_minimal_elf() -> None:
    own = CodeObject.from_bytes(build(source("gfx1100", "loop:\n\ts_nop 1\n\ts_branch loop")))
    descriptor = struct.pack("<IIIIQ20xIIIHHI", 512, 0, 8, 0, 77, 0, 0x60000000, 5, 0x408, 0, 0)
    data = minimal_elf(own.text[0].data, descriptor)
    done = proven(data, arch="gfx1100")
    assert "isaprof.container: minimal" in done.text
    assert ".quad\t77" in done.text
    assert done.rebuilt == data


def test_the_comparison_sees_every_part() -> None:
    """A proof that could not fail would be none: each part damaged alone is found."""
    from isaprof.asm.compare import compare

    text = source("gfx942", "lab:\n\ts_nop 3", data="\t.long 7")
    base = read_facets(build(text))
    edits = {
        "text": ("s_nop 3", "s_nop 4"),
        "symbols": ("lab:", "lob:"),
        "dynamic_symbols": (".protected k\n", "\n"),
        "descriptors": ("next_free_vgpr 8", "next_free_vgpr 16"),
        "metadata": (".sgpr_count: 8", ".sgpr_count: 9"),
        "data": (".long 7", ".long 8"),
        "sections": ("\t.long 7", "\t.long 7\n\t.long 7"),
        "e_flags": ("gfx942", "gfx942:xnack+"),
        "abi_version": ("object_version 5", "object_version 6"),
    }
    for part, (old, new) in edits.items():
        other = read_facets(build(text.replace(old, new, 1 if part == "e_flags" else -1)))
        outcome = compare(base, other)
        assert outcome.verdict == "different"
        assert not outcome.checks[part], part


def test_equivalent_encodings_are_listed() -> None:
    from isaprof.asm.compare import compare

    a = read_facets(build(source("gfx1100", "\t.long 0xd7006a00, 0x02020008")))
    b = read_facets(build(source("gfx1100", "\tv_add_co_u32 v0, vcc_lo, s8, v0")))
    outcome = compare(a, b)
    assert outcome.verdict == "equivalent"
    assert len(outcome.encodings) == 1
    assert outcome.encodings[0].bits == ["word 1: 0x02000000"]
    assert outcome.encodings[0].address == a.co.text[0].address
