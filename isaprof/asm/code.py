"""The machine code of an object as rows of text, and what each row refers to.

Lighter than :mod:`isaprof.isa.decode`: writing and comparing text needs
neither operands nor effects. A row is (address, words, LLVM's text).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from isaprof.arch.targets import wave_sizes
from isaprof.asm.start import wave_size
from isaprof.codeobj.elf import CodeObject
from isaprof.isa import llvm
from isaprof.isa.objdump import CodeRange, Row, disassemble_ranges
from isaprof.isa.vgpr_msb import branch_target, resolve

_GET_PC = re.compile(r"s_get_?pc_[bi]64 s\[(\d+):(\d+)\]")
_ADD = re.compile(r"(s_add_(?:co_)?u32) s(\d+), s(\d+), (?:lit\()?-?(?:0x)?[0-9a-f]+\)?")
_ADD64 = re.compile(r"(s_add_nc_u64) s\[(\d+):\d+\], s\[(\d+):\d+\], (?:lit64\()?-?(?:0x)?[0-9a-f]+\)?")
_CARRY = re.compile(r"s_(?:addc|add_co_ci)_u32 s(\d+), s(\d+), (?:lit\()?(-?(?:0x)?[0-9a-f]+)\)?")
_END = re.compile(r"s_(?:endpgm|setpc_b64|set_pc_i64|branch|rfe)")
#: between reading the PC and adding to it stand at most so many other instructions
_NEAR = 8
#: words that fill gaps: zero, s_nop 0, s_code_end
_NOP = 0xBF800000
_FILL = frozenset({0, _NOP, 0xBF9F0000})
_LONG_RUN = 4
_COMMENT = re.compile(r"\s*/\*.*?\*/")


class Reference(NamedTuple):
    """An address computed from the PC: ``s_add_u32 lo, lo, target - <address after s_getpc>``."""

    base: int  #: address that s_getpc_b64 gives
    target: int
    head: str  #: the row's text up to the literal


class Code(NamedTuple):
    """All code of an object. ``mattr`` is what llvm-mc needs to take the texts back."""

    rows: tuple[Row, ...]
    mattr: str
    branches: Mapping[int, int]  #: row -> destination address
    references: Mapping[int, Reference]  #: row of the add -> what it computes

    def by_address(self) -> dict[int, int]:
        return {pc: n for n, (pc, _, _) in enumerate(self.rows)}


def read_code(co: CodeObject) -> Code:
    """Rows of all executable sections of ``co``, in address order (see :func:`wave_size`)."""
    wave = wave_size(co)
    ranges = [CodeRange(s.address, s.data) for s in co.text]
    return code_of(co, disassemble_ranges(ranges, co.arch, co.labels, wave_size=wave), wave)


def code_of(co: CodeObject, rows: Sequence[Row], wave: int) -> Code:
    """What ``rows``, read for waves of ``wave`` lanes, refer to."""
    starts = {a for k in co.kernels for a in (k.entry, k.start)}
    rows, _ = resolve(rows, co.arch, starts, co.labels)
    mattr = llvm.default_mattr(co.arch)
    if wave == 64 and len(wave_sizes(co.arch)) > 1:
        mattr = ",".join(filter(None, [mattr, "-wavefrontsize32", "+wavefrontsize64"]))
    branches = {}
    for n, (pc, _, text) in enumerate(rows):
        if text.startswith(("s_b", "s_c", "s_sub")) and (to := branch_target(pc, text)) is not None:
            branches[n] = to
    return Code(tuple(rows), mattr, branches, _references(rows))


def bare(text: str) -> str:
    """``text`` without LLVM's comments: gfx1250's name the register that s_set_vgpr_msb makes of another."""
    return _COMMENT.sub("", text) if "/*" in text else text


def _references(rows: Sequence[Row]) -> dict[int, Reference]:
    """Where code adds a literal to the PC: that literal changes when anything between moves.

    Only forms with a literal word (LLVM's relocations rel32@lo/@hi and rel64):
    a symbolic operand always has one. The high half is kept as a number, so a
    target is believed only when the carry's literal is its sign.
    """
    out: dict[int, Reference] = {}
    for n, (pc, words, text) in enumerate(rows):
        if not text.startswith("s_get") or (m := _GET_PC.match(text)) is None:
            continue
        base, low, high = pc + 4 * len(words), m[1], m[2]
        for k in range(n + 1, min(n + 1 + _NEAR, len(rows))):
            _, w, t = rows[k]
            if (a := _ADD.fullmatch(t)) and a[2] == a[3] == low:
                literal = w[1] if len(w) == 2 else None
                if literal is not None and _sign_follows(rows, k, high, literal):
                    signed = literal - (literal >> 31 << 32)
                    out[k] = Reference(base, base + signed, f"{a[1]} s{low}, s{low}, ")
                break
            if (a := _ADD64.fullmatch(t)) and a[2] == a[3] == low:
                if len(w) == 3:
                    value = w[1] | w[2] << 32
                    pair = f"s[{low}:{high}]"
                    out[k] = Reference(base, base + value - (value >> 63 << 64), f"{a[1]} {pair}, {pair}, ")
                break
            if re.match(rf"\w+ s(?:{low}\b|\[{low}:)", t):
                break  # the low half is something else now
    return out


def _sign_follows(rows: Sequence[Row], k: int, high: str, literal: int) -> bool:
    sign = 0xFFFFFFFF if literal >> 31 else 0
    for _, _, text in rows[k + 1 : k + 5]:
        if (c := _CARRY.fullmatch(text)) and c[1] == c[2] == high:
            return int(c[3], 0) & 0xFFFFFFFF == sign
    return False


def padding(
    rows: Sequence[Row], stops: Iterable[int], ends: Iterable[int], bounds: Iterable[int]
) -> dict[int, int]:
    """First row -> length of each run of padding words.

    Padding is what fills the gap behind code that does not run on: equal
    one-word rows (zero, s_nop 0, s_code_end, or four and more of any word)
    after an unconditional end or the ``ends`` of a symbol. It does not cross
    ``stops`` (symbols, branch destinations) and reaches up to one of
    ``bounds`` (functions, kernel entries, ends of sections): an s_nop that only
    happens to stand behind a branch is an instruction.
    """
    stop, end, bound = frozenset(stops), frozenset(ends), frozenset(bounds)
    found: list[tuple[int, int]] = []
    open_gap = False
    n = 0
    while n < len(rows):
        pc, words, text = rows[n]
        if pc in stop:
            open_gap = False
        elif pc in end or text == "s_code_end":
            open_gap = True
        m = n + 1
        if open_gap and len(words) == 1:
            while m < len(rows) and rows[m][1] == words and rows[m][0] not in stop and rows[m][0] not in end:
                m += 1
            if words[0] in _FILL or m - n >= _LONG_RUN:
                found.append((n, m - n))
                n = m
                continue
        open_gap = _END.match(text) is not None
        n += 1
    out: dict[int, int] = {}
    reached = -1  # the row that padding found so far leads up to
    for first, length in reversed(found):
        after = rows[first][0] + 4 * length
        nop = rows[first][1][0] == _NOP  # one before other padding is an instruction someone put there
        if after in bound or (first + length == reached and not nop):
            out[first] = length
            reached = first
    return out
