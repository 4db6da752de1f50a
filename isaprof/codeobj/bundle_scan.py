"""Finding the bundles of a file: stand-alone, one after the other, or in a host binary's section.

Bundles in a section start at multiples of 4096 from its start with zeros between
them (clang links them so). A magic is looked for at such places only, never byte
by byte: the four letters CCOB also turn up in unrelated data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from isaprof.codeobj import bundle_compressed, bundle_host
from isaprof.codeobj.bundle import MAGIC, Bundle, Path, extent, read_entries
from isaprof.errors import BadInput

ALIGNMENT = 4096
MAX_BUNDLES = 65536
#: bytes that all bundles of one file together may expand to
MAX_EXPANDED = 32 << 30
_NOT_ZERO = re.compile(rb"[^\0]")


@dataclass(frozen=True, slots=True)
class Found:
    """The bundles of a file and where they sit (``container`` for people)."""

    container: str
    bundles: tuple[Bundle, ...]
    notes: tuple[str, ...] = ()


def is_bundle(data: bytes | memoryview) -> bool:
    """Whether ``data`` starts with the magic of a bundle, plain or compressed."""
    head = bytes(data[: len(MAGIC)])
    return head == MAGIC or head.startswith(bundle_compressed.MAGIC)


def find_bundles(data: bytes, path: Path = None) -> Found | None:
    """All bundles of a file, in file order; None where it is neither a bundle nor a host binary.

    Raises BadInput for damaged ones, and for a host binary without GPU code.
    """
    view = memoryview(data)
    if is_bundle(view):
        bundles = tuple(_scan(view, 0, len(data), path))
        return Found(bundles[0].what, bundles)
    host = bundle_host.read(data, path)
    if host is None:
        return None
    if not host.fatbins:
        raise BadInput(
            f"{host.what} without GPU code: it has no section .hip_fatbin"
            + (" (it holds device code that is not linked yet)" if host.unlinked else ""),
            path=path, kind="no_gpu_code",
        )  # fmt: skip
    found = [b for r in host.fatbins for b in _scan(view, r.offset, r.offset + r.size, path)]
    if not found:
        first = host.fatbins[0]
        raise BadInput(
            f"section {first.name} ({first.size} bytes) holds no offload bundle",
            path=path, offset=first.offset, kind="no_gpu_code",
        )  # fmt: skip
    notes: tuple[str, ...] = ()
    if host.wrappers > len(found):
        notes = (f"the program registers {host.wrappers} bundles, {len(found)} were found",)
    return Found(f"{host.what}, {len(found)} bundle{'s' * (len(found) > 1)}", tuple(found), notes)


def contents(data: bytes, b: Bundle, path: Path = None) -> memoryview:
    """The (expanded) bundle, which entry offsets count in, of one that ``find_bundles`` has checked."""
    view = memoryview(data)[b.offset : b.offset + b.size]
    if b.compression is None:
        return view
    plain = bundle_compressed.expand(view, b.compression, path=path, base=b.offset, check_hash=False)
    return memoryview(plain)


def _scan(view: memoryview, start: int, end: int, path: Path) -> Iterator[Bundle]:
    at, count, budget = start, 0, MAX_EXPANDED
    while at < end:
        if is_bundle(view[at:end]):
            b = _read(view[at:end], at, path, budget)
            count += 1
            if b.compression is not None:
                budget -= b.compression.uncompressed_size
            if count > MAX_BUNDLES:
                raise BadInput(f"more than {MAX_BUNDLES} bundles", path=path, offset=at, kind="too_large")
            yield b
            at += b.size
            if is_bundle(view[at:end]):  # packed without alignment
                continue
        else:
            at += 1
        following = _NOT_ZERO.search(view, at, end)
        if following is None:
            return
        # the page that holds it; or the next one, where that page has begun before ``at``
        page = (following.start() - start) // ALIGNMENT * ALIGNMENT + start
        at = page if page >= at else page + ALIGNMENT


def _read(view: memoryview, at: int, path: Path, budget: int) -> Bundle:
    if bytes(view[: len(MAGIC)]) == MAGIC:
        entries = read_entries(view, path=path, base=at)
        return Bundle(at, extent(entries), tuple(entries))
    c = bundle_compressed.read_header(view, path=path, base=at)
    if c.uncompressed_size > budget:
        raise BadInput(
            f"the bundles of this file expand to more than {MAX_EXPANDED} bytes together",
            path=path, offset=at, kind="too_large",
        )  # fmt: skip
    plain = bundle_compressed.expand(view, c, path=path, base=at)
    entries = read_entries(plain, path=path, base=at, where=" (in the expanded bundle)")
    return Bundle(at, c.total_size, tuple(entries), c)
