"""What stands in the panels over the listing: loops, banks, time and place, of one capture or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from isaprof.attribution.dispatch_counters import sentence
from isaprof.tui.strips import cause_strip, columns
from isaprof.views import grids
from isaprof.views.exposure import SUMS_ONLY
from isaprof.views.grids import Cell, Grid
from isaprof.views.loops import Loop, loop_grid, loops
from isaprof.views.pairs import LoopPair, exposure_grid, loop_pairs, pair_grid
from isaprof.views.palette import cause_look, grouped, percent
from isaprof.views.series import Step, life, over_time

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison

_DIM = Style(dim=True)
_KEY = Style(bold=True)
_SAME = Style(color="#7fb8f0")
_OTHER = (Style(color="#e0665c", bold=True), Style(color="#4cb782", bold=True))
_SPREAD = Style(color="#e8b23c")
#: cells of the stacked bar of a step of time
_STACK = 24
#: cells that the figures and the names of the largest causes take beside it
_BESIDE = 84


class Side(NamedTuple):
    """A capture of the view: 0 is A, 1 is B; ``tag`` is "" where there is only one."""

    number: int
    tag: str
    analysis: Analysis


class Target(NamedTuple):
    """Where Enter leads: a code line, or the life of a wave."""

    kind: str  #: "line" or "wave"
    side: int
    number: int


@dataclass(frozen=True, slots=True)
class Page:
    """One table of a panel. ``details``: (row, width) to what is said about a row."""

    grid: Grid
    targets: tuple[Target | None, ...] = ()
    details: Callable[[int, int], Text] | None = None
    drawing: Callable[[int, int], list[Segment]] | None = None
    drawn: str = ""
    drawn_width: int = 0
    note: Text | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A page that is made when it is first shown."""

    title: str
    provenance: str
    make: Callable[[], Page]


def _title(side: Side, name: str) -> str:
    return f"{side.tag}: {name}" if side.tag else name


def _lines(side: Side, grid: Grid) -> tuple[Target | None, ...]:
    return tuple(Target("line", side.number, n) if n >= 0 else None for n in grid.lines)


# -- loops -------------------------------------------------------------------
def loop_sections(sides: Sequence[Side], comparison: Comparison | None = None) -> list[Section]:
    """Loops of both captures side by side where there are two, then those of each."""
    each = [Section(_title(s, "loops"), s.analysis.provenance, partial(_loop_page, s)) for s in sides]
    if comparison is None:
        return each
    return [Section("A and B", _kinds(sides), partial(_pair_page, comparison)), *each]


def _kinds(sides: Sequence[Side]) -> str:
    return " / ".join(dict.fromkeys(s.analysis.provenance for s in sides))


def _pair_page(comparison: Comparison) -> Page:
    pairs = loop_pairs(comparison)
    grid = pair_grid(comparison, pairs)
    targets = tuple(
        Target("line", int(p.b is not None), n) if n >= 0 else None
        for p, n in zip(pairs, grid.lines, strict=True)
    )
    return Page(grid, targets, lambda row, width: pair_details(pairs[row], width), note=Text(grid.note, _DIM))


def pair_details(pair: LoopPair, width: int) -> Text:
    """Both skeletons under each other, then the figures."""
    out = Text(pair.title + "\n", _KEY)
    for chunk in _chunks(pair.tokens, max(20, width - 4)):
        sizes = [max(len(a), len(b)) for a, b in chunk]
        for tag, side in (("A", 0), ("B", 1)):
            out.append(f"{tag} ", _DIM)
            for tokens, n in zip(chunk, sizes, strict=True):
                same = tokens[0] == tokens[1]
                out.append(f"{tokens[side]:{n}}", _SAME if same else _OTHER[side]).append(" ")
            out.append("\n")
        # the difference reads without colour, too
        marks = (("~" if a and b else "-" if a else "+") if a != b else " " for a, b in chunk)
        line = " ".join(f"{m:{n}}" for m, n in zip(marks, sizes, strict=True)).rstrip()
        out.append(f"  {line}\n" if line else "", _DIM)
    for label, a, b, change, _ in pair.figures:
        out.append(f"{label:<25}", _DIM).append(f"A {a}  B {b}  ")
        out.append(f"{change}\n", _KEY)
    for tag, loop in (("A", pair.a), ("B", pair.b)):
        if loop is not None and loop.steps:
            out.append(f"{tag} spread ", _DIM).append(columns([n for _, _, n in loop.steps]), _SPREAD)
            out.append(f"  {grouped(loop.steps[0][0])} to {grouped(loop.steps[-1][1] - 1)}\n", _DIM)
    out.rstrip()
    return out


