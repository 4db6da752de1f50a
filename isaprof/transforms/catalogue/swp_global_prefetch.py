"""swp-global-prefetch: issue the next iteration's loads while this one computes.

Found on loops that wait for their global loads in the iteration that issues
them. The loop is rotated (:mod:`isaprof.transforms.rotate`), re-assembled and
analysed again; it is offered as text, not applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isaprof import arch as tables
from isaprof.errors import IsaprofError
from isaprof.isa.model import Instruction
from isaprof.transforms.context import Context
from isaprof.transforms.model import Estimate, Finding, Product
from isaprof.transforms.prefetch_cycles import LoopCycles, loop_cycles
from isaprof.transforms.prefetch_obligations import new_conflicts, obligations
from isaprof.transforms.rotate import LoadGroup, NotRotatable, Rotation, load_groups, rotate
from isaprof.transforms.source import Source

#: least share of the loop's wave cycles that its waits for the loads must stall
MIN_SHARE = 0.15
#: the first use must come before this part of the load latency has passed
MAX_DISTANCE = 0.5


class SwpGlobalPrefetch:
    id = "swp-global-prefetch"
    title = "software-pipelined global loads"
    what = "Issue iteration k+1's global loads while iteration k computes, so that the wait finds them done."
    published = (
        "+7.0 % (quantised GEMM on gfx1151, vLLM pull request); 690 to 866 TFLOP/s (a16w16 v3 to v4, gfx950, "
        "Gluon); 22.8 to 25.6 TFLOP/s (sgemm k3 to k4, 7900 XTX)"
    )
    automation = "advice"

    def detect(self, context: Context) -> Sequence[Finding]:
        """Single-block loops whose loads are used in the iteration that issues them."""
        if context.opaque:
            return []
        out = []
        for group in load_groups(context):
            cycles = loop_cycles(context, group)
            if context.analysis is not None and (cycles is None or not worth_it(cycles)):
                continue
            rotation = best_rotation(context, group, cycles)
            if rotation is None:
                continue
            if cycles is None and _window(context, rotation) <= _distance(context, group):
                continue  # the loads would not get further from their use
            out.append(self._finding(context, group, rotation, cycles))
        return out

    def _finding(
        self, context: Context, group: LoadGroup, rotation: Rotation, cycles: LoopCycles | None
    ) -> Finding:
        wait = context.instruction(cycles.worst if cycles is not None else group.waits[0])
        rewritten = Rewritten.of(context, rotation)
        n = len(group.loads)
        return Finding(
            transform=self.id,
            index=wait.index,
            pc=wait.pc,
            text=wait.text,
            title=f"{n} load{'s' if n > 1 else ''} waited for in the iteration that issues them",
            evidence=tuple(_evidence(context, group, rotation, cycles)),
            estimate=_estimate(context, rotation, cycles),
            obligations=obligations(context, rewritten.rotation, rewritten.context, rewritten.problem),
            rewritten=rewritten.lines,
            product=rewritten.product(context),
        )


def best_rotation(context: Context, group: LoadGroup, cycles: LoopCycles | None) -> Rotation | None:
    """Into the same registers, or into new ones where that saves more; None where neither is possible."""
    found = []
    for rename in (False, True):
        try:
            found.append(rotate(context, group, rename=rename))
        except NotRotatable:
            continue
    if cycles is None:
        return max(found, key=lambda r: _window(context, r) - 2 * _copies(r), default=None)
    return max(found, key=lambda r: _saved(context, r, cycles), default=None)


def _copies(rotation: Rotation) -> int:
    """Register moves in each iteration."""
    return sum(len(r.copies) for r in rotation.renamed.values())


def _saved(context: Context, rotation: Rotation, cycles: LoopCycles) -> int:
    """Cycles that the rotation saves, its register moves paid for."""
    period = int(tables.family_table(context.co.arch).get("issue_period", 1))
    saved = cycles.stall - cycles.left(cycles.window(context, rotation))
    return max(0, saved - cycles.iterations * period * _copies(rotation))


def worth_it(cycles: LoopCycles) -> bool:
    """The catalogue's thresholds."""
    late = cycles.latency is not None and cycles.distance < MAX_DISTANCE * cycles.latency
    return late and cycles.stall >= MIN_SHARE * cycles.loop


def _distance(context: Context, group: LoadGroup) -> int:
    """Instructions between the last load and the first wait."""
    return context.cfg.position(group.waits[0]) - context.cfg.position(max(group.loads)) - 1


