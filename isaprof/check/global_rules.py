"""Rules about memory: operands and their ends, descriptors, alignment, who writes which output byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.check.memory import CheckedMemory, byte_index
from isaprof.check.model import Finding, Findings, Place, Severity
from isaprof.isa.model import Instruction, RegClass, RegSpan
from isaprof.sim.lower.operands import scalar_slot

if TYPE_CHECKING:
    from isaprof.check.shadow import CheckedWave
    from isaprof.sim.functional import Machine
    from isaprof.sim.memory import Segment

#: scalar loads may fetch the rest of the kernarg segment's last cache line (allocated in these units)
KERNARG_LINE = 64
#: an address that far from every operand belongs to none of them
FAR = 1 << 32


@dataclass(frozen=True, slots=True)
class _Base:
    """Where an instruction's base address lies: first scalar slot; 48 bits in a descriptor."""

    slot: int
    descriptor: bool


@dataclass(frozen=True, slots=True)
class _Store:
    """One executed store to an output."""

    row: int
    workgroup: tuple[int, int, int]
    wave: int
    signalled: int
    atomic: bool


class GlobalRules:
    """The part of the monitor that judges memory accesses."""

    wave: CheckedWave
    row: int

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.findings = Findings()
        self.instructions = machine.ctx.listing.instructions
        assert isinstance(machine.memory, CheckedMemory)
        self.memory: CheckedMemory = machine.memory
        self.roles = {o.name: o.role for o in machine.launch.operands}
        self.item_bytes = {o.name: _item(o) for o in machine.launch.operands}
        self._bases: list[_Base | bool | None] = [False] * len(self.instructions)
        self.home: Segment | bool | None = None
        self._writer = np.zeros(self.memory.bytes.size, np.int32)
        self._stores: list[_Store] = []
        #: findings of this step whose lanes are not known yet: (finding, first address)
        self._open: list[tuple[Finding, int]] = []
        self.origins: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}

    # -- saying so ---------------------------------------------------------------------------
    def place(self, row: int) -> Place:
        ins = self.instructions[row]
        return Place(row, ins.pc, ins.text)

    def add(
        self, key: tuple[Any, ...], rule: str, severity: Severity, message: str, *,
        lanes: tuple[int, ...] = (), **more: Any,
    ) -> Finding:  # fmt: skip
        """A finding at the current instruction of the current wave."""
        w = self.wave
        finding = Finding(
            rule, severity, message, self.place(self.row), w.workgroup, w.id_in_wg, lanes, **more
        )
        return self.findings.add(key, finding)

    def settle(self, w: CheckedWave) -> None:
        """After the step: lanes of its findings, alignment of its addresses."""
        event = None if w.trace is None else w.trace.pop(w.step, None)
        if event is not None and event.addresses.size:
            self._alignment(event)
        if self._open:
            for finding, address in self._open:
                if event is not None and event.lanes.size:
                    hit = (event.addresses <= address) & (address < event.addresses + max(1, event.bytes))
                    finding.lanes = tuple(event.lanes[hit].tolist()) or finding.lanes
            self._open.clear()

    # -- where an access belongs ------------------------------------------------------------------
    def expected_segment(self) -> Segment | None:
        """The operand that the base pointer of the current instruction lies in; None where it has none."""
        if self.home is False:
            base = self._base()
            self.home = None
            if base is not None:
                s = self.wave.s
                high = s[base.slot + 1] & 0xFFFF if base.descriptor else s[base.slot + 1]
                self.home = self.memory.find(s[base.slot] | high << 32)
        assert not isinstance(self.home, bool)
        return self.home

    def _base(self) -> _Base | None:
        known = self._bases[self.row]
        if isinstance(known, bool):
            known = self._bases[self.row] = _base_of(self.instructions[self.row])
        return known

    def _where(self, address: int, segment: Segment | None) -> tuple[str, dict[str, Any]]:
        """An address in words and as values, seen from ``segment`` or the nearest one."""
        s = segment
        if s is None:
            s = min(self.memory.segments, key=lambda x: max(x.base - address, address - x.end + 1, 0))
        at = address - s.base
        if not -FAR < at < s.size + FAR:
            return f"{address:#x}, near no operand", {"operand": None, "address": hex(address)}
        if at >= s.size:
            text = f"{at - s.size} bytes past the end of {s.name}"
        elif at < 0:
            text = f"{-at} bytes before {s.name}"
        else:
            text = f"byte {at} of {s.name}"
        item = self.item_bytes.get(s.name)
        values: dict[str, Any] = {"operand": s.name, "byte": at, "size": s.size, "address": hex(address)}
        if item:
            values["index"] = at // item
            text += f" (index {at // item} of {s.size // item})"
        return text, values

    # -- told by the memory -----------------------------------------------------------------------------
    def outside(self, addresses: Any, nbytes: int, *, store: bool) -> None:
        base = self._base()
        home = self.expected_segment()
        by_descriptor = base is not None and base.descriptor
        rule = "descriptor-allows-overrun" if by_descriptor and home is not None else "outside-operand"
        key = (rule, self.row)
        n = int(addresses.size)
        if self.findings.again(key, n):
            return
        address = int(addresses[0])
        text, values = self._where(address, home)
        values["bytes"] = nbytes
        severity = Severity.ERROR
        message = f"{'stores' if store else 'loads'} {nbytes} bytes at {text}"
        near = self.memory.find(address)
        if near is not None and near.base <= address and address + nbytes > near.end:
            message += f": the last {address + nbytes - near.end} of them are beyond its end"
        if rule == "descriptor-allows-overrun" and base is not None and home is not None:
            records = self.wave.s[base.slot + 2]
            values["num_records"] = records
            start = self.wave.s[base.slot] | (self.wave.s[base.slot + 1] & 0xFFFF) << 32
            message += (
                f"; the descriptor starts at byte {start - home.base} and its num_records {records:#x} "
                f"lets {start - home.base + records - home.size} bytes more through than there are"
            )
        if not store and self._kernarg_line(address, nbytes):
            severity = Severity.WARNING
            message += "; the segment is allocated in lines of 64 bytes, so the load does not fault"
        found = self.add(key, rule, severity, message, values=values)
        found.count = n
        self._open.append((found, address))

    def _kernarg_line(self, address: int, nbytes: int) -> bool:
        s = next(s for s in self.memory.segments if s.name == "kernarg segment")
        end = s.base + -(-s.size // KERNARG_LINE) * KERNARG_LINE
        return s.base <= address and address + nbytes <= end

    def read_only(self, addresses: Any, nbytes: int, segment: Segment) -> None:
        self._input(addresses, nbytes, segment, "is read by the hardware and other waves")

    def _input(self, addresses: Any, nbytes: int, segment: Segment, why: str) -> None:
        key = ("write-to-input", self.row)
        n = int(addresses.size)
        if self.findings.again(key, n):
            return
        text, values = self._where(int(addresses[0]), segment)
        found = self.add(
            key, "write-to-input", Severity.ERROR, f"stores {nbytes} bytes at {text}, which {why}",
            values=values,
        )  # fmt: skip
        found.count = n
        self._open.append((found, int(addresses[0])))

    def loaded(self, addresses: Any, nbytes: int) -> None:
        fresh = self.memory.unwritten(addresses, nbytes)
        if not fresh.any():
            return
        bad = addresses[fresh]
        segment = self.memory.find(int(bad[0]))
        name = "" if segment is None else segment.name
        key = ("uninitialised-memory", self.row, name)
        n = int(bad.size)
        if self.findings.again(key, n):
            return
        self.origins.setdefault(("memory", name), []).append(key)
        text, values = self._where(int(bad[0]), segment)
        values["bytes"] = nbytes
        role = "padding of an input" if self.roles.get(name) == "input" else f"{self.roles.get(name)} operand"
        found = self.add(
            key, "uninitialised-memory", Severity.WARNING,
            f"loads {nbytes} bytes at {text}, some of which neither the host nor the kernel has written "
            f"({role})",
            values=values,
        )  # fmt: skip
        found.count = n
        self._open.append((found, int(bad[0])))

    def stored(self, addresses: Any, nbytes: int, changed: Any) -> None:
        segment = self.memory.find(int(addresses[0]))
        if segment is None:
            return
        role = self.roles.get(segment.name)
        if role == "input":
            self._input(addresses, nbytes, segment, "is an input")
        elif role is None:
            self._input(addresses, nbytes, segment, "no store may touch")
        elif role == "output":
            self._output(addresses, nbytes, changed, segment)

    def _output(self, addresses: Any, nbytes: int, changed: Any, segment: Segment) -> None:
        w, ins = self.wave, self.instructions[self.row]
        atomic = ins.mem is not None and ins.mem.atomic
        index = byte_index((addresses - np.uint64(self.memory.base)).astype(np.int64), nbytes)
        before = self._writer[index]
        self._stores.append(_Store(self.row, w.workgroup, w.id_in_wg, w.shadow.signalled, atomic))
        if not atomic:
            for ident in set(before[changed].reshape(-1).tolist()) - {0}:
                other = self._stores[ident - 1]
                if other.atomic or self._ordered(other):
                    continue
                lane = int(np.flatnonzero(changed & (before == ident).any(axis=1))[0])
                self._twice(addresses[lane], nbytes, segment, other)
            if index[:, 0].size > 1 and np.unique(index[:, 0]).size < index.shape[0]:
                self._same_instruction(addresses, nbytes, segment)
        self._writer[index] = len(self._stores)

    def _ordered(self, other: _Store) -> bool:
        """A wave's own stores are done in order, those of its workgroup behind a barrier."""
        w = self.wave
        return other.workgroup == w.workgroup and (
            other.wave == w.id_in_wg or other.signalled < w.shadow.passed
        )

    def _twice(self, address: Any, nbytes: int, segment: Segment, other: _Store) -> None:
        key = ("output-written-twice", self.row, other.row)
        if self.findings.again(key):
            return
        text, values = self._where(int(address), segment)
        place = self.place(other.row)
        x, y, z = other.workgroup
        values["writers"] = [list(other.workgroup), other.wave]
        found = self.add(
            key, "output-written-twice", Severity.ERROR,
            f"stores another value at {text}, which workgroup {x},{y},{z} wave {other.wave} has written by "
            f"{place}: nothing says which comes last",
            other=place, values=values,
        )  # fmt: skip
        self._open.append((found, int(address)))

    def _same_instruction(self, addresses: Any, nbytes: int, segment: Segment) -> None:
        """Lanes of one store that meet at one address with different data."""
        order = np.argsort(addresses, kind="stable")
        near = np.flatnonzero(addresses[order][1:] == addresses[order][:-1])
        data, used = self.memory.storing, np.uint32((1 << 8 * min(4, nbytes)) - 1)
        for k in near.tolist():
            a, b = int(order[k]), int(order[k + 1])
            if ((data[:, a] ^ data[:, b]) & used == 0).all():
                continue
            key = ("output-written-twice", self.row, self.row)
            if self.findings.again(key):
                continue
            text, values = self._where(int(addresses[a]), segment)
            found = self.add(
                key, "output-written-twice", Severity.ERROR,
                f"two lanes of this store write different values at {text}", other=self.place(self.row),
                values=values,
            )  # fmt: skip
            self._open.append((found, int(addresses[a])))

    # -- descriptors and alignment ------------------------------------------------------------------------
    def clipped(self, addresses: Any, inside: Any, lanes: Any, nbytes: int) -> None:
        """Lanes of a buffer access that the range check cuts: ``inside`` bool [dwords, lanes]."""
        base, home = self._base(), self.expected_segment()
        if base is None or home is None:
            return
        records = self.wave.s[base.slot + 2]
        if records == 0:  # how kernels switch an access off
            return
        cut = np.flatnonzero(~inside.all(axis=0))
        first = addresses[cut] + (4 * np.argmin(inside[:, cut], axis=0)).astype(np.uint64)
        a = first.astype(np.int64)
        here = (a >= home.base) & (a < home.end)
        if here.any():
            here[here] = self.memory.host_wrote[a[here] - self.memory.base]
        for rule, which in (("descriptor-cuts-operand", here), ("descriptor-hides-overrun", ~here)):
            n = int(which.sum())
            if not n or self.findings.again((rule, self.row), n):
                continue
            k = int(np.flatnonzero(which)[0])
            text, values = self._where(int(a[k]), home)
            values["num_records"] = records
            if rule == "descriptor-hides-overrun" and home.base <= a[k] < home.end:
                text += ", padding"
            every = np.arange(self.wave.lanes) if lanes is None else lanes
            ins = self.instructions[self.row]
            done = "is dropped" if ins.mem is not None and ins.mem.store else "gives 0"
            found = self.add(
                (rule, self.row), rule, Severity.WARNING,
                f"accesses {text}; only the descriptor's num_records {records:#x} stops it: it {done}"
                if rule == "descriptor-hides-overrun"
                else f"accesses {text}, which is there, but the descriptor's num_records {records:#x} ends "
                f"before it: it {done}",
                lanes=tuple(every[cut[which]].tolist()), values=values,
            )  # fmt: skip
            found.count = n

    def _alignment(self, event: Any) -> None:
        ins = self.instructions[self.row]
        if ins.mem is None:
            return
        need, severity, why = 4, Severity.WARNING, "ROCm runs waves in unaligned mode, where this is slower"
        size = event.bytes
        if ins.mem.atomic:
            need, severity, why = size, Severity.ERROR, "an atomic that is not naturally aligned faults"
        elif event.space == "scalar" or size < 4:
            return
        bad = event.addresses % need != 0
        if not bad.any():
            return
        key = ("misaligned", self.row)
        n = int(bad.sum())
        if self.findings.again(key, n):
            return
        at = int(event.addresses[bad][0])
        where = f"LDS byte {at:#x}" if event.space == "lds" else self._where(at, None)[0]
        found = self.add(
            key, "misaligned", severity, f"accesses {size} bytes at {where}, no multiple of {need}: {why}",
            lanes=tuple(event.lanes[bad].tolist()), values={"address": hex(at), "needs": need},
        )  # fmt: skip
        found.count = n

    def scalar_alignment(self) -> None:
        """Before a scalar load: the hardware clears the low bits of its address, and reads other bytes."""
        ins, base = self.instructions[self.row], self._base()
        if base is None or base.descriptor or ins.mem is None or ins.mem.bytes < 4:
            return
        offset = ins.modifiers.get("offset", 0)
        total = self.wave.s[base.slot] + (offset if isinstance(offset, int) else 0)
        for o in ins.operands[2:]:
            if isinstance(o.value, int):
                total += o.value
            elif o.reg is not None and (slot := scalar_slot(o.reg)) is not None:
                total += self.wave.s[slot]
        low = total & 3
        key = ("misaligned", self.row)
        if low and not self.findings.again(key):
            self.add(
                key, "misaligned", Severity.ERROR,
                f"a scalar load from an address with the low bits {low}: the hardware ignores them and reads "
                f"from {low} bytes before",
                values={"low_bits": low, "needs": 4},
            )  # fmt: skip


def _item(operand: Any) -> int | None:
    """Bytes of an element, where the operand has a type."""
    kind = getattr(operand, "type", None)
    bits = getattr(kind, "bits", 0)
    return bits // 8 or None


def _base_of(ins: Instruction) -> _Base | None:
    if ins.base.startswith(("buffer_", "s_buffer_")):
        wide = [o.reg for o in ins.operands if _scalar(o.reg) and o.reg is not None and o.reg.count == 4]
        slot = scalar_slot(wide[-1]) if wide else None
        return None if slot is None else _Base(slot, True)
    if ins.base.startswith("global_"):
        pairs = [o.reg for o in ins.operands if _scalar(o.reg) and o.reg is not None and o.reg.count == 2]
        slot = scalar_slot(pairs[-1]) if pairs else None
        return None if slot is None else _Base(slot, False)
    if ins.base.startswith("s_load") and len(ins.operands) > 1 and ins.operands[1].reg is not None:
        slot = scalar_slot(ins.operands[1].reg)
        return None if slot is None else _Base(slot, False)
    return None


def _scalar(reg: RegSpan | None) -> bool:
    return reg is not None and reg.cls in (RegClass.SGPR, RegClass.TTMP, RegClass.VCC)
