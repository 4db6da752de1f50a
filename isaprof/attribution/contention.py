"""What an instruction waits for because something else keeps the resource: pipes, queues, other waves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.model import Cause
from isaprof.attribution.static import Cls
from isaprof.attribution.vgpr_banks import static_extra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.constraints import Constraints
    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode


@dataclass(frozen=True, slots=True)
class Streams:
    """Records of one class in issue order, grouped by unit (SIMD or CU): ``key`` is sorted.

    ``key = unit * span + issue - low`` makes one search serve all units.
    """

    r: NDArray[np.int64]
    unit: NDArray[np.int64]
    key: NDArray[np.int64]
    span: int
    low: int

    def before(self, unit: NDArray[np.int64], cycle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Position of the last record of ``unit`` that issued before ``cycle``; -1 if none."""
        at = np.searchsorted(self.key, self.keys(unit, cycle), side="left") - 1
        ok = (at >= 0) & (self.unit[np.maximum(at, 0)] == unit) if len(self.r) else np.zeros(len(at), bool)
        return np.where(ok, at, -1)

    def keys(self, unit: NDArray[np.int64], cycle: NDArray[np.int64]) -> NDArray[np.int64]:
        """Search keys, clipped so that they stay inside their unit."""
        return np.asarray(unit * self.span + np.clip(cycle - self.low, 0, self.span - 1))


def stream(
    records: Records, unit: NDArray[np.int64], wanted: NDArray[np.bool_], issue: NDArray[np.int64]
) -> Streams:
    """The ``wanted`` records by unit and issue time (``unit`` per record)."""
    r = np.flatnonzero(wanted)
    low = int(issue.min()) if len(issue) else 0
    span = (int(issue.max()) - low + 2) if len(issue) else 2
    key = unit[r] * span + (issue[r] - low)
    order = np.argsort(key, kind="stable")
    return Streams(r[order], unit[r[order]], key[order], span, low)


def offer_matrix_pipe(code: StaticCode, records: Records, simd: NDArray[np.int64], out: Constraints) -> None:
    """Behind a matrix instruction of the SIMD, of whichever wave.

    The matrix pipe is taken for 4 x passes cycles (AMD matrix instruction
    calculator, SISchedule.td). On CDNA other VALU instructions may issue
    ``matrix_to_valu`` cycles after it (gfx950: 8, measured), packed f32 after
    4 x (passes + 3), as does whatever takes every VALU port; f32 and f64 types
    block the VALU for the whole time.
    """
    table = code.table
    if "matrix_to_valu" not in table and not any(r.blocks_valu for r in table.get("matrix", ())):
        return
    cls = code.cls[records.line]
    is_matrix = (cls & int(Cls.MATRIX)) != 0
    if not is_matrix.any() or table.get("valu_queue", 1) > 1:
        return  # behind a queue, the issue of a matrix instruction says nothing about its execution
    period = int(table.get("issue_period", 1))
    starts = records.issue + code.scale_slot[records.line]
    pipe = stream(records, simd, is_matrix, starts)
    users = np.flatnonzero((cls & int(Cls.VALU)) != 0)
    at = pipe.before(simd[users], starts[users])
    users, at = users[at >= 0], at[at >= 0]
    m = pipe.r[at]
    line = records.line[m]
    busy = code.occupancy[line]
    blocks = _blocks_valu(code)[line]
    kind = cls[users]
    to_valu = int(table.get("matrix_to_valu", 0))
    packed = period * int(table.get("matrix_to_packed_extra_passes", 0))
    hold = np.where(
        (kind & int(Cls.MATRIX)) != 0, busy,
        np.where(blocks, busy, np.where((kind & int(Cls.PACKED)) != 0, busy + packed, to_valu)),
    )  # fmt: skip
    grain = int(table.get("time_grain", 1))
    out.offer(users, starts[m] + hold, Cause.MATRIX_BUSY, line, grain)


def _blocks_valu(code: StaticCode) -> NDArray[np.bool_]:
    import re

    rules = code.table.get("matrix", ())

    def blocks(base: str) -> bool:
        return next((bool(r.blocks_valu) for r in rules if re.fullmatch(r.pattern, base)), False)

    matrix = (code.cls & int(Cls.MATRIX)) != 0
    out = np.zeros(len(code), np.bool_)
    for i in np.flatnonzero(matrix).tolist():
        out[i] = blocks(code.instructions[i].base)
    return out


@dataclass(frozen=True, slots=True)
class VectorPipe:
    """RDNA: when each vector operation of a SIMD is through its pipe, in issue order.

    The VALU sits behind an in-order queue: issue is not execution (public
    gfx1100 and gfx1200 traces). Operation i is through at
    max(through[i-1], issue[i]) + occupancy[i], with the occupancies of the
    architecture table (WMMA 8, 16 or 32; transcendental 4; 64-bit 2) and what
    operands in one VGPR bank add to them.
    """

    stream: Streams
    through: NDArray[np.int64]


