"""What decoding one buffer yields: waves with records, occupancy, counters, events."""

from __future__ import annotations

from dataclasses import dataclass, field

from isaprof.parsers.sqtt.header import StreamHeader
from isaprof.parsers.sqtt.model import Cat, State


@dataclass(slots=True)
class Records:
    """Instruction records of one wave, as parallel lists in program order (cycles).

    ``pcs``: record number -> absolute byte address of a record whose address is
    known other than from the record before it (wave start, after jumps through
    registers); None where the packet with the address never came.
    ``lines`` is filled by the stitcher: line of the code table or None.
    """

    category: list[Cat] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    stall: list[int] = field(default_factory=list)
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

    def insert(self, i: int, category: Cat, time: int, duration: int, stall: int) -> None:
        """Put a record before record ``i``; known addresses move with theirs."""
        self.pcs = {k + (k >= i): v for k, v in self.pcs.items()}
        self.unfinished = {k + (k >= i) for k in self.unfinished}
        self.category.insert(i, category)
        self.time.insert(i, time)
        self.duration.insert(i, duration)
        self.stall.insert(i, stall)

    def swap(self, i: int, j: int) -> None:
        self.category[i], self.category[j] = self.category[j], self.category[i]
        for column in (self.time, self.duration, self.stall):
            column[i], column[j] = column[j], column[i]


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
