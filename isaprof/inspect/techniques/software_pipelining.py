"""Loads whose result a loop reads in a later pass than it issues them in."""

from collections.abc import Iterator

from isaprof.inspect.census import class_of
from isaprof.inspect.loops import LoopFacts
from isaprof.inspect.technique import Detector, KernelFacts, source_line
from isaprof.inspect.values import Node
from isaprof.isa.model import Instruction

_COUNTERS = ("vmcnt", "loadcnt", "asynccnt", "tensorcnt")


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    for loop in k.loops:
        lines = k.loop_lines(loop)
        yield from _registers(k, loop, lines)
        yield from _dma(loop, lines)


def _registers(
    k: KernelFacts, loop: LoopFacts, lines: list[Instruction]
) -> Iterator[tuple[str, list[Instruction]]]:
    inside = {i.index: i for i in lines}
    header = k.flow.cfg.block_of[k.flow.cfg.position(loop.indices[0])]
    read = {id(n) for i in lines for n in k.flow.inputs[i.index].values()}
    by_kind: dict[str, dict[int, list[Instruction]]] = {}
    for phi in k.flow.phis.get(_head_block(k, loop), k.flow.phis.get(header, [])):
        if id(phi) not in read:
            continue
        depth, node = 1, phi
        for _ in range(8):
            loads = [s for a in node.args if (s := source_line(a)) in inside]
            if loads and loads[0] is not None:
                ins = inside[loads[0]]
                kind = class_of(ins)
                if kind in ("vmem_load", "lds_read"):
                    by_kind.setdefault(kind, {}).setdefault(depth, []).append(ins)
                break
            behind = [a for a in node.args if a.op == "phi" and a is not node and a.line == phi.line]
            if not behind:
                break
            depth, node = depth + 1, _one(behind)
    for kind, depths in by_kind.items():
        deepest = max(depths)
        shown = list({i.index: i for d in depths.values() for i in d}.values())
        total = loop.census.get(kind, 0)
        what = "loads" if kind == "vmem_load" else "LDS reads"
        passes = "pass" if loop.steps == 1 else f"pass ({loop.steps} steps each)"
        yield (
            f"loop {loop.head:#x}: the results of {len(shown)} of {total} {what} are read in a later "
            f"{passes}, depth {deepest}",
            sorted(shown, key=lambda i: i.pc),
        )


def _one(nodes: list[Node]) -> Node:
    return nodes[0]


def _head_block(k: KernelFacts, loop: LoopFacts) -> int:
    cfg = k.flow.cfg
    return next(b.index for b in cfg.blocks if cfg.lines[b.first].pc == loop.head)


def _dma(loop: LoopFacts, lines: list[Instruction]) -> Iterator[tuple[str, list[Instruction]]]:
    """Waits that leave loads in flight in a loop that moves data to LDS without registers."""
    total = loop.census.get("lds_dma", 0)
    waits = [i for i in lines if any(c in _COUNTERS and n > 0 for c, n in i.waits)]
    if total and waits:
        most = max(n for i in waits for c, n in i.waits if c in _COUNTERS)
        loads = (total + loop.census.get("vmem_load", 0)) // loop.steps
        yield (
            f"loop {loop.head:#x}: {len(waits)} waits leave up to {most} memory operations in flight, of "
            f"about {loads} issued in a step",
            waits,
        )


DETECTOR = Detector("software-pipelining", "Software pipelining", _find)
