"""The reference executor with a monitor around every instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isaprof import arch as tables
from isaprof.check.lds import LdsShadow
from isaprof.check.memory import CheckedLDS, CheckedMemory
from isaprof.check.monitor import Monitor
from isaprof.check.shadow import CheckedWave, WaveShadow, launched
from isaprof.sim.executor import Program
from isaprof.sim.functional import Machine
from isaprof.sim.state import Wave, Workgroup

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing
    from isaprof.sim.functional import Launch

Dim3 = tuple[int, int, int]

#: different paths of waves that are kept, and their steps in all: what the hazard rules look at
MAX_PATHS, MAX_STEPS = 4096, 50_000_000
#: smallest LDS accesses in bytes -> unit of the race rule's shadow
_WORD = 4


class CheckedProgram(Program):
    """Runs each instruction between the monitor's two looks at it."""

    monitor: Monitor

    def _run_traced(self, w: Wave, quantum: int) -> tuple[int, int | None]:
        assert isinstance(w, CheckedWave)
        before, after = self.monitor.before, self.monitor.after
        for n in range(quantum):
            i = w.pc
            step = self.steps[i] or self._lower(i)
            w.next = i + 1
            before(w, i)
            signal = step(w)
            after(w, i)
            self.counts[i] += 1
            w.clock += 1
            w.pc = w.next
            if signal is not None:
                return n + 1, signal
        return quantum, None


class CheckMachine(Machine):
    """One checked run. ``paths``: the different paths that waves took, as arrays of listing rows."""

    executor = "reference"
    memory_class = CheckedMemory
    lds_class = CheckedLDS
    wave_class = CheckedWave
    program_class = CheckedProgram

    def __init__(self, co: CodeObject, kernel: Kernel, listing: Listing, launch: Launch) -> None:
        super().__init__(co, kernel, listing, launch)
        assert isinstance(self.memory, CheckedMemory)
        assert isinstance(self.program, CheckedProgram)
        self._mark_written(self.memory)
        self.monitor = Monitor(self, tables.family_table(co.arch))
        self.memory.watcher = self.monitor
        self.program.monitor = self.monitor
        self._unit = _smallest_lds_access(listing)
        self.paths: dict[bytes, NDArray[np.int32]] = {}
        self._kept = 0

    def _mark_written(self, memory: CheckedMemory) -> None:
        """What the host filled: everything but outputs, scratch memory and padding."""
        operands = {o.name: o for o in self.launch.operands}
        memory.host_wrote = np.zeros(memory.bytes.size, np.bool_)
        for s in memory.segments:
            here = slice(s.base - memory.base, s.end - memory.base)
            o = operands.get(s.name)
            memory.host_wrote[here] = True if o is None else filled(o)
            memory.written[here] = memory.host_wrote[here]

    def start_workgroup(self, wg: Dim3, traced: bool) -> Workgroup:
        group = super().start_workgroup(wg, traced)
        assert isinstance(group.lds, CheckedLDS)
        group.lds.watcher = self.monitor
        group.lds.shadow = LdsShadow(self.lds_bytes, len(group.waves), self._unit)
        return group

    def prepare_wave(self, w: Wave, group: Workgroup, index: int, traced: bool) -> None:
        super().prepare_wave(w, group, index, True)
        assert isinstance(w, CheckedWave)
        rows, slots = launched(self, w)
        w.shadow = WaveShadow(self.monitor, self.monitor.replay, rows, slots)

    def finish(self, group: Workgroup) -> None:
        waves = [w for w in group.waves if isinstance(w, CheckedWave)]
        self.monitor.finished(waves)
        self._keep_paths(waves)
        for w in waves:
            w.trace = None
        super().finish(group)

    def _keep_paths(self, waves: Sequence[CheckedWave]) -> None:
        for w in waves:
            if self._kept > MAX_STEPS or len(self.paths) >= MAX_PATHS:
                return
            path = np.array(w.shadow.path, np.int32)
            key = path.tobytes()
            if key not in self.paths:
                self.paths[key] = path
                self._kept += path.size


def filled(operand: Any) -> Any:
    """Bool per byte of an operand (or one for all): did the host fill it."""
    # an output that partial sums are added to is filled, though it has the role of an output
    if operand.role in ("output", "scratch") and getattr(operand, "fill", "poison") == "poison":
        return False
    placement = getattr(operand, "placement", None)
    if placement is None or placement.dense:
        return True
    if operand.type.bits < 8:
        some = np.zeros(operand.data.size, np.bool_)
        some[placement.positions * operand.type.bits // 8] = True
        return some
    width = operand.type.bits // 8
    known = np.zeros((placement.elements, width), np.bool_)
    known[placement.positions] = True
    whole = np.zeros(operand.data.size, np.bool_)
    whole[: known.size] = known.reshape(-1)
    return whole


def _smallest_lds_access(listing: Listing) -> int:
    sizes = [
        i.mem.bytes for i in listing.instructions
        if i.mem is not None and i.mem.space == "lds" and i.mem.bytes in (1, 2)
    ]  # fmt: skip
    return min(sizes, default=_WORD)
