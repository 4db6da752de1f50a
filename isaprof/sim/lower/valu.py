"""Lowering of vector ALU instructions that follow the table of semantics."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand
from isaprof.sim.lower import dpp
from isaprof.sim.lower.context import Context, Step, Unimplemented, modifier_bits, modifier_int
from isaprof.sim.lower.operands import (
    DTYPES,
    FLOATS,
    HALF,
    Get,
    Put,
    getter,
    is_vector,
    mask_getter,
    mask_putter,
    putter,
)
from isaprof.sim.lower.packed import lower_packed, mix_getter, pair_getter
from isaprof.sim.mode import FloatMode
from isaprof.sim.semantics import Semantics, vector_table
from isaprof.sim.semantics.floats import flush
from isaprof.sim.semantics.packed import dot_int
from isaprof.sim.semantics.valu_int import bitop3
from isaprof.sim.state import EXEC, VCC, Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
Compute = Callable[[Wave], Any]


def with_op_sel(ins: Instruction, ctx: Context) -> Instruction:
    """``ins`` with the OPSEL bits of its encoding, where LLVM's text has lost them.

    16-bit VOP3 instructions of gfx11 and gfx12 name halves of registers (v1.h).
    Where a bit stands for no operand, LLVM cannot print that form and prints
    whole registers; the other bits count all the same.
    """
    if ctx.facts.clears_high16 or not ins.words or ins.words[0] >> 26 != 0x35 or "op_sel" in ins.modifiers:
        return ins
    bits = ins.words[0] >> 11 & 15
    sem = vector_table().get(ins.base) if bits else None
    if sem is None or not HALF & {*sem.src, *sem.dst} or any(o.half for o in ins.operands):
        return ins
    n = len(sem.src) - sem.accumulate - sem.implicit_vcc
    chosen = (*(bits >> i & 1 for i in range(n)), bits >> 3)
    return replace(ins, modifiers={**ins.modifiers, "op_sel": chosen})


def lower_valu(ins: Instruction, ctx: Context) -> Step:
    """The step of a vector ALU instruction; Unimplemented when no semantics are known."""
    compute, commit = split_valu(ins, ctx)
    if ins.dual is not None:
        # VOPD: both halves read before either writes (RDNA3 ISA, "Dual-issue VALU")
        compute_y, commit_y = split_valu(ins.dual, ctx)

        def both(w: Wave) -> None:
            # a move's result is a view of its source, which the first half may be about to write
            x, y = compute(w), np.array(compute_y(w))
            commit(w, x)
            commit_y(w, y)

        return both

    def step(w: Wave) -> None:
        commit(w, compute(w))

    return step


def split_valu(ins: Instruction, ctx: Context) -> tuple[Compute, Callable[[Wave, Any], None]]:
    """(compute, commit) of one vector instruction (or half of a VOPD pair)."""
    base = ins.base.replace("v_dual_", "v_")
    if base.endswith("_dot2acc_f32_f16") or base.endswith("_dot2acc_f32_bf16"):
        base = base.replace("dot2acc", "dot2c")
    sem = vector_table().get(base)
    if sem is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    if base == "v_cndmask_b32" and len(ins.operands) == 3:
        sem = replace(sem, implicit_vcc=True)  # VOPD names no mask: it is VCC
    if sem.packed or sem.packed32:
        return lower_packed(ins, ctx, sem)
    dsts, srcs = split_operands(ins, sem)
    c = dpp.control(ins, ctx)
    gets = [_source(ins, ctx, sem, i, o, t, c) for i, (o, t) in enumerate(zip(srcs, sem.src, strict=False))]
    if sem.implicit_vcc:
        gets.append(mask_getter(VCC))
    if not any(is_vector(o) for o in srcs):
        gets[0] = _spread(gets[0], ctx.lanes)
    compute = finish(ins, sem, gets, sem.dst[0])
    puts = _destinations(ins, ctx, sem, dsts)
    return compute, committer(puts, c)


def split_operands(ins: Instruction, sem: Semantics) -> tuple[list[Operand], list[Operand]]:
    """Destinations and sources as the table counts them; the accumulator is the last source."""
    operands = list(ins.operands)
    explicit = len(sem.src) - sem.accumulate - sem.implicit_vcc
    n_dst = len(operands) - explicit
    if n_dst < 0 or n_dst > len(sem.dst) or (n_dst < len(sem.dst) and not sem.exec_dst):
        raise Unimplemented(f"operand list of {ins.text}")
    dsts, srcs = operands[:n_dst], operands[n_dst:]
    if sem.accumulate:
        srcs.append(dsts[0])
    return dsts, srcs


def _source(
    ins: Instruction, ctx: Context, sem: Semantics, i: int, o: Operand, t: str, c: dpp.DppControl | None
) -> Get:
    op_sel = modifier_bits(ins, "op_sel")
    half = op_sel[i] if i < len(op_sel) else 0
    if t == "mix":
        return mix_getter(ins, ctx, o, i)
    if t in ("f16x2", "bf16x2"):
        return pair_getter(ins, ctx, o, i, t)
    if ins.enc == "sdwa" and i < 2 and t not in ("mask", "u8"):
        return dpp.sdwa_getter(ctx, ins, o, t, i)
    if t == "u8":
        if ins.enc == "sdwa":
            return dpp.sdwa_getter(ctx, ins, o, "u32", i)
        byte = modifier_int(ins, "byte_sel", 2 * half)
        g, shift = getter(ctx, o, "u32"), np.uint32(8 * byte)
        return lambda w: g(w) >> shift
    if c is not None and i == 0:
        return dpp.dpp_getter(ctx, o, t, c)
    return getter(ctx, o, t, half=half if t in HALF else 0)


def _spread(get: Get, lanes: int) -> Get:
    def spread(w: Wave) -> Any:
        x = get(w)
        return tuple(np.full(lanes, v) for v in x) if isinstance(x, tuple) else np.full(lanes, x)

    return spread


def _destinations(ins: Instruction, ctx: Context, sem: Semantics, dsts: Sequence[Operand]) -> list[Put]:
    op_sel = modifier_bits(ins, "op_sel")
    puts: list[Put] = []
    if sem.exec_dst:
        if dsts and ctx.facts.cmpx_writes_sgpr:
            puts.append(putter(ctx, dsts[0], "mask"))
        return [_both(puts[0], mask_putter(EXEC)) if puts else mask_putter(EXEC)]
    for i, (o, t) in enumerate(zip(dsts, sem.dst, strict=True)):
        if ins.enc == "sdwa" and t != "mask":
            puts.append(dpp.sdwa_putter(ctx, ins, o, t))
            continue
        keep = not ctx.facts.clears_high16 if sem.keeps_high16 is None else sem.keeps_high16
        n_src = len(sem.src) - sem.accumulate
        half = op_sel[n_src] if i == 0 and len(op_sel) > n_src else 0
        if ins.base == "v_fma_mixhi_f16":
            half = 1
        puts.append(putter(ctx, o, t, half=half, keep_high=keep))
    return puts


def _both(first: Put, second: Put) -> Put:
    def put(w: Wave, r: Vec, full: bool, mask: Vec) -> None:
        value = r if full else r & mask
        first(w, value, True, mask)
        second(w, value, True, mask)

    return put


def committer(puts: Sequence[Put], c: dpp.DppControl | None) -> Callable[[Wave, Any], None]:
    """Store the results of ``compute`` under EXEC and, for DPP, the row and bank masks."""
    if c is not None:

        def commit_dpp(w: Wave, r: Any) -> None:
            _, write = c.lanes(w)
            for put, value in zip(puts, r if len(puts) > 1 else (r,), strict=True):
                put(w, value, False, write)

        return commit_dpp
    if len(puts) == 1:
        put = puts[0]

        def commit(w: Wave, r: Any) -> None:
            put(w, r, w.full, w.mask)

        return commit

    def commit_all(w: Wave, r: Any) -> None:
        full, mask = w.full, w.mask
        for put, value in zip(puts, r, strict=True):
            put(w, value, full, mask)

    return commit_all


# -- computation with denormal flush, omod and clamp ---------------------------------------------


def _specialise(ins: Instruction, sem: Semantics) -> Callable[..., Any]:
    """The operation's function, with the operand fields that select a variant bound."""
    if sem.truth_table:
        return partial(_swap_bitop3, modifier_int(ins, "bitop3"))
    if sem.op in ("dot4_i32_iu8", "dot8_i32_iu4"):
        neg = modifier_bits(ins, "neg_lo") or (0, 0, 0)
        return dot_int(8 if sem.op.startswith("dot4") else 4, bool(neg[0]), bool(neg[1]))
    return sem.fn


