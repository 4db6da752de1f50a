"""Runs workgroups on the fast executor, one thread for each core where that cannot change a result."""

from __future__ import annotations

import ctypes
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.errors import KernelFault
from isaprof.isa.model import Listing
from isaprof.sim import functional
from isaprof.sim.fast import build
from isaprof.sim.fast.decode import Decoder
from isaprof.sim.fast.records import (
    DEADLOCK,
    DRAIN,
    END,
    FALLBACK,
    LIMIT,
    SLICE,
    GroupRecord,
    MemoryRecord,
)  # fmt: skip
from isaprof.sim.fast.wave import FastWave
from isaprof.sim.lower.context import END as STEP_END
from isaprof.sim.memory import LDS
from isaprof.sim.state import Wave, Workgroup
from isaprof.sim.stuck import Stillness
from isaprof.sim.trace import WorkgroupTrace

Dim3 = tuple[int, int, int]
#: wave-instructions of one workgroup before others get a turn
SLICE_INSTRUCTIONS = 2_000_000
#: workgroups that take turns at most
ACTIVE = 64


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@dataclass(slots=True)
class _Running:
    """One workgroup and its C record."""

    order: int
    group: Workgroup
    record: GroupRecord
    pointers: Any


@dataclass(slots=True)
class _Worker:
    """What one thread owns."""

    counts: NDArray[np.int64]
    fallbacks: Counter[int] = field(default_factory=Counter)
    spare: list[Wave] = field(default_factory=list)
    spare_lds: list[LDS] = field(default_factory=list)
    lds_outside: int = 0


