"""Recorded waves through the timing model: the same paths, places and starts, modelled records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isaprof.accuracy.recording import Path, RecordedWave, Recording, Unit

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.capture.model import Capture
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing
    from isaprof.launch.resolve import ResolvedLaunch
    from isaprof.sim.timing import Resources
    from isaprof.sim.timing.calibration import Calibration
    from isaprof.sim.trace import MemEvent, WaveTrace, WorkgroupTrace

#: workgroups executed for their addresses, at most
MAX_ADDRESS_WORKGROUPS = 256


@dataclass(frozen=True, slots=True)
class Addresses:
    """Executed waves whose memory accesses stand in for recorded ones of the same path."""

    by_path: Mapping[tuple[int, bytes], Sequence[WaveTrace]] = field(default_factory=dict)
    by_name: Mapping[tuple[tuple[int, int, int], int], WaveTrace] = field(default_factory=dict)
    launch: ResolvedLaunch | None = None  #: what was executed
    ran: tuple[tuple[int, int, int], ...] = ()  #: its workgroups that were

    @property
    def footprint(self) -> int | None:
        """Bytes of all buffers of the launch, None where nothing was executed."""
        return None if self.launch is None else sum(len(o.data) for o in self.launch.operands)

    def of(self, wave: RecordedWave, lines: bytes) -> WaveTrace | None:
        """The very wave, where the capture names it and it walked the same path."""
        found = self.by_name.get((wave.workgroup, wave.position)) if wave.workgroup else None
        return found if found is not None and found.lines.tobytes() == lines else None

    def like(self, position: int, lines: bytes, turn: int, *, cut: bool = False) -> WaveTrace | None:
        """An executed wave of this place in its workgroup and this path.

        ``turn``: number of its workgroup on the unit; where the workgroup that
        was executed for that one walked another path, one of the others is
        taken. ``cut``: the path only begins like this.
        """
        found = self.by_path.get((position, lines), ())
        if not found and cut:
            found = [
                t for (p, key), traces in self.by_path.items() if p == position and key.startswith(lines)
                for t in traces
            ]  # fmt: skip
        if not found:
            return None
        own = self.ran[turn] if turn < len(self.ran) else None
        return next((t for t in found if t.workgroup == own), found[turn % len(found)])

    def for_wave(self, wave: RecordedWave, lines: bytes, turn: int, position: int) -> WaveTrace | None:
        """The executed wave that stands for ``wave``: the very same, or one :meth:`like` it."""
        return self.of(wave, lines) or self.like(position, lines, turn, cut=wave.cut or wave.path is None)


def execute(
    recording: Recording, launch: ResolvedLaunch, workgroups: int = MAX_ADDRESS_WORKGROUPS
) -> Addresses:
    """Execute workgroups of ``launch`` that give the recorded waves addresses. Raises KernelFault.

    ``workgroups``: how many at most, where the capture does not name them.

    The trace does not say which workgroups a unit ran. The dispatcher hands
    them to the units in turn (isaprof.backends.sampling), so the n-th group of
    a unit is taken for the n-th of every ``units`` workgroups.
    """
    named = {g[0].workgroup for u in recording.units for g in u.groups if g[0].workgroup}
    run = sorted(w for w in named if w is not None) or _in_turn(recording, launch, workgroups)
    waves = run_waves(recording.co, recording.kernel, recording.listing, launch, run)
    pool: dict[tuple[int, bytes], list[WaveTrace]] = defaultdict(list)
    for wave in waves.values():
        pool[wave.wave_in_wg, wave.lines.tobytes()].append(wave)
    return Addresses(pool, waves if named else {}, launch, tuple(run))


def run_waves(
    co: CodeObject,
    kernel: Kernel,
    listing: Listing,
    launch: ResolvedLaunch,
    workgroups: Sequence[tuple[int, int, int]],
    limit: int | None = None,
) -> dict[tuple[tuple[int, int, int], int], WaveTrace]:
    """Execute ``workgroups``: (workgroup, number of the wave in it) -> path and accesses.

    Raises KernelFault, also where more than ``limit`` wave-instructions are executed.
    """
    from isaprof.backends.simulator import MAX_INSTRUCTIONS
    from isaprof.sim import functional

    result = functional.run(
        co, kernel, listing, launch, workgroups=workgroups, trace=lambda _: True,
        max_instructions=limit or MAX_INSTRUCTIONS,
    )  # fmt: skip
    return {(w.workgroup, w.wave_in_wg): w for g in result.traces for w in g.waves}


def _in_turn(recording: Recording, launch: ResolvedLaunch, limit: int) -> list[tuple[int, int, int]]:
    """Workgroups that one unit would have been handed."""
    from isaprof.backends import sampling

    units = sampling.units(recording.table)
    most = max(len(u.groups) for u in recording.units)
    wanted = min(most, limit)
    if (wanted - 1) * units >= launch.workgroups:  # a grid that does not go round the device so often
        units = max(1, launch.workgroups // wanted)
    numbers = sorted({i * units for i in range(wanted) if i * units < launch.workgroups})
    return [sampling.unlinear(i, launch.grid) for i in numbers]


@dataclass(frozen=True, slots=True)
class EditedPath:
    """What a wave walks under an edit.

    ``origin``: for each of its steps the step of the recorded path whose
    execution it is (its access, its EXEC), None for an instruction that the
    edit put in.
    """

    path: Path
    origin: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of what is replayed, applied to every wave.

    ``listing``: replaces the recording's. ``kernel``: so does this (registers
    and LDS decide how many waves are resident). ``path`` maps a recorded path to
    the one to replay. ``executed``: paths and accesses of the edited object
    where it was executed; they go before ``path``. ``origin``: listing index of
    the recording for one of ``listing``, where they are not the same.
    ``no_conflict``: LDS accesses of these listing lines take their least passes.
    ``touched``: listing indices of the recording that the edit is about.
    """

    listing: Listing | None = None
    kernel: Kernel | None = None
    path: Callable[[Path], EditedPath] | None = None
    executed: Mapping[tuple[tuple[int, int, int], int], WaveTrace] = field(default_factory=dict)
    origin: Mapping[int, int] | None = None
    no_conflict: frozenset[int] = frozenset()
    touched: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Replayed:
    """Modelled records of the traced waves.

    ``records``: wave (key of the capture), step, line (listing index), time,
    stall, duration, category. ``waves``: wave, begin, end. ``matched``: traced
    waves that had an executed wave's addresses.
    """

    records: pd.DataFrame
    waves: pd.DataFrame
    matched: int
    model: dict[str, Any]


