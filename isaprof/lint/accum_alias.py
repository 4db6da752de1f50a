"""AGPRs under two names: from ``accum_offset`` on, v(accum_offset + k) and a(k) are one register.

Source: LLVM AMDGPU user guide, COMPUTE_PGM_RSRC3 of gfx90a and later ("offset of a first AccVGPR in the
unified register file").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from isaprof.analysis.cfg import Cfg
from isaprof.analysis.liveness import Reg, registers
from isaprof.isa.model import Instruction, RegClass, RegSpan
from isaprof.lint.search import run_forward


@dataclass(frozen=True, slots=True)
class Clobber:
    """``ins`` writes ``written`` over a value of its other name ``lost``, which ``reader`` still wants."""

    ins: Instruction
    written: Reg
    lost: Reg
    reader: Instruction


def clobbered(graphs: Iterable[Cfg], accum_offset: int) -> Iterator[Clobber]:
    """Writes that destroy a value written and later read under the register's other name.

    Names whose lives do not overlap share a register legally: shipped kernels do so. Every write
    counts as one of all lanes, so that what is reported does not hang on EXEC. One a writing instruction.
    """
    for cfg in graphs:
        named = registers(s for i in cfg.lines for s in (*i.reads, *i.writes))
        both = frozenset(r for r in named if twin(r, accum_offset) in named)
        if not both:
            continue
        wanted = _wanted(cfg, both, accum_offset)

        def step(have: frozenset[Reg], ins: Instruction, both: frozenset[Reg] = both) -> frozenset[Reg]:
            new = _of(ins.writes, both)
            return (have - {twin(r, accum_offset) for r in new}) | new if new else have

        for position, have in run_forward(cfg, frozenset(), step):
            ins = cfg.lines[position]
            for reg in sorted(_of(ins.writes, both)):
                lost = twin(reg, accum_offset)
                if lost in have and lost in wanted[position]:
                    yield Clobber(ins, reg, lost, cfg.lines[wanted[position][lost]])
                    break


def twin(reg: Reg, accum_offset: int) -> Reg:
    """The other name of a lane register; a VGPR below ``accum_offset`` has one that nothing can name."""
    cls, n = reg
    if cls is RegClass.AGPR:
        return RegClass.VGPR, n + accum_offset
    return RegClass.AGPR, n - accum_offset if cls is RegClass.VGPR else -1


def _of(spans: Iterable[RegSpan], both: frozenset[Reg]) -> frozenset[Reg]:
    return registers(spans) & both


def _wanted(cfg: Cfg, both: frozenset[Reg], accum_offset: int) -> list[dict[Reg, int]]:
    """After each position: the names that some path reads before the register is written again, and where."""
    after: list[dict[Reg, int]] = [{}] * len(cfg.lines)
    entry: list[dict[Reg, int]] = [{}] * len(cfg.blocks)
    todo = [b.index for b in cfg.blocks]
    while todo:
        block = cfg.blocks[todo.pop()]
        now: dict[Reg, int] = {}
        for s in block.succ:
            now = entry[s] | now
        for p in range(block.last, block.first - 1, -1):
            after[p] = now
            ins = cfg.lines[p]
            writes, reads = _of(ins.writes, both), _of(ins.reads, both)
            if writes or reads:
                gone = writes | {twin(r, accum_offset) for r in writes}
                now = {r: q for r, q in now.items() if r not in gone} | dict.fromkeys(reads, p)
        if now.keys() != entry[block.index].keys():
            entry[block.index] = now
            todo += block.pred
    return after
