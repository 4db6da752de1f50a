"""Which registers still matter: liveness over the control-flow graph.

A register is *live* at a point when some path from there reads it before it is
written. VGPRs are written lane by lane: where EXEC changes anywhere in the
kernel, a vector write may leave lanes as they were, and ends no liveness.
"""

from __future__ import annotations

from collections.abc import Iterable

from isaprof.analysis.cfg import Cfg
from isaprof.isa.model import Instruction, RegClass, RegSpan

#: one 32-bit register
Reg = tuple[RegClass, int]
_LANES = (RegClass.VGPR, RegClass.AGPR)


def registers(spans: Iterable[RegSpan]) -> frozenset[Reg]:
    """The 32-bit registers that ``spans`` name."""
    return frozenset((s.cls, s.index + i) for s in spans for i in range(s.count))


def changes_exec(ins: Instruction) -> bool:
    """Whether the instruction writes EXEC."""
    return any(w.cls is RegClass.EXEC for w in ins.writes)


class Liveness:
    """Backward fixpoint; ``live_in(block)`` and ``live_before(index)`` answer."""

    def __init__(self, cfg: Cfg) -> None:
        self.cfg = cfg
        #: whether a vector write is known to write every lane that can be read later
        self.whole_writes = not any(changes_exec(i) for i in cfg.lines)
        self._in: list[frozenset[Reg]] = [frozenset()] * len(cfg.blocks)
        todo = [b.index for b in reversed(cfg.blocks)]
        while todo:
            b = cfg.blocks[todo.pop(0)]
            live = self._through(b.first, b.last, self.live_out(b.index))
            if live != self._in[b.index]:
                self._in[b.index] = live
                todo += [p for p in b.pred if p not in todo]

    def live_in(self, block: int) -> frozenset[Reg]:
        """Registers live at the start of a block."""
        return self._in[block]

    def live_out(self, block: int) -> frozenset[Reg]:
        """Registers live at the end of a block."""
        return frozenset().union(*(self._in[s] for s in self.cfg.blocks[block].succ))

    def live_before(self, index: int) -> frozenset[Reg]:
        """Registers live just before the instruction with listing index ``index``."""
        position = self.cfg.position(index)
        block = self.cfg.blocks[self.cfg.block_of[position]]
        return self._through(position, block.last, self.live_out(block.index))

    def _through(self, first: int, last: int, live: frozenset[Reg]) -> frozenset[Reg]:
        now = set(live)
        for p in range(last, first - 1, -1):
            ins = self.cfg.lines[p]
            now -= self._killed(ins)
            now |= registers(ins.reads)
        return frozenset(now)

    def _killed(self, ins: Instruction) -> frozenset[Reg]:
        written = registers(ins.writes)
        return written if self.whole_writes else frozenset(r for r in written if r[0] not in _LANES)
