"""``isaprof tui``: the stall heatmap in the terminal."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.errors import UsageError

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.capture.model import Capture


def command(
    capture: options.CaptureDirectory,
    other: Annotated[
        Path | None, typer.Argument(metavar="CAPTURE2", help="A second capture to show beside the first.")
    ] = None,
    allow_lossy: options.AllowLossy = False,
    addresses: options.ExecuteForAddresses = False,
) -> int:
    """Show a capture as a stall heatmap in the terminal, or two side by side."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "tui needs a terminal; standard input or output is not one",
            kind="no_terminal",
            hint=f"isaprof show {shlex.quote(str(capture))}",
        )
    from isaprof.cli.captures import opened

    analysis = _with_encoding(opened(capture, addresses=addresses))
    comparison = None
    if other is not None:
        from isaprof.compare.align import compare
        from isaprof.compare.lossy import refuse_lossy

        second = _with_encoding(opened(other, addresses=addresses))
        refuse_lossy(analysis, second, allow=allow_lossy)
        comparison = compare(analysis, second)
    from isaprof.tui.app import StallApp

    app = StallApp(analysis, comparison)
    app.run()
    return app.return_code or 0


def _with_encoding(capture: Capture) -> Analysis:
    """The analysis with the machine code beside each line, for the details panel."""
    from dataclasses import replace

    from isaprof.attribution.analyse import analyse

    analysis = analyse(capture)
    by_line = capture.code.set_index("line")["encoding"]
    lines = analysis.lines.assign(encoding=analysis.lines["line"].map(by_line))
    return replace(analysis, lines=lines)
