"""Finding the launch file of a kernel: by symbol and kernarg signature, never by path.

Order: the file given with ``--launch``; ``NAME.launch.toml`` beside the code
object ``NAME.co``, else ``SYMBOL.launch.toml`` there; the files that ship with
isaprof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
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
        return bind(file, kernel, co)
    for file in _ordered(kernel):
        if not mismatch(file, kernel, co):
            return bind(file, kernel, co)
    why = no_driver(kernel) or _nearly(kernel, co)
    raise BadInput(
        f"no launch file describes kernel {kernel.name}: its arguments, grid and reference are unknown"
        + (f" ({why})" if why else ""),
        path=co_path,
        kind="no_launch_file",
        hint=_template_hint(kernel, co, co_path),
    )


def bind(file: LaunchFile, kernel: Kernel, co: CodeObject | None = None) -> LaunchFile:
    """``file`` with what the kernel itself says: kernarg size, hidden arguments, the symbol's numbers."""
    hidden = tuple(
        (a.offset, a.size, a.value_kind) for a in kernel.args if a.value_kind.startswith("hidden_")
    )
    size = kernel.kernarg_size
    arguments = tuple(a for a in file.arguments if not (a.optional and a.offset + a.size > size))
    found = next((v for s in file.match.symbols if (v := s.match(kernel.name)) is not None), {})
    if found:  # names that only another pattern of the file has
        found = {**{n: 0 for s in file.match.symbols for n in s.names}, **found}
    arch = "default" if co is None else co.arch
    # a kernel whose symbol says nothing (an edited copy) keeps the numbers the file was bound to before
    bound = {
        **file.bound,
        **{name: values.get(arch, values["default"]) for name, values in file.by_arch.items()},
        **found,
    }
    return replace(
        file, hidden=hidden, match=replace(file.match, kernarg_size=size), arguments=arguments, bound=bound
    )


def mismatch(file: LaunchFile, kernel: Kernel, co: CodeObject) -> str | None:
    """Why ``file`` does not describe ``kernel``; None where it does.

    The size of the kernarg segment may exceed the file's by hidden arguments.
    Objects whose metadata lists no arguments are matched by size alone.
    """
    want = file.match
    if all(s.match(kernel.name) is None for s in want.symbols):
        return f"symbol {kernel.name}, the file describes {', '.join(s.text for s in want.symbols)}"
    if want.archs and co.arch not in want.archs:
        return f"architecture {co.arch}, the file describes {', '.join(want.archs)}"
    explicit = tuple(
        (a.offset, a.size, a.value_kind) for a in kernel.args if not a.value_kind.startswith("hidden_")
    )
    if kernel.args and want.kernarg and explicit != want.kernarg:
        return f"kernarg signature {_signature(explicit)}, the file describes {_signature(want.kernarg)}"
    hidden = any(a.value_kind.startswith("hidden_") for a in kernel.args)
    size = kernel.kernarg_size
    if want.slot:
        reason = _slots(file, kernel)
        if reason is not None:
            return reason
    elif size != want.kernarg_size and not (hidden and size > want.kernarg_size):
        return f"kernarg segment of {size} bytes, the file describes {want.kernarg_size}"
    if want.code_sha256 and code_sha256(kernel, co) not in want.code_sha256:
        return "the instructions are not those the file was written for (code_sha256)"
    return None


def _slots(file: LaunchFile, kernel: Kernel) -> str | None:
    """Why the kernel's segment cannot hold the file's arguments, one in each slot."""
    size = kernel.kernarg_size
    listed = {a.offset: a for a in kernel.args if not a.value_kind.startswith("hidden_")}
    end = max((a.offset + a.size for a in listed.values()), default=0)
    for a in file.arguments:
        if a.offset + a.size > size:
            if a.optional:
                continue
            return (
                f"kernarg segment of {size} bytes; argument {a.name} of the file lies at "
                f"{a.offset:#x}, {a.size} bytes"
            )
        if a.offset >= end:  # metadata of hand-written kernels may stop early
            continue
        mine = listed.get(a.offset)
        if mine is None or mine.size < a.size:
            have = "no argument" if mine is None else f"one of {mine.size} bytes"
            return f"{have} at {a.offset:#x}; the file has {a.name} there, {a.size} bytes"
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
    return sorted(builtins(), key=lambda f: kernel.name not in [s.text for s in f.match.symbols])


def _beside(kernel: Kernel, co_path: str | Path | None) -> list[Path]:
    if co_path is None:
        return []
    path = Path(co_path)
    symbol = "".join(c if c.isalnum() or c in "._-" else "_" for c in kernel.name)[:200]
    return [path.with_name(path.stem + SUFFIX), path.with_name(symbol + SUFFIX)]


def _nearly(kernel: Kernel, co: CodeObject) -> str | None:
    """What keeps the built-in file that knows the symbol from describing the kernel."""
    for file in builtins():
        if any(s.match(kernel.name) is not None for s in file.match.symbols):
            return f"{file.origin} knows the symbol, but: {mismatch(file, kernel, co)}"
    return None


def no_driver(kernel: Kernel) -> str | None:
    """Why nobody can know how ``kernel`` is launched; None where that is not established."""
    name = kernel.name.lower()
    return next((why for part, why in _NO_DRIVER if part in name), None)


#: part of a symbol -> what is missing in public
_NO_DRIVER = tuple(
    (
        part,
        "no host driver of aiter's all-reduce kernels is public: only the metadata's argument list is known",
    )
    for part in ("allreduce", "all_reduce")
)


def _signature(rows: tuple[tuple[int, int, str], ...]) -> str:
    return "[" + ", ".join(f"{o}:{s} {k}" for o, s, k in rows) + "]"


def _template_hint(kernel: Kernel, co: CodeObject, co_path: str | Path | None) -> str:
    # an object inside another file has a label for its path: the file holds others, too
    inside = co_path is not None and co.path is not None and co.path != str(co_path)
    which = f"{f'--target {co.target_id} ' if inside else ''}--kernel {kernel.name}"
    return f"isaprof launch-template {co_path or 'KERNEL.co'} {which}   writes a skeleton"
