"""``isaprof validate``: how far the timing model is from hardware traces."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options
from isaprof.errors import BadInput, ExitCode


class Format(StrEnum):
    text = "text"
    markdown = "markdown"


def command(
    traces: options.Traces,
    launch: Annotated[
        Path | None, typer.Option(help="Launch file, for the addresses; default: a built-in one.")
    ] = None,
    shape: Annotated[str | None, typer.Option(help="Shape that was recorded, e.g. 256,256,64.")] = None,
    calibration: Annotated[
        list[Path] | None, typer.Option(help="Calibration table written by isaprof calibrate.")
    ] = None,
    layout: Annotated[Format, typer.Option("--format", help="text, or the tables of a page.")] = Format.text,
    as_json: options.AsJson = False,
) -> int:
    """Replay recorded waves in the timing model and print its errors, part by part."""
    from isaprof.accuracy.tables import read_tables
    from isaprof.accuracy.validate import validate_all
    from isaprof.views import accuracy as view

    tables = read_tables(calibration or [])
    outcomes = []
    for outcome in validate_all(traces, launch=launch, shape=shape, calibrations=tables):
        outcomes.append(outcome)
        if not as_json and layout is Format.text:
            print(view.text(outcome))
    if not any(o.agreement for o in outcomes):
        if as_json or layout is Format.markdown:
            for o in outcomes:
                print(f"isaprof: {o.name}: {o.problem}", file=sys.stderr)
        raise BadInput(
            "nothing could be compared: " + outcomes[0].problem,
            path=traces[0],
            kind="nothing_compared",
            hint=outcomes[0].hint or "isaprof doctor DIR   says what is wrong with a trace folder",
        )
    if as_json:
        print(json.dumps(view.to_dict(outcomes)))
    elif layout is Format.markdown:
        print(view.markdown(outcomes), end="")
    return ExitCode.OK
