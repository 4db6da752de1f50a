"""What several verbs do with their arguments: opening ``KERNEL.co``, loading plug-ins."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject
    from isaprof.codeobj.source import Origin


def open_object(path: Path, *, target: str | None, kernel: str | None) -> tuple[bytes, CodeObject, Origin]:
    """``load_object``, with what has to be said about the choice on stderr.

    Go on with ``origin.kernel`` (the full name), ``origin.path`` (where a launch
    file may lie beside) and ``origin.arch`` (for readers of the bytes).
    """
    from isaprof.codeobj.source import load_object

    data, co, origin = load_object(path, target=target, kernel=kernel)
    for note in origin.notes:
        print(f"isaprof: note: {note}", file=sys.stderr)
    return data, co, origin


def load_plugins(paths: Iterable[Path] | None) -> None:
    """Execute the files of ``--plugin``. Raises BadInput where one cannot be run."""
    if paths:
        from isaprof.launch.plugin import load_plugin

        for path in paths:
            load_plugin(path)
