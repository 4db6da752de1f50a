"""``isaprof launch-template``: a launch-file skeleton from the metadata."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options


def command(
    kernel_object: options.KernelObject,
    kernel: options.Kernel = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", help="Default: standard output.")
    ] = None,
    target: options.Target = None,
    as_json: options.AsJson = False,
) -> None:
    """Write the skeleton of a launch file from a kernel's metadata."""
    from isaprof.cli.objects import open_object
    from isaprof.launch.template import skeleton

    _, co, origin = open_object(kernel_object, target=target, kernel=kernel)
    chosen = co.kernel(origin.kernel)
    text = skeleton(chosen, co, triton=origin.triton)
    if output is not None:
        from isaprof.files import write_new

        write_new(output, text.encode())
    if as_json:
        path = None if output is None else str(output)
        body = {"schema_version": 1, "kernel": chosen.name, "arch": co.arch}
        print(json.dumps({**body, "output": path, "launch_file": text}))
    elif output is None:
        sys.stdout.write(text)
    else:
        print(output)
