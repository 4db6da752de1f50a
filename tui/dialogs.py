"""Panels over the listing: help, causes, warnings."""

from __future__ import annotations

from typing import ClassVar

from rich.console import RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from isaprof.views.palette import EXPOSURE_TEXT, PROVENANCE_TEXT

KEYS: tuple[tuple[str, str], ...] = (
    ("↑ ↓ PgUp PgDn", "move; Home and End (also j k g G); ← → shift the text"),
    ("n  N", "next hottest line, previous hottest line (by lost cycles)"),
    ("s  S", "sort: program, heat, stall, latency, idle, hits; S turns the order round"),
    ("/", "search while typing; Enter keeps it, Esc drops it"),
    ("m  M", "next match, previous match"),
    ("c  1-9", "jump to the culprit this line waits for"),
    ("b", "back to where the last jump came from"),
    ("o", "overview of causes; Enter goes to the line where a cause costs most"),
    ("e  E", "split of each wait (exposed, hidden, ...) on or off; E: heat by exposed cycles"),
    ("l", "loops: iterations, cycles, matrix pipe, skeleton; Enter goes to the loop"),
    ("x", "bank conflicts of LDS and VGPRs; Enter goes to the line"),
    ("t", "waves in flight over time, and the life of each wave"),
    ("u", "roll-ups by engine, CU, SIMD, wave, block, source, cause"),
    ("d", "details panel on or off"),
    ("Tab", "with two captures: side by side, capture A, capture B"),
    ("w", "all warnings and notes"),
    ("?  q  Ctrl-C", "this help; quit"),
)

COLUMNS: tuple[tuple[str, str], ...] = (
    ("stall", "cycles from the first try to issue until it issued"),
    ("idle", "cycles from the end of one instruction to the first try of the next"),
    ("latency", "stall plus the cycles to issue (gfx9) or to execute (gfx10+)"),
    ("lost", "wait and issue whose cause is neither issue nor launch"),
    ("heat", "lost cycles relative to the hottest line"),
    *EXPOSURE_TEXT.items(),
    ("share", "stall + idle + issue, of all wave cycles"),
    ("", "Cycles are shader clocks, summed over all traced waves."),
)


class Panel(ModalScreen[None]):
    """A box of text over the listing; Esc, q or Enter closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,question_mark,w,o", "dismiss", "Close", show=False)
    ]

    def __init__(self, title: str, text: RenderableType) -> None:
        super().__init__()
        self.panel_title = title
        self.text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="panel") as box:
            box.border_title = self.panel_title
            box.border_subtitle = "Esc closes"
            yield Static(self.text)


def help_panel() -> Panel:
    """Keys, and what the columns mean."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for keys, meaning in KEYS:
        grid.add_row(keys, meaning)
    grid.add_row("", "")
    for name, meaning in COLUMNS:
        grid.add_row(Text(name, Style(dim=True)), Text(meaning, Style(dim=True)))
    return Panel("isaprof tui", grid)


def warnings_panel(provenance: str, caveats: list[str]) -> Panel:
    """What the label means, and every warning and note. ``provenance`` may be "a / b"."""
    text = Text()
    for label in provenance.split(" / "):
        text.append(f"{label}: ", Style(bold=True))
        text.append(PROVENANCE_TEXT.get(label, "") + "\n")
    for caveat in caveats or ["no warnings"]:
        text.append(f"\n- {caveat}")
    return Panel("warnings and notes", text)


class CausesPanel(ModalScreen[str | None]):
    """Where the wave cycles go; choosing a cause returns it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,o", "close", "Close", show=False)]

    def __init__(self, provenance: str, causes: list[tuple[str, Text]]) -> None:
        super().__init__()
        self.provenance = provenance
        self.causes = causes

    def compose(self) -> ComposeResult:
        with Vertical(classes="panel") as box:
            box.border_title = f"wave cycles by cause ({self.provenance})"
            box.border_subtitle = "Enter: its hottest line · Esc closes"
            if self.causes:
                yield OptionList(*(Option(text, id=cause) for cause, text in self.causes))
            else:
                yield Static("no cycles: no wave was traced")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_close(self) -> None:
        self.dismiss(None)
