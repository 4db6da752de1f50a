"""From evidence to causes: each record's wait, cut into slices with a cause and a culprit."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution import contention, depend
from isaprof.attribution.constraints import CAUSE_CODE, Constraints
from isaprof.attribution.counters import Group, Op, Simulated
from isaprof.attribution.model import Cause
from isaprof.attribution.rules import FETCH_SLOTS, LDS_DONE
from isaprof.attribution.static import Cls
from isaprof.attribution.vgpr_banks import static_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode

#: ``until`` of a slice that lasts to the end of the wait
TO_END = np.iinfo(np.int64).max // 4


@dataclass(frozen=True, slots=True)
class Slices:
    """Slices of the waits, by record and time: each lasts from the one before to ``until``.

    Every record's last slice has ``until`` = :data:`TO_END`; ``start[r]`` is
    the position of the first slice of record r (``start`` has one more entry).
    """

    start: NDArray[np.int64]
    until: NDArray[np.int64]
    cause: NDArray[np.int64]
    culprit: NDArray[np.int64]
    ambiguous: NDArray[np.bool_]


class _Collector:
    """Gathers slices in any order of records; per record in time order."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._parts: list[tuple[NDArray[np.int64], ...]] = []
        self._early: list[tuple[NDArray[np.int64], ...]] = []
        self._rows = array("q")  # record, until, cause, culprit, ambiguous, one after the other

    def add(self, r: NDArray[np.int64], until: NDArray[np.int64], cause: object, culprit: object) -> None:
        """One slice for each of records ``r``."""
        self._parts.append(_slices(r, until, cause, culprit))

    def add_early(
        self, r: NDArray[np.int64], until: NDArray[np.int64], cause: object, culprit: object
    ) -> None:
        """As :meth:`add`, in front of what that adds with the same time."""
        self._early.append(_slices(r, until, cause, culprit))

    def add_one(self, r: int, until: int, cause: Cause, culprit: int, ambiguous: bool = False) -> None:
        """As :meth:`add_early`; of one record either only this or not at all."""
        self._rows.extend((r, until, CAUSE_CODE[cause], culprit, ambiguous))

    def finish(self) -> Slices:
        rest = np.arange(self.n)
        self.add(rest, np.full(self.n, TO_END), CAUSE_CODE[Cause.UNEXPLAINED], -1)
        rows = tuple(np.array(self._rows, np.int64).reshape(-1, 5).T)
        parts = (rows, *self._early, *self._parts)
        columns = [np.concatenate([p[k] for p in parts]) for k in range(5)]
        r, until = columns[0], columns[1]
        order = _by_record(r, until)
        r, until, cause, culprit, ambiguous = (c[order] for c in columns)
        start = np.searchsorted(r, np.arange(self.n + 1), side="left").astype(np.int64)
        return Slices(start, until, cause, culprit, ambiguous != 0)


def _slices(
    r: NDArray[np.int64], until: NDArray[np.int64], cause: object, culprit: object
) -> tuple[NDArray[np.int64], ...]:
    shape = (len(r),)
    return (
        r, until, np.broadcast_to(np.asarray(cause, np.int64), shape),
        np.broadcast_to(np.asarray(culprit, np.int64), shape), np.zeros(len(r), np.int64),
    )  # fmt: skip


