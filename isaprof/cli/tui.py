"""``isaprof tui``: the stall heatmap in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.errors import UsageError


def command(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="Capture directory (*.isaprof).")],
    other: Annotated[
        Path | None, typer.Argument(metavar="[CAPTURE2]", help="A second capture to show beside the first.")
    ] = None,
) -> None:
    """Show a capture as a stall heatmap in the terminal, or two side by side."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "tui needs a terminal; standard input or output is not one",
            kind="no_terminal",
            hint=f"isaprof show {capture}",
        )
    import isaprof
    from isaprof.attribution.analyse import analyse

    analysis = analyse(isaprof.open(capture))
    comparison = None
    if other is not None:
        from isaprof.compare.align import compare

        comparison = compare(analysis, analyse(isaprof.open(other)))
    from isaprof.tui.app import StallApp

    StallApp(analysis, comparison).run()
