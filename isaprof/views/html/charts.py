"""Geometry of the inline SVG charts; the template only writes it down.

Nothing is summed here: cycles are placed on a scale. The timeline is drawn at
a fixed resolution, so its size does not grow with the capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isaprof.views.palette import cause_look, clean, grouped, percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isaprof.attribution.model import Analysis

    Int = NDArray[np.int64]

#: waves drawn at most, and columns of the time axis
TIMELINE_WAVES = 64
TIMELINE_COLUMNS = 600


@dataclass(frozen=True, slots=True)
class Piece:
    """One cause of the stacked bar: start and width in percent of the whole."""

    cause: str
    colour: str
    start: float
    width: float
    cycles: str
    share: str


def stacked(analysis: Analysis) -> list[Piece]:
    """The causes as pieces of one bar, largest first."""
    out, at = [], 0.0
    frame = analysis.causes
    for cause, cycles, share in zip(frame["cause"], frame["cycles"], frame["share"], strict=True):
        width = 100 * float(share)
        name = clean(str(cause))
        out.append(
            Piece(
                name,
                cause_look(name).colour,
                round(at, 3),
                round(width, 3),
                grouped(int(cycles)),
                percent(float(share)) or "0%",
            )
        )
        at += width
    return out


@dataclass(frozen=True, slots=True)
class Track:
    """One wave of the timeline."""

    title: str
    y: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Waves over time. ``paths`` are (cause, colour, SVG path) of horizontal strokes."""

    tracks: tuple[Track, ...] = ()
    paths: tuple[tuple[str, str, str], ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    height: int = 0
    row: int = 10
    shown: int = 0
    total: int = 0
    columns: int = field(default=TIMELINE_COLUMNS)


def timeline(analysis: Analysis) -> Timeline:
    """At most :data:`TIMELINE_WAVES` waves, evenly picked, each on its engine's own clock.

    A column shows the cause that fills most of it, so stretches shorter than
    a column may not appear.
    """
    import pandas as pd

    waves = analysis.waves
    total = len(waves)
    if not total:
        return Timeline()
    picked = [round(i * (total - 1) / max(1, TIMELINE_WAVES - 1)) for i in range(TIMELINE_WAVES)]
    sample = waves.iloc[sorted(set(picked))] if total > TIMELINE_WAVES else waves
    sample = sample.sort_values(["se", "begin", "wave"])
    zero = waves.groupby("se")["begin"].min().to_dict()
    span = max(1, int((waves["end"] - waves["se"].map(zero)).max()))
    wanted = set(sample["wave"].tolist())
    part = analysis.segments[analysis.segments["wave"].isin(wanted)]
    codes, names = pd.factorize(part["cause"], sort=True)
    begin, cycles = (part[c].to_numpy("int64") for c in ("begin", "cycles"))
    where = part.groupby("wave", sort=False).indices
    row = 10 if len(sample) > 16 else 16
    strokes: dict[str, list[str]] = {}
    tracks, lives = [], [int(n) for n in sample["cycles"].tolist()]
    for y, w in enumerate(sample.itertuples(index=False)):
        place = f"SE {w.se} CU {w.cu} SIMD {w.simd} slot {w.slot}"
        name = f"wave {w.wave}: {place}, {grouped(lives[y])} cycles"
        tracks.append(Track(name, y * row))
        rows = where.get(w.wave)
        if rows is None:
            continue
        cells = _cells(begin[rows] - zero[w.se], cycles[rows], codes[rows], len(names), span)
        for cause, first, length in _runs(cells.tolist()):
            strokes.setdefault(str(names[cause]), []).append(f"M{first} {y * row + row // 2}h{length}")
    paths = tuple((clean(c), cause_look(c).colour, "".join(p)) for c, p in sorted(strokes.items()))
    ticks = tuple((TIMELINE_COLUMNS * i / 4, grouped(span * i // 4)) for i in range(5))
    return Timeline(tuple(tracks), paths, ticks, len(tracks) * row, row, len(sample), total)


def _cells(begin: Int, cycles: Int, cause: Int, causes: int, span: int) -> Int:
    """For each column the number of the cause that fills most of it (-1 outside the wave's life).

    ``begin``, ``cycles`` (int64, cycles from the engine's zero) and ``cause``
    (0..causes-1) describe the pieces of one wave, which do not overlap.
    """
    import numpy as np

    order = np.argsort(begin, kind="stable")
    begin, cycles, cause = begin[order], cycles[order], cause[order]
    grid = np.linspace(0.0, span, TIMELINE_COLUMNS + 1)
    # cut every piece at the column borders: each interval then has one piece and one column
    cuts = np.unique(np.concatenate([begin, begin + cycles, grid]))
    middle, length = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts)
    piece = np.searchsorted(begin, middle, side="right") - 1
    column = np.clip(np.searchsorted(grid, middle, side="right") - 1, 0, TIMELINE_COLUMNS - 1)
    alive = piece >= 0
    alive[alive] = middle[alive] < (begin + cycles)[piece[alive]]
    cover = np.zeros((TIMELINE_COLUMNS, causes))
    np.add.at(cover, (column[alive], cause[piece[alive]]), length[alive])
    return np.where(cover.any(axis=1), cover.argmax(axis=1), -1)


def _runs(cells: Sequence[int]) -> list[tuple[int, int, int]]:
    """(cause, first column, columns) of equal neighbours."""
    out: list[tuple[int, int, int]] = []
    for i, cause in enumerate(cells):
        if cause >= 0 and out and out[-1][0] == cause and out[-1][1] + out[-1][2] == i:
            out[-1] = (cause, out[-1][1], out[-1][2] + 1)
        elif cause >= 0:
            out.append((cause, i, 1))
    return out