def vector_pipe(code: StaticCode, records: Records, simd: NDArray[np.int64]) -> VectorPipe | None:
    """The modelled vector pipe; None on architectures without a queue in front of it."""
    if int(code.table.get("valu_queue", 1)) <= 1:
        return None
    cls = code.cls[records.line]
    queue = stream(records, simd, (cls & int(Cls.VALU)) != 0, records.issue)
    if not len(queue.r):
        return None
    occupancy = (code.occupancy + static_extra(code))[records.line[queue.r]]
    total = np.cumsum(occupancy)
    slack = records.issue[queue.r] - (total - occupancy)
    span = int(slack.max() - slack.min()) + 1
    shifted = (slack - slack.min()) + queue.unit * span
    through = np.maximum.accumulate(shifted) - queue.unit * span + slack.min() + total
    return VectorPipe(queue, np.asarray(through))


def offer_long_vector(code: StaticCode, records: Records, simd: NDArray[np.int64], out: Constraints) -> None:
    """CDNA: behind a vector instruction of the SIMD, of whichever wave, that takes its port for long.

    Occupancies of the architecture table (transcendentals, quarter rate, f64).
    On RDNA they stand in the queue, see :func:`vector_backlog`.
    """
    if int(code.table.get("valu_queue", 1)) > 1:
        return
    vector = (code.cls & int(Cls.VALU)) != 0
    slow = vector & ((code.cls & int(Cls.MATRIX)) == 0)
    slow &= code.occupancy > int(code.table.get("issue_period", 1))
    pipe = stream(records, simd, slow[records.line], records.issue)
    users = np.flatnonzero(vector[records.line])
    at = pipe.before(simd[users], records.issue[users])
    users, at = users[at >= 0], at[at >= 0]
    if len(at):
        line = records.line[pipe.r[at]]
        ready = records.issue[pipe.r[at]] + code.occupancy[line]
        out.offer(users, ready, Cause.VALU_BUSY, line, int(code.table.get("time_grain", 1)))


def offer_vector_drain(code: StaticCode, records: Records, simd: NDArray[np.int64], out: Constraints) -> None:
    """RDNA: memory instructions wait until the wave's queued vector operations have retired.

    The order rule "VALU to memory" counts from the issue of the last VALU
    instruction; behind WMMAs that one executes much later (LLVM
    AMDGPUInsertDelayAlu.cpp: VA_VDST == 0 before LDS, VMEM and exports).
    """
    from isaprof.attribution.depend import last_of
    from isaprof.attribution.rules import MEMORY

    pipe = vector_pipe(code, records, simd)
    cycles = code.table.get("valu_to_mem")
    if pipe is None or cycles is None or "wait_valu_retired" not in code.table:
        return
    cls = code.cls[records.line]
    through = np.zeros(len(records), np.int64)
    through[pipe.stream.r] = pipe.through
    last = last_of((cls & int(Cls.VALU)) != 0, records.first[records.w])
    at = np.flatnonzero(((cls & int(MEMORY)) != 0) & (last >= 0))
    producer = last[at]
    ready = through[producer] + int(cycles) - int(code.table.get("issue_period", 1))
    matrix = (cls[producer] & int(Cls.MATRIX)) != 0
    for pick, cause in ((matrix, Cause.MATRIX_DEP), (~matrix, Cause.VALU_DEP)):
        out.offer(at[pick], ready[pick], cause, records.line[producer[pick]], 3)


#: backlog from which the queue in front of the vector pipe counts as the reason of a wait, cycles
_BACKLOG = 8
#: an operation is reported complete up to so many cycles after it is through the pipe: 7-16 for WMMA
_COMPLETION = 16


