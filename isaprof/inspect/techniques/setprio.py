"""Wave priority raised around matrix instructions."""

from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction, OperandKind


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    shown = [i for i in k.lines if i.base == "s_setprio"]
    if shown:
        inside = {n for loop in k.loops for n in loop.indices}
        levels = sorted({int(o.value or 0) for i in shown for o in i.operands if o.kind is OperandKind.INT})
        looped = sum(i.index in inside for i in shown)
        yield f"{len(shown)} s_setprio to {', '.join(map(str, levels))} ({looped} in loops)", shown


DETECTOR = Detector("setprio", "Wave priorities", _find)
