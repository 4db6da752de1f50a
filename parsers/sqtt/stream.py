"""An engine's buffer through the compiled wave builder, in memory that does not grow with it.

:class:`Rows` holds what the buffer says as tables (:class:`~isaprof.parsers.sqtt.spool.Spool`)
instead of one Python object for each wave and record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt import slots as b
from isaprof.parsers.sqtt.build import build, close
from isaprof.parsers.sqtt.control import Control
from isaprof.parsers.sqtt.events import COUNTERS, EVENT, Events
from isaprof.parsers.sqtt.frame import PacketStream, frame_reference
from isaprof.parsers.sqtt.generations import gfx9
from isaprof.parsers.sqtt.header import StreamHeader, read_header
from isaprof.parsers.sqtt.model import Act, Generation
from isaprof.parsers.sqtt.records import EngineTrace
from isaprof.parsers.sqtt.spool import Spool
from isaprof.parsers.sqtt.waves_gfx9 import Gfx9Waves
from isaprof.parsers.sqtt.waves_rdna import RdnaWaves

#: ``first``, ``count``, ``first_run``, ``runs``: rows of its records and timeline (of the last part, for a
#: wave with several); -1 in ``entry``, ``dispatch``, ``threads``: not known; ``flags``: see build.py
WAVE = np.dtype(
    [
        ("begin", "i8"), ("end", "i8"), ("entry", "i8"), ("first", "i8"), ("first_run", "i8"),
        ("count", "i4"), ("runs", "i4"), ("dispatch", "i4"), ("cu", "i2"), ("threads", "i2"),
        ("simd", "i1"), ("slot", "i1"), ("flags", "u1"),
    ]
)  # fmt: skip
RECORD = np.dtype([("time", "i8"), ("duration", "i8"), ("stall", "i8"), ("pc", "i8"), ("category", "i1")])
RUN = np.dtype([("cycles", "i8"), ("state", "i1")])
SEEN = np.dtype(
    [("time", "i8"), ("entry", "i8"), ("cu", "i2"), ("simd", "i1"), ("slot", "i1"), ("start", "u1")]
)
#: slots of a gfx9 CU (4 SIMDs with room for 16), at least those of one later SIMD
SLOTS = 64
#: records that one slot keeps in memory at most
CAPACITY = 1 << 12
_ROLES = {
    "WAVE_START": b.START, "WAVE_START_EXT": b.START, "WAVE_END": b.FINISH, "NEW_PC": b.NEW_PC,
    "INST": b.INST,
    "VALU_INST": b.VALU, "IMM_ONE": b.IMMEDIATE,
    "IMMEDIATE": b.IMMEDIATES, "WAVE_READY": b.READY,
    "ISSUE": b.ISSUE, "MISC": b.MISC,
}  # fmt: skip
_ACTS = {
    Act.RECORD: b.RECORD, Act.IGNORE: b.IGNORE, Act.JUMP_PC: b.JUMP_PC, Act.BARRIER: b.BARRIER,
    Act.BARRIER_EXTENDED: b.BARRIER_EXTENDED, Act.TRAP: b.TRAP, Act.RETURN: b.RETURN,
    Act.OTHER_SIMD: b.OTHER_SIMD, Act.REPLAY: b.REPLAY, Act.EARLY: b.EARLY_ACT,
}  # fmt: skip


@dataclass(slots=True)
class Rows:
    """What one buffer says, as tables. ``parts``: of a long wave, all but the last (as in WAVE)."""

    waves: Spool = field(default_factory=lambda: Spool(WAVE))
    records: Spool = field(default_factory=lambda: Spool(RECORD))
    runs: Spool = field(default_factory=lambda: Spool(RUN))
    seen: Spool = field(default_factory=lambda: Spool(SEEN))  #: occupancy in stream order
    unstarted: Spool = field(default_factory=lambda: Spool(SEEN))  #: starts that come first, newest first
    events: Spool = field(default_factory=lambda: Spool(EVENT))
    counters: Spool = field(default_factory=lambda: Spool(COUNTERS))
    kinds: list[str] = field(default_factory=list)  #: names of the events' kinds
    parts: dict[int, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    pcs: set[int] = field(default_factory=set)  #: addresses that any record is known to have
    traced: int = 0  #: waves with records


class Stream:
    """Builds the :class:`Rows` of one engine, piece by piece."""

    def __init__(
        self, header: StreamHeader, out: EngineTrace, control: Control, capacity: int = CAPACITY
    ) -> None:
        g = header.generation
        self.header, self.out, self.rows = header, out, Rows()
        builder: Gfx9Waves | RdnaWaves = (Gfx9Waves if header.start else RdnaWaves)(header, out, control)
        self.events = Events(builder, out, control)
        self.rows.kinds = self.events.kinds
        self.gfx9 = g.time_unit != 1
        self.tables = _tables(g, builder)
        self.rule = _rule(header)
        self.entries = np.full(8, -1, np.int64)
        self.recent = np.full(6, -1, np.int64)
        self.slots = np.zeros((SLOTS, b.SLOT), np.int64)
        self.slots[:, b.PC_TOP] = -1
        self.others = np.full((1 << 15, 3), -1, np.int64)
        self.numbers = np.zeros(b.NUMBERS, np.int64)
        self.buffers = _buffers(capacity)
        self.outputs = _outputs(capacity)

    def piece(self, s: PacketStream) -> bool:
        """Take in the next packets; False where the stream makes no sense from some packet on."""
        s, bad = self._sane(s)
        events, counters, changes = self.events.piece(s)
        self.rows.events.append(events)
        self.rows.counters.append(counters)
        self.numbers[b.CHANGE] = 0
        first = 0
        while first < len(s):
            first = build(
                self.gfx9, s.type, s.time, s.payload, first, *self.tables, self.rule, changes,
                self.entries, self.recent, self.slots, self.buffers, self.others, self.outputs, self.numbers,
            )  # fmt: skip
            self._drain()
        for _, place, value in changes[self.numbers[b.CHANGE] :].tolist():
            if place < len(self.entries):
                self.entries[place] = value
            else:
                self.numbers[b.DISPATCHES] = value
        return not bad

    def _sane(self, s: PacketStream) -> tuple[PacketStream, bool]:
        """The packets before the first that names an impossible wave slot."""
        most = s.generation.max_slot
        rows = s.rows("WAVE_START", "WAVE_END", "INST", "NEW_PC")
        slots = s.field("wave", rows) if self.gfx9 else np.zeros(0, np.int64)
        wrong = np.flatnonzero(slots > most)
        if not len(wrong):
            return s, False
        row = int(rows[wrong[0]])
        self.out.stopped_at = int(s.bit[row] // 8)
        self.out.stopped_why = f"wave slot {slots[wrong[0]]}, but a SIMD has {most + 1}"
        self.out.end_time = int(s.time[row])
        return PacketStream(s.header, s.bit[:row], s.type[:row], s.time[:row], s.payload[:row], s.size), True

    def close(self) -> Rows:
        """End of the stream: waves that still run end."""
        close(self.gfx9, self.slots, self.buffers, self.others, self.outputs, self.numbers, self.out.end_time)
        self._drain()
        return self.rows

    # -- rows ---------------------------------------------------------------
    def _drain(self) -> None:
        """Take the finished rows out of the builder's arrays."""
        n, o, rows = self.numbers, self.outputs, self.rows
        starts = o[7][: n[b.STARTS]]
        waves = np.zeros(len(starts), WAVE)
        for i, name in enumerate(("begin", "cu", "simd", "slot", "flags", "threads", "entry", "dispatch")):
            waves[name] = starts[:, i]
        rows.waves.append(waves)
        records = np.empty(n[b.RECORDS], RECORD)
        for name, column in zip(("time", "duration", "stall", "category", "pc"), o[:5], strict=True):
            records[name] = column[: len(records)]
        rows.records.append(records)
        rows.pcs.update(np.unique(records["pc"][records["pc"] >= 0]).tolist())
        runs = np.empty(n[b.RUN_ROWS], RUN)
        runs["cycles"], runs["state"] = o[5][: len(runs)], o[6][: len(runs)]
        rows.runs.append(runs)
        for wave, *part in o[9][: n[b.PARTS]].tolist():
            rows.parts.setdefault(wave, []).append((part[0], part[1], part[2], part[3]))
        ends = o[8][: n[b.ENDS]]
        if len(ends):
            self._ends(ends)
        rows.seen.append(_seen(o[10][: n[b.SEEN]]))
        early = np.zeros((n[b.UNSTARTED], b.SEEN_FIELDS), np.int64)
        early[:, 1], early[:, 2], early[:, 3] = o[11][: len(early)], 1, -1
        rows.unstarted.append(_seen(early))
        n[b.RECORDS_BEFORE] += n[b.RECORDS]
        n[b.RUNS_BEFORE] += n[b.RUN_ROWS]
        n[: b.RECORDS_BEFORE] = 0

    def _ends(self, ends: NDArray[np.int64]) -> None:
        rows = self.rows
        numbers = ends[:, 0].copy()
        long = [i for i in numbers.tolist() if i in rows.parts] if rows.parts else []
        rows.traced += int((ends[:, 4] > 0).sum()) + sum(not c for c in ends[np.isin(numbers, long), 4])
        names = ("end", "first", "count", "first_run", "runs")
        values: dict[str, NDArray[Any]] = {
            name: ends[:, i] for name, i in zip(names, (1, 3, 4, 5, 6), strict=True)
        }
        rows.waves.update(numbers, values, {"flags": ends[:, 2]})