def vector_backlog(
    code: StaticCode,
    records: Records,
    simd: NDArray[np.int64],
    at: NDArray[np.int64],
    begin: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(explained until, cause code, culprit line) of waits of vector instructions behind a busy pipe.

    RDNA: with work queued in front of the SIMD's vector pipe, a vector
    instruction (of whichever wave) issues only as a place becomes free, and a
    scalar one right behind a vector one of its wave waits with it. To blame is
    the operation in the pipe when the record issued.
    """
    from isaprof.attribution.constraints import CAUSE_CODE

    none = np.full(len(at), -1, np.int64)
    pipe = vector_pipe(code, records, simd)
    if pipe is None or not len(at):
        return begin.copy(), none, none
    cls = code.cls[records.line]
    kind = cls[at]
    behind = np.zeros(len(at), np.bool_)
    inner = at > records.first[records.w[at]]
    behind[inner] = (cls[at[inner] - 1] & int(Cls.VALU)) != 0
    scalar = ((kind & int(Cls.SALU | Cls.BRANCH)) != 0) & behind
    eligible = ((kind & int(Cls.VALU)) != 0) | scalar
    last = pipe.stream.before(simd[at], records.issue[at])
    free = np.where(last >= 0, pipe.through[np.maximum(last, 0)], begin)
    eligible &= free - begin > _BACKLOG
    until = np.where(eligible, np.minimum(free + _COMPLETION, records.issue[at]), begin)
    # the operation that was in the pipe at the end of the wait
    rank = pipe.through + (pipe.stream.unit * pipe.stream.span - pipe.stream.low)
    place = np.searchsorted(rank, simd[at] * pipe.stream.span - pipe.stream.low + until - _COMPLETION)
    place = np.minimum(place, np.maximum(last, 0))
    op = pipe.stream.r[place]
    matrix = (cls[op] & int(Cls.MATRIX)) != 0
    cause = np.where(matrix, CAUSE_CODE[Cause.MATRIX_BUSY], CAUSE_CODE[Cause.VALU_BUSY])
    return until, cause, np.where(eligible, records.line[op], -1)


@dataclass(frozen=True, slots=True)
class Taken:
    """Who else issued in a window: cycles explained at its end, and the last line that did."""

    cycles: NDArray[np.int64]
    culprit: NDArray[np.int64]


#: instructions that compete for one issue port of a SIMD
ARBITRATED = (Cls.VALU, Cls.SALU, Cls.BRANCH)


def lost_arbitration(
    code: StaticCode,
    records: Records,
    simd: NDArray[np.int64],
    at: NDArray[np.int64],
    begin: NDArray[np.int64],
) -> Taken:
    """Issue slots between ``begin`` and the issue of records ``at`` that another wave of the SIMD took.

    One instruction of each type per SIMD and issue slot, from different waves
    (rocprofiler-compute documentation; checked on public traces).
    """
    cls = code.cls[records.line]
    period = int(code.table.get("issue_period", 1))
    cycles = np.zeros(len(at), np.int64)
    culprit = np.full(len(at), -1, np.int64)
    for kind in ARBITRATED:
        others = stream(records, simd, (cls & int(kind)) != 0, records.issue)
        pick = np.flatnonzero((cls[at] & int(kind)) != 0)
        if not len(pick) or not len(others.r):
            continue
        r = at[pick]
        low = np.searchsorted(others.key, others.keys(simd[r], begin[pick]), side="left")
        high = np.searchsorted(others.key, others.keys(simd[r], records.issue[r]), side="left")
        other = np.concatenate(([0], np.cumsum(np.ones(len(others.r), np.int64))))
        n = other[high] - other[low]  # the wave itself issued nothing in its own wait
        cycles[pick] = n * period
        found = n > 0
        culprit[pick[found]] = records.line[others.r[high[found] - 1]]
    return Taken(cycles, culprit)


#: how long after an instruction of the same kind its pipe may still hold the next one up, cycles
PIPES: tuple[tuple[Cls, Cause], ...] = (
    (Cls.VMEM, Cause.VMEM_BUSY),
    (Cls.LDS, Cause.LDS_BUSY),
    (Cls.SMEM, Cause.SMEM_BUSY),
)
#: the queue in front of RDNA's vector pipe: a vector instruction that is stalled, not idle, and that no other
#: wave kept from issuing stands before a full queue, whatever holds that up (dependent operations)
VECTOR_PIPE: tuple[tuple[Cls, Cause], ...] = ((Cls.VALU, Cause.VALU_BUSY),)
#: the scalar ALU of a SIMD, looked at after lost arbitration: what is left when no other wave took the slots
SCALAR_PIPE: tuple[tuple[Cls, Cause], ...] = ((Cls.SALU, Cause.SALU_BUSY),)


def busy_pipes(
    code: StaticCode,
    records: Records,
    unit: NDArray[np.int64],
    at: NDArray[np.int64],
    begin: NDArray[np.int64],
    reach: int,
    pipes: tuple[tuple[Cls, Cause], ...] = PIPES,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(cause code or -1, culprit line) of records ``at`` that wait on their pipe, one of ``pipes``.

    Evidence: an instruction of the same kind, by any traced wave of ``unit`` (of memory the CU
    or WGP, of the scalar ALU the SIMD), issued at most ``reach`` cycles before ``begin`` or during the wait.
    The youngest one of the own wave is to blame if there is one in that time,
    else the youngest of another.
    """
    from isaprof.attribution.constraints import CAUSE_CODE
    from isaprof.attribution.depend import last_of

    cls = code.cls[records.line]
    cause = np.full(len(at), -1, np.int64)
    culprit = np.full(len(at), -1, np.int64)
    first = records.first[records.w] if len(records) else np.zeros(0, np.int64)
    for kind, name in pipes:
        is_kind = (cls & int(kind)) != 0
        pick = np.flatnonzero(is_kind[at])
        if not len(pick):
            continue
        r, start = at[pick], begin[pick] - reach
        own = last_of(is_kind, first)[r]
        recent = (own >= 0) & (records.issue[np.maximum(own, 0)] >= start)
        pipe = stream(records, unit, is_kind, records.issue)
        other = pipe.before(unit[r], records.issue[r])
        other_r = np.where(other >= 0, pipe.r[np.maximum(other, 0)], -1)
        near = (other_r >= 0) & (records.issue[np.maximum(other_r, 0)] >= start)
        blame = np.where(recent, own, other_r)
        ok = recent | near
        cause[pick[ok]] = CAUSE_CODE[name]
        culprit[pick[ok]] = records.line[blame[ok]]
    return cause, culprit
