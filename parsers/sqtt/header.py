"""Recognising a trace buffer by its first eight bytes."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass

from isaprof.errors import BadInput
from isaprof.parsers.sqtt.generations import BY_VERSION, GENERATIONS
from isaprof.parsers.sqtt.model import Generation, Scale

#: what holds a trace: bytes, or a memory-mapped file
Buffer = bytes | bytearray | memoryview | mmap.mmap
#: gfx9 software header: legacy_version values that mark it, and the range of gfx9_version
_SOFTWARE_IDS = (0, 0x11)
_GFX9_VERSIONS = range(4, 7)
_HEADER_ID = 0x11
#: bytes looked at in one go
_SCAN = 1 << 20
#: bytes before a position whose pages are given back: more than are read between two positions
_WINDOW = 1 << 24
_LOOK = "isaprof import reads .sqtt/.att buffers that start with an SQTT header"


@dataclass(frozen=True, slots=True)
class StreamHeader:
    """What the first eight bytes say.

    ``start`` is the byte at which packets begin (8 after the software header
    that the runtime writes on gfx9; 0 where the header is itself a packet).
    """

    generation: Generation
    start: int
    raw: int
    simd_mask: int  #: traced SIMDs, one bit each
    target_cu: int  #: gfx9: CU; gfx10+: WGP
    target_sa: int = 0
    exclude_barrier_wait: bool = False
    cycles: Mapping[Scale, int] | None = None

    @property
    def unit(self) -> str:
        return "CU" if self.start else "WGP"


def _bits(value: int, lo: int, hi: int) -> int:
    return value >> lo & ((1 << (hi - lo + 1)) - 1)


def zero_share(data: Buffer) -> float:
    """Share (0..1) of zero bytes in ``data``."""
    n = len(data)
    if not n:
        return 1.0
    if isinstance(data, bytes | bytearray):
        return data.count(0) / n
    zeros = 0
    for i in range(0, n, _SCAN):
        zeros += bytes(data[i : i + _SCAN]).count(0)
        release(data, i)
    return zeros / n


def release(data: Buffer, end: int) -> None:
    """Give back the memory of a mapped file up to byte ``end``; it is read again where it is needed again."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        length = end // mmap.PAGESIZE * mmap.PAGESIZE
        start = max(length - _WINDOW, 0)
        if length > start:
            data.madvise(mmap.MADV_DONTNEED, start, length - start)


def read_header(data: Buffer, *, path: str | None = None) -> StreamHeader:
    """The header of buffer ``data``.

    Raises BadInput with kind ``empty_trace``, ``zero_buffer`` or
    ``bad_header`` where the bytes are no thread trace.
    """
    if len(data) < 8:
        raise BadInput(
            f"{len(data)} bytes: too short for a thread trace (its header has 8)",
            path=path,
            kind="empty_trace",
            hint="record again; did waves run on the traced shader engine (--att-shader-engine-mask)?",
        )
    raw = int.from_bytes(data[:8], "little")
    legacy, gfx9 = _bits(raw, 0, 12), _bits(raw, 13, 15)
    if legacy in _SOFTWARE_IDS and gfx9 in _GFX9_VERSIONS:
        return StreamHeader(
            generation=GENERATIONS["gfx9"],
            start=8,
            raw=raw,
            simd_mask=_bits(raw, 16, 19),
            target_cu=_bits(raw, 20, 23),
        )
    version = _bits(raw, 7, 12)
    if _bits(raw, 0, 6) == _HEADER_ID and version in BY_VERSION:
        return _hardware_header(raw, BY_VERSION[version])
    zeros = zero_share(data)
    if zeros > 0.99:
        raise BadInput(
            f"a buffer of zeros ({zeros:.0%} of {len(data)} bytes are zero): the hardware wrote no trace",
            path=path,
            kind="zero_buffer",
            hint="record again with a larger grid, another --att-target-cu, a wider --att-shader-engine-mask",
        )
    raise BadInput(
        f"not a thread trace: the first 8 bytes are {bytes(data[:8]).hex(' ')}, expected an SQTT header "
        "(low 7 bits 0x11 and version 1 to 5, or a gfx9 software header)",
        path=path,
        offset=0,
        kind="bad_header",
        hint=_LOOK,
    )


def _hardware_header(raw: int, generation: Generation) -> StreamHeader:
    wide = generation.version >= 5
    n = _bits(raw, 28, 30) if generation.version >= 3 else _bits(raw, 28, 31)
    dprate = 1 << (n - 1) if n else 1
    derate = 1 if wide else 1 << _bits(raw, 33, 35)
    trans2 = generation.version >= 5 and bool(_bits(raw, 60, 60))
    return StreamHeader(
        generation=generation,
        start=0,
        raw=raw,
        simd_mask=1 << _bits(raw, 13, 14),
        target_cu=_bits(raw, 15, 18 if wide else 17),
        target_sa=_bits(raw, 19, 19),
        exclude_barrier_wait=generation.version == 4 and bool(_bits(raw, 59, 59)),
        cycles={Scale.DPRATE: dprate, Scale.DPRATE_DERATE: dprate * derate, Scale.TRANS2: 2 if trans2 else 4},
    )
