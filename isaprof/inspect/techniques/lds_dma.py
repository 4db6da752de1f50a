"""Loads that go from memory straight to LDS."""

from collections import Counter
from collections.abc import Iterator

from isaprof.inspect.census import class_of
from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    shown = [i for i in k.lines if class_of(i) == "lds_dma"]
    if shown:
        inside = {n for loop in k.loops for n in loop.indices}
        names = ", ".join(f"{n} {m}" for m, n in Counter(i.base for i in shown).most_common())
        looped = sum(i.index in inside for i in shown)
        yield f"{names} move data to LDS without registers ({looped} of them in loops)", shown


DETECTOR = Detector("lds-dma", "LDS-DMA", _find)
