"""The keys at the foot: as many as the terminal is wide, the ones that matter most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import Static


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the foot; of those that do not fit the highest ``rank`` goes first."""

    key: str
    name: str
    action: str
    rank: int


KEYS: tuple[Key, ...] = (
    Key("n/N", "Hottest", "hottest(1)", 1),
    Key("s", "Sort", "sort(1)", 9),
    Key("/", "Search", "search", 8),
    Key("c", "Culprit", "culprit(1)", 6),
    Key("o", "Causes", "causes", 5),
    Key("e", "Exposed", "exposure", 2),
    Key("l", "Loops", "loops", 1),
    Key("x", "Banks", "banks", 3),
    Key("t", "Time", "time", 4),
    Key("u", "Units", "units", 7),
    Key("Tab", "Compare", "next_view", 0),
    Key("?", "Help", "help", 0),
    Key("q", "Quit", "quit", 0),
)


def fitting(width: int, keys: Sequence[Key]) -> list[Key]:
    """``keys`` in their order without those for which ``width`` cells are too few."""
    out = list(keys)
    while out and sum(len(k.key) + len(k.name) + 2 for k in out) > width + 1:
        out.remove(max(out, key=lambda k: k.rank))
    return out


class KeyBar(Static):
    """One line; the keys can be clicked."""

    def __init__(self, shown: Callable[[Key], bool]) -> None:
        super().__init__(id="keys")
        self._shown = shown

    def on_resize(self) -> None:
        keys = fitting(self.size.width, [k for k in KEYS if self._shown(k)])
        parts = [Content.from_markup(f"[@click=app.{k.action}]{k.key}[/] {k.name}") for k in keys]
        self.update(Content(" ").join(parts))
