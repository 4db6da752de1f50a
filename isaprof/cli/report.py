"""``isaprof report``: one self-contained HTML file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options
from isaprof.errors import UsageError
from isaprof.files import may_write, read_bytes, write_new


class Plotly(StrEnum):
    """Where plotly comes from."""

    EMBED = "embed"
    CDN = "cdn"


def command(
    capture: options.CaptureDirectory,
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
    force: Annotated[bool, typer.Option("--force", help="Replace an existing report.")] = False,
    as_json: options.AsJson = False,
    allow_lossy: options.AllowLossy = False,
    addresses: options.ExecuteForAddresses = False,
) -> None:
    """Write a capture, or the comparison of two, as one self-contained HTML file."""
    out = output or Path(capture.name.removesuffix(".isaprof") + ".html")
    may_write(out, force=force)
    if force:
        _is_report(out)
    from isaprof.attribution.analyse import analyse
    from isaprof.cli.captures import opened

    analysis = analyse(opened(capture, addresses=addresses))
    second = comparison = None
    if other is not None:
        from isaprof.compare.align import compare
        from isaprof.compare.lossy import refuse_lossy

        second = analyse(opened(other, addresses=addresses))
        refuse_lossy(analysis, second, allow=allow_lossy)
        comparison = compare(analysis, second)
    from isaprof.views.html import render

    page = render(analysis, comparison, plotly=None if plotly is None else plotly.value)
    data = page.encode("utf-8", "replace")
    write_new(out, data, force=force)
    if as_json:
        import json

        body = {
            "schema_version": 1,
            "report": str(out),
            "bytes": len(data),
            "provenance": [a.provenance for a in (analysis, second) if a is not None],
        }
        print(json.dumps(body))
    else:
        print(out)


def _is_report(out: Path) -> None:
    """UsageError where something is at ``out`` that isaprof did not write."""
    if out.exists() and (head := read_bytes(out)[:4096]) and b'name="generator" content="isaprof' not in head:
        raise UsageError("exists and is not a report: --force replaces reports only", path=out)
