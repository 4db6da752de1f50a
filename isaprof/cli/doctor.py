"""``isaprof doctor``: what this machine has, and how to get what it lacks."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.cli.failure import printable
from isaprof.errors import BadInput, ExitCode

if TYPE_CHECKING:
    from isaprof.backends.diagnose import Examined
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
    ("*_counter_collection.csv", "counters of whole dispatches (rocprofv3 --pmc)"),
    ("*_results.json", "rocprofv3 results"),
    ("*_results.db", "rocprofv3 results (rocpd)"),
)

#: rocprofv3 puts its files into sub-directories: host name, ui_output_*
_BELOW = ("", "*/", "*/*/")


def command(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="A recording: say what it holds, what is wrong, what to do."),
    ] = None,
    backend: Annotated[
        Backend, typer.Option("--backend", help="Exit 6 when something this backend needs is missing.")
    ] = Backend.simulator,
    as_json: options.AsJson = False,
) -> int:
    """Say what is installed or missing, or what is wrong with a recording, and the next command."""
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
    """List the recognised files of a recording, and what is wrong with it."""
    if not directory.exists():
        raise BadInput(
            "no such file or folder", path=directory, kind="not_found", hint=f"ls {directory.parent}"
        )
    found = _recognised(directory)
    if not found and not directory.is_dir():
        raise BadInput(
            "is a file of no known trace format" if directory.is_file() else "is neither a file nor a folder",
            path=directory,
            kind="not_a_folder",
            hint=f"isaprof doctor {quote(str(directory.parent))}   looks at the folder it lies in",
        )
    from dataclasses import asdict

    from isaprof.backends.diagnose import examine

    seen = examine(directory)
    if not found and not seen.diagnoses:
        raise BadInput(
            "no file of a known trace format",
            path=directory,
            kind="no_trace",
            hint="rocprofv3 --att -d DIR -- APP   writes one; docs/trace-folder.md describes another",
        )
    first = next(iter(seen.diagnoses), None)
    if as_json:
        body = {
            "schema_version": 1,
            "directory": str(directory),
            "recognised": found,
            "dispatches": [asdict(d) for d in seen.dispatches],
            "read": seen.read,
            "diagnoses": [asdict(d) for d in seen.diagnoses],
        }
        if first is not None:
            body["error"] = {"kind": first.kind, "message": first.message, "hint": first.next}
        print(json.dumps(body, indent=1))
    else:
        _print(directory, found, seen)
    return ExitCode.BAD_INPUT if first is not None else ExitCode.OK


def _print(directory: Path, found: list[dict[str, str | int]], seen: Examined) -> None:
    from isaprof.backends.recorded import describe

    for row in found:
        print(f"{row['files']:6}  {row['what']:52}  {row['first']}")
    if len(seen.dispatches) > 1:
        print(f"{len(seen.dispatches)} dispatches:")
        for info in seen.dispatches:
            print("  " + printable(describe(info)))
    for d in seen.diagnoses:
        where = "" if d.dispatch is None or len(seen.dispatches) < 2 else f"dispatch {d.dispatch}: "
        print(f"{d.kind}: {where}{printable(d.message)}")
        print(f"  next: {printable(d.next)}")
    if not seen.read:
        print("too large to be decoded here; isaprof import says more")
    if not seen.diagnoses:
        verb, what = ("show", "shows") if (directory / "capture.json").is_file() else ("import", "reads")
        print(f"isaprof {verb} {quote(str(directory))}   {what} it")


def _recognised(path: Path) -> list[dict[str, str | int]]:
    """Files of known formats; of a single file, its own."""
    found: list[dict[str, str | int]] = []
    for pattern, what in _FILES:
        if path.is_file():
            hits = [path] if path.match(pattern) else []
        else:
            hits = sorted({p for below in _BELOW for p in path.glob(below + pattern) if p.is_file()})
        if hits:
            first = hits[0].name if path.is_file() else str(hits[0].relative_to(path))
            found.append({"pattern": pattern, "what": what, "files": len(hits), "first": first})
    return found
