"""From the text of one instruction (LLVM's syntax) to mnemonic, operands and modifiers.

Nothing here depends on the architecture or on the address: results are cached
by text, and :mod:`isaprof.isa.decode` adds what the table of the generation
and the address say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from isaprof.isa.model import Operand, OperandKind
from isaprof.isa.registers import parse_register

Modifier = int | str | bool | tuple[int, ...]

#: encodings LLVM puts into the mnemonic, longest first
_ENCODINGS = ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa")

#: mnemonics whose operand is a list of fields, not a comma-separated operand list
_FIELD_MNEMONICS = frozenset({"s_waitcnt", "s_delay_alu", "s_wait_alu", "s_waitcnt_depctr", "s_wait_event"})

#: bare words that are modifiers even where an operand could stand (instructions without operands)
_FLAGS = frozenset(
    {"glc", "slc", "dlc", "scc", "sc0", "sc1", "nt", "lds", "gds", "offen", "idxen", "addr64", "tfe", "lwe"}
    | {"clamp", "done", "vm"}
)

_COMMENT = re.compile(r"\s*/\*(.*?)\*/")
_RESOLVED = re.compile(r"(v(?:\d+|\[\d+:\d+\]))((?:\.[lh])?)\s*/\*(v(?:\d+|\[\d+:\d+\]))((?:\.[lh])?)\*/")
_INT = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
_FLOAT = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?|-?inf|nan")
_CALL = re.compile(r"(neg|abs|sext|lit|lit64)\((.*)\)")
_KEYED = re.compile(r"([A-Za-z_]\w*):(.*)")


@dataclass(frozen=True, slots=True)
class ParsedText:
    """One instruction's text taken apart; ``dual`` is the Y half of a VOPD pair."""

    mnemonic: str
    base: str
    enc: str
    operands: tuple[Operand, ...]
    modifiers: dict[str, Modifier]
    dual: ParsedText | None = None


def split_encoding(mnemonic: str) -> tuple[str, str]:
    """``v_add_f32_e64_dpp`` -> (``v_add_f32``, ``e64_dpp``)."""
    for suffix in _ENCODINGS:
        if mnemonic.endswith(suffix):
            return mnemonic[: -len(suffix)], suffix[1:]
    return mnemonic, ""


@lru_cache(maxsize=65536)
def parse_text(text: str) -> ParsedText:
    """Take ``text`` apart. Never raises: an operand it does not know is kept as a NAME."""
    if "/*" in text:
        # gfx1250 prints the encoded register and, as a comment, the one that s_set_vgpr_msb makes of it
        text = _COMMENT.sub("", _RESOLVED.sub(lambda m: m[3] + (m[4] or m[2]), text))
    first, sep, second = text.partition(" :: ")
    return _parse_half(first, parse_text(second.strip()) if sep else None)


def _parse_half(text: str, dual: ParsedText | None) -> ParsedText:
    mnemonic, _, rest = text.strip().partition(" ")
    base, enc = split_encoding(mnemonic)
    operands: list[Operand] = []
    modifiers: dict[str, Modifier] = {}
    if base in _FIELD_MNEMONICS:
        for word in _split(rest.replace("|", " ").replace("&", " "), " "):
            operands.append(parse_operand(word))
    else:
        chunks = _split(rest, ",")
        last = len(chunks) - 1
        for i, chunk in enumerate(chunks):
            for j, word in enumerate(_split(chunk, " ")):
                if _is_modifier(word, after_operand=i == last and j > 0):
                    _add_modifier(modifiers, word)
                elif word.startswith("[") and word.endswith("]"):
                    operands += [parse_operand(w) for w in _split(word[1:-1], ",")]  # image address list
                else:
                    operands.append(parse_operand(word))
    return ParsedText(mnemonic, base, enc, tuple(operands), modifiers, dual)


def _split(text: str, separator: str) -> list[str]:
    """Split at ``separator`` outside brackets and parentheses; empty parts are dropped."""
    if "(" not in text and "[" not in text:
        return [p for p in map(str.strip, text.split(separator)) if p]
    parts: list[str] = []
    depth = start = 0
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == separator and depth <= 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


def _is_modifier(word: str, *, after_operand: bool) -> bool:
    if _KEYED.fullmatch(word):
        return True
    if word in _FLAGS:
        return word != "scc" or after_operand
    # a word behind the last operand that is no register and no number: row_mirror, matrix_a_reuse, ...
    return after_operand and parse_operand(word).kind is OperandKind.NAME


def _add_modifier(modifiers: dict[str, Modifier], word: str) -> None:
    m = _KEYED.fullmatch(word)
    if m is None:
        modifiers[word] = True
        return
    value = m[2]
    if value.startswith("[") and value.endswith("]"):
        items = [v.strip() for v in value[1:-1].split(",")]
        if all(_INT.fullmatch(v) for v in items):
            modifiers[m[1]] = tuple(int(v, 0) for v in items)
            return
    modifiers[m[1]] = int(value, 0) if _is_int(value) else value


def _is_int(text: str) -> bool:
    # int("010", 0) is an error, and LLVM never prints leading zeros: such a word stays a string
    return bool(_INT.fullmatch(text)) and not re.fullmatch(r"-?0\d+", text)


@lru_cache(maxsize=32768)
def parse_operand(text: str) -> Operand:
    """One operand: register (with neg/abs/sext and true16 half), number, or name."""
    t, neg, absolute, sext = text, False, False, False
    if _is_int(t):
        return Operand(text, OperandKind.INT, value=int(t, 0))
    if _FLOAT.fullmatch(t):
        return Operand(text, OperandKind.FLOAT, value=float(t))
    while True:
        if t.startswith("-") and len(t) > 1:
            neg, t = True, t[1:]
        elif len(t) > 2 and t[0] == t[-1] == "|":
            absolute, t = True, t[1:-1]
        elif m := _CALL.fullmatch(t):
            neg, absolute, sext = neg or m[1] == "neg", absolute or m[1] == "abs", sext or m[1] == "sext"
            t = m[2]
        else:
            break
    half = None
    if t.endswith((".l", ".h")):
        t, half = t[:-2], t[-1]
    reg = parse_register(t)
    if reg is not None:
        return Operand(text, OperandKind.REG, reg, None, neg, absolute, sext, half)
    if _is_int(t):
        return Operand(text, OperandKind.INT, None, int(t, 0), neg, absolute, sext)
    if _FLOAT.fullmatch(t):
        return Operand(text, OperandKind.FLOAT, None, float(t), neg, absolute, sext)
    return Operand(text, OperandKind.NAME)
