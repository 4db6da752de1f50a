"""The lines at the top: which capture this is and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from isaprof.views.palette import cause_look, clean, compact, grouped, percent

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis

_BADGES = {
    "measured": Style(color="#ffffff", bgcolor="#1f7a4d", bold=True),
    "modelled": Style(color="#201600", bgcolor="#e8b23c", bold=True),
}


def badge(provenance: str) -> Text:
    """``measured`` or ``modelled`` as a coloured word."""
    return Text(f" {provenance.upper()} ", _BADGES.get(provenance, Style(reverse=True)))


def summary(analysis: Analysis, tag: str = "") -> Text:
    """Label, architecture and kernel; the totals; the largest causes: three lines."""
    out = Text(no_wrap=True, overflow="ellipsis")
    if tag:
        out.append(f" {tag} ", Style(bold=True, reverse=True))
        out.append(" ")
    out.append_text(badge(analysis.provenance))
    out.append(f" {clean(analysis.arch)}  ")
    out.append(clean(analysis.kernel), Style(bold=True))
    out.append(f"\n{totals(analysis)}\n")
    top = analysis.causes.head(5)
    for i, (cause, share) in enumerate(zip(top["cause"], top["share"], strict=True)):
        out.append(" · " if i else "")
        out.append(f"{cause} {percent(float(share)) or '0%'}", Style(color=cause_look(str(cause)).colour))
    if not len(top):
        out.append("no cycles")
    return out


def totals(analysis: Analysis) -> str:
    """Waves, instructions, wave cycles and span in one short line."""
    return (
        f"{grouped(len(analysis.waves))} waves · {compact(analysis.instructions)} instructions"
        f" · {compact(analysis.total_cycles)} wave cycles · span {compact(analysis.span_cycles)} cycles"
    )


def caveats(analysis: Analysis) -> list[str]:
    """Warnings of the capture, then notes of the analysis, as plain lines."""
    out = []
    for warning in analysis.meta.get("warnings", ()):
        amount = warning.get("amount")
        extra = "" if amount is None else f" ({amount} {warning.get('unit') or ''}".rstrip() + ")"
        out.append(clean(f"{warning.get('kind', 'warning')}: {warning.get('message', '')}{extra}"))
    if analysis.unexplained_share > 0.01:
        out.append(f"unexplained: {percent(analysis.unexplained_share)} of the wave cycles")
    return [*out, *(clean(n) for n in analysis.notes)]


NO_WAVES = (
    "No wave of this capture was traced, so there are no cycles to show. "
    "On hardware: trace a compute unit the kernel really used (isaprof doctor DIR names them)."
)
