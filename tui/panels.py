"""A panel of tables over the listing: sections by Tab, Enter goes where a row points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from isaprof.tui.gridsource import GridSource
from isaprof.tui.lineview import LineView
from isaprof.tui.sections import Page, Section, Target
from isaprof.views.grids import Grid

_DIM = Style(dim=True)
#: rows that a table may have to be shown whole
_SHORT = 6


class GridPanel(ModalScreen[Target | None]):
    """Shows one of ``sections``; a section is made when it is first looked at."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,l,x,t,u,e", "close", "Close", show=False),
        Binding("tab,right_square_bracket", "section(1)", show=False, priority=True),
        Binding("shift+tab,left_square_bracket", "section(-1)", show=False, priority=True),
        Binding("enter", "choose", show=False),
        Binding("shift+down,ctrl+down", "details(1)", show=False),
        Binding("shift+up,ctrl+up", "details(-1)", show=False),
    ]

    def __init__(self, name: str, sections: Sequence[Section], first: int = 0) -> None:
        super().__init__()
        self.panel_name = name
        self.sections = sections
        self.shown = first
        self._pages: dict[int, Page] = {}
        self.view = LineView(GridSource(Grid("", (), (), ())), id="grid")

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel grid-panel") as box:
            more = "Tab: next · " if len(self.sections) > 1 else ""
            box.border_subtitle = f"{more}Enter: go there · Shift ↑ ↓: text below · Esc"
            yield Static(id="tabs")
            yield Static(id="note")
            yield self.view
            with VerticalScroll(id="about", can_focus=False):
                yield Static(id="about-text")

    def on_mount(self) -> None:
        self._show(self.shown)
        self.view.focus()

    @property
    def page(self) -> Page:
        """The page on the screen."""
        if self.shown not in self._pages:
            self._pages[self.shown] = self.sections[self.shown].make()
        return self._pages[self.shown]

    def _show(self, index: int) -> None:
        self.shown = index
        page, section = self.page, self.sections[index]
        self.query_one(".grid-panel", Vertical).border_title = f"{self.panel_name} ({section.provenance})"
        self.query_one("#tabs", Static).update(self._tabs())
        note = self.query_one("#note", Static)
        note.update(page.note or "")
        note.display = page.note is not None
        source = GridSource(page.grid, page.drawing, page.drawn, page.drawn_width)
        self.view.set_source(source, page.grid.empty)
        told, rows = page.details is not None and bool(page.grid.rows), len(page.grid.rows)
        self.query_one("#about").display = told
        # a short table leaves the room to the text below it
        short = told and rows <= _SHORT
        self.query_one(".grid-panel").set_class(short, "-short")
        self.view.styles.height = rows + 2 if short else "1fr"
        self._about()

    def _tabs(self) -> Text:
        """All titles where they fit, else the one that is shown."""
        width = max(20, self.size.width - 8)
        titles = [s.title for s in self.sections]
        out = Text(no_wrap=True, overflow="ellipsis")
        if sum(len(t) + 3 for t in titles) > width:
            return out.append(f"‹ {self.shown + 1}/{len(titles)} {titles[self.shown]} ›", Style(bold=True))
        for i, title in enumerate(titles):
            out.append(f" {title} ", Style(bold=True, reverse=True) if i == self.shown else _DIM).append(" ")
        return out

    def _about(self) -> None:
        details = self.page.details
        if details is None or self.view.ref < 0:
            return
        box = self.query_one("#about", VerticalScroll)
        width = box.scrollable_content_region.width or self.size.width - 8
        self.query_one("#about-text", Static).update(details(self.view.ref, width))
        box.scroll_home(animate=False)

    def on_line_view_moved(self, event: LineView.Moved) -> None:
        event.stop()
        self._about()

    def on_resize(self) -> None:
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        self.query_one("#tabs", Static).update(self._tabs())
        self._about()

    def action_section(self, step: int) -> None:
        self._show((self.shown + step) % len(self.sections))

    def action_choose(self) -> None:
        targets, ref = self.page.targets, self.view.ref
        target = targets[ref] if 0 <= ref < len(targets) else None
        if target is not None:
            self.dismiss(target)

    def action_details(self, step: int) -> None:
        self.query_one("#about", VerticalScroll).scroll_relative(y=3 * step, animate=False)

    def action_close(self) -> None:
        self.dismiss(None)
