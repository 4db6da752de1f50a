"""Loops: iterations, cycles an iteration, prologue and epilogue, and how they feed the matrix pipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.attribution.exposure import SPLIT, is_wait
from isaprof.attribution.intervals import Axis, union
from isaprof.attribution.kinds import kinds
from isaprof.attribution.matrixpipe import MatrixPipe, lds_cover, matrix_pipe
from isaprof.attribution.model import CAUSES
from isaprof.attribution.overlay import under
from isaprof.attribution.partition import ISSUE, LAUNCH, STALL
from isaprof.attribution.regions import Region
from isaprof.attribution.skeleton import skeleton
from isaprof.attribution.static import Cls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.exposure import Exposure
    from isaprof.attribution.records import Records
    from isaprof.attribution.regions import Regions
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode

    Ints = NDArray[np.int64]


#: number of the row that stands for the whole kernel: the parent of its outermost loops
KERNEL = -1


@dataclass(frozen=True, slots=True)
class Loops:
    """What :func:`analyse_loops` finds; columns as in docs/attribution.md, "Loops".

    ``table``: one row a loop that was run. ``iterations``: loop, wave, t_iter
    (cycles from header to header), in time order. ``gaps``: loop, line,
    cause, culprit, cycles, gaps: what the wave that ended an idle stretch of the
    matrix pipe was doing in it.
    """

    table: pd.DataFrame
    iterations: pd.DataFrame
    gaps: pd.DataFrame


@dataclass(frozen=True, slots=True)
class _Given:
    code: StaticCode
    records: Records
    segments: Segments
    exposure: Exposure
    pipe: MatrixPipe
    home: Ints  #: SIMD of each wave
    axis: Axis
    cover: Ints
    executed: Ints  #: hits of each line
    kinds: tuple[str, ...]  #: kind of instruction of each line


def analyse_loops(
    code: StaticCode,
    records: Records,
    segments: Segments,
    exposure: Exposure,
    regions: Regions,
    wave_size: int,
) -> Loops:
    """The kernel as a whole (loop -1), then all loops that a traced wave ran, in order of address."""
    s = segments
    axis = Axis.around(s.begin, s.begin + s.cycles, records.waves.begin, records.waves.end)
    given = _Given(
        code, records, s, exposure, matrix_pipe(code, records), records.waves.unit(simd=True), axis,
        lds_cover(code, wave_size), np.bincount(records.line, minlength=len(code)).astype(np.int64),
        tuple(kinds(code)),
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    iterations: list[pd.DataFrame] = []
    gaps: list[pd.DataFrame] = []
    whole = [_kernel(given.executed)] if len(code) else []
    for loop in (*whole, *regions.loops):
        member = np.zeros(len(code), np.bool_)
        member[list(loop.lines)] = True
        if not (given.executed[member] > 0).any():
            continue
        row, per_iteration, idle = _one(given, loop, regions, member)
        rows.append(row)
        iterations.append(per_iteration)
        gaps.append(idle)
    empty: dict[str, list[int]] = {"loop": [], "wave": [], "t_iter": []}
    no_gaps: dict[str, list[int]] = {k: [] for k in ("loop", "line", "cause", "culprit", "cycles", "gaps")}
    return Loops(
        pd.DataFrame(rows),
        pd.concat(iterations, ignore_index=True) if iterations else pd.DataFrame(empty, dtype=np.int64),
        pd.concat(gaps, ignore_index=True) if gaps else pd.DataFrame(no_gaps, dtype=np.int64),
    )


def _kernel(executed: Ints) -> Region:
    """All code as a region of its own, number -1: what is said of loops holds for unrolled kernels, too."""
    ran = np.flatnonzero(executed).tolist() or [0]
    return Region(KERNEL, ran[0], tuple(range(ran[0], ran[-1] + 1)), (ran[0],), (), 0, KERNEL - 1)


def _one(
    g: _Given, loop: Region, regions: Regions, member: NDArray[np.bool_]
) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    rec = g.records
    inside = member[rec.line]
    first_run = np.zeros(len(rec), np.bool_)
    first_run[1:] = inside[1:] & (~inside[:-1] | (rec.w[1:] != rec.w[:-1]))
    first_run[:1] = inside[:1]
    run = np.cumsum(first_run) - 1  # number of the run a record inside the loop belongs to
    head = _seen(g, loop.head_lines, last=False)
    at = np.flatnonzero(inside & (rec.line == head))
    step = rec.issue[at[1:]] - rec.issue[at[:-1]] if len(at) else np.zeros(0, np.int64)
    whole = run[at[1:]] == run[at[:-1]] if len(at) else np.zeros(0, np.bool_)
    per_iteration = pd.DataFrame({"loop": loop.number, "wave": rec.waves.wave[rec.w[at[:-1][whole]]],
                                  "t_iter": step[whole]})  # fmt: skip
    latches = [_seen(g, lines, last=True) for lines in loop.latch_lines]
    back = inside & np.isin(rec.line, [x for x in latches if x >= 0])
    closing = back if back.any() else inside & (rec.line == head)
    count = np.bincount(rec.w[closing], minlength=len(rec.waves))
    ran = np.unique(rec.w[inside])
    count = count[ran]
    runs = int(first_run.sum())
    split = _split(g, member, ran)
    cycles = split["cycles"]
    total = int(g.segments.cycles.sum())
    iterations = max(int(count.sum()), 1)
    row: dict[str, Any] = {
        "loop": loop.number, "parent": loop.parent, "depth": loop.depth, "header": loop.header,
        "first_line": loop.lines[0], "last_line": loop.lines[-1],
        "pc": int(g.code.pc[loop.header]), "lines": len(loop.lines), "waves": len(ran), "runs": runs,
        "iterations": int(count.sum()),
        "iterations_min": int(count.min(initial=count.sum())), "iterations_max": int(count.max(initial=0)),
        **_distribution(per_iteration["t_iter"].to_numpy(np.int64)), **split,
        "share": cycles / total if total else 0.0,
        **_waits(g, member), "stalls": _stalls(g, member),
        **_matrix(g, member, inside, run, cycles, iterations),
        "skeleton": skeleton(g.code.instructions, loop, regions.loops, (g.executed > 0).tolist()),
    }  # fmt: skip
    return row, per_iteration, _idle_pipe(g, loop, member)


def _seen(g: _Given, lines: tuple[int, ...], *, last: bool) -> int:
    """The first or last of ``lines`` that leaves records (s_delay_alu does not); -1 if none does."""
    with_records = [i for i in lines if g.executed[i]]
    if not with_records:
        return -1
    return with_records[-1 if last else 0]


def _distribution(t: Ints) -> dict[str, Any]:
    """Of the cycles from one arrival at the header to the next; None where no wave came twice."""
    names = ("t_iter_min", "t_iter_p10", "t_iter_median", "t_iter_p90", "t_iter_max", "t_iter_mean")
    if not len(t):
        return dict.fromkeys(names)
    values = [*np.percentile(t, (0, 10, 50, 90, 100)).tolist(), float(t.mean())]
    return dict(zip(names, values, strict=True))


def _split(g: _Given, member: NDArray[np.bool_], ran: Ints) -> dict[str, int]:
    """Life of the waves that ran the loop: before it, in it, between runs of it, after it."""
    s, waves = g.segments, g.records.waves
    inside = _segments_inside(g, member)
    low = np.full(len(waves), np.iinfo(np.int64).max)
    high = np.full(len(waves), np.iinfo(np.int64).min)
    np.minimum.at(low, s.w[inside], s.begin[inside])
    np.maximum.at(high, s.w[inside], s.begin[inside] + s.cycles[inside])
    own = np.zeros(len(waves), np.int64)
    np.add.at(own, s.w[inside], s.cycles[inside])
    nowhere = own == 0  # all its records lie outside the wave's life: the whole of it is prologue
    low[nowhere] = high[nowhere] = waves.end[nowhere]
    prologue, epilogue = low[ran] - waves.begin[ran], waves.end[ran] - high[ran]
    return {
        "cycles": int(own[ran].sum()),
        "prologue": int(prologue.sum()),
        "between": int((high[ran] - low[ran] - own[ran]).sum()),
        "epilogue": int(epilogue.sum()),
    }


def _segments_inside(g: _Given, member: NDArray[np.bool_]) -> NDArray[np.bool_]:
    s = g.segments
    line = np.where(s.r >= 0, g.records.line[s.r], 0) if len(g.records) else np.zeros(len(s.r), np.int64)
    return np.asarray((s.r >= 0) & (s.part != LAUNCH) & member[line])


def _waits(g: _Given, member: NDArray[np.bool_]) -> dict[str, int]:
    inside = _segments_inside(g, member)
    e = g.exposure
    return {
        "issue": int(g.segments.cycles[inside & ~is_wait(g.segments)].sum()),
        **{name: int(getattr(e, name)[inside].sum()) for name in SPLIT},
    }


def _stalls(g: _Given, member: NDArray[np.bool_]) -> dict[str, int]:
    """Kind of instruction -> stall cycles of those of the loop, most first."""
    s = g.segments
    inside = _segments_inside(g, member) & (s.part == STALL)
    by_line = np.bincount(g.records.line[s.r[inside]], s.cycles[inside], minlength=len(g.kinds))
    sums: dict[str, int] = {}
    for line in np.flatnonzero(by_line).tolist():
        sums[g.kinds[line]] = sums.get(g.kinds[line], 0) + int(by_line[line])
    return dict(sorted(sums.items(), key=lambda x: -x[1]))


def _matrix(
    g: _Given, member: NDArray[np.bool_], inside: NDArray[np.bool_], run: Ints, cycles: int, iterations: int
) -> dict[str, Any]:
    """Busy cycles of the matrix pipe over loop cycles, issue gaps, LDS cover; None without matrix code."""
    rec, s = g.records, g.segments
    mine = inside[g.pipe.r]
    names = ("matrix_ops", "matrix_cycles", "matrix_efficiency", "matrix_share_of_wave", "matrix_gap_mean",
             "matrix_gap_median", "matrix_idle", "cover_needed", "cover_present")  # fmt: skip
    if not mine.any():
        return dict.fromkeys(names)
    busy = int(g.pipe.busy[mine].sum())
    where = _segments_inside(g, member)
    home = g.home[s.w[where]]
    key = g.axis.key
    on_simd = union(key(home, s.begin[where]), key(home, s.begin[where] + s.cycles[where]))
    simd_cycles = int(on_simd.before[-1])
    r = np.sort(g.pipe.r[mine])
    gap = rec.issue[r[1:]] - rec.issue[r[:-1]]
    gap = gap[run[r[1:]] == run[r[:-1]]]
    idle = (g.pipe.start - g.pipe.idle_from)[mine & _follows(g, member)]
    lds = inside & ((g.code.cls[rec.line] & int(Cls.LDS)) != 0)
    values = (
        int(mine.sum()), busy, busy / simd_cycles if simd_cycles else 0.0, busy / cycles if cycles else 0.0,
        float(gap.mean()) if len(gap) else None, float(np.median(gap)) if len(gap) else None,
        int(idle.sum()), float(g.cover[rec.line[lds]].sum()) / iterations, busy / iterations,
    )  # fmt: skip
    return dict(zip(names, values, strict=True))


def _follows(g: _Given, member: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Matrix operations whose predecessor on the SIMD is of the loop, too."""
    before = g.pipe.before
    return np.asarray((before >= 0) & member[g.records.line[np.maximum(before, 0)]])


