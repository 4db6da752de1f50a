"""Control-flow graph of one kernel: basic blocks, dominators, natural loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from isaprof.isa.model import Instruction, Listing

#: instructions after which the wave does not go on to the next address
_ENDS = ("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done", "s_code_end", "s_rfe_b64")
#: jumps whose destination is in a register: control flow is not known statically
_INDIRECT = (
    "s_setpc_b64",
    "s_swappc_b64",
    "s_call_b64",
    "s_set_pc_i64",
    "s_swap_pc_i64",
    "s_call_i64",
    "s_add_pc_i64",
    "s_cbranch_join",
    "s_cbranch_i_fork",
    "s_cbranch_g_fork",
)


@dataclass(slots=True)
class Block:
    """A straight run of instructions: ``lines[first:last+1]`` of the kernel."""

    index: int
    first: int  #: position in Cfg.lines
    last: int
    succ: list[int] = field(default_factory=list)
    pred: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: ``header`` block, all member ``blocks``, the blocks that jump back."""

    header: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    depth: int  #: 1 = outermost


@dataclass(frozen=True, slots=True)
class Cfg:
    """Control flow of the code reachable from a kernel's entry.

    ``lines`` are the reachable instructions in address order; ``indirect``
    lists those that jump through a register: where it is not empty, no
    statement about *all paths* can be made.
    """

    lines: tuple[Instruction, ...]
    blocks: tuple[Block, ...]
    block_of: tuple[int, ...]  #: position in lines -> block
    indirect: tuple[Instruction, ...]
    idom: tuple[int, ...]  #: immediate dominator of each block (entry: itself)
    loops: tuple[Loop, ...]  #: innermost last

    def position(self, index: int) -> int:
        """Position in ``lines`` of the listing index ``index``; KeyError if unreachable."""
        lo, hi = 0, len(self.lines)
        while lo < hi:
            mid = (lo + hi) // 2
            if self.lines[mid].index < index:
                lo = mid + 1
            else:
                hi = mid
        if lo == len(self.lines) or self.lines[lo].index != index:
            raise KeyError(index)
        return lo

    def innermost_loop(self, block: int) -> Loop | None:
        """The innermost loop that contains ``block``."""
        inside = [loop for loop in self.loops if block in loop.blocks]
        return max(inside, key=lambda loop: loop.depth, default=None)

    def loop_depths(self) -> tuple[int, ...]:
        """Loop depth of each position of ``lines`` (0 = outside any loop)."""
        depth = [0] * len(self.blocks)
        for loop in self.loops:
            for b in loop.blocks:
                depth[b] = max(depth[b], loop.depth)
        return tuple(depth[b] for b in self.block_of)


def ends_wave(ins: Instruction) -> bool:
    """True where execution never continues at the next address."""
    return ins.base in _ENDS


def is_indirect(ins: Instruction) -> bool:
    """True for jumps and calls through a register."""
    return ins.base in _INDIRECT


def build(listing: Listing, entry: int) -> Cfg:
    """The graph of everything reachable from address ``entry`` (bytes).

    Raises KeyError when ``entry`` is not the start of an instruction.
    """
    if entry not in listing.by_pc:
        raise KeyError(entry)
    code = listing.instructions
    reach, leaders = _walk(listing, entry)
    order = sorted(reach)
    position = {idx: p for p, idx in enumerate(order)}
    starts = _block_starts(code, order, position, leaders)
    blocks, block_of = _blocks(order, starts)
    for b in blocks:
        for idx in _next_indices(listing, code[order[b.last]]):
            s = block_of[position[idx]]
            if s not in b.succ:
                b.succ.append(s)
                blocks[s].pred.append(b.index)
    idom = _dominators(blocks, block_of[position[listing.by_pc[entry]]])
    return Cfg(
        lines=tuple(code[i] for i in order),
        blocks=tuple(blocks),
        block_of=tuple(block_of),
        indirect=tuple(code[i] for i in order if is_indirect(code[i])),
        idom=idom,
        loops=_loops(blocks, idom),
    )


def reachable(listing: Listing, entry: int) -> set[int]:
    """Listing indices of all that can execute from address ``entry`` on, which has to be an instruction."""
    return _walk(listing, entry)[0]


