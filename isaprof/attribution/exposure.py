"""Which waiting costs: is anything else done on the SIMD meanwhile?

A cycle that a wave waits is

* *hidden* while another traced wave of its SIMD issues, or keeps the vector
  pipe of the SIMD busy with an instruction it has issued;
* *covered* while nobody else does, but the matrix pipe of the SIMD is busy,
  whichever wave's instruction it executes: the wait costs no matrix work;
* *unknown* while nobody can tell: the trace has one wave only, a wave without
  records was resident on the SIMD, or the SIMD has one traced wave and the
  capture says nothing about occupancy;
* *exposed* otherwise.

Other waves count as a union of intervals, never as a sum. The wave's own vector
pipe does not hide its waits (what it waits for may be just that instruction);
how long its own vector or matrix pipe was busy is kept apart as ``own_pipe``.
How AMD's decoder
defines hidden latency is in :mod:`isaprof.attribution.reference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isaprof.attribution import contention
from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.intervals import Axis, shared, union
from isaprof.attribution.model import CAUSES, Cause
from isaprof.attribution.partition import IDLE, ISSUE, LAUNCH, PARTS, STALL
from isaprof.attribution.static import Cls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.partition import Partition
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode
    from isaprof.capture.model import Capture

    Ints = NDArray[np.int64]

#: the split, in the order of the columns
SPLIT = ("exposed", "hidden", "covered", "unknown")


@dataclass(frozen=True, slots=True)
class Exposure:
    """For each segment (zero where it is no wait): cycles exposed, hidden, covered, unknown, and of
    all those the ones with the wave's own vector or matrix pipe busy (``own_pipe``)."""

    exposed: Ints
    hidden: Ints
    covered: Ints
    unknown: Ints
    own_pipe: Ints


def is_wait(s: Segments) -> NDArray[np.bool_]:
    """Segments that are no progress: launch, idle, stall, and time inside a barrier or trap (RDNA)."""
    held = (s.part == ISSUE) & (s.cause != CAUSE_CODE[Cause.ISSUE])
    return np.asarray((s.part == LAUNCH) | (s.part == IDLE) | (s.part == STALL) | held)


def pipe_times(code: StaticCode, records: Records, simd: Ints) -> tuple[Ints, Ints, Ints]:
    """(record, begin, end) of the time each vector instruction keeps its pipe.

    ``simd``: dense SIMD number of each record. Occupancies are those of the
    architecture table; on RDNA an instruction executes behind the queue.
    """
    queue = contention.vector_pipe(code, records, simd)
    if queue is not None:
        r = queue.stream.r
        end = queue.through
        return r, end - code.occupancy[records.line[r]], end
    r = np.flatnonzero((code.cls[records.line] & int(Cls.VALU)) != 0)
    # a scaled MFMA takes a slot for its scales first; the matrix operation is the last slot of its record
    scale = np.array(["_scale_" in x.base for x in code.instructions], np.bool_)[records.line[r]]
    slot = int(code.table.get("issue_period", 1))
    begin = np.where(scale, records.time[r] + records.duration[r] - slot, records.issue[r])
    return r, begin, begin + code.occupancy[records.line[r]]


def expose(capture: Capture, code: StaticCode, records: Records, segments: Segments) -> Exposure:
    """Split the waits of all segments. A few sorts of records and segments."""
    s, waves = segments, records.waves
    home = waves.unit(simd=True)
    zero = np.zeros(len(s.w), np.int64)
    at = np.flatnonzero(is_wait(s))
    if not len(at):
        return Exposure(zero, zero, zero, zero, zero)
    strangers, stranger_home = _untraced(capture, records)
    begin, end, w = s.begin[at], s.begin[at] + s.cycles[at], s.w[at]
    axis = Axis.around(waves.begin, waves.end, begin, end)
    r, pipe_from, pipe_to = pipe_times(code, records, home[records.w])
    matrix = (code.cls[records.line[r]] & int(Cls.MATRIX)) != 0
    plain = r[~matrix], pipe_from[~matrix], pipe_to[~matrix]

    at_home, at_wave = axis.keys(home[w], begin, end), axis.keys(w, begin, end)

    def others(*more: tuple[Ints, Ints, Ints, Ints]) -> Ints:
        """Cycles of each wait in which other waves are busy, or one of ``more`` (home, wave, begin, end)."""
        issuing = (s.part == ISSUE) & (s.cause == CAUSE_CODE[Cause.ISSUE])
        from_, cycles = s.begin[issuing], s.cycles[issuing]
        all_of = (
            (home[s.w[issuing]], s.w[issuing], from_, from_ + cycles),
            (home[records.w[plain[0]]], records.w[plain[0]], *plain[1:]),
            *more,
        )
        columns = [np.concatenate(c) for c in zip(*all_of, strict=True)]
        return shared(axis, *columns).others(at_home, at_wave)

    cycles = s.cycles[at]
    hidden = others()
    nobody = len(waves) + stranger_home  # who of them it was does not matter
    resident = stranger_home, nobody, strangers[:, 0], strangers[:, 1]
    lonely = _lonely(capture, records, home)[w]
    unknown = np.where(lonely, cycles, others(resident)) - hidden
    engine = home[records.w[r[matrix]]]
    # the pipe is nobody's: it covers the waits of the wave whose instruction it executes, too
    pipe = engine, 2 * len(waves) + engine, pipe_from[matrix], pipe_to[matrix]
    covered = np.where(lonely, 0, others(resident, pipe) - hidden - unknown) if len(engine) else zero[at]
    own = union(axis.key(records.w[r], pipe_from), axis.key(records.w[r], pipe_to))
    parts = (cycles - hidden - covered - unknown, hidden, covered, unknown)
    out = [zero.copy() for _ in range(len(parts) + 1)]
    for column, values in zip(out, (*parts, own.measure(*at_wave)), strict=True):
        column[at] = values
    return Exposure(*out)


