"""Matrix instructions: MFMA (dense and block-scaled), WMMA, and the 4:2 sparse SMFMAC and SWMMAC.

All products are summed exactly (float64, or int64) and rounded once; hardware's
order of partial roundings is not published. EXEC is ignored (CDNA3 ISA,
"Matrix instructions"; RDNA3 ISA, "WMMA").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind
from isaprof.sim.lower.context import Context, Step, Unimplemented, modifier_bits, modifier_int
from isaprof.sim.lower.operands import constant_bits, is_vector, row_of
from isaprof.sim.semantics import layouts
from isaprof.sim.semantics.elements import BITS, unpack
from isaprof.sim.semantics.formats import e8m0_to_f32, f32_to_bf16
from isaprof.sim.state import Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any

_SHAPE = re.compile(r"(f64|f32|f16|bf16|i32)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?(\w+)")
#: cbsz/blgp of the f8f6f4 forms -> element type
_F8F6F4 = ("fp8", "bf8", "fp6", "bf6", "fp4")


def is_matrix(base: str) -> bool:
    """Whether a mnemonic is a matrix instruction."""
    return base.startswith(("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_"))


@dataclass(frozen=True, slots=True)
class Shape:
    result: str
    m: int
    n: int
    k: int
    a: str
    b: str


def _shape(ins: Instruction, ctx: Context) -> Shape:
    name = ins.base.split("_", 2)[2].removeprefix("scale_")
    match = _SHAPE.fullmatch(name)
    if match is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    result, kind = match[1], match[6].removesuffix("_1k")
    if kind == "f8f6f4":
        if ins.base.startswith("v_wmma_"):
            names = [str(ins.modifiers.get(f"matrix_{m}_fmt", "MATRIX_FMT_FP8")) for m in "ab"]
            a, b = (n.removeprefix("MATRIX_FMT_").lower() for n in names)
        else:
            a, b = (_F8F6F4[modifier_int(ins, key)] for key in ("cbsz", "blgp"))
    elif kind in ("iu8", "iu4"):
        neg = (*modifier_bits(ins, "neg_lo"), 0, 0)
        a, b = (("i" if signed else "u") + kind[2:] for signed in neg[:2])
    else:
        parts = kind.split("_")
        a, b = parts[0], parts[-1]
        if ctx.facts.fp8_fnuz:
            a, b = (x + "_fnuz" if x in ("fp8", "bf8") else x for x in (a, b))
    if a not in BITS or b not in BITS:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    return Shape(result, int(match[2]), int(match[3]), int(match[4]), a, b)


def lower_matrix(ins: Instruction, ctx: Context) -> Step:
    """The step of a matrix instruction."""
    if ins.base.startswith("v_mfma_"):
        return _mfma(ins, ctx)
    if ins.base.startswith("v_wmma_") and ctx.facts.wmma_layout is not None:
        return _wmma(ins, ctx)
    if ins.base.startswith(("v_smfmac_", "v_swmmac_")):
        return _sparse(ins, ctx)
    raise Unimplemented(f"no semantics for {ins.mnemonic}")


def _registers(ctx: Context, o: Operand) -> tuple[int, int]:
    """(row, count) of a register operand."""
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} as a matrix operand")
    return row_of(ctx, o.reg), o.reg.count


def _source(ctx: Context, o: Operand, kind: str, *, neg: tuple[int, int] = (0, 0)) -> Callable[[Wave], Vec]:
    row, count = _registers(ctx, o)
    end = row + count
    if not any(neg):
        return lambda w: unpack(w.v[row:end], kind)
    signs = np.array([[-1.0 if neg[0] else 1.0], [-1.0 if neg[1] else 1.0]])

    def negated(w: Wave) -> Vec:
        x = unpack(w.v[row:end], kind)
        pairs = x.reshape(-1, 2, x.shape[-1]) if len(x) > 1 else x.reshape(1, 1, -1)
        result: Vec = (pairs * signs[: pairs.shape[1]]).reshape(x.shape)
        return result

    return negated


def _accumulator(ctx: Context, o: Operand, result: str, regs: int) -> Callable[[Wave], Any]:
    """C in the layout of D, as float64 or int64; an inline constant counts for every element."""
    kind = {"i32": "i32"}.get(result, result)
    if not is_vector(o):
        if o.kind not in (OperandKind.INT, OperandKind.FLOAT):
            raise Unimplemented(f"{o.text} as a matrix accumulator")
        bits = constant_bits(o, 64 if result == "f64" else 32)
        raw = (
            np.array([bits & 0xFFFFFFFF, bits >> 32], np.uint32)
            if result == "f64"
            else np.array([bits], np.uint32)
        )
        value = _decode_result(raw[:, None], kind)[0, 0]
        return lambda w: value
    row, count = _registers(ctx, o)
    end = row + count
    return lambda w: _decode_result(w.v[row:end], kind)


def _decode_result(regs: Vec, kind: str) -> Vec:
    if kind == "i32":
        return regs.view(np.int32).astype(np.int64)
    return unpack(regs, kind)


def _encode(x: Vec, result: str) -> Vec:
    """Results [elements, lanes] as registers uint32 [n, lanes], one rounding."""
    if result == "f32":
        return x.astype(np.float32).view(np.uint32)
    if result == "i32":
        return x.astype(np.int32).view(np.uint32)
    u = x.view(np.uint64)
    out = np.empty((2 * u.shape[0], u.shape[1]), np.uint32)
    out[0::2], out[1::2] = u.astype(np.uint32), (u >> np.uint64(32)).astype(np.uint32)
    return out


def _product(lay: layouts.Layout, a: Vec, b: Vec) -> Vec:
    """Sum over K for every result, in D's layout [elements, lanes]."""
    left, right = a[lay.a_element, lay.a_lane], b[lay.b_element, lay.b_lane]
    if left.dtype == np.int64:
        # float64 matmul is exact for these integers (products below 2^16, K at most 128) and uses BLAS
        full = np.matmul(left.astype(np.float64), right.astype(np.float64).transpose(0, 2, 1)).astype(
            np.int64
        )
    else:
        full = np.matmul(left, right.transpose(0, 2, 1))
    out: Vec = full[lay.d_block, lay.d_row, lay.d_col]
    return out


