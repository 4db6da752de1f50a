"""A loop on one line: its matrix, LDS and memory operations, barriers and waits, runs counted.

``M`` matrix, ``R`` LDS read, ``W`` LDS write, ``G`` load from memory (into
LDS, too), ``S`` store, each with the length of its run; ``B`` barrier, ``w``
wait on a counter. Vector and scalar ALU are left out, an inner loop stands in
parentheses: ``w B R4 M1 R4 M3 (G2 w M8) S1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isaprof.attribution.regions import Region
from isaprof.isa.model import Instruction, Pipe

#: letters whose runs of one are written without a figure
_PLAIN = ("w", "B")


def letter(x: Instruction) -> str:
    """What the instruction is called in a skeleton; "" where it has no part in it."""
    if x.pipe is Pipe.MATRIX:
        return "M"
    if x.waits:
        return "w"
    # gfx12 splits the barrier: the wave is held up at the wait
    if x.base.startswith("s_barrier") and not x.base.startswith("s_barrier_signal"):
        return "B"
    if x.mem is None or x.pipe not in (Pipe.LDS, Pipe.VMEM):
        return ""
    if x.pipe is Pipe.LDS:
        return "R" if x.mem.load else "W"
    return "G" if x.mem.load or x.mem.lds_dma else "S"


def skeleton(
    code: Sequence[Instruction], loop: Region, inner: Iterable[Region], executed: Sequence[bool]
) -> str:
    """The skeleton of ``loop``; ``inner``: all loops of the kernel, ``executed``: lines that any wave ran."""
    nested = {r.number: set(r.lines) for r in inner if r.parent == loop.number}
    by_number = {r.number: r for r in inner}
    parts: list[str] = []
    run, count = "", 0

    def close() -> None:
        if run:
            parts.append(run if run in _PLAIN and count == 1 else f"{run}{count}")

    seen: set[int] = set()
    for i in loop.lines:
        inside = next((n for n, lines in nested.items() if i in lines), None)
        if inside is not None:
            if inside not in seen:
                seen.add(inside)
                close()
                run, count = "", 0
                parts.append(f"({skeleton(code, by_number[inside], by_number.values(), executed)})")
            continue
        name = letter(code[i]) if executed[i] else ""
        if not name:
            continue
        if name == run:
            count += 1
            continue
        close()
        run, count = name, 1
    close()
    return " ".join(parts)
