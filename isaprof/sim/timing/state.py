"""State of the issue loop that is not a flat list: output, workgroups, and look-ups in a wave's history."""

from __future__ import annotations

from dataclasses import dataclass, field

from isaprof.sim.timing.scoreboard import SLOTS, Slot

#: a time before everything
NEVER = -(1 << 40)


@dataclass(slots=True)
class Records:
    """Output, one entry a record; those of one wave are in program order."""

    wave: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)  #: position in the wave's path
    time: list[int] = field(default_factory=list)
    stall: list[int] = field(default_factory=list)
    duration: list[int] = field(default_factory=list)
    category: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """A resident workgroup and its barrier."""

    number: int
    live: int
    arrived: int = 0
    phase: int = 0  #: completed barriers
    released: int = NEVER  #: when the last one completed
    waiting: list[int] = field(default_factory=list)


def counter_free(pending: list[int], most: int, now: int) -> int:
    """When a counter is below its maximum again; completed entries are forgotten."""
    gone = 0
    while gone < len(pending) and pending[gone] <= now:
        gone += 1
    del pending[:gone]
    return pending[-most] if len(pending) >= most else NEVER


def producer(
    which: int,
    w: int,
    recent_valu: list[int],
    valu_n: list[int],
    recent_trans: list[int],
    trans_n: list[int],
    board: list[int],
) -> int:
    """When the result that an s_delay_alu id names can be used (ids: AMD ISA guide, S_DELAY_ALU)."""
    if which <= 4:
        return recent_valu[w * 4 + (valu_n[w] - which) % 4]
    if which <= 7:
        return recent_trans[w * 4 + (trans_n[w] - (which - 4)) % 4]
    if which == 8:
        return NEVER  # FMA_ACCUM_CYCLE_1: forwarded, no visible delay
    return board[w * SLOTS + Slot.SALU] + which - 7
