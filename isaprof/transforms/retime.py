"""Estimated gains by timing the edit: the capture's waves in the timing model, with and without it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isaprof.accuracy.edited import Edited, NotCarried, edit_of
from isaprof.accuracy.validate import prepare
from isaprof.accuracy.whatif import SPREAD, Retimer
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import IsaprofError
from isaprof.isa.decode import disassemble
from isaprof.transforms.model import Edit, Estimate, Finding, Method, Product
from isaprof.transforms.objects import Differs, Layout, laid_out, same_text
from isaprof.transforms.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from isaprof.accuracy.replay import Addresses
    from isaprof.accuracy.whatif import WhatIf
    from isaprof.capture.model import Capture
    from isaprof.isa.model import Instruction
    from isaprof.transforms.context import Context

#: replays for one finding: the variants of the constants, and the execution of the edited object
VARIANTS = 12
#: modelled wave-instructions that all estimates of a kernel may take together, unless told otherwise: seconds
BUDGET = 4_000_000
#: and where the compiled loop of the model is not there
SLOW_BUDGET = 300_000


def usual_budget() -> int:
    """Modelled wave-instructions that take a few seconds."""
    from isaprof.sim.timing import compiled

    return BUDGET if compiled.library() is not None else SLOW_BUDGET


@dataclass(frozen=True)
class Prepared:
    """The waves of a capture, ready to be timed."""

    retimer: Retimer
    addresses: Addresses
    notes: tuple[str, ...]


@dataclass
class Timing:
    """A capture that findings are timed on; ``problem`` says why none can be.

    Its waves are prepared (the kernel executed for its addresses) when the
    first finding asks for it.
    """

    capture: Capture | None = field(default=None, repr=False)
    problem: str = ""
    budget: int | None = None  #: wave-instructions left, None: no limit
    execute: bool = True  #: edited objects are executed where the launch is known
    prepared: Prepared | None = field(default=None, repr=False)

    def prepare(self, launch: Path | None = None, shape: str | None = None) -> Prepared | None:
        """The capture's waves; None with ``problem`` where they cannot be replayed.

        Raises only for a given launch file or shape that does not fit.
        """
        if self.prepared is None and not self.problem and self.capture is not None:
            if not self._pay(len(self.capture.insts), spend=False):
                return None
            try:
                recording, addresses, notes = prepare(self.capture, launch=launch, shape=shape)
            except IsaprofError as e:
                if launch is not None or shape is not None:
                    raise
                self.problem = e.message
                return None
            self.prepared = Prepared(Retimer(recording, addresses), addresses, notes)
        return self.prepared

    def _pay(self, steps: int, *, spend: bool = True) -> bool:
        """Whether the budget allows one more finding that replays ``steps`` wave-instructions."""
        if self.budget is None:
            return True
        cost = steps * VARIANTS
        if cost > self.budget:
            self.problem = (
                f"it takes {cost:,} modelled instructions, {self.budget:,} are left (--estimate retime)"
            )
            return False
        self.budget -= cost if spend else 0
        return True

    def estimate(self, context: Context, finding: Finding, source: Source | None = None) -> Estimate:
        """The finding's estimate, re-timed where that is possible; else its own, and why.

        ``source``: what ``finding.edit`` is an edit of; default: the object's disassembly.
        """
        old = finding.estimate
        if old.total is None:
            return old
        if self.prepare() is None:
            return replace(old, why=self.problem)
        try:
            product = product_of(context, finding, source)
            if product is None:
                return replace(old, why="there is no edited code")
            return self._retimed(old, context, edited_object(context, product), finding.title)
        except (NotCarried, Differs) as e:
            return replace(old, why=str(e))
        except IsaprofError as e:
            return replace(old, why=e.message)

    def of_rewrite(self, context: Context, after: Source, index: Mapping[int, int]) -> Estimate | None:
        """The estimate of all edits from ``context`` to ``after`` together; None where there is none.

        ``index``: listing index before -> after, of what replaces it where it was replaced.
        """
        if context.analysis is None or self.prepare() is None:
            return None
        old = Estimate(None, None, context.total_cycles, context.provenance, "all edits together")
        new = after.listing.instructions
        carries = {
            j: i
            for i, j in index.items()
            if j < len(new) and new[j].mnemonic == context.instruction(i).mnemonic
        }
        changed = [
            i for i, j in index.items() if carries.get(j) != i or _differ(context.instruction(i), new[j])
        ]
        co = CodeObject.from_bytes(after.data, arch=context.co.arch)
        kernel = co.kernel(context.kernel.name)
        other = [i for i in changed if _makes_values(context.instruction(i))]
        unknown = _NOT_RECORDED.format(context.where(other[0])) if other else ""
        edited = Edited(co, kernel, after.listing, carries, index, {}, frozenset(changed), unknown)
        try:
            return self._retimed(old, context, edited, "all edits together")
        except (NotCarried, IsaprofError):
            return None

    def _retimed(self, old: Estimate, context: Context, edited: Edited, title: str) -> Estimate:
        assert self.prepared is not None
        timer, addresses = self.prepared.retimer, self.prepared.addresses
        if timer.recording.data != context.data and _text(timer.recording.co) != _text(context.co):
            return replace(old, why="the waves of the capture ran another code object")
        if not self._pay(timer.steps):
            why, self.problem = self.problem, ""
            return replace(old, why=why)
        edit, how = edit_of(edited, timer.recording, addresses, execute=self.execute)
        return _estimate(old, timer.change(edit, title, notes=self.prepared.notes), how)


def _differ(a: Instruction, b: Instruction) -> bool:
    return a.words != b.words and a.target is None


def edited_object(context: Context, product: Product) -> Edited:
    """What the timing needs to know of an edited object. Raises Differs where it is not the edit."""
    co = CodeObject.from_bytes(product.data, arch=context.co.arch)
    listing = disassemble(product.data, arch=context.co.arch)
    layout = laid_out(context.listing, listing, product.edit)
    touched = frozenset(c.index for c in product.edit.changes if c.lines is not None)
    entry = {i: j for i, j in layout.entry.items() if j < len(listing.instructions)}
    branches = {
        at: product.edit.decides[text] for at, _, text in layout.placed if text in product.edit.decides
    }
    unknown = _unknown(context, product.edit)
    carries = _carries(context, layout, product)
    kernel = co.kernel(context.kernel.name)
    return Edited(co, kernel, listing, carries, entry, branches, touched, unknown)


_NOT_RECORDED = (
    "{} is replaced: which values and addresses follow is not in the recording, and no launch is known"
)


def _unknown(context: Context, edit: Edit) -> str:
    """Why the edited code may access other addresses than the recorded one."""
    known = {i for indices in edit.carries.values() for i in indices}
    for change in edit.changes:
        ins = context.instruction(change.index)
        if change.lines is None or change.index in known or not _makes_values(ins):
            continue
        if not any(same_text(ins.text, line) for line in change.lines):
            return _NOT_RECORDED.format(context.where(change.index))
    return ""


def _makes_values(ins: Instruction) -> bool:
    return bool(ins.writes) or ins.mem is not None


def _carries(context: Context, layout: Layout, product: Product) -> dict[int, int]:
    """Edited -> original instruction: kept ones, those said to go on with others, and replacements."""
    out = {new: old for old, new in layout.index.items()}
    turns: dict[str, int] = {}
    replaced = {c.index: c.lines for c in product.edit.changes if c.lines}
    for at, index, text in layout.placed:
        if text in product.edit.carries:
            known = product.edit.carries[text]
            n = turns.get(text, 0)
            turns[text] = n + 1
            out[at] = known[n % len(known)]
        elif text in product.edit.decides:
            continue
        elif text == _heir(context.instruction(index).mnemonic, replaced.get(index, ())):
            out[at] = index
            replaced.pop(index)
    return out


def _heir(mnemonic: str, lines: tuple[str, ...]) -> str | None:
    """Which of the lines that replace an instruction goes on with it: the same mnemonic, else the first."""
    return next((t for t in lines if t.split(None, 1)[0] == mnemonic), lines[0] if lines else None)


def product_of(context: Context, finding: Finding, source: Source | None = None) -> Product | None:
    """The edited object of a finding; None where it has none. Errors as for assembling it.

    ``source``: what ``finding.edit`` is an edit of; default: the object's disassembly.
    """
    if finding.product is not None or finding.edit is None:
        return finding.product
    before = source or context.disassembled
    return Product(Source.of(before.apply(finding.edit), context.co.path).data, finding.edit)


def _text(co: CodeObject) -> list[tuple[int, bytes]]:
    return [(s.address, s.data) for s in co.text]


def _estimate(old: Estimate, w: WhatIf, how: str) -> Estimate:
    own = (
        f" and {w.own_error:,} cycles that the replay is off by on this capture where the edit matters"
        if w.own_error
        else ""
    )
    where = (
        f"{w.addresses} of them with executed addresses" if w.addresses < w.waves else "executed addresses"
    )
    basis = (
        f"{w.waves} {w.provenance} waves timed by the model ({w.calibration}) with and without the edit "
        f"({w.wave_cycles[0]:,} and {w.wave_cycles[1]:,} modelled wave cycles; the capture has "
        f"{w.recorded_cycles:,}, {w.provenance}); {how}, {where}; interval: latencies and rates {SPREAD:.0%} "
        f"lower and higher{own}"
    )
    if w.notes:
        basis += "; " + "; ".join(w.notes)
    return replace(
        old,
        upper=None if old.upper is None else max(old.upper, -w.low),
        expected=-w.change,
        arithmetic=old.expected,
        low=-w.high,
        high=-w.low,
        total=w.recorded_cycles,
        span=(w.recorded_span, -w.span_change, -w.span_high, -w.span_low),
        basis=basis,
        method=Method.RETIMED,
    )
