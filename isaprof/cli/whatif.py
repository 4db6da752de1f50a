"""``isaprof whatif``: what a virtual edit would change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from isaprof.accuracy.recording import Recording
    from isaprof.accuracy.replay import Edit


_WAIT = "--wait 2   or, where the instruction waits on several counters, --wait vmcnt=2,lgkmcnt=0"


def command(
    capture: options.CaptureDirectory,
    line: Annotated[
        int | None, typer.Option(metavar="L", help="Line of the instruction, as isaprof show numbers them.")
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Without the instruction.")] = False,
    move: Annotated[
        int | None, typer.Option("--move", metavar="M", help="With the instruction before line M.")
    ] = None,
    wait: Annotated[
        str | None, typer.Option("--wait", metavar="N|COUNTER=N,...", help="With this count in the wait.")
    ] = None,
    no_conflict: Annotated[
        bool, typer.Option("--no-conflict", help="Without LDS bank conflicts (--line: of this line only).")
    ] = False,
    launch: Annotated[Path | None, typer.Option(help="Launch file, for the addresses.")] = None,
    shape: Annotated[str | None, typer.Option(help="Shape that was recorded.")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration table written by isaprof calibrate.")
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Time recorded waves again under a virtual edit; print the change with an interval (modelled)."""
    import isaprof
    from isaprof.accuracy.tables import for_arch, read_tables
    from isaprof.accuracy.validate import prepare
    from isaprof.accuracy.whatif import whatif
    from isaprof.views import whatif as view

    chosen = [drop, move is not None, wait is not None, no_conflict]
    if sum(chosen) != 1:
        raise UsageError(
            "give exactly one of --drop, --move, --wait, --no-conflict",
            kind="bad_edit",
            hint="isaprof whatif CAPTURE --line L --drop",
        )
    if line is None and not no_conflict:
        raise UsageError(
            "--line says which instruction is edited",
            kind="bad_edit",
            hint="isaprof show CAPTURE --all   numbers them",
        )
    opened = isaprof.open(capture)
    table = for_arch(read_tables([calibration] if calibration else []), opened.arch)
    recording, addresses, notes = prepare(opened, launch=launch, shape=shape)
    index = None if line is None else _index(recording, line)
    edit, title = _edit(recording, index, drop=drop, move=move, wait=wait)
    result = whatif(recording, addresses, edit, title, calibration=table, notes=notes)
    print(json.dumps(view.to_dict(result)) if as_json else view.text(result))
    return ExitCode.OK


def _index(recording: Recording, line: int) -> int:
    """Listing index of a line of the capture."""
    found = next((i for i, n in recording.code_line.items() if n == line), None)
    if found is None:
        raise UsageError(
            f"the capture has no line {line}", kind="bad_edit", hint="isaprof show CAPTURE --all   lists them"
        )
    return found


def _edit(
    recording: Recording, index: int | None, *, drop: bool, move: int | None, wait: str | None
) -> tuple[Edit, str]:
    from isaprof.accuracy import edits

    code = recording.listing.instructions
    if index is None:
        return edits.no_conflict(recording, ()), "no LDS bank conflicts"
    what = f"line {recording.code_line[index]}, {code[index].text}"
    if drop:
        return edits.drop(recording, index), f"without {what}"
    if move is not None:
        before = _index(recording, move)
        return edits.move(recording, index, before), f"{what}, moved before line {move}, {code[before].text}"
    if wait is not None:
        return edits.wait(recording, index, _counts(wait)), f"{what}, waiting for {wait}"
    return edits.no_conflict(recording, (index,)), f"{what}, without bank conflicts"


def _counts(text: str) -> dict[str, int]:
    """``3`` or ``vmcnt=3,lgkmcnt=0``."""
    out = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        if not value.strip().isdecimal() or (equals and not name.strip()) or len(value) > 6:
            raise UsageError(
                f"--wait {text!r}: expected a count of up to 6 digits, or COUNTER=COUNT",
                kind="bad_edit",
                hint=_WAIT,
            )
        if name.strip() in out:
            raise UsageError(f"--wait {text!r} gives one counter twice", kind="bad_edit", hint=_WAIT)
        out[name.strip()] = int(value)
    return out
