"""``isaprof show``: the stall table of a capture."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options
from isaprof.errors import UsageError


class By(StrEnum):
    line = "line"
    loop = "loop"
    gap = "gap"
    block = "block"
    kind = "kind"
    source = "source"
    culprit = "culprit"
    cause = "cause"
    category = "category"
    bank = "bank"
    vgpr_bank = "vgpr-bank"
    kernel = "kernel"
    se = "se"
    cu = "cu"
    simd = "simd"
    wave = "wave"
    time = "time"
    in_flight = "in-flight"


def command(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="A capture (NAME.isaprof).")],
    hottest: Annotated[
        int, typer.Option("--hottest", metavar="N", min=0, help="How many lines (or culprits) to list.")
    ] = 10,
    all_lines: Annotated[
        bool | None,
        typer.Option(
            "--all/--brief",
            help="List every instruction, in code order (default: up to 300); with --by every row.",
        ),
    ] = None,
    by: Annotated[By, typer.Option("--by", help="What to list.")] = By.line,
    wave: Annotated[
        int | None, typer.Option("--wave", metavar="N", help="With --by time: over the life of this wave.")
    ] = None,
    addresses: options.ExecuteForAddresses = False,
    launch: Annotated[
        Path | None, typer.Option(help="Launch file: the kernel is executed for the LDS addresses.")
    ] = None,
    shape: Annotated[str | None, typer.Option(help="Shape that was recorded, e.g. 256,256,64.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print where the cycles of a capture went: causes, hottest lines, who is to blame."""
    from isaprof.attribution import analyse
    from isaprof.cli.captures import opened

    if wave is not None and by is not By.time:
        raise UsageError(
            "--wave needs --by time", kind="options", hint="isaprof show CAPTURE --by time --wave 0"
        )
    if all_lines and by is not By.line:
        hottest = sys.maxsize
    executed = addresses or by is By.bank
    analysis = analyse(opened(capture, addresses=executed, launch=launch, shape=shape))
    if as_json:
        from isaprof.views.json import to_dict

        body = to_dict(
            analysis, by=by.value, hottest=hottest, all_lines=bool(all_lines), capture=capture, wave=wave
        )
        print(json.dumps(body))
        return
    from isaprof.views.table import render

    render(analysis, hottest=hottest, all_lines=all_lines, by=by.value, wave=wave)
