"""``isaprof launch-template``: a launch-file skeleton from the metadata."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    kernel_object: Annotated[
        Path,
        typer.Argument(metavar="KERNEL.co", help="Code object, or a file that holds some (isaprof extract)."),
    ],
    kernel: Annotated[str | None, typer.Option(help="Kernel, where the object has several.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", help="Default: standard output.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="GPU (gfx1151, ...), where the file holds objects for several, or its header names none."
        ),
    ] = None,
) -> None:
    """Write the skeleton of a launch file from a kernel's metadata."""
    from isaprof.cli.objects import open_object
    from isaprof.launch.template import skeleton

    _, co, origin = open_object(kernel_object, target=target, kernel=kernel)
    text = skeleton(co.kernel(origin.kernel), co, triton=origin.triton)
    if output is None:
        sys.stdout.write(text)
        return
    from isaprof.files import write_new

    write_new(output, text.encode())
    print(output)
