"""Damaged objects and sources: an error with a message, or an honest verdict; never a traceback or a hang."""

from __future__ import annotations

import struct
import time
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.asm import assemble_text, disassemble_object
from isaprof.asm.facets import read_facets
from isaprof.asm.object_diff import diff_objects
from isaprof.asm.prove import prove
from isaprof.codeobj.tables import read_tables
from isaprof.errors import IsaprofError
from tests.asm.objects import build, source

VALUES = (0, 1, 4, 8, 0x7F, 0xFF, 0xFFFF, 1 << 31, (1 << 63) - 1, (1 << 64) - 1)


@cache
def base() -> bytes:
    body = "lab:\n\ts_getpc_b64 s[4:5]\n\ts_add_u32 s4, s4, t@rel32@lo+4\n"
    body += "\ts_addc_u32 s5, s5, t@rel32@hi+12\n\ts_branch lab"
    data = 't:\n\t.long 1\n\t.section .data,"aw"\n\t.p2align 3\n\t.quad k\n'
    return build(source("gfx90a", body, data=data))


def survives(data: bytes) -> None:
    begin = time.monotonic()
    try:
        result = prove(data, path="x.co")
        assert result.verdict in ("identical", "equivalent", "different")
        read = read_facets(data)
        assert diff_objects(read, read).verdict == "identical"
    except IsaprofError as e:
        message = str(e)
        assert message
    assert time.monotonic() - begin < 30


places = st.sampled_from(
    ["header", "sections", ".note", ".rodata", ".text", ".symtab", ".dynsym", ".strtab", ".rela.dyn"]
)


edits = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.sampled_from([1, 2, 4, 8]), st.sampled_from(VALUES)),
    min_size=1,
    max_size=4,
)


@given(places, edits)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_mutations(place: str, edits: list[tuple[int, int, int]]) -> None:
    data = bytearray(base())
    sections = {s.name: s for s in read_tables(base()).sections}
    first, end = {
        "header": (0, 64),
        "sections": (struct.unpack_from("<Q", data, 40)[0], len(data)),
    }.get(place) or (sections[place].offset, sections[place].offset + sections[place].size)
    for at, width, value in edits:
        i = first + at % (end - first)
        data[i : i + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    survives(bytes(data[: len(base())]))


@pytest.mark.slow
@given(places, edits)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_many_mutations(place: str, edits: list[tuple[int, int, int]]) -> None:
    test_mutations.hypothesis.inner_test(place, edits)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_cut(share: float) -> None:
    survives(base()[: int(len(base()) * share)])


def section_edit(name: str, field: int, value: int) -> bytes:
    """``base()`` with one field (byte offset in the header) of section ``name`` set."""
    data = bytearray(base())
    index = next(s.index for s in read_tables(base()).sections if s.name == name)
    shoff = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<I" if field in (0, 4, 40, 44) else "<Q", data, shoff + 64 * index + field, value)
    return bytes(data)


SECTIONS = (".text", ".rodata", ".data", ".symtab", ".dynsym", ".note", ".strtab", ".rela.dyn")
#: header field (byte offset) and value: name, type, flags, address, offset, size, link, alignment, entry size
FIELDS = (
    (0, 1 << 30), (4, 8), (8, 7), (16, 1 << 62), (24, 1 << 40), (32, 1 << 62), (32, 0), (40, 99), (48, 3),
    (48, 1 << 40), (56, 0),
)  # fmt: skip
EDITS = [(n, f, v) for i, n in enumerate(SECTIONS) for k, (f, v) in enumerate(FIELDS) if (i + k) % 4 == 0]


@pytest.mark.parametrize(("name", "field", "value"), EDITS)
def test_hand_made_section_headers(name: str, field: int, value: int) -> None:
    survives(section_edit(name, field, value))


def test_bss_of_a_terabyte_costs_nothing() -> None:
    data = build(source("gfx1100", "\ts_nop 0", data='\t.section .bss,"aw",@nobits\n\t.zero 0x100000000\n'))
    survives(data)


def test_note_of_deep_nesting() -> None:
    note = b"\x81\xa1a" + b"\x91" * 2000 + b"\x90"
    body = ", ".join(str(b) for b in note)
    raw = '\t.section .note,"a",@note\n'
    raw += f'\t.long 7,{len(note)},32\n\t.asciz "AMDGPU"\n\t.p2align 2\n\t.byte {body}\n'
    survives(build(source("gfx1100", "\ts_nop 0").split("\t.amdgpu_metadata")[0] + raw + "\t.p2align 2\n"))


def test_many_symbols_with_one_long_name() -> None:
    data = bytearray(base())
    tables = read_tables(base())
    symtab = next(s for s in tables.sections if s.name == ".symtab")
    for at in range(symtab.offset + 24, symtab.offset + symtab.size, 24):
        struct.pack_into("<I", data, at, 1)
    survives(bytes(data))


@given(st.text(max_size=200))
@settings(max_examples=20, deadline=None)
def test_sources_of_any_text(text: str) -> None:
    try:
        assemble_text('.amdgcn_target "amdgcn-amd-amdhsa--gfx1100"\n' + text)
    except IsaprofError as e:
        message = str(e)
        assert message


@pytest.mark.parametrize(
    "line",
    [
        "; isaprof.e_flags: zebra",
        "; isaprof.abi_version: 999",
        "; isaprof.mattr: --version",
        "; isaprof.mcpu: ../../x",
        "; isaprof.link: strip strip what",
        "; isaprof.addresses: .text=0xffffffffffffffff",
        "; isaprof.addresses: -o=elsewhere",
        "; isaprof.container: minimal",
        "\ts_nop 0 ; isaprof.bits 400:0x1->0x2",
        "\ts_nop 0 ; isaprof.bits 4294967296:0x1->0x2",
        "isaprof0$:",
        "\t.fill 3, 9, 1",
    ],
)  # fmt: skip
def test_facts_of_any_kind(line: str) -> None:
    text = disassemble_object(base()).text
    edited = text.replace("lab:", f"lab:\n{line}", 1)
    try:
        assemble_text(edited)
    except IsaprofError as e:
        message = str(e)
        assert message