def _swap_bitop3(ttbl: int, a: Vec, b: Vec, c: Vec | None = None) -> Vec:
    return bitop3(a, b, np.uint32(0) if c is None else c, ttbl)


def finish(ins: Instruction, sem: Semantics, gets: list[Get], dst_type: str) -> Compute:
    """Fetch, compute and post-process: the whole instruction except the store."""
    fn = _specialise(ins, sem)
    clamp = bool(ins.modifiers.get("clamp"))
    if clamp and sem.sat is not None and sem.dst[-1] != "mask":
        return _saturating(sem, fn, gets, dst_type)
    if clamp and sem.carry:
        return _saturating_carry(sem, _plain(fn, gets, False))
    if (clamp and dst_type == "mask") or (clamp and _ORDER.match(ins.base)):
        clamp = False  # compares: signal on NaN, which no trap handler sees here; min/max cannot overflow
    if clamp and dst_type not in FLOATS and not sem.raw:
        raise Unimplemented(f"clamp on {ins.mnemonic}")
    scale = _omod(ins)
    floats = [t for t in (*sem.src, dst_type) if t in FLOATS or t == "mix"]
    if sem.raw or not floats:
        return _wrapping(_plain(fn, gets, sem.mode), sem, dst_type)
    if clamp or scale is not None:
        return _general(sem, fn, gets, dst_type, scale, clamp)
    plain = _plain(fn, gets, sem.mode)
    general = _general(sem, fn, gets, dst_type, None, False)

    def compute(w: Wave) -> Any:
        return plain(w) if w.fm.plain else general(w)

    return compute


