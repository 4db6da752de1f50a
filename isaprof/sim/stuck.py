"""Workgroups that run without getting anywhere: loops that wait for a value nobody will write.

A workgroup is still when the state of its waves (registers, position, LDS) is one
that it has had before while memory holds the same: it will go round for ever,
unless another workgroup changes memory. When all workgroups that could run are
still, the run is deadlocked. A loop that counts, reads a clock or stores
something new is never still.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field

import numpy as np

from isaprof.isa.model import Instruction
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.memory import Memory
from isaprof.sim.state import Wave, Workgroup

#: slices after which a workgroup is looked at; recurrences that count as standing still
_PATIENCE, _TIMES = 2, 3
#: states remembered per workgroup; loops of several waves meet again after the product of their lengths
_REMEMBERED = 512


@dataclass(slots=True)
class _History:
    slices: int = 0
    seen: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)  #: state -> (recurrences, memory)


class Stillness:
    """Watches the workgroups of one run that need several slices; safe to use from several threads."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._histories: dict[int, _History] = {}
        self._still: dict[int, str] = {}  #: order of a workgroup -> where its waves go round

    def forget(self, order: int) -> None:
        """Workgroup ``order`` has ended."""
        with self._lock:
            self._histories.pop(order, None)
            self._still.pop(order, None)

    def look(self, order: int, group: Workgroup, instructions: tuple[Instruction, ...]) -> None:
        """A slice of ``group`` is over."""
        h = self._histories.setdefault(order, _History())
        h.slices += 1
        if h.slices <= _PATIENCE:
            return
        state = _state(group)
        before = h.seen.get(state)
        if before is None:
            if len(h.seen) >= _REMEMBERED:
                h.seen.clear()
            h.seen[state] = (0, b"")
            self._moves(order)
            return
        times, memory = before
        now = hashlib.blake2b(self._memory.bytes.data, digest_size=16).digest()
        same = times == 0 or memory == now
        h.seen[state] = (times + 1 if same else 1, now)
        if not same:
            self._moves(order)
        elif times + 1 >= _TIMES:
            with self._lock:
                self._still[order] = _where(group, instructions)

    def _moves(self, order: int) -> None:
        with self._lock:
            self._still.pop(order, None)

    def deadlock(self, active: set[int], more: bool) -> SimulatedFault | None:
        """The fault when none of the workgroups ``active`` moves and no other one (``more``) can start."""
        with self._lock:
            if more or not active or not active <= self._still.keys():
                return None
            where = [self._still[i] for i in sorted(active)]
        shown = "; ".join(where[:4]) + (f"; and {len(where) - 4} more workgroups" if len(where) > 4 else "")
        return SimulatedFault(
            "deadlock: no wave changes its registers, LDS or memory any more, each waits in a loop for a "
            f"value that nobody will write ({shown})",
            kind="deadlock",
        )


def _state(group: Workgroup) -> bytes:
    digest = hashlib.blake2b(group.lds.bytes.data, digest_size=16)
    for w in group.waves:
        digest.update(w.v.data)
        digest.update(np.array([*w.s, position(w), _scc(w), int(done(w))], np.uint64).data)
        if w.scratch is not None:
            digest.update(w.scratch.data)
    return digest.digest()


def position(w: Wave) -> int:
    """Listing index where the wave stands, in either executor."""
    record = getattr(w, "record", None)
    return int(w.pc if record is None else record.pc)


def _scc(w: Wave) -> int:
    record = getattr(w, "record", None)
    return int(w.scc if record is None else record.scc)


def done(w: Wave) -> bool:
    """Whether the wave has ended, in either executor."""
    record = getattr(w, "record", None)
    return bool(w.done if record is None else record.done)


def _where(group: Workgroup, instructions: tuple[Instruction, ...]) -> str:
    """``workgroup (0, 0, 0): wave 0 at 0x1600 (s_cbranch_scc0 ...)``."""
    waves = []
    for w in group.waves:
        at = position(w)
        if not done(w) and at < len(instructions):
            waves.append(f"wave {w.id_in_wg} at {instructions[at].pc:#x} ({instructions[at].text})")
    more = f", {len(waves) - 2} more waves" if len(waves) > 2 else ""
    return f"workgroup {group.id}: {', '.join(waves[:2])}{more}"
