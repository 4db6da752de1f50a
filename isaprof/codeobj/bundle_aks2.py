"""AOTriton's kernel archives (``.aks2``): many code objects behind one xz stream.

Layout: AOTriton's ``v2src/packed_kernel.cc`` and the files of its releases:
``AKS2``, u32 bytes of the content, u32 number of kernels, u32 bytes of the
directory; then xz over directory and images.
"""

from __future__ import annotations

import lzma
import struct
from dataclasses import dataclass

from isaprof.codeobj.bundle import MAX_ENTRIES, MAX_ID, Entry, Path
from isaprof.codeobj.bundle_compressed import MAX_RATIO, MAX_UNCOMPRESSED
from isaprof.errors import BadInput

MAGIC = b"AKS2"
HEADER_SIZE = 16
_RECORD = struct.Struct("<IIIII")
#: xz needs the memory of its dictionary; presets use at most 64 MiB
_XZ_MEMORY = 256 << 20


@dataclass(frozen=True, slots=True)
class Archive:
    """The expanded content and its entries (offsets count in ``content``)."""

    content: bytes
    entries: tuple[Entry, ...]

    def read(self, entry: Entry) -> bytes:
        """The bytes of one entry."""
        return self.content[entry.offset : entry.offset + entry.size]


def read_archive(data: bytes, path: Path = None) -> Archive:
    """Expand and take apart; BadInput for anything damaged or larger than the header says."""

    def damaged(message: str, at: int, kind: str = "damaged") -> BadInput:
        return BadInput(message, path=path, offset=at, kind=kind)

    if len(data) < HEADER_SIZE:
        raise damaged(f"truncated: {len(data)} bytes of a header of {HEADER_SIZE}", 0, "truncated")
    total, count, directory = struct.unpack_from("<III", data, 4)
    if total > MAX_UNCOMPRESSED or total > MAX_RATIO * len(data):
        raise damaged(
            f"the archive says it expands to {total} bytes; the limit is {MAX_UNCOMPRESSED}, "
            f"and {MAX_RATIO}:1",
            4, "too_large",
        )  # fmt: skip
    if count > MAX_ENTRIES or directory > total:
        raise damaged(f"{count} kernels, a directory of {directory} bytes in {total}", 8)
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    try:
        # releases differ in whether the size counts the directory
        content = stream.decompress(data[HEADER_SIZE:], total + directory + 1)
    except lzma.LZMAError as e:
        raise damaged(f"damaged xz stream: {e}", HEADER_SIZE) from None
    if len(content) not in (total, total + directory) or not stream.eof:
        raise damaged(f"expands to {len(content)} bytes, the header says {total}", HEADER_SIZE, "truncated")
    entries = []
    at = 0
    where = " of the expanded archive"
    for n in range(count):
        if at + _RECORD.size > directory:
            raise damaged(f"truncated: record {n} passes the directory's end{where}", at, "truncated")
        _lds, _threads, offset, size, length = _RECORD.unpack_from(content, at)
        name = content[at + _RECORD.size : at + _RECORD.size + length].rstrip(b"\0")
        if length > MAX_ID or at + _RECORD.size + length > directory:
            raise damaged(f"the name of entry {n} passes the directory's end{where}", at)
        if not name or any(not 0x21 <= c <= 0x7E for c in name):
            raise damaged(f"the name of entry {n} is not printable: {name[:60]!r}", at)
        if directory + offset + size > len(content):
            raise damaged(f"entry {n}: {size} bytes at {offset:#x} pass the end{where}", at, "truncated")
        entries.append(Entry(name.decode("ascii"), directory + offset, size))
        at += _RECORD.size + length
    end = 0
    for entry in sorted((e for e in entries if e.size), key=lambda e: e.offset):
        if entry.offset < end:
            raise damaged(f"entry {entry.id} overlaps the one before{where}", entry.offset)
        end = entry.offset + entry.size
    return Archive(content, tuple(entries))
