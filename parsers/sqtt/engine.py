"""One buffer in, one :class:`~isaprof.parsers.sqtt.records.EngineTrace` out."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.parsers.sqtt.control import Control
from isaprof.parsers.sqtt.frame import PacketStream, frames
from isaprof.parsers.sqtt.header import Buffer, StreamHeader, read_header, release, zero_share
from isaprof.parsers.sqtt.records import EngineTrace
from isaprof.parsers.sqtt.waves_gfx9 import Gfx9Waves, StreamError
from isaprof.parsers.sqtt.waves_rdna import RdnaWaves

if TYPE_CHECKING:
    from isaprof.parsers.sqtt.stream import Stream

#: kinds that carry only time: a cut one at the end of a buffer is no loss
TIMING = frozenset({"TIME", "TIMESTAMP", "MEDIUM_TIME", "NOP", "MISC", "WAVE_ALLOC", "HEADER"})
#: the hardware writes blocks of this many bytes
BLOCK = 32
#: how many packets are handled between two calls of the progress callback
_STEP = 1 << 16


def decode_engine(
    data: Buffer,
    *,
    path: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    columns: bool = False,
) -> EngineTrace:
    """Decode the buffer of one shader engine.

    ``columns``: with the compiled builder (see compiled.builds). Then ``rows`` of the result has what is
    otherwise in its lists of waves, occupancy, counters and events, in bounded memory.

    Raises BadInput where it has no valid header. Damage later in the stream is
    reported in the result (``cut_kind``, ``stopped_at``, ``unknown``, ``lost``);
    what comes before it is kept.
    """
    header = read_header(data, path=path)
    out = EngineTrace(header, {}, size=len(data), zeros=zero_share(data))
    if columns:
        from isaprof.parsers.sqtt.stream import Stream

        stream = Stream(header, out, Control(out))
        _decode(data, header, stream, out, progress)
        out.rows = stream.close()
        return out
    builder = (Gfx9Waves if header.start else RdnaWaves)(header, out, Control(out))
    with _without_collector():
        _decode(data, header, builder, out, progress)
    builder.close()
    return out


@contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of small objects are made, none in a cycle: no need to look for cycles again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _decode(
    data: Buffer,
    header: StreamHeader,
    builder: Gfx9Waves | RdnaWaves | Stream,
    out: EngineTrace,
    progress: Callable[[int, int], None] | None,
) -> None:
    done = 0
    for piece in frames(data, header, _STEP << 3):
        for kind, n in piece.counts().items():
            out.packets[kind] = out.packets.get(kind, 0) + n
        out.end_time = int(piece.time[-1]) if len(piece) else out.end_time
        _note_damage(piece, data, out)
        if isinstance(builder, Gfx9Waves | RdnaWaves):
            if not _drive(piece, builder, out, progress, done):
                return
        elif not builder.piece(piece):
            return
        done = int(piece.bit[-1] // 8) if len(piece) else done
        release(data, done)
        if progress is not None:
            progress(done, piece.size)


def _note_damage(piece: PacketStream, data: Buffer, out: EngineTrace) -> None:
    unknown = np.flatnonzero(piece.type < 0)
    if len(unknown):
        out.unknown += len(unknown)
        if out.unknown_at is None:
            out.unknown_at = int(piece.bit[unknown[0]] // 8)
    if piece.damaged_at is not None:
        out.stopped_at, out.stopped_why = piece.damaged_at, "its times exceed any clock"
    out.cut_block = (len(data) - piece.header.start) % BLOCK
    if piece.cut_kind is not None and (piece.cut_kind not in TIMING or out.cut_block):
        out.cut_kind = piece.cut_kind


def _drive(
    stream: PacketStream,
    builder: Gfx9Waves | RdnaWaves,
    out: EngineTrace,
    progress: Callable[[int, int], None] | None,
    done: int,
) -> bool:
    """Hand every packet that matters to its method, in stream order; False where the stream makes no sense.

    ``done``: bytes of the buffer before this piece; progress is counted in bytes.
    """
    packets = stream.generation.packets
    calls: list[tuple[Callable[..., None], Iterator[tuple[Any, ...]]] | None] = [None] * (len(packets) + 1)
    for kind, (method, names) in builder.handlers().items():
        numbers = stream.generation.kinds(kind)
        if not numbers:
            continue
        rows = stream.rows(kind)
        columns = [stream.time[rows].tolist(), *(stream.field(n, rows).tolist() for n in names)]
        iterator = iter(zip(*columns, strict=True))
        for i in numbers:
            calls[i] = (method, iterator)
    wanted = np.array([c is not None for c in calls])
    rows = np.flatnonzero(wanted[stream.type])
    types = stream.type[rows].tolist()
    if progress is not None:
        progress(done, stream.size)
    n = 0
    try:
        for n, i in enumerate(types):
            call = calls[i]
            if call is not None:
                call[0](*next(call[1]))
            if progress is not None and n % _STEP == 0:
                progress(int(stream.bit[rows[n]] // 8), stream.size)
    except StreamError as e:
        out.stopped_at, out.stopped_why = int(stream.bit[rows[n]] // 8), str(e)
        out.end_time = int(stream.time[rows[n]])
        return False
    return True
