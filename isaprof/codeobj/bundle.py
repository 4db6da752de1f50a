"""Offload bundles: several code objects in one blob (``__CLANG_OFFLOAD_BUNDLE__``).

Layout: clang's "Clang Offload Bundler" page; all integers little-endian, offsets
from the magic. Nothing in a file is believed: every range is checked against the
bytes that are there before anything is taken.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from os import PathLike

from isaprof.codeobj.bundle_target import split_entry_id
from isaprof.errors import BadInput

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
MAX_ENTRIES = 4096  #: real bundles have one entry for each target: some dozens
MAX_ID = 1024  #: bytes
_RECORD = struct.Struct("<QQQ")

Path = str | PathLike[str] | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: ``offset`` and ``size`` in bytes, from the start of the (expanded) bundle."""

    id: str
    offset: int
    size: int

    @property
    def kind(self) -> str:
        """``host``, ``hip``, ``hipv4``, ``openmp``."""
        return split_entry_id(self.id)[0]

    @property
    def target(self) -> str | None:
        """Target id of a GPU entry."""
        return split_entry_id(self.id)[1]


@dataclass(frozen=True, slots=True)
class Compression:
    """Header of a compressed bundle. Sizes in bytes; ``total_size`` counts header and payload."""

    version: int
    method: str  #: ``zlib`` or ``zstd``
    header_size: int
    total_size: int
    uncompressed_size: int
    hash: int  #: first 8 bytes of the MD5 of the expanded bundle


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle at ``offset`` of its file; it takes ``size`` bytes there."""

    offset: int
    size: int
    entries: tuple[Entry, ...]
    compression: Compression | None = None

    @property
    def what(self) -> str:
        if (c := self.compression) is None:
            return "offload bundle"
        return f"compressed offload bundle (v{c.version}, {c.method})"


def read_entries(
    data: bytes | memoryview, *, path: Path = None, base: int = 0, where: str = ""
) -> list[Entry]:
    """The entries of the plain bundle at the start of ``data``, in file order.

    ``base`` is added to offsets in messages, ``where`` says what they count
    from. Raises BadInput for a table or an entry outside ``data``, entries that
    overlap, and ids that are no printable ASCII.
    """

    def damaged(message: str, at: int, kind: str = "damaged") -> BadInput:
        return BadInput(message + where, path=path, offset=base + at, kind=kind)

    if len(data) < 32:
        raise damaged(f"truncated: {len(data)} bytes of a bundle's header", 0, "truncated")
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise damaged("no offload bundle: the magic is missing", 0)
    (count,) = struct.unpack_from("<Q", data, 24)
    if count > MAX_ENTRIES:
        raise damaged(f"{count} entries in a bundle; at most {MAX_ENTRIES} are read", 24)
    entries = []
    at = 32
    for n in range(count):
        if at + _RECORD.size > len(data):
            raise damaged(f"truncated: the record of entry {n} passes the end", at, "truncated")
        offset, size, length = _RECORD.unpack_from(data, at)
        if length > MAX_ID:
            raise damaged(f"the id of entry {n} has {length} bytes; at most {MAX_ID} are read", at + 16)
        if at + _RECORD.size + length > len(data):
            raise damaged(f"truncated: the id of entry {n} passes the end", at, "truncated")
        raw = bytes(data[at + _RECORD.size : at + _RECORD.size + length])
        if not raw or any(not 0x21 <= c <= 0x7E for c in raw):
            raise damaged(f"the id of entry {n} is no target: {raw[:60]!r}", at + _RECORD.size)
        if size and offset + size > len(data):
            raise damaged(
                f"truncated: entry {n} ({raw.decode()}) takes {size} bytes at {offset:#x} of the bundle, "
                f"which has {len(data)}",
                at, "truncated",
            )  # fmt: skip
        entries.append(Entry(raw.decode("ascii"), offset, size))
        at += _RECORD.size + length
    end, before = at, "the entry table"
    for e in sorted((e for e in entries if e.size), key=lambda e: (e.offset, e.size)):
        if e.offset < end:
            raise damaged(f"entry {e.id} at {e.offset:#x} overlaps {before}, which ends at {end:#x}", 32)
        end, before = e.offset + e.size, e.id
    return entries


def extent(entries: list[Entry]) -> int:
    """Bytes of a plain bundle: nothing in it says so, it ends with its last entry."""
    table = 32 + sum(_RECORD.size + len(e.id) for e in entries)
    return max([table, *(e.offset + e.size for e in entries if e.size)])
