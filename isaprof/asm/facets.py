"""An object taken apart into what two objects are compared by.

Addresses are told as (section, offset): absolute ones are the linker's choice.
Distances that depend on the linker's placing are replaced by what they point
to: a descriptor's entry offset, the value at a dynamic relocation.
"""

import struct
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

from isaprof.asm.layout import LINKER_SECTIONS, FullSymbol, Layout, read_layout
from isaprof.codeobj.descriptor import SIZE as DESCRIPTOR_SIZE
from isaprof.codeobj.elf import CodeObject
from isaprof.codeobj.image import Image, read_image

Symbol = tuple[str, str, int, int, str, str, str]  #: name, section, offset, size, type, binding, visibility


class Facets(NamedTuple):
    """What the verdict rests on, and (``reported``) what it does not."""

    co: CodeObject
    layout: Layout
    header: Mapping[str, str]  #: e_flags, ABI version, target id
    descriptors: Mapping[str, bytes]  #: name -> the 64 bytes, entry offset zeroed
    entries: Mapping[str, str]  #: name -> where its code begins
    text: Mapping[str, bytes]
    data: Mapping[str, bytes]  #: other sections, with descriptors and relocated places zeroed
    shapes: Mapping[str, str]  #: section -> kind, flags, size, alignment
    notes: tuple[tuple[str, int, bytes], ...]
    symbols: Counter[Symbol]
    dynamic: Counter[Symbol]
    relocations: Counter[tuple[int, str, str]]  #: type, place, what it points to
    reported: Mapping[str, Any] = {}


def read_facets(data: bytes, *, path: str | PathLike[str] | None = None, arch: str | None = None) -> Facets:
    """Take ``data`` apart; BadInput as :class:`~isaprof.codeobj.elf.CodeObject`."""
    image = read_image(data, path)
    co = CodeObject.of_image(image, data, path=path, arch=arch)
    return facets_of(co, read_layout(image, path), image)


def facets_of(co: CodeObject, layout: Layout, image: Image) -> Facets:
    """The same for an object and its layout as read already."""
    places = {s.name: bytearray(s.data) for s in layout.sections}
    descriptors: dict[str, bytes] = {}
    entries: dict[str, str] = {}
    for kernel in co.kernels:
        address = kernel.descriptor.address
        section = layout.section_at(address)
        if section is None or section.nobits:
            continue
        at = address - section.address
        raw = section.data[at : at + DESCRIPTOR_SIZE]
        if layout.minimal:  # its entry offset is no address of the file: compared as it is
            entries[kernel.symbol] = f"{kernel.descriptor.entry_offset:#x}"
        else:
            entries[kernel.symbol] = where(layout, kernel.entry)
        descriptors[kernel.symbol] = raw[:16] + bytes(8) + raw[24:]
        places[section.name][at : at + DESCRIPTOR_SIZE] = bytes(len(raw))
    relocations: Counter[tuple[int, str, str]] = Counter()
    for r in layout.relocations:
        section = layout.section_at(r.offset)
        if section is None:
            continue  # the linker's own tables
        at = r.offset - section.address
        body = places[section.name]
        body[at : at + 8] = bytes(len(body[at : at + 8]))
        points = f"{r.symbol}{r.addend:+#x}" if r.symbol else where(layout, r.addend)
        relocations[r.type, f"{section.name}+{at:#x}", points] += 1
    return Facets(
        co,
        layout,
        {
            "e_flags": f"{layout.e_flags:#x}",
            "abi_version": str(layout.abi_version),
            "target": co.target_id,
        },
        descriptors,
        entries,
        {s.name: s.data for s in layout.sections if s.executable},
        {s.name: bytes(places[s.name]) for s in layout.sections if not s.executable},
        {s.name: _shape(s.kind, s.executable, s.writable, s.size, s.align) for s in layout.sections},
        tuple(sorted(n for n in layout.notes if n[:2] != ("GNU", 3))),
        Counter() if layout.stripped else _symbols(layout, layout.symbols),
        _symbols(layout, layout.dynamic),
        relocations,
        _reported(co.file, layout, image),
    )


def where(layout: Layout, address: int) -> str:
    """``address`` as section and offset."""
    section = layout.section_at(address) or next((s for s in layout.sections if s.end == address), None)
    return f"{address:#x}" if section is None else f"{section.name}+{address - section.address:#x}"


def _shape(kind: str, executable: bool, writable: bool, size: int, align: int) -> str:
    flags = "a" + "w" * writable + "x" * executable
    return f"{kind} {flags}, {size} bytes, aligned to {align}"


def _symbols(layout: Layout, symbols: tuple[FullSymbol, ...]) -> Counter[Symbol]:
    starts = {s.name: s.address for s in layout.sections}
    return Counter(
        (
            s.name, s.section or ("undefined" if s.undefined else "absolute"),
            s.value - starts.get(s.section or "", 0), s.size, s.type, s.bind, s.visibility,
        )
        for s in symbols
    )  # fmt: skip


def _reported(data: bytes, layout: Layout, image: Image) -> dict[str, Any]:
    """Facts that vary with the linker, and sections that are not loaded."""
    out: dict[str, Any] = {
        "file_size": len(data),
        "section_addresses": {s.name: s.address for s in layout.sections},
        "not_loaded": dict(layout.not_carried),
    }
    tables = image.tables
    if tables is not None:
        out["linker_tables"] = {s.name: s.size for s in tables.sections if s.name in LINKER_SECTIONS}
        comment = next((s.data for s in tables.sections if s.name == ".comment"), b"")
        parts = comment.decode("utf-8", "replace").split("\0")
        out["comment"] = [p[:200] for p in parts if p][:16]
        ids = [payload.hex() for owner, kind, payload in tables.notes if (owner, kind) == ("GNU", 3)]
        if ids:
            out["build_id"] = ids[0]
    if layout.minimal:
        out["header"] = struct.unpack_from("<H", data, 18)[0]
    return out
