"""Tables of figures for a terminal or a pipe: figures are never cut, only texts are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

#: the text column is never narrower than this
_MIN_TEXT = 20
#: blanks between columns
_GAP = 2


def new_table(columns: Iterable[tuple[str, str]], *, title: str | None = None) -> Table:
    """A table without lines; kinds of columns: n figure, t text that may be cut, f fixed text."""
    table = Table(
        box=None,
        padding=(0, _GAP, 0, 0),
        pad_edge=False,
        title=title,
        title_justify="left",
        title_style="bold",
    )
    for name, kind in columns:
        table.add_column(
            name, no_wrap=True, overflow="ellipsis", justify="right" if kind == "n" else "left",
            ratio=1 if kind == "t" else None, width=len(name),
        )  # fmt: skip
    return table


def add_row(table: Table, cells: Sequence[str | Text]) -> None:
    """A row; every column grows to its longest cell."""
    texts = [c if isinstance(c, Text) else Text(c) for c in cells]
    for column, cell in zip(table.columns, texts, strict=True):
        longest = max((cell_len(part) for part in cell.plain.split("\n")), default=0)
        column.width = max(column.width or 0, longest)
    table.add_row(*texts)


def print_table(table: Table, console: Console) -> None:
    """Print ``table``; where it is too wide its text column gives way, down to a limit, figures never."""
    total = sum(c.width or 0 for c in table.columns) + _GAP * (len(table.columns) - 1)
    for column in table.columns:
        if column.ratio and total > console.width and column.width:
            width = max(_MIN_TEXT, column.width - (total - console.width))
            total, column.width = total - column.width + width, width
        column.ratio = None
    width = console.width
    console.width = max(total, width)  # a terminal wraps what is too wide; cutting it would lose figures
    try:
        console.print(table)
    finally:
        console.width = width


def print_line(console: Console, text: str, style: str = "") -> None:
    """A line beside the tables; an empty one is left out."""
    if text:
        console.print(Text(text, style=style), soft_wrap=False)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, each as column -> value."""
    return frame.to_dict("records")  # type: ignore[return-value]