class FastMachine(functional.Machine):
    """A :class:`functional.Machine` that executes micro-ops; single instructions by the reference."""

    executor = "fast"

    def __init__(self, co: CodeObject, kernel: Kernel, listing: Listing, launch: functional.Launch) -> None:
        self.library = build.load()
        super().__init__(co, kernel, listing, launch)
        self.decoder = Decoder(self.ctx, self.library, self.start)
        self.prog = self.decoder.program()
        m = self.memory
        starts = np.array([s.base for s in m.segments], np.uint64)
        ends = np.array([s.end for s in m.segments], np.uint64)
        writable = np.array([s.writable for s in m.segments], np.uint8)
        self._kept = (starts, ends, writable)
        self.memory_record = MemoryRecord(
            m.bytes.ctypes.data, m.base, len(m.segments), starts.ctypes.data, ends.ctypes.data,
            writable.ctypes.data,
        )  # fmt: skip
        self._executed = ctypes.c_int64(0)
        self._lock = threading.Lock()
        self._found: list[tuple[int, WorkgroupTrace]] = []
        self._failed: tuple[int, BaseException] | None = None
        self._fallbacks: Counter[int] = Counter()
        self.threads = 1 if self._ordered(listing) else cores()

    def _ordered(self, listing: Listing) -> bool:
        """Whether workgroups may depend on each other's order: then one thread runs them as the reference
        does, so that a run can be repeated bit by bit."""
        return any("_atomic_" in i.base for i in listing.instructions)

    @property
    def fallbacks(self) -> dict[str, int]:
        """Instructions that the reference executed: mnemonic -> wave-instructions."""
        out: Counter[str] = Counter()
        for index, n in self._fallbacks.items():
            out[self.program.instructions[index].mnemonic] += n
        return dict(out.most_common())

    # -- workgroups ---------------------------------------------------------------------
    def _new_fast_wave(self, worker: _Worker) -> FastWave:
        if worker.spare:
            w = worker.spare.pop()
            w.reset()
        else:
            w = FastWave(self.lanes, self.ctx.vgprs + self.ctx.agprs, self.ctx.vgprs)
            w.facts_fnuz = self.facts.fp8_fnuz
        assert isinstance(w, FastWave)
        w.record.memory = ctypes.addressof(self.memory_record)
        return w

    def _begin(self, worker: _Worker, order: int, wg: Dim3, traced: bool, limit: int) -> _Running:
        lds = worker.spare_lds.pop() if worker.spare_lds else LDS(self.lds_bytes)
        lds.clear()
        group = Workgroup(wg, [], lds)
        for index in range(self.waves_per_workgroup):
            w = self._new_fast_wave(worker)
            self.prepare_wave(w, group, index, traced)
            w.start()
            group.waves.append(w)
        group.live = len(group.waves)
        addresses = [ctypes.addressof(w.record) for w in group.waves if isinstance(w, FastWave)]
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        record = GroupRecord(
            waves=ctypes.addressof(pointers), n=len(addresses), live=group.live, slice=SLICE_INSTRUCTIONS,
            budget=SLICE_INSTRUCTIONS, quantum=functional.QUANTUM, limit=limit,
            executed=ctypes.addressof(self._executed), counts=worker.counts.ctypes.data,
        )  # fmt: skip
        return _Running(order, group, record, pointers)

    def _end(self, worker: _Worker, run: _Running) -> None:
        group = run.group
        worker.lds_outside += group.lds.outside
        group.lds.outside = 0
        waves = [w for w in group.waves if isinstance(w, FastWave)]
        for w in waves:
            worker.lds_outside += w.record.lds_outside
            w.drain()
        if waves and waves[0].trace is not None:
            trace = WorkgroupTrace(group.id, [functional._wave_trace(w) for w in waves], self.lds_bytes)
            with self._lock:
                self._found.append((run.order, trace))
        worker.spare += waves
        worker.spare_lds.append(group.lds)

    # -- execution ------------------------------------------------------------------------
    def _advance(self, worker: _Worker, run: _Running) -> bool:
        """Run a workgroup for one slice; True when all its waves ended."""
        record, group = run.record, run.group
        g, p = ctypes.addressof(record), ctypes.addressof(self.prog)
        call = self.library.isa_run
        while True:
            signal = call(g, p)
            if signal == FALLBACK:
                self._reference(worker, run)
            elif signal == DRAIN:
                self._wave(run).drain()
            elif signal == END:
                return True
            elif signal == SLICE:
                return False
            elif signal == LIMIT:
                stopped = self._wave(run)
                stopped.from_record()
                raise self._limit(stopped, record.limit)
            elif signal == DEADLOCK:
                for w in group.waves:
                    assert isinstance(w, FastWave)
                    w.from_record()
                    w.done = bool(w.record.done)
                group.signalled, group.live = record.signalled, record.live
                raise self._deadlock(group)

    def _wave(self, run: _Running) -> FastWave:
        w = run.group.waves[run.record.cur]
        assert isinstance(w, FastWave)
        return w

    def _reference(self, worker: _Worker, run: _Running) -> None:
        """One instruction by the NumPy reference, on the same state."""
        w, record = self._wave(run), run.record
        w.drain()
        w.from_record()
        index = w.pc
        if w.trace is not None and 0 <= index < len(self.program.instructions):
            w.lines.append(index)
            if w.executing_zero():
                w.exec_zero.add(w.step)
        try:
            if not 0 <= index < len(self.program.steps):
                raise IndexError("list index out of range")
            step = self.program.steps[index] or self.program._lower(index)
            signal = step(w)
        except KernelFault:
            raise
        except Exception as e:
            raise self.program._fault(w, e) from e
        w.to_record()
        worker.counts[index] += 1
        worker.fallbacks[index] += 1
        record.left -= 1
        record.budget -= 1
        self.library.isa_count(ctypes.byref(self._executed), 1)
        if signal is not None:
            self.library.isa_signal(ctypes.byref(record), int(signal == STEP_END))

    def run_all(
        self,
        chosen: Sequence[Dim3],
        trace: Callable[[Dim3], bool],
        limit: int,
        progress: functional.Progress,
    ) -> None:
        """Run the workgroups on all threads; the first fault in dispatch order is the one raised."""
        waiting = iter(enumerate(chosen))
        total, done, begun = len(chosen), 0, 0
        running: set[int] = set()
        still = Stillness(self.memory)
        n = max(1, min(self.threads, total))
        workers = [_Worker(np.zeros(max(1, len(self.program.instructions)), np.int64)) for _ in range(n)]

        def next_one() -> tuple[int, Dim3] | None:
            nonlocal begun
            with self._lock:
                item = None if self._failed is not None else next(waiting, None)
                if item is not None:
                    begun += 1
                    running.add(item[0])
                return item

        def finished(order: int) -> None:
            nonlocal done
            still.forget(order)
            with self._lock:
                done += 1
                running.discard(order)
                progress(done, total, "workgroups")

        def sliced(run: _Running, room: bool) -> None:
            still.look(run.order, run.group, self.program.instructions)
            with self._lock:
                fault = still.deadlock(set(running), more=begun < total and room)
            if fault is not None:
                raise fault

        def fail(order: int, error: BaseException) -> None:
            with self._lock:
                if self._failed is None or order < self._failed[0]:
                    self._failed = (order, error)

        def work(worker: _Worker) -> None:
            active: deque[_Running] = deque()
            admit = True
            while True:
                order = -1  # whatever is not a workgroup's own fault ends the run first
                try:
                    if admit and (item := next_one()) is not None:
                        order, wg = item
                        active.append(self._begin(worker, order, wg, trace(wg), limit))
                    if not active:
                        return
                    run = active.popleft()
                    order = run.order
                    if self._failed is not None and order > self._failed[0]:
                        continue
                    ended = self._advance(worker, run)
                    if ended:
                        self._end(worker, run)
                    else:
                        active.append(run)
                        order = -1  # a deadlock is the fault of all
                        sliced(run, len(active) < ACTIVE)
                    admit = ended or len(active) < ACTIVE
                    if ended:
                        finished(order)
                    order = -1
                except KernelFault as e:
                    fail(order, e)
                except BaseException as e:
                    fail(-1, e)

        def guarded(worker: _Worker) -> None:
            with np.errstate(all="ignore"):
                work(worker)

        if n == 1:
            guarded(workers[0])
        else:
            threads = [threading.Thread(target=guarded, args=(w,), daemon=True) for w in workers[1:]]
            for t in threads:
                t.start()
            guarded(workers[0])
            for t in threads:
                t.join()
        if self._failed is not None:
            raise self._failed[1]
        for w in workers:
            self.lds_outside += w.lds_outside
            self._fallbacks += w.fallbacks
        self.program.counts = np.sum([w.counts for w in workers], axis=0)[
            : len(self.program.instructions)
        ].tolist()
        self.executed = self._executed.value
        self.traces = [t for _, t in sorted(self._found, key=lambda pair: pair[0])]
