"""The waves' memory accesses, reduced to what timing needs: extent, cache lines, LDS accesses that are alike.

Done in C (src/accesses.c), 30 times faster, where the library is there, else
here; the result is the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.sim.events import NO_LANE, SPACES, MemEvents

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: spaces as the issue loop sees them
VECTOR, LOCAL, SCALAR = range(3)
_KINDS = np.array([{"lds": LOCAL, "gds": LOCAL, "scalar": SCALAR}.get(s, VECTOR) for s in SPACES], np.int32)


@dataclass(slots=True)
class Accesses:
    """By event, one wave's behind the other: what no address is needed for."""

    waves: Sequence[MemEvents]
    first: NDArray[np.int64]  #: each wave's first event, and their number
    name: NDArray[np.uint8]  #: index of :data:`isaprof.sim.events.SPACES`
    space: NDArray[np.int32]  #: VECTOR, LOCAL or SCALAR
    store: NDArray[np.bool_]
    bytes: NDArray[np.int32]
    count: NDArray[np.int64]  #: addresses
    lanes: NDArray[np.int32]

    @classmethod
    def of(cls, waves: Sequence[MemEvents]) -> Accesses:
        """The accesses of ``waves``."""
        first = np.cumsum([0, *(len(w) for w in waves)], dtype=np.int64)
        count = joined([np.diff(w.at) for w in waves], np.int64)
        none = joined([w.lanes[w.at[:-1]] == NO_LANE for w in waves], np.bool_)
        name = joined([w.space for w in waves], np.uint8)
        return cls(
            waves, first, name, _KINDS[name], joined([w.store for w in waves], np.bool_),
            joined([w.bytes for w in waves], np.int32), count, np.where(none, 0, count).astype(np.int32),
        )  # fmt: skip

    def each(self, events: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int8]]]:
        """(event, addresses, lanes) of ``events``, which ascend."""
        ends = np.searchsorted(events, self.first).tolist()
        for wave, first, begin, end in zip(self.waves, self.first.tolist(), ends, ends[1:], strict=False):
            chosen = events[begin:end] - first
            spans = zip(
                events[begin:end].tolist(),
                wave.at[chosen].tolist(),
                wave.at[chosen + 1].tolist(),
                strict=True,
            )
            for event, a, b in spans:
                yield event, wave.addresses[a:b], wave.lanes[a:b]


@dataclass(slots=True)
class Reduced:
    """By event. ``lines[lines_ptr[e]:lines_ptr[e + 1]]``: distinct cache lines of a vector access, ascending.

    ``same``: the first event with the same lanes, addresses, width and kind,
    for LDS accesses of lanes, else -1.
    """

    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    lines_ptr: NDArray[np.int64]
    lines: NDArray[np.int64]
    same: NDArray[np.int32]


def joined(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    """All ``parts``, one behind the other."""
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def reduce(lib: ctypes.CDLL | None, x: Accesses, atomic: NDArray[np.bool_], shift: int) -> Reduced:
    """Extents, cache lines of ``1 << shift`` bytes, and what is alike."""
    return _reference(x, atomic, shift) if lib is None else _compiled(lib, x, atomic, shift)


def _compiled(lib: ctypes.CDLL, x: Accesses, atomic: NDArray[np.bool_], shift: int) -> Reduced:
    n = len(x.count)
    out = Reduced(
        np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n + 1, np.int64),
        np.empty(2 * int(x.count[x.space == VECTOR].sum()), np.int64), np.empty(n, np.int32),
    )  # fmt: skip
    arrays = (
        np.diff(x.first),
        np.array([w.addresses.ctypes.data for w in x.waves], dtype=np.uintp),
        np.array([w.lanes.ctypes.data for w in x.waves], dtype=np.uintp),
        *(np.ascontiguousarray(a) for a in (x.count, x.bytes, x.space, x.store, atomic)),
    )
    results = (out.lowest, out.highest, out.lines_ptr, out.lines, out.same)
    call = lib.tl_accesses
    call.argtypes = [ctypes.c_int64, *[ctypes.c_void_p] * 8, ctypes.c_int64, *[ctypes.c_void_p] * 5]
    if call(len(x.waves), *(a.ctypes.data for a in arrays), shift, *(a.ctypes.data for a in results)):
        raise MemoryError
    out.lines = out.lines[: out.lines_ptr[-1]].copy()
    return out


def _reference(x: Accesses, atomic: NDArray[np.bool_], shift: int) -> Reduced:
    flat = joined([w.addresses for w in x.waves], np.int64)
    at = np.concatenate(([0], np.cumsum(x.count)))
    if len(x.count):
        lowest = np.minimum.reduceat(flat, at[:-1])
        highest = (np.maximum.reduceat(flat, at[:-1]) + (x.bytes - 1)).astype(np.int64)
    else:
        lowest = highest = np.zeros(0, np.int64)
    pointer, lines = _cache_lines(flat, at, x, lowest >> shift, highest >> shift, shift)
    same = np.full(len(x.count), -1, np.int32)
    known: dict[tuple[bool, bool, int, bytes, bytes], int] = {}
    for n, addresses, lanes in x.each(np.flatnonzero((x.space == LOCAL) & (x.lanes > 0))):
        key = (bool(x.store[n]), bool(atomic[n]), int(x.bytes[n]), lanes.tobytes(), addresses.tobytes())
        same[n] = known.setdefault(key, n)
    return Reduced(lowest, highest, pointer, lines, same)


def _cache_lines(
    flat: NDArray[np.int64],
    at: NDArray[np.int64],
    x: Accesses,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    shift: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(where each event's lines begin, lines)."""
    one = (x.space == VECTOR) & (first == last)
    several = (x.space == VECTOR) & ~one
    owner, found = [np.flatnonzero(one)], [first[one]]
    for lanes in np.unique(x.count[several]).tolist():
        rows = np.flatnonzero(several & (x.count == lanes))
        addresses = flat[at[rows][:, None] + np.arange(lanes)]
        ends = addresses + (x.bytes[rows][:, None] - 1)
        both = np.sort(np.concatenate((addresses >> shift, ends >> shift), axis=1), axis=1)
        new = np.ones(both.shape, dtype=bool)
        new[:, 1:] = both[:, 1:] != both[:, :-1]
        owner.append(np.repeat(rows, new.sum(axis=1)))
        found.append(both[new])
    owners, lines = np.concatenate(owner), np.concatenate(found)
    order = np.argsort(owners, kind="stable")
    pointer = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(first)))))
    return pointer.astype(np.int64), lines[order].astype(np.int64, copy=False)
