"""Vector integer and bit operations (VOP1, VOP2, VOP3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from isaprof.sim.semantics.spec import table

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
_U = np.uint32
_U64 = np.uint64
_I64 = np.int64

I16 = (-(1 << 15), (1 << 15) - 1)
U16 = (0, (1 << 16) - 1)
I32 = (-(1 << 31), (1 << 31) - 1)
U32 = (0, (1 << 32) - 1)
I64 = (-(1 << 63), (1 << 63) - 1)


def _sh(b: Vec) -> Vec:
    return b & _U(31)


def _sh64(b: Vec) -> Vec:
    return (b & _U(63)).astype(_U64)


def _u24(a: Vec) -> Vec:
    return (a & _U(0xFFFFFF)).astype(_U64)


def _i24(a: Vec) -> Vec:
    return ((a << _U(8)).view(np.int32) >> np.int32(8)).astype(_I64)


def _low(x: Vec) -> Vec:
    return x.astype(_U64).astype(_U)


def _high(x: Vec) -> Vec:
    return (x >> x.dtype.type(32)).astype(_U64).astype(_U)


def add_co(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    s = a + b
    return s, s < a


def addc_co(a: Vec, b: Vec, c: Vec) -> tuple[Vec, Vec]:
    s = a.astype(_U64) + b + c
    return s.astype(_U), s > 0xFFFFFFFF


def sub_co(a: Vec, b: Vec) -> tuple[Vec, Vec]:
    return a - b, b > a


def subb_co(a: Vec, b: Vec, c: Vec) -> tuple[Vec, Vec]:
    d = a.astype(_I64) - b - c
    return d.astype(_U64).astype(_U), d < 0


def bfe_u32(a: Vec, b: Vec, c: Vec) -> Vec:
    return (a >> _sh(b)) & ((_U(1) << _sh(c)) - _U(1))


def bfe_i32(a: Vec, b: Vec, c: Vec) -> Vec:
    w = _sh(c)
    x = (a.view(np.int32) >> _sh(b).astype(np.int32)).view(_U) & ((_U(1) << w) - _U(1))
    top = (x >> (w - _U(1) & _U(31))) & _U(1)
    return np.where((w != 0) & (top != 0), x | ~((_U(1) << w) - _U(1)), x)


def bfi(a: Vec, b: Vec, c: Vec) -> Vec:
    return (a & b) | (~a & c)


def alignbit(a: Vec, b: Vec, c: Vec) -> Vec:
    return ((a.astype(_U64) << _U64(32) | b) >> _sh(c).astype(_U64)).astype(_U)


def alignbyte(a: Vec, b: Vec, c: Vec) -> Vec:
    return ((a.astype(_U64) << _U64(32) | b) >> ((c & _U(3)) * _U(8)).astype(_U64)).astype(_U)


def perm(a: Vec, b: Vec, sel: Vec) -> Vec:
    """v_perm_b32: bytes 0-3 from src1, 4-7 from src0, 8-11 sign fills, 12 zero, 13 and up 0xff."""
    data = a.astype(_U64) << _U64(32) | b
    out = np.zeros(np.broadcast(data, sel).shape, _U)
    for i in range(4):
        s = (sel >> _U(8 * i)) & _U(0xFF)
        byte = (data >> ((s & _U(7)) * _U(8)).astype(_U64)).astype(_U) & _U(0xFF)
        sign = (data >> ((((s & _U(3)) * _U(2)) + _U(1)) * _U(8) + _U(7)).astype(_U64)).astype(_U) & _U(1)
        byte = np.where(s >= 8, sign * _U(0xFF), byte)
        byte = np.where(s == 12, _U(0), np.where(s > 12, _U(0xFF), byte))
        out |= byte << _U(8 * i)
    return out


def clz(a: Vec) -> Vec:
    """Leading zeros; -1 when a is 0."""
    _, e = np.frexp(a.astype(np.float64))
    return np.where(a == 0, _U(0xFFFFFFFF), (32 - e).astype(_U))


def cls(a: Vec) -> Vec:
    """Leading bits equal to the sign; -1 when a is 0 or -1."""
    x = np.where(a >> _U(31) != 0, ~a, a)
    return clz(x)


def ctz(a: Vec) -> Vec:
    low = a & (~a + _U(1))
    _, e = np.frexp(low.astype(np.float64))
    return np.where(a == 0, _U(0xFFFFFFFF), (e - 1).astype(_U))


def bit_count(a: Vec) -> Vec:
    a = a - ((a >> _U(1)) & _U(0x55555555))
    a = (a & _U(0x33333333)) + ((a >> _U(2)) & _U(0x33333333))
    return (((a + (a >> _U(4))) & _U(0x0F0F0F0F)) * _U(0x01010101)) >> _U(24)


def reverse(a: Vec) -> Vec:
    for shift, m in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        a = ((a >> _U(shift)) & _U(m)) | ((a & _U(m)) << _U(shift))
    return (a >> _U(16)) | (a << _U(16))


def med3(a: Vec, b: Vec, c: Vec) -> Vec:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def bitop3(a: Vec, b: Vec, c: Vec, ttbl: int) -> Vec:
    """Any function of three bits; bit (a << 2 | b << 1 | c) of ``ttbl`` is the result (CDNA4 ISA)."""
    out = np.zeros(np.broadcast(a, b, c).shape, a.dtype)
    for i in range(8):
        if ttbl >> i & 1:
            out |= (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
    return out


def _bytes(a: Vec) -> list[Vec]:
    return [((a >> _U(8 * i)) & _U(0xFF)).astype(_I64) for i in range(4)]


def sad_u8(a: Vec, b: Vec, c: Vec) -> Vec:
    return _low(sum((abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True)), c.astype(_I64)))


def msad_u8(a: Vec, b: Vec, c: Vec) -> Vec:
    """Masked: bytes of the reference b that are 0 do not count."""
    pairs = zip(_bytes(a), _bytes(b), strict=True)
    return _low(sum((np.where(y == 0, 0, abs(x - y)) for x, y in pairs), c.astype(_I64)))


def sad_u16(a: Vec, b: Vec, c: Vec) -> Vec:
    d = [
        abs(((a >> _U(s)) & _U(0xFFFF)).astype(_I64) - ((b >> _U(s)) & _U(0xFFFF)).astype(_I64))
        for s in (0, 16)
    ]
    return _low(d[0] + d[1] + c)


def _windows(a: Vec) -> list[Vec]:
    return [(a >> _U64(8 * i)).astype(_U) for i in range(4)]


def _qsad(fn: Any, a: Vec, b: Vec, c: Vec) -> Vec:
    """Four sums over byte windows of the 64-bit src0, packed as 16-bit values."""
    out = np.zeros(np.broadcast(a, b, c).shape, _U64)
    for i, window in enumerate(_windows(a)):
        acc = ((c >> _U64(16 * i)) & _U64(0xFFFF)).astype(_U)
        out = out | (fn(window, b, acc) & _U(0xFFFF)).astype(_U64) << _U64(16 * i)
    return out


def lerp_u8(a: Vec, b: Vec, c: Vec) -> Vec:
    out = np.zeros(np.broadcast(a, b, c).shape, _U)
    for i in range(4):
        s = _U(8 * i)
        total = ((a >> s) & _U(0xFF)) + ((b >> s) & _U(0xFF)) + ((c >> s) & _U(1))
        out |= (total >> _U(1)) << s
    return out


def prng(a: Vec) -> Vec:
    """v_prng_b32: one step of a 32-bit LFSR (CDNA4 ISA, VOP1)."""
    return (a << _U(1)) ^ np.where(a >> _U(31) != 0, _U(197), _U(0))


def sat_pk_u8(a: Vec) -> Vec:
    lo = np.clip((a << _U(16)).view(np.int32) >> 16, 0, 255).astype(_U)
    hi = np.clip(a.view(np.int32) >> 16, 0, 255).astype(_U)
    return (lo | hi << _U(8)).astype(np.uint16)


def ashr_pk(lo: int, hi: int) -> Any:
    """v_ashr_pk_{i8,u8}_i32: two arithmetic shifts, saturated to bytes (CDNA4 ISA, VOP3)."""

    def fn(a: Vec, b: Vec, c: Vec) -> Vec:
        s = _sh(c).astype(np.int32)
        x = np.clip(a >> s, lo, hi).astype(_U) & _U(0xFF)
        y = np.clip(b >> s, lo, hi).astype(_U) & _U(0xFF)
        return (x | y << _U(8)).astype(np.uint16)

    return fn


def _mad64(a: Vec, b: Vec, c: Vec) -> tuple[Vec, Vec]:
    p = a.astype(_U64) * b
    s = p + c
    return s, s < p


def _mad64i(a: Vec, b: Vec, c: Vec) -> tuple[Vec, Vec]:
    p = a.astype(_I64) * b
    s = p + c
    return s, ((p >= 0) == (c >= 0)) & ((s >= 0) != (p >= 0))


def mul_hi_u32(a: Vec, b: Vec) -> Vec:
    return (a.astype(_U64) * b >> _U64(32)).astype(_U)


def mul_hi_i32(a: Vec, b: Vec) -> Vec:
    return (a.astype(_I64) * b >> _I64(32)).astype(np.int32)


def _clip(lo: int, hi: int) -> Any:
    return lambda a: np.clip(a, lo, hi)


_BITS = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "xnor": lambda a, b: ~(a ^ b),
}
_SAT32U = {"sat": U32}

TABLE = table(
    "RDNA3 and CDNA3 ISA, Instructions: VOP1, VOP2, VOP3 (integer)",
    [
        ("v_mov_b32 v_accvgpr_write_b32 v_accvgpr_read_b32 v_accvgpr_mov_b32", "mov_b32", "u32 -> u32",
         lambda a: a, {"raw": True}),
        ("v_mov_b64", "mov_b64", "u64 -> u64", lambda a: a, {"raw": True}),
        ("v_mov_b16", "mov_b16", "u16 -> u16", lambda a: a, {"raw": True}),
        ("v_not_b32", "not_b32", "u32 -> u32", lambda a: ~a),
        ("v_not_b16", "not_b16", "u16 -> u16", lambda a: ~a),
        *[(f"v_{n}_b32", f"{n}_b32", "u32 u32 -> u32", f) for n, f in _BITS.items()],
        *[(f"v_{n}_b16", f"{n}_b16", "u16 u16 -> u16", f) for n, f in _BITS.items() if n != "xnor"],
        ("v_and_or_b32", "and_or_b32", "u32 u32 u32 -> u32", lambda a, b, c: (a & b) | c),
        ("v_or3_b32", "or3_b32", "u32 u32 u32 -> u32", lambda a, b, c: a | b | c),
        ("v_xor3_b32", "xor3_b32", "u32 u32 u32 -> u32", lambda a, b, c: a ^ b ^ c),
        # the lowering binds the truth table that the instruction names
        # as v_bitop3 with a third source of 0 (gfx1250, LLVM VOPDInstructions)
        ("v_bitop2_b32", "bitop2_b32", "u32 u32 -> u32", bitop3, {"truth_table": True}),
        ("v_bitop3_b32", "bitop3_b32", "u32 u32 u32 -> u32", bitop3, {"truth_table": True}),
        ("v_bitop3_b16", "bitop3_b16", "u16 u16 u16 -> u16", bitop3, {"truth_table": True}),
        ("v_xad_u32", "xad_u32", "u32 u32 u32 -> u32", lambda a, b, c: (a ^ b) + c),
        ("v_bfrev_b32", "bfrev_b32", "u32 -> u32", reverse),
        ("v_bcnt_u32_b32", "bcnt_u32_b32", "u32 u32 -> u32", lambda a, b: bit_count(a) + b),
        ("v_ffbh_u32 v_clz_i32_u32", "clz_u32", "u32 -> u32", clz),
        ("v_ffbh_i32 v_cls_i32", "cls_i32", "u32 -> u32", cls),
        ("v_ffbl_b32 v_ctz_i32_b32", "ctz_b32", "u32 -> u32", ctz),
        ("v_bfe_u32", "bfe_u32", "u32 u32 u32 -> u32", bfe_u32),
        ("v_bfe_i32", "bfe_i32", "u32 u32 u32 -> u32", bfe_i32),
        ("v_bfi_b32", "bfi_b32", "u32 u32 u32 -> u32", bfi),
        ("v_bfm_b32", "bfm_b32", "u32 u32 -> u32", lambda a, b: ((_U(1) << _sh(a)) - _U(1)) << _sh(b)),
        ("v_alignbit_b32", "alignbit_b32", "u32 u32 u32 -> u32", alignbit),
        ("v_alignbyte_b32", "alignbyte_b32", "u32 u32 u32 -> u32", alignbyte),
        ("v_perm_b32", "perm_b32", "u32 u32 u32 -> u32", perm),
        ("v_lshlrev_b32", "lshlrev_b32", "u32 u32 -> u32", lambda a, b: b << _sh(a)),
        ("v_lshrrev_b32", "lshrrev_b32", "u32 u32 -> u32", lambda a, b: b >> _sh(a)),
        ("v_ashrrev_i32", "ashrrev_i32", "u32 i32 -> i32", lambda a, b: b >> _sh(a).astype(np.int32)),
        ("v_lshlrev_b16", "lshlrev_b16", "u16 u16 -> u16", lambda a, b: b << (a & np.uint16(15))),
        ("v_lshrrev_b16", "lshrrev_b16", "u16 u16 -> u16", lambda a, b: b >> (a & np.uint16(15))),
        ("v_ashrrev_i16", "ashrrev_i16", "i16 i16 -> i16", lambda a, b: b >> (a & np.int16(15))),
        ("v_lshlrev_b64", "lshlrev_b64", "u32 u64 -> u64", lambda a, b: b << _sh64(a)),
        ("v_lshrrev_b64", "lshrrev_b64", "u32 u64 -> u64", lambda a, b: b >> _sh64(a)),
        ("v_ashrrev_i64", "ashrrev_i64", "u32 i64 -> i64", lambda a, b: b >> _sh64(a).astype(_I64)),
        ("v_lshl_add_u32", "lshl_add_u32", "u32 u32 u32 -> u32", lambda a, b, c: (a << _sh(b)) + c),
        ("v_lshl_add_u64", "lshl_add_u64", "u64 u32 u64 -> u64",
         lambda a, b, c: (a << (b & _U(7)).astype(_U64)) + c),
        ("v_add_lshl_u32", "add_lshl_u32", "u32 u32 u32 -> u32", lambda a, b, c: (a + b) << _sh(c)),
        ("v_lshl_or_b32", "lshl_or_b32", "u32 u32 u32 -> u32", lambda a, b, c: (a << _sh(b)) | c),
        ("v_add3_u32", "add3_u32", "u32 u32 u32 -> u32", lambda a, b, c: a + b + c),
        ("v_add_u32 v_add_nc_u32", "add_u32", "u32 u32 -> u32", lambda a, b: a + b, _SAT32U),
        ("v_sub_u32 v_sub_nc_u32", "sub_u32", "u32 u32 -> u32", lambda a, b: a - b, _SAT32U),
        ("v_subrev_u32 v_subrev_nc_u32", "subrev_u32", "u32 u32 -> u32", lambda a, b: b - a, _SAT32U),
        ("v_add_i32 v_add_nc_i32", "add_i32", "i32 i32 -> i32", lambda a, b: a + b, {"sat": I32}),
        ("v_sub_i32 v_sub_nc_i32", "sub_i32", "i32 i32 -> i32", lambda a, b: a - b, {"sat": I32}),
        ("v_add_u16 v_add_nc_u16", "add_u16", "u16 u16 -> u16", lambda a, b: a + b, {"sat": U16}),
        ("v_sub_u16 v_sub_nc_u16", "sub_u16", "u16 u16 -> u16", lambda a, b: a - b, {"sat": U16}),
        ("v_subrev_u16", "subrev_u16", "u16 u16 -> u16", lambda a, b: b - a, {"sat": U16}),
        ("v_add_i16 v_add_nc_i16", "add_i16", "i16 i16 -> i16", lambda a, b: a + b, {"sat": I16}),
        ("v_sub_i16 v_sub_nc_i16", "sub_i16", "i16 i16 -> i16", lambda a, b: a - b, {"sat": I16}),
        ("v_mul_lo_u16", "mul_lo_u16", "u16 u16 -> u16", lambda a, b: a * b),
        ("v_mad_u16 v_mad_legacy_u16", "mad_u16", "u16 u16 u16 -> u16", lambda a, b, c: a * b + c,
         {"sat": U16}),
        ("v_mad_i16 v_mad_legacy_i16", "mad_i16", "i16 i16 i16 -> i16", lambda a, b, c: a * b + c,
         {"sat": I16}),
        ("v_mad_u32_u16", "mad_u32_u16", "u16 u16 u32 -> u32", lambda a, b, c: a.astype(_U) * b + c, _SAT32U),
        ("v_mad_i32_i16", "mad_i32_i16", "i16 i16 i32 -> i32",
         lambda a, b, c: a.astype(np.int32) * b + c, {"sat": I32}),
        ("v_add_co_u32", "add_co_u32", "u32 u32 -> u32 mask", add_co, {"carry": True}),
        ("v_sub_co_u32", "sub_co_u32", "u32 u32 -> u32 mask", sub_co, {"carry": True}),
        ("v_subrev_co_u32", "subrev_co_u32", "u32 u32 -> u32 mask", lambda a, b: sub_co(b, a),
         {"carry": True}),
        ("v_addc_co_u32 v_add_co_ci_u32", "addc_co_u32", "u32 u32 mask -> u32 mask", addc_co,
         {"carry": True}),
        ("v_subb_co_u32 v_sub_co_ci_u32", "subb_co_u32", "u32 u32 mask -> u32 mask", subb_co,
         {"carry": True}),
        ("v_subbrev_co_u32 v_subrev_co_ci_u32", "subbrev_co_u32", "u32 u32 mask -> u32 mask",
         lambda a, b, c: subb_co(b, a, c), {"carry": True}),
        ("v_add_nc_u64 v_add_u64", "add_u64", "u64 u64 -> u64", lambda a, b: a + b),
        ("v_sub_nc_u64", "sub_u64", "u64 u64 -> u64", lambda a, b: a - b),
        ("v_mul_u64", "mul_u64", "u64 u64 -> u64", lambda a, b: a * b),
        ("v_mul_lo_u32", "mul_lo_u32", "u32 u32 -> u32", lambda a, b: a * b),
        ("v_mul_hi_u32", "mul_hi_u32", "u32 u32 -> u32", mul_hi_u32),
        ("v_mul_hi_i32", "mul_hi_i32", "i32 i32 -> i32", mul_hi_i32),
        ("v_mul_u32_u24", "mul_u32_u24", "u32 u32 -> u32", lambda a, b: _low(_u24(a) * _u24(b))),
        ("v_mul_hi_u32_u24", "mul_hi_u32_u24", "u32 u32 -> u32", lambda a, b: _high(_u24(a) * _u24(b))),
        ("v_mul_i32_i24", "mul_i32_i24", "u32 u32 -> u32", lambda a, b: _low(_i24(a) * _i24(b))),
        ("v_mul_hi_i32_i24", "mul_hi_i32_i24", "u32 u32 -> u32", lambda a, b: _high(_i24(a) * _i24(b))),
        ("v_mad_u32_u24", "mad_u32_u24", "u32 u32 u32 -> u32", lambda a, b, c: _low(_u24(a) * _u24(b)) + c),
        ("v_mad_i32_i24", "mad_i32_i24", "u32 u32 u32 -> u32", lambda a, b, c: _low(_i24(a) * _i24(b)) + c),
        ("v_mad_u64_u32 v_mad_co_u64_u32", "mad_u64_u32", "u32 u32 u64 -> u64 mask", _mad64),
        ("v_mad_i64_i32 v_mad_co_i64_i32", "mad_i64_i32", "i32 i32 i64 -> i64 mask", _mad64i),
        ("v_mad_nc_u64_u32", "mad_nc_u64_u32", "u32 u32 u64 -> u64", lambda a, b, c: a.astype(_U64) * b + c),
        ("v_mad_nc_i64_i32", "mad_nc_i64_i32", "i32 i32 i64 -> i64", lambda a, b, c: a.astype(_I64) * b + c),
        *[
            (f"v_{n}_{t}", f"{n}_{t}", f"{t} {t} -> {t}", f)
            for t in ("u32", "i32", "u16", "i16", "u64", "i64")
            for n, f in (("min", np.minimum), ("max", np.maximum))
        ],
        *[
            (f"v_{n}_{t}", f"{n}_{t}", f"{t} {t} {t} -> {t}", f)
            for t in ("u32", "i32", "u16", "i16")
            for n, f in (
                ("min3", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
                ("max3", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
                ("med3", med3),
            )
        ],
        *[
            (f"v_{n}_{t}", f"{n}_{t}", f"{t} {t} {t} -> {t}", f)
            for t in ("u32", "i32")
            for n, f in (
                ("minmax", lambda a, b, c: np.maximum(np.minimum(a, b), c)),
                ("maxmin", lambda a, b, c: np.minimum(np.maximum(a, b), c)),
            )
        ],
        ("v_cndmask_b32", "cndmask_b32", "f32 f32 mask -> f32", lambda a, b, c: np.where(c, b, a),
         {"raw": True}),
        ("v_cndmask_b16", "cndmask_b16", "f16 f16 mask -> f16", lambda a, b, c: np.where(c, b, a),
         {"raw": True}),
        ("v_sad_u8", "sad_u8", "u32 u32 u32 -> u32", sad_u8, {}),
        ("v_sad_hi_u8", "sad_hi_u8", "u32 u32 u32 -> u32",
         lambda a, b, c: (sad_u8(a, b, np.zeros_like(a)) << _U(16)) + c),
        ("v_sad_u16", "sad_u16", "u32 u32 u32 -> u32", sad_u16),
        ("v_sad_u32", "sad_u32", "u32 u32 u32 -> u32", lambda a, b, c: np.where(a > b, a - b, b - a) + c),
        ("v_msad_u8", "msad_u8", "u32 u32 u32 -> u32", msad_u8),
        ("v_qsad_pk_u16_u8", "qsad_pk_u16_u8", "u64 u32 u64 -> u64", lambda a, b, c: _qsad(sad_u8, a, b, c)),
        ("v_mqsad_pk_u16_u8", "mqsad_pk_u16_u8", "u64 u32 u64 -> u64",
         lambda a, b, c: _qsad(msad_u8, a, b, c)),
        ("v_lerp_u8", "lerp_u8", "u32 u32 u32 -> u32", lerp_u8),
        ("v_prng_b32", "prng_b32", "u32 -> u32", prng),
        ("v_sat_pk_u8_i16", "sat_pk_u8_i16", "u32 -> u16", sat_pk_u8),
        ("v_ashr_pk_u8_i32", "ashr_pk_u8_i32", "i32 i32 u32 -> u16", ashr_pk(0, 255), {"keeps_high16": True}),
        ("v_ashr_pk_i8_i32", "ashr_pk_i8_i32", "i32 i32 u32 -> u16", ashr_pk(-128, 127),
         {"keeps_high16": True}),
        ("v_pack_b32_f16", "pack_b32_f16", "f16 f16 -> u32",
         lambda a, b: a.view(np.uint16).astype(_U) | b.view(np.uint16).astype(_U) << _U(16)),
    ],
)  # fmt: skip
