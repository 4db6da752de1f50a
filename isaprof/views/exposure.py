"""How exposed the waits of each line are, as plain frozen data for interactive views.

The classes are those the analysis has (Detail.classes): their number and names
are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis

#: what the TUI and the report say where a capture has no records
SUMS_ONLY = "sums of each instruction only: exposure, loops and banks need records"


@dataclass(frozen=True, slots=True)
class Split:
    """``parts``: line -> cycles by class, of lines that waited; ``heat``: line -> 0..1 by exposed cycles;
    ``ranked``: lines with exposed cycles, most first."""

    names: tuple[str, ...]
    parts: Mapping[int, tuple[int, ...]]
    heat: Mapping[int, float]
    ranked: tuple[int, ...]

    def first(self, line: int) -> int:
        """Cycles of the first class (exposed) of ``line``."""
        return self.parts[line][0] if line in self.parts else 0


def split(analysis: Analysis) -> Split | None:
    """The classes of each line's wait; None where the capture has sums only."""
    detail = analysis.detail
    if detail is None:
        return None
    names = detail.classes
    frame = detail.lines
    columns = [[int(x) for x in frame[n].tolist()] for n in names]
    lines = [int(x) for x in frame["line"].tolist()]
    parts = {line: p for line, p in zip(lines, zip(*columns, strict=True), strict=True) if any(p)}
    top = detail.most_exposed
    ranked = tuple(int(x) for x in top["line"].tolist())
    heat = dict(zip(ranked, (float(x) for x in top["heat"].tolist()), strict=True))
    return Split(names, parts, heat, ranked)


def cells(parts: Sequence[float], width: int) -> list[int]:
    """``width`` cells shared out by size (largest remainder); what is above zero has one if any are left."""
    total = sum(parts)
    if total <= 0 or width <= 0:
        return [0] * len(parts)
    exact = [p * width / total for p in parts]
    out = [int(x) for x in exact]
    by_rest = sorted(range(len(parts)), key=lambda i: (out[i] > 0, out[i] - exact[i], i))
    for i in by_rest:
        if sum(out) == width:
            break
        out[i] += parts[i] > 0
    # a small part takes its cell from the largest
    for i, p in enumerate(parts):
        largest = max(range(len(out)), key=out.__getitem__)
        if p > 0 and not out[i] and out[largest] > 1:
            out[i], out[largest] = 1, out[largest] - 1
    return out
