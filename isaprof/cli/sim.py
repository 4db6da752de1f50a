"""``isaprof sim coverage``: what of an object the simulator executes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from isaprof.cli import options


class Action(StrEnum):
    coverage = "coverage"


def command(
    action: Annotated[Action, typer.Argument(metavar="coverage", help="What to say about the simulator.")],
    paths: options.KernelObjects,
    target: options.TargetOfMany = None,
    as_json: options.AsJson = False,
) -> int:
    """List the instructions of code objects that the simulator does not execute, or only on NumPy."""
    from isaprof.cli.sim_coverage import run

    return run(paths, target, as_json=as_json)