def _untraced(capture: Capture, records: Records) -> tuple[NDArray[np.int64], Ints]:
    """([begin, end] of waves without records, SIMD they were on), where a traced wave was, too."""
    waves = records.waves
    frame = capture.waves
    columns = [
        frame[c].to_numpy(dtype=np.int64, na_value=-1) for c in ("wave", "se", "cu", "simd", "begin", "end")
    ]
    place = np.stack(columns[1:4], axis=1)
    traced = np.isin(columns[0], waves.wave)
    here = np.stack((waves.se, waves.cu, waves.simd), axis=1)
    known, number = np.unique(np.concatenate((here, place)), axis=0, return_inverse=True)
    number = number.reshape(-1)
    home = np.full(len(known), -1, np.int64)
    home[number[: len(waves)]] = waves.unit(simd=True)
    unit = home[number[len(waves) :]]
    other = ~traced & (unit >= 0)
    return np.stack((columns[4][other], columns[5][other]), axis=1), unit[other]


def _lonely(capture: Capture, records: Records, home: Ints) -> NDArray[np.bool_]:
    """Waves of which the trace cannot say whether others issued meanwhile."""
    waves = records.waves
    if len(waves) <= 1:
        return np.ones(len(waves), np.bool_)
    if capture.has("occupancy") or len(capture.waves) > len(waves):
        return np.zeros(len(waves), np.bool_)  # residents without records are known, and taken from there
    return np.asarray(np.bincount(home)[home] == 1)


def table(records: Records, tiles: Partition, s: Segments, e: Exposure) -> pd.DataFrame:
    """Waits by line: line, part, cause, culprit, cycles, exposed, hidden, covered, unknown, own_pipe.

    ``part`` is "launch", "idle", "stall" or "issue" (time inside a barrier or
    trap that the trace books as issue). Per line, launch and idle sum to AMD's
    idle, stall to AMD's stall; cycles of those that found no room in the wave
    are *unknown*.
    """
    at = np.flatnonzero(is_wait(s) & (s.r >= 0))
    cut_r, cut_cause, cut_culprit, _ = s.cut
    amounts, parts = [], []
    for part, cut in ((STALL, tiles.cut_stall), (IDLE, tiles.cut_idle)):
        amounts.append(cut[cut_r])
        parts.append(np.full(len(cut_r), part, np.int64))
    lost = np.concatenate(amounts)
    none = np.zeros(len(lost), np.int64)
    columns = {
        "line": (records.line[s.r[at]], np.tile(records.line[cut_r], 2)),
        "part": (s.part[at], np.concatenate(parts)),
        "cause": (s.cause[at], np.tile(cut_cause, 2)),
        "culprit": (s.culprit[at], np.tile(cut_culprit, 2)),
        "cycles": (s.cycles[at], lost),
        "exposed": (e.exposed[at], none),
        "hidden": (e.hidden[at], none),
        "covered": (e.covered[at], none),
        "unknown": (e.unknown[at], lost),
        "own_pipe": (e.own_pipe[at], none),
    }
    frame = pd.DataFrame({k: np.concatenate(v).astype(np.int64) for k, v in columns.items()})
    keys = ["line", "part", "cause", "culprit"]
    out = frame[frame["cycles"] > 0].groupby(keys, sort=True, as_index=False).sum()
    out["part"] = np.array(PARTS, dtype=object)[out["part"].to_numpy(np.int64)]
    out["cause"] = np.array([str(c) for c in CAUSES], dtype=object)[out["cause"].to_numpy(np.int64)]
    return out
