"""One buffer in, one :class:`~isaprof.parsers.sqtt.records.EngineTrace` out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from isaprof.parsers.sqtt.control import Control
from isaprof.parsers.sqtt.frame import PacketStream, frame
from isaprof.parsers.sqtt.header import read_header, zero_share
from isaprof.parsers.sqtt.records import EngineTrace
from isaprof.parsers.sqtt.waves_gfx9 import Gfx9Waves, StreamError
from isaprof.parsers.sqtt.waves_rdna import RdnaWaves

#: kinds that carry only time: a cut one at the end of a buffer is no loss
TIMING = frozenset({"TIME", "TIMESTAMP", "MEDIUM_TIME", "NOP", "MISC", "WAVE_ALLOC", "HEADER"})
#: the hardware writes blocks of this many bytes
BLOCK = 32
#: how many packets are handled between two calls of the progress callback
_STEP = 1 << 16


def decode_engine(
    data: bytes, *, path: str | None = None, progress: Callable[[int, int], None] | None = None
) -> EngineTrace:
    """Decode the buffer of one shader engine.

    Raises BadInput where it has no valid header. Damage later in the stream is
    reported in the result (``cut_kind``, ``stopped_at``, ``unknown``, ``lost``);
    what comes before it is kept.
    """
    stream = frame(data, read_header(data, path=path))
    out = EngineTrace(stream.header, stream.counts(), size=len(data), zeros=zero_share(data))
    out.end_time = int(stream.time[-1]) if len(stream) else 0
    _note_damage(stream, data, out)
    control = Control(out)
    builder = (Gfx9Waves if stream.header.start else RdnaWaves)(stream, out, control)
    _drive(stream, builder, out, progress)
    builder.close()
    return out


def _note_damage(stream: PacketStream, data: bytes, out: EngineTrace) -> None:
    unknown = np.flatnonzero(stream.type < 0)
    if len(unknown):
        out.unknown, out.unknown_at = len(unknown), int(stream.bit[unknown[0]] // 8)
    if stream.damaged_at is not None:
        out.stopped_at, out.stopped_why = stream.damaged_at, "its times exceed any clock"
    out.cut_block = (len(data) - stream.header.start) % BLOCK
    if stream.cut_kind is not None and (stream.cut_kind not in TIMING or out.cut_block):
        out.cut_kind = stream.cut_kind


def _drive(
    stream: PacketStream,
    builder: Gfx9Waves | RdnaWaves,
    out: EngineTrace,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Hand every packet that matters to its method, in stream order."""
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
    n = 0
    try:
        for n, i in enumerate(types):
            call = calls[i]
            if call is not None:
                call[0](*next(call[1]))
            if progress is not None and n % _STEP == 0:
                progress(n, len(types))
    except StreamError as e:
        out.stopped_at, out.stopped_why = int(stream.bit[rows[n]] // 8), str(e)
        out.end_time = int(stream.time[rows[n]])
