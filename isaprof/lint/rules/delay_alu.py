"""``s_delay_alu`` (gfx11, gfx12): hints that name the wrong instruction, or are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isaprof.analysis.cfg import Cfg
from isaprof.isa.model import Instruction, Pipe, RegClass
from isaprof.lint.context import Context
from isaprof.lint.kinds import explicit_reads, is_trans, is_valu, of_class, touches
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule
from isaprof.lint.search import look_back

_PART = re.compile(r"(instid0|instid1|instskip)\((\w+)\)")
_DEP = re.compile(r"(VALU|TRANS32)_DEP_(\d)")
_SKIP = {"SAME": 0, "NEXT": 1, "SKIP_1": 2, "SKIP_2": 3, "SKIP_3": 4, "SKIP_4": 5}
_SOURCE = "LLVM AMDGPUInsertDelayAlu.cpp; AMD ISA guides RDNA3 and RDNA4, S_DELAY_ALU"


def dependencies(ins: Instruction) -> list[tuple[int, str]]:
    """(instructions behind s_delay_alu's next one, id) of both fields."""
    parts = {m[1]: m[2] for o in ins.operands if (m := _PART.fullmatch(o.text))}
    out = [(0, parts["instid0"])] if "instid0" in parts else []
    if "instid1" in parts:
        out.append((_SKIP.get(parts.get("instskip", "SAME"), 0), parts["instid1"]))
    return out


def _target(cfg: Cfg, p: int, skip: int) -> int | None:
    """Position of the instruction that a field is about; None outside the block."""
    q = p + 1 + skip
    return q if q <= cfg.blocks[cfg.block_of[p]].last else None


def _counts(ins: Instruction, kind: str) -> bool:
    # pseudo-scalar transcendentals (v_s_rcp_f32, gfx12) count among the transcendentals
    trans = ins.pipe is Pipe.TRANS
    return trans if kind == "TRANS32" else is_valu(ins) and not trans


def _wrong(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if ins.base != "s_delay_alu":
                continue
            for skip, name in dependencies(ins):
                dep = _DEP.fullmatch(name)
                q = _target(g, p, skip)
                if dep is None or q is None:
                    continue
                kind, n = dep[1], int(dep[2])
                message = _judge(g, q, kind, n)
                if message is not None:
                    yield rule.at(ins, f"{name} for {g.lines[q].pc:#x} {g.lines[q].text}: {message}")


def _judge(g: Cfg, q: int, kind: str, n: int) -> str | None:
    """Why the ``n``-th ``kind`` instruction before position ``q`` is no producer; None where it is one."""
    user = g.lines[q]

    def step(state: int, i: Instruction) -> int | bool:
        if not _counts(i, kind):
            return state
        return True if state + 1 == n else state + 1

    producers = [found.ins for found in look_back(g, q, 0, step)]
    if not producers:
        return "there is no such instruction before it"
    if any(touches(user.reads, w) for i in producers for w in i.writes):
        return None
    return f"{producers[0].pc:#x} {producers[0].text} writes nothing that it reads"


def _missing(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.generation not in ("gfx11", "gfx12"):
        return
    hinted: set[int] = set()
    any_hint = False
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if ins.base == "s_delay_alu":
                any_hint = True
                hinted |= {
                    g.lines[q].index for s, _ in dependencies(ins) if (q := _target(g, p, s)) is not None
                }
    bare = [pair for g in ctx.graphs for pair in _adjacent(g) if pair[1].index not in hinted]
    if any_hint:
        for producer, user in bare:
            yield rule.at(user, f"reads the result of the VALU instruction before it, {producer.pc:#x} "
                          f"{producer.text}, without s_delay_alu instid0(VALU_DEP_1)")  # fmt: skip
    elif bare:
        first = bare[0][1]
        yield rule.at(first, f"no s_delay_alu in this kernel, where {len(bare)} VALU instructions read the "
                      "result of the one before")  # fmt: skip


def _adjacent(g: Cfg) -> Iterator[tuple[Instruction, Instruction]]:
    """(producer, user) of VALU instructions with nothing between but s_delay_alu."""
    for b in g.blocks:
        last: Instruction | None = None
        for p in range(b.first, b.last + 1):
            ins = g.lines[p]
            if ins.base == "s_delay_alu":
                continue
            if is_valu(ins):
                if last is not None and not is_trans(last) and _depends(ins, last):
                    yield last, ins
                last = ins
            else:
                last = None


def _depends(user: Instruction, producer: Instruction) -> bool:
    """Whether a VGPR (or the half of one, where both name halves) goes from one to the other."""
    for w in of_class(producer.writes, (RegClass.VGPR,)):
        half = next((o.half for o in producer.operands[:1] if o.reg == w), None)
        for r in of_class(explicit_reads(user), (RegClass.VGPR,)):
            if not r.overlaps(w):
                continue
            sources = [o for o in user.operands[1:] if o.reg == r]
            halves = {o.half for o in sources}
            if not sources:  # only kept in part by a write of the other half
                continue
            if half is None or None in halves or half in halves:
                return True
    return False


def _raw(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        if ins.base == "s_delay_alu" and not dependencies(ins):
            yield no_rule("delay_alu_raw", "s_delay_alu with an operand that LLVM does not name", ins)


RULES = (
    Rule(
        "delay-alu-wrong",
        Severity.WARNING,
        "s_delay_alu names an instruction that is no producer",
        "the wave gives up issue cycles for nothing, or the real dependency stalls in the VALU's queue",
        _SOURCE,
        _wrong,
    ),
    Rule(
        "delay-alu-missing",
        Severity.WARNING,
        "dependent VALU instruction without s_delay_alu",
        "the dependency stalls in the VALU's queue, where other waves cannot use the cycles",
        _SOURCE,
        _missing,
    ),
    Rule("delay-alu-raw", Severity.WARNING, "s_delay_alu without known fields", "", _SOURCE, _raw),
)
