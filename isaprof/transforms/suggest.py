"""All transforms over one kernel: findings ranked, and what limits it where none helps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isaprof.isa.model import Pipe
from isaprof.transforms.registry import discover

if TYPE_CHECKING:
    from isaprof.transforms.context import Context
    from isaprof.transforms.model import Finding
    from isaprof.transforms.retime import Timing
    from isaprof.transforms.subject import Subject

#: causes named as limits
LIMITS = 3


@dataclass(frozen=True)
class Limit:
    """One thing that the kernel's time goes to; ``share`` of its wave cycles, 0..1."""

    what: str
    share: float
    where: str  #: the line with most of it, "" where there is none


@dataclass(frozen=True)
class Suggestions:
    """What :func:`suggest` finds. ``limits`` is empty without a capture."""

    findings: tuple[Finding, ...]  #: best first
    limits: tuple[Limit, ...]
    provenance: str | None
    opaque: str | None  #: why nothing can be said about all paths, if so

    def to_dict(self, subject: Subject) -> dict[str, Any]:
        """The object that `suggest --json` prints (docs/transforms.md)."""
        known = discover()
        return {
            "schema_version": 1,
            "subject": str(subject.path),
            "kernel": subject.context.kernel.name,
            "arch": subject.context.co.arch,
            "provenance": self.provenance,
            "transforms": list(known),
            "findings": [
                {
                    **f.to_dict(),
                    "place": subject.place(f),
                    "what": known[f.transform].what,
                    "published": known[f.transform].published,
                    "next": subject.command(f),
                }
                for f in self.findings
            ],
            "limits": [{"what": x.what, "share": x.share, "where": x.where} for x in self.limits],
            "opaque": self.opaque,
        }


def suggest(context: Context, timing: Timing | None = None) -> Suggestions:
    """Run every transform's detector; rank by expected, then by upper gain, then safe ones first.

    ``timing``: what the findings are timed on, those with the largest bounds
    first; without it their estimates are bounds.
    """
    findings = sorted((f for t in discover().values() for f in t.detect(context)), key=_rank)
    if timing is not None:
        findings = sorted((replace(f, estimate=timing.estimate(context, f)) for f in findings), key=_rank)
    return Suggestions(tuple(findings), _limits(context), context.provenance, context.opaque)


def _rank(f: Finding) -> tuple[float, float, bool, int]:
    def known(cycles: int | None) -> float:
        return -math.inf if cycles is None else cycles

    return -known(f.estimate.expected), -known(f.estimate.upper), not f.safe, f.pc


def _limits(context: Context) -> tuple[Limit, ...]:
    """The largest causes, issue included, and how busy the matrix pipe is."""
    analysis = context.analysis
    if analysis is None or not analysis.total_cycles or not analysis.instructions:
        return ()
    out = []
    for cause, share in analysis.causes[["cause", "share"]].head(LIMITS).itertuples(index=False):
        rows = analysis.line_causes[analysis.line_causes["cause"] == cause].sort_values("cycles")
        where = ""
        if len(rows):
            line = analysis.lines.iloc[int(rows["line"].iloc[-1])]
            where = f"{int(line['pc']):#x} {line['text']}"
        out.append(Limit(str(cause), float(share), where))
    matrix = {i.pc for i in context.cfg.lines if i.pipe is Pipe.MATRIX}
    if matrix:
        issued = int(analysis.lines.loc[analysis.lines["pc"].isin(matrix), "issue"].sum())
        out.append(Limit("issuing matrix instructions", issued / analysis.total_cycles, ""))
    return tuple(out)


def limits_text(found: Suggestions) -> Sequence[str]:
    """What limits the kernel, as lines; where there is no capture, that there is none."""
    if found.opaque:
        return [f"Nothing can be proven about all paths of this kernel: {found.opaque}"]
    if not found.limits and found.provenance is not None:
        return [
            "This capture has no instruction records: what limits the kernel is not known.",
            "  On hardware, trace a unit that the kernel really used: isaprof doctor DIR names them.",
        ]
    if not found.limits:
        return [
            "No capture was given: what limits the kernel is not known.",
            "  isaprof run or isaprof import makes one.",
        ]
    out = [f"What limits the kernel ({found.provenance}, share of wave cycles):"]
    for x in found.limits:
        out.append(f"  {x.share:6.1%}  {x.what}" + (f", most at {x.where}" if x.where else ""))
    return out
