"""Framing: a trace buffer becomes columns of packet type, time and payload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt.chain import chain
from isaprof.parsers.sqtt.header import Buffer, StreamHeader, read_header
from isaprof.parsers.sqtt.model import Generation, Packet
from isaprof.parsers.sqtt.walk import PIECE, Walk, compiled

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

#: packets per block of the start-position walk
_BLOCK = 1 << 16
#: times from here on are damage, not a trace (2^62 cycles are 50 years)
MAX_TIME = 1 << 62


@dataclass(slots=True)
class PacketStream:
    """All packets of one buffer, in stream order, as columns of equal length.

    ``bit``: int64, first bit of the packet in the buffer. ``type``: int16,
    index into ``generation.packets`` (-1: undefined first byte). ``time``:
    int64 cycles. ``payload``: uint64, the packet's bits, for packets longer
    than 64 bits without the first eight.
    """

    header: StreamHeader
    bit: I64
    type: NDArray[np.int16]
    time: I64
    payload: U64
    size: int  #: bytes of the buffer
    cut_bits: int = 0  #: bits of a packet that the end of the buffer cuts (not in the columns)
    cut_kind: str | None = None  #: its kind
    damaged_at: int | None = None  #: byte from which times make no sense; packets after it are left out

    @property
    def generation(self) -> Generation:
        return self.header.generation

    def __len__(self) -> int:
        return len(self.bit)

    def counts(self) -> dict[str, int]:
        """Packets by kind; undefined first bytes as UNKNOWN."""
        packets = self.generation.packets
        out: dict[str, int] = {}
        for i, n in zip(*np.unique(self.type, return_counts=True), strict=True):
            kind = "UNKNOWN" if i < 0 else packets[int(i)].kind
            out[kind] = out.get(kind, 0) + int(n)
        return out

    def rows(self, *kinds: str) -> NDArray[np.intp]:
        """Row numbers of the packets of the given kinds, ascending."""
        return np.flatnonzero(np.isin(self.type, self.generation.kinds(*kinds)))

    def field(self, name: str, rows: NDArray[np.intp]) -> I64:
        """Field ``name`` of the given rows (0 where the layout has none)."""
        packets = self.generation.packets
        shift = np.zeros(len(packets) + 1, np.uint64)
        mask = np.zeros(len(packets) + 1, np.uint64)
        for i, p in enumerate(packets):
            if name in p.fields:
                lo, hi = p.fields[name]
                shift[i] = lo - _dropped(p)
                mask[i] = (1 << (hi - lo + 1)) - 1
        t = self.type[rows]
        return ((self.payload[rows] >> shift[t]) & mask[t]).astype(np.int64)


def _dropped(p: Packet) -> int:
    """Bits missing at the front of the payload column."""
    return 8 if p.bits > 64 else 0


def decode(data: Buffer, *, path: str | None = None) -> PacketStream:
    """Frame buffer ``data``. Raises BadInput where it has no valid header."""
    return frame(data, read_header(data, path=path))


def frame(data: Buffer, header: StreamHeader) -> PacketStream:
    """All packets of ``data`` after ``header``, with times: compiled where that pays, else the reference."""
    walk = compiled(data, header)
    if walk is None:
        return frame_reference(data, header)
    parts = [_piece(walk, walk.rows_left(framing=True))]
    while not walk.done:
        parts.append(_piece(walk, walk.rows_left(framing=True)))
    end = parts[-1]
    if len(parts) > 1:
        for name in ("bit", "type", "time", "payload"):
            setattr(end, name, np.concatenate([getattr(p, name) for p in parts]))
    return end


def frames(data: Buffer, header: StreamHeader, rows: int = PIECE) -> Iterator[PacketStream]:
    """The same in pieces of about ``rows`` packets, in memory that does not depend on the size of ``data``.

    Without the compiled decoder there is one piece with all of it.
    """
    walk = compiled(data, header)
    if walk is None:
        yield frame_reference(data, header)
        return
    yield _piece(walk, rows)
    while not walk.done:
        yield _piece(walk, rows)


def _piece(walk: Walk, rows: int) -> PacketStream:
    columns = walk.empty(max(rows, walk.module.BLOCK_ROWS), framing=True)
    n = walk.run(columns)
    time, kind, bit, payload = (c[:n] for c in columns if c is not None)
    cut, cut_kind, damaged = walk.ending(kind)
    n -= cut > 0
    damaged_at = None
    if damaged:
        n = int(np.searchsorted(time[:n], MAX_TIME))
        damaged_at = int(bit[n] // 8)
    return PacketStream(
        walk.header, bit[:n], kind[:n], time[:n], payload[:n], len(walk.whole), cut, cut_kind, damaged_at
    )


def frame_reference(data: Buffer, header: StreamHeader) -> PacketStream:
    """The same by NumPy and one Python loop: what the compiled decoder must equal."""
    g = header.generation
    table = np.array(g.table(), np.int16)
    starts, code = _starts(data, header, table)
    kind = table[code[starts]] if len(starts) else np.zeros(0, np.int16)
    bit = starts * g.unit_bits + (header.start * 8 if g.unit_bits == 16 else 0)
    width = np.array([p.bits for p in g.packets] + [8], np.int64)
    cut, cut_kind = 0, None
    if len(bit) and bit[-1] + width[kind[-1]] > len(data) * 8:
        cut = int(len(data) * 8 - bit[-1])
        cut_kind = g.packets[kind[-1]].kind if kind[-1] >= 0 else "UNKNOWN"
        bit, kind = bit[:-1], kind[:-1]
    payload = _payload(data, bit, kind, g)
    stream = PacketStream(header, bit, kind, np.zeros(len(bit), np.int64), payload, len(data), cut, cut_kind)
    _set_times(stream)
    return stream


def _starts(data: Buffer, header: StreamHeader, table: NDArray[np.int16]) -> tuple[I64, NDArray[np.uint8]]:
    """Start units of all packets, and the 8-bit value at every unit."""
    g = header.generation
    raw = np.frombuffer(data, np.uint8)
    if g.unit_bits == 4:
        code = np.empty(2 * len(raw), np.uint8)
        code[0::2] = raw
        code[1::2] = raw >> 4
        code[1:-1:2] |= raw[1:] << 4
    elif g.unit_bits == 16:
        code = raw[header.start : len(raw) & ~1 : 2]
    else:
        code = raw
    units = np.array([p.bits // g.unit_bits for p in g.packets] + [max(8 // g.unit_bits, 1)], np.int64)
    step: list[int] = units[table].tolist()
    special = {**dict.fromkeys(g.kinds("NOP"), 2), **dict.fromkeys(g.kinds(*g.extended), 1)}
    extended = [special.get(int(t), 0) if g.extended else 0 for t in table]
    source = code.tobytes()
    skip = 8 // min(g.unit_bits, 8)
    position, pending, blocks = 0, 0, []
    while position < len(source):
        block = np.empty(_BLOCK, np.int64)
        out = memoryview(block)  # type: ignore[arg-type]
        n, position, pending = chain(source, step, extended, position, len(source), skip, pending, out)
        blocks.append(block[:n])
    return (np.concatenate(blocks) if blocks else np.zeros(0, np.int64)), code


def _payload(data: Buffer, bit: I64, kind: NDArray[np.int16], g: Generation) -> U64:
    """The first 64 bits of each packet (without the first 8 for longer ones), masked to its length."""
    padded = np.zeros(len(data) + 24, np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    windows = np.lib.stride_tricks.as_strided(padded, (len(data) + 8, 16), (1, 1), writeable=False)
    dropped = np.array([_dropped(p) for p in g.packets] + [0], np.int64)[kind]
    width = np.array([min(p.bits, 64) for p in g.packets] + [8], np.uint64)[kind]
    first = bit + dropped
    pair = np.ascontiguousarray(windows[first >> 3]).view("<u8").reshape(-1, 2)
    shift = (first & 7).astype(np.uint64)
    low = pair[:, 0] >> shift
    high = np.where(shift > 0, pair[:, 1] << ((np.uint64(64) - shift) & np.uint64(63)), np.uint64(0))
    ones = np.uint64(0xFFFFFFFFFFFFFFFF)
    return (low | high) & (ones >> (np.uint64(64) - width))


def _set_times(s: PacketStream) -> None:
    """Running sum of the packets' time steps; see sections on time of the format."""
    g = s.generation
    packets = g.packets
    n = len(packets)
    lo, mask, add = np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.int64)
    for i, p in enumerate(packets):
        add[i] = p.delta_add
        if p.delta is not None:
            lo[i] = p.delta[0] - _dropped(p) if p.delta[0] >= _dropped(p) else 0
            mask[i] = (1 << (p.delta[1] - p.delta[0] + 1)) - 1
    delta = ((s.payload >> lo[s.type]) & mask[s.type]).astype(np.int64) + add[s.type]
    if g.wave_prediction:
        steps = np.array([g.wave_prediction[i][1] for i in range(16)], np.int64)
        rows = s.rows("VALU_INST")
        delta[rows] = steps[s.field("wavetm", rows)]
    if g.time_unit == 1:
        rows = s.rows("TIMESTAMP")
        delta[rows] = np.where(_advances(s, rows), s.field("value", rows), 0)
    delta *= g.time_unit
    s.time = np.cumsum(delta)
    # one step is far below 2^62, so the first time out of range has not wrapped yet
    beyond = s.time >= MAX_TIME
    if beyond.any():
        keep = int(np.argmax(beyond))
        s.damaged_at, s.cut_bits, s.cut_kind = int(s.bit[keep] // 8), 0, None
        s.bit, s.type, s.payload, s.time = s.bit[:keep], s.type[:keep], s.payload[:keep], s.time[:keep]
        delta = delta[:keep]
    if g.time_unit != 1:
        _apply_resets(s, delta)


def _advances(s: PacketStream, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """TIMESTAMP packets that move the clock by their value."""
    name, value = s.generation.advances
    return np.equal(s.field(name, rows), value)


def _apply_resets(s: PacketStream, delta: I64) -> None:
    """gfx9: a MISC TIME_RESET re-anchors the clock on the TIMESTAMP that follows it.

    The correction applies at the reset, so packets between the two already use
    it. A second reset before the timestamp cancels the first; the timestamp
    that was used takes no part in the running sum.
    """
    misc = s.rows("MISC")
    resets = misc[s.field("misc", misc) == 1]
    stamps = s.rows("TIMESTAMP")
    if not len(resets) or not len(stamps):
        return
    values = s.field("value", stamps)
    base = 0
    following = np.searchsorted(stamps, resets)
    anchors: list[tuple[int, int]] = []
    for i, (row, k) in enumerate(zip(resets.tolist(), following.tolist(), strict=True)):
        if k == len(stamps):
            break
        stamp = int(stamps[k])
        if i + 1 < len(resets) and resets[i + 1] < stamp:
            continue
        anchors.append((row, int(values[k])))
        delta[stamp] = 0
    if not anchors:
        return
    # segment by segment: the sum restarts at each anchor
    time = np.cumsum(delta)
    offset = 0
    for i, (row, value) in enumerate(anchors):
        end = anchors[i + 1][0] if i + 1 < len(anchors) else len(time)
        now = int(time[row]) + offset
        if base == 0:
            base = value - now + 4
        if value > base:
            offset += ((value - base) & ~3) - now
        time[row:end] += offset
    s.time = time
