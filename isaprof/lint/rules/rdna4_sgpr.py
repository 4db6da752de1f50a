"""SGPRs read by VALU and written again: gfx12 needs s_wait_alu before the next read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isaprof.analysis.cfg import Cfg
from isaprof.isa.model import Category, Instruction, RegClass, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.depctr import BASES, drains
from isaprof.lint.kinds import SCALARS, explicit_reads, is_salu, is_valu, is_vmem, of_class
from isaprof.lint.model import Finding, NoRule, Rule, Severity, Site
from isaprof.lint.search import run_forward

_VCC_NUMBER = 106
_DS_NOPS = {32: 4, 64: 8}


@dataclass(frozen=True, slots=True)
class Fact:
    """``kind``: ``read`` (VALU has read the pair ``number``), ``salu``/``valu`` (SGPR written at ``row``)."""

    kind: str
    number: int
    row: int = -1


State = frozenset[Fact]


def _numbers(spans: tuple[RegSpan, ...]) -> set[int]:
    out: set[int] = set()
    for s in spans:
        base = s.index if s.cls is RegClass.SGPR else _VCC_NUMBER + s.index
        out |= {base + n for n in range(s.count)}
    return out


def _is_vcc(number: int) -> bool:
    return number >= _VCC_NUMBER


def _uses(ins: Instruction) -> tuple[set[int], set[int]]:
    """(SGPRs read, SGPRs written), VCC among them also where it is implicit."""
    vcc = of_class(ins.reads, (RegClass.VCC,))
    return _numbers((*of_class(explicit_reads(ins), SCALARS), *vcc)), _numbers(of_class(ins.writes, SCALARS))


def _clear(state: State, kinds: tuple[str, ...], vcc: bool | None = None) -> State:
    return frozenset(
        f for f in state if f.kind not in kinds or (vcc is not None and _is_vcc(f.number) != vcc)
    )


class _Tracker:
    def __init__(self, ctx: Context, cfg: Cfg) -> None:
        self.ctx = ctx
        self.nops = _DS_NOPS[ctx.kernel.wave_size]
        self.after_nops = {cfg.lines[p].index for p in range(len(cfg.lines)) if self._enough_nops(cfg, p)}

    def _enough_nops(self, cfg: Cfg, p: int) -> bool:
        first = p - self.nops + 1
        return first >= cfg.blocks[cfg.block_of[p]].first and all(
            cfg.lines[q].base == "ds_nop" for q in range(first, p + 1)
        )

    def step(self, state: State, ins: Instruction) -> State:
        """What is read and written in flight behind ``ins``."""
        if ins.base == "ds_nop":
            return _clear(state, ("read",)) if ins.index in self.after_nops else state
        if (is_vmem(ins) and not ins.base.startswith(("flat_", "global_", "scratch_"))) or _is_smem(ins):
            return _clear(state, ("salu", "valu"))
        if ins.base in BASES:
            return self._waited(state, ins)
        valu, salu = is_valu(ins), is_salu(ins)
        if not valu and not salu:
            return state
        reads, writes = _uses(ins)
        if salu and reads:
            vcc_read = any(_is_vcc(n) and self._tracked(state, n) for n in reads)
            other = any(not _is_vcc(n) and self._tracked(state, n) for n in reads)
            if other:
                state = _clear(state, ("valu",), vcc=False)
            if vcc_read and any(f.kind == "valu" and _is_vcc(f.number) for f in state):
                state = _clear(state, ("salu", "valu"), vcc=True)
        if valu:
            state |= {Fact("read", n >> 1) for n in reads}
        for n in writes:
            if self._tracked(state, n):
                gone = ("salu", "valu") if _is_vcc(n) else ()
                state = frozenset(f for f in state if not (f.kind in gone and f.number == n))
                state |= {Fact("salu" if salu else "valu", n, ins.index)}
        return state

    @staticmethod
    def _tracked(state: State, n: int) -> bool:
        return Fact("read", n >> 1) in state

    def _waited(self, state: State, ins: Instruction) -> State:
        table = self.ctx.table
        if drains(ins, table, "va_vcc"):
            state = _clear(state, ("valu",), vcc=True)
        if drains(ins, table, "sa_sdst"):
            state = _clear(state, ("salu",))
        if drains(ins, table, "va_sdst"):
            state = _clear(state, ("valu",), vcc=False)
        return state

    def missing(self, state: State, ins: Instruction) -> tuple[Fact, str] | None:
        """The write that ``ins`` may miss, and the wait that is needed."""
        valu, salu = is_valu(ins), is_salu(ins)
        if not valu and not salu:
            return None
        for n in sorted(_uses(ins)[0]):
            if not self._tracked(state, n):
                continue
            for f in sorted(state, key=lambda f: (f.kind, f.row)):
                if f.number == n and f.kind == "salu":
                    return f, "sa_sdst(0)"
                if f.number == n and f.kind == "valu" and valu:
                    return f, "va_vcc(0)" if _is_vcc(n) else "va_sdst(0)"
        return None


def _is_smem(ins: Instruction) -> bool:
    return ins.category is Category.SMEM


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.generation != "gfx12":
        return
    for g in ctx.graphs:
        tracker = _Tracker(ctx, g)
        for p, state in run_forward(g, frozenset(), tracker.step):
            ins = g.lines[p]
            found = tracker.missing(state, ins)
            if found is None:
                continue
            fact, wait = found
            writer = ctx.ins(fact.row)
            name = f"s{fact.number}" if not _is_vcc(fact.number) else "vcc"
            yield rule.at(
                ins,
                f"reads {name}, written by {writer.pc:#x} {writer.text} after a VALU instruction has read "
                f"that register pair; missing before this line: s_wait_alu depctr_{wait}",
                path=(Site.of(writer, "write"), Site.of(ins, "read")),
            )


RULES = (
    Rule(
        "valu-sgpr-read",
        Severity.ERROR,
        "SGPR written after VALU has read it, and read again without s_wait_alu",
        "gfx12 keeps SGPRs that VALU has read in a cache, which the write may not have reached",
        "LLVM AMDGPUWaitSGPRHazards.cpp",
        _check,
    ),
)
