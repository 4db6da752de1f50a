"""Memory and LDS that tell a watcher about every access, and survive those that are wrong.

An access outside gives zeros (loads) or nothing (stores) and goes on, so that
one check finds more than the first fault. Both remember which bytes were ever
written.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isaprof.sim.memory import LDS, Memory, Segment, gather, scatter

#: bytes of nobody between two operands: what goes wrong by less cannot reach the next one
GUARD = 1 << 22

Vec = NDArray[Any]


class MemoryWatcher(Protocol):
    """What :class:`CheckedMemory` tells; addresses are of the lanes that really access."""

    def expected_segment(self) -> Segment | None:
        """The operand that the current instruction's base pointer lies in, where one is known."""
        ...

    def outside(self, addresses: Vec, nbytes: int, *, store: bool) -> None: ...

    def read_only(self, addresses: Vec, nbytes: int, segment: Segment) -> None: ...

    def loaded(self, addresses: Vec, nbytes: int) -> None: ...

    def stored(self, addresses: Vec, nbytes: int, changed: Vec) -> None:
        """``changed``: bool per lane, whether the bytes there are others than before."""
        ...


class CheckedMemory(Memory):
    """Global memory under a watcher. ``written``: bool per byte, set for what the host filled."""

    watcher: MemoryWatcher

    def add(self, name: str, data: Any, *, writable: bool = True, guard: int = GUARD) -> Segment:
        """As in Memory, with wider gaps."""
        return super().add(name, data, writable=writable, guard=guard)

    def freeze(self) -> None:
        super().freeze()
        self.written = np.zeros(self.bytes.size, np.bool_)
        #: those of the host alone; the machine sets both
        self.host_wrote = self.written
        self.storing: Vec = np.zeros((1, 0), np.uint32)  #: data of the store in progress
        self._starts_array = np.array([s.base for s in self.segments], np.uint64)
        self._ends_array = np.array([s.end for s in self.segments], np.uint64)

    def allowed(self, addresses: Vec, nbytes: int) -> Vec:
        """Which addresses lie, with all their bytes, in one segment (and the expected one)."""
        home = self.watcher.expected_segment()
        a = addresses.astype(np.uint64, copy=False)
        if home is not None:
            start, end = np.uint64(home.base), np.uint64(max(home.base, home.end - nbytes + 1))
            inside: Vec = (a >= start) & (a < end)
            return inside
        at = np.searchsorted(self._starts_array, a, side="right") - 1
        found = np.maximum(at, 0)
        inside = (at >= 0) & (a < self._ends_array[found]) & (self._ends_array[found] - a >= nbytes)
        return inside

    def load(self, addresses: Any, nbytes: int) -> Any:
        ok = self.allowed(addresses, nbytes)
        if ok.all():
            self.watcher.loaded(addresses, nbytes)
            return self._gather(addresses, nbytes)
        self.watcher.outside(addresses[~ok], nbytes, store=False)
        out = np.zeros(((nbytes + 3) // 4, addresses.size), np.uint32)
        if ok.any():
            self.watcher.loaded(addresses[ok], nbytes)
            out[:, ok] = self._gather(addresses[ok], nbytes)
        return out

    def store(self, addresses: Any, data: Any, nbytes: int) -> None:
        ok = self.allowed(addresses, nbytes)
        if not ok.all():
            self.watcher.outside(addresses[~ok], nbytes, store=True)
            addresses, data = addresses[ok], data[:, ok]
            if not addresses.size:
                return
        segment = self.find(int(addresses[0]))
        if segment is not None and not segment.writable:
            self.watcher.read_only(addresses, nbytes, segment)
            return
        offset = (addresses - np.uint64(self.base)).astype(np.int64)
        self.storing = data
        before = gather(self.bytes, self.words, offset, nbytes)
        scatter(self.bytes, self.words, offset, data, nbytes)
        changed = (gather(self.bytes, self.words, offset, nbytes) != before).any(axis=0)
        self.watcher.stored(addresses, nbytes, changed)
        self.written[byte_index(offset, nbytes)] = True

    def read(self, address: int, nbytes: int) -> bytes:
        """A scalar load: bytes outside are zeros."""
        one = np.array([address], np.uint64)
        if self.allowed(one, nbytes)[0]:
            self.watcher.loaded(one, nbytes)
            at = address - self.base
            return self.bytes[at : at + nbytes].tobytes()
        self.watcher.outside(one, nbytes, store=False)
        inside = self.find(address)
        if inside is None:
            return bytes(nbytes)
        at = address - self.base
        return self.bytes[at : inside.end - self.base].tobytes()[:nbytes].ljust(nbytes, b"\0")

    def unwritten(self, addresses: Vec, nbytes: int) -> Vec:
        """Bool per lane: some byte there was never written."""
        offset = (addresses - np.uint64(self.base)).astype(np.int64)
        fresh: Vec = ~np.asarray(self.written[byte_index(offset, nbytes)].all(axis=1))
        return fresh

    def _gather(self, addresses: Any, nbytes: int) -> Any:
        return gather(self.bytes, self.words, (addresses - np.uint64(self.base)).astype(np.int64), nbytes)


_RANGE = np.arange(128)


def byte_index(offset: Vec, nbytes: int) -> Vec:
    """Index [lanes, nbytes] of every byte of an access."""
    index: Vec = offset[:, None] + _RANGE[:nbytes]
    return index


class LdsWatcher(Protocol):
    """What :class:`CheckedLDS` tells; offsets are of the lanes that really access."""

    def lds_outside(self, offsets: Vec, nbytes: int, *, store: bool) -> None: ...

    def lds_loaded(self, lds: CheckedLDS, offsets: Vec, nbytes: int) -> None: ...

    def lds_stored(self, lds: CheckedLDS, offsets: Vec, nbytes: int, changed: Vec) -> None: ...


class CheckedLDS(LDS):
    """LDS of one workgroup under a watcher; ``shadow`` is whatever the watcher keeps for it."""

    watcher: LdsWatcher
    shadow: Any = None

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.written = np.zeros(self.bytes.size, np.bool_)

    def clear(self) -> None:
        super().clear()
        self.written.fill(False)

    def load(self, offset: Any, nbytes: int) -> Any:
        inside = (offset >= 0) & (offset + nbytes <= self.size)
        if not inside.all():
            self.watcher.lds_outside(offset[~inside], nbytes, store=False)
        if inside.any():
            self.watcher.lds_loaded(self, offset[inside], nbytes)
        return super().load(offset, nbytes)

    def store(self, offset: Any, data: Any, nbytes: int) -> None:
        inside = (offset >= 0) & (offset + nbytes <= self.size)
        if not inside.all():
            self.watcher.lds_outside(offset[~inside], nbytes, store=True)
        at = offset[inside]
        if not at.size:
            return
        before = gather(self.bytes, self.words, at, nbytes)
        super().store(offset, data, nbytes)
        index = byte_index(at, nbytes)
        new = ~self.written[index].all(axis=1)
        changed = (gather(self.bytes, self.words, at, nbytes) != before).any(axis=0) | new
        self.watcher.lds_stored(self, at, nbytes, changed)
        self.written[index] = True

    def unwritten(self, offsets: Vec, nbytes: int) -> Vec:
        """Bool per lane: some byte there was never written."""
        fresh: Vec = ~np.asarray(self.written[byte_index(offsets, nbytes)].all(axis=1))
        return fresh
