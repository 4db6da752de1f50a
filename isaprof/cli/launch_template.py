"""``isaprof launch-template``: a launch-file skeleton from the metadata."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    kernel_object: Annotated[Path, typer.Argument(metavar="KERNEL.co", help="Code object.")],
    kernel: Annotated[str | None, typer.Option(help="Kernel, where the object has several.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", help="Default: standard output.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Architecture, for objects whose header names none (gfx1100, ...).")
    ] = None,
) -> None:
    """Write the skeleton of a launch file from a kernel's metadata."""
    from isaprof.codeobj.elf import CodeObject
    from isaprof.launch.template import skeleton

    co = CodeObject.load(kernel_object, target)
    text = skeleton(co.kernel(kernel), co)
    if output is None:
        sys.stdout.write(text)
        return
    from isaprof.files import write_new

    write_new(output, text.encode())
    print(output)
