"""Which VGPR a number names on gfx1250, where ``s_set_vgpr_msb`` gives the upper two bits of each operand.

LLVM's disassembler follows the mode along the text and forgets it at every
branch and at words it cannot decode: its comments are right for code that sets
the mode in each block, as LLVM's own compiler does, and not for hand-written
code. Here the mode follows the paths: it is 0 where a wave starts (LLVM
AMDGPULowerVGPREncoding.cpp), is kept by branches, and is known at a label only
where all paths that lead there agree on the operands that are used.
``s_setreg`` on MODE may change the bits (LLVM, FeatureSetregVGPRMSBFixup).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence

from isaprof.arch.targets import VGPR_MSB_GENERATIONS, generation_of
from isaprof.isa.objdump import CodeRange, Row, disassemble_ranges

_BRANCH = re.compile(r"(s_(?:c?branch\w*|call_\w+|subvector_loop\w*)) (?:(.*), )?(-?\w+)")
_SET = "s_set_vgpr_msb"
_SET_WORD = 0xBF860000  #: s_set_vgpr_msb 0 (SOPP opcode 6)
_STOP = re.compile(r"s_(?:branch |endpgm|code_end|setpc|set_pc|rfe)")
_FORGETS = re.compile(r"s_(?:c?branch|endpgm|setpc|set_pc|swap|call|rfe|code_end|add_pc)")
_VGPR = re.compile(r"\bv[\d\[]")
_RESOLVED = re.compile(r" ?/\*v[\d\[:\].lh]*\*/")
_MODE = re.compile(r"hwreg\(HW_REG_(?:WAVE_)?MODE(?:, (\d+), (\d+))?\)")
_UNKNOWN = -1
_MOST = 4  #: so many modes at one place are told apart

_Modes = frozenset[int]
_Key = tuple[int, tuple[int, ...]]  #: mode, words
_ANY: _Modes = frozenset({_UNKNOWN})


def branch_target(pc: int, text: str) -> int | None:
    """Destination of a direct branch or call, pc + 4 + 4 * simm16; None for any other text."""
    m = _BRANCH.fullmatch(text)
    if m is None:
        return None
    try:
        simm16 = int(m[3], 0) & 0xFFFF
    except ValueError:
        return None
    return pc + 4 + 4 * (simm16 - 0x10000 if simm16 & 0x8000 else simm16)


def resolve(
    rows: Sequence[Row], arch: str, entries: Iterable[int], labels: Iterable[int] = ()
) -> tuple[list[Row], frozenset[int]]:
    """``rows`` with the registers that the mode on their paths makes of them; rows whose mode is unknown.

    ``entries`` are addresses where waves start, ``labels`` those of symbols.
    Rows that no path from an entry reaches stay as LLVM reads them.
    """
    out = list(rows)
    if generation_of(arch) not in VGPR_MSB_GENERATIONS:
        return out, frozenset()
    at = _modes(rows, entries)
    forced = frozenset(labels)
    wanted: dict[_Key, None] = {}
    doubtful: dict[int, _Modes] = {}
    linear: int | None = None  # what LLVM has in mind; None where that is not certain
    for n, (pc, words, text) in enumerate(rows):
        if pc in forced:
            linear = None
        modes = at.get(n)
        if modes is not None and modes != {linear} and _VGPR.search(text) and not text.startswith(".long"):
            doubtful[n] = modes
            wanted.update(dict.fromkeys((mode, words) for mode in modes if mode != _UNKNOWN))
        if text.startswith(_SET):
            linear = _immediate(words)
        elif _FORGETS.match(text) or text.startswith(".long"):
            linear = None
    texts = _read(list(wanted), arch)
    unknown = []
    for n, modes in doubtful.items():
        pc, words, text = rows[n]
        # paths may disagree about an operand that the instruction does not have
        read = {texts.get((mode, words)) for mode in modes}
        only = read.pop() if len(read) == 1 else None
        if only is None:
            unknown.append(n)
        out[n] = (pc, words, only or _RESOLVED.sub("", text))
    return out, frozenset(unknown)


def _immediate(words: tuple[int, ...]) -> int:
    return words[0] & 0xFF  # bits 8-15 name the mode before, for debuggers


def _modes(rows: Sequence[Row], entries: Iterable[int]) -> dict[int, _Modes]:
    """Row -> modes that paths bring there; rows that are not reached are absent."""
    index = {pc: n for n, (pc, _, _) in enumerate(rows)}
    before: dict[int, _Modes] = {}
    todo = [(index[pc], frozenset({0})) for pc in entries if pc in index]
    while todo:
        n, modes = todo.pop()
        while n < len(rows):
            had = before.get(n)
            if had is not None:
                modes = _limited(modes | had)
                if modes == had:
                    break
            before[n] = modes
            pc, words, text = rows[n]
            if text.startswith(_SET):
                modes = frozenset({_immediate(words)})
            elif text.startswith("s_setreg") and (field := _MODE.search(text)):
                modes = _after_setreg(text, words, field, modes)
            elif text.startswith(("s_b", "s_c", "s_sub")) and (to := branch_target(pc, text)) is not None:
                if to in index:
                    todo.append((index[to], modes))
                if "call" in text:
                    modes = _ANY
            elif text.startswith("s_swap"):
                modes = _ANY  # whatever the function leaves
            if _STOP.match(text):
                break
            n += 1
    return before


def _after_setreg(text: str, words: tuple[int, ...], field: re.Match[str], modes: _Modes) -> _Modes:
    """The bits are bits 12 to 19 of MODE; the form with a literal writes them whatever field it names."""
    if text.startswith("s_setreg_imm32"):
        return frozenset({0}) if len(words) == 2 and not words[1] >> 12 & 0xFF else _ANY
    low = int(field[1] or 0)
    return modes if low >= 20 or low + int(field[2] or 32) <= 12 else _ANY


def _limited(modes: _Modes) -> _Modes:
    return modes if len(modes) <= _MOST and _UNKNOWN not in modes else _ANY


def _read(wanted: list[_Key], arch: str) -> dict[_Key, str]:
    """(mode, words) -> LLVM's text under that mode."""
    code = bytearray()
    places = {}
    for mode, words in wanted:
        code += struct.pack("<I", _SET_WORD | mode)
        places[len(code)] = (mode, words)
        code += struct.pack(f"<{len(words)}I", *words)
    found = disassemble_ranges([CodeRange(0, bytes(code))], arch) if wanted else []
    return {places[pc]: text for pc, words, text in found if pc in places and places[pc][1] == words}