def _walk(listing: Listing, entry: int) -> tuple[set[int], set[int]]:
    """What is reachable from ``entry``, and where blocks start: listing indices."""
    code = listing.instructions
    reach: set[int] = set()
    leaders: set[int] = {listing.by_pc[entry]}
    todo = [listing.by_pc[entry]]
    while todo:
        i = todo.pop()
        while i not in reach and i < len(code):
            reach.add(i)
            ins = code[i]
            nxt = _next_indices(listing, ins)
            if ins.is_branch or ends_wave(ins) or is_indirect(ins):
                leaders.update(nxt)
                todo.extend(nxt)
                break
            if not nxt:
                break
            i = nxt[0]
    return reach, leaders


def _next_indices(listing: Listing, ins: Instruction) -> list[int]:
    """Listing indices that can execute after ``ins``."""
    out: list[int] = []
    if ends_wave(ins) or ins.base in ("s_setpc_b64", "s_set_pc_i64"):
        return out
    if ins.target is not None and ins.target in listing.by_pc:
        out.append(listing.by_pc[ins.target])
    falls_through = ins.target is None or ins.base != "s_branch"
    if falls_through and ins.end in listing.by_pc:
        follower = listing.by_pc[ins.end]
        if follower not in out:
            out.append(follower)
    return out


def _block_starts(
    code: Sequence[Instruction], order: Sequence[int], position: dict[int, int], leaders: set[int]
) -> set[int]:
    starts = {position[i] for i in leaders if i in position} | {0}
    for p, idx in enumerate(order):
        ins = code[idx]
        # the line after a branch starts a block, and so does one after a gap of unreachable code
        if p + 1 < len(order) and (
            ins.is_branch or ends_wave(ins) or is_indirect(ins) or order[p + 1] != idx + 1
        ):
            starts.add(p + 1)
    return starts


def _blocks(order: Sequence[int], starts: set[int]) -> tuple[list[Block], list[int]]:
    blocks: list[Block] = []
    block_of: list[int] = []
    for p in range(len(order)):
        if p in starts:
            blocks.append(Block(len(blocks), p, p))
        blocks[-1].last = p
        block_of.append(blocks[-1].index)
    return blocks, block_of


def _dominators(blocks: Sequence[Block], entry: int) -> tuple[int, ...]:
    """Immediate dominators (Cooper, Harvey and Kennedy's iterative algorithm)."""
    post: list[int] = []
    seen = {entry}
    stack: list[tuple[int, Iterable[int]]] = [(entry, iter(blocks[entry].succ))]
    while stack:
        node, succ = stack[-1]
        for s in succ:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(blocks[s].succ)))
                break
        else:
            post.append(node)
            stack.pop()
    number = {b: i for i, b in enumerate(post)}
    idom = {entry: entry}
    changed = True
    while changed:
        changed = False
        for b in reversed(post):
            if b == entry:
                continue
            known = [p for p in blocks[b].pred if p in idom]
            new = known[0]
            for p in known[1:]:
                a, c = new, p
                while a != c:
                    while number[a] < number[c]:
                        a = idom[a]
                    while number[c] < number[a]:
                        c = idom[c]
                new = a
            if idom.get(b) != new:
                idom[b] = new
                changed = True
    return tuple(idom.get(b.index, b.index) for b in blocks)


def _loops(blocks: Sequence[Block], idom: Sequence[int]) -> tuple[Loop, ...]:
    def dominates(a: int, b: int) -> bool:
        while True:
            if a == b:
                return True
            if idom[b] == b:
                return False
            b = idom[b]

    members: dict[int, set[int]] = {}
    latches: dict[int, list[int]] = {}
    for b in blocks:
        for s in b.succ:
            if dominates(s, b.index):
                body = members.setdefault(s, {s})
                latches.setdefault(s, []).append(b.index)
                todo = [b.index]
                while todo:
                    n = todo.pop()
                    if n not in body:
                        body.add(n)
                        todo.extend(blocks[n].pred)
    loops = [
        Loop(
            header=h,
            blocks=frozenset(body),
            latches=tuple(latches[h]),
            depth=sum(1 for other in members.values() if h in other),
        )
        for h, body in members.items()
    ]
    return tuple(sorted(loops, key=lambda loop: (loop.depth, loop.header)))
