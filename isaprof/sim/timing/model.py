"""The timing model's entry point: paths in, records out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.arch import ArchTable
from isaprof.isa.model import Listing
from isaprof.sim.timing import compiled
from isaprof.sim.timing.calibration import Calibration, Constants
from isaprof.sim.timing.dispatch import Dispatcher, Place, Resources
from isaprof.sim.timing.engine import Engine
from isaprof.sim.timing.lines import decode
from isaprof.sim.timing.memory import Memory
from isaprof.sim.timing.paths import PathLists, Paths, flatten
from isaprof.sim.timing.records import frames
from isaprof.sim.timing.units import Fetch, LdsUnit, ScalarUnit, VectorMemoryUnit
from isaprof.sim.trace import WorkgroupTrace

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

#: changes whenever records of the same input change
MODEL_VERSION = 2


@dataclass(slots=True)
class TimingResult:
    """``tables``: waves, insts, states, occupancy, memory of the Capture schema; all figures are modelled."""

    tables: dict[str, pd.DataFrame]
    model: dict[str, Any]


def simulate(
    listing: Listing,
    table: ArchTable,
    traces: Sequence[WorkgroupTrace],
    *,
    resources: Resources,
    calibration: Calibration | None = None,
    places: Sequence[Sequence[Place]] | None = None,
    progress: Callable[..., None] | None = None,
) -> TimingResult:
    """Time the waves of ``traces`` on one CU (CDNA) or WGP (RDNA).

    Workgroups start in the order given, as room becomes free, or, with
    ``places`` (one list a workgroup), on recorded SIMDs, slots and cycles.
    The same input gives the same output. ``progress(done, total, what)``
    counts instructions.

    Raises BadInput (no constants for the architecture, a workgroup that does
    not fit) and KernelFault (a barrier that never completes, a matrix
    instruction of unknown cost).
    """
    k = Constants(table, calibration)
    names = tuple(k["counter_max"])
    lib = compiled.library()
    paths = flatten(traces, listing, k, resources.wave_size, lib)
    executed = np.flatnonzero(np.bincount(paths.line)).tolist()
    lines = decode(listing, k, names, resources.wave_size, set(executed))
    dispatcher = Dispatcher(k, resources, traces, places)
    apart = _apart(k, resources, dispatcher, paths)
    memory = Memory(k, warm=resources.warm, full=dispatcher.full, apart=apart, clock_mhz=resources.clock_mhz)
    entry, end = _extent(listing, paths.line, executed)
    fetch = Fetch(k, entry, end, resources=resources)
    counter_max = [k["counter_max"][n] for n in names]
    engine: Engine | compiled.Loop
    if lib is None:
        lists = PathLists(paths)
        units = (
            fetch,
            VectorMemoryUnit(k, lines, lists, memory),
            LdsUnit(k, lines, lists),
            ScalarUnit(k, lines, lists, memory),
        )
        engine = Engine(k, lines, lists, dispatcher, units, counter_max)
    else:
        engine = compiled.Loop(lib, k, lines, paths, dispatcher, fetch, memory, counter_max)
    total = len(paths.line)
    engine.run(None if progress is None else lambda done: progress(done, total, "timing"))
    return TimingResult(
        frames(engine, paths, traces, lib),
        {"name": "isaprof-unit", "version": MODEL_VERSION, "calibration": k.calibration.id},
    )


def _apart(k: Constants, resources: Resources, dispatcher: Dispatcher, paths: Paths) -> float:
    """Share of the unit's lines that it does not have in common with others.

    All units together cannot fetch more lines than the buffers have, so where
    one unit's lines, times the units, are more than that, they are shared.
    """
    if resources.footprint is None:
        return 1.0
    line: int = k["l1_line_bytes"]
    total = resources.workgroups if resources.workgroups is not None else len(dispatcher.sizes)
    units: int = min(k["engines"] * k["units_per_engine"], max(1, total))
    mine = len(np.unique(paths.lines))
    return min(1.0, resources.footprint / line / max(1, mine * units))


def _extent(listing: Listing, line: NDArray[np.int32], executed: Sequence[int]) -> tuple[int, int]:
    """Address of the first of the executed instructions (in ``line``'s order) and of the last one's end."""
    if not executed:
        return 0, 1
    first = listing.instructions[int(line[0])].pc
    return first, max(listing.instructions[i].end for i in executed)