def _seen(table: NDArray[np.int64]) -> NDArray[Any]:
    out = np.empty(len(table), SEEN)
    out["time"], out["start"], out["entry"] = table[:, 0], table[:, 2], table[:, 3]
    out["cu"], out["simd"], out["slot"] = table[:, 1] >> 16, table[:, 1] >> 8 & 0xFF, table[:, 1] & 0xFF
    return out


# -- tables of the builder --------------------------------------------------
def _tables(g: Generation, builder: Gfx9Waves | RdnaWaves) -> tuple[NDArray[Any], ...]:
    """``roles``, ``shift``, ``mask``, ``ops`` and ``index`` of build.build."""
    size = len(g.packets) + 1  # the last: undefined first bytes, whose number is -1
    roles = np.zeros(size, np.int64)
    shift, mask = np.zeros((size, len(b.FIELDS)), np.uint64), np.zeros((size, len(b.FIELDS)), np.uint64)
    for i, p in enumerate(g.packets):
        roles[i] = _ROLES.get(p.kind, b.NOTHING)
        if p.kind == "MISC" and "misc" not in p.fields:
            roles[i] = b.NOTHING
        if p.kind == "VALU_INST" and g.wave_prediction:
            roles[i] = b.VALU_PREDICTED
        for k, name in enumerate(b.FIELDS):
            if name in p.fields:
                lo, hi = p.fields[name]
                shift[i, k] = lo - (8 if p.bits > 64 else 0)
                mask[i, k] = (1 << (hi - lo + 1)) - 1
    ops = np.zeros((512, 5), np.int64)
    ops[:, 2] = b.IGNORE
    for code, op in (gfx9.OPS if isinstance(builder, Gfx9Waves) else g.ops).items():
        cycles = builder.ops[code][1] if isinstance(builder, RdnaWaves) else 0
        offset = 0 if code == gfx9.PC_OP else gfx9.PHASE.get(op.category, 0)
        ops[code] = op.category, cycles, _ACTS[op.act], offset, 0
    ops[list(g.prediction_ops), 4] = 1
    index = np.zeros(16, np.int64)
    for code, (place, _) in (g.wave_prediction or {}).items():
        index[code] = place
    return roles, shift, mask, ops, index


