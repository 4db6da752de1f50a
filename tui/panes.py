"""What the application can show: one capture, or two aligned.

A pane pairs a LineView with everything the keys need to know about its rows;
the application itself does not ask which kind it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from rich.style import Style
from rich.text import Text

from isaprof.tui.details import line_details
from isaprof.tui.diffmap import DiffSource, diff_details
from isaprof.tui.headline import badge, summary, totals
from isaprof.tui.heatmap import HeatmapSource
from isaprof.tui.lineview import LineView
from isaprof.views.diff import MIXED, diff, mixed, relative, signed
from isaprof.views.exposure import SUMS_ONLY, Split, split
from isaprof.views.listing import Blame, listing
from isaprof.views.palette import bar, cause_look, clean, exposure_look, grouped, percent
from isaprof.views.remarks import NO_WAVES, remarks

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison

_WARN = Style(color="#e8b23c")


class Pane(Protocol):
    """A view and the meaning of its rows (refs)."""

    view: LineView
    ranked: tuple[int, ...]  #: refs, hottest or most changed first
    provenance: str

    def headline(self) -> Text: ...
    def notice(self) -> str:
        """A sentence that must not be missed, or ""."""
        ...

    def caveats(self) -> list[str]: ...
    def details(self, ref: int, width: int) -> Text: ...
    def culprits(self, ref: int) -> Sequence[Blame]: ...
    def causes(self) -> list[tuple[str, Text]]:
        """Cause and its line for the overview."""
        ...

    def hottest_of(self, cause: str) -> int:
        """The ref where ``cause`` costs most, -1 where no row has it."""
        ...

    def lines(self, ref: int) -> tuple[int, int]:
        """The row's line in capture A and in B, -1 where there is none."""
        ...

    def ref_of(self, lines: tuple[int, int]) -> int:
        """The row for such a pair, -1 where there is none."""
        ...


class CapturePane:
    """The stall heatmap of one capture; ``side`` is 0 for A, 1 for B."""

    def __init__(self, analysis: Analysis, side: int = 0, tag: str = "") -> None:
        self.analysis = analysis
        self.side = side
        self.tag = tag
        self.provenance = analysis.provenance
        self.listing = listing(analysis)
        self.ranked = self.listing.hottest
        empty = "This capture has no code lines."
        self.source = HeatmapSource(self.listing)
        self.view = LineView(self.source, empty=empty, id=f"heatmap{tag}")

    @cached_property
    def split(self) -> Split | None:
        """The classes of each line's wait, computed when first asked for."""
        return split(self.analysis)

    def toggle_strip(self) -> str:
        """Show or hide the exposure strip; what happened, in words."""
        if self.split is None:
            return SUMS_ONLY
        self.source.split = None if self.source.split is not None else self.split
        self.view.redraw()
        kind = f"({self.provenance})"
        if self.source.split is None:
            return "exposure strip off"
        return f"wait split {kind}: " + ", ".join(f"{exposure_look(n)[0]} {n}" for n in self.split.names)

    def toggle_heat(self) -> str:
        """Heat and ranking by exposed or by lost cycles; what happened, in words."""
        if self.split is None:
            return SUMS_ONLY
        by_exposed = self.source.heat is None
        self.source.heat = self.split if by_exposed else None
        self.ranked = self.split.ranked if by_exposed else self.listing.hottest
        self.view.redraw()
        return f"heat, n and N by {'exposed' if by_exposed else 'lost'} cycles ({self.provenance})"

    def headline(self) -> Text:
        out = summary(self.analysis, self.tag)
        _append_caveat(out, self.caveats())
        return out

    def notice(self) -> str:
        return "" if len(self.analysis.waves) else NO_WAVES

    def caveats(self) -> list[str]:
        return remarks(self.analysis)

    def details(self, ref: int, width: int) -> Text:
        # the split costs a second on a large capture: it is named once somebody asked for it
        return line_details(self.listing, ref, width, self.source.split or self.source.heat)

    def culprits(self, ref: int) -> Sequence[Blame]:
        return self.listing.culprits.get(ref, ())

    def causes(self) -> list[tuple[str, Text]]:
        frame = self.analysis.causes
        out = []
        for cause, cycles, share in zip(frame["cause"], frame["cycles"], frame["share"], strict=True):
            text = Text(no_wrap=True)
            text.append(bar(float(share), 20) + " ", Style(color=cause_look(str(cause)).colour))
            text.append(f"{percent(float(share)) or '0%':>6}  {grouped(int(cycles)):>14}  {cause}")
            out.append((str(cause), text))
        return out

    def hottest_of(self, cause: str) -> int:
        costs = {
            line: cycles
            for line, pairs in self.listing.causes.items()
            for name, cycles in pairs
            if name == cause
        }
        return max(costs, key=lambda line: (costs[line], -line)) if costs else -1

    def lines(self, ref: int) -> tuple[int, int]:
        return (ref, -1) if self.side == 0 else (-1, ref)

    def ref_of(self, lines: tuple[int, int]) -> int:
        return lines[self.side]


