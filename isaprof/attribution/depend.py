"""What an instruction waits for within its own wave: order rules, branches, register dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isaprof.attribution.constraints import CAUSE_CODE, NEVER
from isaprof.attribution.model import Cause
from isaprof.attribution.records import JUMP, NEXT
from isaprof.attribution.rules import ORDER_RULES, OrderRule
from isaprof.attribution.static import EXEC_MASK, Cls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.constraints import Constraints
    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode


def last_of(wanted: NDArray[np.bool_], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """The last record before each record, of the same wave, for which ``wanted``; -1 if none.

    ``first`` is the first record of each record's wave.
    """
    at = np.where(wanted, np.arange(len(wanted)), -1)
    out = np.full(len(wanted), -1, np.int64)
    out[1:] = np.maximum.accumulate(at)[:-1]
    out[out < first] = -1
    return out


def offer_order_rules(code: StaticCode, records: Records, out: Constraints) -> None:
    """All of :data:`ORDER_RULES` that the architecture has."""
    cls = code.cls[records.line]
    first = records.first[records.w] if len(records) else np.zeros(0, np.int64)
    last: dict[tuple[Cls, Cls], NDArray[np.int64]] = {}
    for rule in ORDER_RULES:
        cycles = code.table.get(rule.cycles)
        if cycles is None or (rule.requires is not None and rule.requires not in code.table):
            continue
        key = (rule.producer, rule.not_producer)
        if key not in last:
            last[key] = last_of(_matches(cls, rule), first)
        producer = last[key]
        at = np.flatnonzero(((cls & int(rule.consumer)) != 0) & (producer >= 0))
        p = producer[at]
        ready = records.issue[p] + code.scale_slot[records.line[p]] + int(cycles)
        if rule.after_occupancy:
            period = int(code.table.get("issue_period", 1))
            ready = ready + code.occupancy[records.line[p]] - period
        out.offer(at, ready, rule.cause, records.line[p], rule.slack)


def _matches(cls: NDArray[np.int64], rule: OrderRule) -> NDArray[np.bool_]:
    return np.asarray(((cls & int(rule.producer)) != 0) & ((cls & int(rule.not_producer)) == 0))


def offer_alu_waits(code: StaticCode, records: Records, out: Constraints) -> None:
    """The record behind an ``s_wait_alu`` (of gfx11's ``s_waitcnt_depctr`` its own), whatever it reads.

    va_vdst waits until all vector results are written, as memory does
    (LLVM AMDGPUInsertDelayAlu.cpp), va_vcc and va_sdst for those in SGPRs and
    VCC, sa_sdst for the scalar ALU's.
    """
    cls = code.cls[records.line]
    first = records.first[records.w] if len(records) else np.zeros(0, np.int64)
    own = [wait_alu_fields(x.text) if x.traced else 0 for x in code.instructions]
    between = [_waits_between(code, line) for line in range(len(code))]
    fields = (np.array(own, np.int64) | np.array(between, np.int64))[records.line]
    table = code.table
    late = table.get("valu_to_mem")
    for mask, producers, cycles, cause, slack in (
        (_BIT["va_vdst"], Cls.VALU, late, Cause.VALU_DEP, 4),
        (_VCC_FIELDS, Cls.VALU_SGPR, table.get("vcc_wait_alu", late), Cause.VALU_DEP, 4),
        (_SALU_FIELDS, Cls.SALU, table.get("salu_wait_alu"), Cause.SALU_DEP, 1),
    ):
        waits = (fields & mask) != 0
        if cycles is None or not waits.any():
            continue
        producer = last_of((cls & int(producers)) != 0, first)
        at = np.flatnonzero(waits & (producer >= 0))
        p = producer[at]
        out.offer(at, records.issue[p] + int(cycles), cause, records.line[p], slack)


def offer_branches(code: StaticCode, records: Records, out: Constraints) -> None:
    """The record after a branch: taken or not, from the architecture table.

    A taken branch refetches from its target: 20 cycles on gfx950, 9 on RDNA
    with the target in the instruction cache; not taken 4 and 3 (public
    hardware thread traces).
    """
    after = np.flatnonzero(~records.is_first)
    before = after - 1
    grain = int(code.table.get("time_grain", 1))
    # jumps to an address in registers, and calls, are scalar instructions in a trace, and always taken
    how = records.category[before]
    is_branch = (code.cls[records.line[before]] & int(Cls.BRANCH)) != 0
    indirect = is_branch & (how != JUMP) & (how != NEXT)
    for category, key in ((JUMP, "branch_taken"), (NEXT, "branch_not_taken")):
        cycles = code.table.get(key)
        if cycles is None:
            continue
        hit = records.category[before] == category
        if category == JUMP:
            hit = hit | indirect
        at, p = after[hit], before[hit]
        out.offer(at, records.issue[p] + int(cycles), Cause.BRANCH, records.line[p], grain)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Cycles from the producer's issue to the consumer's earliest issue, and what to call it."""

    cycles: int
    cause: Cause
    slack: int


class RegisterDependencies:
    """Read-after-write delays between two lines, by class, from the architecture table.

    VALU results: ``valu_rules`` (5 cycles on RDNA, no visible delay on CDNA);
    matrix results: passes plus the interlock of LLVM's GCNHazardRecognizer;
    scalar results and VALU-written SGPRs: the measured figures of the table.
    """

    def __init__(self, code: StaticCode) -> None:
        self.code = code
        self._memo: dict[int, _Pair | None] = {}
        t = code.table
        self._grain = int(t.get("time_grain", 1))
        self._matrix_extra = self._matrix_interlock()
        figures = (
            "valu_sgpr_to_salu", "vcmp_to_vcc_branch", "exec_to_branch", "salu_to_branch", "scmp_to_branch",
            "salu_to_vmem", "salu_to_smem", "salu_to_valu", "salu_wait_alu", "vcc_wait_alu",
        )  # fmt: skip
        longest = int(code.latency.max()) if len(code) else 0
        self.reach = max([longest + self._matrix_extra, *(int(t.get(k, 0)) for k in figures)])

    def _matrix_interlock(self) -> int:
        for rule in self.code.table.get("matrix_hazards", ()):
            if rule.producer == "xdl" and rule.consumer == "valu_or_memory":
                return int(rule.states) * int(self.code.table.get("hazard_slot_cycles", 4))
        return int(self.code.table.get("valu_dep_latency", 0))

    def pair(self, producer: int, consumer: int) -> _Pair | None:
        """The delay between two lines; None where the consumer reads nothing the producer writes."""
        key = producer * len(self.code) + consumer
        if key in self._memo:
            return self._memo[key]
        found = self._memo[key] = self._derive(producer, consumer)
        return found

    def _derive(self, producer: int, consumer: int) -> _Pair | None:
        code, table = self.code, self.code.table
        shared = code.writes[producer] & code.reads[consumer]
        p, c = Cls(int(code.cls[producer])), Cls(int(code.cls[consumer]))
        if p & Cls.VALU and c & (Cls.VALU | Cls.VMEM | Cls.LDS):
            shared &= ~EXEC_MASK
        if not shared:
            return None

        def figure(cause: Cause, *keys: str, slack: int = 1) -> _Pair | None:
            cycles = next((int(table[k]) for k in keys if k in table), None)
            return None if cycles is None else _Pair(cycles, cause, max(slack, self._grain))

        if p & Cls.MATRIX:
            if c & Cls.MATRIX and self._accumulates(producer, consumer):
                return _Pair(int(code.latency[producer]), Cause.MATRIX_BUSY, self._grain)
            if c & (Cls.VALU | Cls.VMEM | Cls.LDS | Cls.EXPORT):
                cycles = int(code.latency[producer]) + self._matrix_extra
                return _Pair(cycles, Cause.MATRIX_DEP, self._grain)
            return None
        if p & Cls.VALU:
            if c & Cls.BRANCH:
                return figure(Cause.VALU_DEP, "vcmp_to_vcc_branch", "exec_to_branch", slack=2)
            if c & (Cls.SALU | Cls.SMEM):
                return figure(Cause.VALU_DEP, "valu_sgpr_to_salu")
            if c & Cls.VALU:
                waits = _waits_between(self.code, consumer)
                if waits & _VCC_FIELDS:
                    return figure(Cause.VALU_DEP, "vcc_wait_alu")
                return _Pair(int(code.latency[producer]), Cause.VALU_DEP, 2)
            return None
        if p & Cls.SALU:
            if c & Cls.BRANCH:
                return figure(Cause.SALU_DEP, "salu_to_branch", "scmp_to_branch")
            if c & Cls.SMEM:
                return figure(Cause.SALU_DEP, "salu_to_smem")
            if c & (Cls.VMEM | Cls.LDS):
                return figure(Cause.SALU_DEP, "salu_to_vmem")
            if _waits_between(self.code, consumer) & _SALU_FIELDS:
                return figure(Cause.SALU_DEP, "salu_wait_alu")
            if c & Cls.SALU:
                return figure(Cause.SALU_DEP, "salu_dep_latency")
            if c & Cls.VALU:
                return figure(Cause.SALU_DEP, "salu_to_valu", "salu_dep_latency")
        return None

    def _accumulates(self, producer: int, consumer: int) -> bool:
        """The result is only the next accumulator, by the same registers: no extra delay."""
        a, b = self.code.instructions[producer], self.code.instructions[consumer]
        if not a.operands or len(b.operands) < 4:
            return False
        return a.operands[0].reg == b.operands[3].reg and not any(
            a.operands[0].reg is not None and o.reg is not None and a.operands[0].reg.overlaps(o.reg)
            for o in b.operands[1:3]
        )


#: fields of s_wait_alu (gfx12) and s_waitcnt_depctr (gfx11): name, low bit, width. A field at its
#: maximum waits for nothing (AMD ISA guides; LLVM AMDGPUBaseInfo.cpp, DepCtr).
WAIT_ALU_FIELDS: tuple[tuple[str, int, int], ...] = (
    ("sa_sdst", 0, 1), ("va_vcc", 1, 1), ("vm_vsrc", 2, 3), ("hold_cnt", 7, 1), ("va_ssrc", 8, 1),
    ("va_sdst", 9, 3), ("va_vdst", 12, 4),
)  # fmt: skip
_BIT = {name: 1 << n for n, (name, _, _) in enumerate(WAIT_ALU_FIELDS)}
_SALU_FIELDS = _BIT["sa_sdst"]
_VCC_FIELDS = _BIT["va_vcc"] | _BIT["va_sdst"]


def wait_alu_fields(text: str) -> int:
    """Which fields of an s_wait_alu / s_waitcnt_depctr text really wait (bits of ``_BIT``).

    LLVM prints them by name, ``depctr_va_vcc(0)``, or the whole word as hex.
    """
    name, _, rest = text.partition(" ")
    if not name.startswith(("s_wait_alu", "s_waitcnt_depctr")):
        return 0
    rest = rest.strip()
    if rest[:1].isdigit():
        word = int(rest.split()[0], 0)
        return sum(_BIT[n] for n, low, width in WAIT_ALU_FIELDS
                   if word >> low & ((1 << width) - 1) != (1 << width) - 1)  # fmt: skip
    return sum(_BIT[n] for n, _, _ in WAIT_ALU_FIELDS if f"{n}(" in rest)


def _waits_between(code: StaticCode, consumer: int) -> int:
    """Fields of the s_wait_alu / s_waitcnt_depctr lines just before ``consumer`` that wait."""
    out = 0
    for line in code.skipped[consumer]:
        out |= wait_alu_fields(code.instructions[line].text)
    return out


def offer_register_dependencies(
    code: StaticCode, records: Records, window: NDArray[np.int64], out: Constraints
) -> None:
    """Read-after-write delays of all records that waited.

    ``window``: the cycle from which each record could have issued; only
    producers whose result was not ready then are looked at.
    """
    rules = RegisterDependencies(code)
    cls = code.cls[records.line]
    issue = records.issue
    waited = np.flatnonzero((issue > window) & ((cls & int(Cls.INTERNAL)) == 0) & ~records.is_first)
    n, lines = len(code), records.line
    start, horizon = records.first[records.w[waited]], window[waited] - rules.reach
    best, ready = np.full(len(waited), -1, np.int64), window[waited]
    # all of them look one record further back, until theirs were too long ago
    left, distance = np.arange(len(waited)), 0
    while len(left):
        distance += 1
        j = waited[left] - distance
        left, j = left[j >= start[left]], j[j >= start[left]]
        near = issue[j] >= horizon[left]
        left, j = left[near], j[near]
        which, pairs = pd.factorize(lines[j] * n + lines[waited[left]])
        found = [rules.pair(*divmod(pair, n)) for pair in pairs.tolist()]
        cycles = np.array([NEVER if p is None else p.cycles for p in found], np.int64)
        until = issue[j] + cycles[which]
        later = np.flatnonzero(until > ready[left])
        ready[left[later]], best[left[later]] = until[later], j[later]
    at = np.flatnonzero(best >= 0)
    r, producer = waited[at], lines[best[at]]
    which, pairs = pd.factorize(producer * n + lines[r])
    named = [p for pair in pairs.tolist() if (p := rules.pair(*divmod(pair, n))) is not None]
    assert len(named) == len(pairs)
    cause, slack = (np.array(x, np.int64)[which] for x in (
        [CAUSE_CODE[p.cause] for p in named], [p.slack for p in named],
    ))  # fmt: skip
    out.offer_codes(r, ready[at], cause, producer, slack)
