"""Wave paths as flat arrays: what the issue loop steps through.

Addresses are reduced here, in bulk, to what timing needs: distinct cache lines
for vector memory, the first byte for scalar loads, and data passes for LDS.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isaprof.isa.model import Listing
from isaprof.sim.events import MemEvents
from isaprof.sim.timing import lds
from isaprof.sim.timing.accesses import Accesses, joined, reduce
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.trace import WorkgroupTrace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.arch.table import LdsPattern

#: different patterns of conflicting addresses of one shape that are looked into; random ones are too many
MAX_PATTERNS = 1024


@dataclass(slots=True)
class Paths:
    """All waves, one behind the other: wave ``w`` has steps ``start[w]`` to ``start[w + 1]``.

    ``line``, ``taken``, ``event`` (index of the memory event, or -1) are by
    step, the rest by event. The cache lines of event ``e`` are
    ``lines[lines_ptr[e]:lines_ptr[e + 1]]``.
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
    #: why banks conflict: index into ``reasons`` (bytes from lane to lane, lanes that want one bank) or -1
    reason: NDArray[np.int32]
    reasons: list[tuple[int | None, str]]
    name: NDArray[np.uint8]  #: index of isaprof.sim.events.SPACES


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


def flatten(
    traces: Sequence[WorkgroupTrace],
    listing: Listing,
    k: Constants,
    wave_size: int,
    lib: ctypes.CDLL | None = None,
) -> Paths:
    """Flat arrays of ``traces``, waves in order of workgroup and number; ``lib`` as in :mod:`.accesses`."""
    waves = [w for t in traces for w in t.waves]
    start = np.cumsum([0, *(len(w.lines) for w in waves)], dtype=np.int64)
    line = joined([w.lines for w in waves], np.int32)
    taken = np.zeros(len(line), dtype=bool)
    for first, wave in zip(start.tolist(), waves, strict=False):
        if wave.taken:
            taken[np.fromiter(wave.taken, np.int64, len(wave.taken)) + first] = True
    x = Accesses.of([MemEvents.of(w.memory) for w in waves])
    steps = joined([w.step for w in x.waves], np.int64) + np.repeat(start[:-1], np.diff(x.first))
    event = np.full(len(line), -1, dtype=np.int32)
    event[steps] = np.arange(len(steps))
    atomic_lines = [i.mem is not None and i.mem.atomic for i in listing.instructions]
    atomic = np.array(atomic_lines, dtype=bool)[line[steps]]
    r = reduce(lib, x, atomic, k["l1_line_bytes"].bit_length() - 1)
    passes, least, reason, reasons = _local_passes(x, r.same, atomic, k["lds_lane_groups"][wave_size])
    return Paths(
        start=start, line=line, taken=taken, event=event, space=x.space, store=x.store, atomic=atomic,
        lanes=x.lanes, bytes=x.bytes, lowest=r.lowest, highest=r.highest, lines_ptr=r.lines_ptr,
        lines=r.lines, passes=passes, least=least, reason=reason, reasons=reasons, name=x.name,
    )  # fmt: skip


def _local_passes(
    x: Accesses, same: NDArray[np.int32], atomic: NDArray[np.bool_], patterns: Mapping[str, LdsPattern]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], list[tuple[int | None, str]]]:
    """LDS passes of all accesses, the least they could take, and why (numbers, reasons).

    Loops come back to the same offsets again and again: each pattern is looked
    at once, those of one shape together.
    """
    n = len(same)
    passes, least = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    reason = np.full(n, -1, dtype=np.int32)
    reasons: list[tuple[int | None, str]] = []
    stacks: dict[tuple[bool, bool, int, bytes], list[int]] = defaultdict(list)
    addresses: dict[int, NDArray[np.int64]] = {}
    new = np.flatnonzero(same == np.arange(n))
    kinds = zip(x.store[new].tolist(), atomic[new].tolist(), x.bytes[new].tolist(), strict=True)
    for kind, (e, addresses[e], lanes) in zip(kinds, x.each(new), strict=True):
        stacks[(*kind, lanes.tobytes())].append(e)
    for (store, is_atomic, width, raw), events in stacks.items():
        stack = np.stack([addresses[e] for e in events])
        lanes_of = np.frombuffer(raw, np.int8).astype(np.int16)
        passes[events], least[events] = lds.passes(patterns, store, width, stack, lanes_of, atomic=is_atomic)
        conflict = passes[events] > least[events]
        for row, found in _clashes(stack, conflict, (patterns, store, width, lanes_of, is_atomic)):
            reason[events[row]] = len(reasons)
            reasons.append(found)
    alike = np.flatnonzero(same >= 0)
    for column in (passes, least, reason):
        column[alike] = column[same[alike]]
    return passes, least, reason, reasons


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
