"""LDS areas that a loop has in two (or more) copies: one is filled while another is read."""

from collections.abc import Iterator

from isaprof.inspect.lds import LdsAccess
from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    for loop in k.loops:
        lines = k.loop_lines(loop)
        inside = set(loop.indices)
        mine = [a for a in k.lds.accesses if a.index in inside and a.high and a.alternatives == 1]
        for size in sorted({a.bytes for a in mine if a.kind in ("dma", "write")}):
            writes = [a for a in mine if a.kind in ("dma", "write") and a.bytes == size]
            for n, apart in copies(writes):
                low = min(a.low or 0 for a in writes)
                reads = [a for a in mine if a.kind == "read" and low <= (a.low or 0) < low + n * apart]
                if _alternate(lines, writes, reads, low, apart, n):
                    yield (
                        f"loop {loop.head:#x}: {n} copies of an area at {low:#x}, {apart:#x} bytes apart: "
                        f"between barriers, {len(writes)} instructions fill one while {len(reads)} read "
                        "another",
                        [k.instruction(a.index) for a in writes],
                    )
                    break


def copies(writes: list[LdsAccess]) -> Iterator[tuple[int, int]]:
    """(number, distance) of equal areas that the accesses fall into, where they do exactly."""
    spans = {(a.low or 0): a.high or 0 for a in writes}
    lows = sorted(spans)
    for n in (2, 3, 4):
        if len(lows) % n or not lows:
            continue
        one = lows[: len(lows) // n]
        apart = lows[len(one)] - one[0]
        extent = max(spans[x] for x in one) - one[0]
        if apart >= extent and all(
            x == one[i % len(one)] + i // len(one) * apart for i, x in enumerate(lows)
        ):
            yield n, apart


def _alternate(
    lines: list[Instruction], writes: list[LdsAccess], reads: list[LdsAccess], low: int, apart: int, n: int
) -> bool:
    """Whether each copy is written in some phase between barriers in which only other copies are read."""
    copy = {a.index: ((a.low or 0) - low) // apart for a in (*writes, *reads)}
    written = {a.index for a in writes}
    phases: list[tuple[set[int], set[int]]] = [(set(), set())]
    for ins in lines:
        if ins.base in ("s_barrier", "s_barrier_wait"):
            phases.append((set(), set()))
        elif ins.index in copy:
            phases[-1][ins.index not in written].add(copy[ins.index])
    if len(phases) > 1:  # the loop goes round: what follows the last barrier goes on at the head
        last = phases.pop()
        phases[0] = (phases[0][0] | last[0], phases[0][1] | last[1])
    good = [w for w, r in phases if w and r and not w & r]
    return set().union(*good) == set(range(n)) if good else False


DETECTOR = Detector("double-buffering", "Double buffering in LDS", _find)
