"""Wave paths as flat arrays: what the issue loop steps through.

Addresses are reduced here, in bulk, to what timing needs: distinct cache lines
for vector memory, the first byte for scalar loads, and data passes for LDS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.isa.model import Listing
from isaprof.sim.timing import lds
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.trace import MemEvent, WorkgroupTrace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.arch.table import LdsPattern

#: spaces as the loop sees them
VECTOR, LOCAL, SCALAR = range(3)
#: different patterns of conflicting addresses of one shape that are looked into; random ones are too many
MAX_PATTERNS = 1024
_SPACES = {"lds": LOCAL, "gds": LOCAL, "scalar": SCALAR}


@dataclass(slots=True)
class Paths:
    """All waves, one behind the other: wave ``w`` has steps ``start[w]`` to ``start[w + 1]``.

    ``line``, ``taken``, ``event`` (index of the memory event, or -1) are by
    step, the rest by event. The cache lines of event ``e`` are
    ``lines[lines_ptr[e]:lines_ptr[e + 1]]``; ``names`` the spaces' own names.
    """

    start: NDArray[np.int64]
    line: NDArray[np.int32]
    taken: NDArray[np.bool_]
    event: NDArray[np.int32]
    space: NDArray[np.int32]
    store: NDArray[np.bool_]
    atomic: NDArray[np.bool_]
    lanes: NDArray[np.int32]
    bytes: NDArray[np.int32]
    lowest: NDArray[np.int64]  #: lowest byte address
    highest: NDArray[np.int64]  #: highest byte address
    lines_ptr: NDArray[np.int64]
    lines: NDArray[np.int64]
    passes: NDArray[np.int32]
    least: NDArray[np.int32]
    #: why banks conflict, by event: bytes from lane to lane, and the lanes that want one bank
    stride: dict[int, int | None]
    clash: dict[int, str]
    names: list[str]


class PathLists:
    """The same as lists of Python integers, for the reference loop: faster to look up one by one."""

    def __init__(self, paths: Paths) -> None:
        self.start: list[int] = paths.start.tolist()
        self.line: list[int] = paths.line.tolist()
        self.taken: list[bool] = paths.taken.tolist()
        self.event: list[int] = paths.event.tolist()
        self.space: list[int] = paths.space.tolist()
        self.store: list[bool] = paths.store.tolist()
        self.atomic: list[bool] = paths.atomic.tolist()
        self.lanes: list[int] = paths.lanes.tolist()
        self.bytes: list[int] = paths.bytes.tolist()
        self.lowest: list[int] = paths.lowest.tolist()
        self.passes: list[int] = paths.passes.tolist()
        self.least: list[int] = paths.least.tolist()
        lines, at = paths.lines.tolist(), paths.lines_ptr.tolist()
        self.cache_lines = [tuple(lines[a:b]) for a, b in pairwise(at)]


def flatten(traces: Sequence[WorkgroupTrace], listing: Listing, k: Constants, wave_size: int) -> Paths:
    """Flat arrays of ``traces``, waves in order of workgroup and number."""
    waves = [w for t in traces for w in t.waves]
    lengths = np.array([len(w.lines) for w in waves], dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(lengths)))
    line = _joined([w.lines for w in waves], np.int32)
    taken = np.zeros(len(line), dtype=bool)
    event = np.full(len(line), -1, dtype=np.int32)
    events: list[MemEvent] = []
    for first, wave in zip(start.tolist(), waves, strict=False):
        if wave.taken:
            taken[np.fromiter(wave.taken, np.int64, len(wave.taken)) + first] = True
        if wave.memory:
            steps = np.fromiter(wave.memory, np.int64, len(wave.memory))
            order = np.argsort(steps, kind="stable")
            found = list(wave.memory.values())
            event[steps[order] + first] = np.arange(len(events), len(events) + len(steps))
            events += [found[i] for i in order.tolist()]
    atomic_lines = [i.mem is not None and i.mem.atomic for i in listing.instructions]
    atomic = np.array(atomic_lines, dtype=bool)[line[event >= 0]]
    shift = k["l1_line_bytes"].bit_length() - 1
    fields: dict[str, Any] = _events(events, shift)
    local = _local_passes(events, fields["space"], atomic, k["lds_lane_groups"][wave_size])
    return Paths(
        start=start, line=line, taken=taken, event=event, atomic=atomic, names=[e.space for e in events],
        **fields, **local,
    )  # fmt: skip


def _joined(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def _events(events: Sequence[MemEvent], shift: int) -> dict[str, NDArray[Any]]:
    """Space, kind, lanes, width, extent and cache lines of each event."""
    n = len(events)
    width = np.array([e.bytes for e in events], dtype=np.int64)
    count = np.array([len(e.addresses) for e in events], dtype=np.int64)
    space = np.array([_SPACES.get(e.space, VECTOR) for e in events], dtype=np.int32)
    flat = _joined([e.addresses for e in events], np.int64)
    at = np.concatenate(([0], np.cumsum(count)))
    if n:
        lowest = np.minimum.reduceat(flat, at[:-1])
        highest = np.maximum.reduceat(flat, at[:-1]) + width - 1
    else:
        lowest = highest = np.zeros(0, np.int64)
    lines_ptr, lines = _cache_lines(
        flat, at, width, lowest >> shift, highest >> shift, space == VECTOR, shift
    )
    return {
        "space": space,
        "store": np.array([e.store for e in events], dtype=bool),
        "lanes": np.array([len(e.lanes) for e in events], dtype=np.int32),
        "bytes": width.astype(np.int32),
        "lowest": lowest,
        "highest": highest,
        "lines_ptr": lines_ptr,
        "lines": lines,
    }


def _cache_lines(
    flat: NDArray[np.int64],
    at: NDArray[np.int64],
    width: NDArray[np.int64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    vector: NDArray[np.bool_],
    shift: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct lines of the ``vector`` events, ascending: (where each event's begin, lines)."""
    one = vector & (first == last)
    several = vector & ~one
    owner, found = [np.flatnonzero(one)], [first[one]]
    count = at[1:] - at[:-1]
    for lanes in np.unique(count[several]).tolist():
        rows = np.flatnonzero(several & (count == lanes))
        addresses = flat[at[rows][:, None] + np.arange(lanes)]
        ends = addresses + (width[rows][:, None] - 1)
        both = np.sort(np.concatenate((addresses >> shift, ends >> shift), axis=1), axis=1)
        new = np.ones(both.shape, dtype=bool)
        new[:, 1:] = both[:, 1:] != both[:, :-1]
        owner.append(np.repeat(rows, new.sum(axis=1)))
        found.append(both[new])
    owners, lines = np.concatenate(owner), np.concatenate(found)
    order = np.argsort(owners, kind="stable")
    pointer = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(first)))))
    return pointer.astype(np.int64), lines[order].astype(np.int64, copy=False)


