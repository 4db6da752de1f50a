"""What the page shows of a Comparison: tables for the template, rows for the script."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isaprof.views.diff import Diff, DiffRow, diff, mixed, relative, signed
from isaprof.views.palette import cause_look, clean, grouped

if TYPE_CHECKING:
    from isaprof.compare.model import Comparison

#: rows of the table that needs no script
MOST = 20

_CSS = {"inserted": "ins", "deleted": "del", "changed": "chg", "moved": "mov"}

#: order of the statuses in the script's rows
STATUSES = ("same", "changed", "moved", "inserted", "deleted", "residual")


def difference(comparison: Comparison) -> dict[str, Any]:
    """The section "B against A"."""
    c = comparison
    rows = diff(c)
    different = mixed(c.a, c.b)
    counts = [f"{n} {status}" for status, n in c.counts.items() if n]
    label = f"B {c.b.provenance} against A {c.a.provenance}" if different else c.a.provenance
    return {
        "tone": "" if different else _tone(c.delta_per_wave),
        "per_wave": signed(c.delta_per_wave),
        "relative": relative(c.delta_per_wave, c.per_wave_a),
        "label": label,
        "per_wave_a": f"{c.per_wave_a:,.1f}",
        "per_wave_b": f"{c.per_wave_b:,.1f}",
        "cycles_a": grouped(c.cycles_a),
        "cycles_b": grouped(c.cycles_b),
        "waves_a": grouped(c.waves_a),
        "waves_b": grouped(c.waves_b),
        "provenance_a": c.a.provenance,
        "provenance_b": c.b.provenance,
        "delta": signed(c.delta_cycles),
        "counts": ", ".join(counts) or "none",
        "notes": [clean(n) for n in c.notes],
        "causes": _causes(c),
        "lines": [_line(rows.rows[i]) for i in rows.ranked[:MOST]],
        "more": max(0, len(rows.ranked) - MOST),
        "rows": rows,
    }


def _causes(c: Comparison) -> list[dict[str, Any]]:
    frame = c.causes
    top = float(frame["delta_per_wave"].abs().max() or 0) if len(frame) else 0.0
    out = []
    for r in frame.to_dict("records"):
        change = float(r["delta_per_wave"])
        out.append(
            {
                "cause": clean(str(r["cause"])),
                "colour": cause_look(str(r["cause"])).colour,
                "a": f"{float(r['per_wave_a']):,.1f}",
                "b": f"{float(r['per_wave_b']):,.1f}",
                "change": signed(change),
                "delta": signed(int(r["delta"])),
                **_bar(change / top if top else 0.0),
            }
        )
    return out


def _line(r: DiffRow) -> dict[str, Any]:
    return {
        "rank": r.rank,
        "status": r.status,
        "css": _CSS.get(r.status, ""),
        "line_a": r.a.line,
        "line_b": r.b.line,
        "text_a": r.a.text,
        "text_b": r.b.text,
        "a": f"{r.a.per_wave:,.1f}" if r.a.text else "",
        "b": f"{r.b.per_wave:,.1f}" if r.b.text else "",
        "change": signed(r.delta_per_wave),
        **_bar(r.heat),
    }


def _tone(change: float) -> str:
    return "up" if change > 0 else "down" if change < 0 else ""


def _bar(heat: float) -> dict[str, Any]:
    """Position in a chart from -50 to 50 and the class for its colour."""
    width = round(50 * abs(heat), 2)
    return {"x": 0 if heat >= 0 else -width, "width": width, "tone": _tone(heat)}


def diff_payload(rows: Diff) -> dict[str, Any]:
    """Columns for the script; texts are those of the captures, except residual names.

    ``a``/``b``: lines in order, as differences, of the rows that have one;
    ``has``: 1 = a line of A, 2 = of B; ``ca``/``cb``: cycles per wave in tenths;
    ``d``: change per wave in tenths.
    """
    r = rows.rows
    return {
        "status": [STATUSES.index(x.status) if x.status in STATUSES else 0 for x in r],
        "has": [(x.a.line >= 0) + 2 * (x.b.line >= 0) for x in r],
        "a": _differences([x.a.line for x in r if x.a.line >= 0]),
        "b": _differences([x.b.line for x in r if x.b.line >= 0]),
        "ca": [round(10 * x.a.per_wave) for x in r],
        "cb": [round(10 * x.b.per_wave) for x in r],
        "d": [round(10 * x.delta_per_wave) for x in r],
        "all": [x.delta for x in r],
        "ranked": list(rows.ranked),
        "names": {str(i): x.text for i, x in enumerate(r) if x.a.line < 0 and x.b.line < 0},
        "statuses": STATUSES,
    }


def _differences(values: list[int]) -> list[int]:
    return values[:1] + [y - x for x, y in pairwise(values)]


def same_text(rows: Diff) -> frozenset[int]:
    """Lines of B whose text the aligned line of A has, too."""
    return frozenset(x.b.line for x in rows.rows if min(x.a.line, x.b.line) >= 0 and x.a.text == x.b.text)
