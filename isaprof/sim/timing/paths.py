"""Wave paths as flat lists: what the issue loop steps through.

Addresses are reduced here, once per access and in bulk, to what timing needs:
distinct cache lines for vector memory, the first byte for scalar loads, and
data passes for LDS.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isaprof.isa.model import Listing
from isaprof.sim.timing import lds
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.trace import MemEvent, WaveTrace, WorkgroupTrace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isaprof.arch.table import LdsPattern

#: spaces as the loop sees them
VECTOR, LOCAL, SCALAR = range(3)
#: different patterns of conflicting addresses of one shape that are looked into; random ones are too many
MAX_PATTERNS = 1024
_SPACES = {"lds": LOCAL, "gds": LOCAL, "scalar": SCALAR}


@dataclass(slots=True)
class Paths:
    """All waves, one behind the other: wave ``w`` has steps ``start[w]`` to ``start[w + 1]``."""

    start: list[int] = field(default_factory=lambda: [0])
    line: list[int] = field(default_factory=list)
    taken: list[bool] = field(default_factory=list)
    event: list[int] = field(default_factory=list)  #: index of the memory event, or -1
    space: list[int] = field(default_factory=list)
    store: list[bool] = field(default_factory=list)
    atomic: list[bool] = field(default_factory=list)
    lanes: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    lowest: list[int] = field(default_factory=list)  #: lowest byte address
    highest: list[int] = field(default_factory=list)
    cache_lines: list[tuple[int, ...]] = field(default_factory=list)
    passes: list[int] = field(default_factory=list)
    least: list[int] = field(default_factory=list)
    #: why banks conflict, by event: bytes from lane to lane, and the lanes that want one bank
    stride: dict[int, int | None] = field(default_factory=dict)
    clash: dict[int, str] = field(default_factory=dict)
    spaces: list[str] = field(default_factory=list)  #: the space's name, for the memory table


def flatten(traces: Sequence[WorkgroupTrace], listing: Listing, k: Constants, wave_size: int) -> Paths:
    """Flat lists of ``traces``, waves in order of workgroup and number."""
    out = Paths()
    shift = k["l1_line_bytes"].bit_length() - 1
    stacks: dict[tuple[bool, bool, int, bytes], list[tuple[int, MemEvent]]] = defaultdict(list)
    for trace in traces:
        for wave in trace.waves:
            _append(out, wave, listing, shift, stacks)
    _local_passes(out, stacks, k["lds_lane_groups"][wave_size])
    return out


def _append(
    out: Paths,
    wave: WaveTrace,
    listing: Listing,
    shift: int,
    stacks: dict[tuple[bool, bool, int, bytes], list[tuple[int, MemEvent]]],
) -> None:
    lines: list[int] = wave.lines.tolist()
    first = len(out.line)
    out.line += lines
    taken = [False] * len(lines)
    for step in wave.taken:
        taken[step] = True
    out.taken += taken
    out.event += [-1] * len(lines)
    for step in sorted(wave.memory):
        event = wave.memory[step]
        number = len(out.space)
        out.event[first + step] = number
        mem = listing.instructions[lines[step]].mem
        atomic = mem is not None and mem.atomic
        space = _SPACES.get(event.space, VECTOR)
        low, high = int(event.addresses.min()), int(event.addresses.max()) + event.bytes - 1
        out.space.append(space)
        out.spaces.append(event.space)
        out.store.append(event.store)
        out.atomic.append(atomic)
        out.lanes.append(len(event.lanes))
        out.bytes.append(event.bytes)
        out.lowest.append(low)
        out.highest.append(high)
        out.cache_lines.append(_cache_lines(event, low, high, shift) if space == VECTOR else ())
        out.passes.append(0)
        out.least.append(0)
        if space == LOCAL and len(event.lanes):
            stacks[event.store, atomic, event.bytes, event.lanes.tobytes()].append((number, event))
    out.start.append(len(out.line))


def _cache_lines(event: MemEvent, low: int, high: int, shift: int) -> tuple[int, ...]:
    import numpy as np

    if low >> shift == high >> shift:
        return (low >> shift,)
    starts = event.addresses >> shift
    ends = (event.addresses + (event.bytes - 1)) >> shift
    both = np.unique(np.concatenate((starts, ends)))
    return tuple(both.tolist())


def _local_passes(
    out: Paths,
    stacks: dict[tuple[bool, bool, int, bytes], list[tuple[int, MemEvent]]],
    patterns: dict[str, LdsPattern],
) -> None:
    """LDS passes of all accesses, those of one shape together."""
    import numpy as np

    for (store, atomic, width, _), members in stacks.items():
        lanes = members[0][1].lanes
        stack = np.stack([event.addresses for _, event in members])
        total, least = lds.passes(patterns, store, width, stack, lanes, atomic=atomic)
        for (number, _), value in zip(members, total.tolist(), strict=True):
            out.passes[number] = value
            out.least[number] = least
        _clashes(out, members, stack, total > least, (patterns, store, width, lanes, atomic))


def _clashes(
    out: Paths,
    members: list[tuple[int, MemEvent]],
    stack: NDArray[np.int64],
    conflict: NDArray[np.bool_],
    shape: tuple[dict[str, LdsPattern], bool, int, NDArray[np.int16], bool],
) -> None:
    """Stride and lanes of the accesses whose banks conflict: the same for equal patterns of addresses."""
    import numpy as np

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
    for number, row in zip(at.tolist(), which.reshape(-1).tolist(), strict=True):
        if row < len(named):
            out.stride[members[number][0]], out.clash[members[number][0]] = named[row]
