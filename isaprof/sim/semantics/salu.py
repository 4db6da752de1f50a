"""Scalar ALU operations (SOP1, SOP2, SOPC, SOPK) on Python integers.

Sources arrive as the declared type (signed types as signed integers); results
are reduced to the destination's width by the lowering. ``scc``: the function
returns (value, scc). ``reads_scc``: the old SCC is the last argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isaprof.sim.semantics.spec import table

_M32, _M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
S: dict[str, Any] = {"scc": True}
C: dict[str, Any] = {"scc": True, "reads_scc": True}
R: dict[str, Any] = {"reads_scc": True}


def signed(x: int, bits: int) -> int:
    """Two's complement value of the low ``bits`` of x."""
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def nonzero(fn: Callable[..., int], bits: int) -> Callable[..., tuple[int, int]]:
    """SCC = result is not zero."""
    mask = (1 << bits) - 1

    def wrapped(*args: int) -> tuple[int, int]:
        r = fn(*args) & mask
        return r, int(r != 0)

    return wrapped


def _add_i32(a: int, b: int) -> tuple[int, int]:
    r = a + b
    return r, int(not -(1 << 31) <= r < 1 << 31)


def _sub_i32(a: int, b: int) -> tuple[int, int]:
    return _add_i32(a, -b)


def _bfe(bits: int, is_signed: bool) -> Callable[[int, int], int]:
    offset_mask = bits - 1

    def fn(a: int, b: int) -> int:
        offset, width = b & offset_mask, b >> 16 & 0x7F
        width = min(width, bits)
        r = (a & ((1 << bits) - 1)) >> offset & ((1 << width) - 1) if not is_signed else 0
        if is_signed and width:
            r = signed(signed(a, bits) >> offset, width)
        return r

    return fn


def ff1(x: int) -> int:
    return (x & -x).bit_length() - 1  # -1 when x is 0


def clz(bits: int) -> Callable[[int], int]:
    return lambda x: bits - x.bit_length() if x else -1


def cls(bits: int) -> Callable[[int], int]:
    """Leading bits equal to the sign bit; -1 when all are."""

    def fn(x: int) -> int:
        if x >> (bits - 1):
            x ^= (1 << bits) - 1
        return bits - x.bit_length() if x else -1

    return fn


def _reverse(bits: int) -> Callable[[int], int]:
    return lambda x: int(format(x, f"0{bits}b")[::-1], 2)


def _wqm(bits: int) -> Callable[[int], int]:
    """Whole quad mode: a quad is on when any of its lanes is."""

    def fn(x: int) -> int:
        return sum(0xF << i for i in range(0, bits, 4) if x >> i & 0xF)

    return fn


def _quadmask(bits: int) -> Callable[[int], int]:
    return lambda x: sum(1 << i // 4 for i in range(0, bits, 4) if x >> i & 0xF)


def _bitreplicate(x: int) -> int:
    return sum(3 << 2 * i for i in range(32) if x >> i & 1)


_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
}
#: saveexec family: (source, exec) -> new exec
SAVEEXEC: dict[str, Callable[[int, int], int]] = {
    "and": lambda s, e: s & e, "or": lambda s, e: s | e, "xor": lambda s, e: s ^ e,
    "nand": lambda s, e: ~(s & e), "nor": lambda s, e: ~(s | e), "xnor": lambda s, e: ~(s ^ e),
    "andn1": lambda s, e: ~s & e, "and_not0": lambda s, e: ~s & e,
    "andn2": lambda s, e: s & ~e, "and_not1": lambda s, e: s & ~e,
    "orn1": lambda s, e: ~s | e, "or_not0": lambda s, e: ~s | e,
    "orn2": lambda s, e: s | ~e, "or_not1": lambda s, e: s | ~e,
}  # fmt: skip
_GFX11_NAME = {"andn2": "and_not1", "orn2": "or_not1"}

_CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
}  # fmt: skip


