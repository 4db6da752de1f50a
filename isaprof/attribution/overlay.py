"""What waves were doing in given stretches of their time: the segments under them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.intervals import Axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.segments import Segments

    Ints = NDArray[np.int64]


def under(s: Segments, axis: Axis, w: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """(stretch, segment, cycles) of every overlap of a stretch ``begin .. end`` of wave ``w``.

    The segments of a wave tile its life, so a stretch lies over a run of them.
    ``axis`` holds all times of the segments.
    """
    start = axis.key(s.w, s.begin)
    stop = start + s.cycles
    low = np.searchsorted(stop, axis.key(w, begin), side="right")
    high = np.searchsorted(start, axis.key(w, end), side="left")
    count = np.maximum(high - low, 0)
    which = np.repeat(np.arange(len(w)), count)
    at = np.repeat(low, count) + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    cycles = np.minimum(s.begin[at] + s.cycles[at], end[which]) - np.maximum(s.begin[at], begin[which])
    keep = (cycles > 0) & (s.w[at] == w[which])
    return which[keep], at[keep], cycles[keep]
