"""Immediates that the assembler encodes differently from what the source says, without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isaprof.lint.context import Context
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule

_WRITTEN = re.compile(r"\b(offset[01]?)\s*:\s*([^\s,;/]+)")
_SET = re.compile(
    r"^\s*(?:\.set\s+([A-Za-z_.$][\w.$]*)\s*,|([A-Za-z_.$][\w.$]*)\s*=(?!=))\s*([^;/\n]+)", re.M
)
_COMMENT = re.compile(r"/\*.*?\*/|;.*|//.*")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)")
_TERM = re.compile(r"0[xX][0-9a-fA-F]+|0[bB][01]+|\d+|[A-Za-z_.$][\w.$]*|[-+*()]")


def number(text: str, symbols: dict[str, str], depth: int = 0) -> int | None:
    """Value of a number, a symbol set to one, or a sum or product of these; None for anything else."""
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _int(text)
    if depth > 8 or text == "":
        return None
    if text in symbols:
        return number(symbols[text], symbols, depth + 1)
    terms = _TERM.findall(text)
    if "".join(terms) != re.sub(r"\s", "", text) or len(terms) > 64:
        return None
    return _Sum(terms, symbols, depth).value()


def _int(text: str) -> int:
    octal = re.fullmatch(r"(-?)0(\d+)", text)
    return (
        int(octal[1] + "0o" + octal[2], 8) if octal and "8" not in text and "9" not in text else int(text, 0)
    )


class _Sum:
    """Recursive descent over +, -, * and parentheses."""

    def __init__(self, terms: list[str], symbols: dict[str, str], depth: int) -> None:
        self.terms, self.symbols, self.depth, self.at = terms, symbols, depth, 0

    def value(self) -> int | None:
        result = self._sum()
        return result if self.at == len(self.terms) else None

    def _next(self) -> str | None:
        return self.terms[self.at] if self.at < len(self.terms) else None

    def _sum(self) -> int | None:
        total = self._product()
        while total is not None and self._next() in ("+", "-"):
            sign = 1 if self.terms[self.at] == "+" else -1
            self.at += 1
            other = self._product()
            total = None if other is None else total + sign * other
        return total

    def _product(self) -> int | None:
        total = self._atom()
        while total is not None and self._next() == "*":
            self.at += 1
            other = self._atom()
            total = None if other is None else total * other
        return total

    def _atom(self) -> int | None:
        term = self._next()
        self.at += 1
        if term in ("-", "+"):
            inner = self._atom()
            return None if inner is None else -inner if term == "-" else inner
        if term == "(":
            inner = self._sum()
            if self._next() != ")":
                return None
            self.at += 1
            return inner
        return None if term is None else number(term, self.symbols, self.depth + 1)


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.source is None:
        return
    lines = ctx.source.splitlines()
    symbols: dict[str, str] = {}
    for a, b, value in _SET.findall(ctx.source):
        name = a or b
        symbols[name] = "" if name in symbols and symbols[name] != value.strip() else value.strip()
    for ins in ctx.extent or ctx.lines:
        n = ctx.line_of.get(ins.index)
        if n is None or not 0 < n <= len(lines):
            continue
        text = _COMMENT.sub("", lines[n - 1])
        if not re.match(rf"\s*(?:[\w.$]+:\s*)?{re.escape(ins.base)}", text):
            continue  # a macro's line, or one that LLVM prints under another name
        for key, written in _WRITTEN.findall(text):
            have = ins.modifiers.get(key, 0)
            if not isinstance(have, int):
                continue
            want = number(written, symbols)
            if want is None:
                yield no_rule("offset_expression", "an offset that is no constant is not checked", ins)
            elif want != have:
                yield rule.at(ins, f"the source says {key}:{written}, encoded is {key}:{have}")


RULES = (
    Rule(
        "offset-wraps",
        Severity.ERROR,
        "immediate offset that does not fit",
        "LLVM's assembler drops the bits that do not fit the field and says nothing: another address is used",
        "LLVM's assembler against its own disassembly of the line",
        _check,
    ),
)
