"""Random programs, waves on their way through them, and the SQTT packets the hardware writes of that.

What a wave does is decided here first (which line at which time, how long it waited); packets and the
records that a decoder should find follow from it by the format's description, not by the decoder's code.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random
from typing import Any

from isaprof.backends.protocol import RawCapture
from isaprof.backends.sqtt import LoadedCode, Recording, assemble
from isaprof.codeobj.elf import CodeObject, Section
from isaprof.isa.model import Listing
from isaprof.parsers.sqtt import compiled
from isaprof.parsers.sqtt.engine import decode_engine
from tests.parsers.encoder import Encoder
from tests.sim.timing.programs import listing

ARCH = {"gfx9": "gfx942", "gfx10": "gfx1030", "gfx11": "gfx1100", "gfx12": "gfx1200", "gfx1250": "gfx1250"}
BASE = 0x7F00_0000_0000
START = 0x1000  # where tests' listings begin
UNIT, RDNA_SIMD = 2, 1
#: INST of gfx9 comes later by the phase of the category: (this + SIMD) / 4 slots
PHASE = {"SMEM": 5, "SALU": 5, "VALU": 2, "LDS": 1, "JUMP": 1, "NEXT": 1, "MESSAGE": 1, "VMEM": 0, "FLAT": 0}


@dataclass(frozen=True)
class Inst:
    """``what``: inst, valu, imm, none, barrier, split_wait, forward, loop, jump, call, return, end."""

    text: str
    what: str = "inst"
    category: str = "VALU"
    code: int = 0
    cycles: int = 1


VALU = Inst("v_add_f32_e32 v0, v1, v2", "valu", code=5)
SALU = Inst("s_add_u32 s0, s1, s2", category="SALU")
COMMON = (VALU, VALU, Inst("s_nop 0", "imm"), Inst("s_setprio 1", "imm"))
RDNA = (
    *COMMON,
    SALU,
    Inst("v_exp_f32_e32 v0, v1", code=11, cycles=4),
    Inst("s_load_b32 s0, s[2:3], 0x0", category="SMEM", code=1),
    Inst("ds_load_b32 v1, v2", category="LDS", code=41),
    Inst("ds_store_b64 v1, v[2:3]", category="LDS", code=44, cycles=3),
)
GFX11 = (
    *RDNA,
    Inst("v_lshlrev_b64 v[0:1], 1, v[2:3]", code=13, cycles=2),
    Inst("global_load_b32 v1, v2, s[0:1]", category="VMEM", code=33),
    Inst("global_store_b64 v1, v[2:3], s[0:1]", category="VMEM", code=37, cycles=3),
    Inst("flat_load_b32 v1, v[2:3]", category="FLAT", code=28, cycles=2),
    Inst("s_delay_alu instid0(VALU_DEP_1)", "none"),
)
OLD_WAIT = Inst("s_waitcnt vmcnt(0)", "imm")
GFX12 = (*GFX11, Inst("s_wait_loadcnt 0x0", "imm"), Inst("s_wait_dscnt 0x0", "imm"))
POOL: dict[str, tuple[Inst, ...]] = {
    "gfx9": (
        *COMMON,
        OLD_WAIT,
        Inst("s_add_u32 s0, s1, s2", category="SALU", code=1),
        Inst("v_lshl_or_b32 v0, v1, v2, v3", code=18),
        Inst("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", code=28),
        Inst("s_load_dword s0, s[2:3], 0x0", category="SMEM", code=0),
        Inst("ds_read_b32 v1, v2", category="LDS", code=6),
        Inst("global_load_dword v1, v2, s[0:1]", category="VMEM", code=2),
        Inst("global_store_dword v1, v2, s[0:1]", category="VMEM", code=3),
        Inst("global_load_dword v1, v[2:3], off", category="FLAT", code=14),
        Inst("flat_load_dword v1, v[2:3]", category="FLAT", code=14),
    ),
    "gfx10": (
        *RDNA,
        OLD_WAIT,
        Inst("global_load_dword v1, v2, s[0:1]", category="VMEM", code=35),
        Inst("global_store_dwordx2 v1, v[2:3], s[0:1]", category="VMEM", code=37, cycles=2),
        Inst("flat_load_dword v1, v[2:3]", category="FLAT", code=30),
    ),
    "gfx11": (*GFX11, OLD_WAIT),
    "gfx12": (*GFX12, Inst("s_wait_alu 0xfffe", "none")),
    "gfx1250": (
        *GFX12,
        Inst("v_mov_b64_e32 v[0:1], v[2:3]", "valu", cycles=2),
        Inst("s_set_vgpr_msb 0", "none"),
    ),
}


def program(name: str, random: Random, segments: int) -> list[Inst]:
    """A kernel with branches, loops, barriers and calls of the one function behind it."""
    pool, old = POOL[name], name not in ("gfx12", "gfx1250")

    def straight(n: int) -> list[Inst]:
        return [random.choice(pool) for _ in range(n)]

    def segment(depth: int) -> list[Inst]:
        kind = random.choice(("straight", "forward", "loop", "barrier", "call", "jump"))
        if kind in ("forward", "loop", "jump"):
            body = straight(random.randint(0, 4))
            body += segment(depth - 1) if depth and random.random() < 0.4 else []
            if kind == "loop":
                body = [VALU, *body]
                return [*body, Inst(f"s_cbranch_scc1 {0xFFFF - len(body)}", "loop", "JUMP")]
            if kind == "jump":
                return [Inst(f"s_branch {len(body)}", "jump", "JUMP"), *body]
            return [Inst(f"s_cbranch_scc0 {len(body)}", "forward", "JUMP"), *body]
        if kind == "barrier" and old:
            return [Inst("s_barrier", "barrier")]
        if kind == "barrier":
            # what follows a wait without a record is no immediate: else no decoder could tell them apart
            wait = Inst("s_barrier_wait 0xffff", "split_wait")
            signal = Inst("s_barrier_signal -1", category="MESSAGE", code=122)
            return [signal, *straight(random.randint(0, 2)), wait, VALU]
        if kind == "call":
            return [Inst("s_swappc_b64 s[4:5], s[6:7]", "call", "SALU")]
        return straight(random.randint(1, 6))

    code = [x for _ in range(segments) for x in segment(2)]
    function = [*straight(random.randint(1, 3)), Inst("s_setpc_b64 s[4:5]", "return", "SALU")]
    return [*code, VALU, Inst("s_endpgm", "end"), *function]


def path(code: list[Inst], random: Random) -> list[tuple[int, bool]]:
    """Lines that a wave executes, with whether a branch is taken."""
    out, at, back = [], 0, 0
    turns: dict[int, int] = {}
    function = next(i for i, x in enumerate(code) if x.what == "end") + 1
    while True:
        x, following, taken = code[at], at + 1, False
        if x.what == "loop":
            turns[at] = turns.get(at, 0) + 1
            taken = turns[at] < 3 and random.random() < 0.6
            if taken:
                following = at + 1 + int(x.text.split()[1]) - 0x10000
            else:
                turns[at] = 0
        elif x.what in ("forward", "jump"):
            taken = x.what == "jump" or random.random() < 0.5
            following = at + 1 + (int(x.text.split()[1]) if taken else 0)
        elif x.what == "call":
            back, following = at + 1, function
        elif x.what == "return":
            following = back
        out.append((at, taken))
        if x.what == "end":
            return out
        at = following


@dataclass(eq=False)
class Sent:
    """What the hardware reports at a time. ``order``: among reports of the same time."""

    time: int
    order: int
    kind: str
    fields: dict[str, int]
    packet: int = -1


@dataclass
class Row:
    """An instruction's record, and the reports that it depends on."""

    line: int
    category: str
    time: int
    stall: int
    duration: int
    needs: list[Sent]

    def key(self) -> tuple[int, str, int, int, int]:
        return self.line, self.category, self.time, self.stall, self.duration

    @property
    def end(self) -> int:
        return self.time + self.duration


