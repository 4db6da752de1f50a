"""Device memory as registered segments with guard gaps, and LDS.

All segments live in one address range, so that a lane vector of addresses is
checked and gathered at once. Between segments lie gaps that belong to nobody:
an access there is a fault that names the nearest segment.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput

#: first address handed out; looks like a ROCm device allocation
BASE = 0x7F00_0000_0000
GUARD = 1 << 16
ALIGN = 1 << 12

#: dword numbers of a wide access, as a column
_DWORD = np.arange(16)[:, None]

Addresses = NDArray[np.uint64]


@dataclass(slots=True)
class Segment:
    """``size`` bytes at ``base``; ``writable`` False for code and kernarg."""

    name: str
    base: int
    size: int
    writable: bool = True

    @property
    def end(self) -> int:
        return self.base + self.size


class MemoryFault(Exception):
    """An access outside every segment, or a store to one that is read-only.

    ``lane`` indexes the vector of addresses given; the executor turns this into
    a KernelFault with instruction and wave.
    """

    def __init__(self, lane: int, address: int, nbytes: int, why: str) -> None:
        super().__init__(why)
        self.lane, self.address, self.nbytes, self.why = lane, address, nbytes, why


class Memory:
    """Global memory. Register all segments, then :meth:`freeze`."""

    def __init__(self, base: int = BASE) -> None:
        self.base = base
        self.segments: list[Segment] = []
        self._initial: list[Any] = []
        self._next = base
        self.bytes: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.words: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._starts: list[int] = []
        self._hit = Segment("", 0, 0)

    def add(self, name: str, data: Any, *, writable: bool = True, guard: int = GUARD) -> Segment:
        """Register a segment holding ``data`` (bytes or uint8 array); returns where it is."""
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes | bytearray) else data
        start = (self._next + guard + ALIGN - 1) // ALIGN * ALIGN if guard else self._next
        segment = Segment(name, start, int(raw.size), writable)
        self.segments.append(segment)
        self._initial.append(raw)
        self._next = segment.end
        return segment

    def freeze(self) -> None:
        """Lay out the address range and copy the initial contents."""
        size = (self._next - self.base + GUARD + 7) // 8 * 8
        try:
            self.bytes = np.zeros(size, np.uint8)
        except MemoryError:
            raise BadInput(
                f"the operands need {size} bytes, which cannot be allocated", kind="too_large"
            ) from None
        self.words = self.bytes.view(np.uint32)
        for segment, raw in zip(self.segments, self._initial, strict=True):
            self.bytes[segment.base - self.base : segment.end - self.base] = raw
        self._initial = []
        self._starts = [s.base for s in self.segments]
        if self.segments:
            self._hit = self.segments[0]

    # -- checks ----------------------------------------------------------------
    def find(self, address: int) -> Segment | None:
        """The segment that contains ``address``, or None."""
        i = bisect_right(self._starts, address) - 1
        if i >= 0 and address < self.segments[i].end:
            return self.segments[i]
        return None

    def nearest(self, address: int) -> str:
        """Where ``address`` lies, in words: the closest segment and the distance in bytes."""
        if not self.segments:
            return "there is no buffer at all"

        def gap(s: Segment) -> int:
            return s.base - address if address < s.base else max(0, address - s.end + 1)

        s = min(self.segments, key=gap)
        if s.base <= address < s.end:
            return f"inside {s.name}, at byte {address - s.base} of {s.size}"
        if address < s.base:
            return f"{s.base - address} bytes before {s.name} ({s.size} bytes at {s.base:#x})"
        return f"{address - s.end} bytes past the end of {s.name} ({s.size} bytes at {s.base:#x})"

    def check(self, addresses: Addresses, nbytes: int, *, store: bool) -> None:
        """Raise MemoryFault unless each address starts ``nbytes`` inside one segment."""
        low, high = int(addresses.min()), int(addresses.max())
        s = self._hit
        if s.base <= low and high + nbytes <= s.end and (s.writable or not store):
            return
        near = self.find(low)
        if near is not None and high + nbytes <= near.end and (near.writable or not store):
            self._hit = near
            return
        for lane in range(addresses.size):
            a = int(addresses[lane])
            found = self.find(a)
            if found is None or a + nbytes > found.end:
                raise MemoryFault(lane, a, nbytes, self.nearest(a if found is None else found.end))
            if store and not found.writable:
                raise MemoryFault(lane, a, nbytes, f"{found.name} is read-only")
            self._hit = found

    # -- vector access; all addresses are active lanes ---------------------------
    def load(self, addresses: Addresses, nbytes: int) -> NDArray[np.uint32]:
        """Dwords [ceil(nbytes / 4), n] at each address; sub-dword values zero-extended."""
        self.check(addresses, nbytes, store=False)
        return gather(self.bytes, self.words, (addresses - np.uint64(self.base)).astype(np.int64), nbytes)

    def store(self, addresses: Addresses, data: NDArray[np.uint32], nbytes: int) -> None:
        """Store ``data`` dwords [ceil(nbytes / 4), n]; a later lane wins where lanes overlap."""
        self.check(addresses, nbytes, store=True)
        scatter(self.bytes, self.words, (addresses - np.uint64(self.base)).astype(np.int64), data, nbytes)

    def read(self, address: int, nbytes: int) -> bytes:
        """Bytes at a scalar address (SMEM, tests)."""
        s = self.find(address)
        if s is None or address + nbytes > s.end:
            raise MemoryFault(0, address, nbytes, self.nearest(address if s is None else s.end))
        at = address - self.base
        return self.bytes[at : at + nbytes].tobytes()

    def contents(self, segment: Segment) -> bytes:
        """Current bytes of a segment."""
        return self.bytes[segment.base - self.base : segment.end - self.base].tobytes()


def gather(
    raw: NDArray[np.uint8], words: NDArray[np.uint32], offset: NDArray[np.int64], nbytes: int
) -> NDArray[np.uint32]:
    """Little-endian values of ``nbytes`` at byte offsets, as dwords [ceil(nbytes / 4), n]."""
    if nbytes >= 4 and not (offset & 3).any():
        index = offset >> 2
        dwords: NDArray[np.uint32] = (
            words[index[None, :] + _DWORD[: nbytes // 4]] if nbytes > 4 else words[index][None]
        )
        return dwords
    n = (nbytes + 3) // 4
    out = np.zeros((n, offset.size, 4), np.uint8)
    for i in range(nbytes):
        out[i >> 2, :, i & 3] = raw[offset + i]
    return out.view(np.uint32)[:, :, 0]


def scatter(
    raw: NDArray[np.uint8],
    words: NDArray[np.uint32],
    offset: NDArray[np.int64],
    data: NDArray[np.uint32],
    nbytes: int,
) -> None:
    """The store that belongs to :func:`gather`."""
    if nbytes >= 4 and not (offset & 3).any():
        index = offset >> 2
        for k in range(nbytes // 4):
            words[index + k] = data[k]
        return
    pieces = np.ascontiguousarray(data).view(np.uint8).reshape(data.shape[0], data.shape[1], 4)
    for i in range(nbytes):
        raw[offset + i] = pieces[i >> 2, :, i & 3]


class LDS:
    """Local data share of one workgroup: reads outside return 0, writes outside are dropped.

    That is the hardware's rule (RDNA3 ISA, "LDS out-of-range"); ``outside``
    counts such lanes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.bytes: NDArray[np.uint8] = np.zeros((size + 7) // 8 * 8, np.uint8)
        self.words: NDArray[np.uint32] = self.bytes.view(np.uint32)
        self.outside = 0

    def clear(self) -> None:
        self.bytes.fill(0)

    def load(self, offset: NDArray[np.int64], nbytes: int) -> NDArray[np.uint32]:
        bad = (offset < 0) | (offset + nbytes > self.size)
        if not bad.any():
            return gather(self.bytes, self.words, offset, nbytes)
        self.outside += int(bad.sum())
        out = np.zeros(((nbytes + 3) // 4, offset.size), np.uint32)
        ok = ~bad
        if ok.any():
            out[:, ok] = gather(self.bytes, self.words, offset[ok], nbytes)
        return out

    def store(self, offset: NDArray[np.int64], data: NDArray[np.uint32], nbytes: int) -> None:
        bad = (offset < 0) | (offset + nbytes > self.size)
        if bad.any():
            self.outside += int(bad.sum())
            ok = ~bad
            offset, data = offset[ok], data[:, ok]
        if offset.size:
            scatter(self.bytes, self.words, offset, data, nbytes)
