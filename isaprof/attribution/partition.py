"""The partition of every wave's lifetime into launch, idle, stall, issue and drain.

AMD's definitions (the totals of rocprofv3's code.json, and the MIT-licensed
rocprof-trace-decoder): a record covers [time, time + duration), of which the
first ``stall`` cycles are stall and the rest is issue; *idle* is the time from
the end of everything before (running maximum of time + duration, starting at
the wave's begin) to ``time``. Records of one wave may overlap: the next one
may start before the one before has finished issuing. Then the issue part of
the earlier record ends where the next record starts, so that stall and idle
keep AMD's figures and the pieces still tile the wave exactly. Where stalls
themselves overlap, or a record reaches outside its wave, cycles are cut; how
many, per record, is kept in ``cut``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.records import Records

#: codes of the column ``part``
PARTS = ("launch", "idle", "stall", "issue", "drain")
LAUNCH, IDLE, STALL, ISSUE, DRAIN = range(5)


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces that tile each wave: ``r`` is a record number, -1 for drain.

    A launch piece carries the first record of its wave (AMD counts that time
    as the record's idle); a wave without records has one drain piece.
    """

    w: NDArray[np.int64]
    r: NDArray[np.int64]
    part: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """``pieces`` in time order within each wave, plus AMD's idle of each record.

    ``cut_stall``/``cut_idle``: stall and idle cycles of each record that do
    not fit into the wave, ``overlap``: record cycles dropped in all.
    """

    pieces: Pieces
    idle: NDArray[np.int64]
    window: NDArray[np.int64]  #: cycle from which each record could have issued: idle begins here
    cut_stall: NDArray[np.int64]
    cut_idle: NDArray[np.int64]
    overlap: int


def running_max(values: NDArray[np.int64], w: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running maximum of ``values`` restarted at every wave (``w`` is sorted)."""
    if not len(values):
        return values.copy()
    low, high = int(values.min()), int(values.max())
    span = high - low + 1
    shifted = (values - low) + w * span
    return np.asarray(np.maximum.accumulate(shifted) - w * span + low)


def _shift(values: NDArray[np.int64], first: NDArray[np.bool_], fill: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value of the record before; ``fill`` at the first record of a wave."""
    out = np.empty_like(values)
    out[1:] = values[:-1]
    out[first] = fill[first]
    return out


def partition(records: Records, ends_wave: NDArray[np.bool_], slot: int) -> Partition:
    """Tile the lifetime of every traced wave (see module docstring).

    ``ends_wave`` marks s_endpgm records: their record lasts until the wave's
    slot is free, so that what exceeds one issue slot (``slot`` cycles) of them
    is drain, not issue.
    """
    rec, waves = records, records.waves
    n = len(rec)
    first = rec.is_first
    begin, end = waves.begin[rec.w], waves.end[rec.w]
    raw_end = rec.time + rec.duration
    before = np.maximum(_shift(running_max(raw_end, rec.w), first, begin), begin)  # AMD's prev_end
    idle = np.maximum(rec.time - before, 0)

    # from here on everything is inside the wave
    time, issue, done = (np.clip(x, begin, end) for x in (rec.time, rec.issue, raw_end))
    issued = running_max(issue, rec.w)
    issued_before = _shift(issued, first, begin)
    stall_from = np.maximum(time, issued_before)
    stall_to = np.maximum(issue, stall_from)  # == issued
    next_from = np.where(_is_last(rec), end, _next(stall_from))
    reach = running_max(done, rec.w)
    owner = _owner(done, reach, first)
    own_to = np.clip(done, stall_to, next_from)
    rest_to = np.clip(reach, own_to, next_from)  # an earlier, longer record goes on issuing
    kept_issue = int((rest_to - stall_to).sum())
    closes = ends_wave & _is_last(rec)
    own_to = np.where(closes, np.minimum(own_to, stall_to + slot), own_to)
    rest_to = np.where(closes, own_to, rest_to)

    r = np.arange(n)
    head = np.where(first, LAUNCH, IDLE)
    reach_before = _shift(reach, first, begin)
    idle_from = np.minimum(np.maximum(reach_before, issued_before), stall_from)
    lost = rec.first == rec.last
    ends = np.flatnonzero(~lost)
    drain_from = waves.begin.copy()
    drain_from[ends] = rest_to[rec.last[ends] - 1] if n else drain_from[ends]
    pieces = _assemble(
        (rec.w, r, head, idle_from, stall_from),
        (rec.w, r, np.broadcast_to(STALL, n), stall_from, stall_to),
        (rec.w, r, np.broadcast_to(ISSUE, n), stall_to, own_to),
        (rec.w, owner, np.broadcast_to(ISSUE, n), own_to, rest_to),
        (np.arange(len(waves)), np.full(len(waves), -1), np.full(len(waves), DRAIN), drain_from, waves.end),
    )
    kept_stall = stall_to - stall_from
    kept_idle = stall_from - idle_from
    kept = int(kept_stall.sum()) + kept_issue
    return Partition(
        pieces, idle, before, np.maximum(rec.stall - kept_stall, 0), np.maximum(idle - kept_idle, 0),
        int(rec.duration.sum()) - kept,
    )  # fmt: skip


def _is_last(rec: Records) -> NDArray[np.bool_]:
    out = np.zeros(len(rec), np.bool_)
    out[rec.last[rec.first < rec.last] - 1] = True
    return out


def _next(values: NDArray[np.int64]) -> NDArray[np.int64]:
    out = np.empty_like(values)
    out[:-1] = values[1:]
    if len(out):
        out[-1] = values[-1]
    return out


def _owner(done: NDArray[np.int64], reach: NDArray[np.int64], first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The record that ends last among those of the wave up to each record."""
    n = len(done)
    sets = first.copy()
    sets[1:] |= reach[1:] > reach[:-1]
    return np.asarray(np.maximum.accumulate(np.where(sets, np.arange(n), 0)))


def in_time(w: NDArray[np.int64], time: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order by wave and time; what meets keeps its order.

    One stable sort of one key, which is cheap where few sorted stretches lie
    one behind the other. That the key fits is checked where records are read.
    """
    if not len(w):
        return np.zeros(0, np.int64)
    low = int(time.min())
    return np.argsort(w * (int(time.max()) - low + 1) + (time - low), kind="stable")


def _assemble(*groups: tuple[NDArray[np.int64], ...]) -> Pieces:
    kept = []
    for w, r, part, begin, end in groups:
        some = np.flatnonzero(end > begin)
        kept.append((w[some], r[some], part[some], begin[some], end[some]))
    w, r, part, begin, end = (np.concatenate(columns) for columns in zip(*kept, strict=True))
    order = in_time(w, begin)
    return Pieces(w[order], r[order], part[order], begin[order], end[order])
