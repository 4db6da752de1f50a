"""Wait states that a hazard needs, and those that are there: the common part of the hazard rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from isaprof.analysis.cfg import Cfg
from isaprof.arch.table import ArchTable
from isaprof.isa.model import Instruction, RegSpan
from isaprof.lint.hazard_facts import SLOTS
from isaprof.lint.kinds import is_mfma, passes
from isaprof.lint.model import Finding, Kind, Rule, Site
from isaprof.lint.search import Found, wait_states, within


@dataclass(frozen=True, slots=True)
class Need:
    """``states`` wait states between a producer that matches and the instruction under test."""

    span: RegSpan | None  #: the registers it is about; None for modes
    states: int
    match: Callable[[Instruction], bool]
    what: str  #: how the finding's sentence begins; the producer follows
    only: Callable[[Found], bool] | None = None  #: further condition on the way between


@dataclass(frozen=True, slots=True)
class Short:
    """A need that some path does not meet."""

    need: Need
    found: Found
    present: int


def sites(found: Found) -> tuple[Site, ...]:
    """Producer, the branches on the way, consumer."""
    middle = [Site.of(i, "on the way") for i in found.between if i.is_branch]
    return (Site.of(found.way[0], "producer"), *middle, Site.of(found.way[-1], "consumer"))


def slots_between(found: Found, table: ArchTable) -> int:
    """Issue slots that must pass between the ends of a way, at least the wait states by the ISA's count.

    That count is one for an instruction, k + 1 for ``s_nop k``. Matrix
    instructions of one wave issue no closer than the passes of the earlier one
    (4 cycles each, one wait state a pass): the pipe takes one at a time, as
    public hardware traces of gfx950 show and AMD's matrix instruction
    calculator states for gfx942. What else is longer: SLOTS.
    """
    time = free = 0
    for n, ins in enumerate(found.way):
        if n:
            before = found.way[n - 1]
            time += max(wait_states(before) if n > 1 else 1, slots(before.base, table.name))
        if is_mfma(ins):
            time = max(time, free)
            free = time + (passes(ins, table) or 1)
    return time - 1


@lru_cache(maxsize=4096)
def slots(base: str, arch: str) -> int:
    """Issue slots that an instruction takes at least."""
    return next((n for p, n in SLOTS.get(arch, ()) if re.fullmatch(p, base)), 1)


def shortfalls(cfg: Cfg, position: int, needs: Iterable[Need], table: ArchTable) -> Iterator[Short]:
    """The needs of the instruction at ``position`` that are not met, worst way of each."""
    for need in needs:
        worst: Short | None = None
        for found, present in within(cfg, position, need.states, need.match):
            if need.only is not None and not need.only(found):
                continue
            enough = slots_between(found, table) >= need.states
            if not enough and present < need.states and (worst is None or present < worst.present):
                worst = Short(need, found, present)
        if worst is not None:
            yield worst


def report(rule: Rule, ins: Instruction, short: Short) -> Finding:
    """The finding for a need that is not met."""
    producer = short.found.ins
    missing = short.need.states - short.present
    verb = "is" if short.present == 1 else "are"
    return rule.at(
        ins,
        f"{short.need.what} {producer.pc:#x} {producer.text}: {short.need.states} wait states are needed, "
        f"{short.present} {verb} there; s_nop {missing - 1} would do",
        path=sites(short.found),
        required=short.need.states,
        present=short.present,
        unit=Kind.WAIT_STATES,
    )


def worst_first(shorts: Iterable[Short]) -> Short | None:
    """The need that is short by most."""
    return max(shorts, key=lambda s: s.need.states - s.present, default=None)
