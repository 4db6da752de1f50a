"""The tables of a 64-bit little-endian ELF file: sections, symbols, relocations, notes, segments.

Everything that rebuilding a code object needs is kept: bindings, visibilities,
absolute symbols, sections without file bytes. Every count and offset is
checked against the file before it is followed; work and memory are bounded by
a multiple of the file's size. Layout: the System V gABI, chapter "Object Files".
"""

import struct
from typing import NamedTuple

from isaprof.errors import BadInput

SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 2, 4, 7, 8, 9, 11
SHN_UNDEF, SHN_ABS, _SHN_LORESERVE = 0, 0xFFF1, 0xFF00
_TYPES = {0: "NOTYPE", 1: "OBJECT", 2: "FUNC", 3: "SECTION", 4: "FILE", 6: "TLS", 10: "KERNEL"}
_BINDS = {0: "LOCAL", 1: "GLOBAL", 2: "WEAK"}
_VISIBILITIES = ("DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED")


class SectionHeader(NamedTuple):
    """One section; ``data`` is empty where the file holds no bytes of it (``nobits``)."""

    index: int  # type: ignore[assignment]  # not the method of tuples
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int
    data: bytes

    @property
    def nobits(self) -> bool:
        return self.type == SHT_NOBITS


class ElfSymbol(NamedTuple):
    """One entry of .symtab or .dynsym (``dynamic``)."""

    name: str
    value: int
    size: int
    type: str  #: NOTYPE, OBJECT, FUNC, SECTION, FILE, ... or the number
    bind: str  #: LOCAL, GLOBAL, WEAK or the number
    visibility: str  #: DEFAULT, INTERNAL, HIDDEN, PROTECTED
    section: int | None  #: index of its section; None: undefined, absolute or special
    shndx: int
    dynamic: bool

    @property
    def undefined(self) -> bool:
        return self.shndx == SHN_UNDEF

    @property
    def absolute(self) -> bool:
        return self.shndx == SHN_ABS


class Relocation(NamedTuple):
    """One relocation of the file: ``offset`` is an address in linked objects."""

    offset: int
    type: int
    symbol: str
    addend: int
    section: str  #: name of the relocation section


class Tables(NamedTuple):
    """All tables of one file, in file order."""

    sections: tuple[SectionHeader, ...]
    symbols: tuple[ElfSymbol, ...]
    relocations: tuple[Relocation, ...]
    notes: tuple[tuple[str, int, bytes], ...]  #: owner, type, payload
    segments: tuple[tuple[int, bytes], ...]  #: loaded address, file bytes


def read_tables(data: bytes) -> Tables:
    """Take the file apart; BadInput where a table does not lie in it. The header must have 64 bytes."""
    shoff = struct.unpack_from("<Q", data, 40)[0]
    shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 58)
    if shnum and (shentsize != 64 or shoff + 64 * shnum > len(data)):
        raise BadInput(
            f"truncated or damaged: {shnum} section headers of {shentsize} bytes at {shoff:#x} in a file of "
            f"{len(data)} bytes",
            offset=min(shoff, len(data)), kind="truncated",
        )  # fmt: skip
    # sections of a sane file do not overlap; a damaged one may name the whole file thousands of times
    budget = _Budget(4 * len(data) + (1 << 16))
    sections = _sections(data, shoff, shnum, shstrndx, budget)
    symbols: list[ElfSymbol] = []
    relocations: list[Relocation] = []
    notes: list[tuple[str, int, bytes]] = []
    by_table: dict[int, list[ElfSymbol]] = {}
    for s in sections:
        if s.type in (SHT_SYMTAB, SHT_DYNSYM):
            by_table[s.index] = _symbols(s, sections)
            symbols += by_table[s.index]
        elif s.type == SHT_NOTE:
            notes += _notes(s.data)
    for s in sections:
        if s.type in (SHT_RELA, SHT_REL):
            relocations += _relocations(s, by_table.get(s.link, []))
    return Tables(tuple(sections), tuple(symbols), tuple(relocations), tuple(notes), _segments(data, budget))


