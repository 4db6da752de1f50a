"""Looking back along all paths of a kernel, and running a state forward over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from isaprof.analysis.cfg import Cfg, is_indirect
from isaprof.isa.model import Instruction

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Found:
    """An instruction met on the way back: the way from it forward, both ends included."""

    way: tuple[Instruction, ...]

    @property
    def ins(self) -> Instruction:
        return self.way[0]

    @property
    def between(self) -> tuple[Instruction, ...]:
        """The instructions after the one found and before the one that was started from."""
        return self.way[1:-1]


def look_back(
    cfg: Cfg, position: int, start: S, step: Callable[[S, Instruction], S | bool]
) -> Iterator[Found]:
    """Walk from ``position`` back along every path.

    ``step(state, instruction)`` gives True (found: this path ends), False (the
    path ends) or the state to go on with. A block is walked once per state.
    Paths end at jumps through registers, behind which nothing is known.
    """
    block = cfg.block_of[position]
    seen: set[tuple[int, S]] = set()
    # (block, position to look at next, state, instructions passed, last first)
    todo: list[tuple[int, int, S, tuple[Instruction, ...]]] = [
        (block, position - 1, start, (cfg.lines[position],))
    ]
    while todo:
        b, p, state, passed = todo.pop()
        way = list(passed)
        ended = False
        while p >= cfg.blocks[b].first:
            ins = cfg.lines[p]
            if is_indirect(ins):
                ended = True
                break
            way.append(ins)
            result = step(state, ins)
            if result is True:
                yield Found(tuple(reversed(way)))
            if isinstance(result, bool):
                ended = True
                break
            state = result
            p -= 1
        if ended:
            continue
        for pred in cfg.blocks[b].pred:
            if (pred, state) not in seen:
                seen.add((pred, state))
                todo.append((pred, cfg.blocks[pred].last, state, tuple(way)))


def wait_states(ins: Instruction) -> int:
    """Wait states an instruction gives: ``s_nop k`` k + 1, every other one 1 (as LLVM counts)."""
    if ins.base == "s_nop" and ins.operands and isinstance(ins.operands[0].value, int):
        return (ins.operands[0].value & 0xF) + 1
    return 1


def within(
    cfg: Cfg,
    position: int,
    limit: int,
    match: Callable[[Instruction], bool],
    weight: Callable[[Instruction], int] = wait_states,
) -> Iterator[tuple[Found, int]]:
    """The closest matching instruction of each path less than ``limit`` away, with its distance.

    The distance is the weight of the instructions between: what LLVM's hazard
    recognizer calls the wait states since the producer.
    """

    def step(state: int, ins: Instruction) -> int | bool:
        if match(ins):
            return True
        state += weight(ins)
        return False if state >= limit else state

    for found in look_back(cfg, position, 0, step):
        yield found, sum(map(weight, found.between))


def nearby(cfg: Cfg, position: int, limit: int) -> list[Instruction]:
    """Every instruction that some path executes less than ``limit`` wait states before ``position``."""
    out: dict[int, Instruction] = {}

    def step(state: int, ins: Instruction) -> int | bool:
        out[ins.index] = ins
        state += wait_states(ins)
        return False if state >= limit else state

    for _ in look_back(cfg, position, 0, step):
        pass
    return list(out.values())


def run_forward(
    cfg: Cfg, start: frozenset[S], step: Callable[[frozenset[S], Instruction], frozenset[S]]
) -> Iterator[tuple[int, frozenset[S]]]:
    """Fixpoint of a set that grows where paths join; gives (position, set before it) for all positions."""
    entry = next(b.index for b in cfg.blocks if cfg.idom[b.index] == b.index)
    at: list[frozenset[S] | None] = [None] * len(cfg.blocks)
    at[entry] = start
    todo = [entry]
    while todo:
        b = todo.pop()
        state = at[b]
        assert state is not None
        for p in range(cfg.blocks[b].first, cfg.blocks[b].last + 1):
            state = step(state, cfg.lines[p])
        for s in cfg.blocks[b].succ:
            have = at[s]
            new = state if have is None else have | state
            if new != have:
                at[s] = new
                todo.append(s)
    for block in cfg.blocks:
        state = at[block.index]
        if state is None:
            continue
        for p in range(block.first, block.last + 1):
            yield p, state
            state = step(state, cfg.lines[p])
