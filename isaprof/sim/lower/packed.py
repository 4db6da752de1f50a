"""Operands of VOP3P: halves chosen by op_sel, negated by neg_lo and neg_hi."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind, RegClass
from isaprof.sim.lower.context import Context, Unimplemented, modifier_bits
from isaprof.sim.lower.operands import (
    DTYPES,
    FLOATS,
    Get,
    constant_bits,
    getter,
    is_vector,
    row_of,
    scalar_getter,
    with_modifiers,
)
from isaprof.sim.semantics import Semantics
from isaprof.sim.state import Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any


def _bit(ins: Instruction, name: str, i: int, default: int) -> int:
    bits = modifier_bits(ins, name)
    return bits[i] if i < len(bits) else default


def _packed_constant(o: Operand, t: str) -> int:
    """32-bit pattern of a constant in front of a packed 16-bit source."""
    if o.kind is OperandKind.FLOAT and t in ("f16", "bf16"):
        return constant_bits(o, 16)
    return constant_bits(o, 32)


def _raw32(ctx: Context, o: Operand, t: str) -> Get:
    if is_vector(o):
        return getter(ctx, o, "u32", mods=False)
    if o.kind is OperandKind.REG:
        g = scalar_getter(ctx, o, 32)
        return lambda w: np.uint32(g(w))
    k = np.uint32(_packed_constant(o, t))
    return lambda w: k


def pair_getter(ins: Instruction, ctx: Context, o: Operand, i: int, t: str) -> Get:
    """(low, high) halves of a dot-product source."""
    element = t.removesuffix("x2")
    raw = _raw32(ctx, o, element)
    lo_shift = np.uint32(16 * _bit(ins, "op_sel", i, 0))
    # only VOP3P dot products have op_sel_hi; the VOP3 and VOP2 forms always take the halves in order
    hi_shift = np.uint32(16 * _bit(ins, "op_sel_hi", i, 1))
    if not ins.base.startswith(("v_dot2_f32", "v_dot2_i32", "v_dot2_u32")):
        lo_shift, hi_shift = np.uint32(0), np.uint32(16)
    neg_lo, neg_hi = _bit(ins, "neg_lo", i, int(o.neg)), _bit(ins, "neg_hi", i, int(o.neg))
    dtype = DTYPES[element]

    def get(w: Wave) -> tuple[Vec, Vec]:
        x = raw(w)
        lo = (x >> lo_shift).astype(np.uint16)
        hi = (x >> hi_shift).astype(np.uint16)
        if o.abs:
            lo, hi = lo & np.uint16(0x7FFF), hi & np.uint16(0x7FFF)
        if neg_lo:
            lo = lo ^ np.uint16(0x8000)
        if neg_hi:
            hi = hi ^ np.uint16(0x8000)
        return lo.view(dtype), hi.view(dtype)

    return get


def mix_getter(ins: Instruction, ctx: Context, o: Operand, i: int) -> Get:
    """A v_fma_mix source: f32, or with op_sel_hi one f16 half (op_sel: the upper) as f32."""
    if not _bit(ins, "op_sel_hi", i, 0):
        return getter(ctx, o, "f32")
    half = _bit(ins, "op_sel", i, 0)
    g = getter(ctx, o, "f16", half=half, mods=False)
    wide: Get = lambda w: np.asarray(g(w)).astype(np.float32)  # noqa: E731
    return with_modifiers(wide, o, "f32")


def lower_packed(
    ins: Instruction, ctx: Context, sem: Semantics
) -> tuple[Callable[[Wave], Any], Callable[[Wave, Any], None]]:
    """(compute, commit) of v_pk_*: both halves computed in one vector of 2 * lanes."""
    from isaprof.sim.lower.valu import finish

    operands = list(ins.operands)
    dst, srcs = operands[0], operands[1:]
    if sem.accumulate:
        srcs.append(dst)
    if dst.reg is None:
        raise Unimplemented(f"destination {dst.text}")
    t = sem.dst[0]
    if sem.packed32:
        gets = [_pair32(ins, ctx, o, i) for i, o in enumerate(srcs)]
        return finish(ins, sem, gets, t), _commit_pair(ctx, dst)
    gets = [_halves(ins, ctx, o, i, s) for i, (o, s) in enumerate(zip(srcs, sem.src, strict=True))]
    row, key = row_of(ctx, dst.reg, 1), t + ".both"

    def commit(w: Wave, r: Vec) -> None:
        if w.full:
            w.tables[key][row][:] = r
        else:
            np.copyto(w.tables["u32"][row], np.ascontiguousarray(r).view(np.uint32), where=w.mask)

    return finish(ins, sem, gets, t), commit


def _halves(ins: Instruction, ctx: Context, o: Operand, i: int, t: str) -> Get:
    lo, hi = _bit(ins, "op_sel", i, 0), _bit(ins, "op_sel_hi", i, 1)
    accumulator = i >= len(ins.operands) - 1
    if accumulator:
        lo, hi = 0, 1
    neg_lo, neg_hi = _bit(ins, "neg_lo", i, int(o.neg)), _bit(ins, "neg_hi", i, int(o.neg))
    dtype = DTYPES[t]
    if is_vector(o) and o.reg is not None and (lo, hi) == (0, 1) and not (neg_lo or neg_hi or o.abs):
        row, key = row_of(ctx, o.reg, 1), t + ".both"
        return lambda w: w.tables[key][row]
    raw = _raw32(ctx, o, t)
    lanes = ctx.lanes
    s_lo, s_hi = np.uint32(16 * lo), np.uint32(16 * hi)
    flip_lo = np.uint16(0x8000 if neg_lo and t in FLOATS else 0)
    flip_hi = np.uint16(0x8000 if neg_hi and t in FLOATS else 0)
    drop = np.uint16(0x7FFF if o.abs else 0xFFFF)

    def get(w: Wave) -> Vec:
        x = raw(w)
        out = np.empty(2 * lanes, np.uint16)
        out[0::2] = (x >> s_lo).astype(np.uint16) & drop ^ flip_lo
        out[1::2] = (x >> s_hi).astype(np.uint16) & drop ^ flip_hi
        return out.view(dtype)

    return get


def _pair32(ins: Instruction, ctx: Context, o: Operand, i: int) -> Get:
    """f32 pair [2, lanes] flattened: low result's source, then the high result's."""
    lo, hi = _bit(ins, "op_sel", i, 0), _bit(ins, "op_sel_hi", i, 1)
    neg = (_bit(ins, "neg_lo", i, 0), _bit(ins, "neg_hi", i, 0))
    lanes = ctx.lanes
    parts: list[Get]
    if is_vector(o) and o.reg is not None:
        row = row_of(ctx, o.reg, 2)
        if (lo, hi) == (0, 1) and not any(neg):
            return lambda w: w.v[row : row + 2].view(np.float32).reshape(-1)
        parts = [_f32_row(row + h) for h in (lo, hi)]
    elif o.kind is OperandKind.REG and o.reg is not None and o.reg.cls is not RegClass.NULL:
        g = scalar_getter(ctx, o, 64)
        parts = [_f32_half(g, 32 * h) for h in (lo, hi)]
    else:
        # a constant is one dword, the same for both halves (CDNA3 ISA, packed f32 operands)
        k = np.uint32(constant_bits(o, 32) if o.kind is not OperandKind.REG else 0).view(np.float32)
        parts = [lambda w: k, lambda w: k]

    def get(w: Wave) -> Vec:
        out = np.empty((2, lanes), np.float32)
        for h in (0, 1):
            out[h] = -parts[h](w) if neg[h] else parts[h](w)
        return out.reshape(-1)

    return get


def _f32_row(row: int) -> Get:
    return lambda w: w.tables["f32"][row]


def _f32_half(get: Callable[[Wave], int], shift: int) -> Get:
    return lambda w: np.uint32(get(w) >> shift & 0xFFFFFFFF).view(np.float32)


def _commit_pair(ctx: Context, dst: Operand) -> Callable[[Wave, Any], None]:
    if dst.reg is None:
        raise Unimplemented(f"destination {dst.text}")
    row, lanes = row_of(ctx, dst.reg, 2), ctx.lanes

    def commit(w: Wave, r: Vec) -> None:
        pair = r.reshape(2, lanes).view(np.uint32)
        if w.full:
            w.v[row : row + 2] = pair
        else:
            np.copyto(w.v[row : row + 2], pair, where=w.mask)

    return commit
