"""What a transform says: findings with evidence, obligations, edit and estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles that the rewrite could save, summed over the traced waves.

    ``upper`` assumes that all of the stall goes away and nothing hides it
    today; ``expected`` is what the evidence supports. None where the capture
    (or its absence) says nothing. Removing R of T cycles is a gain of
    R / (T - R).
    """

    upper: int | None
    expected: int | None
    total: int | None  #: wave cycles of the capture
    provenance: str | None  #: "measured" or "modelled": of the cycles above
    basis: str  #: how the figures were derived

    def gain(self, cycles: int | None) -> float | None:
        """R / (T - R) for R = ``cycles``; None where unknown."""
        if cycles is None or not self.total or cycles >= self.total:
            return None
        return cycles / (self.total - cycles)

    def to_dict(self) -> dict[str, Any]:
        return {
            "upper_cycles": self.upper,
            "expected_cycles": self.expected,
            "total_cycles": self.total,
            "upper_gain": self.gain(self.upper),
            "expected_gain": self.gain(self.expected),
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
    changes: tuple[Change, ...]


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
