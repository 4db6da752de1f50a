"""``isaprof check``: execute a kernel under a sanitizer."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from isaprof.cli import options
from isaprof.errors import ExitCode


def command(
    kernel_object: options.KernelObject,
    shape: options.Shape = None,
    kernel: options.Kernel = None,
    launch: options.Launch = None,
    seed: options.Seed = None,
    workgroups: Annotated[
        str, typer.Option(metavar="all|N|X,Y,Z", help="Workgroups to execute; only theirs is checked.")
    ] = "all",
    orders: Annotated[
        int,
        typer.Option(min=0, max=1000, help="How many other orders of waves must give the same outputs."),
    ] = 3,
    plugin: options.Plugins = None,
    as_json: options.AsJson = False,
    max_instructions: options.MaxInstructions = None,
    target: options.Target = None,
) -> int:
    """Find what hardware hides: missing waits, races, unwritten values, overruns. Errors exit 1."""
    from isaprof.backends.sampling import select
    from isaprof.check.model import Severity
    from isaprof.check.run import check
    from isaprof.cli.objects import load_plugins, open_object
    from isaprof.cli.progress import Bar
    from isaprof.isa.decode import disassemble
    from isaprof.launch.match import find
    from isaprof.sim.functional import MAX_INSTRUCTIONS

    data, co, origin = open_object(kernel_object, target=target, kernel=kernel)
    chosen = co.kernel(origin.kernel)
    load_plugins(plugin)
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
