"""Static decode of a listing for the timing loop: every line as small numbers.

All that can be known about a line before it runs (kind, port, occupancies,
registers, scoreboard rules, counters) is looked up once per line and kept in
flat lists, so that the loop itself touches no object and no text.
"""

from __future__ import annotations

import re
from collections.abc import Container, Hashable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import accumulate

from isaprof.arch.table import MatrixRule, ValuRule
from isaprof.isa.model import Category, Instruction, Listing, Pipe, RegClass, RegSpan
from isaprof.isa.vgpr_banks import bank_conflict
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.timing.scoreboard import RULES, Kind, Slot

#: issue ports of a SIMD; an instruction of each may issue per turn, from different waves
PORT_VALU, PORT_SALU, PORT_SMEM, PORT_VMEM, PORT_LDS, PORT_BRANCH, PORT_EXPORT, PORT_NONE = range(8)
PORTS = 8

#: VALU ports without a queue: the first only; either, the first where it is free; either, rather the second
SIDE_FIRST, SIDE_EITHER, SIDE_SECOND = range(3)

#: VGPRs a wave can name
REGISTERS = 256

#: codes of the trace categories in the loop's output
CATEGORIES = tuple(c.value for c in Category)
CODE = {c: i for i, c in enumerate(Category)}

_DELAY_IDS = {
    **{f"VALU_DEP_{n}": n for n in range(1, 5)},
    **{f"TRANS32_DEP_{n}": 4 + n for n in range(1, 4)},
    "FMA_ACCUM_CYCLE_1": 8,
    **{f"SALU_CYCLE_{n}": 8 + n for n in range(1, 4)},
}
_SKIPS = {"SAME": 0, "NEXT": 1, **{f"SKIP_{n}": n + 1 for n in range(1, 5)}}
_WAIT_ALU = ("s_wait_alu", "s_waitcnt_depctr")
#: fields of s_wait_alu / s_waitcnt_depctr: name -> (low bit, width)
#: s_sleep_var of a register is timed as its own slot: paths do not say what the register held
_SLEEPS = ("s_sleep", "s_sleep_var")
_DEPCTR = {"sa_sdst": (0, 1), "va_vcc": (1, 1), "va_sdst": (9, 3), "va_vdst": (12, 4)}


@dataclass(slots=True)
class Lines:
    """Flat per-line lists. ``*_ptr`` lists have one entry more than there are lines."""

    kind: list[int] = field(default_factory=list)
    traced: list[bool] = field(default_factory=list)
    category: list[int] = field(default_factory=list)  #: dynamic category of the record (branches: JUMP)
    port: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)  #: cycles until the wave may issue its next instruction
    taken: list[int] = field(default_factory=list)  #: branches: block when taken
    busy: list[int] = field(default_factory=list)  #: cycles the port is taken
    extra: list[int] = field(default_factory=list)  #: duration - stall of the record
    exec: list[int] = field(default_factory=list)  #: cycles of the VALU, matrix or scalar pipe
    latency: list[int] = field(default_factory=list)  #: start of execution to use by a VALU instruction
    release: list[int] = field(default_factory=list)  #: end of occupancy to the queue entry's release
    alone: list[bool] = field(default_factory=list)  #: takes every VALU port of the SIMD
    side: list[int] = field(default_factory=list)  #: which VALU ports will do: SIDE_FIRST, _EITHER, _SECOND
    hold: list[int] = field(default_factory=list)  #: matrix: cycles one VALU port stays taken
    scale: list[int] = field(default_factory=list)  #: matrix: cycles of the scale slot in front
    cycles: list[int] = field(default_factory=list)  #: s_nop, s_sleep, WAIT_ALU's own slot
    clause: list[int] = field(default_factory=list)  #: s_clause: instructions in it
    priority: list[int] = field(default_factory=list)  #: s_setprio: the priority, else -1
    fetch: list[int] = field(default_factory=list)  #: instruction fetch block
    rule_ptr: list[int] = field(default_factory=lambda: [0])
    rule_slot: list[int] = field(default_factory=list)
    rule_add: list[int] = field(default_factory=list)
    sets_ptr: list[int] = field(default_factory=lambda: [0])
    sets_slot: list[int] = field(default_factory=list)
    sets_add: list[int] = field(default_factory=list)
    read_ptr: list[int] = field(default_factory=lambda: [0])
    read: list[int] = field(default_factory=list)
    write_ptr: list[int] = field(default_factory=lambda: [0])
    write: list[int] = field(default_factory=list)
    delay: list[tuple[int, int, int]] = field(default_factory=list)  #: s_delay_alu: (id0, skip, id1)
    counters: list[tuple[int, ...]] = field(default_factory=list)
    waits: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    store: list[bool] = field(default_factory=list)
    load: list[bool] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    apart: list[int] = field(default_factory=list)  #: vector memory: cycles until the unit takes the next
    permute: list[bool] = field(default_factory=list)  #: LDS instruction that only moves data between lanes


