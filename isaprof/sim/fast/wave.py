"""Waves whose state lies in the C record, seen through the same names by the NumPy reference."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.sim.events import MemEvents
from isaprof.sim.fast.records import WaveRecord
from isaprof.sim.mode import decode_mode
from isaprof.sim.state import EXEC, Rows, Wave

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: instructions, memory events and their lanes between two visits of Python, for traced waves
_LINES, _EVENTS, _ADDRESSES = 4096, 4096, 1 << 15


class FastWave(Wave):
    """A wave for both executors.

    ``v`` and ``s`` are shared memory. What C changes besides (SCC, MODE, EXEC's
    mirrors, position) is taken over by :meth:`from_record` before the reference
    executes an instruction, and given back by :meth:`to_record`.
    """

    __slots__ = ("_events", "_parts", "_rows", "_trace_buffers", "record")

    def __init__(self, lanes: int, registers: int, agpr_base: int) -> None:
        self.record = WaveRecord()
        self.lanes = lanes
        # one spare row: a kernel without registers still has an address
        whole = np.zeros((registers + 1, lanes), np.uint32)
        self.v = whole[:registers]
        self.agpr_base = agpr_base
        self.facts_fnuz = False
        self._rows: Rows | None = None
        self._trace_buffers: Any = None
        self.record.v, self.record.lanes = whole.ctypes.data, lanes
        self.reset()

    @property
    def rows(self) -> Rows:
        """Typed views of the registers, made when the reference first needs them."""
        if self._rows is None:
            self._rows = Rows(self.v)
        return self._rows

    @rows.setter
    def rows(self, value: Rows) -> None:
        self._rows = value

    @property
    def tables(self) -> dict[str, list[Any]]:  # type: ignore[override]
        return self.rows.by_type

    def reset(self) -> None:
        r = self.record
        ctypes.memset(ctypes.addressof(r) + WaveRecord.s.offset, 0, ctypes.sizeof(r.s))
        zeros = r.s
        super().reset()
        self.s = zeros
        self.set_exec((1 << self.lanes) - 1)
        # what C recorded until now: pieces of the path; events with the addresses and lanes behind them
        self._parts: list[NDArray[np.int32]] = []
        self._events: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]] = []
        for name in (
            "pc", "clock", "step", "done", "barrier", "phase", "hit", "lds_outside", "nlines", "nevents",
            "naddresses", "traced", "scratch", "scc",
        ):  # fmt: skip
            setattr(r, name, 0)

    def start(self) -> None:
        """Give the state that the wave starts with to C."""
        r = self.record
        r.pc, r.scc, r.mode, r.fnuz = self.pc, self.scc, self.mode, int(self.facts_fnuz)
        r.mask_of = ~self.exec & 0xFFFFFFFFFFFFFFFF
        r.lds, r.lds_size = self.lds.bytes.ctypes.data, self.lds.size
        if self.scratch is not None:
            r.scratch, r.scratch_stride = self.scratch.ctypes.data, self.scratch.shape[1]
        if self.trace is not None:
            if self._trace_buffers is None:
                self._trace_buffers = (
                    np.zeros(_LINES, np.int32), np.zeros(_LINES, np.uint8), np.zeros((_EVENTS, 3), np.int64),
                    np.zeros(_ADDRESSES, np.int64), np.zeros(_ADDRESSES, np.int8),
                )  # fmt: skip
            lines, flags, events, addresses, lanes = self._trace_buffers
            r.traced, r.lines, r.line_flags, r.lines_cap = 1, lines.ctypes.data, flags.ctypes.data, _LINES
            r.events, r.events_cap = events.ctypes.data, _EVENTS
            r.addresses, r.event_lanes, r.addresses_cap = addresses.ctypes.data, lanes.ctypes.data, _ADDRESSES

    def from_record(self) -> None:
        """Before the reference executes an instruction."""
        r = self.record
        self.scc, self.pc, self.clock, self.step = r.scc, r.pc, r.clock, r.step
        self.next = self.pc + 1
        if self.mode != r.mode:
            self.mode = r.mode
            self.fm = decode_mode(self.mode, self.facts_fnuz)
        self.refresh_exec()

    def to_record(self) -> None:
        """After the reference executed one."""
        r = self.record
        r.scc, r.mode, r.pc = self.scc, self.mode, self.next
        r.done, r.barrier = int(self.done), int(self.barrier)
        r.mask_of = ~self.exec & 0xFFFFFFFFFFFFFFFF
        r.clock += 1
        r.step += 1

    def drain(self) -> None:
        """Take over the path and the memory events that C recorded."""
        r = self.record
        if self.trace is None or not (r.nlines or r.nevents):
            return
        lines, flags, events, addresses, lanes = self._trace_buffers
        first = r.step - r.nlines
        self._take_lines()
        self._parts.append(lines[: r.nlines].copy())
        marks = flags[: r.nlines]
        self.taken.update((first + np.flatnonzero(marks & 1)).tolist())
        self.exec_zero.update((first + np.flatnonzero(marks & 2)).tolist())
        if r.nevents:
            n = r.naddresses
            self._events.append((events[: r.nevents].copy(), addresses[:n].copy(), lanes[:n].copy()))
        r.nlines = r.nevents = r.naddresses = 0

    def _take_lines(self) -> None:
        """Lines that the reference executed since C's last ones."""
        if self.lines:
            self._parts.append(np.array(self.lines, np.int32))
            self.lines.clear()

    def path(self) -> NDArray[np.int32]:
        self._take_lines()
        return np.concatenate(self._parts) if self._parts else np.zeros(0, np.int32)

    def accesses(self) -> MemEvents:
        parts = [MemEvents.of(self.trace or {})]  # of instructions that the reference executed
        for events, addresses, lanes in self._events:
            step, kind, count = events.T
            what = (kind & 0xFF, kind >> 8 & 1, kind >> 16 & 1, kind >> 24)
            parts.append(MemEvents(step, what, count, addresses, lanes))
        return MemEvents.joined([p for p in parts if len(p)] or parts[:1])

    def executing_zero(self) -> bool:
        return not (self.s[EXEC] | (self.s[EXEC + 1] if self.lanes == 64 else 0))
