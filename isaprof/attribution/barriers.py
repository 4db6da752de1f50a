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

    Ints = NDArray[np.int64]

#: waves of one workgroup leave a barrier at most so many issue slots after one another
_TOGETHER = 4
#: segments that are summed at a time
_AT_ONCE = 1 << 20


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
    blame[at] = _blamed(records, segments, at, np.flatnonzero(new))
    culprit = segments.culprit.copy()
    s = np.flatnonzero((segments.cause == CAUSE_CODE[Cause.BARRIER]) & (segments.r >= 0))
    s = s[blame[segments.r[s]] > -2]
    culprit[s] = blame[segments.r[s]]
    return replace(segments, culprit=culprit)


def _blamed(records: Records, s: Segments, at: Ints, first: Ints) -> Ints:
    """The culprit line of barrier records ``at``; ``first``: where each barrier begins in them."""
    wave, arrive, own = records.w[at], records.time[at], records.line[at]
    size = np.diff(np.append(first, len(at)))
    barrier = np.repeat(np.arange(len(first)), size)
    until = np.maximum.reduceat(arrive, first)
    late = np.flatnonzero(arrive == until[barrier])
    last = late[np.searchsorted(barrier[late], np.arange(len(first)))]  # the first of the latest
    alone = ~np.logical_or.reduceat(wave != np.repeat(wave[first], size), first)

    # who waited, and since when: of one barrier those that came together are one
    waited = np.flatnonzero(~alone[barrier] & (np.arange(len(at)) != last[barrier]))
    order = waited[np.lexsort((arrive[waited], barrier[waited]))]
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(barrier[order]) != 0) | (np.diff(arrive[order]) != 0)
    some = order[new]
    line = _longest(records, s, wave[last[barrier[some]]], arrive[some], until[barrier[some]])
    out = np.where(alone[barrier], -1, own)
    found = line[np.cumsum(new) - 1]
    out[order] = np.where(found >= 0, found, own[order])
    return out


def _longest(records: Records, s: Segments, w: Ints, since: Ints, until: Ints) -> Ints:
    """The line that is to blame for most of the time of wave ``w`` in each [since, until), or -1."""
    line = np.where(s.culprit >= 0, s.culprit, np.where(s.r >= 0, records.line[s.r], -1))
    out = np.full(len(w), -1, np.int64)
    if not len(s.begin):
        return out
    end = s.begin + s.cycles
    # segments tile each wave's life: both ends ascend
    low = int(s.begin.min())
    span = int(end.max()) - low + 2
    inside = w * span + np.clip(np.stack((since, until)) - low, 0, span - 1)
    first = np.searchsorted(s.w * span + (end - low), inside[0], side="right")
    count = np.maximum(np.searchsorted(s.w * span + (s.begin - low), inside[1]) - first, 0)
    # so many of them at a time that their sums need little memory
    part = np.cumsum(count) // _AT_ONCE
    for rows in np.split(np.arange(len(w)), np.flatnonzero(np.diff(part)) + 1):
        n = count[rows]
        which = np.repeat(rows, n)
        at = np.arange(len(which)) - np.repeat(np.cumsum(n) - n - first[rows], n)
        cycles = np.minimum(end[at], until[which]) - np.maximum(s.begin[at], since[which])
        keep = (line[at] >= 0) & (cycles > 0)
        if not keep.any():
            continue
        which, cycles, lines = which[keep], cycles[keep], line[at[keep]]
        key = which * (int(lines.max()) + 1) + lines
        order = np.argsort(key, kind="stable")
        begins = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
        total = np.add.reduceat(cycles[order], begins)
        which, lines = which[order[begins]], lines[order[begins]]
        # of several the lowest line: sorted by it, the last one that is written
        best = np.lexsort((-lines, total, which))
        out[which[best]] = lines[best]
    return out
