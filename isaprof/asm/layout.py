"""Everything of a code object that its text must carry: sections, symbols, relocations, notes."""

from itertools import pairwise
from os import PathLike
from typing import NamedTuple

from isaprof.codeobj.elf import CodeObject
from isaprof.codeobj.image import Image
from isaprof.codeobj.tables import SHT_NOTE, ElfSymbol, Relocation, Tables
from isaprof.errors import BadInput

#: made anew by the linker, never written into the text
LINKER_SECTIONS = frozenset(
    {".dynsym", ".gnu.hash", ".hash", ".dynstr", ".dynamic", ".relro_padding", ".eh_frame", ".eh_frame_hdr",
     ".rela.dyn", ".rela.plt", ".rel.dyn", ".got", ".got.plt", ".plt", ".gnu.version", ".gnu.version_r",
     ".gnu.version_d"}
)  # fmt: skip
_ALLOC, _WRITE, _EXEC = 2, 1, 4
_KINDS = {8: "nobits", 14: "init_array", 15: "fini_array", 16: "preinit_array"}
#: size of a section without bytes in the file (.bss) that is still believed
_LARGEST_NOBITS = 1 << 40


class FullSymbol(NamedTuple):
    name: str
    value: int
    size: int
    type: str  #: FUNC, OBJECT, NOTYPE, ... or the number
    bind: str  #: LOCAL, GLOBAL, WEAK
    visibility: str  #: DEFAULT, PROTECTED, HIDDEN, INTERNAL
    section: str | None  #: None for absolute symbols
    undefined: bool = False

    @property
    def preemptible(self) -> bool:
        """True for symbols whose address the loader decides: code of the object cannot use them directly."""
        return self.bind != "LOCAL" and self.visibility == "DEFAULT"


class FullSection(NamedTuple):
    name: str
    address: int
    data: bytes
    size: int
    kind: str  #: progbits, nobits, ...
    executable: bool
    writable: bool
    align: int

    @property
    def nobits(self) -> bool:
        return self.kind == "nobits"

    @property
    def end(self) -> int:
        return self.address + self.size


class Layout(NamedTuple):
    """``sections``: loaded, not made by the linker, in address order."""

    sections: tuple[FullSection, ...]
    symbols: tuple[FullSymbol, ...]
    dynamic: tuple[FullSymbol, ...]  #: .dynsym
    relocations: tuple[Relocation, ...]
    notes: tuple[tuple[str, int, bytes], ...]
    abi_version: int
    e_flags: int
    stripped: bool  #: no .symtab
    minimal: bool
    got: tuple[int, int]  #: address and end of the linker's table of addresses; (0, 0) where there is none
    not_carried: tuple[tuple[str, int], ...]  #: sections that are not loaded, and their sizes

    def section_at(self, address: int) -> FullSection | None:
        """The section that holds ``address``."""
        return next((s for s in self.sections if s.address <= address < s.end), None)


def read_layout(image: Image, path: str | PathLike[str] | None = None) -> Layout:
    """Sections and symbols of an AMDGPU ELF; BadInput where the file is damaged."""
    if image.tables is None:
        return _minimal(image)
    tables = image.tables
    sections = []
    rest = []
    got = (0, 0)
    for s in tables.sections:
        if s.name == ".got" and s.flags & _ALLOC:
            got = (s.address, s.address + s.size)
        if not s.flags & _ALLOC or s.type == 0:
            if s.type not in (0, 2, 3):  # symbol and string tables are made anew
                rest.append((s.name, s.size))
            continue
        if s.name == ".eh_frame":
            rest.append((s.name, s.size))
        if s.name in LINKER_SECTIONS or s.type in (SHT_NOTE, 2, 3, 4, 5, 6, 9, 11):
            continue
        _check(s.name, s.align, s.address, s.size, path)
        sections.append(
            FullSection(
                s.name, s.address, s.data, s.size, _KINDS.get(s.type, "progbits"), bool(s.flags & _EXEC),
                bool(s.flags & _WRITE), max(1, s.align),
            )
        )  # fmt: skip
    sections.sort(key=lambda x: x.address)
    for a, b in pairwise(sections):
        if a.end > b.address and a.size and b.size:
            raise BadInput(f"sections {a.name} and {b.name} overlap", path=path, kind="damaged")
    symbols = _symbols(tables, dynamic=False)
    dynamic = _symbols(tables, dynamic=True)
    stripped = not any(s.type == 2 for s in tables.sections)
    return Layout(
        tuple(sections), dynamic if stripped else symbols, dynamic, tables.relocations, tables.notes,
        image.abi_version, image.e_flags, stripped, False, got, tuple(rest),
    )  # fmt: skip


def _check(name: str, align: int, address: int, size: int, path: str | PathLike[str] | None) -> None:
    if align & (align - 1) or align > 1 << 30:
        raise BadInput(f"section {name} has the alignment {align}", path=path, kind="damaged")
    if size > _LARGEST_NOBITS or address + size >= 1 << 63:
        raise BadInput(f"section {name} at {address:#x} has {size} bytes", path=path, kind="damaged")


def _minimal(image: Image) -> Layout:
    sections = tuple(
        FullSection(s.name, s.address, s.data, len(s.data), "progbits", s.executable, False,
                    256 if s.executable else 64)
        for s in sorted(image.sections, key=lambda s: s.address)
    )  # fmt: skip
    return Layout(sections, (), (), (), (), 0, 0, True, True, (0, 0), ())


def _symbols(tables: Tables, *, dynamic: bool) -> tuple[FullSymbol, ...]:
    made = (_symbol(s, tables) for s in tables.symbols if s.dynamic is dynamic)
    return tuple(s for s in made if s is not None)


def _symbol(symbol: ElfSymbol, tables: Tables) -> FullSymbol | None:
    if not symbol.name or symbol.type in ("SECTION", "FILE"):
        return None
    section = None
    if symbol.section is not None:
        section = tables.sections[symbol.section].name
        if section in LINKER_SECTIONS:
            return None
    elif not symbol.absolute and not symbol.undefined:
        return None
    return FullSymbol(
        symbol.name, symbol.value, symbol.size, symbol.type, symbol.bind, symbol.visibility, section,
        symbol.undefined,
    )  # fmt: skip


def function_starts(co: CodeObject, layout: Layout) -> frozenset[int]:
    """Where functions and kernels begin (with kernarg preload, where their waves start, too)."""
    functions = (s.value for s in layout.symbols if s.type == "FUNC" and s.section is not None)
    return frozenset((*functions, *(k.entry for k in co.kernels), *(k.start for k in co.kernels)))
