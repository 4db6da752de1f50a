"""What decoding one buffer yields: waves with records, occupancy, counters, events."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isaprof.parsers.sqtt.header import StreamHeader
from isaprof.parsers.sqtt.model import Cat, State

if TYPE_CHECKING:
    from isaprof.parsers.sqtt.stream import Rows


def _column() -> array[int]:
    """64-bit integers: a fifth of the memory of a list."""
    return array("q")


@dataclass(slots=True)
class Records:
    """Instruction records of one wave, as parallel columns in program order (cycles).

    ``pcs``: record number -> absolute byte address of a record whose address is
    known other than from the record before it (wave start, after jumps through
    registers); None where the packet with the address never came.
    ``lines`` is filled by the stitcher: line of the code table or None.
    """

    category: list[Cat] = field(default_factory=list)
    time: array[int] = field(default_factory=_column)
    duration: array[int] = field(default_factory=_column)
    stall: array[int] = field(default_factory=_column)
    pcs: dict[int, int | None] = field(default_factory=dict)
    lines: list[int | None] = field(default_factory=list)
    unfinished: set[int] = field(default_factory=set)  #: records issued but never completed

    def __len__(self) -> int:
        return len(self.time)

    def append(self, category: Cat, time: int, duration: int, stall: int) -> None:
        self.category.append(category)
        self.time.append(time)
        self.duration.append(duration)
        self.stall.append(stall)

    def end(self, i: int) -> int:
        return self.time[i] + self.duration[i]

    def delete(self, i: int) -> None:
        """Remove record ``i``; known addresses of later ones move with them."""
        del self.category[i], self.time[i], self.duration[i], self.stall[i]
        self.pcs = {k - (k > i): v for k, v in self.pcs.items() if k != i}
        self.unfinished = {k - (k > i) for k in self.unfinished if k != i}

    def apply(self, edits: Edits) -> None:
        """Carry out ``edits`` in one pass; known addresses and unfinished marks move with their records."""
        if not edits:
            return
        old: tuple[Any, Any, Any, Any, Any] = (
            self.category,
            self.time,
            self.duration,
            self.stall,
            self.lines,
        )
        new: tuple[Any, Any, Any, Any, Any] = ([], array("q"), array("q"), array("q"), [])
        done = 0
        moves: list[tuple[int, int]] = [(0, 0)]  # from this record on, numbers change by so much
        for i, row in edits.rows:
            for a, b in zip(new, old, strict=True):
                a.extend(b[done:i])
            done = i
            if row is None:
                done = i + 1
            else:
                for a, value in zip(new, row, strict=True):
                    a.append(value)
            moves.append((done, len(new[0]) - done))
        for a, b in zip(new, old, strict=True):
            a.extend(b[done:])
        self.category, self.time, self.duration, self.stall, self.lines = new
        gone = {i for i, row in edits.rows if row is None}
        starts = [m[0] for m in moves]

        def moved(i: int) -> int:
            return i + moves[bisect_right(starts, i) - 1][1]

        self.pcs = {moved(k): v for k, v in self.pcs.items() if k not in gone}
        self.unfinished = {moved(k) for k in self.unfinished if k not in gone}

    def swap(self, i: int, j: int) -> None:
        self.category[i], self.category[j] = self.category[j], self.category[i]
        for column in (self.time, self.duration, self.stall):
            column[i], column[j] = column[j], column[i]


@dataclass(slots=True)
class Edits:
    """Records to delete and to insert, in ascending order; made all at once by :meth:`Records.apply`."""

    #: record number, and None (delete it) or what to put before it: category, time, duration, stall, line
    rows: list[tuple[int, tuple[Cat, int, int, int, int] | None]] = field(default_factory=list)
    last_deleted: int = -1

    def __bool__(self) -> bool:
        return bool(self.rows)

    def delete(self, i: int) -> None:
        self.rows.append((i, None))
        self.last_deleted = i

    def insert(self, i: int, category: Cat, time: int, duration: int, line: int) -> None:
        """Put a record without a stall before record ``i``."""
        self.rows.append((i, (category, time, duration, 0, line)))

    def end_before(self, i: int) -> int | None:
        """End of a record that was inserted just before record ``i``."""
        if not self.rows or self.rows[-1][0] != i or self.rows[-1][1] is None:
            return None
        return self.rows[-1][1][1] + self.rows[-1][1][2]


@dataclass(slots=True)
class Timeline:
    """Run-length list of wave states from the wave's begin on."""

    runs: list[tuple[State, int]] = field(default_factory=list)

    def add(self, state: State, cycles: int) -> None:
        if cycles <= 0:
            return
        if self.runs and self.runs[-1][0] is state:
            self.runs[-1] = (state, self.runs[-1][1] + cycles)
        else:
            self.runs.append((state, cycles))

    @property
    def cycles(self) -> int:
        """Length of all runs together."""
        return sum(n for _, n in self.runs)

    def overwrite(self, begin: int, cycles: int, state: State) -> None:
        """Set ``cycles`` from offset ``begin`` (cycles after the wave's begin) to ``state``."""
        old, self.runs = self.runs, []
        at = 0
        for s, n in old:
            before = min(max(begin - at, 0), n)
            after = min(max(at + n - (begin + cycles), 0), n)
            self.add(s, before)
            self.add(state, n - before - after)
            self.add(s, after)
            at += n

    def overwrite_all(self, stretches: Sequence[tuple[int, int]], state: State) -> None:
        """:meth:`overwrite` for many stretches (begin, cycles), in one pass where they ascend."""
        plain = all(a >= 0 and n >= 0 for a, n in stretches)
        if not plain or any(a + n > b for (a, n), (b, _) in pairwise(stretches)):
            for begin, cycles in stretches:
                self.overwrite(begin, cycles, state)
            return
        old, self.runs = self.runs, []
        at = k = 0
        for s, n in old:
            here, end = at, at + n
            while k < len(stretches) and stretches[k][0] < end:
                begin, cycles = stretches[k]
                self.add(s, min(begin, end) - here)
                here = max(here, begin)
                stop = begin + cycles
                self.add(state, min(stop, end) - here)
                here = max(here, min(stop, end))
                if stop > end:
                    break
                k += 1
            self.add(s, end - here)
            at = end