def _chunks(tokens: Sequence[tuple[str, str]], width: int) -> Iterator[list[tuple[str, str]]]:
    """``tokens`` in lines of at most ``width`` cells."""
    chunk: list[tuple[str, str]] = []
    used = 0
    for pair in tokens:
        n = max(len(pair[0]), len(pair[1])) + 1
        if chunk and used + n > width:
            yield chunk
            chunk, used = [], 0
        chunk.append(pair)
        used += n
    if chunk:
        yield chunk


def exposure_sections(sides: Sequence[Side], comparison: Comparison) -> list[Section]:
    """Exposed waits of two captures."""
    return [Section("A and B", _kinds(sides), partial(_exposure_page, comparison))]


def _exposure_page(comparison: Comparison) -> Page:
    grid = exposure_grid(comparison)
    return Page(grid, note=Text(grid.note, _DIM))


def _loop_page(side: Side) -> Page:
    grid = loop_grid(side.analysis)
    if side.analysis.detail is None:
        return Page(Grid(grid.title, grid.columns, (), (), empty=SUMS_ONLY))
    found = loops(side.analysis)
    details = partial(_loop_row, found)
    return Page(grid, _lines(side, grid), details, note=Text(grid.note, _DIM) if found else None)


def _loop_row(found: Sequence[Loop], row: int, width: int) -> Text:
    return loop_details(found[row], width)


def loop_details(loop: Loop, width: int) -> Text:
    """Skeleton first, then every fact, the spread of its iterations and who left the matrix pipe idle."""
    out = Text(overflow="fold")
    out.append(loop.title, _KEY).append(f"  {loop.where}\n", _DIM)
    out.append(loop.skeleton or "no memory, matrix, barrier or wait in it", _SAME)
    out.append("\n")
    for label, text in loop.facts:
        out.append(f"{label:<17}", _DIM).append(f"{text}\n")
    if loop.steps:
        out.append(f"{'spread':<17}", _DIM)
        out.append(columns([n for _, _, n in loop.steps]), _SPREAD)
        out.append(
            f"  {grouped(loop.steps[0][0])} to {grouped(loop.steps[-1][1] - 1)} cycles/iteration\n", _DIM
        )
    for gap in loop.gaps:
        entry = Text().append(f"{'matrix pipe idle':<17}", _DIM)
        entry.append(f"{gap.cycles} ", _KEY).append(gap.cause, Style(color=gap.colour))
        if gap.line >= 0:
            entry.append(f"  line {gap.line}  {gap.text}")
        entry.truncate(max(20, width), overflow="ellipsis")
        out.append_text(entry).append("\n")
    out.rstrip()
    return out


# -- banks -------------------------------------------------------------------
def bank_sections(sides: Sequence[Side]) -> list[Section]:
    """LDS banks, then VGPR banks, of each capture."""
    names = (("bank", "LDS banks"), ("vgpr-bank", "VGPR banks"))
    return [
        Section(_title(s, name), s.analysis.provenance, partial(_bank_page, s, by))
        for by, name in names
        for s in sides
    ]  # fmt: skip


def _bank_page(side: Side, by: str) -> Page:
    detail = side.analysis.detail
    if detail is None:
        return Page(Grid("", (("line", "n"),), (), (), empty=SUMS_ONLY))
    grid = grids.banks(by, detail.by(by), sentence(side.analysis.meta, "LDS"))

    def details(row: int, width: int) -> Text:
        out = Text(overflow="fold")
        for (name, _), cell in zip(grid.columns, grid.rows[row], strict=True):
            if name == "instruction":
                out.append(f"{cell.text}\n", _KEY)
        for (name, _), cell in zip(grid.columns, grid.rows[row], strict=True):
            if name != "instruction":
                out.append(f"{name} ", _DIM).append(f"{cell.text}  ")
        return out

    return Page(grid, _lines(side, grid), details, note=Text(grid.note, _DIM) if grid.note else None)


