"""Which memory instructions each wait really waited for: the wait counters, simulated per wave.

Rules (LLVM SIInsertWaitcnts.cpp, AMD's ISA guides; the same as in the
MIT-licensed wait-count analysis of rocprofv3's att-tool):

* an instruction increments the counters that the architecture's
  ``counter_model`` names for it (gfx9: loads and stores share vmcnt; gfx10+:
  stores count on vscnt; FLAT counts on two counters);
* a counter that holds operations of one ordered kind completes oldest first:
  a wait for N releases the oldest (length - N) operations, and the youngest of
  those is the one that ended the wait;
* scalar loads, FLAT, messages and mixtures of kinds on one counter return in
  any order: any outstanding operation may have been the one;
* a counter is finite: at its maximum the next instruction of the kind cannot
  issue before the oldest is done. All ones in a wait field is no wait (the
  decoder leaves such a field out).
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isaprof.analysis.waits import Kind, in_order, kind_of
from isaprof.attribution.model import Cause

if TYPE_CHECKING:
    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode
    from isaprof.isa.model import Instruction

_CAUSE_OF_KIND: Mapping[Kind, Cause] = {
    Kind.LOAD: Cause.WAIT_LOAD, Kind.STORE: Cause.WAIT_STORE, Kind.LDS: Cause.WAIT_LDS,
    Kind.SMEM: Cause.WAIT_SMEM, Kind.SAMPLE: Cause.WAIT_LOAD, Kind.BVH: Cause.WAIT_LOAD,
    Kind.MESSAGE: Cause.WAIT_SMEM, Kind.EXPORT: Cause.WAIT_EXPORT, Kind.FLAT: Cause.WAIT_LOAD,
    Kind.GDS: Cause.WAIT_EXPORT, Kind.CACHE: Cause.WAIT_STORE,
}  # fmt: skip
#: counters with a cause of their own, whatever is counted on them
_CAUSE_OF_COUNTER: Mapping[str, Cause] = {
    "expcnt": Cause.WAIT_EXPORT, "asynccnt": Cause.WAIT_ASYNC, "tensorcnt": Cause.WAIT_ASYNC,
}  # fmt: skip


class Op(NamedTuple):
    """One executed operation on a counter: record number, line, what waiting for it is called."""

    r: int
    line: int
    kind: Kind
    cause: Cause


class Group(NamedTuple):
    """What one counter of one executed wait had to wait for.

    ``culprits``: the operation that ended the wait, or, with ``ordered``
    False, all that may have. ``released``: all operations known to be done
    afterwards that were not before, oldest first.
    """

    counter: str
    ordered: bool
    culprits: tuple[Op, ...]
    released: tuple[Op, ...]


@dataclass(slots=True)
class Simulated:
    """Result of :func:`simulate`, keyed by record number (``pending`` by wave position)."""

    waits: dict[int, tuple[Group, ...]] = field(default_factory=dict)
    full: dict[int, Op] = field(default_factory=dict)  #: issued with the counter full: the oldest operation
    pending: dict[int, tuple[Op, ...]] = field(default_factory=dict)  #: outstanding at the wave's end


_IN_ORDER = {kind: in_order(frozenset((kind,))) for kind in Kind}


class _Counter:
    """Outstanding operations of one counter of one wave."""

    __slots__ = ("count", "kind", "ops")

    def __init__(self) -> None:
        self.ops: deque[Op] = deque()
        self.count = 0  # at most so many of ``ops`` are outstanding
        self.kind: Kind | None = None  # of all ``ops``; None: not the same for all

    @property
    def ordered(self) -> bool:
        if self.kind is not None:
            return _IN_ORDER[self.kind]
        return in_order(frozenset(op.kind for op in self.ops))

    def push(self, op: Op, maximum: int | None) -> Op | None:
        """Count ``op``; the oldest operation if the counter was full."""
        oldest = None
        if maximum is not None and self.count >= maximum and self.ops:
            oldest = self.ops[0]
            if self.ordered:
                self.ops.popleft()
            self.count -= 1
        if not self.ops:
            self.kind = op.kind
        elif op.kind is not self.kind:
            self.kind = None
        self.ops.append(op)
        self.count += 1
        return oldest

    def wait(self, counter: str, n: int) -> Group | None:
        """Wait until at most ``n`` are outstanding; None when that holds already."""
        if self.count <= n:
            return None
        ordered = self.ordered
        if n == 0:
            done = tuple(self.ops)
            group = Group(counter, ordered, (done[-1],) if ordered else done, done)
            self.ops.clear()
        elif ordered:
            done = tuple([self.ops.popleft() for _ in range(self.count - n)])
            group = Group(counter, True, (done[-1],), done)
        else:
            group = Group(counter, False, tuple(self.ops), ())
        self.count = n
        return group


def op_cause(ins: Instruction, kind: Kind, counter: str) -> Cause:
    """What a wait for ``ins`` on ``counter`` is called."""
    if counter in _CAUSE_OF_COUNTER:
        return _CAUSE_OF_COUNTER[counter]
    if kind is Kind.FLAT and ins.mem is not None and not ins.mem.load:
        return Cause.WAIT_STORE
    return _CAUSE_OF_KIND[kind]


def simulate(code: StaticCode, records: Records) -> Simulated:
    """Run the counters of every wave over its records."""
    # many small objects, none in a cycle: looking for cycles again and again takes longer than the work
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _simulate(code, records)
    finally:
        if collecting:
            gc.enable()


def _simulate(code: StaticCode, records: Records) -> Simulated:
    maxima: Mapping[str, int] = code.table.get("counter_max", {})
    kinds = {i: k for i, x in enumerate(code.instructions) if (k := kind_of(x)) is not None}
    waits = {i: x.waits for i, x in enumerate(code.instructions) if x.waits}
    raised = {}
    for i, kind in kinds.items():
        x = code.instructions[i]
        raised[i] = [(c, kind, op_cause(x, kind, c), maxima.get(c)) for c in x.counters]
    out = Simulated()
    # only records of these lines matter
    concerned = np.zeros(len(code), np.bool_)
    concerned[[*waits, *kinds]] = True
    at = np.flatnonzero(concerned[records.line])
    line = records.line[at].tolist()
    first, last = (np.searchsorted(at, x).tolist() for x in (records.first, records.last))
    numbers = at.tolist()
    for w in range(len(records.waves)):
        counters: dict[str, _Counter] = {}
        for r, i in zip(numbers[first[w] : last[w]], line[first[w] : last[w]], strict=True):
            if i in waits:
                groups = [
                    g
                    for counter, n in waits[i]
                    if (c := counters.get(counter)) is not None and (g := c.wait(counter, n)) is not None
                ]
                if groups:
                    out.waits[r] = tuple(groups)
            for counter, kind, cause, maximum in raised.get(i, ()):
                c = counters.get(counter)
                if c is None:
                    c = counters[counter] = _Counter()
                oldest = c.push(Op(r, i, kind, cause), maximum)
                if oldest is not None:
                    out.full.setdefault(r, oldest)
        pending = tuple(op for c in counters.values() for op in c.ops if c.count)
        if pending:
            out.pending[w] = tuple(sorted(pending, key=lambda op: op.r))
    return out