def _scale(ctx: Context, ins: Instruction, o: Operand, index: int, m: int, k: int) -> Callable[[Wave], Vec]:
    """Block scales [1, m, k]: lane i + m * (k // 32) holds the e8m0 byte of row i, block k // 32.

    The byte is op_sel + 2 * op_sel_hi (CDNA4 ISA, V_MFMA_SCALE_*).
    """
    op_sel = (*modifier_bits(ins, "op_sel"), 0, 0)[index]
    bits = modifier_bits(ins, "op_sel_hi")
    op_sel_hi = bits[index] if index < len(bits) else 1
    row, _ = _registers(ctx, o)
    shift = np.uint32(8 * (op_sel + 2 * op_sel_hi))
    i, kk = np.meshgrid(np.arange(m), np.arange(k), indexing="ij")
    lane = i + m * (kk // 32)

    def get(w: Wave) -> Vec:
        codes = (w.v[row] >> shift) & np.uint32(0xFF)
        scales: Vec = e8m0_to_f32(codes).astype(np.float64)[lane][None]
        return scales

    return get


def _mfma(ins: Instruction, ctx: Context) -> Step:
    shape = _shape(ins, ctx)
    operands = list(ins.operands)
    dst, src_a, src_b, src_c = operands[:4]
    scaled = "_scale_" in ins.base
    f8f6f4 = ins.base.endswith("f8f6f4")
    row, count = _registers(ctx, dst)
    _, a_regs = _registers(ctx, src_a)
    _, b_regs = _registers(ctx, src_b)
    cbsz, abid, blgp = (0, 0, 0) if f8f6f4 else (modifier_int(ins, n) for n in ("cbsz", "abid", "blgp"))
    f64 = shape.result == "f64"
    if blgp and f64:
        raise Unimplemented(f"blgp:{blgp} on {ins.mnemonic}")
    lay_a = layouts.mfma(
        shape.m, shape.k, a_regs * 32 // BITS[shape.a], halves=f8f6f4 and BITS[shape.a] == 8, f64=f64
    )
    lay_b = layouts.mfma(
        shape.m, shape.k, b_regs * 32 // BITS[shape.b], halves=f8f6f4 and BITS[shape.b] == 8, f64=f64
    )
    lay = layouts.Layout(
        lay_a.a_element, lay_a.a_lane, lay_b.b_element, lay_b.b_lane, lay_a.d_block, lay_a.d_row, lay_a.d_col
    )
    if cbsz:
        # A's blocks are broadcast: block abid of each group of 2^cbsz (CDNA3 ISA, CBSZ and ABID)
        blocks = np.arange(lay.a_lane.shape[0])
        source = (blocks >> cbsz << cbsz) + (abid & (1 << cbsz) - 1)
        lay = layouts.Layout(
            lay.a_element[source],
            lay.a_lane[source],
            lay.b_element,
            lay.b_lane,
            lay.d_block,
            lay.d_row,
            lay.d_col,
        )
    if blgp:
        lay = replace(lay, b_lane=layouts.lane_pattern(blgp)[lay.b_lane])
    neg = (*modifier_bits(ins, "neg"), 0, 0, 0)
    get_a = _source(ctx, src_a, shape.a, neg=(neg[0], neg[0]))
    get_b = _source(ctx, src_b, shape.b, neg=(neg[1], neg[1]))
    get_c = _accumulator(ctx, src_c, shape.result, count)
    result = shape.result
    end = row + count
    if scaled:
        scale_a = _scale(ctx, ins, operands[4], 0, shape.m, shape.k)
        scale_b = _scale(ctx, ins, operands[5], 1, shape.n, shape.k)

        def step_scaled(w: Wave) -> None:
            a = get_a(w)[lay.a_element, lay.a_lane] * scale_a(w)
            b = get_b(w)[lay.b_element, lay.b_lane] * scale_b(w)
            full = np.matmul(a, b.transpose(0, 2, 1))
            w.v[row:end] = _encode(full[lay.d_block, lay.d_row, lay.d_col] + get_c(w), result)

        return step_scaled

    def step(w: Wave) -> None:
        w.v[row:end] = _encode(_product(lay, get_a(w), get_b(w)) + get_c(w), result)

    return step


def _wmma(ins: Instruction, ctx: Context) -> Step:
    shape = _shape(ins, ctx)
    family = ctx.facts.wmma_layout or ""
    check_wmma(ins, ctx, shape)
    dst, src_a, src_b, src_c = ins.operands[:4]
    lay = layouts.wmma(family, ctx.lanes, shape.k)
    row, count = _registers(ctx, dst)
    end = row + count
    neg_lo, neg_hi = (*modifier_bits(ins, "neg_lo"), 0, 0, 0), (*modifier_bits(ins, "neg_hi"), 0, 0, 0)
    integer = shape.result == "i32"
    signs = [(0, 0), (0, 0)] if integer else [(neg_lo[i], neg_hi[i]) for i in (0, 1)]
    get_a, get_b = _source(ctx, src_a, shape.a, neg=signs[0]), _source(ctx, src_b, shape.b, neg=signs[1])
    result = shape.result
    if result in ("f16", "bf16"):
        return _wmma16(ins, ctx, lay, get_a, get_b, result)
    get_c = _accumulator(ctx, src_c, result, count)
    absolute, negative = not integer and neg_hi[2], not integer and neg_lo[2]
    clamp = bool(ins.modifiers.get("clamp"))
    if clamp and not integer:
        raise Unimplemented(f"clamp on {ins.mnemonic}")

    def step(w: Wave) -> None:
        c = get_c(w)
        if absolute:
            c = np.abs(c)
        if negative:
            c = -c
        x = _product(lay, get_a(w), get_b(w)) + c
        if clamp:
            x = np.clip(x, -(1 << 31), (1 << 31) - 1)
        w.v[row:end] = _encode(x, result)

    return step


def check_wmma(ins: Instruction, ctx: Context, shape: Shape) -> None:
    """Refuse what no public description of the layout settles.

    Which K an element of a lane stands for does not matter while A and B agree;
    it does for two element widths and for block scales.
    """
    if ctx.facts.wmma_layout != "gfx11" and not ctx.wave32:
        raise Unimplemented(f"wave64 form of {ins.mnemonic}")
    if "_scale" in ins.base or (shape.m, shape.n) != (16, 16) or BITS[shape.a] != BITS[shape.b]:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")


@dataclass(frozen=True, slots=True)
class Sparsity:
    """Which bits of the index register say where a lane's kept elements of A stand.

    Element e of a lane is one of the four at 4 * (e // 2) of the dense row, the
    one that bits 2e and 2e + 1 name. A lane needs 2 bits for each element; where
    the register holds several sets, ABID (MFMA, when CBSZ is 0) or index_key
    (WMMA) chooses. CDNA3 and CDNA4 ISA, "Sparse matrix instructions"; RDNA4 ISA, "SWMMAC".
    """

    row: int
    shift: int
    elements: int

    def expand(self, a: Vec, w: Wave) -> Vec:
        """Kept elements [elements, lanes] as dense ones [2 * elements, lanes]."""
        index = w.v[self.row] >> np.uint32(self.shift)
        e = np.arange(self.elements)[:, None]
        at = 4 * (e // 2) + ((index[None] >> (2 * e).astype(np.uint32)) & np.uint32(3)).astype(np.intp)
        dense = np.zeros((2 * self.elements, a.shape[1]), a.dtype)
        lanes = np.broadcast_to(np.arange(a.shape[1])[None], at.shape)
        np.add.at(dense, (at, lanes), a)
        return dense


def sparsity(ins: Instruction, ctx: Context, elements: int) -> Sparsity:
    """The index field of a sparse matrix instruction whose lanes hold ``elements`` of A."""
    row, _ = _registers(ctx, ins.operands[3])
    sets = max(1, 32 // (2 * elements))
    if ins.base.startswith("v_smfmac_"):
        chosen = 0 if modifier_int(ins, "cbsz") else modifier_int(ins, "abid")
    else:
        chosen = modifier_int(ins, "index_key")
    return Sparsity(row, 2 * elements * (chosen % sets), elements)


def sparse_layout(ctx: Context, shape: Shape, b_regs: int) -> layouts.Layout:
    """Layout of dense A and of B."""
    if ctx.facts.wmma_layout is None:
        return layouts.mfma(shape.m, shape.k, b_regs * 32 // BITS[shape.b])
    if not ctx.wave32:
        raise Unimplemented("wave64 form of v_swmmac")
    return layouts.wmma(ctx.facts.wmma_layout, ctx.lanes, shape.k)


def _sparse(ins: Instruction, ctx: Context) -> Step:
    """D = A * B + D, A with two of each four elements along K."""
    shape = _shape(ins, ctx)
    dst, src_a, src_b = ins.operands[:3]
    _, a_regs = _registers(ctx, src_a)
    _, b_regs = _registers(ctx, src_b)
    elements = a_regs * 32 // BITS[shape.a]
    lay = sparse_layout(ctx, shape, b_regs)
    if (
        elements % 2
        or BITS[shape.a] != BITS[shape.b]
        or b_regs != 2 * a_regs
        or lay.a_lane.shape != (1, shape.m, shape.k)
    ):
        raise Unimplemented(f"operands of {ins.text}")
    signs = sparse_signs(ins, shape)
    get_a, get_b = _source(ctx, src_a, shape.a, neg=signs[0]), _source(ctx, src_b, shape.b, neg=signs[1])
    index = sparsity(ins, ctx, elements)

    def expanded(w: Wave) -> Vec:
        return index.expand(get_a(w), w)

    result = shape.result
    if result in ("f16", "bf16"):
        return _wmma16(ins, ctx, lay, expanded, get_b, result, dst)
    row, count = _registers(ctx, dst)
    end = row + count
    get_c = _accumulator(ctx, dst, result, count)
    clamp = bool(ins.modifiers.get("clamp"))
    if clamp and result != "i32":
        raise Unimplemented(f"clamp on {ins.mnemonic}")

    def step(w: Wave) -> None:
        x = _product(lay, expanded(w), get_b(w)) + get_c(w)
        if clamp:
            x = np.clip(x, -(1 << 31), (1 << 31) - 1)
        w.v[row:end] = _encode(x, result)

    return step


def sparse_signs(ins: Instruction, shape: Shape) -> list[tuple[int, int]]:
    """neg of A and B, (low, high) half; integer forms use the bits for signedness."""
    if shape.result == "i32":
        return [(0, 0), (0, 0)]
    lo, hi = ((*modifier_bits(ins, n), 0, 0) for n in ("neg_lo", "neg_hi"))
    return [(lo[i], hi[i]) for i in (0, 1)]


def _wmma16(
    ins: Instruction,
    ctx: Context,
    lay: layouts.Layout,
    get_a: Callable[[Wave], Vec],
    get_b: Callable[[Wave], Vec],
    result: str,
    addend: Operand | None = None,
) -> Step:
    """16-bit results: gfx11 writes one half of each register (op_sel[2]), gfx12 packs two per register."""
    dst, src_c = ins.operands[0], addend or ins.operands[3]
    row, count = _registers(ctx, dst)
    end = row + count
    packed = ctx.facts.wmma_layout != "gfx11"
    high = (*modifier_bits(ins, "op_sel"), 0, 0, 0)[2]
    neg_lo, neg_hi = (*modifier_bits(ins, "neg_lo"), 0, 0, 0)[2], (*modifier_bits(ins, "neg_hi"), 0, 0, 0)[2]
    if is_vector(src_c):
        c_row, c_count = _registers(ctx, src_c)
        c_end = c_row + c_count

        def get_c(w: Wave) -> Any:
            x = unpack(w.v[c_row:c_end], result)
            return x if packed else x[high::2]

    else:
        bits = constant_bits(src_c, 16 if src_c.kind is OperandKind.FLOAT and result == "f16" else 32)
        if src_c.kind is OperandKind.FLOAT and result == "bf16":
            bits = constant_bits(src_c, 32) >> 16
        constant = unpack(np.array([[bits & 0xFFFF]], np.uint32), result)[0, 0]

        def get_c(w: Wave) -> Any:
            return constant

    def step(w: Wave) -> None:
        c = get_c(w)
        if neg_hi:
            c = np.abs(c)
        x = _product(lay, get_a(w), get_b(w)) + (-c if neg_lo else c)
        codes = x.astype(np.float16).view(np.uint16) if result == "f16" else f32_to_bf16(x.astype(np.float32))
        if packed:
            w.v[row:end] = codes[0::2].astype(np.uint32) | codes[1::2].astype(np.uint32) << np.uint32(16)
            return
        w.v[row:end].view(np.uint16)[:, high::2] = codes

    return step
