"""The wait-counter interpretation of :mod:`isaprof.analysis.waits`, with the paths that rules show."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cached_property

from isaprof.analysis.cfg import is_indirect
from isaprof.analysis.waits import Kind, WaitAnalysis, in_order
from isaprof.isa.model import Instruction


def _ordered(kinds: Iterable[Kind]) -> bool:
    """Whether operations of these kinds complete in issue order, as far as lint would call it an error.

    Whether cache maintenance counts at all, and when it is done, is not known
    on every target: it is no reason to report a load as outstanding.
    """
    return in_order(frozenset(k for k in kinds if k.value != "cache maintenance"))


class Outstanding(WaitAnalysis):
    """:class:`WaitAnalysis` that reports no more than is known, with concrete paths for its conflicts."""

    def ordered(self, queue: Iterable[int]) -> bool:
        """Whether the operations of a queue (listing rows) complete in issue order."""
        return _ordered(self.kinds[i] for i in queue)

    @cached_property
    def _ordered_at(self) -> dict[tuple[int, str], bool]:
        """(row of a wait, counter) -> whether everything on the counter completes in issue order."""
        out: dict[tuple[int, str], bool] = {}
        for ins, state in self.walk():
            for counter in dict.fromkeys((*(c for c, _ in self.waits_of(ins)), *ins.counters)):
                kinds = {self.kinds[i] for i in state.get(counter, ())}
                if counter in ins.counters:
                    kinds.add(self.kinds[ins.index])
                out[ins.index, counter] = _ordered(kinds)
        return out

    def in_order_at(self, user: int, counter: str) -> bool:
        """Whether everything that may be outstanding on ``counter`` at ``user`` completes in order."""
        return self.ordered(self.before(user).get(counter, ()))

    def path(
        self, load: int, user: int, counter: str, stop: frozenset[int] = frozenset()
    ) -> tuple[tuple[Instruction, ...], int] | None:
        """A path from row ``load`` to row ``user`` on which nothing proves the load complete.

        Returns the branches and block ends it passes, and the number of younger
        operations on the counter at ``user``; None where every path has a wait,
        passes a row in ``stop`` or a jump through a register. More exact than
        the fixpoint, which mixes the ages of different paths.
        """
        cfg = self.cfg
        goal, begin = cfg.position(user), cfg.position(load)
        todo: deque[tuple[int, int, tuple[Instruction, ...]]] = deque()
        seen: set[tuple[int, int]] = set()

        def go_on(p: int, age: int, trail: tuple[Instruction, ...]) -> None:
            block = cfg.blocks[cfg.block_of[p]]
            if p < block.last:
                todo.append((p + 1, age, trail))
            else:
                todo.extend((cfg.blocks[s].first, age, (*trail, cfg.lines[p])) for s in block.succ)

        go_on(begin, 0, ())
        while todo:
            p, age, trail = todo.popleft()
            if p == goal:
                return trail, age
            if (p, age) in seen:
                continue
            seen.add((p, age))
            ins = cfg.lines[p]
            after = self._survives(ins, counter, age)
            # behind a jump through a register, or a word that may be any instruction, nothing is known
            if after is not None and ins.index not in stop and not is_indirect(ins) and ins.base != ".long":
                go_on(p, after, trail)
        return None

    def _survives(self, ins: Instruction, counter: str, age: int) -> int | None:
        """Age of an outstanding operation behind ``ins``; None where it is then proven complete."""
        for c, n in self.waits_of(ins):
            if c == counter and (n == 0 or (n <= age and self._ordered_at[ins.index, c])):
                return None
        step = ins.counters.count(counter)
        if step and age + step >= self.maxima.get(counter, 1 << 30) and self._ordered_at[ins.index, counter]:
            return None
        return age + step