# -- places ------------------------------------------------------------------
_PLACES = (
    ("se", "SE"), ("cu", "CU"), ("simd", "SIMD"), ("wave", "waves"), ("kind", "kinds"), ("block", "blocks"),
    ("source", "source"), ("category", "causes"),
)  # fmt: skip


def place_sections(sides: Sequence[Side]) -> list[Section]:
    """Roll-ups of each capture by shader engine, CU, SIMD, wave, basic block, source line, cause."""
    return [
        Section(_title(s, name), s.analysis.provenance, partial(_place_page, s, by))
        for by, name in _PLACES
        for s in sides
    ]  # fmt: skip


def _place_page(side: Side, by: str) -> Page:
    detail = side.analysis.detail
    if detail is None:
        return Page(Grid("", ((by, "f"),), (), (), empty=SUMS_ONLY))
    frame = detail.by(by)
    if by in ("category", "kind"):
        make = grids.categories if by == "category" else grids.kinds
        grid = make(frame, detail.classes)
        return Page(grid, note=Text(grid.note, _DIM) if grid.note else None)
    grid = grids.roll_up(by, frame, detail.classes)
    if by == "wave":
        waves = [int(w) for w in frame["wave"].tolist()]
        note = Text("Enter: the life of that wave", _DIM)
        return Page(grid, tuple(Target("wave", side.number, w) for w in waves), note=note)
    return Page(grid, _lines(side, grid))


# -- time --------------------------------------------------------------------
def time_sections(sides: Sequence[Side]) -> list[Section]:
    """Waves in flight of each shader engine, then the life of each traced wave."""
    out = []
    for s in sides:
        engines = sorted({int(n) for n in s.analysis.waves["se"].tolist()}) if s.analysis.detail else []
        out += [
            Section(_title(s, f"SE {se}"), s.analysis.provenance, partial(_flight_page, s, se))
            for se in engines or [0]
        ]
    for s in sides:
        waves = [int(w) for w in s.analysis.waves["wave"].tolist()] if s.analysis.detail else []
        out += [
            Section(_title(s, f"life of wave {w}"), s.analysis.provenance, partial(_life_page, s, w))
            for w in waves
        ]
    return out


def _flight_page(side: Side, se: int) -> Page:
    if side.analysis.detail is None:
        return Page(Grid("", (("begin", "n"),), (), (), empty=SUMS_ONLY))
    steps = over_time(side.analysis).get(se, ())
    rows = tuple(
        (
            Cell(grouped(x.begin)), Cell(grouped(x.end)), Cell(f"{x.in_flight:.1f}"), Cell(f"{x.traced:.1f}"),
        )
        for x in steps
    )  # fmt: skip
    names = (("begin", "n"), ("end", "n"), ("in flight", "n"), ("traced", "n"))
    note = Text("waves in flight ", _DIM).append(
        columns([x.in_flight for x in steps]), Style(color="#4a90d9")
    )
    return _time_page(names, rows, steps, note if steps else None)


def _life_page(side: Side, wave: int) -> Page:
    steps = life(side.analysis, wave)
    rows = tuple((Cell(grouped(x.begin)), Cell(grouped(x.end))) for x in steps)
    return _time_page((("begin", "n"), ("end", "n")), rows, steps, None)


def _time_page(
    names: tuple[tuple[str, str], ...],
    rows: tuple[tuple[Cell, ...], ...],
    steps: Sequence[Step],
    note: Text | None,
) -> Page:
    def drawing(row: int, width: int) -> list[Segment]:
        out = cause_strip(steps[row].causes, max(_STACK, width - _BESIDE))
        for cause, n in steps[row].largest[:2]:
            share = n / (sum(c for _, c in steps[row].causes) or 1)
            look = cause_look(cause)
            out.append(Segment(f" {look.short} {percent(share)}", Style(color=look.colour)))
        return out

    def details(row: int, width: int) -> Text:
        step = steps[row]
        out = Text(overflow="fold")
        out.append(f"{grouped(step.begin)} to {grouped(step.end)}\n", _KEY)
        for cause, n in step.largest:
            out.append(cause, Style(color=cause_look(cause).colour)).append(f" {grouped(n)}  ")
        return out

    grid = Grid("", names, rows, (-1,) * len(rows), empty="no wave was traced")
    return Page(
        grid,
        details=details,
        drawing=drawing,
        drawn="wave cycles by cause",
        drawn_width=_STACK + 34,
        note=note,
    )
