"""The terminal application: stall heatmap of one capture, or two side by side."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input, Static

from isaprof.tui.details import Details
from isaprof.tui.dialogs import CausesPanel, help_panel, warnings_panel
from isaprof.tui.keybar import KeyBar
from isaprof.tui.lineview import LineView
from isaprof.tui.panels import GridPanel
from isaprof.tui.panes import CapturePane, DiffPane, Pane
from isaprof.tui.sections import (
    Section,
    Side,
    Target,
    bank_sections,
    exposure_sections,
    loop_sections,
    place_sections,
    time_sections,
)

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison


class StallApp(App[None]):
    """Shows an :class:`Analysis`, and a :class:`Comparison` with a second one."""

    CSS_PATH = "app.tcss"
    TITLE = "isaprof"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (130, "-wide")]  # noqa: RUF012 - the base class declares it so
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (18, "-short"), (28, "-medium"), (40, "-tall")]  # noqa: RUF012

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,right_square_bracket", "hottest(1)", "Hottest", key_display="n/N"),
        Binding("N,left_square_bracket", "hottest(-1)", "Previous hottest", show=False),
        Binding("s", "sort(1)", "Sort"),
        Binding("S", "reverse", "Reverse", show=False),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("m", "match(1)", "Match", key_display="m/M", show=False),
        Binding("M", "match(-1)", "Previous match", show=False),
        Binding("c", "culprit(1)", "Culprit"),
        *(Binding(str(i), f"culprit({i})", show=False) for i in range(1, 10)),
        Binding("b", "return", "Back", show=False),
        Binding("o", "causes", "Causes"),
        Binding("e", "exposure", "Exposed"),
        Binding("E", "exposed_heat", show=False),
        Binding("l", "loops", "Loops"),
        Binding("x", "banks", "Banks"),
        Binding("t", "time", "Time"),
        Binding("u", "units", "Units"),
        Binding("d", "details", "Details", show=False),
        Binding("tab", "next_view", "Compare", key_display="Tab", priority=True),
        Binding("w", "warnings", "Warnings", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "drop_search", show=False),
        Binding("q", "quit", "Quit"),
        Binding("ctrl+c", "interrupt", key_display="Ctrl-C", show=False, priority=True),
    ]

    def __init__(self, analysis: Analysis, comparison: Comparison | None = None) -> None:
        super().__init__()
        self.analysis = analysis
        self.comparison = comparison
        self.matches: list[int] = []
        self._origin = -1
        self._back: list[tuple[int, int]] = []
        self._walk: dict[int, int] = {}  #: pane -> place in its ranking that n or N went to
        self.panes: list[Pane] = [CapturePane(analysis)]
        if comparison is not None:
            self.panes = [
                DiffPane(comparison),
                CapturePane(comparison.a, 0, "A"),
                CapturePane(comparison.b, 1, "B"),
            ]
        self.active = 0

    # -- layout -----------------------------------------------------------------
    def compose(self) -> ComposeResult:
        yield Static(id="headline")
        yield Static(id="notice")
        with Container(id="body"):
            yield from (pane.view for pane in self.panes)
            yield Details()
        yield Input(placeholder="search the instructions", id="search")
        yield KeyBar(lambda key: key.action != "next_view" or len(self.panes) > 1)

    def on_mount(self) -> None:
        with suppress(NotImplementedError, RuntimeError):  # no signals here: not the main thread
            # Ended from outside, the terminal must come back to its own screen all the same.
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGTERM, lambda: self.exit(return_code=128 + signal.SIGTERM)
            )
        self._activate(0)

    @property
    def pane(self) -> Pane:
        """What is on the screen."""
        return self.panes[self.active]

    @property
    def view(self) -> LineView:
        """The listing on the screen."""
        return self.pane.view

    def _activate(self, index: int) -> None:
        self.active = index
        for i, pane in enumerate(self.panes):
            pane.view.display = i == index
        self.query_one("#headline", Static).update(self.pane.headline())
        notice = self.query_one("#notice", Static)
        notice.update(self.pane.notice())
        notice.set_class(bool(self.pane.notice()), "-shown")
        self.matches = self.view.search(self.view.query_text)
        self.view.focus()
        self._refresh_details()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "next_view":
            # priority keys are the application's even where a panel is open: that one has its own Tab
            return len(self.panes) > 1 and len(self.screen_stack) == 1
        return True

    # -- details ----------------------------------------------------------------
    def on_line_view_moved(self, event: LineView.Moved) -> None:
        if event.view is self.view:
            self._refresh_details()

    def _refresh_details(self) -> None:
        if self.view.ref >= 0:
            panel = self.query_one(Details)
            width = panel.scrollable_content_region.width or 80
            panel.show(self.pane.details(self.view.ref, width))

    def on_resize(self) -> None:
        self.call_after_refresh(self._refresh_details)

    def action_details(self) -> None:
        self.query_one(Details).toggle_class("-hidden")

    # -- moving -----------------------------------------------------------------
    def action_hottest(self, step: int) -> None:
        """The next row of the ranking, from where the last n or N was; first the hottest."""
        ranked = self.pane.ranked
        if not ranked:
            self.notify("no line loses cycles, or none changed")
            return
        place = self._walk.get(self.active, -1) + step
        if 0 <= place < len(ranked):
            self._walk[self.active] = place
            self.view.show_ref(ranked[place])
        else:
            self.notify("that was the first of the ranking" if place < 0 else "that was the last one")

    def action_culprit(self, number: int) -> None:
        blames = self.pane.culprits(self.view.ref)
        if number > len(blames):
            diff = isinstance(self.pane, DiffPane)
            self.notify(
                "culprits are in the views of A and B: press Tab" if diff else "no culprit known here"
            )
            return
        self._jump(blames[number - 1].line)

    def _jump(self, ref: int) -> None:
        self._back.append((self.active, self.view.ref))
        self.view.show_ref(ref)

    def action_return(self) -> None:
        if not self._back:
            self.notify("no jump to go back from")
            return
        active, ref = self._back.pop()
        if active != self.active:
            self._activate(active)
        self.view.show_ref(ref)

    def action_sort(self, step: int) -> None:
        sorts = self.view.source.sorts
        self._sort(sorts[(sorts.index(self.view.sort) + step) % len(sorts)], False)

    def action_reverse(self) -> None:
        if self.view.sort == self.view.source.sorts[0]:
            self.notify("program order is not turned round; press s for another order")
            return
        self._sort(self.view.sort, not self.view.reverse)

    def _sort(self, sort: str, reverse: bool) -> None:
        self.view.sort_by(sort, reverse)
        self.matches = self.view.search(self.view.query_text)
        self.notify(f"order: {sort}{', smallest first' if reverse else ''}", timeout=2)

    def action_next_view(self) -> None:
        """Side by side, A, B; the cursor stays on the same instruction where there is one."""
        lines = self.pane.lines(self.view.ref) if self.view.ref >= 0 else (-1, -1)
        if isinstance(self.pane, CapturePane) and isinstance(self.panes[0], DiffPane):
            # by way of the alignment, from A's line to B's
            row = self.panes[0].ref_of(lines)
            lines = self.panes[0].lines(row) if row >= 0 else lines
        self._activate((self.active + 1) % len(self.panes))
        ref = self.pane.ref_of(lines)
        if ref >= 0:
            self.view.show_ref(ref)

    # -- searching --------------------------------------------------------------
    def action_search(self) -> None:
        self._origin = self.view.ref
        box = self.query_one("#search", Input)
        box.add_class("-shown")
        box.value = ""
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if not event.input.has_class("-shown"):
            return
        self.matches = self.view.search(event.value)
        if self.matches:
            later = [r for r in self.matches if r >= self._origin]
            self.view.show_ref((later or self.matches)[0])
        elif self._origin >= 0:
            self.view.show_ref(self._origin)
        event.input.border_subtitle = f"{len(self.matches)} matches"

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_search()
        found = len(self.matches)
        self.notify(f"{found} lines match; m and M move" if found else "nothing found", timeout=3)

    def action_drop_search(self) -> None:
        """Esc: in the box, back to where the search began; later, remove the marks."""
        if self.query_one("#search", Input).has_class("-shown") and self._origin >= 0:
            self.view.show_ref(self._origin)
        self._close_search()
        self.matches = self.view.search("")

    def _close_search(self) -> None:
        self.query_one("#search", Input).remove_class("-shown")
        self.view.focus()

    def action_match(self, step: int) -> None:
        if not self.matches:
            self.notify("no search: press /")
            return
        if self.view.ref in self.matches:
            at = (self.matches.index(self.view.ref) + step) % len(self.matches)
        else:
            at = 0 if step > 0 else -1
        self.view.show_ref(self.matches[at])

    # -- panels -----------------------------------------------------------------
    def action_interrupt(self) -> None:
        """Ctrl-C ends this command like every other (exit 130)."""
        self.exit(return_code=130)

    def action_help(self) -> None:
        self.push_screen(help_panel())

    def action_warnings(self) -> None:
        self.push_screen(warnings_panel(self.pane.provenance, self.pane.caveats()))

    def action_causes(self) -> None:
        self.push_screen(CausesPanel(self.pane.provenance, self.pane.causes()), self._go_to_cause)

    def _go_to_cause(self, cause: str | None) -> None:
        if cause is None:
            return
        ref = self.pane.hottest_of(cause)
        if ref < 0:
            self.notify(f"{cause}: no single line waits for it")
        else:
            self._jump(ref)

    # -- panels of the detail ------------------------------------------------------
    def _sides(self) -> list[Side]:
        """The captures that the pane on the screen is about."""
        pane = self.pane
        if isinstance(pane, CapturePane):
            return [Side(pane.side, pane.tag, pane.analysis)]
        assert self.comparison is not None
        return [Side(0, "A", self.comparison.a), Side(1, "B", self.comparison.b)]

    def _open(self, name: str, sections: list[Section], first: int = 0) -> None:
        self.push_screen(GridPanel(name, sections, first), self._follow)

    def _follow(self, target: Target | None) -> None:
        """Go where the chosen row of a panel points."""
        if target is None:
            return
        if target.kind == "wave":
            sections = time_sections([s for s in self._sides() if s.number == target.side])
            lives = [i for i, s in enumerate(sections) if s.title.endswith(f"wave {target.number}")]
            self._open("time", sections, lives[0] if lives else 0)
            return
        ref = self.pane.ref_of((target.number, -1) if target.side == 0 else (-1, target.number))
        if ref >= 0:
            self._jump(ref)

    def action_loops(self) -> None:
        comparison = self.comparison if isinstance(self.pane, DiffPane) else None
        self._open("loops", loop_sections(self._sides(), comparison))

    def action_banks(self) -> None:
        self._open("bank conflicts", bank_sections(self._sides()))

    def action_time(self) -> None:
        self._open("time", time_sections(self._sides()))

    def action_units(self) -> None:
        self._open("units", place_sections(self._sides()))

    def action_exposure(self) -> None:
        """The strip of exposed, hidden and other waits on or off; with two captures both sums."""
        if isinstance(self.pane, CapturePane):
            self._say(self.pane.toggle_strip())
        elif self.comparison is not None:
            self._open("exposed waits", exposure_sections(self._sides(), self.comparison))

    def action_exposed_heat(self) -> None:
        """Heat, ranking and the order by heat go by exposed instead of lost cycles, or back."""
        if not isinstance(self.pane, CapturePane):
            self.notify("heat by exposed cycles is in the views of A and B: press Tab")
            return
        self._say(self.pane.toggle_heat())
        self._walk.pop(self.active, None)
        self.matches = self.view.search(self.view.query_text)

    def _say(self, text: str) -> None:
        self.notify(text, timeout=3)