def decode(
    listing: Listing, k: Constants, counters: Sequence[str], wave_size: int, executed: Container[int]
) -> Lines:
    """Decode the ``executed`` lines (the others become lines without effect).

    ``counters`` gives the counter numbers, ``k`` the constants. Raises
    KernelFault for a matrix instruction whose cycles the table does not know.
    """
    decoder = _Decoder(k, {name: i for i, name in enumerate(counters)}, wave_size)
    known: dict[Hashable, int] = {}
    forms = []
    behind_wait = False
    for i in listing.instructions:
        key = (behind_wait, decoder.bank_extra(i), *_form(i)) if i.index in executed else None
        number = known.setdefault(key, len(known))
        if number == len(decoder.out.kind):
            decoder.behind_wait = behind_wait
            decoder.add(i if key is not None else Instruction(0, 0, 4, (), "", "", "", "", traced=False))
        forms.append(number)
        behind_wait = decoder.out.kind[number] == Kind.WAIT
    return _of_lines(decoder, forms, listing, executed)


def _form(i: Instruction) -> tuple[Hashable, ...]:
    """All that the costs of an instruction depend on; unrolled code has thousands of few forms."""
    reads, writes = (tuple([(r.cls, r.count) for r in spans]) for spans in (i.reads, i.writes))
    # immediates matter in what has no registers
    text = i.text if i.pipe is Pipe.INTERNAL or not (reads or writes) else ""
    formats = (i.modifiers.get("cbsz"), i.modifiers.get("blgp")) if i.modifiers else ()
    return (i.base, i.pipe, i.category, i.traced, i.mem, i.counters, i.waits, reads, writes, text, formats)


