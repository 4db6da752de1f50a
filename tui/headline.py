"""The lines at the top: which capture this is and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from isaprof.views.palette import cause_look, clean, compact, grouped, percent
from isaprof.views.remarks import verdict

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis

_GOOD = Style(color="#4cb782")
_BAD = Style(color="#ffffff", bgcolor="#b3261e", bold=True)
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
    right, words = verdict(analysis.meta)
    if words:
        out.append(f"  {words}", {True: _GOOD, False: _BAD, None: Style(dim=True)}[right])
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
    n = len(analysis.waves)
    return (
        f"{grouped(n)} wave{'' if n == 1 else 's'} · {compact(analysis.instructions)} instructions"
        f" · {compact(analysis.total_cycles)} wave cycles · span {compact(analysis.span_cycles)} cycles"
    )
