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
    own = np.where(segments.r >= 0, records.line[segments.r], -1)
    line = np.where(segments.culprit >= 0, segments.culprit, own)
    bounds = np.searchsorted(segments.w, np.arange(len(records.waves) + 1))
    blame: dict[int, int] = {}
    for group in np.split(at, np.flatnonzero(new)[1:]):
        blame.update(_blame_group(group, records, segments, line, bounds))
    culprit = segments.culprit.copy()
    for s in np.flatnonzero(segments.cause == CAUSE_CODE[Cause.BARRIER]).tolist():
        culprit[s] = blame.get(int(segments.r[s]), culprit[s])
    return replace(segments, culprit=culprit)


def _blame_group(
    group: NDArray[np.int64],
    records: Records,
    segments: Segments,
    line_of: NDArray[np.int64],
    bounds: NDArray[np.int64],
) -> dict[int, int]:
    """Culprit line of each barrier record of one barrier.

    ``line_of``: culprit (else own) line of each segment; ``bounds``: where the segments of each wave begin.
    """
    members = group.tolist()
    if len({int(records.w[r]) for r in members}) < 2:
        return dict.fromkeys(members, -1)
    arrive = {r: int(records.time[r]) for r in members}
    last = max(members, key=lambda r: arrive[r])
    w = int(records.w[last])
    low, high = bounds[w : w + 2].tolist()
    # segments of a wave follow each other: only those since the first arrival can be to blame
    first = low + int(np.searchsorted(segments.begin[low:high], min(arrive.values()), side="right")) - 1
    stop = low + int(np.searchsorted(segments.begin[low:high], arrive[last], side="left"))
    low, high = max(low, first), max(stop, low)
    begin = segments.begin[low:high]
    end = begin + segments.cycles[low:high]
    line = line_of[low:high]
    out = {last: int(records.line[last])}
    for r in members:
        if r == last:
            continue
        cycles = np.minimum(end, arrive[last]) - np.maximum(begin, arrive[r])
        inside = (cycles > 0) & (line >= 0)
        if not inside.any():
            out[r] = int(records.line[r])
            continue
        sums = np.bincount(line[inside], weights=cycles[inside])
        out[r] = int(sums.argmax())
    return out
