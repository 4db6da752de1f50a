"""Opening the ``KERNEL.co`` argument of a command: a code object or a file that holds some."""

from __future__ import annotations

import sys
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
