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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isaprof.analysis.waits import Kind, in_order, kind_of
from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.model import Cause

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


class Found(NamedTuple):
    """By record: the one operation that it waited for, as a record number, with its line and cause code."""

    r: NDArray[np.int64]
    op: NDArray[np.int64]
    line: NDArray[np.int64]
    cause: NDArray[np.int64]


@dataclass(slots=True)
class Simulated:
    """Result of :func:`simulate`. Waits that were satisfied already are left out."""

    single: Found  #: waits that one operation must have ended
    several: dict[int, tuple[Group, ...]]  #: all other waits, by record number
    full: Found  #: issued with the counter full: the oldest operation
    last_store: NDArray[np.int64]  #: by wave: line of the youngest store outstanding at its end, or -1
    _waits: list[tuple[NDArray[np.int64], _Path]]

    @property
    def waits(self) -> dict[int, tuple[Group, ...]]:
        """All waits by record number; made anew each time."""
        return {
            r: groups
            for numbers, path in self._waits
            for r, groups in _numbered(numbers.tolist(), list(path.waits.items()))
        }


@dataclass(slots=True)
class _Path:
    """What counters do along one sequence of lines. ``r`` is everywhere the place in the sequence."""

    waits: dict[int, tuple[Group, ...]] = field(default_factory=dict)
    full: dict[int, Op] = field(default_factory=dict)
    last_store: int = -1

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[tuple[int, tuple[Group, ...]]]]:
        """Waits for one operation and full counters, each with rows as :class:`Found`; the other waits."""
        single, several = [], []
        for at, groups in self.waits.items():
            if len(groups) == 1 and len(groups[0].culprits) == 1:
                single.append(_row(at, groups[0].culprits[0]))
            else:
                several.append((at, groups))
        full = [_row(at, op) for at, op in self.full.items()]
        one, two = (np.array(rows, np.int64).reshape(-1, len(Found._fields)).T for rows in (single, full))
        return one, two, several


def _row(at: int, op: Op) -> tuple[int, int, int, int]:
    return at, op.r, op.line, CAUSE_CODE[op.cause]


def _numbered(
    numbers: list[int], waits: list[tuple[int, tuple[Group, ...]]]
) -> Iterator[tuple[int, tuple[Group, ...]]]:
    """Waits of a path as those of the wave whose records have ``numbers``."""
    for at, groups in waits:
        yield (
            numbers[at],
            tuple(
                g._replace(
                    culprits=tuple(op._replace(r=numbers[op.r]) for op in g.culprits),
                    released=tuple(op._replace(r=numbers[op.r]) for op in g.released),
                )
                for g in groups
            ),
        )


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
    # only records of these lines matter
    concerned = np.zeros(len(code), np.bool_)
    concerned[[*waits, *kinds]] = True
    at = np.flatnonzero(concerned[records.line])
    line = records.line[at]
    first, last = (np.searchsorted(at, x).tolist() for x in (records.first, records.last))
    # most waves go through the same lines, and counters know nothing but lines
    alike: dict[bytes, list[int]] = {}
    for w, (a, b) in enumerate(zip(first, last, strict=True)):
        alike.setdefault(line[a:b].tobytes(), []).append(w)
    out = Simulated(_joined([]), {}, _joined([]), np.full(len(records.waves), -1, np.int64), [])
    single: list[tuple[NDArray[np.int64], ...]] = []
    full: list[tuple[NDArray[np.int64], ...]] = []
    for waves in alike.values():
        a, b = first[waves[0]], last[waves[0]]
        path = _walk(line[a:b].tolist(), waits, raised)
        one, two, several = path.columns()
        begin = np.array([first[w] for w in waves], np.int64)
        for rows, to in ((one, single), (two, full)):
            r, op, lines, cause = (np.broadcast_to(x, (len(waves), rows.shape[1])) for x in rows)
            to.append((at[begin[:, None] + r], at[begin[:, None] + op], lines, cause))
        out.last_store[waves] = path.last_store
        for w in waves:
            numbers = at[first[w] : last[w]]
            out._waits.append((numbers, path))
            if several:
                out.several.update(_numbered(numbers.tolist(), several))
    out.single, out.full = _joined(single), _joined(full)
    return out


def _joined(parts: list[tuple[NDArray[np.int64], ...]]) -> Found:
    columns = zip(*parts, strict=True) if parts else ((), (), (), ())
    return Found(*(np.concatenate([np.zeros(0, np.int64), *(c.reshape(-1) for c in cs)]) for cs in columns))


def _walk(
    lines: list[int],
    waits: Mapping[int, tuple[tuple[str, int], ...]],
    raised: Mapping[int, list[tuple[str, Kind, Cause, int | None]]],
) -> _Path:
    """The counters along ``lines``; ``raised``: what each line counts on, and how far that counts."""
    out = _Path()
    counters: dict[str, _Counter] = {}
    for r, i in enumerate(lines):
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
    stores = [op for c in counters.values() for op in c.ops if c.count and op.cause is Cause.WAIT_STORE]
    if stores:
        out.last_store = max(stores, key=lambda op: op.r).line
    return out
