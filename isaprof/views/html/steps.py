"""Geometry of the charts over time and of distributions; the template only writes it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from isaprof.views.palette import cause_look, clean, grouped
from isaprof.views.series import Step, life, over_time

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis

#: units of a chart's coordinates
WIDTH: Final = 600
HEIGHT: Final = 120
#: shader engines drawn at most
ENGINES: Final = 4


@dataclass(frozen=True, slots=True)
class Chart:
    """``paths``: (name, colour, SVG path) of filled shapes; ``line``: the path of a line over them, or "".
    ``ticks``: labels of the horizontal axis, evenly spaced; ``top``: what the full height means."""

    title: str
    label: str
    paths: tuple[tuple[str, str, str], ...]
    line: str
    ticks: tuple[str, ...]
    top: str


def flights(analysis: Analysis) -> tuple[list[Chart], int]:
    """(charts of the first engines, number of engines): waves in flight and what the traced ones did."""
    series = over_time(analysis)
    charts = []
    for se, steps in list(series.items())[:ENGINES]:
        top = max(x.in_flight for x in steps) or 1.0
        label = f"shader engine {se}: waves in flight (line, at most {top:.1f}), the traced ones by cause"
        charts.append(
            Chart(
                f"SE {se}", label, _stacks(steps, top), _line(steps, top), _ticks(steps), f"{top:.1f} waves"
            )
        )
    return charts, len(series)


def lives(analysis: Analysis) -> list[Chart]:
    """The lives of the longest and of the shortest traced wave."""
    waves = analysis.waves
    if analysis.detail is None or not len(waves):
        return []
    order = waves.sort_values(["cycles", "wave"], ascending=[False, True])
    picked = {"longest": order.iloc[0], "shortest": order.iloc[-1]}
    charts = []
    for name, row in list(picked.items())[: 2 if len(waves) > 1 else 1]:
        steps = life(analysis, int(row["wave"]))
        title = f"{name} traced wave: {row['wave']}" if len(waves) > 1 else f"wave {row['wave']}"
        place = f"SE {row['se']} CU {row['cu']} SIMD {row['simd']}"
        label = f"{title}, {grouped(int(row['cycles']))} cycles on {place}"
        charts.append(Chart(title, label, _stacks(steps, 1.0), "", _ticks(steps), ""))
    return charts


def _stacks(steps: Sequence[Step], top: float) -> tuple[tuple[str, str, str], ...]:
    """Columns of stacked causes, one path a cause; the height of a step is its mean number of waves."""
    if not steps:
        return ()
    shapes: dict[str, list[str]] = {}
    zero, span = steps[0].begin, max(1, steps[-1].end - steps[0].begin)
    for step in steps:
        x = WIDTH * (step.begin - zero) / span
        width = WIDTH * (step.end - step.begin) / span
        scale = HEIGHT / (max(1, step.end - step.begin) * top)
        y = float(HEIGHT)
        for cause, cycles in step.causes:
            high = cycles * scale
            y -= high
            shapes.setdefault(cause, []).append(f"M{x:.1f} {y:.1f}h{width:.1f}v{high:.1f}h-{width:.1f}z")
    return tuple((clean(c), cause_look(c).colour, "".join(p)) for c, p in shapes.items())


def _line(steps: Sequence[Step], top: float) -> str:
    zero, span = steps[0].begin, max(1, steps[-1].end - steps[0].begin)
    parts = []
    for i, step in enumerate(steps):
        y = HEIGHT - HEIGHT * step.in_flight / top
        parts.append(f"M0 {y:.1f}" if not i else f"V{y:.1f}")
        parts.append(f"H{WIDTH * (step.end - zero) / span:.1f}")
    return "".join(parts)


def _ticks(steps: Sequence[Step]) -> tuple[str, ...]:
    if not steps:
        return ()
    low, high = steps[0].begin, steps[-1].end
    return tuple(grouped(low + (high - low) * i // 4) for i in range(5))


def distribution(
    steps: Sequence[tuple[int, int, int]], colour: str, title: str = "", span: tuple[int, int] | None = None
) -> Chart | None:
    """Bars of a histogram of cycles: (begin, end, count); None where there are none or all are alike.

    ``span``: first and last cycle of the axis (default: those of the steps).
    """
    if not steps:
        return None
    low, high = (steps[0][0], steps[-1][1] - 1) if span is None else span
    if high <= low:
        return None
    top = max(n for _, _, n in steps)
    parts = []
    for begin, end, count in steps:
        if count:
            x = WIDTH * (begin - low) / (high + 1 - low)
            width = max(1.5, WIDTH * (end - begin) / (high + 1 - low))
            tall = max(2.0, HEIGHT * count / top)
            parts.append(f"M{x:.1f} {HEIGHT - tall:.1f}h{width:.1f}v{tall:.1f}h-{width:.1f}z")
    places = sorted({low + (high - low) * i // 4 for i in range(5)})
    total = sum(n for _, _, n in steps)
    label = f"{title}{grouped(total)} iterations by their cycles, at most {grouped(top)} in a bar"
    shape = ("iterations", colour, "".join(parts))
    return Chart("cycles/iteration", label, (shape,), "", tuple(grouped(n) for n in places), grouped(top))
