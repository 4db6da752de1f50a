"""Buffer descriptors: limits computed from the shape, or ones that let everything through."""

from collections.abc import Iterator

from isaprof.inspect.buffers import BufferDescriptor
from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    by_pc = {i.pc: i for i in k.lines}
    for d in k.buffers:
        if what := _kind(d):
            target = f" ({d.pointer})" if d.pointer else ""
            yield f"{d.registers}{target}: {what}", [by_pc[pc] for pc in d.uses]


def _kind(d: BufferDescriptor) -> str | None:
    if d.bound == "unbounded":
        return f"unbounded, num_records {' | '.join(d.limits)}"
    if d.bound.startswith("computed"):
        only = "" if d.bound == "computed" else " on the paths that set every register in it"
        return f"num_records is computed from arguments{only}: {d.limits[0]}"
    return f"num_records is the constant {' | '.join(d.limits)}" if d.bound == "constant" else None


DETECTOR = Detector("buffer-descriptors", "Exact or unbounded descriptors", _find)
