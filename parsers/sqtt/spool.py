"""Rows that are too many for the memory: kept in a temporary file, read back by range.

Small tables never touch the disk (:class:`tempfile.SpooledTemporaryFile`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: bytes of one table that are kept in memory
IN_MEMORY = 8 << 20
#: rows apart from which two rows are read by two calls
_NEAR = 1 << 12


class Spool:
    """A growing table of rows of one dtype."""

    def __init__(self, dtype: DTypeLike, keep: int = IN_MEMORY) -> None:
        self.dtype = np.dtype(dtype)
        self.rows = 0
        self._file: Any = tempfile.SpooledTemporaryFile(max_size=keep)  # noqa: SIM115

    def __len__(self) -> int:
        return self.rows

    def append(self, rows: NDArray[Any]) -> None:
        self._file.seek(self.rows * self.dtype.itemsize)
        self._file.write(np.ascontiguousarray(rows, self.dtype).tobytes())
        self.rows += len(rows)

    def read(self, first: int, count: int) -> NDArray[Any]:
        """Rows ``first`` to ``first + count`` (a copy)."""
        self._file.seek(first * self.dtype.itemsize)
        data = self._file.read(max(count, 0) * self.dtype.itemsize)
        return np.frombuffer(bytearray(data), self.dtype)

    def write(self, first: int, rows: NDArray[Any]) -> None:
        """Put ``rows`` in the place of those from ``first`` on."""
        self._file.seek(first * self.dtype.itemsize)
        self._file.write(np.ascontiguousarray(rows, self.dtype).tobytes())

    def blocks(self, size: int, *, backwards: bool = False) -> Iterator[tuple[int, NDArray[Any]]]:
        """(number of the first row, rows), ``size`` at a time; ``backwards``: the last first, reversed."""
        starts = range(0, self.rows, size)
        for first in reversed(starts) if backwards else starts:
            part = self.read(first, min(size, self.rows - first))
            yield first, part[::-1] if backwards else part

    def update(
        self, numbers: NDArray[np.int64], values: dict[str, NDArray[Any]], marks: dict[str, NDArray[Any]]
    ) -> None:
        """Set fields ``values`` and bits ``marks`` of rows that mostly lie near each other."""
        if not len(numbers):
            return
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        cuts = np.flatnonzero(np.diff(numbers) > _NEAR) + 1
        for part in np.split(np.arange(len(numbers)), cuts):
            first, last = int(numbers[part[0]]), int(numbers[part[-1]])
            rows = self.read(first, last - first + 1)
            for name, column in values.items():
                rows[name][numbers[part] - first] = column[order[part]]
            for name, column in marks.items():
                rows[name][numbers[part] - first] |= column[order[part]].astype(self.dtype[name])
            self.write(first, rows)
