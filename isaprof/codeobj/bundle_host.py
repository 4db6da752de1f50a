"""Host binaries with embedded GPU code: ELF and PE files, and where their bundles sit.

clang puts the bundles into section ``.hip_fatbin`` and one 24-byte wrapper for
each into ``.hipFatBinSegment``; PE cuts section names to eight characters.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from isaprof.codeobj.bundle import Path
from isaprof.errors import BadInput

FATBIN = (".hip_fatbin", ".hip_fat")
SEGMENT = (".hipFatBinSegment", ".hipFatB")
UNLINKED = ".llvm.offloading"
WRAPPER_MAGIC = 0x48495046
WRAPPER_SIZE = 24
MAX_SECTIONS = 1 << 16
_EM_AMDGPU = 224
_SHT_NOBITS, _SHN_XINDEX = 8, 0xFFFF
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NAME = 32  #: bytes of a section name that are looked at


@dataclass(frozen=True, slots=True)
class Region:
    """A section: name, file offset, bytes in the file, virtual address."""

    name: str
    offset: int
    size: int
    address: int


@dataclass(frozen=True, slots=True)
class Host:
    what: str
    fatbins: tuple[Region, ...]
    segments: tuple[Region, ...]
    wrappers: int  #: bundles that the program registers with the runtime
    unlinked: bool  #: it has device code that only the linker wrapper makes into bundles


def read(data: bytes, path: Path = None) -> Host | None:
    """The host binary's sections of interest; None for files that are none (code objects, too)."""
    if data.startswith(b"\x7fELF") and len(data) >= 64:
        kind, machine = struct.unpack_from("<HH", data, 16)
        if machine in (0, _EM_AMDGPU) or data[4:6] != b"\x02\x01":
            return None
        what = {1: "ELF object file", 2: "ELF program", 3: "ELF shared library"}.get(kind, "ELF file")
        return _host(data, what, list(_elf_sections(data, path)), path)
    if data.startswith(b"MZ") and len(data) >= 64:
        at = struct.unpack_from("<I", data, 60)[0]
        if data[at : at + 4] == b"PE\0\0":
            return _host(data, "PE file", list(_pe_sections(data, at, path)), path)
    return None


def _host(data: bytes, what: str, sections: list[Region], path: Path) -> Host:
    for s in sections:
        if s.offset + s.size > len(data):
            raise BadInput(
                f"truncated: section {s.name} takes {s.size} bytes at {s.offset:#x}, "
                f"the file ends at {len(data):#x}",
                path=path, offset=min(s.offset, len(data)), kind="truncated",
            )  # fmt: skip
    fatbins = sorted((s for s in sections if s.name in FATBIN and s.size), key=lambda s: s.offset)
    for a, b in pairwise(fatbins):
        if b.offset < a.offset + a.size:
            raise BadInput(f"two sections {a.name} overlap", path=path, offset=b.offset, kind="damaged")
    # a linker merges the wrappers into one section; of damaged tables that name many, the first counts
    segments = tuple(s for s in sections if s.name in SEGMENT)[:1]
    wrappers = sum(
        struct.unpack_from("<I", data, at)[0] == WRAPPER_MAGIC
        for s in segments
        for at in range(s.offset, s.offset + s.size - WRAPPER_SIZE + 1, WRAPPER_SIZE)
    )
    unlinked = any(s.name == UNLINKED for s in sections)
    return Host(what, tuple(fatbins), segments, wrappers, unlinked)


def _elf_sections(data: bytes, path: Path) -> Iterator[Region]:
    """Section headers of a 64-bit little-endian ELF file (System V gABI; HIP has no other hosts)."""
    wanted = (*FATBIN, *SEGMENT, UNLINKED)
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count, names_at = struct.unpack_from("<HHH", data, 58)
    if table == 0:
        return
    if size != _SECTION.size or table + size > len(data):
        raise BadInput(
            f"truncated or damaged: section headers of {size} bytes at {table:#x}, the file ends at "
            f"{len(data):#x}",
            path=path, offset=min(table, len(data)), kind="truncated",
        )  # fmt: skip
    first = _SECTION.unpack_from(data, table)
    if count == 0:  # more than fit the header's field
        count = first[5]
    if names_at == _SHN_XINDEX:
        names_at = first[6]
    if count > MAX_SECTIONS or table + size * count > len(data) or names_at >= count:
        raise BadInput(
            f"truncated or damaged: {count} section headers at {table:#x}, names in number {names_at}",
            path=path, offset=min(table, len(data)), kind="truncated",
        )  # fmt: skip
    strings = _SECTION.unpack_from(data, table + size * names_at)[4]
    for n in range(count):
        name, kind, _, address, offset, length, *_ = _SECTION.unpack_from(data, table + size * n)
        at = strings + name
        label = data[at : at + _NAME].partition(b"\0")[0].decode("latin-1") if at < len(data) else ""
        if label in wanted and kind != _SHT_NOBITS:
            yield Region(label, offset, length, address)


def _pe_sections(data: bytes, pe: int, path: Path) -> Iterator[Region]:
    """Section table of a PE file (Microsoft's "PE Format": COFF header, optional header, table)."""
    if pe + 24 > len(data):
        raise BadInput("truncated: the COFF header passes the end", path=path, offset=pe, kind="truncated")
    (count,) = struct.unpack_from("<H", data, pe + 6)
    (optional,) = struct.unpack_from("<H", data, pe + 20)
    table = pe + 24 + optional
    if table + 40 * count > len(data):
        raise BadInput(
            f"truncated: {count} section headers at {table:#x}", path=path, offset=table, kind="truncated"
        )
    for at in range(table, table + 40 * count, 40):
        name = data[at : at + 8].rstrip(b"\0").decode("latin-1")
        if name in FATBIN or name in SEGMENT:
            virtual, address, raw, offset = struct.unpack_from("<IIII", data, at + 8)
            # the part in the file is padded: what lies beyond the virtual size is not the section's
            yield Region(name, offset, min(raw, virtual) if virtual else raw, address)
