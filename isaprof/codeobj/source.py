"""Opening whatever holds code objects: ``load_object`` for one, ``read_source`` for all.

Takes plain code objects, host binaries with ``.hip_fatbin`` (ELF and PE),
offload bundles (plain and compressed, several in a file), AOTriton archives and
Triton cache folders. Which object of several is meant is never guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from isaprof.codeobj import bundle_aks2, bundle_scan, bundle_triton
from isaprof.codeobj.bundle import Bundle, Entry
from isaprof.codeobj.bundle_peek import CODE_OBJECT, Peek, peek
from isaprof.codeobj.bundle_target import TargetId
from isaprof.errors import BadInput
from isaprof.files import read_bytes

if TYPE_CHECKING:
    from isaprof.codeobj.bundle_triton import TritonMetadata
    from isaprof.codeobj.elf import CodeObject


@dataclass(frozen=True, slots=True)
class Item:
    """One thing inside a source. ``target`` is the container's word, else the ELF header's."""

    path: Path  #: the file it is in
    id: str  #: entry id, name in the archive, or file name
    container: str
    bundle: int | None  #: number of its bundle in the file; None outside bundles
    bundle_offset: int  #: of the bundle (or archive, or object), in the file
    offset: int  #: in the (expanded) bundle
    size: int
    host: bool
    target: str | None
    peek: Peek
    data: Callable[[], bytes] = field(repr=False, compare=False)

    @property
    def is_object(self) -> bool:
        return self.peek.payload == CODE_OBJECT

    @property
    def kernels(self) -> tuple[str, ...]:
        return self.peek.kernels

    def describe(self) -> dict[str, Any]:
        """JSON-able; hashes the object."""
        p = self.peek
        return {
            "file": str(self.path),
            "id": self.id,
            "target": self.target,
            "payload": "host" if self.host else p.payload,
            "bundle": self.bundle,
            "bundle_offset": self.bundle_offset,
            "offset": self.offset,
            "size": self.size,
            "sha256": hashlib.sha256(self.data()).hexdigest() if self.size else None,
            "elf_abi_version": p.abi_version,
            "code_object_version": p.code_object_version,
            "e_flags": None if p.e_flags is None else f"{p.e_flags:#x}",
            "elf_target": p.target,
            "kernels": list(p.kernels),
        }


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder and everything in it, in file order."""

    path: Path
    container: str
    items: tuple[Item, ...]
    bundles: tuple[Bundle, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def objects(self) -> tuple[Item, ...]:
        """The code objects for AMD GPUs."""
        return tuple(i for i in self.items if i.is_object and not i.host)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a loaded object came from.

    ``kernel`` is the full name of the kernel that was asked for, ``notes`` are
    sentences the user has to see (a generic object taken, a name completed).
    ``embedded``: the file is a container, not the object itself. ``arch`` is
    what readers of the bytes need to be told: the architecture of minimal
    objects, else None.
    """

    path: Path
    container: str
    embedded: bool
    id: str | None = None
    kernel: str | None = None
    notes: tuple[str, ...] = ()
    triton: TritonMetadata | None = None
    arch: str | None = None

    @property
    def label(self) -> str:
        """For messages: the file, with the entry where it is inside one."""
        return f"{self.path} ({self.id})" if self.embedded else str(self.path)


def load_object(
    path: str | PathLike[str], *, target: str | None = None, kernel: str | None = None
) -> tuple[bytes, CodeObject, Origin]:
    """The code object that ``path`` holds, or the one that ``target`` and ``kernel`` choose.

    ``target``: a processor or target id; an object for exactly it comes first,
    then one for the same processor with features that do not contradict, then
    one for a generic processor that covers it. For minimal objects it names the
    architecture. ``kernel``: full name, else a unique part of the name or of its
    demangled form.

    Raises UsageError where more than one object fits (with the list), BadInput
    where none does, or the file is damaged.
    """
    from isaprof.codeobj.bundle_select import choose, full_name
    from isaprof.codeobj.elf import CodeObject

    place = Path(path)
    if not place.is_dir():
        data = read_bytes(place)
        if _is_bare(data):
            return _bare(place, data, target, kernel)
        source = _read(place, data)
    else:
        source = read_source(place)
    item, name, notes = choose(source, target, kernel)
    data = item.data()
    triton = bundle_triton.metadata_of(item.path) if item.path.suffix == bundle_triton.SUFFIX else None
    origin = Origin(
        item.path, item.container, item.bundle is not None or item.offset > 0, item.id, name, notes, triton
    )
    co = CodeObject.from_bytes(data, path=origin.label)
    if name is not None and name not in {k.name for k in co.kernels}:
        origin = replace(origin, kernel=full_name([k.name for k in co.kernels], name)[0] or name)
    return data, co, origin


def read_source(path: str | PathLike[str]) -> Source:
    """Everything in ``path``: host entries and payloads that are no code objects are listed too."""
    place = Path(path)
    if not place.is_dir():
        return _read(place, read_bytes(place))
    files = bundle_triton.objects_in(place)
    if not files and (place / "capture.json").is_file():
        raise BadInput(
            "is a capture; a code object is needed", path=place, kind="is_a_capture",
            hint=f"its objects are in {quote(str(place / 'code'))}; isaprof report A B   compares captures",
        )  # fmt: skip
    if not files:
        raise BadInput(
            "a folder without .hsaco files: no Triton cache", path=place, kind="no_gpu_code",
            hint="give a file, or the folder of a kernel under ~/.triton/cache",
        )  # fmt: skip
    parts = [_read(p, read_bytes(p)) for p in files]
    items = tuple(i for s in parts for i in s.items)
    notes = tuple(f"{s.path}: {n}" for s in parts for n in s.notes)
    return Source(place, f"Triton cache folder, {len(files)} .hsaco", items, notes=notes)


def _is_bare(data: bytes) -> bool:
    """An ELF file for AMD GPUs, a minimal one, or nothing we know (its reader says what it is)."""
    if bundle_scan.is_bundle(data) or data.startswith((bundle_aks2.MAGIC, b"MZ")):
        return False
    return not (data.startswith(b"\x7fELF") and len(data) >= 64 and data[18:20] not in (b"\xe0\0", b"\0\0"))


def _bare(
    path: Path, data: bytes, target: str | None, kernel: str | None
) -> tuple[bytes, CodeObject, Origin]:
    from isaprof.codeobj.bundle_select import full_name, wanted_target
    from isaprof.codeobj.bundle_target import Fit
    from isaprof.codeobj.elf import CodeObject

    wanted = None if target is None else wanted_target(target)
    header = peek(data)
    notes: tuple[str, ...] = ()
    arch = target
    if header.target is not None and wanted is not None and (have := TargetId.parse(header.target)):
        fit = wanted.fit(have)
        if fit is Fit.GENERIC:
            notes = (f"{path} is for {have}, whose code runs on {wanted}",)
        if fit is None and have.processor == wanted.processor:
            raise BadInput(f"built for {have}, not for {wanted}", path=path, kind="other_architecture")
        if fit is not None:
            arch = None
    co = CodeObject.from_bytes(data, path=path, arch=arch)
    name = kernel
    if kernel is not None and not co.minimal:
        found, how = full_name([k.name for k in co.kernels], kernel)
        name = found or kernel  # where there is none, the code object says what it has
        notes += (how,) if how else ()
    triton = bundle_triton.metadata_of(path) if path.suffix == bundle_triton.SUFFIX else None
    arch = target if co.minimal else None
    return data, co, Origin(path, CODE_OBJECT, False, None, name, notes, triton, arch)


def _read(path: Path, data: bytes) -> Source:
    if data.startswith(bundle_aks2.MAGIC):
        archive = bundle_aks2.read_archive(data, path)
        items = tuple(
            _item(path, e, "AOTriton archive", 0, 0, partial(archive.read, e)) for e in archive.entries
        )
        return Source(path, f"AOTriton archive, {len(items)} entries", items)
    found = None if _is_bare(data) else bundle_scan.find_bundles(data, path)
    if found is not None:
        return _bundled(path, data, found)
    header = peek(data)
    if header.payload != CODE_OBJECT:
        from isaprof.codeobj.image import read_image

        read_image(data, path)  # says what the file is, unless it is a minimal object
        header = replace(header, payload=CODE_OBJECT)
    item = Item(
        path, path.name, CODE_OBJECT, None, 0, 0, len(data), False, header.target, header, lambda: data
    )
    return Source(path, CODE_OBJECT, (item,))


def _bundled(path: Path, data: bytes, found: bundle_scan.Found) -> Source:
    cache: dict[int, memoryview] = {}

    def content(n: int) -> memoryview:
        if n not in cache:  # one expanded bundle is kept: they are many times the file
            cache.clear()
            cache[n] = bundle_scan.contents(data, found.bundles[n], path)
        return cache[n]

    def cut(n: int, e: Entry) -> bytes:
        return bytes(content(n)[e.offset : e.offset + e.size])

    items = tuple(
        _item(path, e, b.what, n, b.offset, partial(cut, n, e))
        for n, b in enumerate(found.bundles)
        for e in b.entries
    )
    return Source(path, found.container, items, found.bundles, found.notes)


def _item(path: Path, e: Entry, container: str, number: int, offset: int, data: Callable[[], bytes]) -> Item:
    header = peek(data()) if e.size else Peek("empty")
    target = e.target or header.target
    host = e.kind == "host"
    return Item(path, e.id, container, number, offset, e.offset, e.size, host, target, header, data)
