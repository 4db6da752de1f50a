"""gfx10, gfx11, gfx12, gfx1250: packets to wave records (rules of rocprof-trace-decoder, MIT).

Instruction packets belong to the one SIMD of the one WGP that the header
names. A packet is the issue of an instruction; WAVE_READY marks the begin of a
stall, so ``time + stall`` of a record is its packet's time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from isaprof.parsers.sqtt.control import Control
from isaprof.parsers.sqtt.generations import MISC_FLAGS
from isaprof.parsers.sqtt.header import StreamHeader
from isaprof.parsers.sqtt.model import Act, Cat, Op, Scale, State
from isaprof.parsers.sqtt.records import EngineTrace, Event, OccupancyEvent, Wave, untraced

_UNTRACED = Op(Cat.NONE, 0, Act.IGNORE)
#: shader array in the cu number of a Capture
SA_SHIFT = 7
_MEMORY = (Cat.VMEM, Cat.LDS, Cat.SMEM)


@dataclass(slots=True)
class _Open:
    """A wave of the traced SIMD that is running."""

    wave: Wave
    state: State = State.IDLE
    last: int = 0
    extend: bool = False  # gfx11 s_barrier: lasts to the wave's next packet
    trapped: bool = False
    early: int = 0  # cycles by which the next record starts earlier
    pc_wanted: deque[int] = field(default_factory=deque)

    def set(self, state: State, t: int) -> None:
        if t > self.last:
            self.wave.timeline.add(self.state, t - self.last)
            self.last = t
        self.state = state


class RdnaWaves:
    """Builds the waves of one engine, packet by packet."""

    INIT_DISPATCH = 2  #: REG_INIT type of a dispatch

    def __init__(self, header: StreamHeader, out: EngineTrace, control: Control) -> None:
        self.header, self.out, self.control = header, out, control
        self.unstarted: list[OccupancyEvent] = []  # starts at time 0 of waves that only an end was seen of
        g = header.generation
        cycles = header.cycles or {}
        self.ops: dict[int, tuple[Op, int]] = {
            code: (op, self._cycles(op, cycles.get(op.scale, 1))) for code, op in g.ops.items()
        }
        self.ready_offset = g.ready_offset
        self.open: dict[int, _Open] = {}
        self.others: dict[tuple[int, int, int], Wave] = {}
        self.recent = [-1] * 6
        self.misc_flags = MISC_FLAGS[g.name]

    @staticmethod
    def _cycles(op: Op, factor: int) -> int:
        return factor if op.scale is Scale.TRANS2 else op.cycles * factor

    def handlers(self) -> dict[str, tuple[Callable[..., None], tuple[str, ...]]]:
        """Packet kind -> (method, fields it takes after the time)."""
        g = self.header.generation
        start = ("sa", "simd", "wgp", "wave", "me", "pipe", "count")
        shader = ("exec", "sdt", "data")
        predicted = g.wave_prediction is not None
        advance = ("type", "value") if g.version < 3 else ("rt", "pl", "value")
        return {
            "VALU_INST": (self.valu_predicted, ("wavetm",)) if predicted else (self.valu, ("wave",)),
            "INST": (self.inst, ("wave", "op")),
            "IMM_ONE": (self.immediate, ("wave",)),
            "IMMEDIATE": (self.immediates, ("mask",)),
            "WAVE_READY": (self.ready, ("mask",)),
            "WAVE_START": (self.start, start),
            "WAVE_START_EXT": (self.start, start),
            "WAVE_END": (self.finish, ("sa", "simd", "wgp", "wave")),
            "NEW_PC": (self.new_pc, ("wave", "err", "pc")),
            "REG": (self.reg, ("me", "pipe", "cs", "regaddr", "regdata")),
            "REG_INIT": (self.reg_init, ("type", "data")),
            "SHADER_DATA": (self.shader_data, shader),
            "SHADER_DATA_SHORT": (self.shader_data, shader),
            "MISC": (self.misc, ("flags",)),
            "TIMESTAMP": (self.timestamp_old if g.version < 3 else self.timestamp, advance),
            "EVENT": (self.event, ("data",)),
            "EVENT_SYNC": (self.event, ("data",)),
        }

    # -- waves --------------------------------------------------------------
    def _is_target(self, sa: int, simd: int, wgp: int) -> bool:
        h = self.header
        return wgp == h.target_cu and sa == h.target_sa and bool(h.simd_mask >> simd & 1)

    def start(self, t: int, sa: int, simd: int, wgp: int, slot: int, me: int, pipe: int, count: int) -> None:
        g = self.header.generation
        cu = wgp | sa << SA_SHIFT
        target = self._is_target(sa, simd, wgp)
        if count in g.context_codes:
            self._context(t, slot if target else None, count - g.context_codes[0])
            return
        entry = self.control.entry(me, pipe)
        threads = count - g.thread_bias
        wave = (
            Wave(cu, simd, slot, t, entry=entry, target=True)
            if target
            else untraced(cu, simd, slot, t, entry=entry)
        )
        wave.threads = threads if 1 <= threads <= g.max_threads else None
        wave.dispatch = self.out.dispatches - 1 if self.out.dispatches else None
        self._close_stale(wave, t)
        self.out.waves.append(wave)
        self.out.occupancy.append(OccupancyEvent(t, cu, simd, slot, True, entry))
        if target:
            wave.records.pcs[0] = entry
            self.open[slot] = _Open(wave, last=t)
        else:
            self.others[cu, simd, slot] = wave

    def _close_stale(self, wave: Wave, t: int) -> None:
        """A start for a slot that still runs: its end packet was lost."""
        o = self.open.pop(wave.slot, None) if wave.target else None
        stale = o.wave if o else self.others.pop((wave.cu, wave.simd, wave.slot), None)
        if stale is None:
            return
        stale.end = max(t - 1, stale.begin)
        if o:
            o.set(State.EMPTY, stale.end)
        self.out.occupancy.append(
            OccupancyEvent(stale.end, stale.cu, stale.simd, stale.slot, False, stale.entry)
        )

    def _context(self, t: int, slot: int | None, i: int) -> None:
        o = self.open.get(slot) if slot is not None else None
        if o is None:
            return
        if i in (0, 1, 4, 5):
            o.wave.records.append(Cat.CONTEXT, t, 1, 0)
        else:
            self._want_pc(o)

    def finish(self, t: int, sa: int, simd: int, wgp: int, slot: int) -> None:
        cu = wgp | sa << SA_SHIFT
        if self._is_target(sa, simd, wgp):
            o = self.open.pop(slot, None)
            wave = o.wave if o else None
            if o:
                self._packet(o, t)
                o.set(State.EMPTY, t)
                r = o.wave.records
                if len(r) and r.end(len(r) - 1) < t:
                    end = r.end(len(r) - 1)
                    r.append(Cat.MESSAGE, end, t - end, 0)
        else:
            wave = self.others.pop((cu, simd, slot), None)
        if wave is None:
            wave = untraced(cu, simd, slot, 0, start_seen=False)
            self.out.waves.append(wave)
            self.unstarted.append(OccupancyEvent(0, cu, simd, slot, True, None))
        wave.end, wave.end_seen = t, True
        self.out.occupancy.append(OccupancyEvent(t, cu, simd, slot, False, wave.entry))

    def _wave(self, t: int, slot: int) -> _Open:
        """The running wave of a slot; opened here where its start was lost."""
        o = self.open.get(slot)
        if o is None:
            h = self.header
            cu = h.target_cu | h.target_sa << SA_SHIFT
            wave = Wave(cu, h.simd_mask.bit_length() - 1, slot, t, target=True, start_seen=False)
            wave.records.pcs[0] = None
            self.out.waves.append(wave)
            o = self.open[slot] = _Open(wave, last=t)
        return o

    # -- instructions -------------------------------------------------------
    def _packet(self, o: _Open, t: int, offset: int = 0) -> None:
        """Every packet of a wave ends an extended barrier, WAVE_READY ``offset`` cycles earlier."""
        if not o.extend:
            return
        o.extend = False
        r = o.wave.records
        i = len(r) - 1
        r.category[i] = Cat.MESSAGE
        end = t + offset
        r.duration[i] = max(0, end - r.time[i])
        o.state = State.WAIT
        o.set(State.WAIT, end + 1)

    def ready(self, t: int, mask: int) -> None:
        slot = 0
        while mask:
            if mask & 1:
                o = self.open.get(slot)
                if o is not None:
                    self._packet(o, t, self.ready_offset)
                    o.set(State.STALL, t)
            mask >>= 1
            slot += 1

    def _record(self, o: _Open, t: int, category: Cat, cycles: int) -> None:
        stall = t - o.last if o.state is State.STALL and o.last < t else 0
        o.wave.records.append(category, t - stall - o.early, cycles + stall + o.early, stall)
        o.early = 0
        o.set(State.EXEC, t)

    def valu(self, t: int, slot: int) -> None:
        o = self._wave(t, slot)
        if o.trapped:
            return
        self._packet(o, t)
        self._record(o, t, Cat.VALU, 1)

    def valu_predicted(self, t: int, wavetm: int) -> None:
        prediction = self.header.generation.wave_prediction
        assert prediction is not None
        slot = self.recent[prediction[wavetm][0]]
        if slot >= 0:
            self._to_front(slot)
            self.valu(t, slot)

    def _to_front(self, slot: int) -> None:
        if slot in self.recent:
            self.recent.remove(slot)
        else:
            self.recent.pop()
        self.recent.insert(0, slot)

    def inst(self, t: int, slot: int, code: int) -> None:
        op, cycles = self.ops.get(code, (_UNTRACED, 0))
        if op.act is Act.OTHER_SIMD:
            self.out.events.append(Event(t, f"other_simd_{op.category.name.lower()}", cycles))
            return
        if code in self.header.generation.prediction_ops:
            self._to_front(slot)
        if op.act is Act.IGNORE:
            return
        o = self._wave(t, slot)
        self._packet(o, t)
        if o.trapped:
            if op.act is Act.RETURN:
                self._return(o, t)
            return
        if op.act is Act.EARLY:
            o.early += 1
        elif op.act is Act.REPLAY:
            self._replay(o)
        elif op.act in (Act.BARRIER, Act.BARRIER_EXTENDED):
            self._immediate(o, t)
            o.extend = op.act is Act.BARRIER_EXTENDED
        elif op.act is Act.TRAP:
            o.wave.records.append(Cat.CONTEXT, t, 1, 0)
            o.set(State.EXEC, t)
            o.trapped = True
        elif op.act is Act.RETURN:
            self._record(o, t, Cat.CONTEXT, cycles)
            self._want_pc(o)
        else:
            self._record(o, t, op.category, cycles)
            if op.act is Act.JUMP_PC:
                self._want_pc(o)

    def _return(self, o: _Open, t: int) -> None:
        r = o.wave.records
        i = len(r) - 1
        r.duration[i] = max(t + 1 - r.time[i], r.duration[i])
        o.trapped = False
        o.set(State.EXEC, t)
        self._want_pc(o)

    def _replay(self, o: _Open) -> None:
        """XNACK: the memory instruction is issued again, its record comes later."""
        r = o.wave.records
        while len(r) and r.category[-1] is Cat.IMMED:
            r.delete(len(r) - 1)
        if len(r):
            o.last = max(o.last, r.time[-1] - 1)
            if r.category[-1] in _MEMORY:
                r.delete(len(r) - 1)
        o.state = State.STALL

    def immediate(self, t: int, slot: int) -> None:
        o = self._wave(t, slot)
        if not o.trapped:
            self._packet(o, t)
            self._immediate(o, t)

    def immediates(self, t: int, mask: int) -> None:
        slot = 0
        while mask:
            if mask & 1:
                self.immediate(t, slot)
            mask >>= 1
            slot += 1

    def _immediate(self, o: _Open, t: int) -> None:
        r = o.wave.records
        s = min(t, r.end(len(r) - 1)) if len(r) else t
        r.append(Cat.IMMED, s, t - s + 1, t - s)
        o.set(State.WAIT, s)
        o.set(State.EXEC, t + 1)

    def _want_pc(self, o: _Open) -> None:
        i = len(o.wave.records)
        o.wave.records.pcs[i] = None
        o.pc_wanted.append(i)

    def new_pc(self, t: int, slot: int, err: int, pc: int) -> None:
        o = self._wave(t, slot)
        i = o.pc_wanted.popleft() if o.pc_wanted else len(o.wave.records)
        o.wave.records.pcs[i] = None if err else pc << 2

    # -- the rest -----------------------------------------------------------
    def reg(self, t: int, me: int, pipe: int, cs: int, register: int, value: int) -> None:
        if cs:
            self.control.compute(t, me, pipe, register, value)
        if not cs or self.header.generation.version < 3:
            self.control.config(t, register, value)

    def reg_init(self, t: int, kind: int, data: int) -> None:
        if kind == self.INIT_DISPATCH and data & 1:
            self.control.dispatch(t, data)

    def shader_data(self, t: int, exec_: int, sdt: int, data: int) -> None:
        if not exec_:
            self.out.events.append(Event(t, "shaderdata_privileged" if sdt else "shaderdata", data))

    def misc(self, t: int, flags: int) -> None:
        for i, name in enumerate(self.misc_flags):
            if name and flags >> i & 1:
                self.out.lost += name == "data_lost"
                self.out.events.append(Event(t, name))

    def timestamp(self, t: int, realtime: int, lost: int, value: int) -> None:
        if realtime and not lost:
            self.out.events.append(Event(t, "realtime", value))
        elif lost and not realtime:
            self.out.lost += 1
            self.out.events.append(Event(t, "data_lost", value))

    def timestamp_old(self, t: int, kind: int, value: int) -> None:
        if kind == 2:
            self.out.events.append(Event(t, "realtime", value))

    def event(self, t: int, data: int) -> None:
        self.out.events.append(Event(t, "event", data))

    def close(self) -> None:
        """End of the stream: waves still running end with their last record."""
        self.out.occupancy[:0] = reversed(self.unstarted)
        for o in self.open.values():
            r = o.wave.records
            o.wave.end = max([o.wave.begin, *(r.end(i) for i in range(len(r)))]) + 4
        for w in self.out.waves:
            if w.end is None:
                w.end = max(self.out.end_time, w.begin)
