"""What an edit of waits delays: operations in flight that were complete at the same moment before it.

Two programs that differ in wait counts only are followed side by side along all
paths. Comparing their hazards as sets is not enough: an operation that is in
flight at a point on one path already could hide that on another path, where
the old wait had completed it, it now is as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isaprof.analysis.publication import matters_at
from isaprof.analysis.waits import State, WaitAnalysis, merge
from isaprof.isa.model import Instruction

_Queues = dict[str, dict[int, int]]


@dataclass(frozen=True, slots=True)
class Delayed:
    """An operation that the edit leaves in flight where it is noticed."""

    point: int  #: listing index of the instruction that notices it
    operation: int  #: listing index
    #: True/False: a register of it is overwritten/read; None: others could see that it is not complete
    overwrite: bool | None


def delayed(before: WaitAnalysis, after: WaitAnalysis) -> Iterator[Delayed]:
    """Where ``after`` (of the same code, with other waits) is less complete than ``before``."""
    entries = _solve(before, after)
    cfg = after.cfg
    for block in cfg.blocks:
        old, new = before.entry(block.index), after.entry(block.index)
        if old is None or new is None:
            continue
        late = {c: dict(q) for c, q in entries[block.index].items()}
        for p in range(block.first, block.last + 1):
            ins = cfg.lines[p]
            _retire(before, after, ins, old, new, late)
            if any(late.values()):
                yield from _noticed(after, p, late, new)
            _count(before, after, ins, old, new, late)


def _noticed(after: WaitAnalysis, position: int, late: _Queues, new: State) -> Iterator[Delayed]:
    ins = after.cfg.lines[position]
    for c in after.conflicts_at(ins, late, new):
        yield Delayed(c.user, c.load, c.overwrite)
    matters = matters_at(after.cfg, position)
    if matters is not None:
        for queue in late.values():
            for i in queue:
                if matters(after.instruction(i)):
                    yield Delayed(ins.index, i, None)


def _solve(before: WaitAnalysis, after: WaitAnalysis) -> list[_Queues]:
    """Delayed operations at the start of each block: counter -> listing index -> smallest age."""
    cfg = after.cfg
    entries: list[_Queues] = [{} for _ in cfg.blocks]
    todo = [b.index for b in cfg.blocks]
    while todo:
        b = todo.pop(0)
        old, new = before.entry(b), after.entry(b)
        if old is None or new is None:
            continue
        late = {c: dict(q) for c, q in entries[b].items()}
        for p in range(cfg.blocks[b].first, cfg.blocks[b].last + 1):
            ins = cfg.lines[p]
            _retire(before, after, ins, old, new, late)
            _count(before, after, ins, old, new, late)
        for s in cfg.blocks[b].succ:
            if merge(entries[s], late) and s not in todo:
                todo.append(s)
    return entries


def _retire(
    before: WaitAnalysis, after: WaitAnalysis, ins: Instruction, old: _Queues, new: _Queues, late: _Queues
) -> None:
    """The waits of ``ins``: what only the old ones complete becomes late, what the new ones do is no more."""
    then, now = dict(before.waits_of(ins)), dict(after.waits_of(ins))
    for counter in {**then, **now}:
        n, m = then.get(counter), now.get(counter)
        before_ordered = before.ordered(old.get(counter, {}))
        after_ordered = after.ordered(new.get(counter, {}))
        mine = late.setdefault(counter, {})
        if m == 0:
            mine.clear()
        elif m is not None and after_ordered:
            for i in [i for i, age in mine.items() if age >= m]:
                del mine[i]
        done = n == 0 or (n is not None and before_ordered)
        if not done or m == 0 or (m is not None and n is not None and m <= n and after_ordered):
            continue
        assert n is not None
        for i, age in new.get(counter, {}).items():
            at_least = max(age, n)
            if m is None or not after_ordered or at_least < m:
                mine[i] = min(mine.get(i, at_least), at_least)
    before.retire(old, ins)
    after.retire(new, ins)


def _count(
    before: WaitAnalysis, after: WaitAnalysis, ins: Instruction, old: _Queues, new: _Queues, late: _Queues
) -> None:
    before.count(old, ins)
    after.count(new, ins)
    for counter in dict.fromkeys(ins.counters):
        mine = late.get(counter, {})
        for i in mine:
            mine[i] += ins.counters.count(counter)
        limit = after.maxima.get(counter)
        if limit is None:
            continue
        if after.ordered(new[counter]):
            for i in [i for i, age in mine.items() if age >= limit]:
                del mine[i]
        elif before.ordered(old[counter]):
            # the full counter completed them before, and cannot be relied on now
            for i, age in new[counter].items():
                if i != ins.index:
                    mine = late.setdefault(counter, {})
                    mine[i] = min(mine.get(i, limit), max(age, limit))
