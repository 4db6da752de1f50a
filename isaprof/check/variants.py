"""Runs that must give the same outputs: other legal orders of waves, other contents of what nobody wrote.

A difference is a proof: the kernel's result depends on something that the
hardware does not promise. The fast executor runs them where it can be had.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.check.machine import filled
from isaprof.check.shadow import launched
from isaprof.errors import KernelFault
from isaprof.sim import functional
from isaprof.sim.functional import Machine
from isaprof.sim.lower.context import END
from isaprof.sim.state import M0, VCC, Wave, Workgroup

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing

Dim3 = tuple[int, int, int]
Origin = tuple[Any, ...]

#: wave-instructions that a wave may run before another one gets its turn, in shuffled schedules: the first
#: order lets each wave run as far as it can, the second keeps them together, the others draw one of these
_TURNS = (4096, 1, 2, 3, 5, 8, 16, 40, 200)


@dataclass(frozen=True)
class Variant:
    """How a run differs from the plain one.

    ``order``: number of a shuffled schedule, None for the plain one. ``poison``:
    seed of what unwritten registers, LDS and memory hold (None: as launched);
    ``only``: the origins it applies to, None for all.
    """

    order: int | None = None
    poison: int | None = None
    only: Origin | None = None

    def fills(self, origin: Origin) -> bool:
        return self.poison is not None and (self.only is None or self.only == origin)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outputs of a run, or the fault that it ended in."""

    outputs: Mapping[str, bytes] = field(repr=False, default_factory=dict)
    fault: str | None = None


class _Varied(Machine):
    """Mixin in front of either executor."""

    variant = Variant()

    def prepare_wave(self, w: Wave, group: Workgroup, index: int, traced: bool) -> None:
        super().prepare_wave(w, group, index, traced)
        v = self.variant
        if v.poison is None:
            return
        rng = np.random.default_rng((v.poison, index, *group.id))
        rows, slots = launched(self, w)
        for row in range(rows.shape[0]):
            junk = rng.integers(0, 1 << 32, w.lanes, dtype=np.uint32)
            if v.fills(("v", row)):
                np.copyto(w.v[row], junk, where=~rows[row])
        for slot in (*range(VCC + 2), M0):
            word = int(rng.integers(0, 1 << 32))
            if not slots[slot] and v.fills(("s", slot)):
                w.s[slot] = word
        if v.fills(("scc",)):
            w.scc = int(rng.integers(0, 2))
        if index == 0 and v.fills(("lds",)):
            group.lds.bytes[:] = rng.integers(0, 256, group.lds.bytes.size, dtype=np.uint8)

    def _shuffled(self, group: Workgroup) -> random.Random:
        return random.Random(f"{self.variant.order} {group.id}")

    def _turns(self, rng: random.Random) -> int:
        order = self.variant.order or 0
        return _TURNS[order] if order < 2 else rng.choice(_TURNS)


class _VariedReference(_Varied):
    """Single waves in turns of random length."""

    def _turn(self, group: Workgroup, limit: int) -> bool:
        if self.variant.order is None:
            return super()._turn(group, limit)
        rng = self._shuffled(group)
        budget = functional.SLICE
        while budget > 0:
            ready = [w for w in group.waves if not w.done and (not w.barrier or self._released(group, w))]
            if not ready:
                if group.live == 0:
                    return True
                raise self._deadlock(group)
            w = rng.choice(ready)
            left = limit - self.executed
            if left <= 0:
                raise self._limit(w, limit)
            n, signal = self.program.run(w, min(self._turns(rng), left))
            self.executed += n
            budget -= n
            if signal == END:
                group.live -= 1
                group.complete_phase()
        return False


