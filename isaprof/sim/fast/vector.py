"""Micro-ops of vector ALU instructions: the rules of isaprof.sim.lower.valu, resolved at decode."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind, RegClass
from isaprof.sim.fast.records import SRC, D, Dpp, Dst, F, H, Op, Src, T
from isaprof.sim.lower import dpp as reference_dpp
from isaprof.sim.lower.context import modifier_bits, modifier_int
from isaprof.sim.lower.dpp import _selection
from isaprof.sim.lower.lanes import _perm_flags
from isaprof.sim.lower.operands import (
    FLOATS,
    HALF,
    WIDE,
    constant_bits,
    getter,
    is_vector,
    row_of,
    scalar_slot,
)
from isaprof.sim.lower.packed import _bit, _halves, mix_getter, pair_getter
from isaprof.sim.lower.scaled import select as scaled_select
from isaprof.sim.lower.valu import _ORDER, _omod, split_operands
from isaprof.sim.semantics import Semantics, vector_table
from isaprof.sim.state import EXEC, NULL, VCC

if TYPE_CHECKING:
    from isaprof.sim.fast.decode import Decoder

_PAIRS = ("f16x2", "bf16x2")


def vector(x: Decoder, ins: Instruction) -> Op | None:
    """The micro-op of a vector ALU instruction that follows the table of semantics."""
    op = _one(x, ins)
    if op is None or ins.dual is None:
        return op
    other = _one(x, ins.dual)
    if other is None:
        return None
    x.ops += [op, other]
    return Op(h=H["dual"], target=len(x.ops) - 2, dual=len(x.ops) - 1)


def _one(x: Decoder, ins: Instruction) -> Op | None:
    base = ins.base.replace("v_dual_", "v_")
    if base.endswith(("_dot2acc_f32_f16", "_dot2acc_f32_bf16")):
        base = base.replace("dot2acc", "dot2c")
    sem = vector_table().get(base)
    if sem is None:
        return None
    if base == "v_cndmask_b32" and len(ins.operands) == 3:
        sem = replace(sem, implicit_vcc=True)
    number = x.kernel(sem.op)
    if number < 0:
        return None
    op = Op(h=H["valu"], kernel=number, dpp=-1, uses_mode=int(sem.mode))
    if not _results(ins, sem, op):
        return None
    if sem.packed or sem.packed32:
        return _packed(x, ins, sem, op)
    dsts, srcs = split_operands(ins, sem)
    control = reference_dpp.control(ins, x.ctx)
    if control is not None:
        op.dpp = _dpp(x, control)
    flushed = _flushes(sem)
    for i, (o, t) in enumerate(zip(srcs, sem.src, strict=False)):
        src = _source(x, ins, sem, i, o, t, control is not None)
        if src is None:
            return None
        if flushed and t in FLOATS:
            src.flush = F[t]
        op.src[i] = src
        op.nsrc = i + 1
    if sem.implicit_vcc:
        op.src[op.nsrc] = Src(kind=SRC["mask"], type=T["mask"], at=VCC)
        op.nsrc += 1
    if not _destinations(x, ins, sem, op, dsts):
        return None
    return _quick(op, bool(flushed))


def _flushes(sem: Semantics) -> bool:
    """Whether denormal rules apply: some operand is a float and it is no move."""
    return not sem.raw and any(t in FLOATS or t == "mix" for t in (*sem.src, sem.dst[0]))


def _results(ins: Instruction, sem: Semantics, op: Op) -> bool:
    """Clamp, output modifier, variants; False when the reference has to do it."""
    t = sem.dst[0]
    clamp = bool(ins.modifiers.get("clamp"))
    if clamp and ((sem.sat is not None and sem.dst[-1] != "mask") or sem.carry):
        return False
    if clamp and (t == "mask" or _ORDER.match(ins.base)):
        clamp = False
    if _flushes(sem):
        scale = _omod(ins)
        if t in FLOATS:
            op.fdst = F[t]
            if (clamp and t == "f64") or (scale is not None and t != "f32"):
                return False
            op.clamp, op.omod = int(clamp), 0.0 if scale is None else scale
    elif clamp and not sem.raw:
        return False
    if sem.truth_table:
        op.imm = modifier_int(ins, "bitop3")
    if sem.op in ("dot4_i32_iu8", "dot8_i32_iu4"):
        neg = (*modifier_bits(ins, "neg_lo"), 0, 0)
        op.imm = int(bool(neg[0])) | int(bool(neg[1])) << 1
    return True


def _quick(op: Op, floats: bool) -> Op:
    """Choose the handler without any preparation where nothing has to be prepared."""
    plain = all(
        s.kind == SRC["row"] and not s.mods and (s.type == T["32"] or (s.type == T["16"] and not s.half))
        for s in op.src[: op.nsrc]
    )
    if (
        plain and 1 <= op.nsrc <= 3 and op.dpp < 0 and op.dst.kind == D["32"] and not op.dst2.kind
        and not op.clamp and not op.omod and not op.temp and not op.n2
    ):  # fmt: skip
        op.h = H[f"fast{op.nsrc}"]
        op.flags = int(floats or op.uses_mode)
    return op


def _dpp(x: Decoder, c: reference_dpp.DppControl) -> int:
    def bits(a: Any) -> int:
        return int.from_bytes(np.packbits(a, bitorder="little").tobytes(), "little")

    record = Dpp(bits(c.valid), bits(c.enabled), int(c.zero_invalid), int(c.fetch_inactive))
    for lane, source in enumerate(c.source.tolist()):
        if not 0 <= source < x.ctx.lanes:
            raise AssertionError("DPP source lane outside the wave")
        record.source[lane] = source
    x.dpps.append(record)
    return len(x.dpps) - 1


# -- sources -------------------------------------------------------------------------------------


def _constant(x: Decoder, value: Any) -> Src:
    """A NumPy scalar as a constant row (two for 64 bits)."""
    a = np.asarray(value)
    bits = int(a.view(f"u{a.dtype.itemsize}"))
    wide = a.dtype.itemsize == 8
    return Src(kind=SRC["const"], type=T["64" if wide else "32"], at=x.constant(bits, bits >> 32))


def _source(
    x: Decoder, ins: Instruction, sem: Semantics, i: int, o: Operand, t: str, with_dpp: bool
) -> Src | None:
    ctx = x.ctx
    op_sel = modifier_bits(ins, "op_sel")
    half = op_sel[i] if i < len(op_sel) else 0
    if t == "u8" or (with_dpp and i == 0 and (t == "mix" or t in _PAIRS or ins.enc == "sdwa")):
        return None
    if t == "mix":
        if not _bit(ins, "op_sel_hi", i, 0):
            return _typed(x, o, "f32", 0)
        if o.kind is not OperandKind.REG:
            return _constant(x, mix_getter(ins, ctx, o, i)(None))  # type: ignore[arg-type]
        src = _typed(x, o, "f16", _bit(ins, "op_sel", i, 0), mods=False)
        if src is not None:
            src.type = T["widen"]
            _signs(src, o, "f32")
        return src
    if t in _PAIRS:
        return _pair(x, ins, i, o, t)
    if ins.enc == "sdwa" and i < 2 and t != "mask":
        low, width = _selection(ins, f"src{i}_sel")
        if t in WIDE:
            return None
        if width == 32:
            return _typed(x, o, t, 0)
        if o.kind is not OperandKind.REG:
            return None
        src = _typed(x, o, "u32", 0, mods=False)
        if src is not None:
            src.type, src.low, src.width, src.sext = T["bits"], low, width, int(o.sext)
            src.half = int(t in HALF)
            _signs(src, o, t)
        return src
    if with_dpp and i == 0:
        return _typed(x, o, t, 0) if is_vector(o) else None
    return _typed(x, o, t, half if t in HALF else 0)


def _signs(src: Src, o: Operand, t: str) -> None:
    if t in FLOATS or t == "bf16":
        src.mods, src.sign = int(o.neg) | int(o.abs) << 1, F[t]


def _typed(x: Decoder, o: Operand, t: str, half: int, *, mods: bool = True) -> Src | None:
    """isaprof.sim.lower.operands.getter as a record."""
    ctx = x.ctx
    if t == "mask":
        slot = None if o.reg is None else scalar_slot(o.reg)
        if slot is None or not 0 <= slot <= EXEC:
            return None
        return Src(kind=SRC["mask"], type=T["mask"], at=slot)
    kind = T["64"] if t in WIDE else T["16"] if t in HALF else T["32"]
    if is_vector(o) and o.reg is not None:
        half = half or int(o.half == "h")
        src = Src(kind=SRC["row"], type=kind, half=half if t in HALF else 0,
                  at=row_of(ctx, o.reg, 2 if t in WIDE else 1))  # fmt: skip
    elif o.kind is not OperandKind.REG:
        return _constant(x, getter(ctx, o, t, half=half, mods=mods)(None))  # type: ignore[arg-type]
    else:
        scalar = x.scalar_source(o, 64 if t in WIDE else 32)
        if scalar is None:
            return None
        src = scalar
        src.type = kind
        if t in HALF:
            src.half = int(bool(half) or o.half == "h")
    if mods:
        _signs(src, o, t)
    return src


def _pair(x: Decoder, ins: Instruction, i: int, o: Operand, t: str) -> Src | None:
    """(low, high) of a dot product, both in one word."""
    if o.kind is not OperandKind.REG:
        lo, hi = pair_getter(ins, x.ctx, o, i, t)(None)  # type: ignore[arg-type]
        word = int(np.asarray(lo).view(np.uint16)) | int(np.asarray(hi).view(np.uint16)) << 16
        return Src(kind=SRC["const"], type=T["32"], at=x.constant(word))
    chosen = ins.base.startswith(("v_dot2_f32", "v_dot2_i32", "v_dot2_u32"))
    low = _bit(ins, "op_sel", i, 0) if chosen else 0
    high = _bit(ins, "op_sel_hi", i, 1) if chosen else 1
    neg = (_bit(ins, "neg_lo", i, int(o.neg)), _bit(ins, "neg_hi", i, int(o.neg)))
    return _words(x, o, low, high, neg)


def _words(x: Decoder, o: Operand, low: int, high: int, neg: tuple[int, int]) -> Src | None:
    src = _typed(x, o, "u32", 0, mods=False)
    if src is not None:
        src.type, src.half = T["halves"], low | high << 1
        src.and_ = 0x7FFF7FFF if o.abs else 0xFFFFFFFF
        src.xor_ = (0x8000 if neg[0] else 0) | (0x80000000 if neg[1] else 0)
    return src


# -- packed ----------------------------------------------------------------------------------------


def _packed(x: Decoder, ins: Instruction, sem: Semantics, op: Op) -> Op | None:
    operands = list(ins.operands)
    dst, srcs = operands[0], operands[1:]
    if sem.accumulate:
        srcs.append(dst)
    if dst.reg is None or len(srcs) != len(sem.src) or reference_dpp.control(ins, x.ctx) is not None:
        return None
    for i, (o, t) in enumerate(zip(srcs, sem.src, strict=True)):
        src = _pair32(x, ins, i, o) if sem.packed32 else _half_words(x, ins, i, o, t)
        if src is None:
            return None
        if _flushes(sem) and t in FLOATS:
            src.flush = F[t]
        op.src[i] = src
        op.nsrc = i + 1
    if sem.packed32:
        row = row_of(x.ctx, dst.reg, 2)
        op.n2, op.dst = 1, Dst(kind=D["pair32"], at=row)
        op.temp = int(any(s.kind == SRC["row"] and abs(s.at - row) == 1 for s in op.src[: op.nsrc]))
        return op
    op.dst = Dst(kind=D["32"], at=row_of(x.ctx, dst.reg, 1))
    return op


def _half_words(x: Decoder, ins: Instruction, i: int, o: Operand, t: str) -> Src | None:
    if o.kind is not OperandKind.REG:
        pair = np.ascontiguousarray(_halves(ins, x.ctx, o, i, t)(None)[:2])  # type: ignore[arg-type]
        return Src(kind=SRC["const"], type=T["halves"], half=2, and_=0xFFFFFFFF,
                   at=x.constant(int(pair.view(np.uint32)[0])))  # fmt: skip
    low, high = _bit(ins, "op_sel", i, 0), _bit(ins, "op_sel_hi", i, 1)
    if i >= len(ins.operands) - 1:
        low, high = 0, 1
    neg = (_bit(ins, "neg_lo", i, int(o.neg)), _bit(ins, "neg_hi", i, int(o.neg)))
    return _words(x, o, low, high, neg if t in FLOATS else (0, 0))


def _pair32(x: Decoder, ins: Instruction, i: int, o: Operand) -> Src | None:
    low, high = _bit(ins, "op_sel", i, 0), _bit(ins, "op_sel_hi", i, 1)
    neg = [0x80000000 * _bit(ins, name, i, 0) for name in ("neg_lo", "neg_hi")]
    if is_vector(o) and o.reg is not None:
        src = Src(kind=SRC["row"], at=row_of(x.ctx, o.reg, 2))
    elif o.kind is OperandKind.REG and o.reg is not None and o.reg.cls is not RegClass.NULL:
        scalar = x.scalar_source(o, 64)
        if scalar is None:
            return None
        src = scalar
    else:
        k = constant_bits(o, 32) if o.kind is not OperandKind.REG else 0
        return Src(kind=SRC["const"], type=T["pair32"], half=2, at=x.constant(k ^ neg[0], k ^ neg[1]))
    src.type, src.half, src.and_, src.xor_ = T["pair32"], low | high << 1, neg[0], neg[1]
    return src


# -- destinations ----------------------------------------------------------------------------------


def _destinations(x: Decoder, ins: Instruction, sem: Semantics, op: Op, dsts: list[Operand]) -> bool:
    if sem.exec_dst:
        op.writes_exec = 1
        if dsts and x.ctx.facts.cmpx_writes_sgpr:
            op.dst = _mask(dsts[0])
            return bool(op.dst.kind)
        return True
    op_sel = modifier_bits(ins, "op_sel")
    for i, (o, t) in enumerate(zip(dsts, sem.dst, strict=True)):
        if t == "mask":
            d = _mask(o)
        else:
            keep = not x.ctx.facts.clears_high16 if sem.keeps_high16 is None else sem.keeps_high16
            n_src = len(sem.src) - sem.accumulate
            half = op_sel[n_src] if i == 0 and len(op_sel) > n_src else 0
            if ins.base == "v_fma_mixhi_f16":
                half = 1
            d = _register(x, ins, o, t, half, keep)
        if not d.kind:
            return False
        if i:
            op.dst2 = d
        else:
            op.dst = d
    return True


def _mask(o: Operand) -> Dst:
    slot = None if o.reg is None else scalar_slot(o.reg)
    return Dst() if slot is None or not 0 <= slot <= EXEC else Dst(kind=D["mask"], at=slot)


def _register(x: Decoder, ins: Instruction, o: Operand, t: str, half: int, keep: bool) -> Dst:
    if o.reg is None or not is_vector(o):
        return Dst()
    row = row_of(x.ctx, o.reg, 2 if t in WIDE else 1)
    if ins.enc == "sdwa":
        low, width = _selection(ins, "dst_sel")
        if t in WIDE:
            return Dst()
        if width == 32:
            return Dst(kind=D["lo_clear" if t in HALF else "32"], at=row)
        names = {"UNUSED_PRESERVE": 2, "UNUSED_SEXT": 1}
        unused = names.get(str(ins.modifiers.get("dst_unused", "UNUSED_PAD")), 0)
        return Dst(kind=D["sdwa"], low=low, width=width, unused=unused, at=row)
    if t in WIDE:
        return Dst(kind=D["64"], at=row)
    if t not in HALF:
        return Dst(kind=D["32"], at=row)
    half = half or int(o.half == "h")
    if not keep and not half and o.half is None:
        return Dst(kind=D["lo_clear"], at=row)
    return Dst(kind=D["hi" if half else "lo"], at=row)


# -- moves between lanes ---------------------------------------------------------------------------

_LANES = {
    "v_readlane_b32": "readlane", "v_readfirstlane_b32": "readfirst", "v_writelane_b32": "writelane",
    "v_mbcnt_lo_u32_b32": "mbcnt", "v_mbcnt_hi_u32_b32": "mbcnt", "v_permlane16_swap_b32": "permswap",
    "v_permlane32_swap_b32": "permswap", "v_permlane16_b32": "permlane16", "v_permlanex16_b32": "permlane16",
    "v_swap_b32": "swap",
}  # fmt: skip


def _scaled_fp4(x: Decoder, ins: Instruction) -> Op | None:
    """The scaled conversion of inner loops: two floats to one byte of the destination."""
    dst, *values, scale = ins.operands
    if dst.reg is None or not is_vector(dst) or ins.modifiers.keys() - {"op_sel"}:
        return None
    sel = scaled_select(ins)
    op = Op(h=H["valu"], kernel=x.kernel(ins.base.removeprefix("v_")), dpp=-1, imm=sel[2] + 2 * sel[3])
    row = row_of(x.ctx, dst.reg, 1)
    floats = ins.base.endswith("_f32")  # else one register holds both values, and has no modifiers
    sources = [_typed(x, o, "f32" if floats else "u32", 0, mods=floats) for o in values]
    sources += [_typed(x, o, "u32", 0, mods=False) for o in (scale, dst)]
    op.nsrc = len(sources)
    for i, src in enumerate(sources):
        if src is None:
            return None
        op.src[i] = src
    op.dst = Dst(kind=D["32"], at=row)
    return op if op.kernel >= 0 else None


def special(x: Decoder, ins: Instruction) -> Op | None:
    """The micro-op of a cross-lane instruction, None when ``ins`` is none that is known here."""
    base = ins.base
    if base in ("v_nop", "v_pipeflush"):
        return Op(h=H["nop"])
    if base == "v_pk_mov_b32":
        return _pk_mov(x, ins)
    if base.startswith("v_cvt_scalef32_pk_fp4_"):
        return _scaled_fp4(x, ins)
    name = _LANES.get(base)
    if name is None:
        return None
    op = Op(h=H[name], dpp=-1)
    dst, *srcs = ins.operands
    if name in ("readlane", "readfirst"):
        d = x.scalar_destination(dst, 1)
    else:
        d = None if dst.reg is None or not is_vector(dst) else Dst(at=row_of(x.ctx, dst.reg, 1))
    if d is None:
        return None
    op.dst = d
    for i, o in enumerate(srcs):
        src = _typed(x, o, "u32", 0, mods=False)
        vector_only = i == 0 and name in ("readlane", "permswap", "permlane16", "swap")
        scalar_only = (i > 0 and name != "mbcnt") or name == "writelane"
        if (
            src is None
            or (vector_only and src.kind != SRC["row"])
            or (scalar_only and src.kind == SRC["row"])
        ):
            return None
        op.src[i] = src
        op.nsrc = i + 1
    if name == "mbcnt":
        op.flags = int("hi" in base)
    if name == "permswap":
        op.imm = 16 if "16" in base else 32
        op.flags = int(bool(ins.modifiers.get("fi"))) | int(bool(ins.modifiers.get("bound_ctrl"))) << 1
    if name == "permlane16":
        op.imm = 16 if "permlanex16" in base else 0
        fi, bound = _perm_flags(ins)
        op.flags = int(fi) | int(bound) << 1
    return op


def _pk_mov(x: Decoder, ins: Instruction) -> Op | None:
    """Low result from src0, high result from src1; op_sel chooses the half of each."""
    dst, *srcs = ins.operands
    if dst.reg is None or not is_vector(dst) or len(srcs) != 2:
        return None
    sel = (*modifier_bits(ins, "op_sel"), 0, 0)[:2]
    op = Op(h=H["valu"], kernel=x.kernel("pk_mov_b32"), dpp=-1, temp=1, nsrc=2)
    op.dst = Dst(kind=D["64"], at=row_of(x.ctx, dst.reg, 2))
    for i, o in enumerate(srcs):
        if is_vector(o) and o.reg is not None:
            src = Src(kind=SRC["row"], at=row_of(x.ctx, o.reg, 2) + sel[i])
        elif o.kind is OperandKind.REG:
            wide = x.scalar_source(o, 64)
            if wide is None or wide.kind != SRC["slot64"]:
                return None
            src = Src(kind=SRC["slot"], at=wide.at if wide.at == NULL else wide.at + sel[i])
        else:
            src = Src(kind=SRC["const"], at=x.constant(constant_bits(o, 32)))
        op.src[i] = src
    return op
