"""gfx9-CDNA: packets to wave records (rules of rocprof-trace-decoder, MIT).

An instruction is an ISSUE packet with state INST, later completed by one INST
packet; they pair in order per wave. ISSUE STALL gives the start of a stall,
ISSUE IMMED an instruction executed inside the sequencer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from isaprof.parsers.sqtt.control import Control
from isaprof.parsers.sqtt.generations import gfx9
from isaprof.parsers.sqtt.header import StreamHeader
from isaprof.parsers.sqtt.model import Act, Cat, State
from isaprof.parsers.sqtt.records import CounterSample, EngineTrace, Event, OccupancyEvent, Wave, untraced

#: cycles of one issue slot
SLOT = 4
MISC_EVENTS = {
    gfx9.MISC_PACKET_LOST: "data_lost",
    gfx9.MISC_STALL_BEGIN: "stall_begin",
    gfx9.MISC_STALL_END: "stall_end",
    gfx9.MISC_SAVE_CONTEXT: "save_context",
}


class StreamError(Exception):
    """The stream contains something no hardware writes; decoding stops there."""


@dataclass(slots=True)
class _Open:
    """A wave of the target CU that is running."""

    wave: Wave
    state: State = State.IDLE
    since: int = 0
    issued: deque[int] = field(default_factory=deque)  # records not completed, oldest first
    stalls: deque[int] = field(default_factory=deque)
    pc_wanted: deque[int] = field(default_factory=deque)  # records whose address comes in an INST_PC


class Gfx9Waves:
    """Builds the waves of one engine, packet by packet."""

    def __init__(self, header: StreamHeader, out: EngineTrace, control: Control) -> None:
        self.header, self.out, self.control = header, out, control
        self.unstarted: list[OccupancyEvent] = []  # starts at time 0 of waves that only an end was seen of
        self.phase = 0
        self.open: dict[tuple[int, int], _Open] = {}  # (simd, slot) of the target CU
        self.others: dict[tuple[int, int, int], Wave] = {}
        self.saving = False

    def handlers(self) -> dict[str, tuple[Callable[..., None], tuple[str, ...]]]:
        """Packet kind -> (method, fields it takes after the time)."""
        where = ("sh", "cu", "simd", "wave")
        return {
            "ISSUE": (self.issue, ("simd", "states")),
            "INST": (self.inst, ("simd", "wave", "op")),
            "NEW_PC": (self.new_pc, ("simd", "wave", "err", "pc")),
            "WAVE_START": (self.start, (*where, "me", "pipe", "count")),
            "WAVE_END": (self.finish, where),
            "MISC": (self.misc, ("misc",)),
            "REG": (self.reg, ("disable", "regaddr", "regdata")),
            "REG_CS": (self.reg_cs, ("me", "pipe", "regaddr", "regdata")),
            "REG_CS_PRIV": (self.reg_cs, ("me", "pipe", "regaddr", "regdata")),
            "SHADER_DATA": (self.shader_data, ("data",)),
            "PERF": (self.perf, ("sh", "cu", "bank", "c0", "c1", "c2", "c3")),
            "EVENT": (self.event, ("data",)),
            "EVENT_CS": (self.event, ("data",)),
            "EVENT_GFX1": (self.event, ("data",)),
        }

    # -- waves --------------------------------------------------------------
    def start(self, t: int, sh: int, cu: int, simd: int, slot: int, me: int, pipe: int, count: int) -> None:
        self._check(slot)
        if sh:
            return
        if count > self.header.generation.max_threads:
            self._context(t, cu, simd, slot)
            return
        target = self._is_target(cu, simd)
        entry = self.control.entry(me, pipe)
        wave = (
            Wave(cu, simd, slot, t, entry=entry, target=True)
            if target
            else untraced(cu, simd, slot, t, entry=entry)
        )
        wave.threads = count or None
        wave.dispatch = self.out.dispatches - 1 if self.out.dispatches else None
        self._close_stale(wave, t)
        self.out.waves.append(wave)
        self.out.occupancy.append(OccupancyEvent(t, cu, simd, slot, True, entry))
        if target:
            wave.records.pcs[0] = entry
            self.open[simd, slot] = _Open(wave, since=t)
        else:
            self.others[cu, simd, slot] = wave

    def _close_stale(self, wave: Wave, t: int) -> None:
        old = self.open.pop((wave.simd, wave.slot), None) if wave.target else None
        stale = old.wave if old else self.others.pop((wave.cu, wave.simd, wave.slot), None)
        if stale is not None and stale.end is None:
            stale.end = max(t - SLOT, stale.begin)

    def _is_target(self, cu: int, simd: int) -> bool:
        h = self.header
        return cu == h.target_cu and bool(h.simd_mask >> simd & 1)

    def _check(self, slot: int) -> None:
        if slot > self.header.generation.max_slot:
            raise StreamError(f"wave slot {slot}, but a SIMD has {self.header.generation.max_slot + 1}")

    def _context(self, t: int, cu: int, simd: int, slot: int) -> None:
        """WAVE_START with a context-switch code: save first, then restore."""
        o = self.open.get((simd, slot)) if self._is_target(cu, simd) else None
        if o is None:
            return
        if self.saving:
            o.wave.records.append(Cat.CONTEXT, t, SLOT, 0)
            self.saving = False
        else:
            o.wave.records.pcs[len(o.wave.records)] = None
            o.pc_wanted.append(len(o.wave.records))

    def finish(self, t: int, sh: int, cu: int, simd: int, slot: int) -> None:
        self._check(slot)
        if sh:
            return
        entry = None
        if self._is_target(cu, simd):
            o = self.open.pop((simd, slot), None)
            wave = o.wave if o else None
            if o:
                o.wave.timeline.add(o.state, t - o.since)
        else:
            wave = self.others.pop((cu, simd, slot), None)
        if wave is None:
            wave = untraced(cu, simd, slot, 0, start_seen=False)
            self.out.waves.append(wave)
            self.unstarted.append(OccupancyEvent(0, cu, simd, slot, True, None))
        wave.end, wave.end_seen, entry = t, True, wave.entry
        self.out.occupancy.append(OccupancyEvent(t, cu, simd, slot, False, entry))

    def _wave(self, t: int, simd: int, slot: int) -> _Open:
        """The running wave of a slot; opened here where its start was lost."""
        self._check(slot)
        o = self.open.get((simd, slot))
        if o is None:
            h = self.header
            wave = Wave(h.target_cu, simd, slot, t, target=True, start_seen=False)
            wave.records.pcs[0] = None
            self.out.waves.append(wave)
            o = self.open[simd, slot] = _Open(wave, since=t)
        return o

    # -- instructions -------------------------------------------------------
    def issue(self, t: int, simd: int, states: int) -> None:
        slot = 0
        while states:
            what = states & 3
            if what:
                o = self.open.get((simd, slot))
                if o is not None:
                    self._issue(o, t, what)
            states >>= 2
            slot += 1

    def _issue(self, o: _Open, t: int, what: int) -> None:
        before = o.state
        r = o.wave.records
        if what == gfx9.STALL:
            o.stalls.append(t)
            o.state = State.STALL
        elif what == gfx9.INST:
            o.issued.append(len(r))
            r.unfinished.add(len(r))
            r.append(Cat.NONE, t, 0, 0)
            o.state = State.EXEC
        else:
            i = t
            last = len(r) - 1
            if last >= 0 and last not in r.unfinished:
                self._trim(o, last, t)
                i = min(r.end(last), t)
            cycles = SLOT + max(0, t - i)
            r.append(Cat.IMMED, i, cycles, cycles)
            o.wave.timeline.add(before, i - o.since)
            o.wave.timeline.add(State.WAIT, cycles)
            o.since = i + cycles
            o.state = State.EXEC
        n = t - o.since
        if n > 0:
            o.wave.timeline.add(before, n)
        o.since = max(t, o.since)

    def _trim(self, o: _Open, i: int, t: int) -> None:
        r = o.wave.records
        if t < r.end(i):
            r.duration[i] = max(t - r.time[i], SLOT)
            r.stall[i] = min(r.stall[i], r.duration[i])

    def inst(self, t: int, simd: int, slot: int, code: int) -> None:
        op = gfx9.OPS.get(code)
        if op is None:
            self._check(slot)
            return
        o = self._wave(t, simd, slot)
        if not o.issued:
            return
        r = o.wave.records
        k = o.issued.popleft()
        r.unfinished.discard(k)
        if op.act is Act.REPLAY:
            self._replay(o, k, t, op.category)
            return
        if len(r) >= 2 and r.time[k] < r.end(len(r) - 2):
            self.phase += 1
        if k > 0:
            self._trim(o, k - 1, r.time[k])
        offset = 0 if code == gfx9.PC_OP else gfx9.PHASE.get(op.category, 0)
        phase = (self.phase + simd) % 4 + offset
        r.category[k] = op.category
        r.duration[k] = SLOT + max(t - r.time[k] - 4 * (phase // 4), 0)
        issued = r.time[k]
        if o.stalls and o.stalls[0] < issued:
            previous = r.end(k - 1) if k else 0
            start = issued
            while o.stalls and o.stalls[0] < issued:
                start = max(o.stalls.popleft(), previous)
            r.stall[k] = max(issued - start, 0)
            r.duration[k] = max(issued + r.duration[k] - start, SLOT)
            r.time[k] = start
        if op.act is Act.JUMP_PC:
            r.pcs[k + 1] = None
            o.pc_wanted.append(k + 1)

    def _replay(self, o: _Open, k: int, t: int, category: Cat) -> None:
        """XNACK: record k goes; the last completed one of the replayed kind lasts until now."""
        r = o.wave.records
        for j in range(k - 1, -1, -1):
            if r.category[j] is category and j not in r.unfinished:
                grow = t + SLOT - r.end(j)
                if grow > 0:
                    r.duration[j] += grow
                    r.stall[j] += grow
                break
        r.delete(k)
        o.issued = deque(i - (i > k) for i in o.issued)
        o.pc_wanted = deque(i - (i > k) for i in o.pc_wanted)

    def new_pc(self, t: int, simd: int, slot: int, err: int, pc: int) -> None:
        o = self._wave(t, simd, slot)
        i = o.pc_wanted.popleft() if o.pc_wanted else len(o.wave.records)
        o.wave.records.pcs[i] = None if err else pc << 2

    # -- the rest -----------------------------------------------------------
    def misc(self, t: int, kind: int) -> None:
        name = MISC_EVENTS.get(kind)
        if name is None:
            return
        if kind == gfx9.MISC_PACKET_LOST:
            self.out.lost += 1
        elif kind == gfx9.MISC_SAVE_CONTEXT:
            self.saving = True
        self.out.events.append(Event(t, name))

    def reg(self, t: int, disable: int, register: int, value: int) -> None:
        self.control.config(t, register, value)

    def reg_cs(self, t: int, me: int, pipe: int, register: int, value: int) -> None:
        self.control.compute(t, me + 1, pipe, register, value)

    def shader_data(self, t: int, data: int) -> None:
        self.out.events.append(Event(t, "shaderdata", data))

    def event(self, t: int, data: int) -> None:
        self.out.events.append(Event(t, "event", data))

    def perf(self, t: int, sh: int, cu: int, bank: int, c0: int, c1: int, c2: int, c3: int) -> None:
        if not sh:
            self.out.counters.append(CounterSample(t - SLOT * cu, cu, bank, (c0, c1, c2, c3)))

    def close(self) -> None:
        """End of the stream: waves still running end with their last record."""
        self.out.occupancy[:0] = reversed(self.unstarted)
        for o in self.open.values():
            r = o.wave.records
            o.wave.end = max([o.wave.begin, *(r.end(i) for i in range(len(r)))]) + SLOT
        for wave in self.others.values():
            wave.end = max(self.out.end_time, wave.begin)
        for w in self.out.waves:
            if w.end is None:
                w.end = max(self.out.end_time, w.begin)
