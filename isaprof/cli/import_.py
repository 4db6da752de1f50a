"""``isaprof import``: recorded traces become Captures."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isaprof.cli import options
from isaprof.errors import DataLoss, ExitCode

if TYPE_CHECKING:
    from isaprof.backends.protocol import RawCapture
    from isaprof.backends.recorded import Recorded
    from isaprof.capture.model import Capture


class Decoder(StrEnum):
    auto = "auto"
    isaprof = "isaprof"
    rocprof = "rocprof"
    ui = "ui"


def command(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Trace folder (meta.json), rocprofv3 --att output, ui_output_* directory or stats CSV.",
        ),
    ],
    dispatch: Annotated[
        str | None, typer.Option(metavar="N|all", help="Which dispatch, where the folder has several.")
    ] = None,
    decoder: Annotated[
        Decoder,
        typer.Option(
            help="ui: what AMD's tool decoded; isaprof: raw traces; rocprof: raw traces, by AMD's library; "
            "auto: ui where it exists, else isaprof."
        ),
    ] = Decoder.auto,
    target: Annotated[
        str | None, typer.Option("--arch", metavar="gfx...", help="GPU target, where no file says it.")
    ] = None,
    output: options.CaptureOutput = None,
    force: options.ReplaceCapture = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 7, writing nothing, when data was lost.")
    ] = False,
    as_json: options.AsJson = False,
) -> int:
    """Read a recorded hardware trace into a Capture."""
    from isaprof.backends.recorded import choose, open_recording
    from isaprof.cli.progress import Bar

    if target is not None:
        from isaprof.arch import generation

        generation(target)
    recording = open_recording(directory)
    numbers = choose(recording, dispatch or _ask(recording))
    outputs = _outputs(output, numbers, force=force)
    raws: list[RawCapture] = []
    with Bar() as bar:
        for n in numbers:
            raws.append(recording.read(n, decoder=decoder.value, arch=target, progress=bar.update))
    for n, raw in zip(numbers, raws, strict=True):
        _report_warnings(n, raw, directory, strict=strict)
    captures = [_save(raw, out, force=force) for raw, out in zip(raws, outputs, strict=True)]
    rows = [summary(n, c) for n, c in zip(numbers, captures, strict=True)]
    if as_json:
        print(json.dumps({"schema_version": 1, "capture": rows[-1]["capture"], "captures": rows}))
    else:
        for row in rows:
            print(_line(row))
        for row in rows:
            print(row["capture"])
    return ExitCode.OK


def _ask(recording: Recorded) -> str | None:
    """On a terminal, let the user choose among several dispatches."""
    infos = recording.dispatches
    if len(infos) < 2 or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    from isaprof.backends.recorded import describe

    for info in infos:
        print(describe(info), file=sys.stderr)
    return str(typer.prompt("dispatch (number or all)", err=True))


def _outputs(output: Path | None, numbers: list[int], *, force: bool) -> list[Path | None]:
    """Where each capture goes; with several, ``-o NAME`` gives NAME-<dispatch>.

    What exists already is refused before anything is decoded.
    """
    if output is None:
        return [None] * len(numbers)
    paths = [output]
    if len(numbers) > 1:
        paths = [output.with_name(f"{output.stem}-{n}{output.suffix or '.isaprof'}") for n in numbers]
    from isaprof.capture.place import may_write

    for p in paths:
        may_write(p, force=force)
    return list(paths)


def _report_warnings(n: int, raw: RawCapture, directory: Path, *, strict: bool) -> None:
    """Warnings on stderr; with ``strict`` any loss is an error."""
    from isaprof.capture.model import LOSS_KINDS

    lost = [w for w in raw.warnings if w.kind in LOSS_KINDS]
    if strict and lost:
        raise DataLoss(
            f"dispatch {n}: " + "; ".join(w.message for w in lost[:5]) + ("; ..." if len(lost) > 5 else ""),
            path=directory,
            hint=f"isaprof import {quote(str(directory))} --dispatch {n}   (keeps what is there)",
        )
    shown = raw.warnings[:10]
    for w in shown:
        print(f"warning: {w.message} [{w.kind}]", file=sys.stderr)
    if len(raw.warnings) > len(shown):
        print(f"warning: and {len(raw.warnings) - len(shown)} more, in capture.json", file=sys.stderr)


def _save(raw: RawCapture, output: Path | None, *, force: bool) -> Capture:
    from dataclasses import asdict

    from isaprof.capture import save, save_numbered

    meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
    if output is None:
        return save_numbered(meta, raw.tables, raw.code_objects, groups=raw.groups)
    return save(output, meta, raw.tables, raw.code_objects, force=force, groups=raw.groups)


def summary(number: int, capture: Capture) -> dict[str, Any]:
    """One entry of ``captures`` in the JSON output (docs/cli.md)."""
    meta = capture.meta
    coverage = meta["coverage"]  # without numbers where the format has no waves
    return {
        "capture": str(capture.path),
        "dispatch": number,
        "provenance": meta["provenance"],
        "backend": meta["backend"],
        "decoder": meta["decoder"],
        "arch": meta["arch"],
        "kernel": meta["kernel"]["name"],
        "waves": coverage.get("waves_total"),
        "waves_traced": coverage.get("waves_traced"),
        "instructions": None if "waves_total" not in coverage else meta["tables"]["insts"]["rows"],
        "warnings": meta["warnings"],
    }


def _line(row: dict[str, Any]) -> str:
    amount = (
        f"{row['waves_traced']} of {row['waves']} waves traced, {row['instructions']} instructions"
        if row["waves"] is not None
        else "sums of each instruction, no waves"
    )
    return (
        f"dispatch {row['dispatch']}: {row['kernel']} on {row['arch']}, {row['provenance']} "
        f"({row['decoder']['name']}): {amount}"
    )
