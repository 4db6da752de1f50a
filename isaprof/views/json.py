"""The Analysis as one JSON object, for ``isaprof show --json`` and other programs.

Keys (schema version 1): ``schema_version``; ``capture`` (path or null);
``provenance`` ("measured" or "modelled"); ``arch``; ``kernel``; ``waves``
(traced waves); ``instructions``; ``total_cycles``, ``span_cycles``,
``overlap_cycles``; ``unexplained_share`` (0..1); ``waits_with_culprit``
(0..1, of the cycles waited on counters, null without such waits); ``shares``
(cause: share of all wave cycles, summing to 1); ``warnings`` (as in
capture.json); ``notes``; and the list that was asked for: ``lines``
(columns of Analysis.lines, hottest first or, with all, in code order, each
with ``causes``: cause to cycles), ``culprits``, ``causes`` or ``by_wave``.
Cycles are integers of the shader clock; a missing culprit is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from isaprof.attribution.model import Analysis

SCHEMA_VERSION = 1


def to_dict(
    analysis: Analysis,
    *,
    by: str = "line",
    hottest: int = 10,
    all_lines: bool = False,
    capture: Path | None = None,
) -> dict[str, Any]:
    """The documented object; plain Python values only."""
    from isaprof.attribution.groups import explained_waits

    named, waited = explained_waits(analysis)
    out: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "capture": None if capture is None else str(capture),
        "provenance": analysis.provenance,
        "arch": analysis.arch,
        "kernel": analysis.kernel,
        "waves": len(analysis.waves),
        "instructions": analysis.instructions,
        "total_cycles": analysis.total_cycles,
        "span_cycles": analysis.span_cycles,
        "overlap_cycles": analysis.overlap_cycles,
        "unexplained_share": analysis.unexplained_share,
        "waits_with_culprit": named / waited if waited else None,
        "shares": {str(r["cause"]): float(r["share"]) for r in _rows(analysis.causes)},
        "warnings": [dict(w) for w in analysis.meta.get("warnings", ())],
        "notes": list(analysis.notes),
    }
    out.update(_listing(analysis, by, hottest, all_lines))
    return out


def _listing(analysis: Analysis, by: str, hottest: int, all_lines: bool) -> dict[str, Any]:
    from isaprof.attribution.groups import by_culprit

    if by == "cause":
        return {"causes": _rows(analysis.causes)}
    if by == "wave":
        return {"by_wave": _rows(analysis.waves)}
    if by == "culprit":
        return {"culprits": _rows(by_culprit(analysis)[:hottest])}
    lines = analysis.lines
    if not all_lines:
        lines = lines[(lines["rank"] > 0) & (lines["rank"] <= hottest)].sort_values("rank")
    causes: dict[int, dict[str, int]] = {}
    for row in _rows(analysis.line_causes):
        causes.setdefault(row["line"], {})[str(row["cause"])] = row["cycles"]
    return {"lines": [{**row, "causes": causes.get(row["line"], {})} for row in _rows(lines)]}


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain values; -1 for "no culprit" becomes None."""
    out = []
    for row in frame.to_dict("records"):
        out.append({str(k): _plain(v) for k, v in row.items()})
        if out[-1].get("culprit") == -1:
            out[-1]["culprit"] = None
    return out


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    value = item() if callable(item) else value
    return None if value != value else value  # NaN: a text that is not there