def replay(
    recording: Recording,
    addresses: Addresses | None = None,
    *,
    calibration: Calibration | None = None,
    edit: Edit | None = None,
) -> Replayed:
    """Replay all units. Raises KernelFault (barrier that never completes) and BadInput as the model does."""
    return Traces(recording, addresses or Addresses(), edit or Edit()).replay(calibration)


class Traces:
    """What the waves of a recording walk and access under an edit; timed as often as wanted."""

    def __init__(self, recording: Recording, addresses: Addresses, edit: Edit) -> None:
        self.recording = recording
        self.edit = edit
        self.resources = resources(recording, addresses, edit.kernel)
        self.units = [_unit(recording, unit, addresses, edit) for unit in recording.units]

    def replay(self, calibration: Calibration | None = None, *, records: bool = True) -> Replayed:
        """As :func:`replay`; ``records`` False: when the waves begin and end is all that is wanted."""
        import pandas as pd

        from isaprof.sim import timing

        rows, waves = [], []
        model: dict[str, Any] = {}
        for groups, places, keys, _ in self.units:
            result = timing.simulate(
                self.edit.listing or self.recording.listing, self.recording.table, groups,
                calibration=calibration, resources=self.resources,
                places=None if self.recording.dispatched else places,
            )  # fmt: skip
            model = result.model
            key = pd.Series(keys)
            ours = result.tables["waves"].assign(wave=key)
            waves.append(ours.loc[ours["wave"] >= 0, ["wave", "begin", "end"]])
            rows.append(_records(result.tables["insts"].iloc[: None if records else 0], groups, key))
        matched = sum(found for *_, found in self.units)
        return Replayed(
            pd.concat(rows, ignore_index=True), pd.concat(waves, ignore_index=True), matched, model
        )


