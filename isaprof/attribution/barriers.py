"""Who is to blame for the time at a barrier: what the last wave to arrive was doing meanwhile.

Waves that leave a barrier together belong together: the barrier records of a
CU or WGP whose ends lie within a few cycles of each other (public traces:
release 4-8 cycles after the last arrival on gfx950, 13-16 on RDNA with waves
resuming 2 apart) form one barrier. Capture formats do not name the workgroup
of every wave, so this is evidence from time alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.model import Cause
from isaprof.attribution.static import Cls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode

#: waves of one workgroup leave a barrier at most so many issue slots after one another
_TOGETHER = 4


def blame_barriers(code: StaticCode, records: Records, segments: Segments) -> Segments:
    """``segments`` with a culprit for barrier time: the line that kept the last wave longest.

    The last wave's own time at the barrier has the barrier itself as culprit.
    Time at a barrier that no other traced wave left has none.
    """
    cls = code.cls[records.line]
    at = np.flatnonzero((cls & int(Cls.BARRIER)) != 0)
    if not len(at):
        return segments
    period = int(code.table.get("issue_period", 1))
    unit = records.waves.unit(simd=False)[records.w[at]]
    leave = records.time[at] + records.duration[at]
    order = np.lexsort((leave, unit))
    at, unit, leave = at[order], unit[order], leave[order]
    new = np.ones(len(at), np.bool_)
    new[1:] = (np.diff(leave) > _TOGETHER * period) | (np.diff(unit) != 0)
    blame = np.full(len(records), -2, np.int64)  # -2: no barrier
    life = _Lives(records, segments)
    for group in np.split(at, np.flatnonzero(new)[1:]):
        life.blame(group, blame)
    culprit = segments.culprit.copy()
    s = np.flatnonzero((segments.cause == CAUSE_CODE[Cause.BARRIER]) & (segments.r >= 0))
    s = s[blame[segments.r[s]] > -2]
    culprit[s] = blame[segments.r[s]]
    return replace(segments, culprit=culprit)


class _Lives:
    """What every wave was doing when, by the line that is to blame for it."""

    def __init__(self, records: Records, segments: Segments) -> None:
        s = segments
        self.records = records
        self.begin, self.end = s.begin, s.begin + s.cycles
        own = records.line[s.r] if len(records) else np.full(len(s.r), -1, np.int64)
        self.line = np.where(s.culprit >= 0, s.culprit, np.where(s.r >= 0, own, -1))
        self.first = np.searchsorted(s.w, np.arange(len(records.waves) + 1))

    def blame(self, group: NDArray[np.int64], out: NDArray[np.int64]) -> None:
        """Write the culprit line of each barrier record of one barrier to ``out``."""
        rec = self.records
        wave, arrive, line = rec.w[group], rec.time[group], rec.line[group]
        out[group] = -1
        if not (wave != wave[0]).any():
            return
        last = int(arrive.argmax())
        w, until = int(wave[last]), int(arrive[last])
        low, high = int(self.first[w]), int(self.first[w + 1])
        # the stretch of its life that somebody waited for
        to = low + int(np.searchsorted(self.begin[low:high], until))
        low += int(np.searchsorted(self.end[low:high], arrive.min(), side="right"))
        begin, end, lines = self.begin[low:to], np.minimum(self.end[low:to], until), self.line[low:to]
        known = lines >= 0
        begin, end = begin[known], end[known]
        names, which = np.unique(lines[known], return_inverse=True)
        same: dict[int, int] = {}
        for n, (r, at) in enumerate(zip(group.tolist(), arrive.tolist(), strict=True)):
            if n == last:
                out[r] = line[n]
            else:
                if at not in same:
                    cycles = np.maximum(end - np.maximum(begin, at), 0)
                    sums = np.bincount(which, weights=cycles)
                    best = int(sums.argmax()) if len(sums) else 0
                    same[at] = int(names[best]) if len(sums) and sums[best] > 0 else -1
                out[r] = same[at] if same[at] >= 0 else line[n]
