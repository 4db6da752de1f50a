"""The stall heatmap: columns of one capture's listing for a LineView."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from isaprof.tui.strips import exposure_strip
from isaprof.views.exposure import Split
from isaprof.views.listing import Listing, Row
from isaprof.views.palette import bar, cause_look, compact, heat_colour, percent

_DIM = Style(dim=True)
_BOLD = Style(bold=True)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of fixed width; numbers stand right."""

    key: str  #: also the name of the sort order that goes by it
    title: str
    width: int
    right: bool
    cell: Callable[[Row], str]
    style: Callable[[Row], Style | None] = lambda row: None


def _count(name: str) -> Callable[[Row], str]:
    get = attrgetter(name)

    def cell(row: Row) -> str:
        return compact(get(row)) if get(row) else ""

    return cell


def _heat(width: int) -> Column:
    return Column(
        "heat", "heat", width, False, lambda r: bar(r.heat, width), lambda r: Style(color=heat_colour(r.heat))
    )


def _cause(width: int, short: bool) -> Column:
    def name(row: Row) -> str:
        return cause_look(row.cause).short if short and row.cause else row.cause

    def style(row: Row) -> Style | None:
        return Style(color=cause_look(row.cause).colour) if row.cause else None

    return Column("cause", "cause", width, False, name, style)


_LINE = Column("line", "line", 5, True, lambda r: str(r.line), lambda r: _DIM)
_PC = Column("pc", "pc", 6, True, lambda r: f"{r.pc:x}", lambda r: _DIM)
_HITS = Column("hits", "hits", 5, True, _count("hits"))
_LATENCY = Column("latency", "latency", 7, True, _count("latency"))
_STALL = Column("stall", "stall", 5, True, _count("stall"), lambda r: _BOLD)
_IDLE = Column("idle", "idle", 5, True, _count("idle"))
_LOST = Column("lost", "lost", 5, True, _count("lost"))
_SHARE = Column("share", "share", 5, True, lambda r: percent(r.share))

#: width of the exposure strip
STRIP = 8

NARROW = (_heat(4), _LINE, _cause(10, True), _HITS, _LATENCY, _STALL)
MEDIUM = (_heat(6), _LINE, _cause(10, True), _HITS, _LATENCY, _STALL, _IDLE, _LOST, _SHARE)
WIDE = (_heat(8), _LINE, _PC, _cause(17, False), _HITS, _LATENCY, _STALL, _IDLE, _LOST, _SHARE)


#: with the exposure strip, which takes 17 cells
NARROW_SPLIT = (_heat(4), _LINE, _cause(10, True), _STALL)
MEDIUM_SPLIT = (_heat(6), _LINE, _cause(10, True), _HITS, _STALL, _LOST)
WIDE_SPLIT = (_heat(8), _LINE, _cause(17, False), _HITS, _LATENCY, _STALL, _IDLE, _LOST)


def columns(width: int, *, split: bool = False) -> tuple[Column, ...]:
    """The columns that leave at least 38 cells for the text, beside the exposure strip or without it."""
    if split:
        return NARROW_SPLIT if width < 100 else MEDIUM_SPLIT if width < 130 else WIDE_SPLIT
    return NARROW if width < 100 else MEDIUM if width < 130 else WIDE


class HeatmapSource:
    """Rows of one :class:`Listing`; labels stand above their line in program order."""

    sorts: Sequence[str] = ("program", "heat", "stall", "latency", "idle", "hits")

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.text_width = max((cell_len(r.text) for r in listing.rows), default=0)
        self.split: Split | None = None  #: set: the exposure strip is shown
        self.heat: Split | None = None  #: set: heat goes by exposed instead of lost cycles

    def order(self, sort: str, reverse: bool) -> list[int]:
        rows = self.listing.rows
        if sort == "program":
            refs: list[int] = []
            for i, row in enumerate(rows):
                if row.label:
                    refs.append(~i)
                refs.append(i)
            return refs
        get: Callable[[Row], int] = attrgetter("lost" if sort == "heat" else sort)
        if sort == "heat" and self.heat is not None:
            exposed = self.heat.first
            get = lambda row: exposed(row.line)  # noqa: E731 - one key or the other
        return sorted(range(len(rows)), key=lambda i: (get(rows[i]) if reverse else -get(rows[i]), i))

    def heading(self, width: int, sort: str, reverse: bool) -> list[Segment]:
        out = [Segment(" ")]
        for c in columns(width, split=self.split is not None):
            mark = ("▴" if reverse else "▾") if c.key == sort else ""
            by_exposed = c.key == "heat" and self.heat is not None
            name = self.heat.names[0] if by_exposed and self.heat is not None else c.title
            title = name[: c.width - len(mark)] + mark
            out.append(Segment((title.rjust(c.width) if c.right else title.ljust(c.width)) + " "))
        if self.split is not None:
            out.append(Segment(f"{self.split.names[0][:7]:>7} {'split':{STRIP}} "))
        return [*out, Segment(" instruction")]

    def scrolled_heading(self, width: int) -> list[Segment]:
        return []

    def fixed(self, ref: int, width: int) -> list[Segment]:
        if ref < 0:
            return []
        row = self.listing.rows[ref]
        out: list[Segment] = []
        for c in columns(width, split=self.split is not None):
            cell, style = c.cell(row)[: c.width], c.style(row)
            if c.key == "heat" and self.heat is not None:
                heat = self.heat.heat.get(row.line, 0.0)
                cell, style = bar(heat, c.width), Style(color=heat_colour(heat))
            out.append(Segment(cell.rjust(c.width) if c.right else cell.ljust(c.width), style))
            out.append(Segment(" "))
        if self.split is not None:
            parts = self.split.parts.get(row.line, ())
            out.append(Segment(f"{compact(parts[0]) if parts and parts[0] else '':>7} ", _BOLD))
            out += exposure_strip(self.split.names if parts else (), parts, STRIP)
            out.append(Segment(" "))
        out.append(Segment(" "))
        return out

    def text(self, ref: int, width: int) -> list[Segment]:
        row = self.listing.rows[ref if ref >= 0 else ~ref]
        if ref < 0:
            return [Segment(f"{row.label}:")]
        if not row.hits:
            return [Segment(row.text, _DIM)]
        mnemonic, space, rest = row.text.partition(" ")
        return [Segment(mnemonic, _BOLD), Segment(space + rest)]

    def plain(self, ref: int) -> str:
        return self.listing.rows[ref].text