def _records(rows: pd.DataFrame, groups: Sequence[WorkgroupTrace], key: pd.Series[int]) -> pd.DataFrame:
    """The records of the traced waves, with the step of the path that each is of."""
    import pandas as pd

    rows = rows.assign(key=key.to_numpy()[rows["wave"].to_numpy()])
    rows = rows[rows["key"] >= 0]
    steps = _steps(rows, [w for g in groups for w in g.waves])
    columns = {c: rows[c] for c in ("line", "time", "stall", "duration", "category")}
    return pd.DataFrame({"wave": rows["key"], "step": steps, **columns})


def resources(
    recording: Recording, addresses: Addresses | None = None, kernel: Kernel | None = None
) -> Resources:
    """What the model needs to know of the kernel (``kernel``: of an edited one) and its launch."""
    from isaprof.sim.timing import Resources

    waves = max((len(g) for u in recording.units for g in u.groups), default=1)
    return Resources.of(
        kernel or recording.kernel,
        waves_per_workgroup=waves,
        dynamic_lds=int((recording.capture.meta.get("launch") or {}).get("dynamic_lds") or 0),
        workgroups=recording.workgroups,
        footprint=addresses.footprint if addresses else None,
        clock_mhz=recording.clock_mhz,
    )


def _unit(
    recording: Recording, unit: Unit, addresses: Addresses, edit: Edit
) -> tuple[list[WorkgroupTrace], list[list[Any]], list[int], int]:
    """Workgroups, places, capture key of every wave (-1: not traced), waves with addresses."""
    from isaprof.sim.timing import Place
    from isaprof.sim.trace import WorkgroupTrace

    usual = _usual(unit)
    groups, places, keys = [], [], []
    found = 0
    for number, group in enumerate(unit.groups):
        waves = []
        for position, wave in enumerate(group):
            path = wave.path or usual.get(position) or next(iter(usual.values()))
            trace, known = _trace(recording, wave, path, number, position, addresses, edit)
            waves.append(trace)
            keys.append(wave.wave if wave.path else -1)
            found += bool(known and wave.path)
        lds = (edit.kernel or recording.kernel).descriptor.group_segment_fixed_size
        groups.append(WorkgroupTrace((number, 0, 0), waves, lds))
        places.append([Place(w.simd, w.slot, w.begin) for w in group])
    return groups, places, keys, found


def _usual(unit: Unit) -> dict[int, Path]:
    """The most frequent path for each position in a workgroup; of waves that are cut, the longest."""
    seen: dict[int, Counter[Path]] = defaultdict(Counter)
    held: dict[int, Path] = {}
    for group in unit.groups:
        for position, wave in enumerate(group):
            if wave.path is None:
                continue
            if not wave.cut:
                seen[position][wave.path] += 1
            elif position not in held or len(held[position].lines) < len(wave.path.lines):
                held[position] = wave.path
    whole = {p: c.most_common(1)[0][0] for p, c in sorted(seen.items())}
    return whole or held


def _trace(
    recording: Recording,
    wave: RecordedWave,
    path: Path,
    number: int,
    position: int,
    addresses: Addresses,
    edit: Edit,
) -> tuple[WaveTrace, bool]:
    import numpy as np

    from isaprof.sim.events import MemEvents
    from isaprof.sim.trace import WaveTrace

    lines = np.array(path.lines, dtype=np.int32)
    key = lines.tobytes()
    like = addresses.for_wave(wave, key, number, position)
    ran = edit.executed.get((like.workgroup, like.wave_in_wg)) if like is not None else None
    if ran is not None and not wave.cut:
        return replace(ran, workgroup=(number, 0, 0)), True
    memory = like.memory if like is not None else assumed(recording, path, number)
    zero = like.exec_zero if like is not None else frozenset()
    if like is not None and len(like.lines) > len(lines):  # it goes on where the trace is cut
        memory = MemEvents.of(memory).moved({step: step for step in range(len(lines))})
        zero = frozenset(step for step in zero if step < len(lines))
    if edit.no_conflict:
        chosen = [step for step, line in enumerate(path.lines) if line in edit.no_conflict]
        memory = MemEvents.of(memory).of_one_lane(chosen, "lds")
    shown = path
    if edit.path is not None:
        edited = edit.path(path)
        memory, zero = _carried(edited.origin, memory, zero)
        shown = edited.path
        lines = np.array(shown.lines, dtype=np.int32)
    return (
        WaveTrace((number, 0, 0), position, recording.kernel.wave_size, lines, memory, shown.taken, zero),
        like is not None,
    )


