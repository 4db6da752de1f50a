"""What the functional simulator reports and the timing model replays.

Functional execution yields, for each wave, the path it took through the
listing and the memory accesses on it. The timing model needs nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class MemEvent:
    """One executed memory instruction with at least one active lane.

    ``addresses``: int64, byte address of each active lane (LDS: offset in the
    workgroup's LDS), in lane order, ``lanes`` their lane numbers (int16).
    Scalar loads have one address and no lanes. ``bytes`` is per lane.
    """

    space: str  #: value of isaprof.isa.model.Space; flat is resolved to global, lds or scratch
    load: bool
    store: bool
    bytes: int
    addresses: NDArray[np.int64]
    lanes: NDArray[np.int16]


@dataclass(slots=True)
class WaveTrace:
    """Path of one wave: ``lines[i]`` is the listing index of step i."""

    workgroup: tuple[int, int, int]
    wave_in_wg: int
    threads: int  #: active threads at launch
    lines: NDArray[np.int32]
    #: step -> event; what an executor made holds columns (isaprof.sim.events.MemEvents)
    memory: Mapping[int, MemEvent] = field(default_factory=dict)
    #: steps at which a branch was taken
    taken: frozenset[int] = frozenset()
    #: steps executed with EXEC == 0
    exec_zero: frozenset[int] = frozenset()


@dataclass(slots=True)
class WorkgroupTrace:
    workgroup: tuple[int, int, int]
    waves: list[WaveTrace]
    lds_bytes: int
