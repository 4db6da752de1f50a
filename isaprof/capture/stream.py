"""A table that is too large to be held at once, made from a function that yields its pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Streamed:
    """``rows`` rows; ``pieces()`` yields frames with the columns of the schema, in order
    (:class:`~isaprof.capture.tables.RowGroups`)."""

    rows: int
    pieces: Callable[[], Iterator[pd.DataFrame]]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return self.pieces()
