"""What an A/B comparison hands to the views. Views compute nothing beyond this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison
    from isaprof.launch.verify import Verification

#: why there is one sample an arm and no spread
NO_SPREAD = (
    "The timing model is deterministic: one sample an arm, no spread. "
    "How far the model is from hardware is not in these figures."
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One timing of one arm, cycles. A modelled arm has one, a measured one has many."""

    provenance: str  #: "measured" or "modelled"
    waves: int  #: waves the cycles are of
    wave_cycles: int  #: sum of their lifetimes
    span_cycles: int  #: first begin to last end: how long the unit was busy with them

    @property
    def per_wave(self) -> float:
        """Mean lifetime of a wave."""
        return self.wave_cycles / self.waves if self.waves else 0.0

    @classmethod
    def of(cls, analysis: Analysis) -> Sample:
        return cls(analysis.provenance, len(analysis.waves), analysis.total_cycles, analysis.span_cycles)


@dataclass(frozen=True, slots=True)
class Check:
    """One arm's output with one seed.

    The run is repeated with another poison: ``unwritten`` elements kept the
    poison both times, ``unstable`` ones differ in another way (they depend on
    what the output, the padding or the scratch memory held before).
    """

    seed: int
    verification: Verification
    unwritten: int = 0
    unstable: int = 0

    @property
    def ok(self) -> bool | None:
        """False: wrong or incomplete; None: complete, but there is no reference."""
        if self.unwritten or self.unstable:
            return False
        return self.verification.verified

    @property
    def message(self) -> str:
        parts = []
        if self.unwritten:
            parts.append(f"{self.unwritten} elements never written")
        if self.unstable:
            parts.append(f"{self.unstable} elements depend on what memory held before the run")
        if self.verification.verified is not True or not parts:
            parts.append(self.verification.message)
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Arm:
    """One of the two kernels, what it computed, and its timings."""

    name: str  #: "A" or "B", or the name of a step
    path: str
    kernel: str
    arch: str
    sha256: str  #: of the code object
    text_sha256: str  #: of its executable sections
    launch_file: str
    checks: tuple[Check, ...]
    samples: tuple[Sample, ...]
    capture: Path | None = None

    @property
    def verified(self) -> bool | None:
        """Whether the output was right with every seed; None without a reference."""
        found = [c.ok for c in self.checks]
        if False in found:
            return False
        return None if None in found or not found else True

    @property
    def cosine(self) -> float | None:
        """Lowest cosine similarity with the reference over the seeds."""
        found = [c.verification.cosine for c in self.checks if c.verification.cosine is not None]
        return min(found, default=None)

    @property
    def max_rel_err(self) -> float | None:
        found = [c.verification.max_rel_err for c in self.checks if c.verification.max_rel_err is not None]
        return max(found, default=None)

    @property
    def message(self) -> str:
        """The first thing that is wrong, else the first verdict."""
        wrong = next((c for c in self.checks if c.ok is False), None)
        if wrong is not None:
            return f"seed {wrong.seed}: {wrong.message}"
        return self.checks[0].message if self.checks else ""


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """B's outputs against A's with one seed, all output operands together.

    ``equal`` counts elements with equal bits (``bitwise``), or equal values
    where the types differ or are smaller than a byte. ``beyond`` counts those
    with |b - a| > atol + rtol |a| of A's launch file. ``max_rel`` divides by
    max(|a|, ``rel_floor``).
    """

    seed: int
    compared: int
    total: int
    equal: int
    bitwise: bool
    max_abs: float | None
    max_rel: float | None
    rel_floor: float
    cosine: float | None
    beyond: int
    worst: str  #: where: "C[3, 7]: A 1.5, B 2.5"; empty where nothing is beyond
    cosine_limit: float | None = None

    @property
    def within(self) -> bool:
        """Whether B agrees with A to the launch file's tolerance."""
        low = self.cosine_limit is not None and (self.cosine is None or self.cosine < self.cosine_limit)
        return self.beyond == 0 and self.compared > 0 and not low


@dataclass(frozen=True, slots=True)
class Change:
    """A figure of both arms."""

    a: float
    b: float

    @property
    def difference(self) -> float:
        """b - a: negative is less in B."""
        return self.b - self.a

    @property
    def ratio(self) -> float | None:
        """b / a; None where A's figure is zero."""
        return self.b / self.a if self.a else None

    @property
    def percent(self) -> float | None:
        """Change of the figure in percent of A's: positive is more in B."""
        return 100 * self.difference / self.a if self.a else None


@dataclass(frozen=True, slots=True)
class Result:
    """Both arms, their outputs, the change of the cycles and where it comes from."""

    a: Arm
    b: Arm
    shape: dict[str, int]
    workgroups: tuple[int, int]  #: executed, of the launch
    outputs: tuple[OutputDifference, ...]
    comparison: Comparison
    notes: tuple[str, ...] = ()
    #: what B, unlike A, uses while it may be in flight, and its races: sentences (isaprof.ab.flight, .races)
    in_flight: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether the outputs agree to the tolerance with every seed."""
        return all(d.within for d in self.outputs)

    @property
    def correct(self) -> bool:
        """No arm is wrong, they agree, and B uses no result in flight that A does not."""
        right = self.a.verified is not False and self.b.verified is not False
        return right and self.agree and not self.in_flight

    @property
    def span(self) -> Change:
        """Cycles from the first begin to the last end: the figure to go by."""
        return Change(self.a.samples[0].span_cycles, self.b.samples[0].span_cycles)

    @property
    def wave_cycles(self) -> Change:
        return Change(self.a.samples[0].wave_cycles, self.b.samples[0].wave_cycles)

    @property
    def per_wave(self) -> Change:
        return Change(self.a.samples[0].per_wave, self.b.samples[0].per_wave)

    @property
    def residual_delta(self) -> int:
        """Change of wave cycles that belong to no instruction (launch, drain)."""
        rows = self.comparison.rows
        return int(rows.loc[rows["status"] == "residual", "delta"].sum())

    @property
    def lines_delta(self) -> int:
        """Change of wave cycles of all instructions; with the residual it is the whole change."""
        rows = self.comparison.rows
        return int(rows.loc[rows["status"] != "residual", "delta"].sum())

    @property
    def problem(self) -> str:
        """What is wrong in one line; empty where B is correct."""
        for arm in (self.a, self.b):
            if arm.verified is False:
                return f"{arm.name} is wrong: {arm.message}"
        for d in self.outputs:
            if not d.within:
                if not d.compared:
                    return f"seed {d.seed}: no output element was written, nothing could be compared"
                what = f"{d.beyond} of {d.compared} elements" if d.beyond else "the cosine"
                at = f" ({d.worst})" if d.worst else ""
                pair = f"{self.b.name} differs from {self.a.name} beyond the tolerance"
                return f"{pair}, seed {d.seed}: {what}{at}"
        if self.in_flight:
            more = f" ({len(self.in_flight) - 1} more like it)" if len(self.in_flight) > 1 else ""
            return (
                f"{self.b.name} lacks a wait or a barrier: {self.in_flight[0]}{more}; "
                "the simulator completes loads at once, so the outputs do not show it"
            )
        return ""
