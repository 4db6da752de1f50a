"""A buffer on its way through the compiled decoder."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt import memory
from isaprof.parsers.sqtt.compiled import kernels
from isaprof.parsers.sqtt.header import Buffer, StreamHeader
from isaprof.parsers.sqtt.layout import Layout, Unsupported, layout

#: rows of one piece, where a trace is decoded in pieces
PIECE = 1 << 20


def compiled(data: Buffer, header: StreamHeader) -> Walk | None:
    """``data`` ready for the compiled decoder; None where the reference has to do it."""
    module = kernels(len(data))
    if module is None:
        return None
    try:
        tables = layout(header.generation.name, header.simd_mask.bit_length() - 1)
    except Unsupported:
        return None
    return Walk(module, data, header, tables)


class Walk:
    """A buffer being decoded by the compiled functions, piece by piece."""

    def __init__(self, module: ModuleType, data: Buffer, header: StreamHeader, tables: Layout) -> None:
        self.module, self.header, self.tables = module, header, tables
        self.whole = np.frombuffer(data, np.uint8)
        self.whole.flags.writeable = False
        size = len(self.whole)
        #: nibble at which the last packet may begin at the latest
        self.end = 2 * (size & ~1 if tables.unit == 4 else size)
        self.state = np.zeros(module.STATE, np.int64)
        self.state[module.POSITION] = 2 * header.start
        self.recent = np.full(6, -1, np.int64)
        self.scratch = np.empty(module.SCRATCH, np.uint64)
        #: the last bytes with room behind them, so that eight bytes can be read at every packet
        self.safe = max(2 * (size - module.SLACK), 0)
        self.tail_from = 0
        self.tail: NDArray[np.uint8] | None = None

    @property
    def done(self) -> bool:
        return bool(self.state[self.module.POSITION] >= self.end or self.state[self.module.DAMAGED])

    def run(self, columns: tuple[NDArray[Any] | None, ...]) -> int:
        """Fill ``columns`` (time, type, wave, SIMD, op, bit, payload) from their begin; rows written."""
        row = 0
        while not self.done:
            space = tuple(c if c is None else c[row:] for c in columns)
            n, complete = self._decode(space)
            row += n
            if not complete:
                break
        return row

    def _decode(self, columns: tuple[NDArray[Any] | None, ...], stop: int | None = None) -> tuple[int, bool]:
        m, position = self.module, int(self.state[self.module.POSITION])
        if position < self.safe:
            data, offset, stop = self.whole, 0, stop or self.safe
        else:
            if self.tail is None:
                self.tail_from = position // 2
                padded = np.zeros(len(self.whole) - self.tail_from + 2 * m.SLACK, np.uint8)
                padded[: len(self.whole) - self.tail_from] = self.whole[self.tail_from :]
                padded.flags.writeable = False
                self.tail = padded
            data, offset, stop = self.tail, self.tail_from, self.end
        n, complete = m.decode(
            data, offset, stop, self.tables.tables, self.tables.rule, self.whole, self.end, self.state,
            self.scratch, *columns,
        )  # fmt: skip
        return int(n), bool(complete)

    def rows_left(self, *, framing: bool = False) -> int:
        """A guess at the number of packets still to come, a little above what a sample of one block says."""
        m = self.module
        here = int(self.state[m.POSITION])
        if here + 8 * m.LANE >= self.safe:
            return int(self.end - here + 1)
        before = self.state.copy()
        rows, _ = self._decode(self.empty(m.BLOCK_ROWS, framing=framing), stop=here + 4 * m.LANE)
        used = int(self.state[m.POSITION]) - here
        self.state = before
        return int((self.end - here) / max(used, 1) * rows * 1.06) + int(m.BLOCK_ROWS) // 4

    def ending(self, kind: NDArray[Any]) -> tuple[int, str | None, bool]:
        """Bits and kind of the packet that the end of the buffer cuts, and whether times left the range."""
        damaged = bool(self.state[self.module.DAMAGED])
        if not self.done or not len(kind):
            return 0, None, damaged
        last = int(kind[-1])
        size = 8 * len(self.whole)
        bit = 4 * int(self.state[self.module.LAST])
        if bit + int(self.tables.bits[last]) <= size:
            return 0, None, damaged
        packets = self.header.generation.packets
        return size - bit, packets[last].kind if last >= 0 else "UNKNOWN", False

    def empty(self, rows: int, *, framing: bool = False) -> tuple[NDArray[Any] | None, ...]:
        """Columns to fill: time and type, then wave, SIMD and op, or bit and payload."""
        if framing:
            time, bit, payload, kind = memory.columns(rows, np.int64, np.int64, np.uint64, np.int16)
            return time, kind, None, None, None, bit, payload
        time, op, kind, wave, simd = memory.columns(rows, np.int64, np.uint16, np.int8, np.uint8, np.uint8)
        return time, kind, wave, simd, op, None, None
