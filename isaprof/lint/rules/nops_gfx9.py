"""Wait states that gfx9 and CDNA code must fill itself, apart from those around matrix instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from isaprof.isa.model import Instruction, OperandKind, RegClass, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.distance import Need, report, shortfalls
from isaprof.lint.hazard_facts import GFX940, GFX950, LLVM, LLVM_ISA, LLVM_ROC
from isaprof.lint.kinds import (
    LANES,
    SCALARS,
    explicit_reads,
    is_cmpx,
    is_lane_access,
    is_mfma,
    is_salu,
    is_trans,
    is_valu,
    is_vmem,
    names,
    of_class,
    source,
    source_span,
    touches,
    wide_store_data,
    writes,
)
from isaprof.lint.model import Finding, NoRule, Rule, Severity

_EXEC = RegSpan(RegClass.EXEC, 0, 2)
_VCC = RegSpan(RegClass.VCC, 0, 2)
_M0 = RegSpan(RegClass.M0, 0)
Needs = Callable[[Context, Instruction], Iterator[Need]]


def _valu_writes(span: RegSpan) -> Callable[[Instruction], bool]:
    return lambda i: is_valu(i) and writes(i, span)


def _sgpr_to_vmem(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if is_vmem(ins):
        for s in of_class(explicit_reads(ins), SCALARS):
            yield Need(s, 5, _valu_writes(s), f"vector memory reads {names(s)}, written by VALU")


def _vcc_to_div_fmas(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if ins.base.startswith("v_div_fmas"):
        yield Need(_VCC, 4, _valu_writes(_VCC), "reads VCC, written by VALU")


def _lane_select(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if ins.base in ("v_readlane_b32", "v_writelane_b32"):
        o = source(ins, 1)
        if o is not None and o.reg is not None and o.reg.cls in SCALARS:
            yield Need(o.reg, 4, _valu_writes(o.reg), f"lane select {o.text}, written by VALU")


def _dpp(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if ins.enc.endswith("dpp"):
        yield Need(_EXEC, 5, _valu_writes(_EXEC), "DPP depends on EXEC, written by VALU")
        # only src0 goes through the lanes; an old destination that is kept does not
        if (s := source_span(ins, 0)) is not None and s.cls in LANES:
            yield Need(s, 2, _valu_writes(s), f"DPP reads {names(s)}, written by VALU")


def hardware_register(ins: Instruction) -> str | None:
    """``HW_REG_MODE`` of s_setreg/s_getreg operands."""
    for o in ins.operands:
        if o.kind is OperandKind.NAME and o.text.startswith("hwreg("):
            return o.text[6:].rstrip(")").split(",")[0].strip()
        if o.kind is OperandKind.INT and isinstance(o.value, int) and ins.base.startswith("s_getreg"):
            return str(o.value & 0x3F)
    return None


def _setreg(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if ins.base.startswith(("s_setreg", "s_getreg")) and (name := hardware_register(ins)) is not None:

        def same(i: Instruction) -> bool:
            return i.base.startswith("s_setreg") and hardware_register(i) == name

        yield Need(None, 2, same, f"{name} is written by")


def _wide_store(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if not is_valu(ins):
        return
    for w in of_class(ins.writes, LANES):

        def store(i: Instruction, span: RegSpan = w) -> bool:
            data = wide_store_data(i)
            return data is not None and data.overlaps(span) and not _soffset(i)

        states = 2 if ctx.co.arch in GFX940 else 1
        yield Need(w, states, store, f"overwrites {names(w)}, the data of")


def _soffset(ins: Instruction) -> bool:
    """Whether a buffer instruction takes its offset from a scalar register."""
    return ins.base.startswith(("buffer_", "tbuffer_")) and any(
        o.reg is not None and o.reg.cls in (RegClass.SGPR, RegClass.M0) for o in ins.operands[3:]
    )


def _wide_store_soffset(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if is_valu(ins):
        for w in of_class(ins.writes, LANES):

            def store(i: Instruction, span: RegSpan = w) -> bool:
                data = wide_store_data(i)
                return data is not None and data.overlaps(span) and _soffset(i)

            yield Need(w, 1, store, f"overwrites {names(w)}, the data of")


def _m0(ctx: Context, ins: Instruction) -> Iterator[Need]:
    user = (
        "addtid" in ins.base
        or ins.base.startswith(("s_sendmsg", "s_ttracedata", "s_movrel", "ds_gws", "v_interp"))
        or ins.modifiers.get("gds") is True
        or any(o.text in ("src_lds_direct", "lds_direct") for o in ins.operands)
    )
    if user:
        yield Need(_M0, 1, lambda i: is_salu(i) and writes(i, _M0), "reads M0, written by SALU")


def _trans(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if is_valu(ins) and not is_trans(ins):
        for s in of_class(explicit_reads(ins), LANES):
            yield Need(
                s,
                1,
                lambda i, s=s: is_trans(i) and writes(i, s),  # type: ignore[misc]
                f"reads {names(s)}, written by the transcendental",
            )


def writes_part(ins: Instruction, arch: str) -> RegSpan | None:
    """The destination of an instruction that shifts its result into a part of the register."""
    if not is_valu(ins) or not ins.operands or is_mfma(ins):
        return None
    dst = ins.operands[0].reg
    if dst is None or dst.cls not in LANES:
        return None
    if ins.enc == "sdwa":
        return dst if ins.modifiers.get("dst_sel", "DWORD") != "DWORD" else None
    to_fp8 = ins.base.startswith(("v_cvt_pk_fp8", "v_cvt_pk_bf8", "v_cvt_sr_fp8", "v_cvt_sr_bf8"))
    scaled = ins.base.startswith("v_cvt_scalef32")
    if scaled and arch in GFX950 and ("_fp4_" in ins.base or ins.base.startswith("v_cvt_scalef32_sr_")):
        return dst
    op_sel = ins.modifiers.get("op_sel")
    if not isinstance(op_sel, tuple) or ins.base.startswith(("v_pk_", "v_dot", "v_mad_mix", "v_fma_mix")):
        return None
    if to_fp8 or scaled:  # the upper bits of op_sel choose the byte or word of the destination
        return dst if any(op_sel[2:]) else None
    return dst if len(op_sel) == len(ins.operands) and op_sel[-1] == 1 else None


def _part(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if not is_valu(ins):
        return
    for s in dict.fromkeys((*of_class(explicit_reads(ins), LANES), *of_class(ins.writes, LANES))):

        def match(i: Instruction, span: RegSpan = s) -> bool:
            dst = writes_part(i, ctx.co.arch)
            return dst is not None and dst.overlaps(span)

        yield Need(s, 1, match, f"uses {names(s)}, of which a part is written by")


_MASKED = ("v_cndmask_b", "v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32")


def masks(ins: Instruction) -> tuple[RegSpan, ...]:
    """SGPRs read lane by lane: carry in, select mask."""
    if not ins.base.startswith(_MASKED):
        return ()
    last = ins.operands[-1].reg
    return (last,) if last is not None and last.cls in SCALARS else (_VCC,)


def _sgpr_to_valu(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if is_valu(ins) and not ins.base.startswith("v_div_fmas"):
        constants = {o.reg for o in ins.operands[:-1] if o.reg is not None}
        for s in of_class(ins.reads, SCALARS):
            if s not in masks(ins) or (s in constants and not ins.base.startswith(_MASKED)):
                yield Need(s, 2, _valu_writes(s), f"VALU reads {names(s)}, written by VALU")


def _sgpr_to_mask(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if is_valu(ins):
        for s in masks(ins):
            yield Need(s, 2, _valu_writes(s), f"VALU reads the mask {names(s)}, written by VALU")


def _lane_access(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if not is_lane_access(ins):
        return
    yield Need(_EXEC, 4, _valu_writes(_EXEC), "lane access depends on EXEC, written by VALU")
    if ins.base != "v_writelane_b32":
        for s in of_class(explicit_reads(ins), LANES):
            yield Need(s, 1, _valu_writes(s), f"reads {names(s)}, written by VALU")


def _permlane_swap(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if ins.base in ("v_permlane16_swap_b32", "v_permlane32_swap_b32"):
        for s in of_class(explicit_reads(ins), LANES):
            yield Need(s, 2, _valu_writes(s), f"reads {names(s)}, written by VALU")
        yield Need(_EXEC, 4, is_cmpx, "depends on EXEC, written by")


def _rule(
    name: str,
    title: str,
    why: str,
    needs: Needs,
    targets: frozenset[str] | None = None,
    source: str = LLVM_ISA,
    disputed: bool = False,
) -> Rule:
    """A rule for ``targets`` (None: all of gfx9); ``disputed``: public sources disagree, so it only warns."""

    def check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
        if ctx.generation != "gfx9" or (targets is not None and ctx.co.arch not in targets):
            return
        for g in ctx.graphs:
            for p, ins in enumerate(g.lines):
                for short in shortfalls(g, p, needs(ctx, ins), ctx.table):
                    yield report(rule, ins, short)
                    break

    return Rule(name, Severity.WARNING if disputed else Severity.ERROR, title, why, source, check, disputed)


def _lds_dma_m0(ctx: Context, ins: Instruction) -> Iterator[Need]:
    if ins.mem is not None and ins.mem.lds_dma and touches(ins.reads, _M0):
        yield Need(_M0, 1, lambda i: is_salu(i) and writes(i, _M0), "load to LDS reads M0, written by SALU")


RULES = (
    _rule(
        "valu-sgpr-vmem",
        "SGPR written by VALU, read by vector memory",
        "the SGPR is read before it is written",
        _sgpr_to_vmem,
    ),
    _rule(
        "valu-vcc-div-fmas",
        "VCC written by VALU, read by v_div_fmas",
        "VCC is read too early",
        _vcc_to_div_fmas,
    ),
    _rule("valu-sgpr-lane", "lane select written by VALU", "the lane select is read too early", _lane_select),
    _rule("valu-dpp", "register written by VALU, read through DPP", "DPP reads the register too early", _dpp),
    _rule("setreg", "hardware register used right after s_setreg", "s_setreg takes two wait states", _setreg),
    _rule(
        "wide-store-data",
        "data of a wide store overwritten",
        "a store of more than 64 bits reads its data late",
        _wide_store,
    ),
    _rule("salu-m0", "M0 written by SALU, read implicitly", "M0 is read too early", _m0),
    _rule(
        "trans-valu",
        "transcendental's result used at once",
        "there is no forwarding from the transcendental unit",
        _trans,
        GFX940,
        LLVM,
    ),
    _rule(
        "part-write-valu",
        "register used right after a part of it was written",
        "the forwarding path has the result before it is shifted into place",
        _part,
        GFX940,
        LLVM,
    ),
    _rule(
        "valu-sgpr-valu",
        "SGPR written by VALU, read by VALU",
        "there is no interlock for SGPRs between VALU "
        "instructions where one reads the register as a constant",
        _sgpr_to_valu,
        GFX940,
        LLVM_ROC,
    ),
    _rule(
        "valu-lane-access",
        "lane access right after VALU",
        "the register or EXEC is read too early",
        _lane_access,
        GFX940,
        LLVM,
    ),
    _rule(
        "permlane-swap",
        "v_permlane*_swap right after VALU",
        "the register or EXEC is read too early",
        _permlane_swap,
        GFX950,
        LLVM,
    ),
    _rule(
        "salu-m0-lds-dma",
        "M0 written by SALU, read by a load to LDS",
        "LLVM pads this with s_nop; AMD's own kernels leave the padding out",
        _lds_dma_m0,
        None,
        LLVM,
        disputed=True,
    ),
    _rule(
        "valu-sgpr-mask",
        "mask or carry written by VALU, read by VALU",
        "LLVM pads this with s_nop; AMD's rocRoller asks for nothing where the register is a carry, and "
        "AMD's own kernels leave the padding out",
        _sgpr_to_mask,
        GFX940,
        LLVM_ROC,
        disputed=True,
    ),
    _rule(
        "wide-store-data-soffset",
        "data of a wide store with a scalar offset overwritten",
        "newer LLVM pads this with s_nop; older LLVM and AMD's rocRoller ask for nothing where soffset is "
        "an SGPR, and AMD's own kernels leave the padding out",
        _wide_store_soffset,
        GFX940,
        LLVM_ROC,
        disputed=True,
    ),
)
