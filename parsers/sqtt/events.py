"""Markers, counters and register writes of a piece of the stream, whole columns at a time.

The same as the methods of :mod:`~isaprof.parsers.sqtt.waves_gfx9` and
:mod:`~isaprof.parsers.sqtt.waves_rdna` make packet by packet; only writes of
registers that mean something are followed one by one, by those methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt.control import COMPUTE, CONFIG, Control
from isaprof.parsers.sqtt.frame import PacketStream
from isaprof.parsers.sqtt.model import Act
from isaprof.parsers.sqtt.records import EngineTrace
from isaprof.parsers.sqtt.waves_gfx9 import MISC_EVENTS, SLOT, Gfx9Waves
from isaprof.parsers.sqtt.waves_rdna import RdnaWaves

#: ``kind``: number in the list of kinds; ``given``: there is a value
EVENT = np.dtype([("time", "i8"), ("value", "i8"), ("kind", "i2"), ("given", "u1")])
COUNTERS = np.dtype([("time", "i8"), ("cu", "i2"), ("bank", "i1"), ("values", "i4", 4)])
#: place of the dispatch count among the changes that :meth:`Events.registers` returns
DISPATCHES = 8

_Rows = NDArray[np.intp]


class Events:
    """Collects them piece by piece. ``kinds``: names, in the order of first use."""

    def __init__(self, builder: Gfx9Waves | RdnaWaves, out: EngineTrace, control: Control) -> None:
        self.builder, self.out, self.control = builder, out, control
        self.kinds: list[str] = []
        self._numbers: dict[str, int] = {}
        self._parts: list[tuple[_Rows, NDArray[np.void]]] = []

    def piece(self, s: PacketStream) -> tuple[NDArray[np.void], NDArray[np.void], NDArray[np.int64]]:
        """Events, counter samples, and changes of entries and dispatch count (packet row, place, value)."""
        changes = self.registers(s)
        if isinstance(self.builder, Gfx9Waves):
            self._gfx9(s)
            counters = _counters(s)
        else:
            self._rdna(s)
            counters = np.zeros(0, COUNTERS)
        parts, self._parts = self._parts, []
        if not parts:
            return np.zeros(0, EVENT), counters, changes
        order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
        return np.concatenate([e for _, e in parts])[order], counters, changes

    def _add(self, s: PacketStream, kind: str, rows: _Rows, value: NDArray[np.int64] | None = None) -> None:
        if not len(rows):
            return
        e = np.zeros(len(rows), EVENT)
        e["time"], e["kind"] = s.time[rows], self._number(kind)
        if value is not None:
            e["value"], e["given"] = value, 1
        self._parts.append((rows, e))

    def _number(self, kind: str) -> int:
        if kind not in self._numbers:
            self._numbers[kind] = len(self.kinds)
            self.kinds.append(kind)
        return self._numbers[kind]

    # -- markers ------------------------------------------------------------
    def _gfx9(self, s: PacketStream) -> None:
        misc = s.rows("MISC")
        what = s.field("misc", misc)
        for code, name in MISC_EVENTS.items():
            rows = misc[what == code]
            self._add(s, name, rows)
            self.out.lost += len(rows) * (name == "data_lost")
        rows = s.rows("SHADER_DATA")
        self._add(s, "shaderdata", rows, s.field("data", rows))
        rows = s.rows("EVENT", "EVENT_CS", "EVENT_GFX1")
        self._add(s, "event", rows, s.field("data", rows))

    def _rdna(self, s: PacketStream) -> None:
        assert isinstance(self.builder, RdnaWaves)
        rows = s.rows("SHADER_DATA", "SHADER_DATA_SHORT")
        rows = rows[s.field("exec", rows) == 0]
        privileged = s.field("sdt", rows) != 0
        for name, some in (("shaderdata", rows[~privileged]), ("shaderdata_privileged", rows[privileged])):
            self._add(s, name, some, s.field("data", some))
        misc = s.rows("MISC")
        flags = s.field("flags", misc)
        for i, flag in enumerate(self.builder.misc_flags):
            if flag:
                rows = misc[flags >> i & 1 == 1]
                self._add(s, flag, rows)
                self.out.lost += len(rows) * (flag == "data_lost")
        rows = s.rows("EVENT", "EVENT_SYNC")
        self._add(s, "event", rows, s.field("data", rows))
        stamps = s.rows("TIMESTAMP")
        value = s.field("value", stamps)
        if s.generation.version < 3:
            clock, lost = s.field("type", stamps) == 2, np.zeros(len(stamps), bool)
        else:
            realtime, loss = s.field("rt", stamps) != 0, s.field("pl", stamps) != 0
            clock, lost = realtime & ~loss, loss & ~realtime
        self._add(s, "realtime", stamps[clock], value[clock])
        self._add(s, "data_lost", stamps[lost], value[lost])
        self.out.lost += int(lost.sum())
        inst = s.rows("INST")
        op = s.field("op", inst)
        for code, (o, cycles) in self.builder.ops.items():
            if o.act is Act.OTHER_SIMD and (hit := op == code).any():
                rows = inst[hit]
                self._add(s, f"other_simd_{o.category.name.lower()}", rows, np.full(len(rows), cycles))

    # -- registers ----------------------------------------------------------
    def registers(self, s: PacketStream) -> NDArray[np.int64]:
        """Follow the register writes; what changes for waves that start later: (packet row, place, value)."""
        changes: list[tuple[int, int, int]] = []
        at: list[int] = []
        events = self.out.events
        for row, method, arguments in self._writes(s):
            dispatches = self.out.dispatches
            method(int(s.time[row]), *arguments)
            new = self.control.new_entry()
            if new is not None:
                me, pipe, entry = new
                changes.append((row, me * 4 + pipe, -1 if entry is None else entry))
            if self.out.dispatches != dispatches:
                changes.append((row, DISPATCHES, self.out.dispatches))
            at.extend([row] * (len(events) - len(at)))
        made = np.zeros(len(events), EVENT)
        if events:
            made["time"] = [e.time for e in events]
            made["kind"] = [self._number(e.kind) for e in events]
            made["value"] = [e.value or 0 for e in events]
            made["given"] = [e.value is not None for e in events]
            self._parts.append((np.array(at, np.intp), made))
            events.clear()
        return np.array(changes, np.int64).reshape(-1, 3)

    def _writes(self, s: PacketStream) -> Iterator[tuple[int, Callable[..., None], tuple[int, ...]]]:
        """Writes that mean something, in stream order: packet row, method of the builder, its arguments."""
        found = []
        for kind, (method, names) in self.builder.handlers().items():
            if not kind.startswith("REG"):
                continue
            rows = s.rows(kind)
            if kind == "REG_INIT":
                rows = rows[s.field("type", rows) == RdnaWaves.INIT_DISPATCH]
            else:
                register = s.field("regaddr", rows)
                compute = np.isin(register, COMPUTE)
                config = np.isin(register, CONFIG)
                if kind == "REG" and "cs" in names:
                    cs = s.field("cs", rows) != 0
                    keep = cs & compute | (~cs | (s.generation.version < 3)) & config
                else:
                    keep = config if kind == "REG" else compute
                rows = rows[keep]
            columns = [s.field(n, rows).tolist() for n in names]
            found += [
                (row, method, arguments)
                for row, arguments in zip(rows.tolist(), zip(*columns, strict=True), strict=True)
            ]
        found.sort(key=lambda x: x[0])
        return iter(found)


def _counters(s: PacketStream) -> NDArray[np.void]:
    rows = s.rows("PERF")
    rows = rows[s.field("sh", rows) == 0]
    out = np.zeros(len(rows), COUNTERS)
    out["cu"], out["bank"] = s.field("cu", rows), s.field("bank", rows)
    out["time"] = s.time[rows] - SLOT * out["cu"].astype(np.int64)
    for i in range(4):
        out["values"][:, i] = s.field(f"c{i}", rows)
    return out
