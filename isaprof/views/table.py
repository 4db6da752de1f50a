"""The stall table: an Analysis or a Comparison as text for a terminal or a pipe.

Everything shown stands in the Analysis; this module only lays it out. Figures
are never cut, whatever the width; only instruction texts are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from isaprof.views.layout import add_row, new_table, print_line, print_table, records
from isaprof.views.palette import PROVENANCE_TEXT, bar, cause_look, clean, grouped, percentage
from isaprof.views.remarks import coverage

if TYPE_CHECKING:
    from rich.console import Console

    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison

#: unexplained time above this share is pointed out in the header
UNEXPLAINED_LIMIT = 0.01
#: a kernel of at most this many instructions is listed in full unless told otherwise
LISTED = 300
#: width where the output is no terminal and COLUMNS is not set
PIPE_WIDTH = 140
_BAR = 12


def render(
    analysis: Analysis,
    *,
    console: Console | None = None,
    hottest: int = 10,
    all_lines: bool | None = None,
    by: str = "line",
    wave: int | None = None,
) -> None:
    """Print header, causes and, by ``by``, lines, culprits or waves (``console``: standard output).

    ``by``: "line" (every instruction in code order, then the ``hottest``),
    "cause" (the causes only), "culprit", "wave", or another listing of
    isaprof.attribution.groups; by "time" of all waves or of ``wave``. ``all_lines``
    None lists every instruction where there are at most :data:`LISTED`.
    """
    console = console or standard_output()
    from isaprof.attribution.groups import listing, sums_only

    sums = sums_only(analysis)
    if sums:
        listing(analysis, by)  # refuses what sums do not say before anything is printed
    header(analysis, console)
    listed = len(analysis.lines) <= LISTED if all_lines is None else all_lines
    if by == "line" and listed:
        console.print()
        print_table(line_table(analysis, wide=console.width >= 100), console)
    if not sums:
        console.print()
        print_table(causes_table(analysis), console)
    if by == "culprit":
        console.print()
        print_table(culprit_table(analysis, hottest), console)
    elif by == "wave":
        console.print()
        print_table(wave_table(analysis), console)
    elif by == "line":
        if hottest:
            console.print()
            print_table(hottest_table(analysis, hottest), console)
        if not listed:
            count = grouped(len(analysis.lines))
            print_line(console, f"--all lists all {count} instructions in code order", "dim")
    elif by != "cause":
        from isaprof.views.rollups import show

        console.print()
        show(analysis, by, hottest, console, wave)


def standard_output() -> Console:
    """A console on standard output; in a pipe without COLUMNS it is :data:`PIPE_WIDTH` wide."""
    from rich.console import Console

    wanted = os.environ.get("COLUMNS", "")
    width = int(wanted) if wanted.isdecimal() else None
    if not width and not sys.stdout.isatty():
        width = PIPE_WIDTH
    return Console(width=width or None, highlight=False)


def header(analysis: Analysis, console: Console) -> None:
    """Kernel, architecture, measured or modelled, amounts, warnings, notes."""
    title = Text(clean(analysis.kernel), style="bold")
    title.append(f"  {clean(analysis.arch)}  ", style="")
    title.append(
        analysis.provenance, style="bold green" if analysis.provenance == "measured" else "bold yellow"
    )
    console.print(title, soft_wrap=True)
    print_line(console, PROVENANCE_TEXT.get(analysis.provenance, ""), "dim")
    print_line(console, coverage(analysis.meta), "dim")
    from isaprof.attribution.groups import sums_only

    waves = len(analysis.waves)
    if not sums_only(analysis):  # where only sums are known, waves and cycles are absent, not zero
        print_line(
            console,
            f"{grouped(waves)} wave{'s' * (waves != 1)} traced, "
            f"{grouped(analysis.instructions)} instructions, {grouped(analysis.total_cycles)} wave cycles "
            f"within {grouped(analysis.span_cycles)} cycles",
        )
    if analysis.overlap_cycles:
        print_line(
            console,
            f"{grouped(analysis.overlap_cycles)} cycles of overlapping records are counted once",
            "dim",
        )
    if analysis.unexplained_share > UNEXPLAINED_LIMIT:
        print_line(
            console,
            f"unexplained: {percentage(analysis.unexplained_share)} of the wave cycles",
            "bold magenta",
        )
    for warning in analysis.meta.get("warnings", ()):
        print_line(
            console, f"warning: {clean(str(warning.get('message', warning.get('kind', ''))))}", "yellow"
        )
    for note in analysis.notes:
        print_line(console, f"note: {clean(note)}", "dim")


def causes_table(analysis: Analysis) -> Table:
    """Where the wave cycles went, largest first."""
    table = new_table(
        (("cause", "f"), ("cycles", "n"), ("share", "n"), ("", "f")), title="Where the cycles went"
    )
    for row in records(analysis.causes):
        look = cause_look(str(row["cause"]))
        add_row(
            table,
            (
                Text(str(row["cause"]), style=look.colour),
                grouped(int(row["cycles"])),
                percentage(float(row["share"])),
                Text(bar(float(row["share"]), _BAR), style=look.colour),
            ),
        )
    return table


def hottest_table(analysis: Analysis, count: int) -> Table:
    """The ``count`` lines that cost most, two rows each: figures, then cause and culprit."""
    split = analysis.detail is not None
    lines = analysis.lines if analysis.detail is None else analysis.detail.lines
    hot = lines[(lines["rank"] > 0) & (lines["rank"] <= count)].sort_values("rank")
    texts = lines["text"].tolist()
    table = new_table(
        (("#", "n"), ("line", "n"), ("instruction", "t"), ("hits", "n"), ("latency", "n"), ("stall", "n"),
         ("idle", "n"), *((("exposed", "n"),) if split else ()), ("share", "n")),
        title="Hottest lines",
    )  # fmt: skip
    for row in records(hot):
        add_row(
            table,
            (
                str(row["rank"]), str(row["line"]), _with_blame(row, texts), grouped(int(row["hits"])),
                grouped(int(row["latency"])), grouped(int(row["stall"])), grouped(int(row["idle"])),
                *((exposed(row),) if split else ()), percentage(float(row["share"])),
            ),
        )  # fmt: skip
    return table


def exposed(row: dict[str, Any]) -> str:
    """Exposed cycles; a question mark where the trace cannot tell for any cycle of the wait."""
    known = int(row["exposed"]) + int(row["hidden"]) + int(row["covered"])
    return "?" if not known and int(row["unknown"]) else grouped(int(row["exposed"]))


def _with_blame(row: dict[str, Any], texts: Sequence[str]) -> Text:
    """The instruction; below it address, cause, and the culprit."""
    cause = str(row["cause"])
    text = Text(clean(str(row["text"])))
    text.append(f"\n  {int(row['pc']):#x} ", style="dim")
    text.append(cause, style=cause_look(cause).colour)
    if int(row["culprit"]) >= 0:
        text.append(
            f"\n  by line {int(row['culprit'])}: {clean(str(texts[int(row['culprit'])]))}", style="dim"
        )
    return text


def line_table(analysis: Analysis, *, wide: bool = True) -> Table:
    """Every instruction in code order; below 100 columns without address and share."""
    figures = [(name, "n") for name in ("hits", "latency", "stall", "idle", "share")]
    columns = [("line", "n"), ("pc", "n"), ("instruction", "t"), *figures, ("cause", "f"), ("culprit", "n")]
    keep = [i for i, (name, _) in enumerate(columns) if wide or name not in ("pc", "share")]
    table = new_table((columns[i] for i in keep), title="All instructions")
    for row in records(analysis.lines):
        look = cause_look(str(row["cause"])) if row["cause"] else None
        label = clean(str(row["label"])) if row["label"] else ""
        cells: tuple[str | Text, ...] = (
            str(row["line"]), f"{int(row['pc']):x}", Text(clean(str(row["text"]))),
            *(grouped(int(row[name])) for name in ("hits", "latency", "stall", "idle")),
            percentage(float(row["share"])) if row["share"] else "",
            Text(look.short if look else "", style=look.colour if look else ""),
            str(row["culprit"]) if int(row["culprit"]) >= 0 else "",
        )  # fmt: skip
        if label:
            table.add_row(*(Text(f"{label}:" if i == 2 else "", style="bold") for i in keep))
        add_row(table, [cells[i] for i in keep])
    return table


def culprit_table(analysis: Analysis, count: int) -> Table:
    """Wait cycles by the instruction that is to blame."""
    from isaprof.attribution.groups import by_culprit

    table = new_table(
        (("line", "n"), ("instruction to blame", "t"), ("cycles", "n"), ("share", "n"), ("cause", "f"),
         ("victim", "n")),
        title="By culprit",
    )  # fmt: skip
    for row in records(by_culprit(analysis)[:count]):
        known = int(row["culprit"]) >= 0
        look = cause_look(str(row["cause"]))
        more = f" +{int(row['victims']) - 1}" if int(row["victims"]) > 1 else ""
        add_row(
            table,
            (
                str(row["culprit"]) if known else "-", clean(str(row["text"])) if known else "(nobody named)",
                grouped(int(row["cycles"])), percentage(float(row["share"])),
                Text(look.short, style=look.colour), f"{row['victim']}{more}",
            ),
        )  # fmt: skip
    return table


def wave_table(analysis: Analysis) -> Table:
    """One row a wave: place, lifetime, its three largest causes."""
    table = new_table(
        (*((name, "n") for name in ("wave", "se", "cu", "simd", "slot", "begin", "cycles", "instructions")),
         ("largest causes", "t")),
        title="By wave",
    )  # fmt: skip
    causes = [str(c) for c in analysis.causes["cause"]]
    for row in records(analysis.waves):
        largest = sorted(((int(row[c]), c) for c in causes if row.get(c)), reverse=True)[:3]
        text = Text(", ").join(
            Text(
                f"{cause_look(c).short} {percentage(n / max(int(row['cycles']), 1))}",
                style=cause_look(c).colour,
            )
            for n, c in largest
        )
        add_row(
            table,
            (
                *(str(row[c]) for c in ("wave", "se", "cu", "simd", "slot")), grouped(int(row["begin"])),
                grouped(int(row["cycles"])), grouped(int(row["instructions"])), text,
            ),
        )  # fmt: skip
    return table


# -- comparison ----------------------------------------------------------------
_MARKS = {"same": " ", "changed": "~", "moved": "»", "inserted": "+", "deleted": "-", "residual": "·"}


def signed(value: float) -> str:
    """A change with its sign: +1,234.5."""
    return f"{value:+,.1f}"


def render_comparison(comparison: Comparison, *, console: Console | None = None, hottest: int = 10) -> None:
    """Print what changed from a to b, per wave: total, causes, the lines that changed most."""
    c = comparison
    console = console or standard_output()
    console.print(Text("a (before)", style="bold"))
    header(c.a, console)
    console.print()
    console.print(Text("b (after)", style="bold"))
    header(c.b, console)
    console.print()
    change = c.delta_per_wave / c.per_wave_a if c.per_wave_a else 0.0
    print_line(
        console,
        f"cycles per wave: {c.per_wave_a:,.1f} -> {c.per_wave_b:,.1f} ({signed(c.delta_per_wave)}, "
        f"{100 * change:+.2f}%)",
        "bold",
    )
    counts = ", ".join(f"{n} {status}" for status, n in c.counts.items() if n)
    print_line(console, f"instructions: {counts}")
    for note in c.notes:
        print_line(console, f"note: {clean(note)}", "yellow")
    console.print()
    table = new_table(
        (("cause", "f"), ("a", "n"), ("b", "n"), ("change", "n")), title="Cycles per wave, by cause"
    )
    for row in records(c.causes):
        look = cause_look(str(row["cause"]))
        add_row(
            table,
            (
                Text(str(row["cause"]), style=look.colour), f"{row['per_wave_a']:,.1f}",
                f"{row['per_wave_b']:,.1f}", signed(row["delta_per_wave"]),
            ),
        )  # fmt: skip
    print_table(table, console)
    console.print()
    changed = c.rows[(c.rows["rank"] > 0) & (c.rows["rank"] <= hottest)].sort_values("rank")
    table = new_table(
        (("#", "n"), ("", "f"), ("a", "n"), ("b", "n"), ("instruction", "t"), ("per wave a", "n"), ("b", "n"),
         ("change", "n")),
        title="Largest changes, cycles per wave",
    )  # fmt: skip
    for row in records(changed):
        a, b = clean(str(row["text_a"])), clean(str(row["text_b"]))
        text = b or a
        if row["status"] == "changed":
            text = f"{a}\n{b}"
        add_row(
            table,
            (
                str(row["rank"]), _MARKS.get(str(row["status"]), "?"),
                *(str(row[k]) if row[k] >= 0 else "" for k in ("line_a", "line_b")), text,
                f"{row['per_wave_a']:,.1f}", f"{row['per_wave_b']:,.1f}", signed(row["delta_per_wave"]),
            ),
        )  # fmt: skip
    print_table(table, console)
