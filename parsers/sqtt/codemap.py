"""Where addresses of a trace lie in the code table.

Built from listings (:class:`isaprof.isa.model.Listing` or tuples of
instructions) of every code object, each at the address it was loaded at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from isaprof.isa.model import Category, Instruction
from isaprof.parsers.sqtt.model import Cat, StitchRules

#: static category of a line as the matching rules use it; a branch is Cat.JUMP
_SEQUENCER = {Category.IMMED, Category.MESSAGE, Category.CONTEXT}


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction as the stitcher sees it. ``next``/``target``: line numbers, -1 where there is none."""

    cat: Cat
    traced: bool
    next: int
    target: int
    barrier_pair: bool
    scaled_matrix: bool
    two_cycle_move: bool
    optional_wait: bool
    wait: bool
    stop: bool
    endpgm: bool


@dataclass(frozen=True, slots=True)
class Region:
    """Instructions of one code object, loaded so that vaddr + ``base`` is the address in the trace."""

    object_id: int
    base: int
    instructions: Sequence[Instruction]


@dataclass(slots=True)
class CodeMap:
    """Lines of all regions, numbered in the order given; addresses resolved by :meth:`at`."""

    lines: list[Line] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    object_ids: list[int] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _spans: list[tuple[int, dict[int, int]]] = field(default_factory=list)

    @classmethod
    def build(cls, regions: Sequence[Region], rules: StitchRules) -> CodeMap:
        out = cls()
        spans: list[tuple[int, int, dict[int, int]]] = []
        for region in regions:
            first = len(out.lines)
            number = {i.pc: first + n for n, i in enumerate(region.instructions)}
            for n, i in enumerate(region.instructions):
                following = first + n + 1 if n + 1 < len(region.instructions) else -1
                out.lines.append(_line(i, following, number, rules))
            out.instructions.extend(region.instructions)
            out.object_ids.extend([region.object_id] * len(region.instructions))
            if region.instructions:
                last = region.instructions[-1]
                by_address = {pc + region.base: n for pc, n in number.items()}
                spans.append((region.instructions[0].pc + region.base, last.end + region.base, by_address))
        spans.sort(key=lambda s: s[0])
        out._starts = [s[0] for s in spans]
        out._spans = [(s[1], s[2]) for s in spans]
        return out

    def at(self, address: int) -> int:
        """Line of the instruction at an absolute address, -1 where there is none."""
        i = bisect_right(self._starts, address) - 1
        if i < 0 or address >= self._spans[i][0]:
            return -1
        return self._spans[i][1].get(address, -1)


def _line(i: Instruction, following: int, number: dict[int, int], rules: StitchRules) -> Line:
    m = i.mnemonic
    cat = Cat.IMMED if i.category in _SEQUENCER else Cat[i.category.name]
    return Line(
        cat=cat,
        traced=i.traced and cat is not Cat.NONE,
        next=following,
        target=number.get(i.target, -1) if i.target is not None else -1,
        barrier_pair=m.startswith(rules.barrier_pair) if rules.barrier_pair else False,
        scaled_matrix=m.startswith(rules.scaled_matrix) if rules.scaled_matrix else False,
        two_cycle_move=m.startswith(rules.two_cycle_move) if rules.two_cycle_move else False,
        optional_wait=m.startswith(rules.optional_wait) if rules.optional_wait else False,
        wait=m.startswith(rules.wait),
        stop=m.startswith(rules.wait)
        or (any(p in m for p in rules.stop_at) and not m.startswith(rules.no_stop)),
        endpgm=m.startswith("s_endpgm"),
    )