def _logic_rows() -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for bits in (32, 64):
        t = f"u{bits}"
        for name, fn in _LOGIC.items():
            names = f"s_{name}_b{bits}"
            if name in _GFX11_NAME:
                names += f" s_{_GFX11_NAME[name]}_b{bits}"
            rows.append((names, f"{name}_b{bits}", f"{t} {t} -> {t}", nonzero(fn, bits), S))
        m = bits - 1
        rows += [
            (f"s_lshl_b{bits}", f"lshl_b{bits}", f"{t} u32 -> {t}",
             nonzero(lambda a, b, m=m: a << (b & m), bits), S),
            (f"s_lshr_b{bits}", f"lshr_b{bits}", f"{t} u32 -> {t}",
             nonzero(lambda a, b, m=m: a >> (b & m), bits), S),
            (f"s_ashr_i{bits}", f"ashr_i{bits}", f"i{bits} u32 -> {t}",
             nonzero(lambda a, b, m=m: a >> (b & m), bits), S),
            (f"s_bfe_u{bits}", f"bfe_u{bits}", f"{t} u32 -> {t}", nonzero(_bfe(bits, False), bits), S),
            (f"s_bfe_i{bits}", f"bfe_i{bits}", f"{t} u32 -> {t}", nonzero(_bfe(bits, True), bits), S),
            (f"s_bfm_b{bits}", f"bfm_b{bits}", f"u32 u32 -> {t}",
             lambda a, b, m=m: ((1 << (a & m)) - 1) << (b & m)),
            (f"s_not_b{bits}", f"not_b{bits}", f"{t} -> {t}", nonzero(lambda a: ~a, bits), S),
            (f"s_mov_b{bits}", f"mov_b{bits}", f"{t} -> {t}", lambda a: a),
            (f"s_cmov_b{bits}", f"cmov_b{bits}", f"{t} dst{bits} -> {t}",
             lambda a, d, scc: a if scc else d, R),
            (f"s_cselect_b{bits}", f"cselect_b{bits}", f"{t} {t} -> {t}",
             lambda a, b, scc: a if scc else b, R),
            (f"s_brev_b{bits}", f"brev_b{bits}", f"{t} -> {t}", _reverse(bits)),
            (f"s_wqm_b{bits}", f"wqm_b{bits}", f"{t} -> {t}", nonzero(_wqm(bits), bits), S),
            (f"s_quadmask_b{bits}", f"quadmask_b{bits}", f"{t} -> {t}", nonzero(_quadmask(bits), bits), S),
            (f"s_bcnt0_i32_b{bits}", f"bcnt0_b{bits}", f"{t} -> u32",
             nonzero(lambda a, n=bits: n - a.bit_count(), 32), S),
            (f"s_bcnt1_i32_b{bits}", f"bcnt1_b{bits}", f"{t} -> u32",
             nonzero(lambda a: a.bit_count(), 32), S),
            (f"s_ff0_i32_b{bits}", f"ff0_b{bits}", f"{t} -> u32", lambda a, n=bits: ff1(~a & ((1 << n) - 1))),
            (f"s_ff1_i32_b{bits} s_ctz_i32_b{bits}", f"ff1_b{bits}", f"{t} -> u32", ff1),
            (f"s_flbit_i32_b{bits} s_clz_i32_u{bits}", f"clz_b{bits}", f"{t} -> u32", clz(bits)),
            (("s_flbit_i32 s_cls_i32" if bits == 32 else "s_flbit_i32_i64 s_cls_i32_i64"), f"cls_b{bits}",
             f"{t} -> u32", cls(bits)),
            (f"s_bitset0_b{bits}", f"bitset0_b{bits}", f"u32 dst{bits} -> {t}",
             lambda a, d, m=m: d & ~(1 << (a & m))),
            (f"s_bitset1_b{bits}", f"bitset1_b{bits}", f"u32 dst{bits} -> {t}",
             lambda a, d, m=m: d | 1 << (a & m)),
            (f"s_bitcmp0_b{bits}", f"bitcmp0_b{bits}", f"{t} u32 ->",
             lambda a, b, m=m: not a >> (b & m) & 1, S),
            (f"s_bitcmp1_b{bits}", f"bitcmp1_b{bits}", f"{t} u32 ->", lambda a, b, m=m: a >> (b & m) & 1, S),
        ]  # fmt: skip
    for t in ("i32", "u32", "u64"):
        for name, test in _CONDITIONS.items():
            names = f"s_cmp_{name}_{t}" if t != "u64" or name in ("eq", "lg") else ""
            if t != "u64":
                names += f" s_cmpk_{name}_{t}"
            if names:
                rows.append((names, f"cmp_{name}_{t}", f"{t} {t} ->", test, S))
    return rows


def _mul_hi(a: int, b: int) -> int:
    return a * b >> 32


