"""Small drawings in cells: a bar of stacked parts, a line of columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from isaprof.views.exposure import cells
from isaprof.views.palette import cause_look, exposure_look

#: neighbours differ without colour, too
_FILLS = "█▓"
_COLUMNS = " ▁▂▃▄▅▆▇█"


def exposure_strip(names: Sequence[str], parts: Sequence[int], width: int) -> list[Segment]:
    """``parts`` of a wait by class; each class has a glyph of its own, so that it reads without colour."""
    out = []
    for name, n in zip(names, cells(parts, width), strict=True):
        if n:
            glyph, colour = exposure_look(name)
            out.append(Segment(glyph * n, Style(color=colour)))
    return out or [Segment(" " * width)]


def cause_strip(causes: Sequence[tuple[str, int]], width: int, total: int = 0) -> list[Segment]:
    """Causes side by side in their order; ``total`` fills the width (default: their sum)."""
    parts = [n for _, n in causes]
    rest = max(0, total - sum(parts))
    out: list[Segment] = []
    for (cause, _), n in zip((*causes, ("", rest)), cells((*parts, rest), width), strict=True):
        if n:
            glyph = _FILLS[len(out) % len(_FILLS)]
            look = Style(color=cause_look(cause).colour) if cause else None
            out.append(Segment((glyph if cause else " ") * n, look))
    return out or [Segment(" " * width)]


def columns(values: Sequence[float], top: float = 0.0) -> str:
    """One character a value, its height relative to ``top`` (default: the largest)."""
    top = top or max(values, default=0.0)
    steps = len(_COLUMNS) - 1
    return "".join(
        _COLUMNS[0 if v <= 0 or not top else max(1, min(steps, round(steps * v / top)))] for v in values
    )
