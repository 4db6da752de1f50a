"""A scrolling list of any length drawn line by line (Textual's Line API).

There is no widget a row: :meth:`LineView.render_line` makes the strips that are
on the screen and keeps recent ones, so that scrolling costs the visible lines
only, whatever the length of the listing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

#: strips kept; a few screens' worth, so that memory does not grow with the listing
CACHED_STRIPS = 2048


class RowSource(Protocol):
    """What a :class:`LineView` shows. A ref >= 0 is a row, ``~ref`` a label above it."""

    @property
    def sorts(self) -> Sequence[str]:
        """Names of the sort orders, program order first."""
        ...

    @property
    def text_width(self) -> int:
        """Cells of the longest text."""
        ...

    def order(self, sort: str, reverse: bool) -> list[int]:
        """Refs in display order."""
        ...

    def heading(self, width: int, sort: str, reverse: bool) -> list[Segment]:
        """Column titles for a view of ``width`` cells."""
        ...

    def scrolled_heading(self, width: int) -> list[Segment]:
        """Titles behind the heading that scroll sideways with the text."""
        ...

    def fixed(self, ref: int, width: int) -> list[Segment]:
        """The columns left of the text; they do not scroll sideways."""
        ...

    def text(self, ref: int, width: int) -> list[Segment]:
        """The text for a view of ``width`` cells; it scrolls sideways."""
        ...

    def plain(self, ref: int) -> str:
        """The text searched and highlighted."""
        ...


class LineView(ScrollView, can_focus=True):
    """Cursor, sorting, searching and drawing over a :class:`RowSource`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "lineview--cursor",
        "lineview--heading",
        "lineview--label",
        "lineview--match",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(-1)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
        Binding("left", "sideways(-8)", "Left", show=False),
        Binding("right", "sideways(8)", "Right", show=False),
    ]

    @dataclass
    class Moved(Message):
        """The cursor is on another row."""

        view: LineView
        ref: int

    def __init__(self, source: RowSource, *, empty: str = "", id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.source = source
        self.empty = empty
        self.sort = source.sorts[0]
        self.reverse = False
        self.query_text = ""
        self.ref = -1  #: row under the cursor, -1 where there is none
        self.rendered = 0  #: strips built so far (cache misses)
        self._refs: list[int] = []
        self._position: dict[int, int] = {}
        self._strips: LRUCache[tuple[int, bool, int], Strip] = LRUCache(CACHED_STRIPS)
        self._reorder()
        self.ref = next((r for r in self._refs if r >= 0), -1)

    # -- content ----------------------------------------------------------------
    def _reorder(self) -> None:
        self._refs = self.source.order(self.sort, self.reverse)
        self._position = {ref: i for i, ref in enumerate(self._refs)}
        self._strips.clear()

    def redraw(self) -> None:
        """After the source has changed its columns or its order."""
        self._reorder()
        self._measure()
        self.show_ref(self.ref)
        self.refresh()

    def set_source(self, source: RowSource, empty: str = "") -> None:
        """Show another list from its first row."""
        self.source, self.empty = source, empty
        self.sort, self.reverse = source.sorts[0], False
        self._reorder()
        self.ref = next((r for r in self._refs if r >= 0), -1)
        self._measure()
        self.scroll_to(0, 0, animate=False, force=True, immediate=True)
        self.refresh()

    def sort_by(self, sort: str, reverse: bool = False) -> None:
        """Show another order; the cursor stays on its row in program order, else goes to the top."""
        self.sort, self.reverse = sort, reverse
        self._reorder()
        if sort != self.source.sorts[0]:
            self.ref = next((r for r in self._refs if r >= 0), -1)
        self.show_ref(self.ref)
        self.refresh()

    def search(self, query: str) -> list[int]:
        """Highlight ``query`` (any case) and return the rows that contain it, in display order."""
        self.query_text = query.lower()
        self._strips.clear()
        self.refresh()
        if not self.query_text:
            return []
        return [r for r in self._refs if r >= 0 and self.query_text in self.source.plain(r).lower()]

    # -- cursor -----------------------------------------------------------------
    def show_ref(self, ref: int, *, centre: bool = True) -> None:
        """Put the cursor on row ``ref`` and scroll it into view."""
        position = self._position.get(ref)
        if position is None:
            return
        self.ref = ref
        rows = max(1, self.scrollable_content_region.height - 1)
        top = round(self.scroll_offset.y)
        if not top <= position < top + rows:
            edge = position if position < top else position - rows + 1
            top = position - rows // 2 if centre else edge
            self.scroll_to(y=max(0, top), animate=False, force=True, immediate=True)
        self.refresh()
        self.post_message(self.Moved(self, ref))

    def action_move(self, step: int) -> None:
        position = self._position.get(self.ref, 0) + step
        while 0 <= position < len(self._refs) and self._refs[position] < 0:
            position += step
        if 0 <= position < len(self._refs):
            self.show_ref(self._refs[position], centre=False)
        elif step < 0:
            self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def action_page(self, direction: int) -> None:
        rows = max(1, self.scrollable_content_region.height - 2)
        position = self._position.get(self.ref, 0) + direction * rows
        self._land(max(0, min(len(self._refs) - 1, position)), direction)

    def action_edge(self, direction: int) -> None:
        self._land(0 if direction < 0 else len(self._refs) - 1, direction)

    def _land(self, position: int, direction: int) -> None:
        """Cursor to the row at or next to ``position`` (never a label)."""
        for step in (direction, -direction):
            p = position
            while 0 <= p < len(self._refs):
                if self._refs[p] >= 0:
                    self.show_ref(self._refs[p], centre=False)
                    return
                p += step

    def action_sideways(self, cells: int) -> None:
        self.scroll_to(x=max(0, self.scroll_offset.x + cells), animate=False, force=True, immediate=True)

    def on_click(self, event: events.Click) -> None:
        index = round(self.scroll_offset.y) + event.y - 1
        if event.y > 0 and 0 <= index < len(self._refs) and self._refs[index] >= 0:
            self.show_ref(self._refs[index])

    # -- drawing ----------------------------------------------------------------
    def on_mount(self) -> None:
        self._measure()

    def on_resize(self) -> None:
        self._strips.clear()
        self._measure()

    def _measure(self) -> None:
        fixed = sum(s.cell_length for s in self.source.heading(self.size.width, self.sort, self.reverse))
        self.virtual_size = Size(fixed + self.source.text_width + 1, len(self._refs) + 1)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            head = self.source.heading(width, self.sort, self.reverse)
            head = [*head, *Strip(self.source.scrolled_heading(width)).crop(round(self.scroll_offset.x))]
            style = self.get_component_rich_style("lineview--heading")
            return Strip(head).apply_style(style).extend_cell_length(width, style).crop(0, width)
        index = round(self.scroll_offset.y) + y - 1
        if index >= len(self._refs):
            note = self.empty if y == 2 and not self._refs else ""
            return Strip([Segment(f"  {note}")]).crop_extend(0, width, None).apply_style(self.rich_style)
        ref = self._refs[index]
        key = (ref, ref == self.ref, round(self.scroll_offset.x))
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._draw(*key, width)
            self.rendered += 1
        return strip

    def _draw(self, ref: int, cursor: bool, shift: int, width: int) -> Strip:
        base = self.rich_style
        if ref < 0:
            base += self.get_component_rich_style("lineview--label")
        elif cursor:
            base += self.get_component_rich_style("lineview--cursor", partial=True)
        left = [Segment("❯" if cursor else " "), *self.source.fixed(ref, width)]
        fixed = Strip(left)
        text = Strip(self._marked(self.source.text(ref, width)))
        strip = Strip.join([fixed, text.crop(shift, shift + max(0, width - fixed.cell_length))])
        return strip.apply_style(base).extend_cell_length(width, base).crop(0, width)

    def _marked(self, segments: list[Segment]) -> list[Segment]:
        """``segments`` with every occurrence of the search text in the match style."""
        if not self.query_text:
            return segments
        plain = "".join(s.text for s in segments)
        low = plain.lower()
        # strips are cut by cells: only where a character is a cell do the positions agree
        if not len(low) == len(plain) == cell_len(plain) or self.query_text not in low:
            return segments
        match = self.get_component_rich_style("lineview--match", partial=True) + Style(underline=True)
        strip, out, at = Strip(segments), [], 0
        while (found := low.find(self.query_text, at)) >= 0:
            out += list(strip.crop(at, found))
            at = found + len(self.query_text)
            out += [Segment(s.text, (s.style or Style()) + match) for s in strip.crop(found, at)]
        return [*out, *strip.crop(at, None)]