def _of_lines(d: _Decoder, forms: Sequence[int], listing: Listing, executed: Container[int]) -> Lines:
    """The lines of a listing from their forms, with what differs between lines of one form."""
    out, of = Lines(), d.out
    ragged = {"rule_ptr": ("rule_slot", "rule_add"), "sets_ptr": ("sets_slot", "sets_add")}
    apart = {
        "fetch",
        "read_ptr",
        "read",
        "write_ptr",
        "write",
        *ragged,
        *(n for ns in ragged.values() for n in ns),
    }
    for f in fields(Lines):
        if f.name not in apart:
            column = getattr(of, f.name)
            setattr(out, f.name, [column[n] for n in forms])
    for pointer, names in ragged.items():
        at = getattr(of, pointer)
        setattr(out, pointer, list(accumulate((at[n + 1] - at[n] for n in forms), initial=0)))
        for name in names:
            column = getattr(of, name)
            setattr(out, name, [x for n in forms for x in column[at[n] : at[n + 1]]])
    block = d.k["icache_fetch_bytes"]
    for i, kind in zip(listing.instructions, out.kind, strict=True):
        out.fetch.append((max(i.end, i.pc + 4) - 1) // block)
        if d.queued and kind in _QUEUED and i.index in executed:
            # a matrix instruction takes its accumulator late: a chain on it runs at the full rate
            out.read.extend(_vgprs([r for r in i.reads if kind != Kind.MATRIX or r not in i.writes]))
            out.write.extend(_vgprs(i.writes))
        out.read_ptr.append(len(out.read))
        out.write_ptr.append(len(out.write))
    return out


class _Decoder:
    def __init__(self, k: Constants, counters: dict[str, int], wave_size: int) -> None:
        self.k = k
        self.counters = counters
        self.out = Lines()
        self.period: int = k["issue_period"]
        self.queued: bool = k["valu_queue"] > 1
        self.halves: int = k.get("wave64_halves", 1) if wave_size == 64 else 1
        self.rules = RULES[k["issue_model"]]
        shared = "SALU_SMEM" in k["issue_classes"]  # one issue slot for scalar ALU and scalar memory
        self.ports = {**_PORT, Kind.SMEM: PORT_SALU} if shared else _PORT
        self.alone = re.compile("|".join(k.get("valu_alone", ())) or r"(?!)")
        self.packed = re.compile(k.get("packed_f32_pattern", r"(?!)"))
        # where nothing is known of ports, all are alike
        self.either = re.compile("|".join(k.get("valu_either_port", ())) or r".*")
        self.second = re.compile("|".join(k.get("valu_second_port", ())) or r"(?!)")
        self.behind_wait = False  # in the order of the code

    def add(self, i: Instruction) -> None:
        kind = kind_of(i)
        o, period = self.out, self.period
        o.kind.append(int(kind))
        o.traced.append(i.traced)
        o.category.append(CODE[_record_category(i, kind)])
        o.port.append(self.ports[kind])
        o.counters.append(tuple(self.counters[c] for c in i.counters if c in self.counters))
        o.waits.append(tuple((self.counters[c], n) for c, n in i.waits if c in self.counters))
        o.store.append(i.mem is not None and i.mem.store)
        o.load.append(i.mem is not None and i.mem.load)
        o.bytes.append(i.mem.bytes if i.mem is not None else 0)
        handed = i.base.startswith(("global_store", "flat_store"))  # 64-bit addresses and data
        o.apart.append(self.k.get("vmem_global_store_issue", 0) if handed else 0)
        o.permute.append("permute" in i.base or "swizzle" in i.base)
        o.delay.append(_delay(i.text) if kind is Kind.DELAY_ALU else (0, 0, 0))
        o.clause.append((_immediate(i) & 0x3F) + 1 if i.base == "s_clause" else 0)
        o.priority.append(_immediate(i) & 3 if i.base == "s_setprio" else -1)
        o.cycles.append(self._fixed(i, kind))
        self._costs(i, kind)
        o.block.append(max(period, self._block(kind)))
        o.taken.append(self.k["branch_taken"] if kind is Kind.BRANCH else 0)
        self._scoreboard(i, kind)
        self.behind_wait = kind is Kind.WAIT

    def _block(self, kind: Kind) -> int:
        """Cycles until the wave's next instruction; a VALU instruction of several cycles holds its wave."""
        if kind is Kind.BRANCH:
            return int(self.k["branch_not_taken"])
        o = self.out
        if self.queued:
            return o.busy[-1] if kind is Kind.VALU else 1
        if kind in (Kind.VALU, Kind.TRANS, Kind.MATRIX, Kind.LDS):
            return o.extra[-1]
        return self.period

    def _costs(self, i: Instruction, kind: Kind) -> None:
        """Port, pipe and record cycles."""
        o, k, period = self.out, self.k, self.period
        busy, extra, pipe, latency = period, period, period, k["valu_dep_latency"]
        release, alone, hold, scale = k["valu_release"], False, 0, 0
        if kind in (Kind.VALU, Kind.TRANS):
            rule = valu_rule(k["valu_rules"], i.base)
            pipe, latency = rule.occupancy * self.halves, rule.latency + rule.occupancy * (self.halves - 1)
            extra = pipe
            busy = pipe if kind is Kind.VALU or not self.queued else 1
            alone = self.alone.fullmatch(i.base) is not None
        elif kind is Kind.MATRIX:
            rule_m = matrix_rule(k["matrix"], i)
            pipe = latency = (
                rule_m.cycles if not _eight_bit(i, rule_m) else rule_m.cycles_8bit or rule_m.cycles
            )
            release, alone = k["matrix_release"], True
            if self.queued:
                busy, latency = 1, pipe + k["matrix_release"]
                extra = pipe if k["matrix_record_cycles"] else 1
            else:
                busy = pipe if rule_m.blocks_valu else k["matrix_to_valu"]
                scale = k.get("matrix_scale_slot", 0) if "_scale_" in i.base else 0
                extra = period + scale
                if (more := k.get("matrix_to_packed_extra_passes")) is not None:
                    hold = pipe + period * more
        elif kind is Kind.SALU:
            pipe = _salu_cycles(i, k)
            extra = max(period, pipe)
        elif kind in (Kind.VMEM, Kind.LDS, Kind.EXPORT) and self.queued:
            extra = max(1, self._vgpr_dwords(i)) if kind is not Kind.LDS or _is_store(i) else 1
        if kind is Kind.LDS and o.permute[-1]:
            extra = busy = k["bpermute_issue"]
        # operands that meet in a VGPR bank are read one after the other: execution, not issue, takes longer
        more_reads = self.bank_extra(i)
        pipe, latency = pipe + more_reads, latency + more_reads
        o.busy.append(busy)
        o.extra.append(extra)
        o.exec.append(pipe)
        o.latency.append(latency)
        o.release.append(release)
        o.alone.append(alone or self.packed.fullmatch(i.base) is not None)
        second, either = self.second.fullmatch(i.base), self.either.fullmatch(i.base)
        o.side.append(SIDE_SECOND if second else SIDE_EITHER if either else SIDE_FIRST)
        o.hold.append(hold)
        o.scale.append(scale)

    def bank_extra(self, i: Instruction) -> int:
        """Cycles that a VGPR bank conflict adds to the execution of ``i``."""
        found = bank_conflict(i, self.k) if self.queued else None
        return found.extra or 0 if found is not None else 0

    def _vgpr_dwords(self, i: Instruction) -> int:
        return sum(r.count for r in i.reads if r.cls in (RegClass.VGPR, RegClass.AGPR))

    def _fixed(self, i: Instruction, kind: Kind) -> int:
        if kind is Kind.DELAY:
            n = _immediate(i)
            if i.base in _SLEEPS:  # at least its own slot
                count = (n & 0x7F) * int(self.k["sleep_cycles_per_count"])
                return max(int(self.k["issue_period"]), count)
            return int((n + 1) * self.k["nop_cycles_per_count"])
        return 0

    def _scoreboard(self, i: Instruction, kind: Kind) -> None:
        o, k = self.out, self.k
        reads = {r.cls for r in i.reads}
        has = {
            "": True,
            "sgpr": bool(reads & {RegClass.SGPR, RegClass.TTMP, RegClass.VCC, RegClass.M0}),
            "scc": RegClass.SCC in reads,
            "vcc": RegClass.VCC in reads,
            "exec": RegClass.EXEC in reads,
            "wait": self.behind_wait,
        }
        for rule in self.rules:
            if kind in rule.kinds and has[rule.need] and (add := k.get(rule.fact)) is not None:
                o.rule_slot.append(int(rule.slot))
                o.rule_add.append(int(add))
        if kind is Kind.TRANS and self.queued:
            o.rule_slot.append(int(Slot.TRANS))
            o.rule_add.append(0)
        if i.base.startswith(_WAIT_ALU):
            self._wait_alu(i)
        o.rule_ptr.append(len(o.rule_slot))
        for slot, add in _sets(i, kind):
            o.sets_slot.append(int(slot))
            o.sets_add.append(add + self._late(slot, kind))
        o.sets_ptr.append(len(o.sets_slot))

    def _late(self, slot: Slot, kind: Kind) -> int:
        """How much later than a plain instruction's this one's result reaches ``slot``."""
        pipe = self.out.exec[-1]
        if slot is Slot.TRANS:
            return pipe
        if slot is not Slot.VALU:
            return 0
        if kind is Kind.MATRIX and not self.queued:
            # measured: an LDS read may follow an independent MFMA after 8 cycles
            return int(self.k.get("mfma_to_lds", self.k["valu_to_mem"]) - self.k["valu_to_mem"])
        if kind is Kind.MATRIX:
            return pipe + int(self.k["matrix_release"] - self.k["valu_dep_latency"])
        return pipe - self.period

    def _wait_alu(self, i: Instruction) -> None:
        o, k = self.out, self.k
        adds = {
            "sa_sdst": (Slot.SALU, k.get("salu_wait_alu")),
            "va_vcc": (Slot.VVCC, k.get("vcc_wait_alu", k["valu_to_mem"])),
            "va_sdst": (Slot.VSGPR, k.get("vcc_wait_alu", k["valu_to_mem"])),
            "va_vdst": (Slot.VALU, k["valu_to_mem"]),
        }
        for name in _wait_alu_fields(i):
            slot, add = adds[name]
            if add is not None:
                o.rule_slot.append(int(slot))
                o.rule_add.append(int(add))


_PORT = {
    Kind.VALU: PORT_VALU, Kind.TRANS: PORT_VALU, Kind.MATRIX: PORT_VALU, Kind.SALU: PORT_SALU,
    Kind.SMEM: PORT_SMEM, Kind.VMEM: PORT_VMEM, Kind.LDS: PORT_LDS, Kind.EXPORT: PORT_EXPORT,
    Kind.BRANCH: PORT_BRANCH, Kind.MESSAGE: PORT_BRANCH, Kind.SIGNAL: PORT_BRANCH, Kind.END: PORT_BRANCH,
    Kind.WAIT: PORT_NONE, Kind.DELAY: PORT_NONE, Kind.IMMED: PORT_NONE, Kind.BARRIER: PORT_NONE,
    Kind.BARRIER_WAIT: PORT_NONE, Kind.DELAY_ALU: PORT_NONE, Kind.WAIT_ALU: PORT_NONE, Kind.SKIP: PORT_NONE,
}  # fmt: skip

#: kinds that go through the VALU queue: the readiness of their VGPRs decides when they execute
_QUEUED = (Kind.VALU, Kind.TRANS, Kind.MATRIX)

_PIPE_KIND = {
    Pipe.VALU: Kind.VALU, Pipe.TRANS: Kind.TRANS, Pipe.MATRIX: Kind.MATRIX, Pipe.SALU: Kind.SALU,
    Pipe.SMEM: Kind.SMEM, Pipe.VMEM: Kind.VMEM, Pipe.LDS: Kind.LDS, Pipe.EXPORT: Kind.EXPORT,
    Pipe.BRANCH: Kind.BRANCH,
}  # fmt: skip


def kind_of(i: Instruction) -> Kind:
    """What the issue loop does with an instruction."""
    base = i.base
    if base.startswith("s_endpgm"):
        return Kind.END
    if base == "s_delay_alu":
        return Kind.DELAY_ALU
    if base.startswith(_WAIT_ALU):  # gfx11's has a packet, gfx12's has none
        return Kind.IMMED if i.traced else Kind.WAIT_ALU
    if base.startswith("s_barrier_wait"):
        return Kind.BARRIER_WAIT
    if base.startswith("s_barrier_signal"):
        return Kind.SIGNAL
    if base == "s_barrier":
        return Kind.BARRIER
    if base.startswith("s_sendmsg"):
        return Kind.MESSAGE
    if i.waits or base.startswith(("s_waitcnt", "s_wait_")):
        return Kind.WAIT
    if base == "s_nop" or base in _SLEEPS:
        return Kind.DELAY
    if i.pipe is Pipe.INTERNAL:
        return Kind.IMMED if i.traced else Kind.SKIP
    return _PIPE_KIND[i.pipe]


def _record_category(i: Instruction, kind: Kind) -> Category:
    if kind in (Kind.END, Kind.SIGNAL, Kind.MESSAGE):
        return Category.MESSAGE
    return i.category


def _sets(i: Instruction, kind: Kind) -> list[tuple[Slot, int]]:
    """Scoreboard slots an issue of ``i`` moves."""
    writes = {r.cls for r in i.writes}
    out: list[tuple[Slot, int]] = []
    if kind in (Kind.VALU, Kind.TRANS, Kind.MATRIX):
        out.append((Slot.VALU, 0))
        if writes & {RegClass.SGPR, RegClass.VCC, RegClass.EXEC}:
            out.append((Slot.VSGPR, 0))
        if RegClass.VCC in writes:
            out.append((Slot.VVCC, 0))
        if RegClass.EXEC in writes:
            out.append((Slot.VEXEC, 0))
        if kind is Kind.TRANS:
            out.append((Slot.TRANS, 0))
    elif kind is Kind.SALU:
        out.append((Slot.SALU, 0))
        for cls, slot in ((RegClass.SCC, Slot.SCC), (RegClass.VCC, Slot.SVCC), (RegClass.EXEC, Slot.SEXEC)):
            if cls in writes:
                out.append((slot, 0))
    elif kind in (Kind.VMEM, Kind.LDS):
        out.append((Slot.MEM, 0))
        if kind is Kind.VMEM and _is_store(i):
            out.append((Slot.STORE, 0))
    return out


def _is_store(i: Instruction) -> bool:
    return i.mem is not None and i.mem.store and not (i.mem.load and not i.mem.atomic)


def _vgprs(spans: Sequence[RegSpan]) -> list[int]:
    return [n for s in spans if s.cls is RegClass.VGPR for n in range(s.index, s.index + s.count)]


def _immediate(i: Instruction) -> int:
    for o in i.operands:
        if isinstance(o.value, int):
            return o.value
    return 0


def _delay(text: str) -> tuple[int, int, int]:
    """(id0, skip, id1) of ``s_delay_alu instid0(..) | instskip(..) | instid1(..)``."""
    found = dict(re.findall(r"(instid0|instskip|instid1)\((\w+)\)", text))
    return (
        _DELAY_IDS.get(found.get("instid0", ""), 0),
        _SKIPS.get(found.get("instskip", "SAME"), 0),
        _DELAY_IDS.get(found.get("instid1", ""), 0),
    )


def _wait_alu_fields(i: Instruction) -> list[str]:
    """Fields of s_wait_alu / s_waitcnt_depctr that wait for zero; LLVM prints names or the raw word."""
    named = re.findall(r"depctr_(\w+)\((\d+)\)", i.text)
    if named:
        return [n for n, v in named if n in _DEPCTR and int(v) == 0]
    word = next((o.value for o in i.operands if isinstance(o.value, int)), 0xFFFF)
    return [n for n, (low, width) in _DEPCTR.items() if (word >> low) & ((1 << width) - 1) == 0]


@lru_cache(maxsize=8192)
def valu_rule(rules: tuple[ValuRule, ...], base: str) -> ValuRule:
    """First rule that matches; every table ends with one for all VALU instructions."""
    for rule in rules:
        if re.fullmatch(rule.pattern, base):
            return rule
    return ValuRule(".*", 1, 1)


def matrix_rule(rules: tuple[MatrixRule, ...], i: Instruction) -> MatrixRule:
    """Occupancy of a matrix instruction. KernelFault where the table does not know it."""
    from isaprof.errors import KernelFault

    for rule in rules:
        if re.fullmatch(rule.pattern, i.base):
            return rule
    raise KernelFault(f"no matrix cycles known for {i.text} at {i.pc:#x}", kind="unimplemented")


def _eight_bit(i: Instruction, rule: MatrixRule) -> bool:
    """True for f8f6f4 forms with an 8-bit operand (cbsz or blgp 0: fp8, 1: bf8)."""
    if rule.cycles_8bit is None:
        return False
    return any(int(str(i.modifiers.get(m, 0) or 0)) in (0, 1) for m in ("cbsz", "blgp"))


def _salu_cycles(i: Instruction, k: Constants) -> int:
    if i.base.startswith("s_mul"):
        return int(k["salu_multiply"])
    if re.search(r"_f(16|32)(_|$)", i.base):
        return int(k["salu_float"])
    return int(k["issue_period"])