class _Budget:
    """Bytes that may still be copied out of the file."""

    def __init__(self, left: int) -> None:
        self.left = left

    def slice(self, data: bytes, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(data):
            raise BadInput(
                f"truncated: {what} ends at {offset + size:#x}, the file at {len(data):#x}",
                offset=min(offset, len(data)), kind="truncated",
            )  # fmt: skip
        self.left -= size
        if self.left < 0:
            raise BadInput(f"{what} and others overlap: together far larger than the file", kind="damaged")
        return bytes(data[offset : offset + size])


def _sections(data: bytes, shoff: int, shnum: int, shstrndx: int, budget: _Budget) -> list[SectionHeader]:
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(shnum)]
    names = b""
    if shstrndx < shnum:
        head = heads[shstrndx]
        names = budget.slice(data, head[4], head[5], "the section names")
    out = []
    for i, (name, kind, flags, address, offset, size, link, info, align, entry) in enumerate(heads):
        label = text_at(names, name)
        body = b""
        if kind not in (0, SHT_NOBITS):
            body = budget.slice(data, offset, size, f"section {label or i}")
        out.append(
            SectionHeader(i, label, kind, flags, address, offset, size, link, info, align, entry, body)
        )
    return out


def text_at(strings: bytes, offset: int) -> str:
    """The NUL-terminated string at ``offset`` of a string table; "" where there is none."""
    end = strings.find(b"\0", offset)
    return strings[offset:end].decode("utf-8", "replace") if 0 <= offset < end else ""


def _symbols(table: SectionHeader, sections: list[SectionHeader]) -> list[ElfSymbol]:
    if table.entry_size != 24:
        raise BadInput(f"symbol table with entries of {table.entry_size} bytes, not 24", kind="damaged")
    strings = sections[table.link].data if table.link < len(sections) else b""
    out = []
    # a damaged name offset may point at a long string again and again
    budget = 4 * len(strings) + len(table.data) + (1 << 16)
    dynamic = table.type == SHT_DYNSYM
    rows = struct.iter_unpack("<IBBHQQ", table.data[: len(table.data) // 24 * 24])
    next(rows, None)  # entry 0 is no symbol
    for name, info, other, shndx, value, size in rows:
        label = text_at(strings, name)
        budget -= len(label)
        if budget < 0:
            raise BadInput("symbol names overlap: together far larger than their table", kind="damaged")
        placed = 0 < shndx < min(len(sections), _SHN_LORESERVE)
        out.append(
            ElfSymbol(
                label, value, size, _TYPES.get(info & 15, str(info & 15)),
                _BINDS.get(info >> 4, str(info >> 4)), _VISIBILITIES[other & 3],
                shndx if placed else None, shndx, dynamic,
            )
        )  # fmt: skip
    return out


def _relocations(table: SectionHeader, symbols: list[ElfSymbol]) -> list[Relocation]:
    out = []
    rela = table.type == SHT_RELA
    width = 24 if rela else 16
    for row in struct.iter_unpack("<QQq" if rela else "<QQ", table.data[: len(table.data) // width * width]):
        index = (row[1] >> 32) - 1  # symbol 0 is none
        name = symbols[index].name if 0 <= index < len(symbols) else ""
        out.append(Relocation(row[0], row[1] & 0xFFFFFFFF, name, row[2] if rela else 0, table.name))
    return out


def _segments(data: bytes, budget: _Budget) -> tuple[tuple[int, bytes], ...]:
    phoff = struct.unpack_from("<Q", data, 32)[0]
    phentsize, phnum = struct.unpack_from("<HH", data, 54)
    if phnum and (phentsize != 56 or phoff + 56 * phnum > len(data)):
        raise BadInput(
            f"truncated or damaged: {phnum} program headers of {phentsize} bytes at {phoff:#x} in a file of "
            f"{len(data)} bytes",
            offset=min(phoff, len(data)), kind="truncated",
        )  # fmt: skip
    out = []
    for i in range(phnum):
        kind, _flags, offset, address, _paddr, size = struct.unpack_from("<IIQQQQ", data, phoff + 56 * i)
        if kind == 1 and size:
            out.append((address, budget.slice(data, offset, size, "segment")))
    return tuple(out)


def _notes(body: bytes) -> list[tuple[str, int, bytes]]:
    """(owner, type, payload) of each note; stops at the first damaged one."""
    out = []
    at = 0
    while at + 12 <= len(body):
        name_size, size, kind = struct.unpack_from("<III", body, at)
        start = at + 12 + (name_size + 3 & ~3)
        if start + size > len(body):
            break
        owner = body[at + 12 : at + 12 + name_size].rstrip(b"\0").decode("ascii", "replace")
        out.append((owner, kind, body[start : start + size]))
        at = start + (size + 3 & ~3)
    return out
