"""Names: how symbols are written, and the labels that are made where an object has none."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from isaprof.asm.facts import HIDDEN_NAME
from isaprof.asm.layout import FullSection, FullSymbol, Layout
from isaprof.errors import BadInput

_BARE_NAME = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$@]*")
#: bare words that the assembler reads as registers or operators, not as names
_RESERVED = re.compile(
    r"(?:[vsa]|ttmp)\d+|vcc(_lo|_hi)?|exec(_lo|_hi)?|m0|scc|null|off|flat_scratch.*|xnack_mask.*", re.I
)


def quote(name: str) -> str:
    """A symbol name as the assembler takes it."""
    if _BARE_NAME.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Names:
    """The symbols of one object by place, and made labels on demand.

    ``label(address)`` asks for a label; the section writers then put it there.
    Symbols that another object may override (global, default visibility) are
    never used to compute an address: a local label on the same place is.
    """

    def __init__(self, layout: Layout, path: object = None) -> None:
        self.layout = layout
        self._written: dict[int, str] = {}
        self.at: dict[str, dict[int, list[FullSymbol]]] = defaultdict(dict)  #: section -> address -> symbols
        self.made: dict[str, dict[int, list[str]]] = defaultdict(dict)  #: section -> address -> made labels
        self.own: dict[int, str] = {}
        seen: set[str] = set()
        n = 0
        for s in layout.symbols:
            if "�" in s.name or "\n" in s.name or "\0" in s.name:
                raise BadInput(
                    f"the symbol name {s.name!r} cannot be written as text",
                    path=None if path is None else str(path), kind="unsupported",
                )  # fmt: skip
            text = s.name
            if text in seen or text.startswith(".L") or HIDDEN_NAME.match(text):
                text, n = f"isaprof{n}${s.name}", n + 1
            seen.add(text)
            self._written[id(s)] = quote(text)
            if s.section is not None:
                self.at[s.section].setdefault(s.value, []).append(s)
                if s.bind == "LOCAL":
                    self.own.setdefault(s.value, self._written[id(s)])
        self._taken = seen

    def written(self, symbol: FullSymbol) -> str:
        """How ``symbol`` is written in this text."""
        return self._written[id(symbol)]

    def of(self, name: str) -> str:
        """How the global or only symbol called ``name`` is written."""
        return next((self._written[id(s)] for s in self.layout.symbols if s.name == name), quote(name))

    def label(self, address: int, section: FullSection | None = None, prefix: str = ".L_") -> str | None:
        """A label at ``address`` that can be computed with; None where no section is."""
        place = section or self.place(address)
        if place is None or not place.address <= address <= place.end:
            return None
        if prefix == ".L_" and address in self.own and address in self.at[place.name]:
            return self.own[address]
        name = f"{prefix}{address:x}"
        while name in self._taken:
            name += "_"
        here = self.made[place.name].setdefault(address, [])
        if name not in here:
            here.append(name)
        return name

    def place(self, address: int) -> FullSection | None:
        """The section of ``address``; one that ends there when none begins."""
        return self.layout.section_at(address) or next(
            (s for s in self.layout.sections if s.end == address), None
        )

    def labels_at(self, section: str, address: int) -> list[str]:
        return self.made[section].get(address, [])


def declare(s: FullSymbol, name: str) -> list[str]:
    """Binding, visibility and type of a symbol."""
    out = []
    if s.bind == "GLOBAL":
        out.append(f"\t.globl\t{name}")
    elif s.bind == "WEAK":
        out.append(f"\t.weak\t{name}")
    if s.visibility != "DEFAULT":
        out.append(f"\t.{s.visibility.lower()}\t{name}")
    kind = {"FUNC": "function", "OBJECT": "object", "TLS": "tls_object"}.get(s.type)
    if kind:
        out.append(f"\t.type\t{name},@{kind}")
    return out


def absolute_and_undefined(names: Names, symbols: Sequence[FullSymbol]) -> list[str]:
    """Symbols that are in no section."""
    out = []
    for s in symbols:
        if s.section is None:
            name = names.written(s)
            out += declare(s, name)
            if not s.undefined:
                out.append(f"\t.set {name}, {s.value if s.value < 1 << 63 else s.value - (1 << 64)}")
                if s.size:
                    out.append(f"\t.size\t{name}, {s.size}")
    return out
