"""``isaprof check``: execute a kernel under a sanitizer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.errors import ExitCode


def command(
    kernel_object: Annotated[
        Path,
        typer.Argument(metavar="KERNEL.co", help="Code object, or a file that holds some (isaprof extract)."),
    ],
    shape: Annotated[
        str | None, typer.Option(help="Sizes of the launch file's axes: 32,32,32 or M=32,N=32,K=32.")
    ] = None,
    kernel: Annotated[str | None, typer.Option(help="Kernel, where the object has several.")] = None,
    launch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Launch file (default: beside the object, else built in)."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the operands' contents.")] = None,
    workgroups: Annotated[
        str, typer.Option(metavar="all|N|X,Y,Z", help="Workgroups to execute; only theirs is checked.")
    ] = "all",
    orders: Annotated[
        int,
        typer.Option(min=0, max=1000, help="How many other orders of waves must give the same outputs."),
    ] = 3,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.py", help="Python file that registers references, fills or layouts."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    max_instructions: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many executed wave instructions.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="GPU (gfx1151, ...), where the file holds objects for several, or its header names none."
        ),
    ] = None,
) -> int:
    """Find what hardware hides: missing waits, races, unwritten values, overruns. Errors exit 1."""
    from isaprof.backends.sampling import select
    from isaprof.check.model import Severity
    from isaprof.check.run import check
    from isaprof.cli.objects import open_object
    from isaprof.cli.progress import Bar
    from isaprof.isa.decode import disassemble
    from isaprof.launch.match import find
    from isaprof.sim.functional import MAX_INSTRUCTIONS

    data, co, origin = open_object(kernel_object, target=target, kernel=kernel)
    chosen = co.kernel(origin.kernel)
    for file in plugin or ():
        from isaprof.launch.plugin import load_plugin

        load_plugin(file)
    resolved = find(chosen, co, origin.path, launch).resolve(shape, seed=seed)
    selection = select(workgroups, resolved.grid)
    listing = disassemble(data, arch=co.arch, path=origin.path)
    with Bar() as bar:
        report = check(
            co,
            chosen,
            listing,
            resolved,
            workgroups=selection.run,
            orders=orders,
            max_instructions=max_instructions or MAX_INSTRUCTIONS,
            path=str(origin.path),
            progress=bar.update,
        )
    if as_json:
        from isaprof.views.check import to_dict

        print(json.dumps(to_dict(report)))
    else:
        from isaprof.views.check import render

        render(report)
    if report.count(Severity.ERROR):
        return ExitCode.NO
    if report.verified is False:
        print(f"isaprof: verification failed: {report.verdict}", file=sys.stderr)
        return ExitCode.VERIFICATION_FAILED
    return ExitCode.OK
