"""Everything of a code object that its text must carry: sections and symbols in full.

:mod:`isaprof.codeobj` reads what running a kernel needs; rebuilding the file
also needs symbol bindings, visibilities, absolute symbols and sections
without file bytes.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

from isaprof.codeobj.image import read_image
from isaprof.errors import BadInput

#: made anew by the linker, never written into the text
LINKER_SECTIONS = frozenset(
    {".note", ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".dynamic", ".relro_padding", ".eh_frame"}
)


@dataclass(frozen=True, slots=True)
class FullSymbol:
    name: str
    value: int
    size: int
    type: str  #: FUNC, OBJECT, NOTYPE
    bind: str  #: LOCAL, GLOBAL, WEAK
    visibility: str  #: DEFAULT, PROTECTED, HIDDEN
    section: str | None  #: None for absolute symbols


@dataclass(frozen=True, slots=True)
class FullSection:
    name: str
    address: int
    data: bytes
    size: int
    nobits: bool
    executable: bool
    writable: bool
    align: int


@dataclass(frozen=True, slots=True)
class Layout:
    sections: tuple[FullSection, ...]  #: loaded, not made by the linker, in address order
    symbols: tuple[FullSymbol, ...]
    abi_version: int
    relocations: int  #: dynamic relocations the object carries


def read_layout(data: bytes, path: str | None = None) -> Layout:
    """Sections and symbols of an AMDGPU ELF; BadInput where the file is damaged or no code object."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.relocation import RelocationSection
    from elftools.elf.sections import SymbolTableSection

    image = read_image(data, path)  # refuses whatever is not a sound AMDGPU ELF
    try:
        elf = ELFFile(io.BytesIO(data))
        by_index = list(elf.iter_sections())
        sections: list[FullSection] = []
        symbols: dict[tuple[str, int], FullSymbol] = {}
        relocations = 0
        for s in by_index:
            h = s.header
            if isinstance(s, RelocationSection):
                relocations += s.num_relocations()
            if isinstance(s, SymbolTableSection):
                for sym in s.iter_symbols():
                    made = _symbol(sym, by_index)
                    if made is not None:
                        symbols[made.name, made.value] = made
            if h["sh_flags"] & 2 and h["sh_type"] != "SHT_NULL" and s.name not in LINKER_SECTIONS:
                nobits = h["sh_type"] == "SHT_NOBITS"
                body = b"" if nobits else data[h["sh_offset"] : h["sh_offset"] + h["sh_size"]]
                if not isinstance(s, RelocationSection):
                    sections.append(
                        FullSection(
                            s.name, h["sh_addr"], body, h["sh_size"], nobits,
                            bool(h["sh_flags"] & 4), bool(h["sh_flags"] & 1), max(1, h["sh_addralign"]),
                        )
                    )  # fmt: skip
    except (ELFError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as e:
        raise BadInput(f"damaged ELF file: {e or type(e).__name__}", path=path, kind="damaged") from None
    sections.sort(key=lambda x: x.address)
    return Layout(tuple(sections), tuple(symbols.values()), image.abi_version, relocations)


def _symbol(sym: object, sections: list[object]) -> FullSymbol | None:
    entry = sym.entry  # type: ignore[attr-defined]
    name, index = sym.name, entry["st_shndx"]  # type: ignore[attr-defined]
    if not name or index == "SHN_UNDEF":
        return None
    section = None
    if isinstance(index, int):
        section = sections[index].name  # type: ignore[attr-defined]
        if section in LINKER_SECTIONS:
            return None
    elif index != "SHN_ABS":
        return None
    return FullSymbol(
        name,
        entry["st_value"],
        entry["st_size"],
        str(entry["st_info"]["type"]).removeprefix("STT_"),
        str(entry["st_info"]["bind"]).removeprefix("STB_"),
        str(entry["st_other"]["visibility"]).removeprefix("STV_"),
        section,
    )
