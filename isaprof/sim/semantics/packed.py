"""Packed and dot-product operations (VOP3P) and v_fma_mix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.sim.mode import FloatMode
from isaprof.sim.semantics import floats as fl
from isaprof.sim.semantics.convert import narrow16
from isaprof.sim.semantics.formats import bf16_to_f32, decode, f32_to_bf16
from isaprof.sim.semantics.spec import table
from isaprof.sim.semantics.valu_int import I16, I32, U16, U32

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
Pair = tuple[Vec, Vec]
PK: dict[str, Any] = {"packed": True}
PKM: dict[str, Any] = {"packed": True, "mode": True}
PK32: dict[str, Any] = {"packed32": True, "mode": True}
M: dict[str, Any] = {"mode": True}


def _bf(fn: Callable[..., Vec]) -> Callable[..., Vec]:
    """An f32 operation on bf16 codes, rounded to bf16 once."""
    return lambda m, *xs: f32_to_bf16(fn(m, *(bf16_to_f32(x) for x in xs)))


def _dot2_f32(m: FloatMode, a: Pair, b: Pair, c: Vec) -> Vec:
    """a.lo*b.lo + a.hi*b.hi + c over f16 pairs, in float64, rounded once to f32."""
    s = a[0].astype(np.float64) * b[0] + a[1].astype(np.float64) * b[1] + c
    return s.astype(np.float32)


def _dot2_f32_bf16(m: FloatMode, a: Pair, b: Pair, c: Vec) -> Vec:
    return _dot2_f32(m, _bf_pair(a), _bf_pair(b), c)


def _bf_pair(a: Pair) -> Pair:
    return bf16_to_f32(a[0]), bf16_to_f32(a[1])


def _dot2_f16(m: FloatMode, a: Pair, b: Pair, c: Vec) -> Vec:
    return _dot2_f32(m, a, b, c).astype(np.float16)


def _dot2_bf16(m: FloatMode, a: Pair, b: Pair, c: Vec) -> Vec:
    return f32_to_bf16(_dot2_f32(m, _bf_pair(a), _bf_pair(b), bf16_to_f32(c)))


def _fields(x: Vec, bits: int, signed: bool) -> list[Vec]:
    out = []
    for i in range(32 // bits):
        if signed:
            out.append(
                ((x << np.uint32(32 - bits * (i + 1))).view(np.int32) >> np.int32(32 - bits)).astype(np.int64)
            )
        else:
            out.append(((x >> np.uint32(bits * i)) & np.uint32((1 << bits) - 1)).astype(np.int64))
    return out


def dot_int(bits: int, a_signed: bool, b_signed: bool) -> Callable[[Vec, Vec, Vec], Vec]:
    """Sum of products of 4 or 8-bit (16-bit) fields plus c, as int64 (the caller wraps or saturates)."""

    def fn(a: Vec, b: Vec, c: Vec) -> Vec:
        total = c.astype(np.int64)
        for x, y in zip(_fields(a, bits, a_signed), _fields(b, bits, b_signed), strict=True):
            total = total + x * y
        return total

    return fn


def _dot4_f8(a_name: str, b_name: str) -> Callable[..., Vec]:
    def fn(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
        s = c.astype(np.float64)
        for i in range(4):
            x, y = (((v >> np.uint32(8 * i)) & np.uint32(0xFF)) for v in (a, b))
            s = s + decode(a_name, x).astype(np.float64) * decode(b_name, y)
        return s.astype(np.float32)

    return fn


def _mixed16(m: FloatMode, a: Vec, b: Vec, c: Vec) -> Vec:
    return narrow16(m, fl.fma32(m, a, b, c))


def _min3(fn: Callable[..., Vec]) -> Callable[..., Vec]:
    return lambda m, a, b, c: fn(m, fn(m, a, b), c)


def _dot_rows() -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for bits, n in ((8, 4), (4, 8), (16, 2)):
        kind = {8: "8", 4: "4", 16: "16"}[bits]
        for s, t, limits in ((True, "i", I32), (False, "u", U32)):
            fn = dot_int(bits, s, s)
            sig = f"u32 u32 {t}32 -> {t}32"
            rows.append((f"v_dot{n}_{t}32_{t}{kind}", f"dot{n}_{t}32_{t}{kind}", sig, fn, {"sat": limits}))
            if s:
                rows.append((f"v_dot{n}c_i32_i{kind}", f"dot{n}c_i32_i{kind}", sig, fn,
                             {"sat": limits, "accumulate": True}))  # fmt: skip
    return rows


TABLE = table(
    "RDNA3, RDNA4, CDNA3 and CDNA4 ISA, Instructions: VOP3P",
    [
        ("v_pk_add_f16", "pk_add_f16", "f16 f16 -> f16", fl.add, PKM),
        ("v_pk_mul_f16", "pk_mul_f16", "f16 f16 -> f16", fl.mul, PKM),
        ("v_pk_fma_f16", "pk_fma_f16", "f16 f16 f16 -> f16", fl.fma16, PKM),
        ("v_pk_fmac_f16", "pk_fmac_f16", "f16 f16 f16 -> f16", fl.fma16, {**PKM, "accumulate": True}),
        ("v_pk_min_f16 v_pk_min_num_f16", "pk_min_f16", "f16 f16 -> f16", fl.minimum, PKM),
        ("v_pk_max_f16 v_pk_max_num_f16", "pk_max_f16", "f16 f16 -> f16", fl.maximum, PKM),
        ("v_pk_minimum_f16", "pk_minimum_f16", "f16 f16 -> f16", fl.minimum_nan, PKM),
        ("v_pk_maximum_f16", "pk_maximum_f16", "f16 f16 -> f16", fl.maximum_nan, PKM),
        ("v_pk_minimum3_f16", "pk_minimum3_f16", "f16 f16 f16 -> f16", _min3(fl.minimum_nan), PKM),
        ("v_pk_maximum3_f16", "pk_maximum3_f16", "f16 f16 f16 -> f16", _min3(fl.maximum_nan), PKM),
        ("v_pk_add_bf16", "pk_add_bf16", "u16 u16 -> u16", _bf(fl.add), PKM),
        ("v_pk_mul_bf16", "pk_mul_bf16", "u16 u16 -> u16", _bf(fl.mul), PKM),
        ("v_pk_fma_bf16", "pk_fma_bf16", "u16 u16 u16 -> u16", _bf(fl.fma32), PKM),
        ("v_pk_add_u16", "pk_add_u16", "u16 u16 -> u16", lambda a, b: a + b, {**PK, "sat": U16}),
        ("v_pk_add_i16", "pk_add_i16", "i16 i16 -> i16", lambda a, b: a + b, {**PK, "sat": I16}),
        ("v_pk_sub_u16", "pk_sub_u16", "u16 u16 -> u16", lambda a, b: a - b, {**PK, "sat": U16}),
        ("v_pk_sub_i16", "pk_sub_i16", "i16 i16 -> i16", lambda a, b: a - b, {**PK, "sat": I16}),
        ("v_pk_mul_lo_u16", "pk_mul_lo_u16", "u16 u16 -> u16", lambda a, b: a * b, PK),
        ("v_pk_mad_u16", "pk_mad_u16", "u16 u16 u16 -> u16", lambda a, b, c: a * b + c, {**PK, "sat": U16}),
        ("v_pk_mad_i16", "pk_mad_i16", "i16 i16 i16 -> i16", lambda a, b, c: a * b + c, {**PK, "sat": I16}),
        *[
            (f"v_pk_{n}_{t}", f"pk_{n}_{t}", f"{t} {t} -> {t}", f, PK)
            for t in ("u16", "i16")
            for n, f in (("min", np.minimum), ("max", np.maximum))
        ],
        ("v_pk_lshlrev_b16", "pk_lshlrev_b16", "u16 u16 -> u16", lambda a, b: b << (a & np.uint16(15)), PK),
        ("v_pk_lshrrev_b16", "pk_lshrrev_b16", "u16 u16 -> u16", lambda a, b: b >> (a & np.uint16(15)), PK),
        ("v_pk_ashrrev_i16", "pk_ashrrev_i16", "i16 i16 -> i16", lambda a, b: b >> (a & np.int16(15)), PK),
        ("v_pk_add_f32", "pk_add_f32", "f32 f32 -> f32", fl.add, PK32),
        ("v_pk_mul_f32", "pk_mul_f32", "f32 f32 -> f32", fl.mul, PK32),
        ("v_pk_fma_f32", "pk_fma_f32", "f32 f32 f32 -> f32", fl.fma32, PK32),
        ("v_dot2_f32_f16", "dot2_f32_f16", "f16x2 f16x2 f32 -> f32", _dot2_f32, M),
        ("v_dot2c_f32_f16 v_dot2acc_f32_f16", "dot2c_f32_f16", "f16x2 f16x2 f32 -> f32", _dot2_f32,
         {"mode": True, "accumulate": True}),
        ("v_dot2_f32_bf16", "dot2_f32_bf16", "bf16x2 bf16x2 f32 -> f32", _dot2_f32_bf16, M),
        ("v_dot2c_f32_bf16", "dot2c_f32_bf16", "bf16x2 bf16x2 f32 -> f32", _dot2_f32_bf16,
         {"mode": True, "accumulate": True}),
        ("v_dot2_f16_f16", "dot2_f16_f16", "f16x2 f16x2 f16 -> f16", _dot2_f16, M),
        ("v_dot2_bf16_bf16", "dot2_bf16_bf16", "bf16x2 bf16x2 bf16 -> bf16", _dot2_bf16, M),
        *_dot_rows(),
        # neg_lo chooses signed or unsigned sources; the lowering binds the variant
        ("v_dot4_i32_iu8", "dot4_i32_iu8", "u32 u32 i32 -> i32", dot_int(8, False, False), {"sat": I32}),
        ("v_dot8_i32_iu4", "dot8_i32_iu4", "u32 u32 i32 -> i32", dot_int(4, False, False), {"sat": I32}),
        *[
            (f"v_dot4_f32_{x}_{y}", f"dot4_f32_{x}_{y}", "u32 u32 f32 -> f32", _dot4_f8(x, y), M)
            for x in ("fp8", "bf8")
            for y in ("fp8", "bf8")
        ],
        ("v_fma_mix_f32 v_mad_mix_f32", "fma_mix_f32", "mix mix mix -> f32", fl.fma32, M),
        ("v_fma_mixlo_f16", "fma_mixlo_f16", "mix mix mix -> f16", _mixed16,
         {"mode": True, "keeps_high16": True}),
        ("v_fma_mixhi_f16", "fma_mixhi_f16", "mix mix mix -> f16", _mixed16,
         {"mode": True, "keeps_high16": True}),
    ],
)  # fmt: skip
