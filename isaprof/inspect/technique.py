"""Techniques a kernel already uses: what a detector sees, what it says, and how detectors are found.

Every module of :mod:`isaprof.inspect.techniques` has a ``DETECTOR``. A detector
states only what the code shows, and cites the instructions that show it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from isaprof.codeobj.elf import Kernel
from isaprof.inspect.buffers import BufferDescriptor
from isaprof.inspect.evaluate import Evaluator
from isaprof.inspect.flow import Flow
from isaprof.inspect.lds import LdsMap
from isaprof.inspect.loops import LoopFacts
from isaprof.inspect.render import Names
from isaprof.inspect.values import Node, resolve
from isaprof.isa.model import Instruction, Pipe


@dataclass(frozen=True, slots=True)
class Technique:
    """One technique found. ``lines`` are addresses of the instructions that show it (first ones)."""

    id: str
    title: str
    statement: str
    lines: tuple[int, ...]
    count: int  #: instructions that show it


@dataclass(frozen=True)
class KernelFacts:
    """What detectors look at."""

    kernel: Kernel
    flow: Flow
    names: Names
    lds: LdsMap
    evaluator: Evaluator | None
    loops: tuple[LoopFacts, ...]
    buffers: tuple[BufferDescriptor, ...]

    @property
    def lines(self) -> tuple[Instruction, ...]:
        """Reachable instructions in address order."""
        return self.flow.cfg.lines

    def loop_lines(self, loop: LoopFacts) -> list[Instruction]:
        """Instructions of a loop in address order."""
        inside = set(loop.indices)
        return [i for i in self.lines if i.index in inside]

    def matrix_loops(self) -> list[LoopFacts]:
        """Innermost loops with matrix instructions."""
        parents = {x.parent for x in self.loops}
        return [x for x in self.loops if x.census.get("matrix") and x.number not in parents]

    def matrix(self) -> list[Instruction]:
        return [i for i in self.lines if i.pipe is Pipe.MATRIX]

    def instruction(self, index: int) -> Instruction:
        """The reachable instruction with this listing index."""
        return self.lines[self.flow.cfg.position(index)]


@dataclass(frozen=True, slots=True)
class Detector:
    """``find`` yields (statement, instructions that show it)."""

    id: str
    title: str
    find: Callable[[KernelFacts], Iterator[tuple[str, list[Instruction]]]]


@lru_cache(maxsize=1)
def discover() -> tuple[Detector, ...]:
    """All detectors, by id."""
    from isaprof.inspect import techniques

    found: list[Detector] = [
        import_module(f"{techniques.__name__}.{m.name}").DETECTOR
        for m in pkgutil.iter_modules(techniques.__path__)
    ]
    return tuple(sorted(found, key=lambda d: d.id))


def techniques_of(facts: KernelFacts) -> tuple[Technique, ...]:
    """What every detector finds."""
    out = []
    for d in discover():
        for statement, shown in d.find(facts):
            pcs = tuple(dict.fromkeys(i.pc for i in shown))
            out.append(Technique(d.id, d.title, statement, pcs[:12], len(pcs)))
    return tuple(out)


def source_line(node: Node) -> int | None:
    """Listing index of the memory operation whose result the value is, moved between registers at most."""
    node = resolve(node)
    while node.op == "lanes":
        node = resolve(node.args[0])
    return node.args[0].line if node.op == "part" and node.args[0].op == "opaque" else None