_ORDER = re.compile(r"v_(min|max|med3|minmax|maxmin)3?_[iu](16|32)")


def _saturating_carry(sem: Semantics, compute: Compute) -> Compute:
    limit = np.uint32(0xFFFFFFFF if sem.op.startswith("add") else 0)

    def saturated(w: Wave) -> Any:
        value, carry = compute(w)
        return np.where(carry, limit, value), carry

    return saturated


def _omod(ins: Instruction) -> float | None:
    if "mul" in ins.modifiers:
        return float(modifier_int(ins, "mul"))
    if "div" in ins.modifiers:
        return 1.0 / modifier_int(ins, "div")
    return None


def _plain(fn: Callable[..., Any], gets: list[Get], mode: bool) -> Compute:
    if mode:
        if len(gets) == 2:
            g0, g1 = gets
            return lambda w: fn(w.fm, g0(w), g1(w))
        if len(gets) == 3:
            g0, g1, g2 = gets
            return lambda w: fn(w.fm, g0(w), g1(w), g2(w))
        return lambda w: fn(w.fm, *[g(w) for g in gets])
    if len(gets) == 1:
        g0 = gets[0]
        return lambda w: fn(g0(w))
    if len(gets) == 2:
        g0, g1 = gets
        return lambda w: fn(g0(w), g1(w))
    if len(gets) == 3:
        g0, g1, g2 = gets
        return lambda w: fn(g0(w), g1(w), g2(w))
    return lambda w: fn(*[g(w) for g in gets])


def _wrapping(compute: Compute, sem: Semantics, dst_type: str) -> Compute:
    """int64 intermediate results (dot products) wrap to the destination's width."""
    if sem.sat is None or not sem.op.startswith("dot"):
        return compute
    dtype = DTYPES[dst_type]
    return lambda w: compute(w).astype(dtype)


def _saturating(sem: Semantics, fn: Callable[..., Any], gets: list[Get], dst_type: str) -> Compute:
    low, high = sem.sat or (0, 0)
    dtype = DTYPES[dst_type]
    types = sem.src

    def compute(w: Wave) -> Vec:
        args = [
            x if t.startswith("u32") and sem.op.startswith("dot") else x.astype(np.int64)
            for g, t in zip(gets, types, strict=True)
            for x in (g(w),)
        ]
        result: Vec = np.clip(fn(*args), low, high).astype(dtype)
        return result

    return compute


def _flushes(fm: FloatMode, t: str) -> tuple[bool, bool]:
    """(flush sources, flush results) of type ``t``."""
    if t in ("f32", "mix"):
        return fm.flush_in32, fm.flush_out32
    return fm.flush_in16_64, fm.flush_out16_64


def _general(
    sem: Semantics, fn: Callable[..., Any], gets: list[Get], dst_type: str, scale: float | None, clamp: bool
) -> Compute:
    types = sem.src

    def compute(w: Wave) -> Any:
        fm = w.fm
        args = []
        for g, t in zip(gets, types, strict=True):
            x = g(w)
            if t in FLOATS and _flushes(fm, t)[0]:
                x = flush(x)
            args.append(x)
        r = fn(fm, *args) if sem.mode else fn(*args)
        if dst_type not in FLOATS:
            return r
        extra = r[1:] if isinstance(r, tuple) else ()
        value = postprocess(fm, r[0] if isinstance(r, tuple) else r, dst_type, scale, clamp)
        return (value, *extra) if extra else value

    return compute


def postprocess(fm: FloatMode, r: Vec, t: str, scale: float | None, clamp: bool) -> Vec:
    """Result denormal flush, output modifier, clamp to [0, 1] (RDNA3 ISA, "Output modifiers")."""
    flush_out = _flushes(fm, t)[1]
    if scale is not None and flush_out and not fm.ieee:
        # omod is ignored when output denormals are kept or IEEE is set
        r = flush(r) * r.dtype.type(scale) + r.dtype.type(0)
    if clamp:
        nan = np.isnan(r)
        r = np.where(r > 0, np.minimum(r, r.dtype.type(1)), r.dtype.type(0))
        if not fm.dx10_clamp:
            r = np.where(nan, r.dtype.type(np.nan), r)
    return flush(r) if flush_out else r
