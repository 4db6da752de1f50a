"""LDS rows with bytes between them that nothing writes, or XOR-swizzled addresses."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from isaprof.inspect.lds import address_node, dma_step, offsets
from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.inspect.values import Node, constant, reachable
from isaprof.isa.model import Instruction

#: gaps that have to follow each other at one distance
_ROWS = 3


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    yield from _padding(k)
    swizzled = []
    for a in k.lds.accesses:
        if a.high is None:  # an address that is not known in full shows no layout
            continue
        ins = k.instruction(a.index)
        node = address_node(ins, k.flow)
        if node is not None and any(_swizzle(n) for n in reachable([node])):
            swizzled.append(ins)
    if swizzled:
        yield "addresses are XORed with bits of the work-item id", swizzled


def _padding(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    """Equal gaps at equal distances that no write fills; only where every write is known."""
    writes = [a for a in k.lds.accesses if a.kind != "read"]
    if k.evaluator is None or not writes or any(a.high is None for a in writes):
        return
    written = np.zeros(max(a.high or 0 for a in writes), dtype=bool)
    shown = [k.instruction(a.index) for a in writes]
    for ins in shown:
        _mark(k, ins, written)
    edges = np.flatnonzero(np.diff(written.astype(np.int8)))
    gaps = [(int(a) + 1, int(b - a)) for a, b in pairwise(edges) if not written[a + 1]]
    found = Counter(
        (size, after - start)
        for (start, size), (after, other) in pairwise(gaps)
        if size == other and size * 4 <= after - start
    )
    for (size, stride), n in sorted(found.items()):
        if n + 1 >= _ROWS:
            yield (
                f"rows of {stride:#x} bytes of which {size:#x} are never written (padding), "
                f"{n + 1} times or more",
                shown,
            )


def _mark(k: KernelFacts, ins: Instruction, written: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
    """Set the bytes that ``ins`` writes in any wave."""
    assert ins.mem is not None
    assert k.evaluator is not None
    node = address_node(ins, k.flow)
    places = offsets(ins)
    width = ins.mem.bytes // len(places)
    for vector in (k.evaluator.values(node) if node is not None else None) or ():
        lanes = vector
        if ins.mem.lds_dma and "async" not in ins.base:
            lanes = vector + np.arange(len(vector)) % k.kernel.wave_size * dma_step(ins)
        for place in places:
            for byte in range(width):
                at = lanes + place + byte
                written[at[at < len(written)]] = True


def _swizzle(n: Node) -> bool:
    """An XOR of two values that differ between lanes, or of one with a small constant."""
    if n.op != "xor" or not n.args[0].varies:
        return False
    return n.args[1].varies or 0 < (constant(n.args[1]) or 0) < 0x1000


DETECTOR = Detector("lds-layout", "LDS padding or XOR swizzle", _find)
