"""Tables that are too large to be held at once: written piece by piece.

A backend may give a :class:`Streamed` in place of a pandas frame;
:func:`isaprof.capture.save` then writes one Parquet row group a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from isaprof.capture.tables import check, to_arrow

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Streamed:
    """Table ``name`` of ``rows`` rows; ``pieces()`` yields frames with the schema's columns, in order."""

    name: str
    rows: int
    pieces: Callable[[], Iterator[pd.DataFrame]]

    def __len__(self) -> int:
        return self.rows


def write(table: Streamed, f: BinaryIO, rows: Mapping[str, int]) -> int:
    """Write the table to ``f`` as Parquet, each piece checked; gives the number of rows.

    ``rows``: number of rows of the tables that keys point into. Raises as
    :func:`~isaprof.capture.tables.to_arrow` and :func:`~isaprof.capture.tables.check` do.
    """
    import pyarrow.parquet as pq

    writer = None
    written = 0
    try:
        for frame in table.pieces():
            check(table.name, frame, rows)
            piece = to_arrow(table.name, frame)
            if writer is None:
                writer = pq.ParquetWriter(f, piece.schema, compression="zstd")
            writer.write_table(piece)
            written += piece.num_rows
    finally:
        if writer is not None:
            writer.close()
    if written != table.rows or writer is None:
        raise ValueError(f"table {table.name}: {written} rows came, {table.rows} were announced")
    return written