@dataclass
class WaveRun:
    """One wave. Without ``code`` it belongs to another unit, of which only begin and end are seen."""

    name: str
    code: list[Inst]
    slot: int
    simd: int
    unit: int
    begin: int
    random: Random
    excluded: bool = False
    end: int = 0
    rows: list[Row] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        gfx9 = self.name == "gfx9"
        self.place = {"simd": self.simd, "wave": self.slot, "cu" if gfx9 else "wgp": self.unit}
        count = 64 if gfx9 else 95 + 32
        self.known: list[Sent] = [self.send(self.begin, -1, "WAVE_START", **self.place, me=1, count=count)]
        if not self.code:
            self.end = self.begin + 4 * self.random.randint(1, 3000)
        elif gfx9:
            self.walk_gfx9()
        else:
            self.walk_rdna()
        last = self.send(self.end, 9, "WAVE_END", **self.place)
        if self.code:
            self.rows[-1].needs.append(last)  # only by it that record is s_endpgm

    def send(self, time: int, order: int, kind: str, **fields: int) -> Sent:
        self.sent.append(Sent(time, order, kind, fields))
        return self.sent[-1]

    def gap(self) -> int:
        r = self.random
        return r.choice(
            (r.randint(0, 5), r.randint(0, 5), r.randint(0, 40), r.randint(0, 400), r.getrandbits(18))
        )

    def row(self, line: int, category: str, time: int, stall: int, duration: int, *needs: Sent) -> Row:
        self.rows.append(Row(line, category, time, stall, duration, [*self.known, *needs]))
        self.known = []
        return self.rows[-1]

    def target(self, line: int) -> int:
        """Address packet fields: where a call or a return goes."""
        return (BASE + START >> 2) + line

    # -- gfx10 and later: a packet is the issue ------------------------------
    def walk_rdna(self) -> None:
        t, end, told = self.begin, self.begin, 0
        held: Row | None = None  # gfx11 barrier, which lasts to the wave's next packet
        absent = -1  # split barrier wait without a record: from the record before to the one after
        steps = path(self.code, self.random)
        for n, (line, taken) in enumerate(steps):
            x = self.code[line]
            if x.what in ("none", "end"):
                continue
            if x.what == "split_wait" and self.excluded:
                absent = line
                continue
            t = t + 1 + self.gap()
            if absent >= 0:
                t = max(t, end + 1 + self.random.randint(0, 9))
            first, needs = t, []
            immediate = x.what in ("imm", "barrier", "split_wait")
            if not immediate and self.random.random() < 0.4:
                t += 1 + self.gap()
                needs.append(self.send(first, 0, "WAVE_READY", mask=1 << self.slot))
            if held is not None:
                held.duration = max(0, first - (1 if needs else 0) - held.time)
                end = held.end
            needs.append(self.issue(t, x, taken))
            if held is not None:
                held.needs += needs
                held = None
            if absent >= 0:
                self.row(absent, "IMMED", end, 0, first - end, *needs)
                absent = -1
            if immediate:
                s = min(t, end) if self.rows else t
                made = self.row(line, "IMMED", s, t - s, t - s + 1, *needs)
                if x.what == "barrier" and self.name == "gfx11":
                    held, made.category = made, "MESSAGE"
            else:
                category = ("JUMP" if taken else "NEXT") if x.category == "JUMP" else x.category
                # as in AMD's decoder, the length of a 64-bit move is not corrected where its address is known
                cycles = 1 if x.what == "valu" and self.known else x.cycles
                made = self.row(line, category, first, t - first, t - first + cycles, *needs)
            # the move's second cycle is not known yet where a wait that follows it begins
            end = t + 1 if x.what == "valu" else made.end
            if x.what in ("call", "return"):
                pc = self.target(steps[n + 1][0])
                told = max(told, t + self.random.randint(0, 3))
                self.known = [self.send(told, 5, "NEW_PC", wave=self.slot, pc=pc)]
        self.end = max(t, end) + 4 + self.gap()
        self.row(steps[-1][0], "MESSAGE", end, 0, self.end - end)

    def issue(self, t: int, x: Inst, taken: bool) -> Sent:
        if x.what == "valu":
            return self.send(t, 0, "VALU_INST", wave=self.slot)
        if x.what == "imm":
            return self.send(t, 0, "IMMEDIATE", mask=1 << self.slot)
        code = {"barrier": 19, "split_wait": 19, "call": 5, "return": 5}.get(x.what, x.code)
        if x.category == "JUMP":
            code = 3 if taken else 4
        return self.send(t, 0, "INST", wave=self.slot, op=code)

    # -- gfx9: an issue, later what it was -----------------------------------
    def walk_gfx9(self) -> None:
        end, told = self.begin, self.begin + 4  # end of the last record, time of the last INST packet
        steps = path(self.code, self.random)
        for n, (line, taken) in enumerate(steps):
            x = self.code[line]
            if x.what == "imm":
                t = max(end, told) + 4 * self.gap()
                first = end if self.rows else t
                self.row(line, "IMMED", first, t + 4 - first, t + 4 - first, self.state(t, 3))
                end = t + 4
                continue
            first = end + 4 * self.gap()
            stall = 4 * (1 + self.gap()) if x.what != "end" and self.random.random() < 0.4 else 0
            needs = [self.state(first, 1)] if stall else []
            t = first + stall
            needs.append(self.state(t, 2))
            category, code = x.category, x.code
            if x.what in ("barrier", "end"):
                category, code = "MESSAGE", 15
            elif x.category == "JUMP":
                category, code = ("JUMP", 12) if taken else ("NEXT", 13)
            elif x.what in ("call", "return"):
                code = 7
            late = 4 * ((self.simd + (0 if code == 7 else PHASE[category])) // 4)
            extra = 0 if x.what == "end" else 4 * self.random.choice((0, 0, 0, 1, 7))
            told = max(t + extra + late, told)  # INST packets of a wave are in order
            needs.append(
                self.send(told, 2 if told == t else 0, "INST", simd=self.simd, wave=self.slot, op=code)
            )
            if x.what == "end":
                self.row(line, "MESSAGE", end, 0, t + 4 - end, *needs)
                self.end = max(told, t + 4) + 4 * self.gap()
                return
            cycles = 4 + max(told - t - late, 0)
            if x.what == "barrier":
                leave = max(t + cycles, told) + 4 * self.gap()
                needs.append(self.state(leave, 3))
                whole = leave + 4 - first
                end = self.row(line, "IMMED", first, whole, whole, *needs).end
                continue
            end = self.row(line, category, first, stall, stall + cycles, *needs).end
            if x.what in ("call", "return"):
                pc = self.target(steps[n + 1][0])
                where = {"simd": self.simd, "wave": self.slot}
                self.known = [self.send(told, 5, "NEW_PC", **where, pc=pc)]

    def state(self, t: int, what: int) -> Sent:
        return self.send(t, 1, "ISSUE", simd=self.simd, states=what << 2 * self.slot)


def merged(waves: list[WaveRun]) -> list[Sent]:
    """All reports in stream order; what one packet can say of several waves is one."""
    out: list[Sent] = []
    for s in sorted((s for w in waves for s in w.sent), key=lambda s: (s.time, s.order, s.kind)):
        last = out[-1] if out else None
        same = last is not None and (last.time, last.order, last.kind) == (s.time, s.order, s.kind)
        if (
            same
            and last is not None
            and (
                s.kind in ("WAVE_READY", "IMMEDIATE")
                or (s.kind == "ISSUE" and last.fields["simd"] == s.fields["simd"])
            )
        ):
            name = "states" if s.kind == "ISSUE" else "mask"
            last.fields[name] |= s.fields[name]
        else:
            out.append(Sent(s.time, s.order, s.kind, dict(s.fields)))
        s.packet = len(out) - 1
    return out


@dataclass
class Run:
    """An encoded trace and what is in it. ``cut``: number of the first lost packet."""

    name: str
    code: list[Inst]
    waves: list[WaveRun]
    data: bytes
    cut: int | None

    @property
    def listing(self) -> Listing:
        return listing(ARCH[self.name], *(x.text for x in self.code))


def make(name: str, seed: int, segments: int, waves: int, *, loss: bool = False) -> Run:
    random = Random(seed)
    gfx9 = name == "gfx9"
    code = program(name, random, segments)
    excluded = name == "gfx12" and random.random() < 0.5
    runs: list[WaveRun] = []
    free: dict[tuple[int, int, int], int] = {}
    for n in range(waves):
        simd = random.randint(0, 3) if gfx9 else RDNA_SIMD
        place = (
            UNIT if n == 0 or random.random() < 0.8 else UNIT + 1,
            simd,
            random.randint(0, 9 if gfx9 else 15),
        )
        begin = free.get(place, 1200 if gfx9 else 40) + 4 * random.randint(1, 30)
        unit, _, slot = place
        runs.append(WaveRun(name, code if unit == UNIT else [], slot, simd, unit, begin, random, excluded))
        free[place] = runs[-1].end
    e = Encoder.start(name, simd=RDNA_SIMD, unit=UNIT, flags=excluded << 59)
    if gfx9:
        e.first_reset(random.getrandbits(40))
    entry = BASE + START >> 8
    for register, value in ((0xC, entry & 0xFFFF_FFFF), (0xD, entry >> 32)):
        if gfx9:
            e.packet("REG_CS", me=0, regaddr=register, regdata=value)
        else:
            e.packet("REG", me=1, cs=1, regaddr=register, regdata=value)
    packets = merged(runs)
    cut = random.randrange(1, len(packets)) if loss else None
    lost = range(cut, min(cut + random.randint(1, 40), len(packets))) if cut is not None else range(0)
    stamp: int | None = None
    for n, p in enumerate(packets):
        if n == cut:
            e.loss(e.now + (p.time - e.now) // 8 * 4)
        if n in lost:
            continue
        if gfx9 and random.random() < 0.05 and stamp is None:
            stamp = e.reset(e.now + random.randint(0, (p.time - e.now) // 4) * 4)
        elif gfx9 and stamp is not None and random.random() < 0.5:
            # what comes between the reset and its timestamp has the new time already
            e.packet("TIMESTAMP", value=stamp)
            stamp = None
        elif not gfx9 and random.random() < 0.05:
            clock = {"type": 2} if name == "gfx10" else {"rt": 1}
            if random.random() < 0.5:
                e.packet("TIMESTAMP", value=random.getrandbits(30), **clock)
            else:
                e.packet("NOP")
        if p.kind == "VALU_INST":
            e.valu(p.time, p.fields["wave"])
        elif p.kind == "IMMEDIATE" and p.fields["mask"].bit_count() == 1 and random.random() < 0.7:
            e.at(p.time, "IMM_ONE", wave=p.fields["mask"].bit_length() - 1)
        else:
            e.at(p.time, p.kind, **p.fields)
    if stamp is not None:
        e.packet("TIMESTAMP", value=stamp)
    return Run(name, code, runs, e.data(), cut)


def read(run: Run, *, fast: bool) -> RawCapture:
    """The capture that the decoders make of it: reference or compiled all the way."""
    code = run.listing
    text = Section(".text", START, bytes(4 * len(run.code)), True)
    arch = ARCH[run.name]
    co = CodeObject(arch, arch, None, 0, b"", (), (text,), {})
    before = os.environ.get(compiled.CHOICE)
    os.environ[compiled.CHOICE] = "compiled" if fast else "reference"
    try:
        trace = decode_engine(run.data, columns=fast)
    finally:
        if before is None:
            del os.environ[compiled.CHOICE]
        else:
            os.environ[compiled.CHOICE] = before
    assert (trace.rows is not None) == fast
    assert trace.unknown == 0
    assert trace.stopped_at is None
    assert trace.lost == (run.cut is not None)
    return assemble(Recording({0: trace}, [LoadedCode(1, b"", co, "k", BASE, code)], arch, "here"))


def rows_of(raw: RawCapture, wave: int) -> list[tuple[Any, ...]]:
    """(line, category, time, stall, duration) of a wave of a capture."""
    t = raw.tables["insts"]
    t = t[t.wave == wave]
    columns = (t[c].astype(object).tolist() for c in ("line", "category", "time", "stall", "duration"))
    return list(zip(*columns, strict=True))
