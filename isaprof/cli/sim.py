"""``isaprof sim coverage``: what of an object the simulator executes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Action(StrEnum):
    coverage = "coverage"


def command(
    action: Annotated[Action, typer.Argument(metavar="coverage", help="What to say about the simulator.")],
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="KERNEL.co...|DIR", help="Code objects, files with some inside, folders."),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", help="GPU of minimal ELF files; of containers only the objects for it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """List the instructions of code objects that the simulator does not execute, or only on NumPy."""
    from isaprof.cli.sim_coverage import run

    return run(paths, target, as_json=as_json)
