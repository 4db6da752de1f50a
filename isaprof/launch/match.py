"""Finding the launch file of a kernel: by symbol and kernarg signature, never by path.

Order: the file given with ``--launch``; ``NAME.launch.toml`` beside the code
object ``NAME.co``, else ``SYMBOL.launch.toml`` there; the files that ship with
isaprof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from isaprof.errors import BadInput
from isaprof.launch.file import LaunchFile

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel

SUFFIX = ".launch.toml"


def find(
    kernel: Kernel, co: CodeObject, co_path: str | Path | None = None, explicit: str | Path | None = None
) -> LaunchFile:
    """The launch file for ``kernel``, bound to it (hidden arguments filled in).

    Raises BadInput where the explicit or neighbouring file is for another
    kernel (saying what differs), and where there is no launch file at all.
    """
    path = explicit or next((p for p in _beside(kernel, co_path) if p.is_file()), None)
    if path is not None:
        file = LaunchFile.load(path)
        if reason := mismatch(file, kernel, co):
            raise BadInput(
                f"this launch file is for another kernel: {reason}",
                path=path,
                kind="launch_mismatch",
                hint=_template_hint(kernel, co, co_path),
            )
        return bind(file, kernel)
    for file in _ordered(kernel):
        if not mismatch(file, kernel, co):
            return bind(file, kernel)
    raise BadInput(
        f"no launch file describes kernel {kernel.name}: its arguments, grid and reference are unknown",
        path=co_path,
        kind="no_launch_file",
        hint=_template_hint(kernel, co, co_path),
    )


def bind(file: LaunchFile, kernel: Kernel) -> LaunchFile:
    """``file`` with the kernel's own kernarg size and hidden arguments."""
    hidden = tuple(
        (a.offset, a.size, a.value_kind) for a in kernel.args if a.value_kind.startswith("hidden_")
    )
    return replace(file, hidden=hidden, match=replace(file.match, kernarg_size=kernel.kernarg_size))


def mismatch(file: LaunchFile, kernel: Kernel, co: CodeObject) -> str | None:
    """Why ``file`` does not describe ``kernel``; None where it does.

    The size of the kernarg segment may exceed the file's by hidden arguments.
    Objects whose metadata lists no arguments are matched by size alone.
    """
    want = file.match
    if not any(kernel.name == s or fnmatchcase(kernel.name, s) for s in want.symbols):
        return f"symbol {kernel.name}, the file describes {', '.join(want.symbols)}"
    if want.archs and co.arch not in want.archs:
        return f"architecture {co.arch}, the file describes {', '.join(want.archs)}"
    explicit = tuple(
        (a.offset, a.size, a.value_kind) for a in kernel.args if not a.value_kind.startswith("hidden_")
    )
    if kernel.args and want.kernarg and explicit != want.kernarg:
        return f"kernarg signature {_signature(explicit)}, the file describes {_signature(want.kernarg)}"
    hidden = any(a.value_kind.startswith("hidden_") for a in kernel.args)
    size = kernel.kernarg_size
    if size != want.kernarg_size and not (hidden and size > want.kernarg_size):
        return f"kernarg segment of {size} bytes, the file describes {want.kernarg_size}"
    if want.code_sha256 and code_sha256(kernel, co) not in want.code_sha256:
        return "the instructions are not those the file was written for (code_sha256)"
    return None


def code_sha256(kernel: Kernel, co: CodeObject) -> str:
    """SHA-256 of the kernel's instruction bytes, entry to symbol end."""
    return hashlib.sha256(co.read(kernel.entry, kernel.size)).hexdigest()


@cache
def builtins() -> tuple[LaunchFile, ...]:
    """The launch files that ship with isaprof, by file name."""
    return tuple(LaunchFile.parse(text, f"builtin:{name}") for name, text in _builtin_texts())


def _builtin_texts() -> Iterator[tuple[str, str]]:
    folder = resources.files("isaprof.launch") / "builtin"
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(SUFFIX):
            yield entry.name.removesuffix(SUFFIX), entry.read_text()


def _ordered(kernel: Kernel) -> list[LaunchFile]:
    """Built-in files, those that name the symbol in full before those with a pattern."""
    return sorted(builtins(), key=lambda f: kernel.name not in f.match.symbols)


def _beside(kernel: Kernel, co_path: str | Path | None) -> list[Path]:
    if co_path is None:
        return []
    path = Path(co_path)
    symbol = "".join(c if c.isalnum() or c in "._-" else "_" for c in kernel.name)[:200]
    return [path.with_name(path.stem + SUFFIX), path.with_name(symbol + SUFFIX)]


def _signature(rows: tuple[tuple[int, int, str], ...]) -> str:
    return "[" + ", ".join(f"{o}:{s} {k}" for o, s, k in rows) + "]"


def _template_hint(kernel: Kernel, co: CodeObject, co_path: str | Path | None) -> str:
    # an object inside another file has a label for its path: the file holds others, too
    inside = co_path is not None and co.path is not None and co.path != str(co_path)
    which = f"{f'--target {co.target_id} ' if inside else ''}--kernel {kernel.name}"
    return f"isaprof launch-template {co_path or 'KERNEL.co'} {which}   writes a skeleton"
