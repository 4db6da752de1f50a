"""What the page shows of an analysis' detail: exposure, loops, banks, time, roll-ups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from isaprof.attribution.dispatch_counters import sentence
from isaprof.views import grids
from isaprof.views.exposure import SUMS_ONLY, Split
from isaprof.views.grids import Grid
from isaprof.views.html.steps import Chart, distribution, flights, lives
from isaprof.views.loops import loop_grid, loops
from isaprof.views.pairs import LoopPair, exposure_grid, loop_pairs, pair_grid
from isaprof.views.palette import exposure_look

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison

#: rows of a table that needs no script
MOST: Final = 40
_PLACES: Final = (
    ("se", "shader engine"), ("cu", "CU or WGP"), ("simd", "SIMD"), ("wave", "wave"),
    ("kind", "kind of instruction"), ("block", "basic block"), ("source", "source line"),
)  # fmt: skip
#: bars of A and of B
_COLOURS: Final = ("#4a90d9", "#e8843c")


def details(analysis: Analysis, index: int = 0) -> dict[str, Any]:
    """The sections of one capture; ``missing`` is a sentence where it has sums only."""
    detail = analysis.detail
    if detail is None or not len(analysis.waves):
        return {"missing": SUMS_ONLY if detail is None else ""}
    names = detail.classes
    counted = sentence(analysis.meta, "LDS")
    charts, engines = flights(analysis)
    return {
        "missing": None,
        "causes": grids.categories(detail.by("category"), names),
        "classes": [(n, exposure_look(n)[1]) for n in names],
        "loop_grid": loop_grid(analysis),
        "loops": [(x, distribution(x.steps, _COLOURS[index])) for x in loops(analysis)],
        "banks": [_cut(grids.banks(by, detail.by(by), counted)) for by in ("bank", "vgpr-bank")],
        "flights": charts,
        "engines": engines,
        "lives": lives(analysis),
        "places": [(title, _cut(_place(by, analysis))) for by, title in _PLACES],
    }


def _place(by: str, analysis: Analysis) -> Grid:
    detail = analysis.detail
    assert detail is not None
    frame = detail.by(by)
    return grids.kinds(frame, detail.classes) if by == "kind" else grids.roll_up(by, frame, detail.classes)


def _cut(grid: Grid) -> tuple[Grid, int]:
    """The first rows, and how many more there are."""
    if len(grid.rows) <= MOST:
        return grid, 0
    short = Grid(grid.title, grid.columns, grid.rows[:MOST], grid.lines[:MOST], grid.note, grid.empty)
    return short, len(grid.rows) - MOST


def pair_details(comparison: Comparison) -> dict[str, Any] | None:
    """Loops and exposed waits of both captures side by side; None where either has sums only."""
    if comparison.a.detail is None or comparison.b.detail is None:
        return None
    pairs = loop_pairs(comparison)
    return {
        "grid": pair_grid(comparison, pairs),
        "pairs": [(p, _spreads(p)) for p in pairs],
        "exposure": exposure_grid(comparison),
    }


def _spreads(pair: LoopPair) -> list[Chart]:
    """Distributions of both on one axis, so that they can be read against each other."""
    sides = [(tag, x.steps) for tag, x in (("A", pair.a), ("B", pair.b)) if x is not None and x.steps]
    if not sides:
        return []
    span = min(s[0][0] for _, s in sides), max(s[-1][1] - 1 for _, s in sides)
    charts = (distribution(s, _COLOURS["AB".index(tag)], f"{tag}: ", span) for tag, s in sides)
    return [c for c in charts if c is not None]


def split_payload(split: Split | None) -> dict[str, Any] | None:
    """Classes of the waits for the script: ``names`` with colours, ``rows`` flat: line, cycles of each class
    (lines that waited), ``ranked`` by exposed cycles."""
    if split is None:
        return None
    return {
        "names": [[n, exposure_look(n)[1]] for n in split.names],
        "rows": [x for line, parts in sorted(split.parts.items()) for x in (line, *parts)],
        "ranked": list(split.ranked),
    }
