"""Memory instructions spread between matrix instructions instead of in phases of their own."""

from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction, Pipe


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    for loop in k.matrix_loops():
        lines = k.loop_lines(loop)
        work = [i for i in lines if i.pipe is Pipe.MATRIX or (i.mem is not None and i.pipe is not Pipe.SMEM)]
        memory = [i for i in work if i.pipe is not Pipe.MATRIX]
        between = [
            b
            for a, b, c in zip(work, work[1:], work[2:], strict=False)
            if a.pipe is Pipe.MATRIX and c.pipe is Pipe.MATRIX and b.pipe is not Pipe.MATRIX
        ]
        if memory and len(between) * 2 >= len(memory):
            run = longest = 0
            for i in work:
                run = run + 1 if i.pipe is not Pipe.MATRIX else 0
                longest = max(longest, run)
            yield (
                f"loop {loop.head:#x}: {len(between)} of {len(memory)} vector-memory and LDS "
                f"instructions stand singly between matrix instructions (longest run without one: {longest})",
                between,
            )


DETECTOR = Detector("matrix-memory-interleaving", "Matrix and memory instructions interleaved", _find)
