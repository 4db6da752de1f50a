"""Conversions with a block scale (v_cvt_scalef32_*) and with stochastic rounding (v_cvt_sr_*).

CDNA4 ISA, VOP3: the scale is the exponent field of an f32, conversions from a
small format multiply by 2^(e - 127), conversions to one divide. Only exponents
of the scale count. Stochastic rounding adds a random fraction of the last
kept bit and truncates; elements after the first use successive steps of
v_prng_b32. NumPy only: the fast executor hands these over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand
from isaprof.sim.lower.context import (
    Context,
    IllegalOperand,
    Step,
    Unimplemented,
    modifier_bits,
    modifier_int,
)
from isaprof.sim.lower.operands import Get, getter, is_vector, row_of
from isaprof.sim.semantics.elements import BITS, codes_of, pack_codes
from isaprof.sim.semantics.formats import bf16_to_f32, decode, encode, encode_stochastic, f32_to_bf16
from isaprof.sim.semantics.valu_int import prng
from isaprof.sim.state import Wave

Vec = Any
_SMALL = ("fp8", "bf8", "fp6", "bf6", "fp4")
_NAME = re.compile(
    r"v_cvt_(?P<scale>scalef32_)?(?P<sr>sr_)?(?:(?P<twice>2x)?pk(?P<n>\d*)_)?"
    r"(?P<to>f32|f16|bf16|fp8|bf8|fp6|bf6|fp4)_(?P<of>f32|f16|bf16|fp8|bf8|fp6|bf6|fp4)"
)


def lower_scaled(ins: Instruction, ctx: Context) -> Step | None:
    """The step of one of these conversions, None when ``ins`` is none."""
    match = _NAME.fullmatch(ins.base)
    if match is None or not (match["scale"] or match["sr"]):
        return None
    if ins.modifiers.get("clamp") or ins.dual is not None:
        raise Unimplemented(f"modifiers of {ins.text}")
    packed = "pk" in ins.base
    count = int(match["n"] or 2) * (2 if match["twice"] else 1) if packed else 1
    if match["of"] in _SMALL:
        return _from_small(ins, ctx, match, count)
    return _to_small(ins, ctx, match, count)


def select(ins: Instruction) -> tuple[int, int, int, int]:
    """OPSEL[0..3]; a list of three leaves out OPSEL[2] (the third source)."""
    bits = modifier_bits(ins, "op_sel")
    if len(bits) == 4:
        return bits[0], bits[1], bits[2], bits[3]
    if len(bits) == 3:
        return bits[0], bits[1], 0, bits[2]
    if any(bits):
        raise Unimplemented(f"op_sel of {ins.text}")
    byte = modifier_int(ins, "byte_sel")
    return byte & 1, byte >> 1, byte & 1, byte >> 1


def _scale(ctx: Context, o: Operand, *, inverse: bool) -> Get:
    get = getter(ctx, o, "u32", mods=False)

    def factor(w: Wave) -> Vec:
        e = (np.asarray(get(w)) >> np.uint32(23) & np.uint32(0xFF)).astype(np.int32) - 127
        return np.ldexp(1.0, -e if inverse else e)

    return factor


def _row(ctx: Context, o: Operand, count: int) -> int:
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} where vector registers are needed")
    if o.reg.count != count:
        raise IllegalOperand(f"{o.text}: {count} registers are needed")
    return row_of(ctx, o.reg, count)


def _values(ctx: Context, o: Operand, kind: str, count: int) -> Get:
    """``count`` floats of a source as float64 [count, lanes]; single ones may be constants or SGPRs."""
    if count == 1:
        one = getter(ctx, o, kind)
        return lambda w: np.broadcast_to(_wide(np.asarray(one(w)), kind), (w.lanes,))[None]
    if count == 2 and kind != "f32":
        word = getter(ctx, o, "u32", mods=False)
        return lambda w: _halves(np.broadcast_to(np.asarray(word(w), np.uint32), (w.lanes,))[None], kind)
    n = count if kind == "f32" else count // 2
    row = _row(ctx, o, n)
    if kind == "f32":
        return lambda w: w.v[row : row + n].view(np.float32).astype(np.float64)
    return lambda w: _halves(w.v[row : row + n], kind)


def _wide(x: Vec, kind: str) -> Vec:
    return (bf16_to_f32(x) if kind == "bf16" else x).astype(np.float64)


def _halves(regs: Vec, kind: str) -> Vec:
    out = np.empty((2 * regs.shape[0], regs.shape[1]))
    for half in (0, 1):
        x = (regs >> np.uint32(16 * half)).astype(np.uint16)
        out[half::2] = _wide(x if kind == "bf16" else x.view(np.float16), kind)
    return out


def _sources(ins: Instruction, ctx: Context, match: re.Match[str], count: int) -> tuple[Get, list[Operand]]:
    """(values to convert, the operands behind them)."""
    _dst, first, *rest = ins.operands
    kind = match["of"]
    if match["twice"] or (count == 2 and kind == "f32" and not match["sr"]):
        # two operands, whose elements alternate in the result
        a, b = (_values(ctx, o, kind, count // 2) for o in (first, rest[0]))
        return (lambda w: np.stack([a(w), b(w)], axis=1).reshape(count, w.lanes)), rest[1:]
    return _values(ctx, first, kind, count), rest


def _to_small(ins: Instruction, ctx: Context, match: re.Match[str], count: int) -> Step:
    to = match["to"]
    values, rest = _sources(ins, ctx, match, count)
    stochastic = match["sr"] is not None
    seed = getter(ctx, rest.pop(0), "u32", mods=False) if stochastic else None
    factor = _scale(ctx, rest.pop(0), inverse=True) if match["scale"] else None
    if rest:
        raise Unimplemented(f"operand list of {ins.text}")
    put = _place(ins, ctx, to, count)

    def step(w: Wave) -> None:
        x = values(w)
        if factor is not None:
            x = x * factor(w)
        name = to + "_fnuz" if w.fm.fp8_fnuz and to in ("fp8", "bf8") else to
        # fp6 and fp4 have no infinity; fp8, bf8 and f16 keep theirs unless MODE.FP16_OVFL
        saturate = to in ("fp6", "bf6", "fp4") or w.fm.fp16_ovfl
        if seed is None:
            codes = encode(name, x.astype(np.float32), saturate=saturate)
        else:
            r = np.broadcast_to(np.asarray(seed(w), np.uint32), (w.lanes,))
            rows = []
            for i in range(count):
                rows.append(encode_stochastic(name, x[i], r, saturate=saturate))
                r = prng(r)
            codes = np.stack(rows)
        put(w, codes)

    return step


def _place(ins: Instruction, ctx: Context, to: str, count: int) -> Callable[[Wave, Vec], None]:
    """Writer of codes [count, lanes]: into the byte or half that OPSEL names, or whole registers."""
    dst = ins.operands[0]
    width = BITS[to] * count
    if width >= 32:
        n = width // 32
        row = _row(ctx, dst, n)

        def whole(w: Wave, codes: Vec) -> None:
            np.copyto(w.v[row : row + n], pack_codes(codes, BITS[to]), where=w.mask)

        return whole
    sel = select(ins)
    shift = 16 * sel[3] if width == 16 else 8 * (sel[2] + 2 * sel[3])
    if dst.half == "h":
        shift += 16
    row = _row(ctx, dst, 1)
    mask = np.uint32(((1 << width) - 1) << shift)

    def part(w: Wave, codes: Vec) -> None:
        value = np.zeros(w.lanes, np.uint32)
        for i in range(count):
            value |= codes[i].astype(np.uint32) << np.uint32(shift + BITS[to] * i)
        d = w.v[row]
        np.copyto(d, d & ~mask | value & mask, where=w.mask)

    return part


def _from_small(ins: Instruction, ctx: Context, match: re.Match[str], count: int) -> Step:
    to, of = match["to"], match["of"]
    dst, src, scale = ins.operands
    factor = _scale(ctx, scale, inverse=False)
    width = BITS[of] * count
    get: Get
    if width >= 32:
        n = width // 32
        row = _row(ctx, src, n)
        get = lambda w: codes_of(w.v[row : row + n], BITS[of])  # noqa: E731
    else:
        sel = select(ins)
        shift = 16 * sel[0] if width == 16 else 8 * (sel[0] + 2 * sel[1])
        word = getter(ctx, src, "u32", mods=False)
        low = [np.uint32(shift + BITS[of] * i) for i in range(count)]
        mask = np.uint32((1 << BITS[of]) - 1)
        get = lambda w: np.stack(  # noqa: E731
            [np.broadcast_to(np.asarray(word(w), np.uint32), (w.lanes,)) >> s & mask for s in low]
        )
    put = _results(ins, ctx, dst, to, count)

    def step(w: Wave) -> None:
        name = of + "_fnuz" if w.fm.fp8_fnuz and of in ("fp8", "bf8") else of
        put(w, decode(name, get(w)).astype(np.float64) * factor(w))

    return step


def _results(
    ins: Instruction, ctx: Context, dst: Operand, to: str, count: int
) -> Callable[[Wave, Vec], None]:
    if to == "f32":
        row = _row(ctx, dst, count)

        def floats(w: Wave, x: Vec) -> None:
            np.copyto(w.v[row : row + count], x.astype(np.float32).view(np.uint32), where=w.mask)

        return floats

    def halves(x: Vec) -> Vec:
        f = x.astype(np.float32)
        return f32_to_bf16(f) if to == "bf16" else x.astype(np.float16).view(np.uint16)

    if count == 1:
        row = _row(ctx, dst, 1)
        high = select(ins)[3] or dst.half == "h"
        key = "u16.h" if high else "u16.l"
        return lambda w, x: np.copyto(w.tables[key][row], halves(x)[0], where=w.mask)
    n = count // 2
    row = _row(ctx, dst, n)

    def pairs(w: Wave, x: Vec) -> None:
        h = halves(x).astype(np.uint32)
        np.copyto(w.v[row : row + n], h[0::2] | h[1::2] << np.uint32(16), where=w.mask)

    return pairs
