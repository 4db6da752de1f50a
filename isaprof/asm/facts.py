"""What a source says in ``isaprof.`` comments because LLVM's assembler has no syntax for it.

====================================  ====================================================================
``; isaprof.mcpu: gfx1100``           processor and features handed to llvm-mc
``; isaprof.mattr: +real-true16``
``; isaprof.abi_version: 1``          EI_ABIVERSION of the file (code object v2 and v3)
``; isaprof.e_flags: 0x41``           e_flags of the file, where LLVM would write others
``; isaprof.link: strip undefined``   link options: no .symtab; unresolved symbols are allowed
``; isaprof.addresses: .text=0x1900`` where sections begin; only for objects whose code holds distances
                                      between sections that the linker's own placing would change
``; isaprof.container: minimal``      the file is a minimal ELF (e_machine 0): one section of code, one data
``v_x ...  ; isaprof.bits 4:A->B``    word at byte 4 of this instruction: where LLVM encodes A, B is written;
                                      both decode to this text. Dropped as soon as the instruction is edited
``isaprof0$name``                     a symbol called ``name``: a second local one, or one beginning with .L
====================================  ====================================================================

All of it comes from the text; nothing is taken from the original file.
"""

import re
import struct
from os import PathLike
from typing import NamedTuple

from isaprof.asm import minimal
from isaprof.codeobj.tables import SHT_RELA, SHT_SYMTAB, read_tables
from isaprof.errors import BadInput
from isaprof.isa import llvm

_FACT = re.compile(r"[ \t]*[;#/]+[ \t]*isaprof\.([a-z_]+)[ \t]*[:=][ \t]*([^\n]*?)[ \t\r]*$")
_TARGET = re.compile(r'^[ \t]*\.amdgcn_target[ \t]+"([^"\n]+)"', re.M)
_BITS = re.compile(r"; isaprof\.bits((?: \d+:0x[0-9a-f]{1,8}->0x[0-9a-f]{1,8})+)[ \t\r]*$")
_ONE = re.compile(r" (\d+):0x([0-9a-f]+)->0x([0-9a-f]+)")
_SECTION = re.compile(r"[ \t]*\.(?:text\b|section\b|data\b|bss\b|rodata\b|pushsection\b|popsection\b)")
_ADDRESS = re.compile(r"[A-Za-z_.$][\w.$-]*=0x[0-9a-f]+")
_MARK = ".Lisaprof_bits_"
HIDDEN_NAME = re.compile(r"isaprof\d+\$")


class BuildFacts(NamedTuple):
    """What the source says about its target and its file."""

    mcpu: str
    mattr: str
    target_id: str | None
    abi_version: int | None = None
    e_flags: int | None = None
    strip: bool = False
    undefined: bool = False
    minimal: bool = False
    addresses: tuple[str, ...] = ()  #: ``name=0x...``

    @property
    def link_options(self) -> tuple[str, ...]:
        """Arguments of ld.lld."""
        return (
            "-shared",
            *(("--strip-all",) if self.strip else ()),
            *(() if self.undefined else ("--no-undefined",)),
            *(f"--section-start={a}" for a in self.addresses),
        )


def build_facts(source: str, path: str | PathLike[str] | None = None) -> BuildFacts:
    """Facts of an assembly source: ``isaprof.`` comments, else ``.amdgcn_target``.

    Raises BadInput when the source names no target, or a fact is no number.
    """
    said: dict[str, str] = {}
    at = source.find("isaprof.")
    while at >= 0:  # a search for what may stand in front of it would look at every line
        begin = source.rfind("\n", 0, at) + 1
        end = source.find("\n", at)
        if fact := _FACT.match(source, begin, len(source) if end < 0 else end):
            said[fact[1]] = fact[2]
        at = source.find("isaprof.", at + 8)
    here = source.find(".amdgcn_target")
    target = None if here < 0 else _TARGET.search(source, source.rfind("\n", 0, here) + 1)
    target_id = target[1].rsplit("--", 1)[-1] if target else None
    mcpu = said.get("mcpu") or (target_id.split(":")[0] if target_id else None)
    if not mcpu:
        raise BadInput(
            "names no target",
            path=path,
            hint='begin the file with: .amdgcn_target "amdgcn-amd-amdhsa--gfx942" (your GPU)',
            kind="no_target",
        )
    links = said.get("link", "").split()
    return BuildFacts(
        mcpu,
        llvm.mc_features(said.get("mattr", llvm.default_mattr(mcpu)), target_id),
        target_id,
        _number(said, "abi_version", 0xFF, path),
        _number(said, "e_flags", 0xFFFFFFFF, path),
        "strip" in links,
        "undefined" in links,
        said.get("container") == "minimal",
        tuple(a for a in said.get("addresses", "").split() if _ADDRESS.fullmatch(a)),
    )