def assumed(recording: Recording, path: Path, number: int) -> Mapping[int, MemEvent]:
    """Accesses for a path without known addresses, as a well-behaved kernel would make them.

    Every lane is active, lanes are side by side, LDS has no bank conflict, each
    vector access reads lines of its own, and scalar loads of one line of code
    read the same bytes in every wave.
    """
    import numpy as np

    from isaprof.sim.trace import MemEvent

    size = recording.kernel.wave_size
    lanes = np.arange(size, dtype=np.int16)
    out = {}
    for step, line in enumerate(path.lines):
        mem = recording.listing.instructions[line].mem
        if mem is None:
            continue
        space = mem.space.value
        if space == "scalar":
            at = np.array([_FAR + line * 64], dtype=np.int64)
            out[step] = MemEvent(space, mem.load, mem.store, max(mem.bytes, 4), at, lanes[:0])
            continue
        start = 0 if space in ("lds", "gds") else _FAR + ((number << 16) + step) * size * 16
        at = start + lanes.astype(np.int64) * mem.bytes
        known = "global" if space == "flat" else space
        out[step] = MemEvent(known, mem.load, mem.store, mem.bytes, at, lanes)
    return out


#: where assumed addresses begin: apart from what an executed kernel uses
_FAR = 1 << 40


def _carried(
    origin: Sequence[int | None], memory: Mapping[int, MemEvent], zero: frozenset[int]
) -> tuple[Mapping[int, MemEvent], frozenset[int]]:
    """Accesses and steps without an active lane, moved to the edited path's steps.

    What an edit put in runs under the EXEC of the step before it.
    """
    from isaprof.sim.events import MemEvents

    idle = set()
    last = False
    for step, old in enumerate(origin):
        last = last if old is None else old in zero
        if last:
            idle.add(step)
    moved = MemEvents.of(memory).moved({s: old for s, old in enumerate(origin) if old is not None})
    return moved, frozenset(idle)


def _steps(rows: pd.DataFrame, traces: Sequence[WaveTrace]) -> list[int]:
    """Path step of each record: records of a wave are its path without the lines that make none."""
    out: list[int] = []
    for wave, lines in rows.groupby("wave", sort=False)["line"]:
        path = traces[int(str(wave))].lines.tolist()
        at = 0
        for line in lines.tolist():
            while path[at] != line:
                at += 1
            out.append(at)
            at += 1
    return out


def as_capture(recording: Recording, replayed: Replayed) -> Capture:
    """The replay as a modelled capture over the recording's code lines, for the attribution."""
    import pandas as pd

    from isaprof.capture.model import Capture, Provenance

    source = recording.capture
    keep = replayed.waves.set_index("wave")
    waves = source.waves[source.waves["wave"].isin(keep.index)].copy()
    renumber = {int(w): n for n, w in enumerate(waves["wave"])}
    waves["begin"] = waves["wave"].map(keep["begin"])
    waves["end"] = waves["wave"].map(keep["end"])
    waves["wave"] = pd.Series(range(len(waves)), index=waves.index, dtype="int32")
    rows = replayed.records
    insts = pd.DataFrame(
        {
            "wave": rows["wave"].map(renumber).astype("int32"),
            "seq": rows.groupby("wave").cumcount().astype("int32"),
            "line": rows["line"].map(recording.code_line).astype("int32"),
            "time": rows["time"],
            "stall": rows["stall"],
            "duration": rows["duration"],
            "category": rows["category"],
        }
    ).sort_values(["wave", "seq"], ignore_index=True)
    meta = {
        **source.meta,
        "provenance": Provenance.MODELLED.value,
        "backend": "replay",
        "model": replayed.model,
        "warnings": [],
        "tables": {},
    }
    tables = {"code": source.code, "waves": waves.reset_index(drop=True), "insts": insts}
    return Capture(meta, tables, source.code_objects)


__all__ = [
    "Addresses", "Edit", "EditedPath", "RecordedWave", "Replayed", "Traces", "as_capture", "execute",
    "replay", "resources", "run_waves",
]  # fmt: skip