def _rule(h: StreamHeader) -> NDArray[np.int64]:
    g = h.generation
    rule = np.zeros(b.RULES, np.int64)
    rule[b.TARGET_CU], rule[b.TARGET_SA], rule[b.SIMD_MASK] = h.target_cu, h.target_sa, h.simd_mask
    rule[b.BIAS], rule[b.MAX_THREADS] = g.thread_bias, g.max_threads
    if g.context_codes:
        rule[b.CONTEXT_AT], rule[b.CONTEXTS] = g.context_codes[0], len(g.context_codes)
    rule[b.READY_OFFSET], rule[b.SAVE_CONTEXT] = g.ready_offset, gfx9.MISC_SAVE_CONTEXT
    return rule


def _buffers(size: int) -> tuple[NDArray[Any], ...]:
    """Records and runs of the running waves (see build.py)."""
    record, run = (SLOTS, size), (SLOTS, 2 * size)
    return (
        np.zeros(record, np.int64), np.zeros(record, np.int64), np.zeros(record, np.int64),
        np.zeros(record, np.int8), np.full((SLOTS, size + 4), b.NO_PC, np.int64),
        np.zeros(run, np.int64), np.zeros(run, np.int8),
        np.zeros((SLOTS, 1024), np.int64), np.zeros((SLOTS, 1024), np.int64),
    )  # fmt: skip


def _outputs(size: int) -> tuple[NDArray[Any], ...]:
    """Room for finished rows: at the end of the stream all slots are written at once."""
    records, runs, rows = SLOTS * size + (1 << 17), 2 * SLOTS * size + (1 << 18), 1 << 16
    return (
        np.empty(records, np.int64), np.empty(records, np.int64), np.empty(records, np.int64),
        np.empty(records, np.int8), np.empty(records, np.int64),
        np.empty(runs, np.int64), np.empty(runs, np.int8),
        np.empty((rows, b.START_FIELDS), np.int64), np.empty((rows, b.END_FIELDS), np.int64),
        np.empty((rows, b.PART_FIELDS), np.int64), np.empty((2 * rows, b.SEEN_FIELDS), np.int64),
        np.empty(rows, np.int64),
    )  # fmt: skip


def prepare() -> None:
    """Compile the builder and the stitcher, or load them from the cache: a call of each, on nothing."""
    from isaprof.parsers.sqtt import fitting
    from isaprof.parsers.sqtt.codemap import CodeMap

    header = read_header(bytes.fromhex("9101000000000000"))
    out = EngineTrace(header, {})
    stream = Stream(header, out, Control(out), 8)
    stream.piece(frame_reference(bytes.fromhex("91010000000000000d"), header))
    rows = stream.close()
    fitting.prepare(rows, CodeMap(), header.generation.stitch)


def cache_path() -> str | None:
    """Folder of the compiled functions; None where they are not kept."""
    return getattr(build.stats, "cache_path", None)
