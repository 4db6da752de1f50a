"""What a capture says about a loop that waits for its loads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.transforms.context import Context
    from isaprof.transforms.rotate import LoadGroup, Rotation


@dataclass(frozen=True)
class LoopCycles:
    """Cycles summed over the traced waves, unless it says per iteration."""

    stall: int  #: of the group's waits
    loop: int  #: wave cycles of the loop
    count: int  #: executions of the waits
    iterations: int
    distance: float  #: median, issue of the last load a wait retires to arrival at the wait
    latency: float | None  #: median, issue of that load to the end of a wait that stalled
    exposure: float
    worst: int  #: listing index of the wait with most stall
    #: (stall of its waits, longest latency, first of its wave) of every iteration that stalled
    passes: tuple[tuple[int, int, bool], ...]
    #: listing index -> cycles per iteration, stalls included
    per_line: Mapping[int, float]

    def left(self, window: float) -> int:
        """Stall that remains when the loads are issued ``window`` cycles before the wave arrives.

        The first iteration of a wave is not helped: its loads are issued before the loop.
        """
        rest = 0.0
        for stall, latency, first in self.passes:
            rest += stall if first else min(stall, max(0.0, latency - window))
        return round(rest)

    def window(self, context: Context, rotation: Rotation) -> float:
        """Cycles of an iteration from the loads' new place round to the first wait, without today's waits."""
        cfg, block = context.cfg, rotation.group.block
        first, last = cfg.position(rotation.at), cfg.position(rotation.group.waits[0])
        places = [*range(first, block.last + 1), *range(block.first, last)]
        skip = {*rotation.moved, *rotation.group.waits}
        return sum(self.per_line.get(cfg.lines[p].index, 0) for p in places if cfg.lines[p].index not in skip)


def loop_cycles(context: Context, group: LoadGroup) -> LoopCycles | None:
    """The cycles of ``group``'s loop; None without a capture, or where it never ran."""
    time, analysis = context.timeline, context.analysis
    if time is None or analysis is None:
        return None
    body = context.cfg.lines[group.block.first : group.block.last + 1]
    lines = {
        int(pc): (int(n), int(wait) + int(issue))
        for pc, n, wait, issue in analysis.lines[["pc", "hits", "wait", "issue"]].to_numpy()
    }
    hits: dict[int, int] = {}
    cycles: dict[int, int] = {}
    for ins in body:
        if ins.pc in lines:
            hits[ins.index], cycles[ins.index] = lines[ins.pc]
    iterations = max((hits.get(w, 0) for w in group.waits), default=0)
    stalls = {w: context.cost(w) for w in group.waits}
    stall = {w: c.stall for w, c in stalls.items() if c is not None}
    loop = sum(cycles.values())
    if not iterations or not loop or not stall:
        return None
    loads = [time.line(context.instruction(i).pc) for i in group.loads]
    distance, latency = [], []
    passes: dict[tuple[int, int], tuple[int, int]] = {}
    marks = time.issues(loads[0])
    for w in group.waits:
        for pause in time.pauses(time.line(context.instruction(w).pc)):
            known = [t for x in loads if (t := time.last_issue(x, pause.wave, pause.begin)) is not None]
            blamed = (
                time.last_issue(pause.culprit, pause.wave, pause.begin) if pause.culprit in loads else None
            )
            issued = blamed if blamed is not None else max(known, default=None)
            if issued is None:
                continue
            distance.append(pause.begin - issued)
            latency.append(pause.end - issued)
            key = pause.wave, bisect_left(marks.get(pause.wave, []), pause.begin)
            stalled, longest = passes.get(key, (0, 0))
            passes[key] = stalled + pause.cycles, max(longest, pause.end - issued)
    if not distance:
        return None
    return LoopCycles(
        stall=sum(stall.values()),
        loop=loop,
        count=sum(hits.get(w, 0) for w in group.waits),
        iterations=iterations,
        distance=median(distance),
        latency=median(latency),
        exposure=time.exposure(time.line(context.instruction(w).pc) for w in group.waits),
        passes=tuple((c, longest, n <= 1) for (_, n), (c, longest) in sorted(passes.items())),
        worst=max(stall, key=lambda w: stall[w]),
        per_line={i: c / iterations for i, c in cycles.items()},
    )