def _number(said: dict[str, str], key: str, limit: int, path: str | PathLike[str] | None) -> int | None:
    if key not in said:
        return None
    try:
        value = int(said[key], 0)
    except ValueError:
        value = -1
    if not 0 <= value <= limit:
        raise BadInput(
            f"isaprof.{key}: {said[key]!r} is not a number up to {limit:#x}", path=path, kind="fact"
        )
    return value


def bits_comment(differences: list[tuple[int, int, int]]) -> str:
    """The comment for (byte offset in the instruction, LLVM's word, wanted word) differences."""
    return "; isaprof.bits" + "".join(f" {at}:{have:#x}->{want:#x}" for at, have, want in differences)


def expand_bits(source: str) -> str:
    """``source`` with every ``isaprof.bits`` comment as a relocation of type NONE at the end.

    Lines keep their numbers. The relocation's addend holds both words;
    :func:`finish_object` writes the wanted one where the assembler wrote the
    other, and removes the relocation.
    """
    if "; isaprof.bits" not in source:
        return source
    lines = source.split("\n")
    section = "\t.text"
    wanted: dict[str, list[str]] = {}
    n = 0
    for i, line in enumerate(lines):
        if _SECTION.match(line):
            section = line
        elif "; isaprof.bits" in line and (m := _BITS.search(line)):
            lines[i] = f"{_MARK}{n}:{line}"
            for at, have, want in _ONE.findall(m[1]):
                addend = int(want, 16) << 32 | int(have, 16)
                addend -= (addend >> 63) << 64
                wanted.setdefault(section, []).append(f"\t.reloc {_MARK}{n}+{at}, R_AMDGPU_NONE, {addend}")
            n += 1
    for directive, relocations in wanted.items():
        lines += [directive, *relocations]
    return "\n".join([*lines, ""])


def finish_object(obj: bytes, want: BuildFacts) -> bytes:
    """Carry out the facts in a relocatable object: header, wanted bits, hidden names."""
    out = bytearray(_header(obj, want))
    tables = read_tables(obj)
    shoff = struct.unpack_from("<Q", obj, 40)[0]
    for s in tables.sections:
        if s.type == SHT_RELA and s.data:
            target = tables.sections[s.info]
            _write_bits(out, s.offset, s.size, target.offset, target.size, shoff + 64 * s.index)
        elif s.type == SHT_SYMTAB and b"isaprof" in tables.sections[s.link].data:
            for n, symbol in enumerate(tables.symbols, 1):
                if m := HIDDEN_NAME.match(symbol.name):
                    at = s.offset + 24 * n
                    name = struct.unpack_from("<I", out, at)[0]
                    struct.pack_into("<I", out, at, name + m.end())
    return bytes(out)


def finish_linked(co: bytes, want: BuildFacts) -> bytes:
    """Carry out the facts in the linked file: header, container."""
    return minimal.write(co) if want.minimal else _header(co, want)


def _header(data: bytes, want: BuildFacts) -> bytes:
    out = bytearray(data)
    if want.abi_version is not None:
        out[8] = want.abi_version
    if want.e_flags is not None:
        struct.pack_into("<I", out, 48, want.e_flags)
    return bytes(out)


def _write_bits(out: bytearray, offset: int, size: int, section: int, room: int, header: int) -> None:
    """Carry out and drop the NONE relocations of one relocation section."""
    keep = bytearray()
    for at, info, addend in struct.iter_unpack("<QQQ", bytes(out[offset : offset + size])):
        if info & 0xFFFFFFFF:
            keep += struct.pack("<QQQ", at, info, addend)
            continue
        have, want = addend & 0xFFFFFFFF, addend >> 32
        if at + 4 <= room and struct.unpack_from("<I", out, section + at)[0] == have:
            struct.pack_into("<I", out, section + at, want)
    if len(keep) != size:
        out[offset : offset + len(keep)] = keep
        struct.pack_into("<Q", out, header + 32, len(keep))
