"""What is said about a loop, in the same words by the terminal, the TUI and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from isaprof.views.grids import Cell, Grid, classes, known, records_of
from isaprof.views.palette import cause_look, clean, grouped, percentage

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis

#: idle stretches of the matrix pipe listed for each loop
GAPS: Final = 5


@dataclass(frozen=True, slots=True)
class Gap:
    """Who left the matrix pipe idle: cycles, cause, the line to blame (-1: nobody) and its text."""

    cycles: str
    cause: str
    colour: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop. ``facts``: (label, text), the skeleton left out; ``steps``: (begin, end, count) of its
    cycles an iteration."""

    number: int  #: -1: the whole kernel
    title: str
    where: str
    first_line: int
    facts: tuple[tuple[str, str], ...]
    skeleton: str
    gaps: tuple[Gap, ...]
    steps: tuple[tuple[int, int, int], ...]


def loops(analysis: Analysis) -> tuple[Loop, ...]:
    """All loops that ran, the whole kernel first; () where the capture has sums only."""
    detail = analysis.detail
    if detail is None or not len(detail.loops):
        return ()
    texts = analysis.lines["text"].tolist()
    gaps = detail.gaps
    out = []
    for row in records_of(detail.loops):
        number = int(row["loop"])
        mine = records_of(gaps[gaps["loop"] == number][:GAPS]) if known(row["matrix_ops"]) else []
        bins = detail.t_iter_histogram(number)
        steps = zip(*(bins[n].tolist() for n in ("begin", "end", "count")), strict=True)
        where = f"lines {row['first_line']} to {row['last_line']}, {row['waves']} waves"
        out.append(
            Loop(
                number, title(row), where, int(row["first_line"]), tuple(facts(row, classes(analysis))),
                clean(str(row["skeleton"] or "")), tuple(_gap(g, texts) for g in mine),
                tuple(steps) if number >= 0 else (),
            )
        )  # fmt: skip
    return tuple(out)


def title(row: Mapping[str, Any]) -> str:
    """Loop 1 in loop 0, or Whole kernel."""
    number = int(row["loop"])
    inside = "" if number < 0 or int(row["parent"]) < 0 else f" in loop {row['parent']}"
    return f"{name(number)}{inside}"


def _short(row: Mapping[str, Any]) -> str:
    """kernel, or the number of the loop, shifted by its depth."""
    return "kernel" if int(row["loop"]) < 0 else "  " * (int(row["depth"]) - 1) + f"loop {row['loop']}"


def name(number: int) -> str:
    """Loop 1, or Whole kernel."""
    return "Whole kernel" if number < 0 else f"Loop {number}"


