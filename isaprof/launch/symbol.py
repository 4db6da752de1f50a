"""Kernel symbols that carry numbers: ``*gemm_{TM}x{TN}{SPLIT?_splitk}E``.

Families of hand-written kernels put tile sizes and variants into the symbol.
A pattern names them, and a launch file uses the names in its expressions, so
that one file describes all members, also those nobody has seen yet:

* ``*`` matches any text,
* ``{NAME}`` matches a decimal number and is its value,
* ``{NAME?text}`` matches ``text`` or nothing and is 1 or 0,
* ``{NAME~text}`` matches nothing and is 1 where the symbol has ``text`` anywhere, else 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

#: ``*`` in a pattern: each multiplies the time a hostile symbol can take
MAX_STARS = 4
#: characters of a symbol that patterns look at
MAX_SYMBOL = 4096

_PART = re.compile(r"\*|\{([A-Za-z_]\w*)(?:([?~])([^{}]+))?\}")


@dataclass(frozen=True, slots=True)
class SymbolPattern:
    """A checked pattern; ``names`` are the numbers and flags it yields."""

    text: str
    names: tuple[str, ...]
    regex: re.Pattern[str]
    anywhere: Mapping[str, str]  #: flag -> text

    def match(self, symbol: str) -> dict[str, int] | None:
        """Values of ``names`` where the whole symbol fits, else None."""
        if symbol == self.text and not self.names:
            return {}
        found = self.regex.fullmatch(symbol) if len(symbol) <= MAX_SYMBOL else None
        if found is None:
            return None
        groups: Mapping[str, str | None] = found.groupdict()
        values: dict[str, int] = {}
        for name in self.names:
            if name in self.anywhere:
                values[name] = int(self.anywhere[name] in symbol)
            elif name in groups:
                values[name] = int(groups[name] or 0)
            else:
                values[name] = int(groups[_flag(name)] is not None)
        return values


def _flag(name: str) -> str:
    return f"flag__{name}"


def parse(text: str) -> SymbolPattern:
    """Check a pattern. Raises ValueError saying what is wrong with it."""
    if text.count("*") > MAX_STARS:
        raise ValueError(f"{text!r}: more than {MAX_STARS} *")
    names: list[str] = []
    anywhere: dict[str, str] = {}
    regex, at = "", 0
    for part in _PART.finditer(text):
        regex += re.escape(text[at : part.start()])
        name, kind, literal = part.groups()
        if name is None:
            regex += ".*"
        else:
            if name in names:
                raise ValueError(f"{text!r}: {name} occurs twice")
            names.append(name)
            if kind == "~":
                anywhere[name] = literal
            elif kind == "?":
                regex += f"(?P<{_flag(name)}>{re.escape(literal)})?"
            else:
                regex += rf"(?P<{name}>[0-9]{{1,9}})"
        at = part.end()
    rest = text[at:]
    if names and ("{" in rest or "}" in rest):
        raise ValueError(f"{text!r}: a brace that belongs to no {{NAME}}, {{NAME?text}} or {{NAME~text}}")
    return SymbolPattern(text, tuple(names), re.compile(regex + re.escape(rest), re.DOTALL), anywhere)
