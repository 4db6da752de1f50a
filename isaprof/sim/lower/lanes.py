"""Cross-lane vector instructions: readlane, permlane, swap, mbcnt.

Sources: RDNA3, RDNA4, CDNA3 and CDNA4 ISA, Instructions (VOP1, VOP3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand
from isaprof.sim.lower import dpp
from isaprof.sim.lower.context import Context, Step, Unimplemented, modifier_bits
from isaprof.sim.lower.operands import getter, is_vector, row_of, scalar_getter, scalar_putter
from isaprof.sim.state import Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any


def _row(ctx: Context, o: Operand) -> int:
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} where a vector register is needed")
    return row_of(ctx, o.reg, 1)


def readlane(ins: Instruction, ctx: Context) -> Step:
    """v_readlane_b32: the lane is taken modulo the wave size; EXEC is ignored."""
    dst, src, sel = ins.operands
    put, lane, n = scalar_putter(dst, 32), scalar_getter(ctx, sel, 32), ctx.lanes - 1
    row = _row(ctx, src)

    def step(w: Wave) -> None:
        put(w, int(w.tables["u32"][row][lane(w) & n]))

    return step


def readfirstlane(ins: Instruction, ctx: Context) -> Step:
    """v_readfirstlane_b32: the lowest active lane, lane 0 when EXEC is 0."""
    dst, src = ins.operands
    put = scalar_putter(dst, 32)
    if not is_vector(src):
        g = scalar_getter(ctx, src, 32)
        return lambda w: put(w, g(w))
    row = _row(ctx, src)

    def step(w: Wave) -> None:
        e = w.exec & ((1 << w.lanes) - 1)
        lane = (e & -e).bit_length() - 1 if e else 0
        put(w, int(w.tables["u32"][row][lane]))

    return step


def writelane(ins: Instruction, ctx: Context) -> Step:
    dst, src, sel = ins.operands
    row, value, lane, n = (
        _row(ctx, dst),
        scalar_getter(ctx, src, 32),
        scalar_getter(ctx, sel, 32),
        ctx.lanes - 1,
    )

    def step(w: Wave) -> None:
        w.tables["u32"][row][lane(w) & n] = value(w)

    return step


def mbcnt(ins: Instruction, ctx: Context) -> Step:
    """v_mbcnt_{lo,hi}: set bits of src0 below this lane (in its half of the mask), plus src1."""
    from isaprof.sim.semantics.valu_int import bit_count

    dst, src, add = ins.operands
    lane = np.arange(ctx.lanes)
    if "lo" in ins.base:
        below = np.where(lane >= 32, (1 << 32) - 1, (1 << np.minimum(lane, 31)) - 1)
    else:
        below = np.where(lane >= 32, (1 << np.maximum(lane - 32, 0)) - 1, 0)
    mask = below.astype(np.uint32)
    g0, g1, row = getter(ctx, src, "u32"), getter(ctx, add, "u32"), _row(ctx, dst)

    def step(w: Wave) -> None:
        r = bit_count(g0(w) & mask) + g1(w)
        np.copyto(w.tables["u32"][row], r, where=w.mask)

    return step


def permlane16(ins: Instruction, ctx: Context) -> Step:
    """v_permlane16_b32 and v_permlanex16_b32: any swizzle within a row, or from the other row of the pair.

    op_sel bit 0 is FI (fetch inactive lanes), bit 1 BOUND_CTRL (inactive sources read 0).
    """
    dst, src, lo, hi = ins.operands
    row_d, row_s = _row(ctx, dst), _row(ctx, src)
    g_lo, g_hi = scalar_getter(ctx, lo, 32), scalar_getter(ctx, hi, 32)
    lane = np.arange(ctx.lanes)
    base = (lane & ~15) ^ (16 if "permlanex16" in ins.base else 0)
    column = ((lane & 15) * 4).astype(np.uint64)
    fi, bound = _perm_flags(ins)

    def step(w: Wave) -> None:
        select = np.uint64(g_lo(w) | g_hi(w) << 32)
        _permute(w, row_d, row_s, base + ((select >> column) & np.uint64(15)).astype(np.int64), fi, bound)

    return step


def permlane16_var(ins: Instruction, ctx: Context) -> Step:
    """v_permlane16_var_b32 and v_permlanex16_var_b32: the column comes from a VGPR."""
    dst, src, sel = ins.operands
    row_d, row_s, row_i = _row(ctx, dst), _row(ctx, src), _row(ctx, sel)
    lane = np.arange(ctx.lanes)
    base = (lane & ~15) ^ (16 if "permlanex16" in ins.base else 0)
    fi, bound = _perm_flags(ins)

    def step(w: Wave) -> None:
        index = base + (w.tables["u32"][row_i] & np.uint32(15)).astype(np.int64)
        _permute(w, row_d, row_s, index, fi, bound)

    return step


def _perm_flags(ins: Instruction) -> tuple[bool, bool]:
    bits = (*modifier_bits(ins, "op_sel"), 0, 0)
    return bool(bits[0]), bool(bits[1])


def _permute(w: Wave, row_d: int, row_s: int, index: Vec, fi: bool, bound: bool) -> None:
    value = w.tables["u32"][row_s][index]
    write = w.mask
    if not fi and not w.full:
        on = w.mask[index]
        if bound:
            value = np.where(on, value, np.uint32(0))
        else:
            write = write & on
    np.copyto(w.tables["u32"][row_d], value, where=write)


def permlane64(ins: Instruction, ctx: Context) -> Step:
    """v_permlane64_b32: swap the halves of a wave64; in wave32 a no-op."""
    dst, src = ins.operands
    row_d, row_s = _row(ctx, dst), _row(ctx, src)
    if ctx.wave32:
        return lambda w: None

    def step(w: Wave) -> None:
        np.copyto(w.tables["u32"][row_d], np.roll(w.tables["u32"][row_s], 32), where=w.mask)

    return step


def permlane_swap(width: int) -> Callable[[Instruction, Context], Step]:
    """v_permlane16_swap and v_permlane32_swap: odd rows of vdst change places with even rows of vsrc."""

    def lower(ins: Instruction, ctx: Context) -> Step:
        dst, src = ins.operands
        row_d, row_s = _row(ctx, dst), _row(ctx, src)
        lane = np.arange(ctx.lanes)
        upper = np.flatnonzero(lane & width)
        lower_ = upper - width
        fi = bool(ins.modifiers.get("fi"))
        bound = bool(ins.modifiers.get("bound_ctrl"))

        def step(w: Wave) -> None:
            d, s = w.tables["u32"][row_d], w.tables["u32"][row_s]
            up, low = d[upper].copy(), s[lower_].copy()
            on_up, on_low = w.mask[upper], w.mask[lower_]
            if not w.full and not fi:
                if bound:
                    up, low = np.where(on_up, up, np.uint32(0)), np.where(on_low, low, np.uint32(0))
                else:
                    on_up, on_low = on_up & on_low, on_up & on_low
            d[upper] = np.where(on_up, low, d[upper])
            s[lower_] = np.where(on_low, up, s[lower_])

        return step

    return lower


def swap(ins: Instruction, ctx: Context) -> Step:
    """v_swap_b32 / v_swap_b16."""
    a, b = ins.operands
    key = "u32" if ins.base.endswith("b32") else ""
    row_a, row_b = _row(ctx, a), _row(ctx, b)
    key_a, key_b = key or f"u16.{a.half or 'l'}", key or f"u16.{b.half or 'l'}"

    def step(w: Wave) -> None:
        x, y = w.tables[key_a][row_a], w.tables[key_b][row_b]
        old = x.copy()
        np.copyto(x, y, where=w.mask)
        np.copyto(y, old, where=w.mask)

    return step


def mqsad_u32(ins: Instruction, ctx: Context) -> Step:
    """v_mqsad_u32_u8: four masked sums over byte windows, added to a 128-bit accumulator."""
    from isaprof.sim.semantics.valu_int import msad_u8

    dst, a, b, c = ins.operands
    if dst.reg is None or c.reg is None:
        raise Unimplemented(ins.text)
    ga, gb = getter(ctx, a, "u64"), getter(ctx, b, "u32")
    row_d, row_c = row_of(ctx, dst.reg, 4), row_of(ctx, c.reg, 4)

    def step(w: Wave) -> None:
        x, y = ga(w), gb(w)
        rows = [
            msad_u8((x >> np.uint64(8 * i)).astype(np.uint32), y, w.tables["u32"][row_c + i])
            for i in range(4)
        ]
        for i, r in enumerate(rows):
            np.copyto(w.tables["u32"][row_d + i], r, where=w.mask)

    return step


def interp(ins: Instruction, ctx: Context) -> Step:
    """v_interp_p10_f32 / v_interp_p2_f32 and the f16 forms of them: plane equations per quad (VINTERP)."""
    from isaprof.sim.semantics.floats import fma32

    dst, a, b, c = ins.operands[:4]
    p10 = "_p10_" in ins.base
    half = ins.base.endswith("_f16_f32")
    if not p10 and half:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    t = "f16" if half else "f32"
    lane = np.arange(ctx.lanes)
    first = lane & ~3
    g_a, g_b, g_c, row = getter(ctx, a, t), getter(ctx, b, "f32"), getter(ctx, c, t), _row(ctx, dst)
    if modifier_bits(ins, "op_sel"):
        raise Unimplemented(f"op_sel on {ins.mnemonic}")

    def step(w: Wave) -> None:
        x = g_a(w)[first + (1 if p10 else 2)].astype(np.float32)
        z = g_c(w)[first].astype(np.float32) if p10 else g_c(w)
        np.copyto(w.tables["f32"][row], fma32(w.fm, x, g_b(w), z), where=w.mask)

    return step


def pk_mov(ins: Instruction, ctx: Context) -> Step:
    """v_pk_mov_b32: low result from src0 (op_sel[0]), high result from src1 (op_sel[1])."""
    from isaprof.isa.model import OperandKind

    dst, a, b = ins.operands
    if dst.reg is None:
        raise Unimplemented(ins.text)
    # the low result takes the half of src0 that op_sel[0] names, the high one that of src1 by op_sel[1]
    sel = (*modifier_bits(ins, "op_sel"), 0, 0)[:2]
    row = row_of(ctx, dst.reg, 2)

    def part(o: Operand, half: int) -> Callable[[Wave], Any]:
        if is_vector(o) and o.reg is not None:
            r = row_of(ctx, o.reg, 2) + half
            return lambda w: w.tables["u32"][r].copy()
        g = scalar_getter(ctx, o, 64 if o.kind is OperandKind.REG else 32)
        shift = 32 * half if o.kind is OperandKind.REG else 0
        return lambda w: np.uint32(g(w) >> shift & 0xFFFFFFFF)

    lo, hi = part(a, sel[0]), part(b, sel[1])

    def step(w: Wave) -> None:
        x, y = lo(w), hi(w)
        np.copyto(w.tables["u32"][row], x, where=w.mask)
        np.copyto(w.tables["u32"][row + 1], y, where=w.mask)

    return step


def nop(ins: Instruction, ctx: Context) -> Step:
    return lambda w: None


SPECIAL: dict[str, Callable[[Instruction, Context], Step]] = {
    "v_readlane_b32": readlane,
    "v_readfirstlane_b32": readfirstlane,
    "v_writelane_b32": writelane,
    "v_mbcnt_lo_u32_b32": mbcnt,
    "v_mbcnt_hi_u32_b32": mbcnt,
    "v_permlane16_b32": permlane16,
    "v_permlanex16_b32": permlane16,
    "v_permlane16_var_b32": permlane16_var,
    "v_permlanex16_var_b32": permlane16_var,
    "v_permlane64_b32": permlane64,
    "v_permlane16_swap_b32": permlane_swap(16),
    "v_permlane32_swap_b32": permlane_swap(32),
    "v_swap_b32": swap,
    "v_swap_b16": swap,
    "v_mqsad_u32_u8": mqsad_u32,
    "v_pk_mov_b32": pk_mov,
    "v_interp_p10_f32": interp,
    "v_interp_p2_f32": interp,
    "v_interp_p10_f16_f32": interp,
    "v_nop": nop,
    "v_pipeflush": nop,
}


def lower_special(ins: Instruction, ctx: Context) -> Step | None:
    """The step of a cross-lane instruction, None when ``ins`` is none."""
    make = SPECIAL.get(ins.base)
    if make is None:
        return None
    if ins.dual is not None or dpp.control(ins, ctx) is not None:
        raise Unimplemented(f"{ins.mnemonic} with DPP or as half of a pair")
    return make(ins, ctx)
