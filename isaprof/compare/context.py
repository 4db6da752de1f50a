"""Where a line stands: its loop depth and its label, so that the alignment keeps loops together.

Identical instructions are common (``s_nop 0``, ``s_barrier``, the same load in
prologue and loop); a line is first matched with one of the same loop depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis


@dataclass(frozen=True, slots=True)
class Place:
    """``depth``: loops around the line; ``label``: the symbol on it, "" where there is none."""

    depth: int = 0
    label: str = ""

    def key(self, text: str) -> str:
        """``text`` at this place: equal keys are the better match."""
        return f"{self.depth}\0{self.label}\0{text}"


def places(analysis: Analysis) -> list[Place]:
    """The place of every line of ``analysis``, in code order."""
    lines = analysis.lines
    pcs = [int(x) for x in lines["pc"].tolist()]
    texts = [str(t) for t in lines["text"].tolist()]
    labels = [x if isinstance(x, str) else "" for x in lines["label"].tolist()]
    return list(map(Place, depths(pcs, texts), labels))


def depths(pcs: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Loop depth of each line.

    A loop is what lies between the destination of a direct backward branch and
    the branch; branches to one destination are one loop. (Compilers and hand
    writers alike lay loops out in one piece; jumps through registers are not
    followed.)
    """
    by_pc = {pc: i for i, pc in enumerate(pcs)}
    ends: dict[int, int] = {}
    for i, (pc, text) in enumerate(zip(pcs, texts, strict=True)):
        mnemonic, _, operand = text.strip().partition(" ")
        if "branch" not in mnemonic or not operand:
            continue
        to = destination(pc, operand)
        at = None if to is None else by_pc.get(to)
        if at is not None and at <= i:
            ends[at] = max(i, ends.get(at, i))
    change = [0] * (len(pcs) + 1)
    for first, last in ends.items():
        change[first] += 1
        change[last + 1] -= 1
    out, depth = [], 0
    for step in change[:-1]:
        depth += step
        out.append(depth)
    return out


def destination(pc: int, operand: str) -> int | None:
    """Address a direct branch goes to: pc + 4 + 4 * simm16, as LLVM prints the displacement."""
    try:
        value = int(operand.split()[-1], 0)
    except ValueError:
        return None
    simm16 = value & 0xFFFF
    return pc + 4 + 4 * (simm16 - 0x10000 if simm16 & 0x8000 else simm16)
