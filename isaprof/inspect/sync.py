"""Barriers and waits of a kernel, and which waits let nothing stay outstanding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from isaprof.analysis.cfg import Cfg
from isaprof.inspect.census import class_of


@dataclass(frozen=True, slots=True)
class Wait:
    """One wait instruction. ``drains``: counters it waits for to reach 0."""

    pc: int
    text: str
    counters: tuple[tuple[str, int], ...]
    drains: tuple[str, ...]
    loop_depth: int


@dataclass(frozen=True, slots=True)
class Sync:
    """``barriers`` are (address, text, loop depth)."""

    barriers: tuple[tuple[int, str, int], ...]
    waits: tuple[Wait, ...]
    drains: dict[str, int]  #: counter -> waits that drain it
    drains_in_loops: dict[str, int]


def synchronisation(cfg: Cfg) -> Sync:
    """All barriers and waits, in address order."""
    depth = cfg.loop_depths()
    barriers, waits = [], []
    for p, ins in enumerate(cfg.lines):
        kind = class_of(ins)
        if kind == "barrier":
            barriers.append((ins.pc, ins.text, depth[p]))
        elif kind == "wait":
            drains = tuple(c for c, n in ins.waits if n == 0)
            waits.append(Wait(ins.pc, ins.text, ins.waits, drains, depth[p]))
    return Sync(
        tuple(barriers),
        tuple(waits),
        dict(Counter(c for w in waits for c in w.drains)),
        dict(Counter(c for w in waits if w.loop_depth for c in w.drains)),
    )
