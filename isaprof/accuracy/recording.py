"""A hardware capture as paths that can be replayed: who ran where, from when, through which lines.

A thread trace names the instructions of the traced waves; of the other waves of
a unit it tells where and when they lived. Those are given the path of a traced
wave, so that the model sees the company the traced ones had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isaprof import arch as tables
from isaprof.capture.schema import DAMAGED
from isaprof.errors import BadInput
from isaprof.isa.model import Category, Pipe

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.arch import ArchTable
    from isaprof.capture.model import Capture, CodeObjectRef
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing


#: fewest ticks of the constant clock that tell the shader clock to about 5 %
_CLOCK_TICKS = 64
#: where waves start, beyond the entry, when the hardware preloads kernel arguments
_PRELOAD = 256
#: clocks that a device can have, MHz; marks that say anything else are not believed
_CLOCKS = (100.0, 6000.0)


@dataclass(frozen=True, slots=True)
class Path:
    """Listing indices a wave walked, those that make no record included.

    ``recorded``: step of each record, in order; ``taken``: steps of taken branches.
    """

    lines: tuple[int, ...]
    recorded: tuple[int, ...]
    taken: frozenset[int]


@dataclass(frozen=True, slots=True)
class RecordedWave:
    """One wave of the capture: ``wave`` is its key there.

    ``path`` is None for a wave that was not traced, ``workgroup`` where the
    capture does not name it (a thread trace does not).
    """

    wave: int
    simd: int
    slot: int
    begin: int
    end: int
    path: Path | None
    workgroup: tuple[int, int, int] | None = None
    position: int = 0  #: wave number within the workgroup
    cut: bool = False  #: the trace ends before the wave does: ``path`` goes up to its last record


@dataclass(frozen=True, slots=True)
class Unit:
    """The waves of one CU (CDNA) or WGP (RDNA), by workgroup, in order of their begin."""

    se: int
    cu: int
    groups: tuple[tuple[RecordedWave, ...], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """What :func:`read` makes of a capture. ``code_line``: capture line of a listing index, or -1."""

    capture: Capture
    co: CodeObject
    data: bytes
    kernel: Kernel
    listing: Listing
    table: ArchTable
    units: tuple[Unit, ...]
    code_line: dict[int, int]
    grouped: bool  #: the waves of a workgroup are known to be together
    notes: tuple[str, ...] = field(default=())

    @property
    def cut(self) -> frozenset[int]:
        """Waves (keys) that the trace does not hold to their end."""
        return frozenset(w.wave for u in self.units for g in u.groups for w in g if w.cut)

    @property
    def dispatched(self) -> bool:
        """Whether the model itself placed these waves: then it places them again under an edit.

        A hardware trace says when and where each wave began; it began there.
        """
        return self.capture.meta.get("backend") == "simulator"

    @property
    def workgroups(self) -> int | None:
        """Workgroups of the dispatch, None where the capture does not say."""
        grid = (self.capture.meta.get("launch") or {}).get("grid")
        return grid[0] * grid[1] * grid[2] if grid else None

    @property
    def clock_mhz(self) -> float | None:
        """Shader clock of the recording, None where the trace has too few marks of real time to tell.

        The marks pair the shader clock with a constant one (``realtime_hz``, usually 100 MHz), which is
        read in steps of 8: the slope through all marks of the engine with the longest span.
        """
        if not self.capture.has("events"):
            return None
        import numpy as np

        events = self.capture.table("events")
        marks = events[(events["kind"] == "realtime") & events["value"].notna()]
        best, clock = _CLOCK_TICKS, 0.0
        for _, rows in marks.groupby("se", dropna=False):
            time, value = (rows[c].to_numpy(dtype="int64") for c in ("time", "value"))
            span = int(value.max() - value.min())
            if span >= best and time.max() > time.min():
                # the reading of the constant clock is what is uncertain
                per_cycle = np.polyfit(
                    (time - time.min()).astype(float), (value - value.min()).astype(float), 1
                )[0]
                hz = float(self.capture.meta.get("realtime_hz") or 100e6)
                best, clock = span, hz / 1e6 / per_cycle if per_cycle > 0 else 0.0
        return clock if _CLOCKS[0] <= clock <= _CLOCKS[1] else None


def read(capture: Capture) -> Recording:
    """Rebuild the paths of a capture's traced waves.

    Raises BadInput where the capture keeps no code object, has no traced wave
    whose path closes, or its architecture has no table or no timing constants.
    """
    from isaprof.codeobj.elf import CodeObject
    from isaprof.isa.decode import disassemble
    from isaprof.sim.timing import calibration

    table = tables.get(capture.arch)
    calibration.get(table.name)  # what the model knows nothing of cannot be replayed
    ref = object_of(capture)
    co = CodeObject.from_bytes(ref.data, arch=capture.arch)
    listing = disassemble(ref.data, arch=capture.arch)
    kernel = kernel_of(co, capture)
    code = capture.code
    mine = code[code["codeobj"] == ref.id]
    index_of = {
        int(line): listing.by_pc[int(pc)]
        for line, pc in zip(mine["line"], mine["pc"], strict=True)
        if int(pc) in listing.by_pc
    }
    others = _others(capture)
    paths, cut, notes = _paths(capture, listing, index_of, kernel, others)
    if not paths:
        raise BadInput(
            "no traced wave has a path without holes; "
            + (notes[0] if notes else "of none is the begin known, and what followed"),
            path=capture.path,
            kind="no_path",
            hint="isaprof show prints what the capture holds",
        )
    size, grouped = _group_size(capture, kernel, listing, paths)
    _places(capture, table)
    waves = capture.waves[~capture.waves["wave"].isin(others)]
    return Recording(
        capture, co, ref.data, kernel, listing, table, _units(waves, paths, cut, size),
        {i: line for line, i in index_of.items()}, grouped, tuple(notes),
    )  # fmt: skip


def _places(capture: Capture, table: ArchTable) -> None:
    """BadInput where a wave is on a SIMD that the unit does not have: the model keeps an array of them."""
    simds = table["simds_per_cu"] * table["cus_per_unit"]
    waves = capture.waves
    wrong = waves.loc[(waves["simd"] < 0) | (waves["simd"] >= simds), ["wave", "simd"]]
    if len(wrong):
        wave, simd = wrong.iloc[0]
        raise BadInput(
            f"wave {wave} is on SIMD {simd}; a unit of {capture.arch} has {simds}",
            path=capture.path,
            kind="bad_capture",
            hint=DAMAGED,
        )


def object_of(capture: Capture) -> CodeObjectRef:
    """The code object that the traced waves executed."""
    code = capture.code.set_index("line")["codeobj"]
    lines = capture.insts["line"].dropna().astype("int64")
    used = Counter(code.reindex(lines.unique()).dropna().astype("int64").tolist())
    if not used:
        traced = len(capture.insts) > 0
        raise BadInput(
            "the traced instructions have no place in the code (the begin of their waves was not recorded?), "
            "so there is nothing to replay"
            if traced
            else "no instruction was traced, so there is nothing to replay",
            path=capture.path,
            kind="no_path",
            hint="isaprof show CAPTURE   says where the waves ran",
        )
    refs = {r.id: r for r in capture.code_objects}
    main = capture.meta["kernel"].get("codeobj")
    for number in ([main] if main in used else []) + [n for n, _ in used.most_common()]:
        if number in refs and refs[number].data:
            return refs[number]
    raise BadInput(
        "the capture keeps no code object for its instructions, so there is nothing to replay",
        path=capture.path,
        kind="no_code_object",
        hint="import the trace again with its code objects beside it",
    )


def kernel_of(co: CodeObject, capture: Capture) -> Kernel:
    """The kernel that the capture names; the only one where no name fits. BadInput where that is unclear."""
    names = [k for k in co.kernels if capture.kernel in (k.name, k.symbol)]
    return names[0] if names else co.kernel(None)


def _others(capture: Capture) -> list[int]:
    """Waves of other kernels than the capture's, where the table ``occupancy`` says what each one ran."""
    kernels, main = capture.meta.get("kernels") or [], capture.meta["kernel"]
    wanted = (main.get("codeobj"), main.get("entry"))
    other = [n for n, k in enumerate(kernels) if (k.get("codeobj"), k.get("entry")) != wanted]
    if not other or (occupancy := capture.occupancy) is None:
        return []
    place = ["se", "cu", "simd", "slot"]
    starts = occupancy.loc[occupancy["start"].astype(bool) & occupancy["kernel"].isin(other)]
    starts = starts[[*place, "time"]].drop_duplicates()
    both = capture.waves.merge(starts, left_on=[*place, "begin"], right_on=[*place, "time"])
    return [int(w) for w in both["wave"]]


