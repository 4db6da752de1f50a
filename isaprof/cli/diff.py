"""``isaprof diff``: two code objects against each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isaprof.cli import options
from isaprof.cli.failure import say
from isaprof.errors import ExitCode

if TYPE_CHECKING:
    from isaprof.asm.object_diff import Line, ObjectDiff

_CONTEXT = 3


def command(
    a: Annotated[Path, typer.Argument(metavar="A.co", help="Before.")],
    b: Annotated[Path, typer.Argument(metavar="B.co", help="After.")],
    target: Annotated[
        str | None,
        typer.Option("--target", help="GPU: which object of a container, or what a minimal ELF is for."),
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Compare two code objects: resources, descriptors and metadata, then code line by line."""
    from isaprof.asm.facets import read_facets
    from isaprof.asm.find import recorded_arch
    from isaprof.asm.object_diff import diff_objects
    from isaprof.codeobj.source import load_object

    facets = []
    for path in (a, b):
        data, _, origin = load_object(path, target=target or recorded_arch(path))
        facets.append(read_facets(data, path=origin.label, arch=origin.arch))
    diff = diff_objects(*facets)
    if as_json:
        print(json.dumps(_json(diff, a, b)))
    else:
        _print(diff, a, b)
    return ExitCode.NO if diff.verdict == "different" else ExitCode.OK


def _json(diff: ObjectDiff, a: Path, b: Path) -> dict[str, Any]:
    def side(rows: tuple[Any, ...], i: int | None) -> dict[str, Any] | None:
        if i is None:
            return None
        pc, words, text = rows[i]
        return {"address": pc, "text": text, "words": [f"{w:#010x}" for w in words]}

    return {
        "schema_version": 1,
        "a": str(a),
        "b": str(b),
        "verdict": diff.verdict,
        "notes": list(diff.notes),
        "differences": [{"part": d.part, "where": d.where, "a": d.a, "b": d.b} for d in diff.differences],
        "counts": diff.counts,
        "code": [
            {"status": str(x.status), "a": side(diff.rows_a, x.a), "b": side(diff.rows_b, x.b)}
            for x in diff.changed
        ],
        "encodings": [{"address": e.address, "text": e.text, "bits": e.bits} for e in diff.encodings],
        "padding_words": list(diff.padding),
    }


def _print(diff: ObjectDiff, a: Path, b: Path) -> None:
    say(f"--- {a}\n+++ {b}")
    for note in diff.notes:
        say(f"note: {note}")
    for d in diff.differences:
        say(f"{d.part} {d.where}: {d.a or 'absent'} -> {d.b or 'absent'}")
    for hunk in _hunks(diff.lines):
        say("...")
        for x in hunk:
            _line(diff, x)
    for e in diff.encodings[:20]:
        say(f"encoding {e.address:#x} {e.text}: {', '.join(e.bits)}")
    if len(diff.encodings) > 20:
        say(f"encoding: {len(diff.encodings)} in all")
    counts = ", ".join(f"{n} {what}" for what, n in diff.counts.items() if n and what != "same")
    say(f"{diff.verdict}: {counts or 'no instruction changed'}; {len(diff.differences)} other differences")


def _line(diff: ObjectDiff, x: Line) -> None:
    marks = {"same": " ", "inserted": "+", "moved": ">"}
    if x.status in ("deleted", "changed") and x.a is not None:
        say(f"- {diff.rows_a[x.a][0]:8x}  {diff.rows_a[x.a][2]}")
    if x.status == "changed" and x.b is not None:
        say(f"+ {diff.rows_b[x.b][0]:8x}  {diff.rows_b[x.b][2]}")
    elif x.b is not None:
        note = f"  (from {diff.rows_a[x.a][0]:x})" if x.status == "moved" and x.a is not None else ""
        say(f"{marks[x.status]} {diff.rows_b[x.b][0]:8x}  {diff.rows_b[x.b][2]}{note}")


def _hunks(lines: tuple[Line, ...]) -> Iterator[list[Line]]:
    """Changed lines with some context, neighbouring ones together."""
    hunk: list[Line] = []
    last = -1
    for i, x in enumerate(lines):
        if x.status == "same":
            continue
        if hunk and i - last > 2 * _CONTEXT:
            yield [*hunk, *lines[last + 1 : last + 1 + _CONTEXT]]
            hunk = []
        begin = max(i - _CONTEXT, 0) if not hunk else last + 1
        hunk += [*lines[begin:i], x]
        last = i
    if hunk:
        yield [*hunk, *lines[last + 1 : last + 1 + _CONTEXT]]