class DiffPane:
    """Two captures, instruction by instruction."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.provenance = " / ".join(dict.fromkeys((comparison.a.provenance, comparison.b.provenance)))
        self.diff = diff(comparison)
        self.ranked = self.diff.ranked
        self.view = LineView(DiffSource(self.diff), empty="Neither capture has code lines.", id="diff")
        self._by_line = {
            (side, line): i
            for i, row in enumerate(self.diff.rows)
            for side, line in enumerate((row.a.line, row.b.line))
            if line >= 0
        }

    def headline(self) -> Text:
        c = self.comparison
        out = Text(no_wrap=True, overflow="ellipsis")
        for tag, analysis in (("A", c.a), ("B", c.b)):
            out.append(f" {tag} ", Style(bold=True, reverse=True))
            out.append(" ")
            out.append_text(badge(analysis.provenance))
            out.append(f" {clean(analysis.arch)}  ")
            out.append(clean(analysis.kernel), Style(bold=True))
            out.append(f"  {totals(analysis)}\n")
        change = c.delta_per_wave
        style = Style(color="#e0665c" if change > 0 else "#4cb782", bold=True)
        if mixed(c.a, c.b):
            style = _WARN  # neither good nor bad news: the two are not of one kind
        out.append(f"B - A: {signed(change)} cycles per wave {relative(change, c.per_wave_a)}", style)
        out.append(f" ({self.provenance})  all waves {signed(c.delta_cycles)}  ")
        counts = [f"{n} {status}" for status, n in c.counts.items() if n and status != "same"]
        out.append(", ".join(counts) or "same instructions")
        _append_caveat(out, self.caveats())
        return out

    def notice(self) -> str:
        out = [f"{tag}: {NO_WAVES}" for tag, a in self._sides() if not len(a.waves)]
        if mixed(self.comparison.a, self.comparison.b):
            out.insert(0, MIXED)
        return "\n".join(out)

    def _sides(self) -> tuple[tuple[str, Analysis], tuple[str, Analysis]]:
        return (("A", self.comparison.a), ("B", self.comparison.b))

    def caveats(self) -> list[str]:
        out = [clean(n) for n in self.comparison.notes]
        return out + [f"{tag}: {line}" for tag, a in self._sides() for line in remarks(a)]

    def details(self, ref: int, width: int) -> Text:
        return diff_details(self.diff, ref, width)

    def culprits(self, ref: int) -> Sequence[Blame]:
        return ()

    def causes(self) -> list[tuple[str, Text]]:
        frame = self.comparison.causes
        top = float(frame["delta_per_wave"].abs().max() or 0) if len(frame) else 0.0
        out = []
        for row in frame.to_dict("records"):
            change = float(row["delta_per_wave"])
            style = Style(color="#e0665c" if change > 0 else "#4cb782")
            arrow = "▲" if change > 0 else "▼" if change < 0 else " "
            text = Text(no_wrap=True)
            text.append(f"{arrow} {bar(abs(change) / top if top else 0, 12)} ", style)
            figures = f"{row['per_wave_a']:>10,.1f} {row['per_wave_b']:>10,.1f} {signed(change):>10}  "
            text.append(figures + clean(str(row["cause"])))
            out.append((str(row["cause"]), text))
        return out

    def hottest_of(self, cause: str) -> int:
        return next((i for i in self.ranked if cause in self._causes_of(i)), -1)

    def _causes_of(self, ref: int) -> tuple[str, str]:
        row = self.diff.rows[ref]
        return row.a.cause, row.b.cause

    def lines(self, ref: int) -> tuple[int, int]:
        row = self.diff.rows[ref]
        return row.a.line, row.b.line

    def ref_of(self, lines: tuple[int, int]) -> int:
        return next((i for side in (1, 0) if (i := self._by_line.get((side, lines[side]), -1)) >= 0), -1)


def _append_caveat(out: Text, lines: list[str]) -> None:
    """The first caveat as one more line, with the number of the others."""
    if lines:
        more = f"  (+{len(lines) - 1}: press w)" if len(lines) > 1 else ""
        out.append(f"\n! {lines[0]}{more}", _WARN)
