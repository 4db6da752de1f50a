"""The code objects that a user's paths mean: files, objects inside containers, everything below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from isaprof.asm.prove import Job
from isaprof.errors import BadInput, IsaprofError

_MACHINE = slice(18, 20)
_GPU, _NONE = b"\xe0\0", b"\0\0"
#: what else may hold code objects: offload bundles, ELF and PE host files, AOTriton archives
_CONTAINERS = (b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"MZ", b"AKS2")


def jobs_of(paths: Iterable[Path], target: str | None = None) -> list[Job]:
    """One job for each code object: of files all of them, below folders whatever is one by its content.

    ``target`` chooses inside containers and says what minimal ELF files are
    for. Raises BadInput for a path that does not exist or holds none.
    """
    out: list[Job] = []
    for path in paths:
        if path.is_dir():
            found = [job for file in _files(path) for job in _below(file, target)]
            if not found:
                raise BadInput("no code object below this folder", path=path, kind="no_code_object")
            out += found
        else:
            out += _named(path, target)
    return out


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders.sort()
        yield from (Path(folder) / f for f in sorted(files))


def _head(path: Path) -> bytes:
    if not path.is_file():  # opening a pipe waits for ever; who reads it later says what it is
        return b""
    try:
        with path.open("rb") as f:
            return f.read(64)
    except OSError:
        return b""


def _below(path: Path, target: str | None) -> list[Job]:
    head = _head(path) if path.is_file() else b""
    if head.startswith(b"\x7fELF") and len(head) == 64 and head[_MACHINE] in (_GPU, _NONE):
        return [_bare(path, head, target)]
    if head.startswith((b"\x7fELF", *_CONTAINERS)):
        try:
            return _inside(path, target)
        except IsaprofError:
            return []  # a host file without GPU code, or something that only begins like one
    return []


def _named(path: Path, target: str | None) -> list[Job]:
    if not path.exists():
        raise BadInput("no such file", path=path, kind="not_found")
    head = _head(path)
    host = head.startswith(b"\x7fELF") and len(head) == 64 and head[_MACHINE] not in (_GPU, _NONE)
    if host or head.startswith(_CONTAINERS):
        found = _inside(path, target)
        if not found:
            raise BadInput(
                f"holds no code object{f' for {target}' if target else ''}", path=path, kind="no_gpu_code",
                hint=f"isaprof extract {path} --list",
            )  # fmt: skip
        return found
    return [_bare(path, head, target)]


def _bare(path: Path, head: bytes, target: str | None) -> Job:
    minimal = head[_MACHINE] == _NONE
    return Job(str(path), str(path), (target or recorded_arch(path)) if minimal else None)


def _inside(path: Path, target: str | None) -> list[Job]:
    from isaprof.codeobj.source import read_source

    out = []
    for n, item in enumerate(read_source(path).objects):
        if target is None or (item.target or "").split(":")[0] == target.split(":")[0]:
            where = f"{path}#{item.bundle}:{item.id}" if item.bundle is not None else f"{path}#{item.id}"
            out.append(Job(str(path), where, None, n))
    return out


def recorded_arch(path: Path) -> str | None:
    """The architecture that a trace folder's ``meta.json`` names for a minimal ELF file; None for others."""
    if not path.is_file() or _head(path)[_MACHINE] != _NONE:
        return None
    import json

    try:
        said = json.loads((path.parent / "meta.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    arch = said.get("arch") if isinstance(said, dict) else None
    return arch if isinstance(arch, str) else None
