"""Kinds of instructions as LLVM's hazard recognizer tells them apart, and their register operands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from isaprof.arch.table import ArchTable
from isaprof.isa.model import Category, Instruction, Operand, OperandKind, Pipe, RegClass, RegSpan, Space

LANES = (RegClass.VGPR, RegClass.AGPR)
#: general scalar registers: EXEC, M0 and SCC have rules of their own
SCALARS = (RegClass.SGPR, RegClass.VCC)

_DOT = re.compile(r"v_dot\d+c?_\w+")
_TRANS_F32 = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_\w+|v_rcp_iflag_f32")


def is_valu(ins: Instruction) -> bool:
    """Any vector ALU instruction, matrix and transcendental ones included."""
    return ins.category is Category.VALU


def is_salu(ins: Instruction) -> bool:
    return ins.category is Category.SALU


def is_mfma(ins: Instruction) -> bool:
    return ins.base.startswith(("v_mfma_", "v_smfmac_")) and "ld_scale" not in ins.base


def is_wmma(ins: Instruction) -> bool:
    return ins.base.startswith(("v_wmma_", "v_swmmac_")) and "ld_scale" not in ins.base


def is_dgemm(ins: Instruction) -> bool:
    return is_mfma(ins) and ins.base.startswith("v_mfma_f64")


def is_dot(ins: Instruction) -> bool:
    return _DOT.fullmatch(ins.base) is not None


def is_trans(ins: Instruction) -> bool:
    return _TRANS_F32.fullmatch(ins.base) is not None


def is_vmem(ins: Instruction) -> bool:
    """Vector memory, FLAT included."""
    return ins.pipe is Pipe.VMEM and ins.category in (Category.VMEM, Category.FLAT, Category.BVH)


def is_lds(ins: Instruction) -> bool:
    return ins.category is Category.LDS


def is_export(ins: Instruction) -> bool:
    return ins.pipe is Pipe.EXPORT


def is_memory(ins: Instruction) -> bool:
    """What reads VGPRs outside the vector ALU."""
    return is_vmem(ins) or is_lds(ins) or is_export(ins)


def is_cmpx(ins: Instruction) -> bool:
    return ins.base.startswith("v_cmpx")


def is_lane_access(ins: Instruction) -> bool:
    return ins.base in ("v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32")


def wide_store_data(ins: Instruction) -> RegSpan | None:
    """The data registers of a vector store of more than 64 bits, else None."""
    if ins.mem is None or not ins.mem.store or ins.mem.atomic or ins.mem.lds_dma or not is_vmem(ins):
        return None
    if ins.mem.space is Space.LDS or ins.mem.bytes <= 8:
        return None
    at = 0 if ins.mem.space is Space.BUFFER else 1
    spans = [o.reg for o in ins.operands]
    span = spans[at] if at < len(spans) else None
    return span if span is not None and span.cls in LANES else None


def explicit_reads(ins: Instruction) -> tuple[RegSpan, ...]:
    """Source registers that are written down, tied destinations included; VOPD: both halves."""
    named = {o.reg for o in ins.operands if o.reg is not None}
    if ins.dual is not None:
        named |= {o.reg for o in ins.dual.operands if o.reg is not None}
    return tuple(r for r in ins.reads if r in named)


def of_class(spans: Iterable[RegSpan], classes: Sequence[RegClass]) -> tuple[RegSpan, ...]:
    return tuple(s for s in spans if s.cls in classes)


def touches(spans: Iterable[RegSpan], span: RegSpan) -> bool:
    return any(s.overlaps(span) for s in spans)


def writes(ins: Instruction, span: RegSpan) -> bool:
    return touches(ins.writes, span)


def destination(ins: Instruction) -> RegSpan | None:
    """The first operand's registers."""
    return ins.operands[0].reg if ins.operands else None


def source(ins: Instruction, n: int) -> Operand | None:
    """Source operand ``n`` (0 = src0) of an instruction with one destination."""
    return ins.operands[n + 1] if n + 1 < len(ins.operands) else None


def source_span(ins: Instruction, n: int) -> RegSpan | None:
    o = source(ins, n)
    return None if o is None or o.kind is not OperandKind.REG else o.reg


def passes(ins: Instruction, table: ArchTable) -> int | None:
    """Passes of a matrix instruction (4 cycles each); None where the table does not know it."""
    return _passes(ins.base, ins.modifiers.get("cbsz", 0), ins.modifiers.get("blgp", 0), table.name)


@lru_cache(maxsize=4096)
def _passes(base: str, cbsz: object, blgp: object, arch: str) -> int | None:
    from isaprof.arch import family_table
    from isaprof.lint.hazard_facts import MATRIX_PASSES

    for rule in family_table(arch).get("matrix", ()):
        if re.fullmatch(rule.pattern, base):
            eight_bit = cbsz in (0, 1) or blgp in (0, 1)
            cycles = rule.cycles_8bit if rule.cycles_8bit is not None and eight_bit else rule.cycles
            return int(cycles) // 4
    return next((n for p, n in MATRIX_PASSES.get(arch, ()) if re.fullmatch(p, base)), None)


def names(span: RegSpan) -> str:
    """``v5``, ``a[0:3]``, ``vcc``: a span as LLVM writes it."""
    if span.cls in (RegClass.VGPR, RegClass.AGPR, RegClass.SGPR, RegClass.TTMP):
        if span.count == 1:
            return f"{span.cls.value}{span.index}"
        return f"{span.cls.value}[{span.index}:{span.index + span.count - 1}]"
    if span.cls in (RegClass.VCC, RegClass.EXEC) and span.count == 1:
        return f"{span.cls.value}_{'hi' if span.index else 'lo'}"
    return span.cls.value
