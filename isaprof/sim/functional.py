"""Run a kernel on the functional simulator: whole grids or a sample of workgroups."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isaprof import arch as tables
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.errors import EnvironmentProblem, UsageError
from isaprof.isa.model import Listing
from isaprof.sim import abi, archdata
from isaprof.sim.executor import Program
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.lower.context import END, Context
from isaprof.sim.memory import LDS, Memory, Segment
from isaprof.sim.state import Wave, Workgroup
from isaprof.sim.stuck import Stillness
from isaprof.sim.trace import WaveTrace, WorkgroupTrace

Dim3 = tuple[int, int, int]

#: wave-instructions before the next wave of the workgroup gets its turn: few, so that waves stay as close
#: together as on hardware. Kernels depend on it: aiter's hd192 attention for gfx950 reads a tile of K from
#: LDS, and less than 200 instructions later, without a barrier, orders the load that overwrites it
QUANTUM = 16
#: wave-instructions of one workgroup before others get a turn (spin loops on another workgroup)
SLICE = 200_000
MAX_INSTRUCTIONS = 2_000_000_000
#: wave-instructions that the fast executor may leave to the reference before that is worth a word
MANY_FALLBACKS = 100_000
#: environment variable that chooses the executor where the caller does not
EXECUTOR = "ISAPROF_SIM_EXECUTOR"
#: scratch given to kernels whose stack size is not known at compile time
DYNAMIC_STACK = 16384


class Operand(Protocol):
    """A device buffer before the run."""

    name: str
    role: str  #: input, output, inout or scratch
    data: NDArray[np.uint8]


class Launch(Protocol):
    """What the simulator needs of a ResolvedLaunch."""

    grid: Dim3
    workgroup: Dim3
    dynamic_lds: int

    @property
    def operands(self) -> Sequence[Any]: ...

    def kernarg(self, addresses: Mapping[str, int]) -> bytes: ...


@dataclass(slots=True)
class FunctionalResult:
    """What a run produced. ``instructions`` counts executed wave-instructions."""

    outputs: dict[str, bytes]
    traces: list[WorkgroupTrace]
    instructions: int
    per_line_counts: NDArray[np.int64]  #: executions per listing index
    workgroups: int
    lds_outside: int = 0  #: lane accesses outside the LDS allocation (reads give 0, writes are dropped)
    lds_bytes: int = 0
    addresses: dict[str, int] = field(default_factory=dict)  #: operand -> device address
    executor: str = "reference"
    fallbacks: dict[str, int] = field(default_factory=dict)  #: fast executor: mnemonic -> executions by NumPy


Progress = Callable[[int, int, str], None]


def _no_progress(done: int, total: int, what: str) -> None:
    """The default progress callback."""


def _no_trace(wg: Dim3) -> bool:
    return False


def run(
    co: CodeObject,
    kernel: Kernel,
    listing: Listing,
    launch: Launch,
    *,
    workgroups: Sequence[Dim3] | None = None,
    trace: Callable[[Dim3], bool] = _no_trace,
    max_instructions: int = MAX_INSTRUCTIONS,
    progress: Progress = _no_progress,
    executor: str | None = None,
) -> FunctionalResult:
    """Execute ``kernel`` as launched; all workgroups, or only those given.

    ``trace(wg)`` selects the workgroups whose paths and memory accesses are
    kept. ``executor``: "fast" (compiled), "reference" (NumPy) or "auto", the
    fast one where it can be had; default is ``$ISAPROF_SIM_EXECUTOR``, else
    auto. Results, faults and traces are the same. Raises SimulatedFault (a
    KernelFault) for illegal accesses, instructions without semantics, deadlocks
    and the instruction limit; UsageError for workgroups outside the grid;
    EnvironmentProblem when "fast" is asked for and cannot be had.
    """
    machine = machine_class(executor)(co, kernel, listing, launch)
    chosen = chosen_workgroups(launch.grid, workgroups)
    with np.errstate(all="ignore"):
        machine.run_all(chosen, trace, max_instructions, progress)
    slow = machine.fallbacks
    if sum(slow.values()) > MANY_FALLBACKS:
        names = ", ".join(list(slow)[:4])
        n = sum(slow.values())
        _say(f"{n} of {machine.executed} wave-instructions ran on the NumPy reference: {names}")
    outputs = {
        o.name: machine.memory.contents(machine.segments[o.name])
        for o in launch.operands
        if o.role in ("output", "inout")
    }
    return FunctionalResult(
        outputs,
        machine.traces,
        machine.executed,
        np.array(machine.program.counts, np.int64),
        len(chosen),
        machine.lds_outside,
        machine.lds_bytes,
        {name: s.base for name, s in machine.segments.items()},
        machine.executor,
        slow,
    )


def machine_class(choice: str | None) -> type[Machine]:
    """The class of the executor that was chosen."""
    wanted = choice or os.environ.get(EXECUTOR) or "auto"
    if wanted not in ("auto", "fast", "reference"):
        raise UsageError(f"no executor {wanted!r}: auto, fast or reference ({EXECUTOR})", kind="executor")
    if wanted == "reference":
        return Machine
    from isaprof.sim.fast.build import Unavailable, load

    try:
        load()
    except Unavailable as e:
        if wanted == "fast":
            raise EnvironmentProblem(f"the fast executor cannot be used: {e}", kind="compiler") from None
        _note(str(e))
        return Machine
    from isaprof.sim.fast.machine import FastMachine

    return FastMachine


@cache
def _note(why: str) -> None:
    """Say once why everything takes longer."""
    _say(f"simulating without the fast executor, about 100 times slower: {why}")


def _say(text: str) -> None:
    print(f"isaprof: {text}", file=sys.stderr)


def chosen_workgroups(grid: Dim3, workgroups: Sequence[Dim3] | None) -> Sequence[Dim3]:
    """The workgroups to run in dispatch order, None for all; UsageError for one outside the grid."""
    if workgroups is None:
        return _Grid(grid)
    for wg in workgroups:
        if not all(0 <= i < n for i, n in zip(wg, grid, strict=True)):
            raise UsageError(f"workgroup {wg} is outside the grid {grid}", kind="workgroups")
    return list(workgroups)


class _Grid(Sequence[Dim3]):
    """All workgroups in dispatch order (x fastest), without holding them."""

    def __init__(self, grid: Dim3) -> None:
        self.grid = grid

    def __len__(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def __getitem__(self, i: Any) -> Any:
        nx, ny, _ = self.grid
        if not 0 <= i < len(self):
            raise IndexError(i)
        return (i % nx, i // nx % ny, i // (nx * ny))


class Machine:
    """Memory, program and scheduler of one run."""

    executor = "reference"
    #: what a sanitizer replaces by its own (isaprof.check)
    memory_class: type[Memory] = Memory
    lds_class: type[LDS] = LDS
    wave_class: type[Wave] = Wave
    program_class: type[Program] = Program

    def __init__(self, co: CodeObject, kernel: Kernel, listing: Listing, launch: Launch) -> None:
        self.kernel, self.launch = kernel, launch
        d = kernel.descriptor
        self.facts = archdata.facts(co.arch)
        self.lanes = kernel.wave_size
        table = tables.family_table(co.arch)
        granule: int = table.get("lds_alloc_granule", 512)
        self.lds_bytes = -(-(d.group_segment_fixed_size + launch.dynamic_lds) // granule) * granule
        private = d.private_segment_fixed_size + (DYNAMIC_STACK if d.uses_dynamic_stack else 0)
        self.private = (private + 3) // 4 * 4
        self.memory = self.memory_class()
        self.segments: dict[str, Segment] = {}
        bias = self._load(co)
        self.ctx = Context(
            co.arch, self.facts, self.lanes, d.arch_vgpr_count, d.agpr_count, listing, bias, self.private
        )
        self.program = self.program_class(self.ctx)
        start = listing.by_pc.get(kernel.start)
        if start is None:
            raise SimulatedFault(f"no instruction at the kernel's start {kernel.start:#x}", kind="wild_jump")
        self.start = start
        self.waves_per_workgroup = -(
            -launch.workgroup[0] * launch.workgroup[1] * launch.workgroup[2] // self.lanes
        )
        self._spare: list[Wave] = []
        self._spare_lds: list[LDS] = []
        self.traces: list[WorkgroupTrace] = []
        self.executed = 0
        self.lds_outside = 0

    @property
    def fallbacks(self) -> dict[str, int]:
        """Instructions that another executor than this one did: mnemonic -> wave-instructions."""
        return {}

    def _load(self, co: CodeObject) -> int:
        """Register all memory; returns device address minus virtual address of the code."""
        memory, launch = self.memory, self.launch
        image: list[tuple[int, Segment]] = []
        low = min((address for address, _ in co.segments), default=0)
        high = max((address + len(data) for address, data in co.segments), default=0)
        whole = bytearray(high - low)
        for address, data in co.segments:
            whole[address - low : address - low + len(data)] = data
        code = memory.add("code object", whole)
        image.append((low, code))
        for o in launch.operands:
            self.segments[o.name] = memory.add(
                o.name, np.ascontiguousarray(o.data).reshape(-1).view(np.uint8)
            )
        kernarg = launch.kernarg({name: s.base for name, s in self.segments.items()})
        kernarg = kernarg.ljust(max(self.kernel.kernarg_size, 1), b"\0")
        segment = memory.add("kernarg segment", kernarg, writable=False)
        packet = abi.dispatch_packet(
            launch.grid, launch.workgroup, self.private, self.lds_bytes, segment.base
        )
        packet_segment = memory.add("dispatch packet", packet, writable=False)
        memory.freeze()
        self.state = abi.LaunchState(
            launch.grid, launch.workgroup, kernarg, segment.base, packet_segment.base, self.private
        )
        self.users = abi.user_sgprs(self.kernel.descriptor, self.facts, self.state)
        return code.base - low

    # -- workgroups --------------------------------------------------------------
    def _new_wave(self) -> Wave:
        if self._spare:
            w = self._spare.pop()
            w.reset()
            return w
        w = self.wave_class(self.lanes, self.ctx.vgprs + self.ctx.agprs, self.ctx.vgprs)
        w.facts_fnuz = self.facts.fp8_fnuz
        return w

    def start_workgroup(self, wg: Dim3, traced: bool) -> Workgroup:
        """Waves of one workgroup, ready to run."""
        lds = self._spare_lds.pop() if self._spare_lds else self.lds_class(self.lds_bytes)
        lds.clear()
        group = Workgroup(wg, [], lds)
        for index in range(self.waves_per_workgroup):
            w = self._new_wave()
            self.prepare_wave(w, group, index, traced)
            group.waves.append(w)
        group.live = len(group.waves)
        return group

    def prepare_wave(self, w: Wave, group: Workgroup, index: int, traced: bool) -> None:
        """Registers, memory and position that wave ``index`` of ``group`` starts with."""
        abi.start_wave(w, self.kernel.descriptor, self.facts, self.state, self.users, group.id, index)
        w.pc = self.start
        w.memory, w.lds, w.wg = self.memory, group.lds, group
        if self.private:
            w.scratch = np.zeros((self.lanes, self.private), np.uint8)
        if traced:
            w.trace = {}

    def finish(self, group: Workgroup) -> None:
        """Keep what is asked of a workgroup that ended, and its memory for the next one."""
        self.lds_outside += group.lds.outside
        group.lds.outside = 0
        if group.waves and group.waves[0].trace is not None:
            self.traces.append(
                WorkgroupTrace(group.id, [_wave_trace(w) for w in group.waves], self.lds_bytes)
            )
        self._spare += group.waves
        self._spare_lds.append(group.lds)

    def run_all(
        self, chosen: Sequence[Dim3], trace: Callable[[Dim3], bool], limit: int, progress: Progress
    ) -> None:
        """Run the workgroups; one that runs long shares its time with the next ones."""
        waiting: Iterator[Dim3] = iter(chosen)
        active: deque[tuple[int, Workgroup]] = deque()
        done, total, started = 0, len(chosen), 0
        still = Stillness(self.memory)
        admit = True
        while True:
            if admit and (wg := next(waiting, None)) is not None:
                active.append((started, self.start_workgroup(wg, trace(wg))))
                started += 1
            if not active:
                break
            order, group = active.popleft()
            finished = self._turn(group, limit)
            if finished:
                self.finish(group)
                still.forget(order)
                done += 1
                progress(done, total, "workgroups")
            else:
                active.append((order, group))
                still.look(order, group, self.program.instructions)
                full = len(active) >= 64
                fault = still.deadlock({i for i, _ in active}, more=started < total and not full)
                if fault is not None:
                    raise fault
            # another one is admitted when one ended, or when the active ones do not get on
            admit = finished or len(active) < 64

    def _turn(self, group: Workgroup, limit: int) -> bool:
        """Run ``group`` for one slice; True when all its waves ended."""
        budget = SLICE
        while budget > 0:
            progressed = False
            for w in group.waves:
                if w.done or (w.barrier and not self._released(group, w)):
                    continue
                progressed = True
                left = limit - self.executed
                if left <= 0:
                    raise self._limit(w, limit)
                n, signal = self.program.run(w, min(QUANTUM, left))
                self.executed += n
                budget -= n
                if signal == END:
                    group.live -= 1
                    group.complete_phase()
            if group.live == 0:
                return True
            if not progressed:
                raise self._deadlock(group)
        return False

    def _released(self, group: Workgroup, w: Wave) -> bool:
        if group.phase <= w.phase:
            return False
        w.phase += 1
        w.barrier = False
        return True

    def _limit(self, w: Wave, limit: int) -> SimulatedFault:
        ins = self.program.instructions[w.pc] if w.pc < len(self.program.instructions) else None
        return SimulatedFault(
            f"stopped after {limit} wave-instructions (--max-instructions)",
            kind="instruction_limit", instruction=ins, workgroup=w.workgroup, wave=w.id_in_wg,
        )  # fmt: skip

    def _deadlock(self, group: Workgroup) -> SimulatedFault:
        waits = []
        for w in group.waves:
            at = self.program.instructions[w.pc - 1].pc if not w.done else None
            waits.append(f"wave {w.id_in_wg} " + ("ended" if at is None else f"waits at {at:#x}"))
        shown = "; ".join(waits[:16]) + ("; ..." if len(waits) > 16 else "")
        return SimulatedFault(
            f"deadlock: every wave waits at a barrier that {group.signalled} of {group.live} "
            f"waves signalled ({shown})",
            kind="deadlock", workgroup=group.id,
        )  # fmt: skip


def _wave_trace(w: Wave) -> WaveTrace:
    return WaveTrace(
        w.workgroup, w.id_in_wg, w.threads, w.path(), w.accesses(), frozenset(w.taken),
        frozenset(w.exec_zero),
    )  # fmt: skip
