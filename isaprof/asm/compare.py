"""Two objects compared part by part: identical, equivalent, or different and where."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from isaprof.asm.code import read_code
from isaprof.asm.facets import Facets
from isaprof.codeobj.metadata import NT_AMDGPU_METADATA, decode_note
from isaprof.isa.objdump import Row

#: so many differences of one part are listed; all are counted
_LISTED = 50


class Difference(NamedTuple):
    """One thing that is not the same. ``None`` on a side: it is not there."""

    part: str  #: e_flags, descriptor, text, metadata, symbol, ...
    where: str
    a: str | None
    b: str | None


class Encoding(NamedTuple):
    """An instruction that both objects have, in other bits that decode to the same text."""

    address: int  #: in the first object
    text: str
    a: tuple[int, ...]
    b: tuple[int, ...]

    @property
    def bits(self) -> list[str]:
        """Which bits differ: ``word 1: 0x02000000``."""
        return [
            f"word {k}: {x ^ y:#010x}" for k, (x, y) in enumerate(zip(self.a, self.b, strict=True)) if x != y
        ]


class Outcome(NamedTuple):
    """All differences. ``checks``: part -> True where both are the same."""

    checks: Mapping[str, bool]
    differences: tuple[Difference, ...]
    encodings: tuple[Encoding, ...]
    count: int  # type: ignore[assignment]  #: differences in all, those beyond the list included

    @property
    def verdict(self) -> str:
        if self.count:
            return "different"
        return "equivalent" if self.encodings else "identical"


def compare(a: Facets, b: Facets) -> Outcome:
    """Everything the verdict rests on; see :mod:`isaprof.asm.facets`."""
    checks: dict[str, bool] = {}
    found: list[Difference] = []
    total = 0

    def add(part: str, differences: list[Difference]) -> None:
        nonlocal total
        checks[part] = not differences and checks.get(part, True)
        total += len(differences)
        found.extend(differences[:_LISTED])

    for key in ("e_flags", "abi_version", "target"):
        add(key, maps(key, {key: a.header[key]}, {key: b.header[key]}))
    add("descriptors", maps("descriptor", _hex(a.descriptors), _hex(b.descriptors)))
    add("descriptors", maps("descriptor entry", a.entries, b.entries))
    differences, encodings = _text(a, b)
    add("text", differences)
    add("metadata", _metadata(a, b))
    add("notes", counters("note", Counter(a.notes), Counter(b.notes)))
    add("symbols", counters("symbol", a.symbols, b.symbols))
    add("dynamic_symbols", counters("dynamic symbol", a.dynamic, b.dynamic))
    add("sections", maps("section", a.shapes, b.shapes))
    add("data", compare_data(a.data, b.data))
    add("relocations", counters("relocation", a.relocations, b.relocations))
    return Outcome(checks, tuple(found), tuple(encodings), total)


def _hex(raw: Mapping[str, bytes]) -> dict[str, str]:
    return {name: data.hex(" ", 4) for name, data in raw.items()}


def maps(part: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    names = dict.fromkeys([*a, *b])
    return [Difference(part, n, a.get(n), b.get(n)) for n in names if a.get(n) != b.get(n)]


def counters(part: str, a: Counter[Any], b: Counter[Any]) -> list[Difference]:
    """Members of one side only; two of the same name make one difference."""
    gone: dict[str, list[str]] = {}
    new: dict[str, list[str]] = {}
    for side, rest in ((gone, a - b), (new, b - a)):
        for item in rest.elements():
            side.setdefault(str(item[0]), []).append(describe(item[1:]))
    out: list[Difference] = []
    for name in dict.fromkeys([*gone, *new]):
        left, right = gone.get(name, []), new.get(name, [])
        for k in range(max(len(left), len(right))):
            out.append(
                Difference(
                    part, name, left[k] if k < len(left) else None, right[k] if k < len(right) else None
                )
            )
    return out


def describe(fields: tuple[Any, ...]) -> str:
    """A record in words: numbers in hexadecimal, bytes cut."""
    parts = []
    for f in fields:
        if isinstance(f, bytes):
            parts.append(f"{len(f)} bytes {f[:24].hex()}")
        else:
            parts.append(f"{f:#x}" if isinstance(f, int) else str(f))
    return " ".join(parts)


def compare_data(a: Mapping[str, bytes], b: Mapping[str, bytes]) -> list[Difference]:
    out = []
    for name in dict.fromkeys([*a, *b]):
        x, y = a.get(name), b.get(name)
        if x == y:
            continue
        if x is None or y is None or len(x) != len(y):
            out.append(Difference("data", name, _size(x), _size(y)))
            continue
        at = next(i for i in range(len(x)) if x[i] != y[i])
        out.append(Difference("data", f"{name}+{at:#x}", x[at : at + 16].hex(), y[at : at + 16].hex()))
    return out


def _size(data: bytes | None) -> str | None:
    return None if data is None else f"{len(data)} bytes"


def _metadata(a: Facets, b: Facets) -> list[Difference]:
    """The metadata as documents: path -> value."""
    return maps("metadata", flatten(a.co.metadata), flatten(b.co.metadata))


def flatten(value: Any, prefix: str = "", names: Mapping[str, str] | None = None) -> dict[str, str]:
    """``{"kernels": [{".name": "x"}]}`` -> ``{"kernels[0].name": "'x'"}``; kernels go by their symbol.

    ``names`` gives kernels the name they are compared under.
    """
    out: dict[str, str] = {}
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            dot = "" if not prefix or str(key).startswith(".") else "."
            out.update(flatten(item, f"{prefix}{dot}{key}", names))
    elif isinstance(value, list) and value:
        for i, item in enumerate(value):
            name = item.get(".symbol") if isinstance(item, Mapping) else None
            shown = (names or {}).get(name, name) if isinstance(name, str) else i
            out.update(flatten(item, f"{prefix}[{shown}]", names))
    else:
        out[prefix] = repr(value)
    return out


def _text(a: Facets, b: Facets) -> tuple[list[Difference], list[Encoding]]:
    """Code that differs: another encoding of the same text, or another text."""
    if a.text == b.text:
        return [], []
    different: list[Difference] = []
    encodings: list[Encoding] = []
    rows_a, rows_b = _rows(a), _rows(b)
    for name in dict.fromkeys([*a.text, *b.text]):
        x, y = rows_a.get(name, []), rows_b.get(name, [])
        if a.text.get(name) == b.text.get(name):
            continue
        if len(a.text.get(name, b"")) != len(b.text.get(name, b"")):
            different.append(Difference("text", name, _size(a.text.get(name)), _size(b.text.get(name))))
        at_b = dict(y)
        for offset, (pc, words, text) in x:
            other = at_b.pop(offset, None)
            if other is not None and other[1] == words:
                continue
            if other is not None and other[2] == text and len(other[1]) == len(words) and text[:5] != ".long":
                encodings.append(Encoding(pc, text, words, other[1]))
            else:
                different.append(
                    Difference("text", f"{name}+{offset:#x}", line(words, text), other and line(*other[1:]))
                )
        different += [
            Difference("text", f"{name}+{offset:#x}", None, line(*row[1:])) for offset, row in at_b.items()
        ]
    return different, encodings


def _rows(f: Facets) -> dict[str, list[tuple[int, Row]]]:
    """Section -> (offset, row)."""
    out: dict[str, list[tuple[int, Row]]] = {}
    for row in read_code(f.co).rows:
        section = f.layout.section_at(row[0])
        if section is not None:
            out.setdefault(section.name, []).append((row[0] - section.address, row))
    return out


def line(words: tuple[int, ...], text: str) -> str:
    return f"{text}  // {' '.join(f'{w:08x}' for w in words)}"


def metadata_note(f: Facets) -> bytes | None:
    """Payload of the metadata note that the loader reads."""
    return next(
        (p for o, k, p in f.layout.notes if (o, k) == ("AMDGPU", NT_AMDGPU_METADATA) and decode_note(p)), None
    )
