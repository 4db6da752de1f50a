"""Waves in flight and what they did over time, as plain frozen data for interactive views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isaprof.views.grids import records_of

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis


@dataclass(frozen=True, slots=True)
class Step:
    """One step of time, cycles. ``in_flight``, ``traced``: mean number of waves (0 in the life of one);
    ``causes``: (cause, wave cycles) that are not zero, in the order of the columns."""

    begin: int
    end: int
    in_flight: float
    traced: float
    causes: tuple[tuple[str, int], ...]

    @property
    def largest(self) -> tuple[tuple[str, int], ...]:
        """The causes, most cycles first."""
        return tuple(sorted(self.causes, key=lambda x: (-x[1], x[0])))


_PLAIN = ("se", "bin", "begin", "end", "in_flight", "traced")


def over_time(analysis: Analysis) -> dict[int, tuple[Step, ...]]:
    """Shader engine -> its steps; empty where the capture has sums only or no wave was traced."""
    if analysis.detail is None:
        return {}
    frame = analysis.detail.by("time")
    if not len(frame):
        return {}
    names = [str(c) for c in frame.columns if c not in _PLAIN]
    return {
        int(str(se)): tuple(_step(r, names) for r in records_of(part)) for se, part in frame.groupby("se")
    }


def life(analysis: Analysis, wave: int) -> tuple[Step, ...]:
    """The life of ``wave`` in steps; its causes sum to the length of each step."""
    if analysis.detail is None:
        return ()
    frame: pd.DataFrame = analysis.detail.life(wave)
    names = [str(c) for c in frame.columns if c not in _PLAIN]
    return tuple(_step(r, names) for r in records_of(frame))


def _step(row: dict[str, Any], names: list[str]) -> Step:
    causes = tuple((n, int(row[n])) for n in names if row[n] == row[n] and row[n] > 0)
    return Step(
        int(row["begin"]),
        int(row["end"]),
        float(row.get("in_flight", 0)),
        float(row.get("traced", 0)),
        causes,
    )
