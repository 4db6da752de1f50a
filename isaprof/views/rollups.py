"""The roll-ups of an Analysis as text: place, block, source line, category, time; loops; bank conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from isaprof.views.grids import Grid, banks, categories, classes, in_flight, kinds, records_of, roll_up
from isaprof.views.layout import add_row, new_table, print_table
from isaprof.views.loops import gaps, loops
from isaprof.views.palette import cause_look, grouped

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from isaprof.attribution.model import Analysis


def show(analysis: Analysis, by: str, count: int, console: Console, wave: int | None = None) -> None:
    """Print the roll-up ``by`` (one of isaprof.attribution.groups.LISTINGS), at most ``count`` of its rows
    where it is long and sorted by size; ``wave``: over the life of that wave. Raises BadInput where the
    capture has no records, UsageError for a wave without."""
    from isaprof.attribution.dispatch_counters import sentence
    from isaprof.attribution.groups import listing

    frame = listing(analysis, by, wave)
    names = classes(analysis)
    if by == "loop":
        _loops(analysis, console)
    elif by == "category":
        _print(categories(frame, names), console)
    elif by in ("bank", "vgpr-bank"):
        _print(banks(by, frame[:count], sentence(analysis.meta, "LDS")), console)
    elif by == "time":
        print_table(_time(analysis, frame, wave), console)
    elif by == "kind":
        _print(kinds(frame, names), console)
    elif by == "gap":
        _print(gaps(analysis, frame, count), console)
    elif by == "in-flight":
        _print(in_flight(frame), console)
    else:
        some = frame[:count] if by in ("source", "block") else frame
        _print(roll_up(by, some, names, sentence(analysis.meta)), console)


def _print(grid: Grid, console: Console) -> None:
    if grid.note:
        console.print(Text(grid.note, style="dim"))
    if not grid.rows:
        console.print(Text(grid.empty))
        return
    table = new_table(grid.columns, title=grid.title)
    for row in grid.rows:
        add_row(table, [Text(c.text, style=c.colour) for c in row])
    print_table(table, console)


def _time(analysis: Analysis, frame: pd.DataFrame, wave: int | None) -> Table:
    causes = [str(c) for c in analysis.causes["cause"]]
    names = ("se", "begin", "end", "in flight", "traced") if wave is None else ("begin", "end")
    table = new_table(
        (*((n, "n") for n in names), ("largest causes", "t")),
        title="Over time" if wave is None else f"The life of wave {wave}",
    )
    for row in records_of(frame):
        largest = sorted(((int(row[c]), c) for c in causes if row.get(c, 0) > 0), reverse=True)[:3]
        text = Text(", ").join(
            Text(f"{cause_look(c).short} {grouped(n)}", style=cause_look(c).colour) for n, c in largest
        )
        when = (grouped(int(row["begin"])), grouped(int(row["end"])))
        if wave is not None:
            add_row(table, (*when, text))
            continue
        add_row(table, (str(row["se"]), *when, f"{row['in_flight']:.1f}", f"{row['traced']:.1f}", text))
    return table


def _loops(analysis: Analysis, console: Console) -> None:
    for loop in loops(analysis):
        console.print(Text(loop.title, style="bold").append(f"  {loop.where}", style=""), soft_wrap=True)
        for label, text in loop.facts:
            console.print(_line(label, text), soft_wrap=True)
        if loop.skeleton:
            console.print(_line("skeleton", loop.skeleton), soft_wrap=True)
        for gap in loop.gaps:
            line = _line("matrix pipe idle", f"{gap.cycles} ").append(gap.cause, style=gap.colour)
            if gap.line >= 0:
                line.append(f" line {gap.line}: {gap.text}", style="")
            console.print(line, soft_wrap=True)


def _line(label: str, text: str) -> Text:
    return Text(f"  {label:<18}", style="dim").append(text, style="")
