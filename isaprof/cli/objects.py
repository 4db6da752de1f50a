"""What several verbs do with their arguments: opening ``KERNEL.co``, loading plug-ins."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from isaprof.errors import BadInput

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject
    from isaprof.codeobj.source import Origin


def open_object(path: Path, *, target: str | None, kernel: str | None) -> tuple[bytes, CodeObject, Origin]:
    """``load_object``, with what has to be said about the choice on stderr.

    Go on with ``origin.kernel`` (the full name), ``origin.path`` (where a launch
    file may lie beside) and ``origin.arch`` (for readers of the bytes).
    """
    from isaprof.asm.find import recorded_arch
    from isaprof.codeobj.source import load_object

    try:
        data, co, origin = load_object(path, target=target, kernel=kernel)
    except BadInput as e:
        beside = recorded_arch(path) if target is None and e.kind == "arch_needed" else None
        if beside is None:
            raise
        data, co, origin = load_object(path, target=beside, kernel=kernel)
        print(f"isaprof: note: {path.name} names no GPU; its meta.json says {beside}", file=sys.stderr)
    for note in origin.notes:
        print(f"isaprof: note: {note}", file=sys.stderr)
    return data, co, origin


def load_plugins(paths: Iterable[Path] | None) -> None:
    """Execute the files of ``--plugin``. Raises BadInput where one cannot be run."""
    if paths:
        from isaprof.launch.plugin import load_plugin

        for path in paths:
            load_plugin(path)
