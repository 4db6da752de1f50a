"""Wait counters along one executed path: what a wave touches while it may be in flight.

The static analysis (:mod:`isaprof.analysis.waits`) speaks about all paths and
shares nothing with this but the rules of the counters: here every operation is
an entry of its own, in the order in which the wave issued it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isaprof.analysis.liveness import registers
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
        self._reads = [registers(i.reads) for i in code]
        self._writes = [registers(i.writes) for i in code]
        self._results = [
            registers(i.writes) if i.mem is None or i.mem.load or i.mem.atomic else frozenset() for i in code
        ]

    def hazards(self, path: Sequence[int]) -> dict[tuple[int, int], str]:
        """Uses of results in flight on the path of listing indices.

        (user, operation) as listing indices -> sentence, each pair once, in path order.
        """
        queues: dict[str, list[int]] = {}
        seen: dict[tuple[int, int], str] = {}
        for index in path:
            ins = self.code[index]
            for counter, n in ins.waits:
                queue = queues.get(counter, [])
                if n == 0 or (len(queue) > n and self._ordered(queue)):
                    del queue[: len(queue) - n]
            for counter, queue in queues.items():
                if queue:
                    self._use(index, counter, queue, seen)
            for counter in ins.counters:
                queue = queues.setdefault(counter, [])
                queue.append(index)
                if len(queue) > self.maxima.get(counter, 1 << 30) and self._ordered(queue):
                    del queue[0]
        return seen

    def _ordered(self, queue: Sequence[int]) -> bool:
        return in_order(frozenset(k for i in queue if (k := self._kinds[i]) is not None))

    def _use(self, index: int, counter: str, queue: Sequence[int], seen: dict[tuple[int, int], str]) -> None:
        reads, writes = self._reads[index], self._writes[index]
        ins = self.code[index]
        for op in dict.fromkeys(queue):
            result = self._results[op]
            if not result or (result.isdisjoint(reads) and result.isdisjoint(writes)):
                continue
            younger = counter in ins.counters and self._ordered([*queue, index])
            used = reads - writes if younger else reads | writes
            if not result.isdisjoint(used) and (index, op) not in seen:
                verb = "overwrites" if result.isdisjoint(reads) else "reads"
                seen[index, op] = (
                    f"{ins.pc:#x} {ins.text} {verb} a result of {self.code[op].pc:#x} {self.code[op].text} "
                    f"that may be in flight on {counter}"
                )