def _paths(
    capture: Capture,
    listing: Listing,
    index_of: dict[int, int],
    kernel: Kernel,
    others: Sequence[int] = (),
) -> tuple[dict[int, Path], frozenset[int], list[str]]:
    """Paths by wave, which of them the trace does not hold to their end, and why others have none."""
    paths: dict[int, Path] = {}
    notes: list[str] = []
    cut: set[int] = set()
    traced = capture.waves.loc[capture.waves["traced"].astype(bool), ["wave", "complete"]]
    traced = traced[~traced["wave"].isin(others)]
    whole = dict(zip(traced["wave"].tolist(), traced["complete"].astype(bool).tolist(), strict=True))
    insts = capture.insts[capture.insts["wave"].isin(list(whole))].sort_values(["wave", "seq"])
    insts = insts.assign(line=insts["line"].astype("Int64").fillna(-1).astype("int64"))
    ended = frozenset() if all(whole.values()) else _ended(capture)
    for key, rows in insts.groupby("wave", sort=True):
        wave = int(str(key))
        found = [index_of.get(line) for line in rows["line"].tolist()]
        if not whole[wave] and (wave in ended or not (found := _held(found, listing, kernel))):
            continue
        if None in found:
            notes.append(f"wave {wave}: a record without a line")
            continue
        lines = [x for x in found if x is not None]
        try:
            paths[wave] = walk(listing, lines, list(rows["category"])[: len(lines)])
        except ValueError as e:
            notes.append(f"wave {wave}: {e}")
            continue
        if not whole[wave]:
            cut.add(wave)
    if others:
        notes.append(f"{len(others)} waves of other kernels are left out")
    if cut:
        notes.append(f"{len(cut)} waves are compared up to where the trace ends")
    return paths, frozenset(cut), notes


