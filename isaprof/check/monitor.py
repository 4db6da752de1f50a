"""Watches every instruction that the reference executor runs, and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.analysis.replay import Operation, Replay, Use
from isaprof.analysis.waits import wait_text
from isaprof.check.facts import INDEXING, INDEXING_ENDS, RegisterFacts, register_facts, row_name, slot_name
from isaprof.check.global_rules import GlobalRules
from isaprof.check.lds import Clash, LdsAccess
from isaprof.check.model import Finding, Severity
from isaprof.check.shadow import CheckedWave
from isaprof.isa.model import Category, Instruction, RegClass
from isaprof.sim.state import EXEC

if TYPE_CHECKING:
    from isaprof.arch.table import ArchTable
    from isaprof.check.memory import CheckedLDS
    from isaprof.sim.functional import Machine

#: pairs of instructions that are listed for one missing barrier
MAX_PAIRS = 64
#: where a value that nobody wrote lies: ("v", row), ("s", slot), ("scc",), ("lds",), ("memory", name)
Origin = tuple[Any, ...]


class Monitor(GlobalRules):
    """The rules that are judged while the kernel runs; one for each check."""

    def __init__(self, machine: Machine, table: ArchTable) -> None:
        super().__init__(machine)
        self.table = table
        listing = machine.ctx.listing
        self.replay = Replay(listing.instructions, table.get("counter_max", {}), cache_in_order=True)
        self.agpr_base = machine.ctx.vgprs
        self._facts: list[RegisterFacts | None] = [None] * len(listing.instructions)
        #: where a value that nobody wrote came from -> keys of the findings about it
        self.origins: dict[Origin, list[tuple[Any, ...]]] = {}
        self._lds_now: list[LdsAccess] = []
        self.indexed: Instruction | None = None  #: the first that makes VGPR numbers depend on something
        #: findings that are part of another one
        self.explained: set[tuple[Any, ...]] = set()
        self._mask = 0
        #: barriers that a wait for LDS would have to stand before: (wave's row of the barrier) by signal
        self.barrier_rows: dict[tuple[Any, int, int], int] = {}

    # -- around one instruction ------------------------------------------------------------
    def before(self, w: CheckedWave, row: int) -> None:
        """Judge what instruction ``row`` is about to read and overwrite."""
        self.wave, self.row = w, row
        self.home = False  # not worked out yet
        shadow = w.shadow
        shadow.path.append(row)
        ins = self.instructions[row]
        if ins.waits:
            for op in shadow.flight.retire(row):
                op.done = shadow.signalled
        facts = self._facts[row]
        if facts is None:
            facts = self._facts[row] = register_facts(ins, self.agpr_base, w.v.shape[0])
        mask = w.s[EXEC] if w.lanes == 32 else w.s[EXEC] | w.s[EXEC + 1] << 32
        self._mask = mask
        if facts.indexes and self._indexed(w, ins):
            return
        if shadow.indexing and ins.category is Category.VALU:
            return
        everywhere = facts.across or ins.category is Category.SALU
        uses = shadow.flight.uses(row, None if everywhere else mask)
        if uses:
            self._in_flight(w, ins, uses)
        if ins.category is Category.SMEM:
            self.scalar_alignment()
        if mask or facts.all_lanes or not facts.rows_read:
            self._undefined(w, row, facts)

    def _indexed(self, w: CheckedWave, ins: Instruction) -> bool:
        """Whether the VGPRs of ``ins`` cannot be told; from then on those of the wave count as written."""
        self.indexed = self.indexed or ins
        w.shadow.rows[:] = True
        if ins.base == INDEXING_ENDS:
            w.shadow.indexing = False
        elif INDEXING.fullmatch(ins.base):
            w.shadow.indexing = True
        return ins.category is Category.VALU

    def after(self, w: CheckedWave, row: int) -> None:
        """Enter what instruction ``row`` wrote, counted and signalled."""
        shadow, ins, facts = w.shadow, self.instructions[row], self._facts[row]
        assert facts is not None
        if facts.rows_written:
            rows = list(facts.rows_written)
            if facts.writes_all or self._mask == (1 << w.lanes) - 1:
                shadow.rows[rows] = True
            elif self._mask:
                shadow.rows[rows] |= lanes_array(self._mask, w.lanes)
        for slot in facts.slots_written:
            shadow.slots[slot] = True
        if facts.writes_scc:
            shadow.scc = True
        if ins.counters:
            per_lane = ins.mem is not None and ins.category is not Category.SMEM
            op, done = shadow.flight.issue(row, self._mask if per_lane else None)
            for o in done:
                o.done = shadow.signalled
            for a in self._lds_now:
                a.operation = op
                if op is not None:
                    op.tag = {}  # signal -> waits that would have done there
        self._lds_now.clear()
        self.settle(w)
        if ins.base.startswith("s_barrier"):
            if ins.base in ("s_barrier", "s_barrier_signal", "s_barrier_signal_isfirst"):
                self.barrier_rows[w.workgroup, w.id_in_wg, shadow.signalled] = row
                for queued in {id(o): o for q in shadow.flight.queues.values() for o in q}.values():
                    if queued.tag is not None:
                        queued.tag[shadow.signalled] = shadow.flight.waits_for(queued)
                shadow.signalled += 1
            if ins.base in ("s_barrier", "s_barrier_wait"):
                shadow.passed += 1
                shadow.region = row

    # -- wait counters ------------------------------------------------------------------------
    def _in_flight(self, w: CheckedWave, ins: Instruction, uses: list[Use]) -> None:
        use = min(uses, key=lambda u: u.count)
        issued = use.operation.lanes
        lanes = () if issued is None else tuple(lane_list(self._mask & issued))
        counts = {u.counter: min(x.count for x in uses if x.counter == u.counter) for u in uses}
        for (
            counter,
            n,
        ) in counts.items():  # go on as if the wait stood here: one that is missing is one finding
            for op in w.shadow.flight.wait(counter, n):
                op.done = w.shadow.signalled
        key = ("wait-missing", ins.index)
        if self.findings.again(key):
            return
        load = self.place(use.operation.index)
        regs = ", ".join(sorted(reg_name(r) for r in use.registers))
        missing = wait_text(self.table, use.counter, use.count)
        verb = "reads" if use.read else "overwrites"
        what = "its old value may still be there" if use.read else "the load may destroy what is written here"
        self.add(
            key, "wait-missing", Severity.ERROR,
            f"{verb} {regs} while {load} may be outstanding, so {what}; "
            f"missing before this line: {missing}",
            lanes=lanes, other=load, missing=missing, values={"counter": use.counter, "count": use.count},
        )  # fmt: skip

    # -- registers that nobody wrote ------------------------------------------------------------
    def _undefined(self, w: CheckedWave, row: int, facts: RegisterFacts) -> None:
        shadow = w.shadow
        if facts.rows_read:
            got = shadow.rows[list(facts.rows_read)]
            if not got.all():
                on = lanes_array((1 << w.lanes) - 1 if facts.all_lanes else self._mask, w.lanes)
                if facts.across and not facts.all_lanes:
                    bad = ~got & on & ~got.any(axis=1, keepdims=True)
                else:
                    bad = ~got & on
                if bad.any():
                    self._undefined_rows(w, facts, bad)
        for slot in facts.slots_read:
            if not shadow.slots[slot]:
                self._origin(("s", slot), slot_name(slot), ())
                shadow.slots[slot] = True
        if facts.reads_scc and not shadow.scc:
            self._origin(("scc",), "scc", ())
            shadow.scc = True

    def _undefined_rows(self, w: CheckedWave, facts: RegisterFacts, bad: Any) -> None:
        for k in np.flatnonzero(bad.any(axis=1)).tolist():
            row = facts.rows_read[k]
            lanes = tuple(np.flatnonzero(bad[k]).tolist())
            self._origin(("v", row), row_name(row, self.agpr_base), lanes)
            w.shadow.rows[row] |= bad[k]  # said once: what is made of it counts as written

    def _origin(self, origin: Origin, name: str, lanes: tuple[int, ...]) -> None:
        key = ("uninitialised-register", self.row, name)
        if self.findings.again(key, max(1, len(lanes))):
            return
        self.origins.setdefault(origin, []).append(key)
        where = f" in {len(lanes)} lane{'s' if len(lanes) != 1 else ''}" if lanes else ""
        found = self.add(
            key, "uninitialised-register", Severity.WARNING,
            f"reads {name}, which neither the launch nor the kernel has written{where}", lanes=lanes,
            values={"register": name},
        )  # fmt: skip
        found.count = max(1, len(lanes))

    # -- LDS --------------------------------------------------------------------------------------
    def lds_outside(self, offsets: Any, nbytes: int, *, store: bool) -> None:
        key = ("lds-outside", self.row)
        if self.findings.again(key, int(offsets.size)):
            return
        at = int(offsets[0])
        what = "dropped" if store else "0"
        found = self.add(
            key, "lds-outside", Severity.ERROR if store else Severity.WARNING,
            f"{'writes' if store else 'reads'} {nbytes} LDS bytes at {at:#x}, beyond the workgroup's "
            f"{self.machine.lds_bytes} bytes: the hardware's result is {what}",
            values={"offset": at, "bytes": nbytes, "lds_bytes": self.machine.lds_bytes},
        )  # fmt: skip
        found.count = int(offsets.size)

    def lds_loaded(self, lds: CheckedLDS, offsets: Any, nbytes: int) -> None:
        ins = self.instructions[self.row]
        atomic = ins.mem is not None and ins.mem.atomic
        fresh = lds.unwritten(offsets, nbytes)
        if fresh.any():
            self._fresh_lds(offsets[fresh], nbytes)
        if not atomic:  # an atomic is entered once, as the write it is
            self._lds_access(lds, offsets, nbytes, write=False, atomic=False, fresh=bool(fresh.any()))

    def _fresh_lds(self, offsets: Any, nbytes: int) -> None:
        key = ("uninitialised-lds", self.row)
        n = int(offsets.size)
        if self.findings.again(key, n):
            return
        self.origins.setdefault(("lds",), []).append(key)
        at = int(offsets[0])
        found = self.add(
            key, "uninitialised-lds", Severity.WARNING,
            f"reads {nbytes} LDS bytes at {at:#x} that no wave of the workgroup has written",
            values={"offset": at, "bytes": nbytes},
        )  # fmt: skip
        found.count = n

    def lds_stored(self, lds: CheckedLDS, offsets: Any, nbytes: int, changed: Any) -> None:
        ins = self.instructions[self.row]
        if changed.any():  # the same bytes again are the same in every order
            atomic = ins.mem is not None and ins.mem.atomic
            self._lds_access(lds, offsets[changed], nbytes, write=True, atomic=atomic)

    def _lds_access(
        self, lds: CheckedLDS, offsets: Any, nbytes: int, *, write: bool, atomic: bool, fresh: bool = False
    ) -> None:
        w = self.wave
        ins = self.instructions[self.row]
        dma = ins.mem is not None and ins.mem.lds_dma
        a = LdsAccess(self.row, w.id_in_wg, w.shadow.passed, w.shadow.signalled, write, atomic, dma)
        a.fresh, a.region = fresh, w.shadow.region
        for clash in lds.shadow.access(a, offsets, nbytes):
            self._clash(clash, offsets)
        self._lds_now.append(a)

    def _clash(self, clash: Clash, offsets: Any) -> None:
        b, a = clash.earlier, clash.later
        own = b.wave == a.wave
        rule = "lds-dma-wait-missing" if own else "lds-race"
        if b.fresh:  # it found nothing because it came before the write: one fault, not two
            self.explained.add(("uninitialised-lds", b.row))
        # one barrier or wait that is missing lets many pairs of instructions meet: they are one finding
        late_read = not own and a.passed > b.signalled and not b.write
        key = (rule, min(a.region, b.region), max(a.region, b.region), late_read, own)
        pair = [hex(self.instructions[x].pc) for x in sorted((a.row, b.row))]
        if self.findings.again(key):
            pairs = self.findings.by_key[key].values["pairs"]
            if pair not in pairs and len(pairs) < MAX_PAIRS:
                pairs.append(pair)
                self._stricter(self.findings.by_key[key], self._remedy(b, a)[2])
            if own and b.operation is not None:
                self._go_on(b.operation)
            return
        other = self.place(b.row)
        bytes_ = f"LDS byte {clash.offset:#x}"
        missing, why, waits = self._remedy(b, a)
        if own and b.operation is not None:
            self._go_on(b.operation)
        who = "the same wave's" if own else f"wave {b.wave}'s"
        lanes = np.flatnonzero((offsets <= clash.offset) & (offsets + 16 > clash.offset)).tolist()
        self.add(
            # a read that was issued before the barrier is done, in practice, long before what follows it
            key, rule, Severity.WARNING if late_read else Severity.ERROR,
            f"this {a.kind} of {bytes_} by wave {a.wave} and {who} {b.kind} by {other} come in either order: "
            f"{why}",
            other=other, missing=missing, lanes=tuple(lanes[:1]),
            values={
                "offset": clash.offset, "waves": [b.wave, a.wave], "barriers": [b.signalled, a.passed],
                "pairs": [pair], "waits": [list(x) for x in waits],
            },
        )  # fmt: skip

    def _remedy(self, b: LdsAccess, a: LdsAccess) -> tuple[str, str, list[tuple[str, int]]]:
        """(what to insert, why and where in words, the waits among it)."""
        op = b.operation
        needed = [(c, 0) for c in self.instructions[b.row].counters]
        if b.wave == a.wave:
            if op is not None and op.left:
                needed = self.wave.shadow.flight.waits_for(op)
            waits = self._waits(needed)
            why = f"no wait proves {self.instructions[b.row].pc:#x} complete; missing: {waits}"
            return waits, why, needed
        if a.passed > b.signalled:
            last = a.passed - 1  # the last barrier between the two: there the wait may be weakest
            row = self.barrier_rows.get((self.wave.workgroup, b.wave, last))
            at = "" if row is None else f" before the barrier at {self.instructions[row].pc:#x}"
            if op is not None and op.tag is not None:
                needed = op.tag.get(last, needed)
            waits = self._waits(needed)
            why = f"a barrier lies between, but no wait proves the {b.kind} complete when its wave arrives"
            return waits, f"{why}; missing{at}: {waits}", needed
        waits = self._waits(needed)
        barrier = (
            "s_barrier"
            if self.machine.facts.split_barrier is False
            else "s_barrier_signal -1, s_barrier_wait -1"
        )
        why = f"no barrier lies between; missing: {waits} and {barrier} between the two"
        return barrier, why, needed

    def _stricter(self, found: Finding, needed: list[tuple[str, int]]) -> None:
        """Another pair of a finding: the wait must do for both."""
        have = [(c, n) for c, n in found.values["waits"]]
        both = [(c, min(n for x, n in (*have, *needed) if x == c)) for c in dict.fromkeys(c for c, _ in have)]
        if both != have:
            old, new = self._waits(have), self._waits(both)
            found.values["waits"] = [list(x) for x in both]
            found.message = found.message.replace(old, new)
            found.missing = new if found.missing == old else found.missing

    def _waits(self, needed: Sequence[tuple[str, int]]) -> str:
        return " and ".join(wait_text(self.table, c, n) for c, n in dict.fromkeys(needed))

    def _go_on(self, op: Operation) -> None:
        """Behind a missing wait the run goes on as if it stood here: it is one finding."""
        flight = self.wave.shadow.flight
        for counter, n in flight.waits_for(op):
            for done in flight.wait(counter, n):
                done.done = self.wave.shadow.signalled

    def drop_explained(self) -> None:
        """After the run: forget the findings that are part of another one."""
        for key in self.explained:
            self.findings.by_key.pop(key, None)
            for keys in self.origins.values():
                while key in keys:
                    keys.remove(key)
        self.origins = {origin: keys for origin, keys in self.origins.items() if keys}

    # -- the end of a workgroup ------------------------------------------------------------------------
    def finished(self, waves: list[CheckedWave]) -> None:
        """Barriers of the waves of a workgroup that ended."""
        counts = [w.shadow.signalled for w in waves]
        if len(set(counts)) > 1:
            most = max(counts)
            short = next(w for w in waves if w.shadow.signalled < most)
            full = next(w for w in waves if w.shadow.signalled == most)
            row = self.barrier_rows.get((full.workgroup, full.id_in_wg, short.shadow.signalled))
            early = short.shadow.signalled == 0
            self.wave, self.row = full, row if row is not None else full.shadow.path[-1]
            key = ("barrier-mismatch", self.row)
            if not self.findings.again(key):
                self.add(
                    key, "barrier-mismatch", Severity.WARNING if early else Severity.ERROR,
                    f"wave {full.id_in_wg} passes {most} barriers, wave {short.id_in_wg} ends after "
                    f"{short.shadow.signalled}: this barrier goes without it",
                    values={"barriers": counts},
                )  # fmt: skip
        for w in waves:
            for signal in range(w.shadow.signalled):
                self.barrier_rows.pop((w.workgroup, w.id_in_wg, signal), None)


def lanes_array(mask: int, lanes: int) -> Any:
    """Bool per lane of an integer lane mask."""
    raw = np.frombuffer(mask.to_bytes(lanes // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little").view(np.bool_)


def lane_list(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def reg_name(reg: tuple[RegClass, int]) -> str:
    cls, index = reg
    if cls is RegClass.VCC:
        return "vcc_hi" if index else "vcc_lo"
    return f"{cls.value}{index}"
