"""The Analysis as one JSON object, for ``isaprof show --json`` and other programs.

Keys (schema version 1): ``schema_version``; ``capture`` (path or null);
``provenance`` ("measured" or "modelled"); ``arch``; ``kernel``; ``waves``
(traced waves); ``instructions``; ``total_cycles``, ``span_cycles``,
``overlap_cycles``; ``unexplained_share`` (0..1); ``waits_with_culprit``
(0..1, of the cycles waited on counters, null without such waits); ``shares``
(cause: share of all wave cycles, summing to 1); ``warnings`` (as in
capture.json); ``notes``; ``dispatch_counters`` (null, or counters of the whole
dispatch, not of the traced waves: ``label``, ``values``, ``dispatch``,
``files``); and the list that was asked for: ``lines`` (columns of
Analysis.lines and its split of the waits, hottest first or, with all, in code
order, each with ``causes``: cause to cycles), ``culprits``,
``causes``, ``categories``, ``sources``, ``kinds``, ``blocks``, ``kernels``, ``banks``,
``vgpr_banks``, ``gaps``, ``by_se``, ``by_cu``, ``by_simd``, ``by_wave``, ``timeline`` (of one wave with
its number), ``in_flight``, or
``loops`` (loop -1 is the whole kernel), each with ``gaps`` (who left the matrix
pipe idle) and ``iteration_cycles`` (wave to cycles of each iteration). Columns
are described in docs/attribution.md. Cycles are integers of the shader clock; a
missing culprit, and any other figure that is not known, is null.
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
    wave: int | None = None,
) -> dict[str, Any]:
    """The documented object; plain Python values only."""
    from isaprof.attribution.dispatch_counters import counters
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
        "dispatch_counters": counters(analysis.meta),
    }
    out.update(_listing(analysis, by, hottest, all_lines, wave))
    return out


#: key of the object for each listing
_KEYS = {
    "line": "lines", "culprit": "culprits", "cause": "causes", "category": "categories", "source": "sources",
    "block": "blocks", "loop": "loops", "kernel": "kernels", "bank": "banks", "vgpr-bank": "vgpr_banks",
    "se": "by_se", "cu": "by_cu", "simd": "by_simd", "wave": "by_wave", "time": "timeline",
    "kind": "kinds", "gap": "gaps", "in-flight": "in_flight",
}  # fmt: skip
#: listings that are cut to the number asked for, largest first
_CUT = ("culprit",)


def _listing(analysis: Analysis, by: str, hottest: int, all_lines: bool, wave: int | None) -> dict[str, Any]:
    from isaprof.attribution.groups import listing

    frame = listing(analysis, by, wave)
    if by == "loop":
        return {"loops": _loops(analysis, frame)}
    if by != "line":
        return {_KEYS[by]: _rows(frame[:hottest] if by in _CUT else frame)}
    lines = frame
    if not all_lines:
        lines = lines[(lines["rank"] > 0) & (lines["rank"] <= hottest)].sort_values("rank")
    causes: dict[int, dict[str, int]] = {}
    for row in _rows(analysis.line_causes):
        causes.setdefault(row["line"], {})[str(row["cause"])] = row["cycles"]
    return {"lines": [{**row, "causes": causes.get(row["line"], {})} for row in _rows(lines)]}


def _loops(analysis: Analysis, frame: pd.DataFrame) -> list[dict[str, Any]]:
    if analysis.detail is None:
        return _rows(frame)
    gaps, steps = analysis.detail.gaps, analysis.detail.iterations
    out = _rows(frame)
    for row in out:
        mine = gaps[gaps["loop"] == row["loop"]].drop(columns="loop")
        row["gaps"] = _rows(mine)
        times = steps[steps["loop"] == row["loop"]]
        row["iteration_cycles"] = {
            str(wave): values.tolist() for wave, values in times.groupby("wave")["t_iter"]
        }
    return out


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