def _by_record(r: NDArray[np.int64], until: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order by record and time: most records' slices come in time order, only the others are sorted."""
    order = np.argsort(r, kind="stable")
    r, until = r[order], until[order]
    late = r[1:][(r[1:] == r[:-1]) & (until[1:] < until[:-1])]
    if len(late):
        mixed = np.zeros(int(r[-1]) + 1, np.bool_)
        mixed[late] = True
        at = np.flatnonzero(mixed[r])
        order[at] = order[at[np.lexsort((until[at], r[at]))]]
    return order


@dataclass(frozen=True, slots=True)
class Context:
    """Everything the rules look at."""

    code: StaticCode
    records: Records
    simulated: Simulated
    begin: NDArray[np.int64]  #: cycle from which each record could have issued
    issue: NDArray[np.int64]  #: cycle each record issued
    conflicts: Mapping[int, int]  #: record number -> cycles added by LDS bank conflicts
    simd: NDArray[np.int64]  #: dense SIMD number of each record
    unit: NDArray[np.int64]  #: dense CU or WGP number of each record
    new: NDArray[np.bool_]  #: records of code that their wave runs for the first time


def explain(
    code: StaticCode,
    records: Records,
    window: NDArray[np.int64],
    simulated: Simulated,
    conflicts: Mapping[int, int] | None = None,
) -> Slices:
    """The slices of every record's wait (idle and stall together).

    ``window``: cycle from which each record could have issued; ``conflicts``:
    cycles that LDS bank conflicts added, by record number.
    """
    begin = np.minimum(
        np.maximum(window, np.where(records.hidden, records.hidden_until, window)), records.time
    )
    w = records.w
    ctx = Context(
        code, records, simulated, begin, records.issue, conflicts or {},
        records.waves.unit(simd=True)[w], records.waves.unit(simd=False)[w],
        _new_code(records, len(code)),
    )  # fmt: skip
    out = _Collector(len(records))
    hidden = np.flatnonzero(records.hidden)
    trapped = np.where(records.trapped[hidden], CAUSE_CODE[Cause.CONTEXT], CAUSE_CODE[Cause.UNEXPLAINED])
    out.add(hidden, records.hidden_until[hidden], trapped, -1)
    found = _constraints(ctx)
    internal = (code.cls[records.line] & int(Cls.INTERNAL)) != 0
    _explain_instructions(ctx, found, ~internal, out)
    _explain_internal(ctx, found, internal, out)
    return out.finish()


def _constraints(ctx: Context) -> Constraints:
    found = Constraints(len(ctx.records))
    depend.offer_order_rules(ctx.code, ctx.records, found)
    depend.offer_alu_waits(ctx.code, ctx.records, found)
    depend.offer_branches(ctx.code, ctx.records, found)
    depend.offer_register_dependencies(ctx.code, ctx.records, ctx.begin, found)
    contention.offer_matrix_pipe(ctx.code, ctx.records, ctx.simd, found)
    contention.offer_long_vector(ctx.code, ctx.records, ctx.simd, found)
    contention.offer_vector_drain(ctx.code, ctx.records, ctx.simd, found)
    return found


def _explain_instructions(
    ctx: Context, found: Constraints, wanted: NDArray[np.bool_], out: _Collector
) -> None:
    """Instructions that go to a pipe: strongest constraint, then pipe, other waves, fetch."""
    code, records = ctx.code, ctx.records
    issue = ctx.issue
    period = int(code.table.get("issue_period", 1))
    r = np.flatnonzero(wanted & (issue > ctx.begin))
    full = ctx.simulated.full
    k = np.flatnonzero((wanted & (issue > ctx.begin))[full.r])
    late, at_once = full.r[k], np.zeros(len(k), np.int64)
    found.offer_codes(late, issue[late], full.cause[k], full.line[k], at_once)
    ready = np.minimum(found.ready[r], issue[r])
    ready = np.where(issue[r] - ready <= found.slack[r], issue[r], ready)
    ready = np.maximum(ready, ctx.begin[r])
    out.add(r, ready, found.cause[r], found.culprit[r])

    # s_delay_alu and the like take an issue slot and leave no record
    r, at = _left(r, ready, issue)
    skipped = np.array([len(s) for s in code.skipped], np.int64)
    slots = np.minimum(skipped[records.line[r]] * period, issue[r] - at)
    before = np.array([s[-1] if s else -1 for s in code.skipped], np.int64)
    out.add(r, at + slots, CAUSE_CODE[Cause.ISSUE], before[records.line[r]])

    r, at = _left(r, at + slots, issue)
    untaken = _behind_lds(ctx, r)
    out.add(r[untaken], issue[r[untaken]], CAUSE_CODE[Cause.LDS_BUSY], records.line[r[untaken] - 2])
    r, at = r[~untaken], at[~untaken]
    cause, culprit = contention.busy_pipes(code, records, ctx.unit, r, at, _pipe_reach(code))
    stalled = (cause >= 0) & (records.time[r] < issue[r])
    held = np.maximum(at, records.time[r])  # a full pipe shows as stall, not as idle time
    gap = _fetches(ctx, r, held - at)
    out.add(r[gap], held[gap], CAUSE_CODE[Cause.FETCH], -1)
    idle = stalled & ~gap
    out.add(r[idle], held[idle], CAUSE_CODE[Cause.UNEXPLAINED], -1)
    out.add(r[stalled], issue[r[stalled]], cause[stalled], culprit[stalled])

    r, at = r[~stalled], np.where(gap, held, at)[~stalled]
    r, at = _left(r, at, issue)
    until, cause, culprit = contention.vector_backlog(code, records, ctx.simd, r, at)
    busy = until > at
    out.add(r[busy], until[busy], cause[busy], culprit[busy])
    r, at = _left(r, np.maximum(at, until), issue)
    taken = contention.lost_arbitration(code, records, ctx.simd, r, at)
    until = np.minimum(at + taken.cycles, issue[r])
    out.add(r, until, CAUSE_CODE[Cause.ARBITRATION], taken.culprit)
    r, at = _left(r, until, issue)
    until, behind = _bank_conflicts(ctx, r, at)
    out.add(r, until, CAUSE_CODE[Cause.VGPR_CONFLICT], behind)
    r, at = _left(r, until, issue)
    # an inference: right behind another one of its kind, and stalled, not idle
    pipes = contention.SCALAR_PIPE
    if int(code.table.get("valu_queue", 1)) > 1:
        pipes = (*contention.VECTOR_PIPE, *pipes)
    cause, culprit = contention.busy_pipes(code, records, ctx.simd, r, at, 2 * period, pipes)
    matrix = (cause == CAUSE_CODE[Cause.VALU_BUSY]) & (
        (code.cls[np.maximum(culprit, 0)] & int(Cls.MATRIX)) != 0
    )
    cause = np.where(matrix, CAUSE_CODE[Cause.MATRIX_BUSY], cause)
    held = (cause >= 0) & (records.time[r] <= at) & ~_fetches(ctx, r, issue[r] - at)
    out.add(r[held], issue[r[held]], cause[held], culprit[held])
    r, at = r[~held], at[~held]
    # the code was on its way from the begin of the wait on, whatever else it waited for meanwhile
    idle = (records.time[r] == issue[r]) & (2 * (issue[r] - at) >= FETCH_SLOTS * period)
    cold = _fetches(ctx, r, np.where(idle, issue[r] - ctx.begin[r], issue[r] - at))
    out.add(r[cold], issue[r[cold]], CAUSE_CODE[Cause.FETCH], -1)


def _behind_lds(ctx: Context, r: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Vector instructions right behind a wait right behind an LDS instruction, where those wait for LDS.

    RDNA: such a one issues 7 cycles after the LDS instruction, and as much later as LDS is late to take
    that one up (VMEMEXEC packets of public gfx1100 and gfx1200 traces), however satisfied the wait is.
    """
    if "lds_taken_to_valu" not in ctx.code.table or not len(r):
        return np.zeros(len(r), np.bool_)
    records, cls = ctx.records, ctx.code.cls[ctx.records.line]
    inside = r - 2 >= records.first[records.w[r]]
    waits = np.array([bool(i.waits) for i in ctx.code.instructions], np.bool_)[records.line]
    one, two = np.maximum(r - 1, 0), np.maximum(r - 2, 0)
    lds = (cls[two] & int(Cls.LDS)) != 0
    return np.asarray(inside & ((cls[r] & int(Cls.VALU)) != 0) & waits[one] & lds)


def _bank_conflicts(
    ctx: Context, r: NDArray[np.int64], at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(explained until, culprit line): behind an instruction whose sources share a VGPR bank.

    A conflict of registers delays every execution alike, so it counts only
    where the trace shows it: the line came at least twice, each time right
    behind the same instruction, and each time at least the extra cycles of its
    conflict are left without any other reason.
    """
    records = ctx.records
    extra = static_extra(ctx.code)
    none = np.full(len(r), -1, np.int64)
    if not extra.any() or not len(r):
        return at, none
    line, n = records.line, len(ctx.code)
    previous = np.full(len(records), -1, np.int64)
    previous[1:] = np.where(records.is_first[1:], -1, line[:-1])
    cost = np.where(previous >= 0, extra[np.maximum(previous, 0)], 0)
    shown = (cost[r] > 0) & (ctx.issue[r] - at >= cost[r])
    times = np.bincount(line, minlength=n)
    steady = np.bincount(line[r[shown]], minlength=n) == times
    good = shown & steady[line[r]] & (times[line[r]] >= 2)
    return np.where(good, at + cost[r], at), np.where(good, previous[r], -1)


def _left(
    r: NDArray[np.int64], at: NDArray[np.int64], issue: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The records whose wait is not explained up to their issue yet."""
    open_ = issue[r] > at
    return r[open_], at[open_]


def _pipe_reach(code: StaticCode) -> int:
    """How long one memory instruction may hold up the next of its kind, cycles.

    CDNA: a queue of about 12 requests per CU drained at up to 64 cycles each
    (uncoalesced stores, one lane address per cycle); RDNA: bursts of four
    SIMDs were seen to queue 17 to 32 cycles (public hardware traces).
    """
    queue = int(code.table.get("vmem_queue_per_cu", 0))
    return queue * 64 if queue else 32


def _fetches(ctx: Context, r: NDArray[np.int64], gap: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Gaps long enough, in front of an instruction that the wave runs for the first time."""
    period = int(ctx.code.table.get("issue_period", 1))
    return np.asarray((gap >= FETCH_SLOTS * period) & ctx.new[r])


def _new_code(records: Records, lines: int) -> NDArray[np.bool_]:
    """Records of code that their wave runs for the first time; ``lines``: how many there are."""
    _, index = np.unique(records.w * lines + records.line, return_index=True)
    out = np.zeros(len(records), np.bool_)
    out[index] = True
    return out


# -- waits, nops, barriers ---------------------------------------------------
def _explain_internal(ctx: Context, found: Constraints, wanted: NDArray[np.bool_], out: _Collector) -> None:
    """Instructions of the sequencer: counter waits, s_nop, s_sleep, barriers, the rest."""
    code, records = ctx.code, ctx.records
    satisfied = int(code.table.get("wait_satisfied", 1))
    issue = ctx.issue
    none = -1
    nops = np.array([none if (n := _nop_cycles(code, i)) is None else n for i in range(len(code))], np.int64)
    cold = _fetches(ctx, np.arange(len(records)), issue - ctx.begin)
    r = np.flatnonzero(wanted & (issue > ctx.begin))
    kind, begin, end = code.cls[records.line[r]], ctx.begin[r], issue[r]
    is_nop, is_barrier = (kind & int(Cls.NOP)) != 0, (kind & int(Cls.BARRIER)) != 0
    blocked = np.minimum(found.ready[r], end)
    short = (end - begin <= satisfied) & ~is_nop & ~is_barrier
    out.add_early(r[short], end[short], CAUSE_CODE[Cause.ISSUE], -1)

    unsatisfied = ~short & (end - np.maximum(blocked, begin) > satisfied)
    waits = _explain_waits(ctx, r[unsatisfied], out)
    rest = ~short
    rest[unsatisfied] = ~waits
    r, begin, end, blocked, is_nop, is_barrier = (
        x[rest] for x in (r, begin, end, blocked, is_nop, is_barrier)
    )
    some = blocked > begin
    out.add_early(r[some], blocked[some], found.cause[r[some]], found.culprit[r[some]])
    begin = np.maximum(begin, blocked)

    line, cycles = records.line[r], nops[records.line[r]]
    late = is_nop & (cycles != none) & (end - cycles - begin > satisfied)
    why = np.where(cold[r[late]], CAUSE_CODE[Cause.FETCH], CAUSE_CODE[Cause.UNEXPLAINED])
    out.add_early(r[late], (end - cycles)[late], why, -1)
    near = end - begin <= 2 * satisfied
    left = ~is_nop & ~is_barrier
    for mine, cause, culprit in (
        (is_nop, Cause.NOP, line),
        (is_barrier & ~is_nop, Cause.BARRIER, line),
        (left & near, Cause.ISSUE, np.full(len(r), -1)),
        (left & ~near & cold[r], Cause.FETCH, np.full(len(r), -1)),
    ):
        out.add_early(r[mine], end[mine], CAUSE_CODE[cause], culprit[mine])


def _explain_waits(ctx: Context, r: NDArray[np.int64], out: _Collector) -> NDArray[np.bool_]:
    """Which of records ``r`` are unsatisfied counter waits; those are explained."""
    single, issue = ctx.simulated.single, ctx.issue
    place = np.full(len(ctx.records), -1, np.int64)
    place[single.r] = np.arange(len(single.r))
    at = place[r]
    alone = at >= 0
    at, mine = at[alone], r[alone]
    conflicts = np.zeros(len(ctx.records), np.int64)
    conflicts[list(ctx.conflicts)] = list(ctx.conflicts.values())
    extra = conflicts[single.op[at]]
    late = extra != 0
    # without conflicts the data would have been there so much earlier
    early = np.maximum(ctx.begin[mine], issue[mine] - extra)
    out.add_early(mine[late], early[late], single.cause[at[late]], single.line[at[late]])
    cause = np.where(late, CAUSE_CODE[Cause.LDS_CONFLICT], single.cause[at])
    out.add_early(mine, issue[mine], cause, single.line[at])

    done = LDS_DONE.get(str(ctx.code.table.get("issue_model")), 0)
    several = ctx.simulated.several
    others = np.flatnonzero(~alone)
    others = others[np.isin(r[others], np.fromiter(several, np.int64, len(several)))]
    for k in r[others].tolist():
        _explain_wait(ctx, k, several[k], out, done)
    alone[others] = True
    return alone


def _nop_cycles(code: StaticCode, line: int) -> int | None:
    """How long an s_nop lasts; None for other lines (s_sleep is only about 64 cycles a count)."""
    x = code.instructions[line]
    if x.base != "s_nop":
        return None
    m = re.search(r"0x[0-9a-fA-F]+|\d+", x.text.removeprefix("s_nop"))
    return (int(m.group(), 0) + 1 if m else 1) * int(code.table.get("nop_cycles_per_count", 1))


def _explain_wait(ctx: Context, r: int, groups: tuple[Group, ...], out: _Collector, done: int) -> None:
    """An unsatisfied wait for one of several: who may have ended it, and until when.

    Beside others an LDS operation that is surely ``done`` so many cycles after
    its issue (LDS_DONE) is no longer a candidate, as long as one is left; what
    remains undecided is divided equally between the candidates and marked ambiguous.
    """
    begin, end = int(ctx.begin[r]), int(ctx.issue[r])
    issue = ctx.issue
    candidates: dict[int, Op] = {}
    for g in groups:
        candidates.update((op.r, op) for op in g.culprits)
    last = {
        op.r: int(issue[op.r]) + done if op.cause is Cause.WAIT_LDS else TO_END for op in candidates.values()
    }
    if (latest := max(last.values())) <= begin:
        last = dict.fromkeys(last, TO_END)  # slower than any seen; the counters leave no one else
    elif latest < end:  # LDS alone, under load: the youngest are left
        last = {k: TO_END if t == latest else t for k, t in last.items()}
    stops = sorted({min(t, end) for t in last.values() if t > begin})
    for stop in stops:
        ops = [op for op in candidates.values() if last[op.r] >= stop]
        lines = list(dict.fromkeys((op.line, op.cause) for op in ops))
        if len(ops) == 1 and (extra := ctx.conflicts.get(ops[0].r, 0)) and stop == end:
            out.add_one(r, max(begin, stop - extra), ops[0].cause, ops[0].line)
            out.add_one(r, stop, Cause.LDS_CONFLICT, ops[0].line)
            continue
        for n, (line, cause) in enumerate(lines, start=1):
            until = begin + (stop - begin) * n // len(lines)
            out.add_one(r, until, cause, line, ambiguous=len(lines) > 1)
        begin = stop
