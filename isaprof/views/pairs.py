"""Loops and exposed waits of two captures side by side, for the TUI and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from isaprof.compare.loops import exposure_change, pair_loops, pair_skeletons
from isaprof.views.diff import relative, signed
from isaprof.views.grids import Cell, Grid, known, records_of
from isaprof.views.loops import Loop, loops, name
from isaprof.views.palette import cause_look, clean, exposure_look, percentage

if TYPE_CHECKING:
    from isaprof.compare.model import Comparison

SLOWER: Final = "#e0665c"
FASTER: Final = "#4cb782"


@dataclass(frozen=True, slots=True)
class LoopPair:
    """A loop of A and the same of B, None where that side has none. ``tokens``: their skeletons under
    each other, "" where one has nothing there. ``figures``: (label, A, B, change, change > 0)."""

    title: str
    a: Loop | None
    b: Loop | None
    tokens: tuple[tuple[str, str], ...]
    figures: tuple[tuple[str, str, str, str, float], ...]


def loop_pairs(comparison: Comparison) -> tuple[LoopPair, ...]:
    """Pairs in the order of :func:`isaprof.compare.loops.pair_loops`."""
    sides = [{x.number: x for x in loops(a)} for a in (comparison.a, comparison.b)]
    out = []
    for row in records_of(pair_loops(comparison)):
        a, b = sides[0].get(int(row["loop_a"])), sides[1].get(int(row["loop_b"]))
        tokens = pair_skeletons(a.skeleton if a else "", b.skeleton if b else "")
        out.append(LoopPair(_title(a, b), a, b, tuple(tokens), tuple(_figures(row))))
    return tuple(out)


def _title(a: Loop | None, b: Loop | None) -> str:
    if a is not None and b is not None and a.number < 0:
        return name(-1)
    left, right = (f"{name(x.number)} of {tag}" if x else f"none in {tag}" for x, tag in ((a, "A"), (b, "B")))
    return f"{left}, {right}"


_FIGURES: Final = (
    ("iterations", "iterations", ",.0f"),
    ("cycles/iteration, median", "t_iter_median", ",.0f"),
    ("cycles/iteration, mean", "t_iter_mean", ",.1f"),
    ("exposed/wave", "exposed_per_wave", ",.1f"),
    ("matrix busy", "matrix_efficiency", ".1%"),
    ("matrix issue gap, mean", "matrix_gap_mean", ",.1f"),
)


def _figures(row: dict[str, Any]) -> list[tuple[str, str, str, str, float]]:
    out = []
    for label, key, form in _FIGURES:
        a, b = row[f"{key}_a"], row[f"{key}_b"]
        if int(row["loop_a"]) == -1 and key == "iterations":
            continue
        if not known(a) and not known(b):
            continue
        texts = [
            "-" if not known(x) else percentage(x) if form.endswith("%") else f"{x:{form}}" for x in (a, b)
        ]
        change, size = "", 0.0
        if known(a) and known(b):
            size = float(b) - float(a)
            change = f"{100 * size:+.1f} points" if form.endswith("%") else signed(size)
        out.append((label, texts[0], texts[1], change, size))
    return out


def pair_grid(comparison: Comparison, pairs: Sequence[LoopPair]) -> Grid:
    """One row a pair: cycles an iteration, exposed cycles and matrix pipe of both."""
    names = ("A", "B", "cyc/iter A", "B", "change", "exposed/wave A", "B", "change", "matrix A", "B")
    columns = tuple((n, "f" if i < 2 else "n") for i, n in enumerate(names))
    rows = []
    for p in pairs:
        by = {label: (a, b, change, size) for label, a, b, change, size in p.figures}
        cells = [Cell(_short(p.a)), Cell(_short(p.b))]
        for label in ("cycles/iteration, median", "exposed/wave"):
            a, b, change, size = by.get(label, ("", "", "", 0.0))
            colour = SLOWER if size > 0 else FASTER if size < 0 else ""
            cells += [Cell(a), Cell(b), Cell(change, colour)]
        a, b, *_ = by.get("matrix busy", ("", "", "", 0.0))
        rows.append((*cells, Cell(a), Cell(b)))
    lines = tuple(p.b.first_line if p.b else p.a.first_line if p.a else -1 for p in pairs)
    return Grid(
        "Loops", columns, tuple(rows), lines, _kinds(comparison), "neither capture has records of a loop"
    )


def _short(loop: Loop | None) -> str:
    if loop is None:
        return "-"
    return "kernel" if loop.number < 0 else f"loop {loop.number}"


def _kinds(comparison: Comparison) -> str:
    return f"A {comparison.a.provenance}, B {comparison.b.provenance}; cycles/iteration: medians"


def exposure_grid(comparison: Comparison) -> Grid:
    """Wait cycles a wave by class, then the exposed ones by cause."""
    frame = records_of(exposure_change(comparison))
    rows = []
    for row in frame:
        of_class = row["kind"] == "class"
        label = str(row["name"])
        colour = exposure_look(label)[1] if of_class else cause_look(label).colour
        change = float(row["delta"])
        # less of anything but exposed waits is neither good nor bad
        judged = not of_class or row is frame[0]
        tone = (SLOWER if change > 0 else FASTER if change < 0 else "") if judged else ""
        rows.append(
            (
                Cell(clean(label) if of_class else f"exposed: {clean(label)}", colour),
                Cell(f"{row['per_wave_a']:,.1f}"), Cell(f"{row['per_wave_b']:,.1f}"),
                Cell(signed(change), tone), Cell(relative(change, float(row["per_wave_a"]))),
            )
        )  # fmt: skip
    columns = (("wait cycles per wave", "f"), ("A", "n"), ("B", "n"), ("change", "n"), ("of A", "n"))
    note = f"A {comparison.a.provenance}, B {comparison.b.provenance}"
    return Grid(
        "Exposed waits",
        columns,
        tuple(rows),
        (-1,) * len(rows),
        note,
        "neither capture has records of its waits",
    )
