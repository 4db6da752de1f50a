"""Waves whose state lies in the C record, seen through the same names by the NumPy reference."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from isaprof.sim.fast.records import SPACES, WaveRecord
from isaprof.sim.mode import decode_mode
from isaprof.sim.state import EXEC, Rows, Wave
from isaprof.sim.trace import MemEvent

#: instructions and bytes of memory events between two visits of Python, for traced waves
_LINES, _EVENTS = 4096, 1 << 18


class FastWave(Wave):
    """A wave for both executors.

    ``v`` and ``s`` are shared memory. What C changes besides (SCC, MODE, EXEC's
    mirrors, position) is taken over by :meth:`from_record` before the reference
    executes an instruction, and given back by :meth:`to_record`.
    """

    __slots__ = ("_rows", "_trace_buffers", "record")

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
        for name in (
            "pc", "clock", "step", "done", "barrier", "phase", "hit", "lds_outside", "nlines", "nevents",
            "traced", "scratch", "scc",
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
                    np.zeros(_LINES, np.int32), np.zeros(_LINES, np.uint8), np.zeros(_EVENTS, np.uint8)
                )  # fmt: skip
            lines, flags, events = self._trace_buffers
            r.traced, r.lines, r.line_flags, r.lines_cap = 1, lines.ctypes.data, flags.ctypes.data, _LINES
            r.events, r.events_cap = events.ctypes.data, _EVENTS

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
        lines, flags, events = self._trace_buffers
        first = r.step - r.nlines
        self.lines += lines[: r.nlines].tolist()
        marks = flags[: r.nlines]
        self.taken.update((first + np.flatnonzero(marks & 1)).tolist())
        self.exec_zero.update((first + np.flatnonzero(marks & 2)).tolist())
        at, end = 0, r.nevents
        words = events.view(np.int64)
        while at < end:
            i = at >> 3
            step, kind, n = (int(x) for x in words[i : i + 3])
            addresses = words[i + 3 : i + 3 + n].copy()
            lanes = words[i + 3 + n : i + 3 + 2 * n].astype(np.int16)
            at += 24 + 16 * n
            space = SPACES[kind & 0xFF]
            self._keep(step, MemEvent(
                space, bool(kind >> 8 & 1), bool(kind >> 16 & 1), kind >> 24, addresses,
                lanes[:0] if space == "scalar" else lanes,
            ))  # fmt: skip
        r.nlines = r.nevents = 0

    def _keep(self, step: int, event: MemEvent) -> None:
        assert self.trace is not None
        old = self.trace.get(step)
        if old is not None:
            # two addresses per lane (ds_read2): one event, the second half follows the first
            event.addresses = np.concatenate([old.addresses, event.addresses])
            event.lanes = np.concatenate([old.lanes, event.lanes])
        self.trace[step] = event

    def executing_zero(self) -> bool:
        return not (self.s[EXEC] | (self.s[EXEC + 1] if self.lanes == 64 else 0))