def _window(context: Context, rotation: Rotation) -> int:
    """Instructions between the loads and the first wait after the rotation."""
    block = rotation.group.block
    at = context.cfg.position(rotation.at)
    wait = context.cfg.position(rotation.group.waits[0])
    gone = sum(1 for i in rotation.moved if context.cfg.position(i) < wait)
    return block.last - at + 1 + wait - block.first - gone


def _evidence(context: Context, group: LoadGroup, rotation: Rotation, cycles: LoopCycles | None) -> list[str]:
    first = context.cfg.lines[group.block.first]
    label = context.listing.labels.get(first.pc)
    out = [f"loop at {first.pc:#x}{f' ({label})' if label else ''}, {_length(group)} instructions, one block"]
    out += [f"loaded and waited for in one iteration: {context.where(i)}" for i in group.loads]
    out.append(
        f"{_distance(context, group)} instructions from the last load to the wait; "
        f"{_window(context, rotation)} after the rotation"
    )
    if cycles is not None and context.analysis is not None:
        label = context.provenance or ""
        out.append(
            f"{cycles.stall:,} stall cycles in {cycles.count} waits, {cycles.stall / cycles.loop:.1%} of the "
            f"loop's wave cycles ({label})"
        )
        out.append(
            f"the wave arrives at the wait {cycles.distance:.0f} cycles after the load was issued; the load "
            f"takes {cycles.latency or 0:.0f} cycles (median, {label})"
        )
    return out


def _length(group: LoadGroup) -> int:
    return group.block.last - group.block.first + 1


def _estimate(context: Context, rotation: Rotation, cycles: LoopCycles | None) -> Estimate:
    if cycles is None or cycles.latency is None:
        return Estimate(None, None, None, None, "no capture: the loop is known, its cycles are not")
    window = cycles.window(context, rotation)
    expected = round(_saved(context, rotation, cycles) * cycles.exposure)
    moves = f", {_copies(rotation)} register moves each iteration paid for" if rotation.renamed else ""
    basis = (
        f"upper: all stall of these waits; expected: of each iteration's load latency (median "
        f"{cycles.latency:.0f} cycles) the {window:.0f} cycles from the loads' new place round to the wait "
        "are hidden, today's stalls there left out, and a wave's first iteration gains nothing"
        f"{moves}; times "
        f"{cycles.exposure:.2f}, the share of the stall in which no other traced wave of the SIMD issued"
    )
    return Estimate(cycles.stall, expected, context.total_cycles, context.provenance, basis)


@dataclass(frozen=True)
class Rewritten:
    """The rotated loop as text, and the whole object re-assembled with it."""

    rotation: Rotation
    lines: tuple[str, ...]
    context: Context | None
    problem: str  #: why there is no object

    def product(self, context: Context) -> Product | None:
        """For timing it on the capture's waves."""
        return None if self.context is None else Product(self.context.data, self.rotation.edit(context))

    @classmethod
    def of(cls, context: Context, rotation: Rotation) -> Rewritten:
        """Rotate the disassembly and re-assemble it; with a wait behind the loop where that is needed."""
        try:
            source = Source.of_object(context.data, context.co.path)
            after = _assembled(source, context, rotation)
            if new_conflicts(context, after):
                drained = rotation.drained(context)
                other = _assembled(source, context, drained)
                if not new_conflicts(context, other):
                    rotation, after = drained, other
        except IsaprofError as e:
            return cls(rotation, _lines(context, rotation), None, e.message)
        return cls(rotation, _lines(context, rotation), after, "")


def _assembled(source: Source, context: Context, rotation: Rotation) -> Context:
    text = source.apply(rotation.edit(context))
    return Context.of(Source.of(text).data, context.kernel.name, path=context.co.path)


def _lines(context: Context, rotation: Rotation) -> tuple[str, ...]:
    """Clone, loop and guard, as they read in the rewritten source."""
    block = rotation.group.block
    changes = {c.index: c for c in rotation.edit(context).changes}
    first = context.cfg.lines[block.first]
    name = context.listing.labels.get(first.pc, f".L_{first.pc:x}")
    out = [f"\t{t}" for t in changes[rotation.entry].after]
    out.append(f"{name}:")
    for ins in context.cfg.lines[block.first : block.last + 1]:
        change = changes.get(ins.index)
        if change is not None:
            out += [t if t.endswith(":") else f"\t{t}" for t in change.before]
        if change is None or change.lines is None:
            out.append(f"\t{_branch_to(ins, name) if ins.target == first.pc else ins.text}")
        if change is not None:
            out += [f"\t{t}" for t in change.after]
    return tuple(out)


def _branch_to(ins: Instruction, name: str) -> str:
    return f"{ins.mnemonic} {name}"


TRANSFORM = SwpGlobalPrefetch()
