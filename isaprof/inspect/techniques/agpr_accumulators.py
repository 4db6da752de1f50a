"""Matrix results accumulate in AGPRs, which leaves the VGPRs to the operands."""

from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction, RegClass


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    matrix = k.matrix()
    shown = [i for i in matrix if any(w.cls is RegClass.AGPR for w in i.writes)]
    if shown:
        registers = {w.index + n for i in shown for w in i.writes for n in range(w.count)}
        yield f"{len(shown)} of {len(matrix)} matrix instructions write {len(registers)} AGPRs", shown


DETECTOR = Detector("agpr-accumulators", "Accumulators in AGPRs", _find)
