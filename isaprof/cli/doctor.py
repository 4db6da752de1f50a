"""``isaprof doctor``: what this machine has, and how to get what it lacks."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.errors import BadInput, ExitCode

if TYPE_CHECKING:
    from isaprof.backends.environment import Finding


class Backend(StrEnum):
    simulator = "simulator"
    rocprofv3 = "rocprofv3"


#: what a file in a trace folder is, by name pattern (rocprofv3's layout, isaprof's own)
_FILES: tuple[tuple[str, str], ...] = (
    ("capture.json", "isaprof capture"),
    ("meta.json", "description of raw SQTT files"),
    ("*.sqtt", "raw SQTT, one shader engine"),
    ("*.att", "raw SQTT, one shader engine and dispatch (rocprofv3)"),
    ("*.out", "code object (rocprofv3)"),
    ("*.co", "code object"),
    ("*.hsaco", "code object"),
    ("filenames.json", "decoded trace (rocprofv3 ui_output): index of waves"),
    ("code.json", "decoded trace: instructions"),
    ("se*_sm*_sl*_wv*.json", "decoded trace: one wave"),
    ("occupancy.json", "decoded trace: occupancy"),
    ("stats_*.csv", "per-instruction totals"),
    ("*_results.json", "rocprofv3 results"),
    ("*_results.db", "rocprofv3 results (rocpd)"),
)

#: rocprofv3 puts its files into sub-directories: host name, ui_output_*
_BELOW = ("", "*/", "*/*/")


def command(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A trace folder: say which of its files are recognised."),
    ] = None,
    backend: Annotated[
        Backend, typer.Option("--backend", help="Exit 6 when something this backend needs is missing.")
    ] = Backend.simulator,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say what is installed, what is missing, and the command that installs it."""
    from isaprof.backends import environment

    if directory is not None:
        return _folder(directory, as_json=as_json)
    findings = environment.probe()
    needed = {environment.SIMULATOR, backend.value}
    ready = {
        b: all(f.ok for f in findings if f.needed_by in {environment.SIMULATOR, b})
        for b in (environment.SIMULATOR, environment.HARDWARE)
    }
    if as_json:
        rows = [
            {"name": f.name, "needed_by": f.needed_by, "ok": f.ok, "detail": f.detail, "fix": f.fix}
            for f in findings
        ]
        print(json.dumps({"schema_version": 1, "findings": rows, "ready": ready}, indent=1))
    else:
        _table(findings, ready)
    return ExitCode.OK if all(f.ok for f in findings if f.needed_by in needed) else ExitCode.ENVIRONMENT


def _table(findings: tuple[Finding, ...], ready: dict[str, bool]) -> None:
    width = max(len(f.name) for f in findings)
    for f in findings:
        print(f"{'ok' if f.ok else 'MISSING':8}{f.name:{width + 2}}{f.detail}")
        if f.fix:
            print(f"{'':8}{'':{width + 2}}to get it: {f.fix}")
    for name, is_ready in ready.items():
        print(f"{name} backend: {'ready' if is_ready else 'not ready'}")


def _folder(directory: Path, *, as_json: bool) -> int:
    """List the recognised files of a trace folder."""
    if not directory.is_dir():
        raise BadInput("no such folder", path=directory, kind="not_found")
    found = []
    for pattern, what in _FILES:
        hits = sorted(p for below in _BELOW for p in directory.glob(below + pattern) if p.is_file())
        if hits:
            first = str(hits[0].relative_to(directory))
            found.append({"pattern": pattern, "what": what, "files": len(hits), "first": first})
    if not found:
        raise BadInput(
            "no file of a known trace format",
            path=directory,
            kind="no_trace",
            hint="rocprofv3 --att -d DIR -- APP   writes one; docs/trace-folder.md describes another",
        )
    if as_json:
        print(json.dumps({"schema_version": 1, "directory": str(directory), "recognised": found}, indent=1))
    else:
        for row in found:
            print(f"{row['files']:6}  {row['what']:52}  {row['first']}")
        print(f"isaprof import {directory}   reads it")
    return ExitCode.OK