def _ended(capture: Capture) -> frozenset[int]:
    """Waves whose end was seen, as far as the capture says it (table ``occupancy``)."""
    if (occupancy := capture.occupancy) is None:
        return frozenset()
    place = ["se", "cu", "simd", "slot"]
    ends = occupancy.loc[~occupancy["start"].astype(bool), [*place, "time"]].drop_duplicates()
    both = capture.waves.merge(ends, left_on=[*place, "end"], right_on=[*place, "time"])
    return frozenset(both["wave"].tolist())


#: instructions that were issued but not completed when the trace ended, at most
_UNFINISHED = 8


def _held(found: list[int | None], listing: Listing, kernel: Kernel) -> list[int | None]:
    """The lines of a wave whose end was not seen; none where its begin was not, or it has a hole."""
    known = next((n for n, x in enumerate(found) if x is None), len(found))
    starts = {listing.by_pc.get(kernel.entry), listing.by_pc.get(kernel.entry + _PRELOAD)}
    if not known or len(found) - known > _UNFINISHED or found[0] not in starts:
        return []
    last = listing.instructions[found[known - 1] or 0].base
    if last.startswith("s_endpgm"):
        return []
    # of a barrier that no wave left the record says when it was entered only
    return found[: known - ("barrier" in last and "signal" not in last)]


