"""``isaprof report``: one self-contained HTML file."""

from __future__ import annotations

import os
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from isaprof.errors import BadInput, UsageError


class Plotly(StrEnum):
    """Where plotly comes from."""

    EMBED = "embed"
    CDN = "cdn"


def command(
    capture: Annotated[Path, typer.Argument(metavar="CAPTURE", help="Capture directory (*.isaprof).")],
    other: Annotated[
        Path | None, typer.Argument(metavar="CAPTURE2", help="A second capture to compare with the first.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", help="Default: CAPTURE.html, here.")
    ] = None,
    plotly: Annotated[
        Plotly | None,
        typer.Option(help="Add interactive plotly charts; their code inside the file (5 MB) or from a CDN."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a capture, or the comparison of two, as one self-contained HTML file."""
    out = output or Path(capture.name.removesuffix(".isaprof") + ".html")
    if out.is_dir():
        raise UsageError("is a directory", path=out, hint="name a file with -o")
    if out.exists() and not force:
        raise UsageError("already exists", path=out, hint="choose another name with -o, or pass --force")
    import isaprof
    from isaprof.attribution.analyse import analyse

    analysis = analyse(isaprof.open(capture))
    second = comparison = None
    if other is not None:
        from isaprof.compare.align import compare

        second = analyse(isaprof.open(other))
        comparison = compare(analysis, second)
    from isaprof.views.html import render

    page = render(analysis, comparison, plotly=None if plotly is None else plotly.value)
    size = _write(out, page)
    if as_json:
        import json

        body = {
            "schema_version": 1,
            "report": str(out),
            "bytes": size,
            "provenance": [a.provenance for a in (analysis, second) if a is not None],
        }
        print(json.dumps(body))
    else:
        print(out)


def _write(out: Path, page: str) -> int:
    """The whole file or none; returns its size in bytes."""
    data = page.encode("utf-8", "replace")
    name = ""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, out)
    except OSError as e:
        raise BadInput(f"cannot write: {e.strerror or e}", path=out, kind="unwritable") from e
    finally:
        if name and os.path.exists(name):
            os.unlink(name)
    return len(data)
