"""Hazards of gfx11 that LLVM covers with s_waitcnt_depctr."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from isaprof.isa.model import Instruction, RegClass, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.depctr import drains
from isaprof.lint.distance import sites
from isaprof.lint.hazard_facts import LLVM, TRANS_USE
from isaprof.lint.kinds import (
    explicit_reads,
    is_export,
    is_lds,
    is_salu,
    is_trans,
    is_valu,
    is_vmem,
    names,
    of_class,
    touches,
    writes,
)
from isaprof.lint.model import Finding, Kind, NoRule, Rule, Severity
from isaprof.lint.search import look_back

_EXEC = RegSpan(RegClass.EXEC, 0, 2)
_VALUS, _TRANS = 5, 1  # instructions that may lie between and leave the hazard open
_PRE_AND_POST, _LAST = 2, 4
#: (source number -> VALU instructions behind its write), the same for the change of EXEC, VALUs passed
_Close = tuple[tuple[tuple[int, int], ...], int, int]


def _vector_sources(ins: Instruction) -> tuple[RegSpan, ...]:
    return of_class(explicit_reads(ins), (RegClass.VGPR,))


def _drained(ctx: Context, ins: Instruction) -> bool:
    """Instructions that wait for all VALU results of the wave."""
    return is_vmem(ins) or is_lds(ins) or is_export(ins) or drains(ins, ctx.table, "va_vdst")


def _trans_use(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.co.arch not in TRANS_USE:
        return
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            sources = _vector_sources(ins) if is_valu(ins) else ()
            if not sources:
                continue

            def step(
                state: tuple[int, int], i: Instruction, spans: tuple[RegSpan, ...] = sources
            ) -> tuple[int, int] | bool:
                valus, trans = state
                if valus > _VALUS or trans > _TRANS or _drained(ctx, i):
                    return False
                if is_trans(i) and any(writes(i, s) for s in spans):
                    return True
                return valus + is_valu(i), trans + is_trans(i)

            for found in look_back(g, p, (0, 0), step):
                yield rule.at(
                    ins,
                    f"reads a result of {found.ins.pc:#x} {found.ins.text}, {_VALUS} or fewer VALU "
                    "instructions before; missing before this line: s_waitcnt_depctr depctr_va_vdst(0)",
                    path=sites(found),
                    required=_VALUS + 1,
                    present=sum(map(is_valu, found.between)),
                    unit=Kind.VALU,
                )
                break


def _partial_forwarding(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    """Two sources, one written before and one after SALU changed EXEC, all close together (wave64)."""
    if ctx.generation != "gfx11" or ctx.kernel.wave_size != 64:
        return
    never = 1 << 20
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            sources = _vector_sources(ins) if is_valu(ins) else ()
            if len(sources) < 2:
                continue

            def step(state: _Close, i: Instruction, spans: tuple[RegSpan, ...] = sources) -> _Close | bool:
                defs, exec_at, valus = dict(state[0]), state[1], state[2]
                if valus > _PRE_AND_POST + _LAST + 2 or _drained(ctx, i):
                    return False
                changed = False
                if is_valu(i):
                    for n, s in enumerate(spans):
                        if n not in defs and writes(i, s):
                            defs[n] = valus
                            changed = True
                elif is_salu(i) and exec_at == never and defs and touches(i.writes, _EXEC):
                    exec_at, changed = valus, True
                if valus > _LAST and not defs:
                    return False
                if changed and exec_at != never:
                    verdict = _forwarding(defs, exec_at)
                    if verdict is not None:
                        return verdict
                return tuple(sorted(defs.items())), exec_at, valus + is_valu(i)

            start: _Close = ((), never, 0)
            for found in look_back(g, p, start, step):
                yield rule.at(
                    ins,
                    f"reads registers written by VALU on both sides of a change of EXEC, one by "
                    f"{found.ins.pc:#x} {found.ins.text}; missing before this line: s_waitcnt_depctr "
                    "depctr_va_vdst(0)",
                    path=sites(found),
                )
                break


def _forwarding(defs: dict[int, int], exec_at: int) -> bool | None:
    """True: hazard; False: too far apart; None: not decided yet."""
    before = min((d for d in defs.values() if d >= exec_at), default=None)
    after = min((d for d in defs.values() if d < exec_at), default=None)
    if after is None:
        return None
    second = exec_at - after - 1
    if after > _LAST or second > _PRE_AND_POST:
        return False
    if before is None:
        return None
    first = before - exec_at
    return first + second <= _PRE_AND_POST


_MASK_VCC = (
    "v_addc_co",
    "v_add_co_ci",
    "v_subb",
    "v_sub_co_ci",
    "v_subrev_co_ci",
    "v_cndmask_b",
    "v_div_fmas",
)


def _masks(ins: Instruction) -> tuple[RegSpan, ...]:
    """SGPRs that a VALU instruction reads as a lane mask."""
    if not ins.base.startswith(_MASK_VCC):
        return ()
    if ins.base.startswith("v_div_fmas") or ins.enc in ("e32", "dpp", ""):
        return of_class(ins.reads, (RegClass.VCC,))
    last = ins.operands[-1].reg
    return (last,) if last is not None and last.cls in (RegClass.SGPR, RegClass.VCC) else ()


def _mask_write(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    """SGPR read as a mask, then written, then read: the read may get the old value (wave64)."""
    if ctx.generation != "gfx11" or ctx.kernel.wave_size != 64:
        return
    classes = (RegClass.SGPR, RegClass.VCC)
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if not (is_valu(ins) or is_salu(ins)):
                continue
            for span in of_class(ins.reads, classes):
                found_any = False
                for found in look_back(g, p, (False, False, False), _mask_step(ctx, ins, span)):
                    found_any = True
                    yield rule.at(
                        ins,
                        f"reads {names(span)}, written after {found.ins.pc:#x} {found.ins.text} read it as a "
                        "mask, with no wait between write and read",
                        path=sites(found),
                    )
                    break
                if found_any:
                    break


#: (the write was met, a wait for SALU writes was met behind it, the same for VALU writes)
_Mask = tuple[bool, bool, bool]


def _mask_step(
    ctx: Context, reader: Instruction, span: RegSpan
) -> Callable[[_Mask, Instruction], _Mask | bool]:
    """Backward: first the write without a wait behind it, then the mask read before it."""
    field = "va_vcc" if span.cls is RegClass.VCC else "va_sdst"

    def step(state: _Mask, i: Instruction) -> _Mask | bool:
        written, salu_wait, valu_wait = state
        if written:
            if touches(_masks(i), span):
                return True
            return False if writes(i, span) else state
        if writes(i, span):
            if is_salu(i) and not salu_wait:
                return True, salu_wait, valu_wait
            # SALU waits for VALU writes by itself
            return (True, salu_wait, valu_wait) if is_valu(i) and is_valu(reader) and not valu_wait else False
        return (
            False,
            salu_wait or drains(i, ctx.table, "sa_sdst"),
            valu_wait or drains(i, ctx.table, field),
        )

    return step


def _lds_direct(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.generation not in ("gfx11", "gfx12"):
        return
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if ins.base not in ("lds_direct_load", "lds_param_load", "ds_direct_load", "ds_param_load"):
                continue
            span = ins.operands[0].reg if ins.operands else None
            allowed = ins.modifiers.get("wait_vdst", ins.modifiers.get("wait_va_vdst", 0))
            if span is None or not isinstance(allowed, int):
                continue

            def step(state: tuple[int, bool], i: Instruction, s: RegSpan = span) -> tuple[int, bool] | bool:
                count, trans = state
                if count >= 15 or _drained(ctx, i):
                    return False
                if is_valu(i) and (touches(i.reads, s) or writes(i, s)):
                    return True
                return count + is_valu(i), trans or is_trans(i)

            for found in look_back(g, p, (0, False), step):
                between = [i for i in found.way[:-1] if is_valu(i)]
                limit = 0 if any(map(is_trans, between)) else len(between) - 1
                if allowed > limit:
                    yield rule.at(
                        ins,
                        f"overwrites {names(span)}, used by {found.ins.pc:#x} {found.ins.text}, and waits "
                        f"only for wait_vdst:{allowed}; wait_vdst:{limit} is needed",
                        path=sites(found),
                        required=limit,
                        present=allowed,
                        unit=Kind.WAIT,
                    )
                    break


RULES = (
    Rule(
        "trans-use",
        Severity.ERROR,
        "transcendental's result used too early",
        "gfx11.0 does not always wait for the transcendental unit",
        LLVM,
        _trans_use,
    ),
    Rule(
        "partial-forwarding",
        Severity.ERROR,
        "sources written on both sides of a change of EXEC",
        "gfx11 forwards the wrong lanes in wave64",
        LLVM,
        _partial_forwarding,
    ),
    Rule(
        "valu-mask-write",
        Severity.ERROR,
        "mask register rewritten and read without a wait",
        "gfx11 may give the value of before the write in wave64",
        LLVM,
        _mask_write,
    ),
    Rule(
        "lds-direct",
        Severity.ERROR,
        "lds_direct_load overwrites a register that VALU still uses",
        "LDS direct loads wait only for what wait_vdst says",
        LLVM,
        _lds_direct,
    ),
)