def walk(listing: Listing, lines: Sequence[int], categories: Sequence[str]) -> Path:
    """The full path behind records at ``lines``: fills in what makes no record.

    ValueError where an instruction that should have a record lies between two
    records, or the second cannot be reached from the first.
    """
    out: list[int] = []
    recorded: list[int] = []
    taken: list[int] = []
    at = lines[0]
    for line, category in zip(lines, categories, strict=True):
        while at != line:
            i = listing.instructions[at]
            if at > line or (i.traced and "barrier_wait" not in i.base):
                raise ValueError(
                    f"no way from {i.pc:#x} to {listing.instructions[line].pc:#x} without a record"
                )
            out.append(at)
            at += 1
        recorded.append(len(out))
        out.append(line)
        at = line + 1
        jump = listing.instructions[line]
        # what goes to an address in registers, and calls, the trace counts as scalar
        if category == Category.JUMP.value or (jump.pipe is Pipe.BRANCH and jump.category is Category.SALU):
            taken.append(len(out) - 1)
            target = jump.target
            # an indirect jump: the next record says where to
            after = lines[len(recorded)] if len(recorded) < len(lines) else at
            at = listing.by_pc.get(target, after) if target is not None else after
        if at >= len(listing.instructions):
            at = len(listing.instructions) - 1
    return Path(tuple(out), tuple(recorded), frozenset(taken))


def _group_size(
    capture: Capture, kernel: Kernel, listing: Listing, paths: dict[int, Path]
) -> tuple[int, bool]:
    """Waves of a workgroup, and whether the capture says so."""
    workgroup = (capture.meta.get("launch") or {}).get("workgroup")
    if workgroup:
        threads = workgroup[0] * workgroup[1] * workgroup[2]
        return max(1, -(-threads // kernel.wave_size)), True
    fixed = kernel.metadata.get(".reqd_workgroup_size")
    if isinstance(fixed, list) and len(fixed) == 3 and all(isinstance(x, int) and x > 0 for x in fixed):
        return max(1, -(-fixed[0] * fixed[1] * fixed[2] // kernel.wave_size)), True
    barrier = any("barrier" in listing.instructions[i].base for p in paths.values() for i in p.lines)
    if not barrier:
        return 1, True
    raise BadInput(
        "the kernel has barriers, and the capture does not say how many waves a workgroup has",
        path=capture.path,
        kind="no_launch",
        hint="import the trace with its launch geometry (raw SQTT has it)",
    )


def _units(waves: pd.DataFrame, paths: dict[int, Path], cut: frozenset[int], size: int) -> tuple[Unit, ...]:
    """The units that have a traced wave, with all their waves."""
    traced = waves.loc[waves["wave"].isin(list(paths)), ["se", "cu"]].drop_duplicates()
    out = []
    for se, cu in sorted(traced.itertuples(index=False, name=None)):
        rows = waves[(waves["se"] == se) & (waves["cu"] == cu) & (waves["end"] > waves["begin"])]
        rows = rows.sort_values(["begin", "simd", "slot"])
        members = [_member(r, n % size, paths, cut) for n, r in enumerate(rows.itertuples())]
        out.append(Unit(int(se), int(cu), tuple(_groups(members, size))))
    return tuple(out)


def _member(row: Any, position: int, paths: dict[int, Path], cut: frozenset[int]) -> RecordedWave:
    import pandas as pd

    known: list[Any] = [getattr(row, name, None) for name in ("wg_x", "wg_y", "wg_z", "wave_in_wg")]
    workgroup = None
    if not any(pd.isna(v) for v in known):
        x, y, z, position = (int(v) for v in known)
        workgroup = (x, y, z)
    wave = int(row.wave)
    return RecordedWave(
        wave, int(row.simd), int(row.slot), int(row.begin), int(row.end),
        paths.get(wave), workgroup, position, wave in cut,
    )  # fmt: skip


def _groups(members: list[RecordedWave], size: int) -> list[tuple[RecordedWave, ...]]:
    """Workgroups: by name where the capture names them, else ``size`` waves in order of their begin."""
    if all(m.workgroup is not None for m in members):
        by_name: dict[tuple[int, int, int] | None, list[RecordedWave]] = {}
        for m in members:
            by_name.setdefault(m.workgroup, []).append(m)
        return [tuple(sorted(g, key=lambda m: m.position)) for g in by_name.values()]
    return [tuple(members[i : i + size]) for i in range(0, len(members), size)]
