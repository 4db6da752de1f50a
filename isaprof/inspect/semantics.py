"""What instructions compute, for those whose result an address, a bound or a counter may need.

Everything else is opaque to :mod:`isaprof.inspect.flow`. Semantics: AMD's ISA
guides for CDNA3, RDNA3 and RDNA4 (one rule serves all generations; names differ).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from isaprof.inspect.values import Graph, Node

#: operands are lists of dwords; a rule returns one list per destination, and SCC (or None)
Words = list[Node]
Rule = Callable[[Graph, list[Words]], tuple[list[Words], Node | None]]


def _binary(op: str, *, scc: str | None = None, swap: bool = False) -> Rule:
    """A 32-bit operation of two sources; ``scc``: how SCC follows."""

    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        a, b = (s[1][0], s[0][0]) if swap else (s[0][0], s[1][0])
        out = g.op(op, a, b)
        flag = None
        if scc == "nonzero":
            flag = g.op("cmp_lg", out, g.const(0))
        elif scc in ("carry", "borrow"):
            flag = g.op(scc, a, b, g.const(0))
        elif scc is not None:
            flag = g.op(scc, a, b)
        return [[out]], flag

    return rule


def _wide(op: str, *, invert: bool = False, scc: bool = True) -> Rule:
    """A bitwise operation on one or two dwords."""

    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        b = [_not(g, x) for x in s[1]] if invert else s[1]
        out = [g.op(op, x, y) for x, y in zip(s[0], b, strict=True)]
        return [out], _nonzero(g, out) if scc else None

    return rule


def _not(g: Graph, x: Node) -> Node:
    return g.op("xor", x, g.const(-1))


def _nonzero(g: Graph, words: Words) -> Node:
    whole = words[0]
    for w in words[1:]:
        whole = g.op("or", whole, w)
    return g.op("cmp_lg", whole, g.const(0))


def _carry(op: str, flag: str) -> Rule:
    """Add or subtract with a carry in (third source) and out (SCC or second destination)."""

    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        a, b, c = s[0][0], s[1][0], s[2][0]
        return [[g.op(op, g.op(op, a, b), c)]], g.op(flag, a, b, c)

    return rule


def _add64(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    low = g.op("add", s[0][0], s[1][0])
    carry = g.op("carry", s[0][0], s[1][0], g.const(0))
    return [[low, g.op("add", g.op("add", s[0][1], s[1][1]), carry)]], None


def _copy(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    return [list(s[0])], None


def _bit_not(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    out = [_not(g, x) for x in s[0]]
    return [out], _nonzero(g, out)


def _select(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    return [[g.op("select", s[2][0], x, y) for x, y in zip(s[0], s[1], strict=True)]], None


def _cndmask(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    return [[g.op("select", lane_bit(g, s[2]), s[1][0], s[0][0])]], None


def lane_bit(g: Graph, mask: Words, depth: int = 16) -> Node:
    """What a lane mask holds for the lane itself: the comparison that made it, where it is one."""
    low = mask[0]
    if low.op == "mask":
        return low.args[0]
    if depth and low.op in ("and", "or") and len(mask) == len([m for m in mask if m.op == low.op]):
        return g.op(low.op, *(lane_bit(g, [m.args[i] for m in mask], depth - 1) for i in (0, 1)))
    return g.op("lane_bit", *mask)


def _chain(first: str, second: str) -> Rule:
    """``d = (a first b) second c``."""

    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        return [[g.op(second, g.op(first, s[0][0], s[1][0]), s[2][0])]], None

    return rule


def _mul24(kind: str, *, add: bool = False) -> Rule:
    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        def low(x: Node) -> Node:
            return g.op("and", x, g.const(0xFFFFFF)) if kind == "u" else g.op("sext24", x)

        out = g.op("mul", low(s[0][0]), low(s[1][0]))
        return [[g.op("add", out, s[2][0]) if add else out]], None

    return rule


def _bfe(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    """v_bfe_u32 with constant offset and width."""
    if s[1][0].op != "const" or s[2][0].op != "const":
        return [[g.op("bfe_u", s[0][0], s[1][0], s[2][0])]], None
    offset, width = int(str(s[1][0].value)) & 31, int(str(s[2][0].value)) & 31
    out = g.op("and", g.op("shr", s[0][0], g.const(offset)), g.const((1 << width) - 1))
    return [[out]], None


def _s_bfe(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    """s_bfe_u32: offset in bits 4:0, width in 22:16 of the second source."""
    if s[1][0].op != "const":
        return [[g.op("s_bfe", s[0][0], s[1][0])]], None
    field = int(str(s[1][0].value))
    width = min(field >> 16 & 0x7F, 32)
    out = g.op("and", g.op("shr", s[0][0], g.const(field & 31)), g.const((1 << width) - 1))
    return [[out]], g.op("cmp_lg", out, g.const(0))


def _shift_add(n: int) -> Rule:
    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        return [[g.op("add", g.op("shl", s[0][0], g.const(n)), s[1][0])]], None

    return rule


def _first(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
    return [[g.op("first", s[0][0])]], None


def _mbcnt(half: str) -> Rule:
    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        lane = g.leaf("leaf", f"lane.{half}", varies=True)
        if s[0][0] is not g.const(-1):
            return [[g.op(f"mbcnt_{half}", lane, s[0][0], s[1][0])]], None
        return [[g.op("add", lane, s[1][0])]], None

    return rule


def _sext(width: int) -> Rule:
    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        return [[g.op(f"sext{width}", s[0][0])]], None

    return rule


def _compare(op: str) -> Rule:
    """A lane mask: one node that stands for the comparison of each lane."""

    def rule(g: Graph, s: list[Words]) -> tuple[list[Words], Node | None]:
        return [[g.op(op, s[0][0], s[1][0])]], None

    return rule


_CMP = {"eq": "cmp_eq", "lg": "cmp_lg", "ne": "cmp_lg"}


def _comparison(name: str, kind: str) -> str:
    return _CMP.get(name) or f"cmp_{name}_{'i' if kind == 'i' else 'u'}"


#: mnemonic -> rule. SALU
SCALAR: dict[str, Rule] = {
    "s_mov_b32": _copy, "s_mov_b64": _copy, "s_movk_i32": _copy,
    "s_not_b32": _bit_not, "s_not_b64": _bit_not,
    "s_add_u32": _binary("add", scc="carry"), "s_add_co_u32": _binary("add", scc="carry"),
    "s_add_i32": _binary("add", scc="add_overflow"), "s_add_co_i32": _binary("add", scc="add_overflow"),
    "s_sub_u32": _binary("sub", scc="borrow"), "s_sub_co_u32": _binary("sub", scc="borrow"),
    "s_sub_i32": _binary("sub", scc="sub_overflow"), "s_sub_co_i32": _binary("sub", scc="sub_overflow"),
    "s_addk_i32": _binary("add", scc="add_overflow"), "s_addk_co_i32": _binary("add", scc="add_overflow"),
    "s_addc_u32": _carry("add", "carry"), "s_add_co_ci_u32": _carry("add", "carry"),
    "s_subb_u32": _carry("sub", "borrow"), "s_sub_co_ci_u32": _carry("sub", "borrow"),
    "s_mul_i32": _binary("mul"), "s_mulk_i32": _binary("mul"),
    "s_mul_hi_u32": _binary("mulhi_u"), "s_mul_hi_i32": _binary("mulhi_i"),
    "s_lshl_b32": _binary("shl", scc="nonzero"), "s_lshr_b32": _binary("shr", scc="nonzero"),
    "s_ashr_i32": _binary("sar", scc="nonzero"),
    "s_min_u32": _binary("min_u", scc="cmp_lt_u"), "s_max_u32": _binary("max_u", scc="cmp_gt_u"),
    "s_min_i32": _binary("min_i", scc="cmp_lt_i"), "s_max_i32": _binary("max_i", scc="cmp_gt_i"),
    "s_add_nc_u64": _add64, "s_add_u64": _add64, "s_bfe_u32": _s_bfe,
    "s_sext_i32_i8": _sext(8), "s_sext_i32_i16": _sext(16),
    "s_cselect_b32": _select, "s_cselect_b64": _select,
    **{f"s_lshl{n}_add_u32": _shift_add(n) for n in (1, 2, 3, 4)},
    **{f"s_{op}_b{w}": _wide(op) for op in ("and", "or", "xor") for w in (32, 64)},
    **{
        f"s_{name}_b{w}": _wide(op, invert=True)
        for name, op in (("andn2", "and"), ("and_not1", "and"), ("orn2", "or"), ("or_not1", "or"))
        for w in (32, 64)
    },
}  # fmt: skip

_TWO = {
    "add": ("v_add_u32", "v_add_nc_u32", "v_add_i32", "v_add_nc_i32"),
    "sub": ("v_sub_u32", "v_sub_nc_u32", "v_sub_i32", "v_sub_nc_i32"),
    "mul": ("v_mul_lo_u32",), "mulhi_u": ("v_mul_hi_u32",), "mulhi_i": ("v_mul_hi_i32",),
    "and": ("v_and_b32",), "or": ("v_or_b32",), "xor": ("v_xor_b32",),
    "min_u": ("v_min_u32",), "max_u": ("v_max_u32",), "min_i": ("v_min_i32",), "max_i": ("v_max_i32",),
}  # fmt: skip
_SWAPPED = {
    "sub": ("v_subrev_u32", "v_subrev_nc_u32"),
    "shl": ("v_lshlrev_b32",), "shr": ("v_lshrrev_b32",), "sar": ("v_ashrrev_i32",),
}  # fmt: skip
VECTOR: dict[str, Rule] = {
    **{m: _binary(op) for op, names in _TWO.items() for m in names},
    **{m: _binary(op, swap=True) for op, names in _SWAPPED.items() for m in names},
    "v_mov_b32": _copy, "v_mov_b64": _copy, "v_accvgpr_read_b32": _copy, "v_accvgpr_write_b32": _copy,
    "v_accvgpr_mov_b32": _copy, "v_not_b32": _bit_not, "v_cndmask_b32": _cndmask,
    "v_readfirstlane_b32": _first,
    "v_mul_u32_u24": _mul24("u"), "v_mul_i32_i24": _mul24("i"),
    "v_mad_u32_u24": _mul24("u", add=True), "v_mad_i32_i24": _mul24("i", add=True),
    "v_add3_u32": _chain("add", "add"), "v_or3_b32": _chain("or", "or"), "v_xor3_b32": _chain("xor", "xor"),
    "v_lshl_add_u32": _chain("shl", "add"), "v_add_lshl_u32": _chain("add", "shl"),
    "v_lshl_or_b32": _chain("shl", "or"), "v_and_or_b32": _chain("and", "or"),
    "v_xad_u32": _chain("xor", "add"),
    "v_bfe_u32": _bfe, "v_mbcnt_lo_u32_b32": _mbcnt("lo"), "v_mbcnt_hi_u32_b32": _mbcnt("hi"),
}  # fmt: skip

_S_CMP = re.compile(r"s_cmpk?_(eq|lg|lt|le|gt|ge)_([iu])(32|64)")
_V_CMP = re.compile(r"v_cmp_(eq|ne|lg|lt|le|gt|ge)_([iu])32")
_SAVEEXEC = re.compile(r"s_(and|or|xor|andn2|and_not1|andn1|and_not0)_saveexec_b(32|64)")


def scalar_compare(base: str) -> str | None:
    """``s_cmp_lt_u32`` -> ``cmp_lt_u``; None for other mnemonics and for 64-bit ones."""
    m = _S_CMP.fullmatch(base)
    return _comparison(m[1], m[2]) if m and m[3] == "32" else None


def vector_compare(base: str) -> str | None:
    """``v_cmp_le_u32`` -> ``cmp_le_u``; None for other mnemonics."""
    m = _V_CMP.fullmatch(base)
    return _comparison(m[1], m[2]) if m else None


def saveexec(base: str) -> str | None:
    """Operation of ``s_and_saveexec_b64``, ...; None for other mnemonics."""
    m = _SAVEEXEC.fullmatch(base)
    return m[1] if m else None
