"""A table of a view in a LineView: as many columns as fit stand still, the rest scrolls sideways."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from isaprof.views.grids import Cell, Grid

#: cells that the text column should have before all others may stand still
_TEXT = 24

Drawing = Callable[[int, int], list[Segment]]


class GridSource:
    """Rows of one :class:`Grid`; its text column comes last, as in the listing.

    ``drawing``: segments behind the cells of a row for a view of some width, under the title
    ``drawn``; ``drawn_width`` is the least it needs.
    """

    sorts: Sequence[str] = ("program",)

    def __init__(
        self, grid: Grid, drawing: Drawing | None = None, drawn: str = "", drawn_width: int = 0
    ) -> None:
        self.grid = grid
        self.drawing = drawing
        self.drawn = drawn
        kinds = [kind for _, kind in grid.columns]
        self._order = [i for i, k in enumerate(kinds) if k != "t"] + [
            i for i, k in enumerate(kinds) if k == "t"
        ]
        self._right = {i for i, k in enumerate(kinds) if k == "n"}
        self._widths = [
            max(cell_len(name), max((cell_len(row[i].text) for row in grid.rows), default=0))
            for i, (name, _) in enumerate(grid.columns)
        ]
        self._has_text = "t" in kinds
        self._drawn_width = drawn_width
        self._width = 80  #: of the view, as last asked for

    @property
    def text_width(self) -> int:
        """Cells that scroll."""
        return sum(self._widths[i] + 1 for i in self._order[self._still(self._width) :]) + self._drawn_width

    def _still(self, width: int) -> int:
        """How many columns of the order do not scroll."""
        figures = self._order[: len(self._order) - self._has_text]
        need = sum(self._widths[i] + 1 for i in figures) + (_TEXT if self._has_text else self._drawn_width)
        return len(figures) if need <= width else 1

    def order(self, sort: str, reverse: bool) -> list[int]:
        return list(range(len(self.grid.rows)))

    def _cell(self, i: int, cell: Cell) -> Segment:
        width = self._widths[i]
        text = cell.text.rjust(width) if i in self._right else set_cell_size(cell.text, width)
        return Segment(text + " ", Style(color=cell.colour) if cell.colour else None)

    def _titles(self, which: Sequence[int]) -> list[Segment]:
        return [self._cell(i, Cell(self.grid.columns[i][0])) for i in which]

    def heading(self, width: int, sort: str, reverse: bool) -> list[Segment]:
        self._width = width
        return [Segment(" "), *self._titles(self._order[: self._still(width)])]

    def scrolled_heading(self, width: int) -> list[Segment]:
        """Titles of the columns that scroll."""
        return [*self._titles(self._order[self._still(width) :]), Segment(self.drawn)]

    def fixed(self, ref: int, width: int) -> list[Segment]:
        row = self.grid.rows[ref]
        return [self._cell(i, row[i]) for i in self._order[: self._still(width)]]

    def text(self, ref: int, width: int) -> list[Segment]:
        row = self.grid.rows[ref]
        out = [self._cell(i, row[i]) for i in self._order[self._still(width) :]]
        return [*out, *(self.drawing(ref, width) if self.drawing else ())]

    def plain(self, ref: int) -> str:
        return " ".join(c.text for c in self.grid.rows[ref])
