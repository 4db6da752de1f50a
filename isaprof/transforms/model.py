"""What a transform says: findings with evidence, obligations, edit and estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from isaprof.transforms.context import Context


@dataclass(frozen=True, slots=True)
class Obligation:
    """A condition for the rewrite to be safe, and the proof or the counter-example."""

    id: str  #: short name, e.g. "P2"
    title: str
    met: bool
    steps: tuple[str, ...] = ()  #: the proof, or what speaks against it, step by step


class Method(StrEnum):
    """How an estimate was made."""

    RETIMED = "re-timed"  #: the waves of the capture, timed with and without the edit
    BOUND = "bound"  #: from the stalls in the capture alone; the edit was not timed


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles that the rewrite could save, summed over the traced waves.

    ``upper`` assumes that all of the stall goes away and nothing hides it
    today. ``expected``: re-timed, what the replay says, from ``low`` to
    ``high`` (isaprof.accuracy.whatif); else what arithmetic on the capture's
    stalls supports, anywhere from 0 to ``upper``. None where the capture (or
    its absence) says nothing. Negative cycles are lost.
    """

    upper: int | None
    expected: int | None
    total: int | None  #: wave cycles of the capture
    provenance: str | None  #: "measured" or "modelled": of the capture
    basis: str  #: how the figures were derived
    method: Method = Method.BOUND
    low: int | None = None
    high: int | None = None
    #: kernel span of the capture, and cycles of it saved: expected, low, high; None unless re-timed
    span: tuple[int, int, int, int] | None = None
    arithmetic: int | None = None  #: ``expected`` as the capture's stalls support it, where it was re-timed
    why: str = ""  #: why the edit was not timed again

    def share(self, cycles: int | None) -> float | None:
        """Wave cycles saved as a share of those before: (before - after) / before; None where unknown."""
        return None if cycles is None or not self.total else cycles / self.total

    @property
    def saved(self) -> float | None:
        """Share of the kernel span that is saved, (before - after) / before; None unless re-timed."""
        return None if self.span is None or not self.span[0] else self.span[1] / self.span[0]

    def to_dict(self) -> dict[str, Any]:
        span = self.span
        return {
            "method": self.method.value,
            "why": self.why,
            "upper_cycles": self.upper,
            "expected_cycles": self.expected,
            "low_cycles": self.low,
            "high_cycles": self.high,
            "total_cycles": self.total,
            "upper_share": self.share(self.upper),
            "expected_share": self.share(self.expected),
            "span_cycles": None if span is None else span[0],
            "span_saved": None if span is None else {"expected": span[1], "low": span[2], "high": span[3]},
            "span_share": self.saved,
            "provenance": self.provenance,
            "basis": self.basis,
        }


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to the instruction at listing index ``index``.

    ``lines`` replace it (none: it is deleted; None: it stays as it is);
    ``before`` and ``after`` are put above and below it. Lines are
    instructions, or labels that end in a colon.
    """

    index: int
    lines: tuple[str, ...] | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes of single instructions.

    What the changes put in may go on with executions of the instructions they
    take away: ``carries`` says so by text, with the listing indices that equal
    texts stand for in turn. A branch that is put in decides as a branch of the
    listing will decide next (``decides``: by text, its index and whether it is
    the other way round). Both are for timing the edit on recorded waves.
    """

    changes: tuple[Change, ...]
    carries: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    decides: Mapping[str, tuple[int, bool]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Product:
    """The edited object, where a transform has assembled it; ``edit`` leads to it from the analysed one."""

    data: bytes = field(repr=False)
    edit: Edit


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a transform applies, or nearly does."""

    transform: str
    index: int  #: listing index of the instruction it is about
    pc: int  #: address, bytes
    text: str
    title: str
    evidence: tuple[str, ...]
    estimate: Estimate
    obligations: tuple[Obligation, ...]
    edit: Edit | None = None  #: None: advice only
    rewritten: tuple[str, ...] = ()  #: the code as it would read
    #: the edited object, for a finding without an ``edit``; None: it cannot be assembled
    product: Product | None = field(default=None, repr=False)

    @property
    def safe(self) -> bool:
        """True where every obligation is met and the edit can be made automatically."""
        return self.edit is not None and all(o.met for o in self.obligations)

    def to_dict(self) -> dict[str, Any]:
        return {
            "transform": self.transform,
            "line": self.index,
            "pc": self.pc,
            "text": self.text,
            "title": self.title,
            "evidence": list(self.evidence),
            "estimate": self.estimate.to_dict(),
            "obligations": [
                {"id": o.id, "title": o.title, "met": o.met, "steps": list(o.steps)} for o in self.obligations
            ],
            "automatic": self.edit is not None,
            "safe": self.safe,
            "rewritten": list(self.rewritten),
        }


class Transform(Protocol):
    """One documented rewrite. Modules of the catalogue hold one as ``TRANSFORM``."""

    id: str
    title: str
    what: str  #: one sentence
    published: str  #: gains others have published for it, with where
    automation: str  #: "automatic" or "advice"

    def detect(self, context: Context) -> Sequence[Finding]:
        """Every place of the kernel where it applies; best first is not required."""
        ...
