"""Wave paths as flat arrays: what the issue loop steps through.

Addresses are reduced here, in bulk, to what timing needs: distinct cache lines
for vector memory, the first byte for scalar loads, and data passes for LDS.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isaprof.isa.model import Listing
from isaprof.sim.events import MemEvents
from isaprof.sim.timing.accesses import Accesses, joined, reduce
from isaprof.sim.timing.banks import banks
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.trace import WorkgroupTrace

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    local = banks(lib, x, r.same, atomic, k["lds_lane_groups"][wave_size])
    return Paths(
        start=start, line=line, taken=taken, event=event, space=x.space, store=x.store, atomic=atomic,
        lanes=x.lanes, bytes=x.bytes, lowest=r.lowest, highest=r.highest, lines_ptr=r.lines_ptr,
        lines=r.lines, passes=local.passes, least=local.least, reason=local.reason, reasons=local.reasons,
        name=x.name,
    )  # fmt: skip