TABLE = table(
    "RDNA3, RDNA4 and CDNA3 ISA, Instructions: SOP1, SOP2, SOPC, SOPK",
    [
        *_logic_rows(),
        ("s_add_u32 s_add_co_u32", "add_u32", "u32 u32 -> u32", lambda a, b: (a + b, a + b >> 32), S),
        ("s_sub_u32 s_sub_co_u32", "sub_u32", "u32 u32 -> u32", lambda a, b: (a - b, int(b > a)), S),
        ("s_addc_u32 s_add_co_ci_u32", "addc_u32", "u32 u32 -> u32",
         lambda a, b, c: (a + b + c, a + b + c >> 32), C),
        ("s_subb_u32 s_sub_co_ci_u32", "subb_u32", "u32 u32 -> u32",
         lambda a, b, c: (a - b - c, int(b + c > a)), C),
        ("s_add_i32 s_add_co_i32", "add_i32", "i32 i32 -> u32", _add_i32, S),
        ("s_sub_i32 s_sub_co_i32", "sub_i32", "i32 i32 -> u32", _sub_i32, S),
        ("s_addk_i32 s_addk_co_i32", "addk_i32", "i32 dsti32 -> u32", _add_i32, S),
        ("s_mulk_i32", "mulk_i32", "i32 dsti32 -> u32", lambda a, b: a * b),
        ("s_movk_i32", "movk_i32", "i32 -> u32", lambda a: a),
        ("s_cmovk_i32", "cmovk_i32", "i32 dsti32 -> u32", lambda a, d, scc: a if scc else d, R),
        ("s_add_nc_u64 s_add_u64", "add_u64", "u64 u64 -> u64", lambda a, b: a + b),
        ("s_sub_nc_u64 s_sub_u64", "sub_u64", "u64 u64 -> u64", lambda a, b: a - b),
        ("s_mul_u64", "mul_u64", "u64 u64 -> u64", lambda a, b: a * b),
        ("s_mul_i32", "mul_i32", "u32 u32 -> u32", lambda a, b: a * b),
        ("s_mul_hi_u32", "mul_hi_u32", "u32 u32 -> u32", _mul_hi),
        ("s_mul_hi_i32", "mul_hi_i32", "i32 i32 -> u32", _mul_hi),
        ("s_min_i32", "min_i32", "i32 i32 -> u32", lambda a, b: (min(a, b), int(a < b)), S),
        ("s_max_i32", "max_i32", "i32 i32 -> u32", lambda a, b: (max(a, b), int(a >= b)), S),
        ("s_min_u32", "min_u32", "u32 u32 -> u32", lambda a, b: (min(a, b), int(a < b)), S),
        ("s_max_u32", "max_u32", "u32 u32 -> u32", lambda a, b: (max(a, b), int(a >= b)), S),
        ("s_abs_i32", "abs_i32", "i32 -> u32", nonzero(abs, 32), S),
        ("s_absdiff_i32", "absdiff_i32", "i32 i32 -> u32",
         nonzero(lambda a, b: abs(signed(a - b, 32)), 32), S),
        ("s_sext_i32_i8", "sext_i32_i8", "u32 -> u32", lambda a: signed(a, 8)),
        ("s_sext_i32_i16", "sext_i32_i16", "u32 -> u32", lambda a: signed(a, 16)),
        *[
            (f"s_lshl{n}_add_u32", f"lshl{n}_add_u32", "u32 u32 -> u32",
             lambda a, b, n=n: ((a << n) + b, int((a << n) + b > _M32)), S)
            for n in (1, 2, 3, 4)
        ],
        ("s_pack_ll_b32_b16", "pack_ll", "u32 u32 -> u32", lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
        ("s_pack_lh_b32_b16", "pack_lh", "u32 u32 -> u32", lambda a, b: a & 0xFFFF | b & 0xFFFF0000),
        ("s_pack_hh_b32_b16", "pack_hh", "u32 u32 -> u32", lambda a, b: a >> 16 | b & 0xFFFF0000),
        ("s_pack_hl_b32_b16", "pack_hl", "u32 u32 -> u32", lambda a, b: a >> 16 | (b & 0xFFFF) << 16),
        ("s_bitreplicate_b64_b32", "bitreplicate", "u32 -> u64", _bitreplicate),
    ],
)  # fmt: skip
