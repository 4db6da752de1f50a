"""Micro-ops of matrix instructions: element types, index tables of the layouts, scales."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isaprof.isa.model import Instruction, Operand, OperandKind
from isaprof.sim.fast.records import ELEMENT, RESULT, H, Mat, Op
from isaprof.sim.lower.context import modifier_bits, modifier_int
from isaprof.sim.lower.matrix import _accumulator, _registers, _shape, sparse_layout, sparsity
from isaprof.sim.lower.operands import constant_bits, is_vector
from isaprof.sim.semantics import layouts
from isaprof.sim.semantics.elements import BITS, unpack
from isaprof.sim.semantics.formats import decode_table, e8m0_to_f32

if TYPE_CHECKING:
    from isaprof.sim.fast.decode import Decoder

#: sizes of the arrays in matrix.c
_ELEMENTS, _FACTORS, _RESULTS = 64, 4096, 2048


@lru_cache(maxsize=64)
def _table(kind: str) -> NDArray[np.float32]:
    """Code to value, as many entries as codes can be extracted."""
    if kind == "e8m0":
        return np.asarray(e8m0_to_f32(np.arange(256, dtype=np.uint32)), np.float32)
    return np.ascontiguousarray(decode_table(kind))


def matrix(x: Decoder, ins: Instruction) -> Op | None:
    """The micro-op of an MFMA or WMMA instruction."""
    ctx = x.ctx
    shape = _shape(ins, ctx)
    if (
        shape.result not in RESULT
        or shape.m != shape.n
        or shape.m not in (4, 16, 32)
        or "f64" in (shape.a, shape.b)
    ):
        return None
    dst, src_a, src_b, src_c = ins.operands[:4]
    sparse = ins.base.startswith(("v_smfmac_", "v_swmmac_"))
    if sparse:
        src_c = dst
    d_row, d_regs = _registers(ctx, dst)
    a_row, a_regs = _registers(ctx, src_a)
    b_row, b_regs = _registers(ctx, src_b)
    t = Mat(
        a_kind=ELEMENT[shape.a], b_kind=ELEMENT[shape.b], result=RESULT[shape.result],
        a_row=a_row, a_regs=a_regs, b_row=b_row, b_regs=b_regs, d_row=d_row, d_regs=d_regs,
        m=shape.m, k=shape.k,
    )  # fmt: skip
    mfma = ins.base.startswith("v_mfma_")
    if sparse:
        made: layouts.Layout | None = sparse_layout(ctx, shape, b_regs)
        index = sparsity(ins, ctx, a_regs * 32 // BITS[shape.a])
        t.sparse, t.a_shift = index.row + 1, index.shift
    else:
        made = (
            _mfma(ins, shape, a_regs, b_regs)
            if mfma
            else layouts.wmma(ctx.facts.wmma_layout or "", ctx.lanes, shape.k)
        )
    if made is None:
        return None
    if not _indices(x, t, made, shape.a, shape.b):
        return None
    if mfma:
        neg = (*modifier_bits(ins, "neg"), 0, 0, 0)
        t.a_neg[:], t.b_neg[:] = (neg[0], neg[0]), (neg[1], neg[1])
        if "_scale_" in ins.base:
            _scales(x, t, ins)
    else:
        _signs(t, ins)
        if sparse:
            t.c_abs = t.c_neg = 0  # the third source is the index
        if shape.result in ("f16", "bf16"):
            t.packed16 = int(ctx.facts.wmma_layout != "gfx11")
            t.high = (*modifier_bits(ins, "op_sel"), 0, 0, 0)[2]
    if not _addend(x, t, src_c, shape.result):
        return None
    need = t.d_elements // 2 if t.packed16 else t.d_elements
    if need > d_regs:
        return None
    tables = {"a_table": shape.a, "b_table": shape.b, "e8m0": "e8m0"}
    for field, kind in tables.items():
        if kind == "e8m0" or ELEMENT[kind] >= ELEMENT["fp8"]:
            setattr(t, field, x.pointer(_table(kind)))
    x.mats.append(t)
    return Op(h=H["matrix"], dpp=-1, extra=len(x.mats) - 1)


def _mfma(ins: Instruction, shape: Any, a_regs: int, b_regs: int) -> layouts.Layout | None:
    """The layout as isaprof.sim.lower.matrix makes it, A's blocks chosen by cbsz and abid."""
    f8f6f4 = ins.base.endswith("f8f6f4")
    a, b = (
        layouts.mfma(shape.m, shape.k, regs * 32 // BITS[kind], halves=f8f6f4 and BITS[kind] == 8)
        for regs, kind in ((a_regs, shape.a), (b_regs, shape.b))
    )
    element, lane = a.a_element, a.a_lane
    cbsz, abid = (0, 0) if f8f6f4 else (modifier_int(ins, "cbsz"), modifier_int(ins, "abid"))
    if cbsz:
        blocks = np.arange(lane.shape[0])
        source = (blocks >> cbsz << cbsz) + (abid & (1 << cbsz) - 1)
        element, lane = element[source], lane[source]
    if element.shape != b.b_element.shape:
        return None
    b_lane = b.b_lane if f8f6f4 else layouts.lane_pattern(modifier_int(ins, "blgp"))[b.b_lane]
    return layouts.Layout(element, lane, b.b_element, b_lane, a.d_block, a.d_row, a.d_col)


def _indices(x: Decoder, t: Mat, lay: layouts.Layout, a: str, b: str) -> bool:
    blocks, m, k = lay.a_element.shape
    # a sparse A is expanded to twice the elements that the registers hold
    limits = [
        (lay.a_element, t.a_regs * 32 // BITS[a] * (2 if t.sparse else 1)),
        (lay.b_element, t.b_regs * 32 // BITS[b]),
    ]
    if blocks * m * k > _FACTORS or blocks * m * m > _RESULTS or lay.b_element.shape != lay.a_element.shape:
        return False
    for element, count in limits:
        if count > _ELEMENTS or int(element.max()) >= count or int(element.min()) < 0:
            return False
    lanes = x.ctx.lanes
    if int(max(lay.a_lane.max(), lay.b_lane.max())) >= lanes or lay.d_row.shape[1] != lanes:
        return False
    t.blocks, t.d_elements = blocks, lay.d_row.shape[0]
    left = lay.a_element * 64 + lay.a_lane
    right = (lay.b_element * 64 + lay.b_lane).transpose(0, 2, 1)
    place = (lay.d_block * m + lay.d_row) * m + lay.d_col
    if int(place.max()) >= blocks * m * m or place.size > _RESULTS:
        return False
    t.a_index, t.b_index, t.d_index = (x.pointer(i.astype(np.uint16)) for i in (left, right, place))
    return True


def _scales(x: Decoder, t: Mat, ins: Instruction) -> None:
    op_sel, high = (*modifier_bits(ins, "op_sel"), 0, 0), modifier_bits(ins, "op_sel_hi")
    shifts = [8 * (op_sel[i] + 2 * (high[i] if i < len(high) else 1)) for i in (0, 1)]
    t.scaled, (t.a_shift, t.b_shift) = 1, shifts
    t.a_scale, t.b_scale = (_registers(x.ctx, o)[0] for o in ins.operands[4:6])


def _signs(t: Mat, ins: Instruction) -> None:
    neg_lo, neg_hi = ((*modifier_bits(ins, n), 0, 0, 0) for n in ("neg_lo", "neg_hi"))
    integer = t.result == RESULT["i32"]
    if not integer:
        t.a_neg[:], t.b_neg[:] = (neg_lo[0], neg_hi[0]), (neg_lo[1], neg_hi[1])
        t.c_abs, t.c_neg = int(bool(neg_hi[2])), int(bool(neg_lo[2]))
    t.clamp = int(integer and bool(ins.modifiers.get("clamp")))


def _addend(x: Decoder, t: Mat, o: Operand, result: str) -> bool:
    if is_vector(o):
        t.c_row, count = _registers(x.ctx, o)
        return bool(count >= (t.d_elements // 2 if t.packed16 else t.d_elements))
    t.c_is_const = 1
    if result in ("f16", "bf16"):
        bits = constant_bits(o, 16 if o.kind is OperandKind.FLOAT and result == "f16" else 32)
        if o.kind is OperandKind.FLOAT and result == "bf16":
            bits = constant_bits(o, 32) >> 16
        t.c_const = float(unpack(np.array([[bits & 0xFFFF]], np.uint32), result)[0, 0])
    else:
        t.c_const = float(_accumulator(x.ctx, o, result, t.d_regs)(None))  # type: ignore[arg-type]
    return True
