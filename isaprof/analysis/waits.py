"""Wait-counter interpretation over all paths of a kernel.

Each counter is simulated as a queue along every path of the control-flow
graph, back edges included. An operation is *outstanding* at a point when it
may be in flight there on some path; its *age* is the smallest number of
younger operations on the same counter over those paths. A wait for N retires,
on an in-order counter, exactly the operations of age >= N; on a counter that
holds operations which may complete out of order only a wait for 0 proves
anything.

Rules: LLVM SIInsertWaitcnts.cpp (which operation increments which counter,
which mixtures are out of order) and the ISA documents, "Manually inserted
wait states / data dependency resolution". What a mixture means is in
:data:`OUT_OF_ORDER_ALONE`; everything else is data of the instruction model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from isaprof.analysis.cfg import Cfg
from isaprof.analysis.publication import matters_at
from isaprof.arch.table import ArchTable
from isaprof.isa.model import Instruction, RegClass, RegSpan, Space


class Kind(StrEnum):
    """What an operation on a wait counter is; one counter in one kind is a queue."""

    LOAD = "vector load"
    STORE = "vector store"
    LDS = "LDS"
    SMEM = "SMEM"
    FLAT = "FLAT"
    SAMPLE = "image sample"
    BVH = "BVH"
    MESSAGE = "message"
    EXPORT = "export"
    GDS = "GDS"
    CACHE = "cache maintenance"


#: Kinds that complete out of order even among themselves: only a wait for 0 helps. Exports to
#: different targets do; global data share holds its sources as exports do. Of invalidation and
#: write-back it is not known on every target whether they count, nor when they are done.
OUT_OF_ORDER_ALONE = frozenset({Kind.SMEM, Kind.FLAT, Kind.MESSAGE, Kind.EXPORT, Kind.GDS, Kind.CACHE})
#: kinds that share one queue where they share a counter (gfx9: loads and stores on vmcnt)
_SAME_QUEUE = {Kind.LOAD: "vmem", Kind.STORE: "vmem"}

#: (counter -> listing index -> age); the abstract state before or after an instruction
State = Mapping[str, Mapping[int, int]]
_Queues = dict[str, dict[int, int]]


def kind_of(ins: Instruction) -> Kind | None:
    """The kind of a counted operation, None for instructions that count nothing."""
    if not ins.counters:
        return None
    if ins.base.startswith("ds_gws") or (ins.mem is not None and ins.mem.space == Space.GDS):
        return Kind.GDS
    if ins.mem is not None:
        if ins.mem.space == Space.LDS:
            return Kind.LDS
        if ins.mem.space == Space.SCALAR:
            return Kind.SMEM
        if ins.mem.space == Space.FLAT:
            return Kind.FLAT
        if "bvh" in ins.base:
            return Kind.BVH
        if ins.base.startswith(("image_sample", "image_gather", "image_msaa_load", "image_get_lod")):
            return Kind.SAMPLE
        return Kind.LOAD if ins.mem.load or ins.mem.lds_dma else Kind.STORE
    if ins.base.startswith("s_sendmsg"):
        return Kind.MESSAGE
    if ins.base.startswith("exp"):
        return Kind.EXPORT
    if ins.base.startswith("s_"):
        return Kind.SMEM
    return Kind.LDS if ins.base.startswith("ds_") else Kind.CACHE


@cache
def in_order(kinds: frozenset[Kind]) -> bool:
    """Whether a counter that holds exactly these kinds completes in issue order."""
    if kinds & OUT_OF_ORDER_ALONE:
        return False
    return len({_SAME_QUEUE.get(k, k.value) for k in kinds}) <= 1


def wait_text(table: ArchTable, counter: str, n: int) -> str:
    """The instruction that waits until at most ``n`` operations of ``counter`` are outstanding."""
    if table["waitcnt_layout"] is not None and counter in table["waitcnt_layout"]:
        return f"s_waitcnt {counter}({n})"
    if counter == "vscnt":
        return f"s_waitcnt_vscnt null, 0x{n:x}"
    return f"s_wait_{counter} {n}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A use of a register whose load may still be in flight."""

    user: int  #: listing index of the reading or overwriting instruction
    load: int  #: listing index of the outstanding operation
    counter: str
    span: RegSpan
    overwrite: bool  #: True: the register is written, False: read
    age: int  #: younger operations on the counter, at least

    @property
    def missing_wait(self) -> str:
        """The wait that would be needed before ``user``."""
        return f"{self.counter}({self.age})"


