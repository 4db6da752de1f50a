"""LDS addresses for a hardware capture: the kernel is executed in the simulator, the times stay the trace's.

A thread trace carries no addresses. Where a launch file describes the kernel, its
workgroups are executed and every recorded wave is given the accesses of an
executed one of the same place in its workgroup and the same path
(:func:`isaprof.accuracy.replay.execute`). Offsets in LDS depend on the lane, the
path and the shape, hardly ever on which workgroup it was. Passes follow from
them by the lane groups of the architecture table; the attribution then charges
conflicts only within the waits that the trace shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.accuracy.recording import Recording, object_of
from isaprof.accuracy.replay import Addresses
from isaprof.attribution.conflicts import ADDRESSES_FROM, has_passes
from isaprof.errors import IsaprofError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from isaprof.capture.model import Capture
    from isaprof.sim.trace import WaveTrace

#: workgroups that are executed: waves of a unit take turns with them
WORKGROUPS = 8


def with_addresses(capture: Capture, *, launch: Path | None = None, shape: str | None = None) -> Capture:
    """``capture`` with a table ``memory`` of executed accesses, or as it is with a note why there is none.

    ``meta["addresses"]`` says which: ``from`` is "executed" or None, ``why`` the
    reason, ``waves`` [with addresses, traced]. A capture that has addresses of
    its own is returned unchanged. Errors are raised only where ``launch`` or
    ``shape`` was given; what the kernel does wrong when it is executed is a
    reason like any other.
    """
    from isaprof.accuracy.validate import prepare

    if has_passes(capture):
        return capture
    told = launch is not None or shape is not None
    try:
        if not told:
            _known_kernel(capture)  # before the paths of all waves are read
        recording, addresses, notes = prepare(capture, launch=launch, shape=shape, workgroups=WORKGROUPS)
    except IsaprofError as e:
        if told:
            raise
        return _with(capture, {"from": None, "why": e.message})
    table, waves = _table(recording, addresses)
    if table is None:
        why = notes[0] if notes else "no recorded wave walked the path of an executed one"
        return _with(capture, {"from": None, "why": why, "waves": waves})
    return _with(capture, {"from": "executed", "why": None, "waves": waves}, table)


def _known_kernel(capture: Capture) -> None:
    """Raises BadInput where no built-in launch file describes the kernel and the capture names none."""
    from isaprof.accuracy.recording import kernel_of
    from isaprof.codeobj.elf import CodeObject
    from isaprof.launch import find

    if (capture.meta.get("launch") or {}).get("launch_file"):
        return
    co = CodeObject.from_bytes(object_of(capture).data, arch=capture.arch)
    find(kernel_of(co, capture), co)


def _with(capture: Capture, said: dict[str, Any], memory: pd.DataFrame | None = None) -> Capture:
    from isaprof.capture.model import Capture as Made
    from isaprof.capture.schema import TABLES

    tables = {name: capture.table(name) for name in TABLES if capture.has(name)}
    if memory is not None:
        tables["memory"] = memory
    meta = {**capture.meta, ADDRESSES_FROM: said}
    return Made(meta, tables, capture.code_objects, path=capture.path)


def _table(recording: Recording, addresses: Addresses) -> tuple[pd.DataFrame | None, list[int]]:
    """The accesses of all recorded waves that an executed one stands for; [such waves, traced waves]."""
    import numpy as np

    from isaprof.sim.timing.calibration import Constants
    from isaprof.sim.timing.paths import flatten
    from isaprof.sim.timing.records import memory_table
    from isaprof.sim.trace import WorkgroupTrace

    found = list(_matched(recording, addresses))
    traced = sum(w.path is not None for u in recording.units for g in u.groups for w in g)
    count = [len(found), traced]
    if not found:
        return None, count
    group = WorkgroupTrace((0, 0, 0), [trace for _, _, trace in found], 0)
    k = Constants(recording.table)
    paths = flatten([group], recording.listing, k, recording.kernel.wave_size)
    seqs = {int(str(w)): rows["seq"].to_numpy(np.int64) for w, rows in _records(recording).groupby("wave")}
    waves: list[NDArray[np.int64]] = []
    seq: list[NDArray[np.int64]] = []
    steps: list[NDArray[np.int64]] = []
    for first, (wave, recorded, _) in zip(paths.start.tolist(), found, strict=False):
        own = seqs[wave][: len(recorded)]
        seq.append(own)
        waves.append(np.full(len(own), wave, np.int64))
        steps.append(np.array(recorded, np.int64) + first)
    return memory_table(paths, *(np.concatenate(x) for x in (waves, seq, steps))), count


def _records(recording: Recording) -> pd.DataFrame:
    return recording.capture.insts[["wave", "seq"]].sort_values(["wave", "seq"])


def _matched(recording: Recording, addresses: Addresses) -> Iterator[tuple[int, tuple[int, ...], WaveTrace]]:
    """(wave, path steps of its records, the executed wave that stands for it)."""
    import numpy as np

    for unit in recording.units:
        for number, group in enumerate(unit.groups):
            for position, wave in enumerate(group):
                if wave.path is None:
                    continue
                key = np.array(wave.path.lines, dtype=np.int32).tobytes()
                like = addresses.for_wave(wave, key, number, position)
                if like is not None:
                    yield wave.wave, wave.path.recorded, like
