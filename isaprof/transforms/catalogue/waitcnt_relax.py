"""waitcnt-relax: wait for what is needed, not for everything in flight.

The proof is an interpretation of the wait counters over all paths, of the code
as it is and of the edited code side by side (:mod:`isaprof.analysis.waits` and
``delays``): the largest count is kept under which no operation that was
complete is in flight where a register of it is read or overwritten, or where
others could notice it (:mod:`isaprof.analysis.publication`: barriers, messages,
flags, cache maintenance, LDS behind LDS-DMA).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isaprof.analysis.delays import delayed
from isaprof.analysis.waits import in_order
from isaprof.isa.model import Instruction
from isaprof.transforms.context import Context
from isaprof.transforms.model import Change, Edit, Estimate, Finding, Obligation


class WaitcntRelax:
    id = "waitcnt-relax"
    title = "wait for what is needed"
    what = "Replace a wait for 0 by the number of newer operations that may stay outstanding."
    published = "none isolated; a public script that did it textually in a pipelined loop broke its results"
    automation = "automatic"

    def detect(self, context: Context) -> Sequence[Finding]:
        """Waits of which at least one counter could be larger."""
        if context.opaque:
            return []  # no statement about all paths is possible
        points = len(context.waits.unpublished())
        findings = []
        for ins in context.cfg.lines:
            for counter, n in ins.waits:
                finding = self._at(context, ins, counter, n, points)
                if finding is not None:
                    findings.append(finding)
        return findings

    def _at(self, context: Context, ins: Instruction, counter: str, n: int, points: int) -> Finding | None:
        queue = context.waits.before(ins.index).get(counter, {})
        kinds = frozenset(context.waits.kinds[i] for i in queue)
        if not queue or not in_order(kinds):
            return None
        limit = min(context.counter_maxima[counter] - 1, max(queue.values()) + 1)
        best, blocker = self._largest(context, ins, counter, n, limit)
        if best <= n:
            return None
        new = relaxed_text(ins, {counter: best})
        released = sorted(i for i, age in queue.items() if age >= best)
        kept = sorted(i for i, age in queue.items() if n <= age < best)
        if new is None or not kept:
            return None
        steps = [
            f"before {context.where(ins.index)}: {len(queue)} operations may be outstanding on {counter}, "
            f"all {', '.join(sorted(kinds))}, which complete in issue order",
            *(
                f"  age {queue[i]} or more: {context.where(i)}"
                for i in sorted(queue, key=lambda i: -queue[i])
            ),
            f"{counter}({n}) retires those of age >= {n}; {counter}({best}) those of age >= {best}",
            "every path simulated again with the new count: no operation that was complete is in flight "
            "where its register is used, or at any barrier, message, flag or store where it matters",
        ]
        if blocker:
            steps.append(f"{counter}({best + 1}) would not do: {blocker}")
        return Finding(
            transform=self.id,
            index=ins.index,
            pc=ins.pc,
            text=ins.text,
            title=f"{ins.text} can be {new}",
            evidence=tuple(self._evidence(context, ins, counter, n, best, released, kept)),
            estimate=self._estimate(context, ins, released, kept),
            obligations=(
                Obligation("P2", "wait counters over all paths, back edges included", True, tuple(steps)),
                Obligation(
                    "P5",
                    "no memory write less visible than before",
                    True,
                    (f"{points} outstanding operations at publication points before, and none more after",),
                ),
            ),
            edit=Edit((Change(ins.index, (new,)),)),
            rewritten=(new,),
        )

    def _largest(
        self, context: Context, ins: Instruction, counter: str, n: int, limit: int
    ) -> tuple[int, str]:
        """The largest safe count, and why one more is not (empty: there is no more to gain)."""
        best, blocker = n, _objection(context, _with(ins, counter, n + 1)) or ""
        if blocker or n >= limit:
            return best, blocker
        low, high = n + 1, limit
        best = low
        while low < high:
            mid = (low + high + 1) // 2
            why = _objection(context, _with(ins, counter, mid))
            if why is None:
                low = best = mid
            else:
                high, blocker = mid - 1, why
        return best, blocker

    def _evidence(
        self,
        context: Context,
        ins: Instruction,
        counter: str,
        n: int,
        best: int,
        released: Sequence[int],
        kept: Sequence[int],
    ) -> list[str]:
        out = [f"written {counter}({n}), sufficient {counter}({best})"]
        out += [f"needed here: {context.where(i)}" for i in released]
        out += [f"not needed before a later wait: {context.where(i)}" for i in kept]
        cost = context.cost(ins.index)
        if cost is not None and context.total_cycles:
            share = (cost.stall + cost.idle) / context.total_cycles
            out.append(
                f"{cost.stall} stall cycles in {cost.hits} executions, {share:.1%} of wave cycles "
                f"({context.provenance})"
            )
        return out

    def _estimate(
        self, context: Context, ins: Instruction, released: Sequence[int], kept: Sequence[int]
    ) -> Estimate:
        cost = context.cost(ins.index)
        if cost is None or context.analysis is None:
            return Estimate(None, None, None, None, "no capture: the proof is static, the gain unknown")
        time = context.timeline
        assert time is not None
        saved = _saved(context, ins, released, kept) if released else cost.stall
        exposed = time.exposure([time.line(ins.pc)])
        expected = round(min(saved, cost.stall) * exposed)
        basis = (
            "upper: all stall of this wait; expected: each time it ends when the last operation that is "
            "needed is done, which takes the median latency of its kind in this capture; waits that follow "
            f"are taken to last as long as today; times {exposed:.2f}, the share of the stall in which "
            "no other traced "
            "wave of the SIMD issued"
        )
        return Estimate(cost.stall, expected, context.total_cycles, context.provenance, basis)


def _saved(context: Context, ins: Instruction, released: Sequence[int], not_needed: Sequence[int]) -> int:
    """Cycles by which this wait would end earlier, over all its stalls.

    ``released``: operations that the wait must still retire; ``not_needed``: those it need not.
    """
    time = context.timeline
    assert time is not None
    kinds = context.waits.kinds
    lines = {i: time.line(context.instruction(i).pc) for i in (*released, *not_needed)}
    latency: dict[int, float] = {}
    for kind in {kinds[i] for i in released}:
        same = [i for i, k in kinds.items() if k == kind]
        median = time.latency(time.line(context.instruction(i).pc) for i in same)
        if median is not None:
            latency |= dict.fromkeys(same, median)
    total = 0
    for pause in time.pauses(time.line(ins.pc)):
        youngest = max(
            (t for i in not_needed if (t := time.last_issue(lines[i], pause.wave, pause.begin)) is not None),
            default=pause.begin,
        )
        end = pause.begin
        for i in released:
            issued = time.last_issue(lines[i], pause.wave, pause.begin)
            if issued is not None:  # without a latency of its own: as long as the youngest took
                end = max(end, issued + round(latency.get(i, pause.end - youngest)))
        total += max(0, pause.end - end)
    return total


def _with(ins: Instruction, counter: str, n: int) -> dict[int, tuple[tuple[str, int], ...]]:
    return {ins.index: tuple((c, n if c == counter else old) for c, old in ins.waits)}


def _objection(context: Context, override: Mapping[int, tuple[tuple[str, int], ...]]) -> str | None:
    """Why the program with ``override`` is worse than before; None where it is not."""
    found = delayed(context.waits, context.waits.with_waits(override))
    worst = min(found, key=lambda d: (d.overwrite is None, d.point, d.operation), default=None)
    if worst is None:
        return None
    point, op = context.where(worst.point), context.where(worst.operation)
    if worst.overwrite is None:
        mem = context.instruction(worst.operation).mem
        what = "write" if mem is not None and (mem.store or mem.atomic or mem.lds_dma) else "read"
        return f"at {point} the {what} of {op} might not be complete"
    verb = "overwrites" if worst.overwrite else "reads"
    return f"{point} {verb} a result of {op} that may be outstanding"


def relaxed_text(ins: Instruction, counts: Mapping[str, int]) -> str | None:
    """The wait instruction with ``counts`` changed, in the syntax it was written in; None if unknown."""
    waits = {c: counts.get(c, n) for c, n in ins.waits}
    if ins.base == "s_waitcnt":
        return "s_waitcnt " + " ".join(f"{c}({n})" for c, n in waits.items())
    if ins.base == "s_waitcnt_vscnt" and len(waits) == 1:
        return f"s_waitcnt_vscnt null, {next(iter(waits.values())):#x}"
    if ins.base in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        # a field that waits for nothing is not among the waits: it keeps its largest value
        return f"{ins.base} {waits.get(ins.base.split('_')[2], 63) << 8 | waits.get('dscnt', 63):#x}"
    if ins.base.startswith("s_wait_") and len(waits) == 1:
        return f"{ins.base} {next(iter(waits.values())):#x}"
    return None


TRANSFORM = WaitcntRelax()