def merge(have: dict[str, dict[int, int]], more: State) -> bool:
    """Put what another path leaves in flight into ``have``, with its smallest age; True where that is new."""
    changed = False
    for counter, queue in more.items():
        mine = have.setdefault(counter, {})
        for i, age in queue.items():
            if i not in mine or age < mine[i]:
                mine[i] = age
                changed = True
    return changed


class WaitAnalysis:
    """Fixpoint of the counter interpretation.

    ``maxima`` gives the largest value of each counter: that many younger
    operations prove an older one done, because the next one cannot issue
    before (in-order counters only).
    """

    def __init__(self, cfg: Cfg, maxima: Mapping[str, int]) -> None:
        self.cfg = cfg
        self.maxima = maxima
        self.overrides: dict[int, tuple[tuple[str, int], ...]] = {}
        self.kinds = {ins.index: kind for ins in cfg.lines if (kind := kind_of(ins)) is not None}
        self._by_index = {ins.index: ins for ins in cfg.lines}
        #: registers of each line, and those a counted operation changes when it completes
        self._touched = {i.index: _registers((*i.reads, *i.writes)) for i in cfg.lines}
        self._results = {i: _registers(_register_results(self._by_index[i])) for i in self.kinds}
        self._entry: list[_Queues | None] = [None] * len(cfg.blocks)
        self._solve()

    def with_waits(self, waits: Mapping[int, tuple[tuple[str, int], ...]]) -> WaitAnalysis:
        """The analysis of the same program with other wait counts: how an edit is tried.

        ``waits``: listing index of a wait instruction -> ((counter, N), ...).
        """
        other = copy(self)
        other.overrides = {**self.overrides, **waits}
        other._entry = [None] * len(self.cfg.blocks)
        other._solve()
        return other

    # -- transfer -----------------------------------------------------------
    def instruction(self, index: int) -> Instruction:
        """The instruction with a listing index; KeyError if it is not reachable."""
        return self._by_index[index]

    def waits_of(self, ins: Instruction) -> tuple[tuple[str, int], ...]:
        """What ``ins`` waits for, overrides applied."""
        return self.overrides.get(ins.index, ins.waits)

    def _step(self, state: _Queues, ins: Instruction) -> None:
        self.retire(state, ins)
        self.count(state, ins)

    def retire(self, state: _Queues, ins: Instruction) -> None:
        """Remove what the waits of ``ins`` prove complete."""
        for counter, n in self.waits_of(ins):
            queue = state.get(counter)
            if not queue:
                continue
            if n == 0:
                queue.clear()
            elif self.ordered(queue):
                for i in [i for i, age in queue.items() if age >= n]:
                    del queue[i]

    def count(self, state: _Queues, ins: Instruction) -> None:
        """Put ``ins`` on its counters; what is older than the counter can hold is complete."""
        for counter in dict.fromkeys(ins.counters):
            queue = state.setdefault(counter, {})
            step = ins.counters.count(counter)
            for i in queue:
                queue[i] += step
            queue[ins.index] = 0
            limit = self.maxima.get(counter)
            # nothing can be that old in a queue that is shorter than the limit
            old = [] if limit is None else [i for i, age in queue.items() if age >= limit]
            if old and self.ordered(queue):
                for i in old:
                    del queue[i]

    def ordered(self, queue: Iterable[int]) -> bool:
        """Whether the operations of a queue (listing indices) complete in issue order."""
        return in_order(frozenset(self.kinds[i] for i in queue))

    def _solve(self) -> None:
        blocks = self.cfg.blocks
        if not blocks:
            return
        entry = next(b.index for b in blocks if self.cfg.idom[b.index] == b.index)
        self._entry[entry] = {}
        todo = [entry]
        while todo:
            b = todo.pop(0)
            start = self._entry[b]
            assert start is not None
            state = {c: dict(q) for c, q in start.items()}
            for p in range(blocks[b].first, blocks[b].last + 1):
                self._step(state, self.cfg.lines[p])
            for s in blocks[b].succ:
                if self._merge(s, state) and s not in todo:
                    todo.append(s)

    def _merge(self, block: int, state: _Queues) -> bool:
        have = self._entry[block]
        if have is None:
            self._entry[block] = {c: dict(q) for c, q in state.items()}
            return True
        return merge(have, state)

    # -- results ------------------------------------------------------------
    def entry(self, block: int) -> _Queues | None:
        """A copy of the state at the start of a block; None where it cannot be reached."""
        start = self._entry[block]
        return None if start is None else {c: dict(q) for c, q in start.items()}

    def walk(self) -> Iterator[tuple[Instruction, State]]:
        """Every instruction that is reached with the state before it, in address order.

        The state is only valid until the next step.
        """
        for b in self.cfg.blocks:
            state = self.entry(b.index)
            if state is None:
                continue
            for p in range(b.first, b.last + 1):
                ins = self.cfg.lines[p]
                yield ins, state
                self._step(state, ins)

    def before(self, index: int) -> State:
        """State just before the instruction with listing index ``index``."""
        position = self.cfg.position(index)
        block = self.cfg.block_of[position]
        start = self._entry[block]
        if start is None:
            return {}
        state = {c: dict(q) for c, q in start.items()}
        for p in range(self.cfg.blocks[block].first, position):
            self._step(state, self.cfg.lines[p])
        return {c: q for c, q in state.items() if q}

    def after_waits(self, index: int) -> State:
        """State at ``index`` after its own waits, before it counts itself."""
        state = {c: dict(q) for c, q in self.before(index).items()}
        self.retire(state, self._by_index[index])
        return state

    def unpublished(self) -> dict[tuple[int, int], int]:
        """Memory operations that may still be in flight where others could notice.

        (publication point, operation) -> age, both as listing indices; which
        points there are: :mod:`isaprof.analysis.publication`.
        """
        out: dict[tuple[int, int], int] = {}
        for b in self.cfg.blocks:
            state = self.entry(b.index)
            if state is None:
                continue
            for p in range(b.first, b.last + 1):
                ins = self.cfg.lines[p]
                self.retire(state, ins)
                if (matters := matters_at(self.cfg, p)) is not None:
                    for queue in state.values():
                        for i, age in queue.items():
                            if matters(self._by_index[i]):
                                out[ins.index, i] = age
                self.count(state, ins)
        return out

    def conflicts(self) -> list[Conflict]:
        """Every read or overwrite of a register that an outstanding load may still write."""
        return [c for ins, state in self.walk() for c in self.conflicts_at(ins, state, state)]

    def conflicts_at(self, ins: Instruction, operations: State, state: State) -> list[Conflict]:
        """Uses by ``ins`` of what ``operations`` (some of those outstanding in ``state``) still change."""
        out = []
        touched = self._touched[ins.index]
        for counter, queue in operations.items():
            for i, age in queue.items():
                if touched.isdisjoint(self._results[i]):
                    continue
                queued = self._same_queue(ins, counter, state.get(counter, {}))
                reads = [r for r in ins.reads if not (queued and r in ins.writes)]
                for span in _register_results(self._by_index[i]):
                    if (hit := _first_overlap(reads, span)) is not None:
                        out.append(Conflict(ins.index, i, counter, hit, False, age))
                    elif not queued and (hit := _first_overlap(ins.writes, span)) is not None:
                        out.append(Conflict(ins.index, i, counter, hit, True, age))
        return out

    def _same_queue(self, ins: Instruction, counter: str, queue: Mapping[int, int]) -> bool:
        """True for a younger load of the same in-order queue: it returns after the older ones.

        So it may overwrite their result, and the half of a register that a
        ``d16`` load leaves alone is no read that needs a wait.
        """
        if counter not in ins.counters or ins.index not in self.kinds:
            return False
        return self.ordered((*queue, ins.index))


def _register_results(load: Instruction) -> Sequence[RegSpan]:
    """Registers that change when the memory operation completes."""
    if load.mem is not None and load.mem.store and not load.mem.load and not load.mem.atomic:
        return ()
    data = (RegClass.VGPR, RegClass.AGPR, RegClass.SGPR, RegClass.TTMP, RegClass.VCC)
    return [w for w in load.writes if w.cls in data]


def _registers(spans: Iterable[RegSpan]) -> frozenset[tuple[RegClass, int]]:
    return frozenset((s.cls, s.index + i) for s in spans for i in range(s.count))


def _first_overlap(spans: Sequence[RegSpan], span: RegSpan) -> RegSpan | None:
    return next((s for s in spans if s.overlaps(span)), None)