def _idle_pipe(g: _Given, loop: Region, member: NDArray[np.bool_]) -> pd.DataFrame:
    """The segments under the idle stretches of the pipe, of the wave that ended each."""
    p, rec, s = g.pipe, g.records, g.segments
    at = np.flatnonzero(member[rec.line[p.r]] & _follows(g, member) & (p.start > p.idle_from))
    late = p.start[at] - rec.issue[p.r[at]]  # behind a queue execution comes later: look at the issue
    w = rec.w[p.r[at]]
    which, under_it, cycles = under(s, g.axis, w, p.idle_from[at] - late, p.start[at] - late)
    line = np.where(s.r[under_it] >= 0, rec.line[s.r[under_it]], -1)
    own = (s.part[under_it] == ISSUE) & ~is_wait(s)[under_it]
    frame = pd.DataFrame(
        {
            "loop": loop.number, "line": line, "cause": s.cause[under_it],
            "culprit": np.where(own, line, s.culprit[under_it]), "cycles": cycles, "gap": which,
        }
    )  # fmt: skip
    keys = ["loop", "line", "cause", "culprit"]
    groups = frame.groupby(keys, as_index=False, sort=True)
    out = groups.agg(cycles=("cycles", "sum"), gaps=("gap", "nunique"))
    out["cause"] = np.array([str(c) for c in CAUSES], dtype=object)[out["cause"].to_numpy(np.int64)]
    return out.sort_values("cycles", ascending=False, kind="stable", ignore_index=True)