@dataclass(slots=True)
class Wave:
    """One wave seen on this engine. Times are cycles of the engine's trace."""

    cu: int
    simd: int
    slot: int
    begin: int
    end: int | None = None
    threads: int | None = None
    entry: int | None = None  #: absolute byte address the kernel starts at
    dispatch: int | None = None  #: dispatches seen on this engine before the wave began
    target: bool = False  #: on the traced unit: it may have records
    start_seen: bool = True
    end_seen: bool = False
    stitched: bool = True
    records: Records = field(default_factory=Records)
    timeline: Timeline = field(default_factory=Timeline)


#: what waves of other units share: nothing is ever added to them
NO_RECORDS, NO_TIMELINE = Records(), Timeline()


def untraced(cu: int, simd: int, slot: int, begin: int, **more: Any) -> Wave:
    """A wave that can have no records."""
    return Wave(cu, simd, slot, begin, records=NO_RECORDS, timeline=NO_TIMELINE, **more)


@dataclass(frozen=True, slots=True)
class OccupancyEvent:
    time: int
    cu: int
    simd: int
    slot: int
    start: bool
    entry: int | None  #: as Wave.entry


@dataclass(frozen=True, slots=True)
class CounterSample:
    """Four counters of one sample; ``bank`` 1 holds counters 4 to 7."""

    time: int
    cu: int
    bank: int
    values: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Event:
    time: int
    kind: str
    value: int | None = None


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """A code object named by the trace: loaded at ``address``, ``size`` bytes."""

    id: int
    address: int
    size: int
    from_start: bool = False


@dataclass(slots=True)
class EngineTrace:
    """Everything one buffer says."""

    header: StreamHeader
    packets: dict[str, int]
    waves: list[Wave] = field(default_factory=list)
    occupancy: list[OccupancyEvent] = field(default_factory=list)
    counters: list[CounterSample] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    objects: list[LoadedObject] = field(default_factory=list)
    workgroup: tuple[int, int, int] | None = None  #: last COMPUTE_NUM_THREAD_X/Y/Z
    dispatches: int = 0
    realtime_hz: int | None = None
    lost: int = 0  #: places where packets were lost
    unknown: int = 0  #: undefined packets
    unknown_at: int | None = None  #: byte of the first of them
    cut_kind: str | None = None  #: kind of the packet that the end of the buffer cuts
    cut_block: int = 0  #: bytes in an incomplete last block of 32 (hardware writes whole ones)
    stopped_at: int | None = None  #: byte at which the stream stops making sense
    stopped_why: str = ""
    size: int = 0  #: bytes
    zeros: float = 0.0  #: share of zero bytes
    end_time: int = 0
    #: from the compiled wave builder: waves, occupancy, counters and events as tables, the lists being empty
    rows: Rows | None = None

    @property
    def wave_count(self) -> int:
        return len(self.waves) if self.rows is None else len(self.rows.waves)
