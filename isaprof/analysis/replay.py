"""Wait counters along one executed path: what a wave touches while it may be in flight.

The static analysis (:mod:`isaprof.analysis.waits`) speaks about all paths and
shares nothing with this but the rules of the counters: here every operation is
an entry of its own, in the order in which the wave issued it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isaprof.analysis.liveness import Reg, registers
from isaprof.analysis.waits import Kind, in_order, kind_of
from isaprof.isa.model import Instruction


class Replay:
    """Follows paths through a listing; ``maxima`` as for WaitAnalysis.

    Whether invalidation and write-back count, and finish in order, is not known
    on every target. Proofs take it that they do not; with ``cache_in_order``
    they do, so that what is found is no mere doubt.
    """

    def __init__(
        self, code: Sequence[Instruction], maxima: Mapping[str, int], *, cache_in_order: bool = False
    ) -> None:
        self.code = code
        self.maxima = maxima
        kinds = [kind_of(i) for i in code]
        self._kinds = [None if cache_in_order and k is Kind.CACHE else k for k in kinds]
        self.reads = [registers(i.reads) for i in code]
        self.writes = [registers(i.writes) for i in code]
        self.results: list[frozenset[Reg]] = [
            registers(i.writes) if i.mem is None or i.mem.load or i.mem.atomic else frozenset() for i in code
        ]

    def hazards(self, path: Sequence[int]) -> dict[tuple[int, int], str]:
        """Uses of results in flight on the path of listing indices.

        (user, operation) as listing indices -> sentence, each pair once, in path order.
        """
        flight = Flight(self)
        seen: dict[tuple[int, int], str] = {}
        for index in path:
            flight.retire(index)
            for use in flight.uses(index):
                op = use.operation.index
                if (index, op) not in seen:
                    seen[index, op] = self._sentence(index, use)
            flight.issue(index)
        return seen

    def ordered(self, indices: Sequence[int]) -> bool:
        """Whether operations (listing indices) that share a counter complete in issue order."""
        return in_order(frozenset(k for i in indices if (k := self._kinds[i]) is not None))

    def _sentence(self, index: int, use: Use) -> str:
        ins, op = self.code[index], self.code[use.operation.index]
        verb = "reads" if use.read else "overwrites"
        return (
            f"{ins.pc:#x} {ins.text} {verb} a result of {op.pc:#x} {op.text} "
            f"that may be in flight on {use.counter}"
        )


@dataclass(slots=True, eq=False)
class Operation:
    """One issued operation; ``lanes`` is EXEC then (None where not followed), ``left`` its counters."""

    index: int
    lanes: int | None
    left: set[str]
    tag: Any = None  #: the caller's
    done: int | None = None  #: what the caller called the time at which it was proven complete


@dataclass(frozen=True, slots=True)
class Use:
    """A use of registers that ``operation`` may still write.

    ``count`` is what a wait on ``counter`` may let pass at most.
    """

    operation: Operation
    counter: str
    count: int
    registers: frozenset[Reg] = field(repr=False)
    read: bool


class Flight:
    """The operations of one wave that no wait has proven complete.

    For each instruction in turn: :meth:`retire`, :meth:`uses`, :meth:`issue`.
    """

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self.queues: dict[str, list[Operation]] = {}
        #: registers that may still change -> how many queue entries say so
        self._pending: dict[Reg, int] = {}

    def retire(self, index: int) -> list[Operation]:
        """Take out what the waits of ``index`` prove complete on all its counters."""
        done: list[Operation] = []
        for counter, n in self._replay.code[index].waits:
            done += self.wait(counter, n)
        return done

    def wait(self, counter: str, n: int) -> list[Operation]:
        """What a wait until at most ``n`` operations are outstanding on ``counter`` proves complete."""
        queue = self.queues.get(counter)
        if queue and (n == 0 or (len(queue) > n and self._ordered(queue))):
            return self._drop(counter, queue, len(queue) - n)
        return []

    def uses(self, index: int, lanes: int | None = None) -> list[Use]:
        """Uses by ``index`` of what is outstanding; ``lanes``: those it reads and writes (None: all)."""
        pending, replay = self._pending, self._replay
        if not pending or (
            pending.keys().isdisjoint(replay.reads[index]) and pending.keys().isdisjoint(replay.writes[index])
        ):
            return []
        out: list[Use] = []
        reads, writes = replay.reads[index], replay.writes[index]
        counters = replay.code[index].counters
        for counter, queue in self.queues.items():
            ordered = self._ordered(queue)
            younger = counter in counters and replay.ordered([*(o.index for o in queue), index])
            used = reads - writes if younger else reads | writes
            seen: set[int] = set()
            for position, op in enumerate(queue):
                hit = replay.results[op.index] & used
                if not hit or id(op) in seen or _apart(op.lanes, lanes):
                    continue
                seen.add(id(op))
                count = len(queue) - 1 - position if ordered else 0
                out.append(Use(op, counter, count, hit, not hit.isdisjoint(reads)))
        return out

    def issue(
        self, index: int, lanes: int | None = None, tag: Any = None
    ) -> tuple[Operation | None, list[Operation]]:
        """Count ``index``: (its entry or None, those that a full counter proves complete)."""
        counters = self._replay.code[index].counters
        if not counters:
            return None, []
        op = Operation(index, lanes, set(counters), tag)
        done: list[Operation] = []
        for counter in counters:
            queue = self.queues.setdefault(counter, [])
            queue.append(op)
            for r in self._results(op):
                self._pending[r] = self._pending.get(r, 0) + 1
            if len(queue) > self._replay.maxima.get(counter, 1 << 30) and self._ordered(queue):
                done += self._drop(counter, queue, 1)
        return op, done

    def waits_for(self, op: Operation) -> list[tuple[str, int]]:
        """The weakest wait on each counter that would prove ``op`` complete now."""
        return [
            (counter, len(queue) - 1 - max(n for n, o in enumerate(queue) if o is op))
            if self._ordered(queue)
            else (counter, 0)
            for counter, queue in self.queues.items()
            if counter in op.left
        ]

    def _results(self, op: Operation) -> frozenset[Reg]:
        return self._replay.results[op.index] if op.lanes != 0 else frozenset()

    def _ordered(self, queue: Sequence[Operation]) -> bool:
        return self._replay.ordered([o.index for o in queue])

    def _drop(self, counter: str, queue: list[Operation], n: int) -> list[Operation]:
        gone, queue[:n] = queue[:n], []
        out: list[Operation] = []
        for op in gone:
            self._unpend(op)
            if op not in queue:
                op.left.discard(counter)
                if not op.left and op not in out:
                    out.append(op)
        return out

    def _unpend(self, op: Operation) -> None:
        for r in self._results(op):
            if self._pending[r] == 1:
                del self._pending[r]
            else:
                self._pending[r] -= 1


def _apart(issued: int | None, now: int | None) -> bool:
    """Whether two sets of lanes are known to share none."""
    return issued == 0 or (issued is not None and now is not None and not issued & now)
