"""Characters that no assembly source may have outside comments and strings.

LLVM's AMDGPU parser never ends on two characters in a row that it does not
know (LLVM 22, measured: ``s_nop 0`` before a no-break space, whose UTF-8 form
has two bytes, a typographic quote, two control characters), so they are
looked for before it is started.
"""

from __future__ import annotations

import re
import unicodedata

#: bytes that LLVM's lexer knows; NUL is blank to it
_KNOWN = bytes({0, 9, 10, 13, *range(32, 127)} - {ord("`")})
_STRING_COMMENT_OR_UNKNOWN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|(?://|;)[^\n]*|^[ \t]*\#[^\n]*|(?P<unknown>[^\x00\t\n\r -_a-~])',
    re.S | re.M,
)


def unknown_characters(source: str) -> list[tuple[int, int, str]]:
    """(line, column, what it is) of the first unknown character of every line; lines and columns from 1."""
    if not source.encode("utf-8", "surrogatepass").translate(None, _KNOWN):
        return []
    out: list[tuple[int, int, str]] = []
    line, begin = 1, 0
    for m in _STRING_COMMENT_OR_UNKNOWN.finditer(source):
        if m["unknown"] is None:
            continue
        if skipped := source.count("\n", begin, m.start()):
            line, begin = line + skipped, source.rfind("\n", begin, m.start()) + 1
        if not out or out[-1][0] != line:
            out.append((line, m.start() - begin + 1, _name(m["unknown"])))
    return out


def _name(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")
