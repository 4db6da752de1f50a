"""The segment table: pieces of the partition cut by the slices of the explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.model import Cause
from isaprof.attribution.partition import DRAIN, IDLE, ISSUE, LAUNCH, STALL, in_time
from isaprof.attribution.records import CONTEXT
from isaprof.attribution.static import Cls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.counters import Simulated
    from isaprof.attribution.explain import Slices
    from isaprof.attribution.partition import Partition, Pieces
    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode

    #: w, r, part, begin, end, cause, culprit, ambiguous
    Columns = tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """Columns of Analysis.segments; ``w`` positions of waves, ``r`` record numbers (-1: drain)."""

    w: NDArray[np.int64]
    r: NDArray[np.int64]
    part: NDArray[np.int64]
    begin: NDArray[np.int64]
    cycles: NDArray[np.int64]
    cause: NDArray[np.int64]
    culprit: NDArray[np.int64]
    ambiguous: NDArray[np.bool_]
    #: cycles that AMD's stall and idle have and the wave has no room for: record, cause, culprit, cycles
    cut: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def make_segments(
    code: StaticCode, records: Records, tiles: Partition, slices: Slices, simulated: Simulated
) -> Segments:
    """Give every piece its cause; idle and stall pieces are cut where the cause changes."""
    p = tiles.pieces
    waits = np.flatnonzero((p.part == IDLE) | (p.part == STALL))
    cut = _cut(p, waits, slices)
    rest = np.flatnonzero((p.part == LAUNCH) | (p.part == DRAIN))
    plain = _plain(records, p, rest, simulated)
    issue = _issue(code, records, p, np.flatnonzero(p.part == ISSUE))
    columns = [np.concatenate(c) for c in zip(cut, plain, issue, strict=True)]
    w, begin = columns[0], columns[3]
    order = in_time(w, begin)
    w, r, part, begin, end, cause, culprit, ambiguous = (c[order] for c in columns)
    return Segments(w, r, part, begin, end - begin, cause, culprit, ambiguous != 0, _lost(tiles, slices))


def _cut(p: Pieces, at: NDArray[np.int64], slices: Slices) -> Columns:
    """Pieces ``at`` intersected with the slices of their records."""
    r = p.r[at]
    count = slices.start[r + 1] - slices.start[r]
    piece = np.repeat(at, count)
    offset = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count)
    s = np.repeat(slices.start[r], count) + offset
    low = np.where(offset > 0, slices.until[np.maximum(s - 1, 0)], np.iinfo(np.int64).min)
    begin = np.maximum(p.begin[piece], low)
    end = np.minimum(p.end[piece], slices.until[s])
    keep = end > begin
    piece, s = piece[keep], s[keep]
    return (
        p.w[piece], p.r[piece], p.part[piece], begin[keep], end[keep],
        slices.cause[s], slices.culprit[s], slices.ambiguous[s].astype(np.int64),
    )  # fmt: skip


def _plain(records: Records, p: Pieces, at: NDArray[np.int64], simulated: Simulated) -> Columns:
    """Launch and drain. A wave without any usable record is unexplained as a whole."""
    w = p.w[at]
    launch = p.part[at] == LAUNCH
    cause = np.where(launch, CAUSE_CODE[Cause.LAUNCH], CAUSE_CODE[Cause.DRAIN])
    culprit = np.full(len(at), -1, np.int64)
    culprit[~launch] = simulated.last_store[w[~launch]]  # the slot is freed when that is acknowledged
    rows: Columns = (
        w, p.r[at], p.part[at], p.begin[at], p.end[at], cause, culprit, np.zeros(len(at), np.int64)
    )  # fmt: skip
    # records without a known line after the last known one (or in place of all)
    until = np.where(launch, p.begin[at], records.tail_until[w])
    until = np.where(~launch & (records.first[w] == records.last[w]), p.end[at], until)
    split = np.clip(until, p.begin[at], p.end[at])
    lost = tuple(c.copy() for c in rows)
    lost[4][:] = split
    lost[5][:] = CAUSE_CODE[Cause.UNEXPLAINED]
    lost[6][:] = -1
    rows[3][:] = split
    both = tuple(np.concatenate(pair) for pair in zip(lost, rows, strict=True))
    keep = both[4] > both[3]
    return tuple(c[keep] for c in both)


def _issue(code: StaticCode, records: Records, p: Pieces, at: NDArray[np.int64]) -> Columns:
    """Issue and execution; RDNA books the time inside a barrier or a trap there, too."""
    period = int(code.table.get("issue_period", 1))
    r = p.r[at]
    line = records.line[r]
    cls = code.cls[line]
    barrier = (cls & int(Cls.BARRIER)) != 0
    cause = np.full(len(at), CAUSE_CODE[Cause.ISSUE])
    cause[records.category[r] == CONTEXT] = CAUSE_CODE[Cause.CONTEXT]
    slot = records.issue[r] + period
    split = np.where(barrier, np.clip(slot, p.begin[at], p.end[at]), p.end[at])
    none = np.full(len(at), -1, np.int64)
    zero = np.zeros(len(at), np.int64)
    first: Columns = (p.w[at], r, p.part[at], p.begin[at], split, cause, none, zero)
    # pieces are not empty: only those cut at a barrier can have an empty half
    cut = np.flatnonzero(barrier)
    if not len(cut):
        return first
    keep = np.flatnonzero(split > first[3])
    rest = cut[p.end[at[cut]] > split[cut]]
    second: Columns = (
        p.w[at[rest]], r[rest], p.part[at[rest]], split[rest], p.end[at[rest]],
        np.full(len(rest), CAUSE_CODE[Cause.BARRIER]), line[rest], zero[rest],
    )  # fmt: skip
    return tuple(np.concatenate((a[keep], b)) for a, b in zip(first, second, strict=True))


def _lost(
    tiles: Partition, slices: Slices
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Stall and idle that did not fit: charged like the end of the record's wait."""
    cut = tiles.cut_stall + tiles.cut_idle
    r = np.flatnonzero(cut > 0)
    last = slices.start[r + 1] - 2  # the slice before the catch-all
    s = np.where(last >= slices.start[r], last, slices.start[r + 1] - 1)
    return r, slices.cause[s], slices.culprit[s], cut[r]