def _machine_class(executor: str | None) -> type[Machine]:
    base = functional.machine_class(executor)
    if base is Machine:
        return _VariedReference
    from isaprof.sim.fast.machine import FastMachine

    class VariedFast(_Varied, FastMachine):
        """The C scheduler goes round the waves: their order and the length of turns are what varies."""

        def _begin(self, worker: Any, order: int, wg: Dim3, traced: bool, limit: int) -> Any:
            run = super()._begin(worker, order, wg, traced, limit)
            if self.variant.order is not None:
                rng = self._shuffled(run.group)
                rng.shuffle(run.group.waves)
                addresses = [ctypes.addressof(w.record) for w in run.group.waves]  # type: ignore[attr-defined]
                run.pointers = (ctypes.c_void_p * len(addresses))(*addresses)
                run.record.waves = ctypes.addressof(run.pointers)
                run.record.quantum = self._turns(rng)
            return run

    return VariedFast


class Laboratory:
    """Runs variants of one launch on the chosen workgroups."""

    def __init__(
        self,
        co: CodeObject,
        kernel: Kernel,
        listing: Listing,
        launch: Any,
        chosen: Sequence[Dim3],
        *,
        limit: int,
        executor: str | None = None,
    ) -> None:
        self._args = (co, kernel, listing)
        self.launch, self.chosen, self.limit = launch, chosen, limit
        self._class = _machine_class(executor)

    def run(self, variant: Variant) -> Outcome:
        """One run; a fault is an outcome like any other."""
        launch = self.launch if variant.poison is None else _poisoned(self.launch, variant)
        chosen = list(self.chosen)
        if variant.order is not None:
            random.Random(variant.order).shuffle(chosen)
        try:
            machine = self._class(*self._args, launch)
            assert isinstance(machine, _Varied)
            machine.variant = variant
            with np.errstate(all="ignore"):
                machine.run_all(chosen, lambda wg: False, self.limit, lambda done, total, what: None)
        except KernelFault as e:
            return Outcome(fault=str(e))
        return Outcome(
            {
                o.name: _visible(o, self.launch, machine.memory.contents(machine.segments[o.name]))
                for o in self.launch.operands
                if o.role in ("output", "inout")
            }
        )


def _visible(operand: Any, launch: Any, data: bytes) -> bytes:
    """Output bytes without the padding, whose poison differs between runs."""
    placement = getattr(operand, "placement", None)
    if placement is None or placement.dense or operand.type.bits < 8:
        return data
    return bytes(operand.codes(data).tobytes())


def _poisoned(launch: Any, variant: Variant) -> Any:
    """``launch`` with other bytes wherever the host wrote none."""
    operands: list[Any] = []
    for o in launch.operands:
        data = np.ascontiguousarray(o.data).reshape(-1).view(np.uint8)
        if variant.fills(("memory", o.name)):
            rng = np.random.default_rng((variant.poison or 0, len(operands)))
            junk = rng.integers(0, 256, data.size, dtype=np.uint8)
            data = np.where(filled(o), data, junk)
        operands.append(SimpleNamespace(name=o.name, role=o.role, data=data))
    return SimpleNamespace(
        grid=launch.grid,
        workgroup=launch.workgroup,
        dynamic_lds=launch.dynamic_lds,
        operands=operands,
        kernarg=launch.kernarg,
    )


def differs(
    a: Outcome, b: Outcome, never: Mapping[str, Any] | None = None
) -> tuple[str, int, bytes, bytes] | None:
    """(operand, byte, its bytes in a, in b) of the first difference; None where there is none.

    ``never``: operand -> bool per byte, never written, which do not count.
    """
    for name, one in a.outputs.items():
        two = b.outputs.get(name, b"")
        x, y = np.frombuffer(one, np.uint8), np.frombuffer(two, np.uint8)
        if x.size != y.size:
            return name, 0, b"", b""
        other = x != y
        if never is not None and name in never and never[name].size == other.size:
            other &= ~never[name]
        if other.any():
            at = int(np.argmax(other)) & ~3
            return name, at, one[at : at + 4], two[at : at + 4]
    return None
