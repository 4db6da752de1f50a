"""Basic blocks and loops of the code that the traced waves ran, by code line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isaprof.analysis import cfg
from isaprof.isa.model import Listing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode
    from isaprof.isa.model import Instruction

    Ints = NDArray[np.int64]

#: no instruction is longer, bytes
_LONGEST = 24
#: waves may start at so many different lines (several kernels) before the rest is left out
MAX_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class Region:
    """A natural loop: its lines (sorted), header, latches (last lines of the blocks that jump back)."""

    number: int  #: in order of address, the outer one first
    header: int  #: first line of the header block
    lines: tuple[int, ...]
    head_lines: tuple[int, ...]  #: lines of the header block
    latch_lines: tuple[tuple[int, ...], ...]  #: lines of each block that jumps back
    depth: int  #: 1 = outermost
    parent: int  #: number of the loop around it, -1 for none


@dataclass(frozen=True, slots=True)
class Regions:
    """``block[i]``: block of line i, -1 where no traced wave can get; ``loop[i]``: innermost loop or -1."""

    block: Ints
    loop: Ints
    loops: tuple[Region, ...]
    indirect: bool  #: jumps through registers: more loops and blocks may exist than are known


def find_regions(code: StaticCode, records: Records) -> Regions:
    """Control flow from the first line of every traced wave on."""
    ins = _sized(code.instructions)
    listing = Listing(code.table.name, ins, {}, {x.pc: i for i, x in enumerate(ins)})
    started = records.first[records.first < records.last]
    entries = np.unique(records.line[started]).tolist()[:MAX_ENTRIES]
    starts: set[int] = set()
    found: dict[int, tuple[set[int], set[int], set[tuple[int, ...]]]] = {}
    reached: set[int] = set()
    indirect = False
    for entry in entries:
        if entry in reached and entry in starts:
            continue
        graph = cfg.build(listing, ins[entry].pc)
        indirect |= bool(graph.indirect)
        index = [x.index for x in graph.lines]
        reached.update(index)
        spans = [tuple(index[b.first : b.last + 1]) for b in graph.blocks]
        starts.update(s[0] for s in spans)
        for loop in graph.loops:
            head = spans[loop.header]
            members, heads, latches = found.setdefault(head[0], (set(), set(), set()))
            members.update(i for b in loop.blocks for i in spans[b])
            heads.update(head)
            latches.update(spans[b] for b in loop.latches)
    return Regions(_blocks(len(ins), reached, starts), *_loops(len(ins), found), indirect)


def _sized(ins: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """``ins`` with sizes where the capture has no machine code: up to the next instruction."""
    ends = [x.pc for x in ins[1:]] + [x.pc + 4 for x in ins[-1:]]
    return tuple(
        replace(x, size=end - x.pc) if x.size == 0 and 0 < end - x.pc <= _LONGEST else x
        for x, end in zip(ins, ends, strict=True)
    )


def _blocks(n: int, reached: Iterable[int], starts: set[int]) -> Ints:
    """Block number of each line: numbered by address; a block ends where another starts or code is dead."""
    block = np.full(n, -1, np.int64)
    number, before = -1, -2
    for i in sorted(reached):
        if i in starts or i != before + 1:
            number += 1
        block[i], before = number, i
    return block


def _loops(
    n: int, found: dict[int, tuple[set[int], set[int], set[tuple[int, ...]]]]
) -> tuple[Ints, tuple[Region, ...]]:
    order = sorted(found, key=lambda h: (min(found[h][0]), -len(found[h][0])))
    innermost = np.full(n, -1, np.int64)
    size = np.full(n, n + 1, np.int64)
    out = []
    for number, header in enumerate(order):
        members, heads, latches = found[header]
        around = [k for k, h in enumerate(order) if h != header and members < found[h][0]]
        parent = min(around, key=lambda k: len(found[order[k]][0]), default=-1)
        out.append(
            Region(number, header, tuple(sorted(members)), tuple(sorted(heads)), tuple(sorted(latches)),
                   len(around) + 1, parent)
        )  # fmt: skip
        lines = np.array(sorted(members), np.int64)
        smaller = lines[size[lines] > len(lines)]
        size[smaller], innermost[smaller] = len(lines), number
    return innermost, tuple(out)