def facts(row: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(label, text) about a row of Detail.loops; ``names``: classes of the waits."""
    number = int(row["loop"])
    if number >= 0:
        yield (
            "iterations", f"{grouped(int(row['iterations']))} in {grouped(int(row['runs']))} runs, "
            f"{row['iterations_min']} to {row['iterations_max']} a wave",
        )  # fmt: skip
        if known(row["t_iter_mean"]):
            steps = ", ".join(
                f"{k} {row[f't_iter_{k}']:,.0f}" for k in ("min", "p10", "median", "p90", "max")
            )
            yield "cycles/iteration", f"{steps}, mean {row['t_iter_mean']:,.1f}"
        yield (
            "wave cycles", f"prologue {grouped(int(row['prologue']))}, loop {grouped(int(row['cycles']))} "
            f"({percentage(float(row['share']))}), between runs {grouped(int(row['between']))}, "
            f"epilogue {grouped(int(row['epilogue']))}",
        )  # fmt: skip
    waits = ", ".join(f"{n} {grouped(int(row[n]))}" for n in names if n in row)
    yield "waits", f"{waits}; issue {grouped(int(row['issue']))}"
    if row["stalls"] and row["cycles"]:
        shares = (f"{kind} {percentage(n / int(row['cycles']))}" for kind, n in row["stalls"].items())
        yield "stalls", ", ".join(shares)
    if known(row["matrix_ops"]):
        yield (
            "matrix pipe", f"busy {percentage(float(row['matrix_efficiency']))} of its SIMDs' time: "
            f"{grouped(int(row['matrix_ops']))} instructions, {grouped(int(row['matrix_cycles']))} cycles; "
            f"idle between them {grouped(int(row['matrix_idle']))}",
        )  # fmt: skip
        if known(row["matrix_gap_mean"]):
            mean, median = row["matrix_gap_mean"], row["matrix_gap_median"]
            yield "matrix issue gap", f"mean {mean:,.1f}, median {median:,.1f}"
        needed, present = row["cover_needed"], row["cover_present"]
        each = "an iteration" if number >= 0 else "a wave"
        yield "LDS cover", f"needed {needed:,.1f}, present {present:,.1f} matrix cycles {each}"


def _gap(row: Mapping[str, Any], texts: Sequence[str]) -> Gap:
    look = cause_look(str(row["cause"]))
    blamed = int(row["culprit"]) if int(row["culprit"]) >= 0 else int(row["line"])
    text = clean(texts[blamed]) if blamed >= 0 else ""
    return Gap(grouped(int(row["cycles"])), look.short, look.colour, blamed, text)


def gaps(analysis: Analysis, frame: pd.DataFrame, count: int) -> Grid:
    """Who left the matrix pipe idle: the ``count`` longest of each loop; ``frame``: Detail.gaps."""
    texts = analysis.lines["text"].tolist()
    columns = (
        ("loop", "n"), ("cycles", "n"), ("gaps", "n"), ("cause", "f"), ("line", "n"), ("culprit", "n"),
        ("instruction to blame", "t"),
    )  # fmt: skip
    rows, lines = [], []
    for row in records_of(frame.groupby("loop", sort=False).head(count)):
        gap = _gap(row, texts)
        numbers = ["-" if int(row[n]) < 0 else str(row[n]) for n in ("loop", "line", "culprit")]
        rows.append(
            (
                Cell(numbers[0]), Cell(gap.cycles), Cell(grouped(int(row["gaps"]))),
                Cell(gap.cause, gap.colour), Cell(numbers[1]), Cell(numbers[2]), Cell(gap.text or "-"),
            )
        )  # fmt: skip
        lines.append(gap.line)
    return Grid(
        "Idle stretches of the matrix pipe", columns, tuple(rows), tuple(lines),
        "loop -: the whole kernel", "no SIMD executed two matrix instructions",
    )  # fmt: skip


def loop_grid(analysis: Analysis) -> Grid:
    """One row a loop with the figures that are compared first."""
    columns = (
        ("loop", "f"), ("lines", "f"), ("iters", "n"), ("cyc/iter", "n"), ("p10-p90", "n"),
        ("share", "n"), ("exposed", "n"), ("matrix", "n"), ("gap", "n"),
    )  # fmt: skip
    detail = analysis.detail
    frame = records_of(detail.loops) if detail is not None and len(detail.loops) else []
    rows = []
    for row in frame:
        own = int(row["loop"]) >= 0
        steps = known(row["t_iter_median"]) and own
        rows.append(
            (
                Cell(_short(row)), Cell(f"{row['first_line']}-{row['last_line']}"),
                Cell(grouped(int(row["iterations"])) if own else ""),
                Cell(f"{row['t_iter_median']:,.0f}" if steps else ""),
                Cell(f"{row['t_iter_p10']:,.0f}-{row['t_iter_p90']:,.0f}" if steps else ""),
                Cell(percentage(float(row["share"]))), Cell(grouped(int(row["exposed"]))),
                Cell(percentage(float(row["matrix_efficiency"])) if known(row["matrix_efficiency"]) else ""),
                Cell(f"{row['matrix_gap_median']:,.0f}" if known(row["matrix_gap_median"]) else ""),
            )
        )  # fmt: skip
    return Grid(
        "Loops", columns, tuple(rows), tuple(int(r["first_line"]) for r in frame),
        "cyc/iter: median cycles an iteration; matrix: pipe busy; gap: median between issues",
        empty="no wave was traced",
    )  # fmt: skip
