"""Columns of a trace at full speed: time, type, wave, SIMD and operation of every packet.

:func:`decode_columns` gives those of a whole buffer, :func:`iter_columns` the
same in pieces, in memory that does not depend on the size of the trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt.header import Buffer, StreamHeader, read_header
from isaprof.parsers.sqtt.layout import NO_OP, NO_SIMD, NO_WAVE
from isaprof.parsers.sqtt.walk import PIECE, Walk, compiled


@dataclass(frozen=True, slots=True)
class Columns:
    """Packets in stream order, as columns of equal length.

    ``time``: int64 cycles. ``type``: int8, index into ``header.generation.packets``
    (-1: undefined first byte). ``wave``, ``simd``: uint8, 255 where the packet
    names none; instruction packets of gfx10 and later have the SIMD that the
    header says is traced. ``op``: uint16 operation of INST packets, else 65535.
    ``last``: this is the end of the buffer; then ``cut_bits`` and ``cut_kind``
    tell of a packet that the end cuts (it is not in the columns).
    """

    header: StreamHeader
    time: NDArray[np.int64]
    type: NDArray[np.int8]
    wave: NDArray[np.uint8]
    simd: NDArray[np.uint8]
    op: NDArray[np.uint16]
    cut_bits: int = 0
    cut_kind: str | None = None
    damaged: bool = False  #: times left the range that a clock can have; the rest is left out
    last: bool = True

    def __len__(self) -> int:
        return len(self.time)


def decode_columns(data: Buffer, *, path: str | None = None) -> Columns:
    """All columns of buffer ``data``. Raises BadInput where it has no valid header."""
    header = read_header(data, path=path)
    walk = compiled(data, header)
    return reference(data, header) if walk is None else _all(walk)


def iter_columns(data: Buffer, *, path: str | None = None, rows: int = PIECE) -> Iterator[Columns]:
    """The same in pieces of about ``rows`` packets; ``data`` may be a memory-mapped file.

    Raises BadInput where it has no valid header. Without the compiled decoder
    there is one piece with all of it.
    """
    header = read_header(data, path=path)
    walk = compiled(data, header)
    if walk is None:
        yield reference(data, header)
        return
    while True:
        piece = _piece(walk, rows)
        yield piece
        if piece.last:
            return


def reference(data: Buffer, header: StreamHeader) -> Columns:
    """What the compiled decoder must equal: the columns from the packet tables and NumPy."""
    from isaprof.parsers.sqtt.frame import frame_reference

    s = frame_reference(data, header)
    g = header.generation
    wave = np.full(len(s), NO_WAVE, np.uint8)
    simd = np.full(len(s), NO_SIMD, np.uint8)
    op = np.full(len(s), NO_OP, np.uint16)
    traced = header.simd_mask.bit_length() - 1
    for i, p in enumerate(g.packets):
        rows = np.flatnonzero(s.type == i)
        if "wave" in p.fields:
            wave[rows] = s.field("wave", rows)
        if "simd" in p.fields:
            simd[rows] = s.field("simd", rows)
        elif "wave" in p.fields or "wavetm" in p.fields:
            simd[rows] = traced
        if p.kind == "INST":
            op[rows] = s.field("op", rows)
    if g.wave_prediction:
        recent = [-1] * 6
        valu, inst = g.kinds("VALU_INST"), g.kinds("INST")
        rows = np.flatnonzero(np.isin(s.type, (*valu, *inst)))
        codes = s.field("wavetm", rows).tolist()
        for row, code in zip(rows.tolist(), codes, strict=True):
            if s.type[row] in valu:
                slot = recent[g.wave_prediction[code][0]]
                wave[row] = NO_WAVE if slot < 0 else slot
                if slot < 0:
                    continue
            elif int(op[row]) in g.prediction_ops:
                slot = int(wave[row])
            else:
                continue
            recent.remove(slot) if slot in recent else recent.pop()
            recent.insert(0, slot)
    kind = s.type.astype(np.int8)
    return Columns(header, s.time, kind, wave, simd, op, s.cut_bits, s.cut_kind, s.damaged_at is not None)


def _all(walk: Walk) -> Columns:
    """Every packet from here to the end."""
    parts = [_piece(walk, walk.rows_left())]
    while not parts[-1].last:
        parts.append(_piece(walk, walk.rows_left()))
    if len(parts) == 1:
        return parts[0]
    end = parts[-1]
    return Columns(
        walk.header,
        np.concatenate([p.time for p in parts]),
        np.concatenate([p.type for p in parts]),
        np.concatenate([p.wave for p in parts]),
        np.concatenate([p.simd for p in parts]),
        np.concatenate([p.op for p in parts]),
        end.cut_bits,
        end.cut_kind,
        end.damaged,
    )


def _piece(walk: Walk, rows: int) -> Columns:
    """The next packets: about ``rows`` of them, all that are left where there are fewer."""
    columns = walk.empty(max(rows, walk.module.BLOCK_ROWS))
    n = walk.run(columns)
    time, kind, wave, simd, op = (c[:n] for c in columns if c is not None)
    if walk.tables.index is not None:
        from isaprof.parsers.sqtt.prediction import predict

        t = walk.tables
        predict(kind, wave, op, t.role, t.index, t.moves, walk.recent)
    cut, cut_kind, damaged = walk.ending(kind)
    n -= cut > 0
    if damaged:
        n = int(np.searchsorted(time[:n], walk.module.MAX_TIME))
    return Columns(
        walk.header, time[:n], kind[:n], wave[:n], simd[:n], op[:n], cut, cut_kind, damaged, walk.done
    )