def _local_passes(
    events: Sequence[MemEvent],
    space: NDArray[np.int32],
    atomic: NDArray[np.bool_],
    patterns: Mapping[str, LdsPattern],
) -> dict[str, Any]:
    """LDS passes of all accesses, the least they could take, and why; those of one shape together."""
    passes, least = np.zeros(len(events), dtype=np.int32), np.zeros(len(events), dtype=np.int32)
    stride: dict[int, int | None] = {}
    clash: dict[int, str] = {}
    # loops come back to the same offsets again and again: each pattern is looked at once
    same: dict[tuple[bool, bool, int, bytes, bytes], list[int]] = defaultdict(list)
    for n in np.flatnonzero(space == LOCAL).tolist():
        e = events[n]
        if len(e.lanes):
            same[e.store, bool(atomic[n]), e.bytes, e.lanes.tobytes(), e.addresses.tobytes()].append(n)
    stacks: dict[tuple[bool, bool, int, bytes], list[list[int]]] = defaultdict(list)
    for (store, is_atomic, width, lanes, _), members in same.items():
        stacks[store, is_atomic, width, lanes].append(members)
    for (store, is_atomic, width, _), patterns_of in stacks.items():
        stack = np.stack([events[members[0]].addresses for members in patterns_of])
        lanes_of = events[patterns_of[0][0]].lanes
        total, fewest = lds.passes(patterns, store, width, stack, lanes_of, atomic=is_atomic)
        counts = [len(members) for members in patterns_of]
        every = [n for members in patterns_of for n in members]
        passes[every] = np.repeat(total, counts)
        least[every] = fewest
        shape = (patterns, store, width, lanes_of, is_atomic)
        for row, found in _clashes(stack, total > fewest, shape):
            for n in patterns_of[row]:
                stride[n], clash[n] = found
    return {"passes": passes, "least": least, "stride": stride, "clash": clash}


def _clashes(
    stack: NDArray[np.int64],
    conflict: NDArray[np.bool_],
    shape: tuple[Mapping[str, LdsPattern], bool, int, NDArray[np.int16], bool],
) -> Iterator[tuple[int, tuple[int | None, str]]]:
    """(row of ``stack``, (stride, lanes)) where banks conflict: the same for equal patterns of addresses."""
    at = np.flatnonzero(conflict)
    if not len(at):
        return
    patterns, store, width, lanes, atomic = shape
    # which lanes meet in a bank does not change when all addresses move by whole dwords
    moved = stack[at] - 4 * (stack[at, :1] // 4)
    rows, which = np.unique(moved, axis=0, return_inverse=True)
    named = []
    for row in rows[:MAX_PATTERNS]:
        stride, who = lds.clash(patterns, store, width, row, lanes, atomic=atomic)
        named.append((stride, ",".join(map(str, who))))
    for number, n in zip(at.tolist(), which.reshape(-1).tolist(), strict=True):
        if n < len(named):
            yield number, named[n]
