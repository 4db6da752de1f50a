"""Two objects against each other, instruction by instruction, so that an inserted line is one line.

Positions are judged relative to the alignment of the code: a branch, a symbol
or a kernel entry is unchanged when it names the same place among the
instructions that both have, wherever that place has moved to.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isaprof.asm.code import Code, bare, padding, read_code
from isaprof.asm.compare import Difference, Encoding, compare_data, counters, flatten, maps
from isaprof.asm.facets import Facets, where
from isaprof.asm.facets import Symbol as _Symbol
from isaprof.asm.layout import function_starts
from isaprof.codeobj.descriptor import KernelDescriptor
from isaprof.compare.align import pair_lines
from isaprof.compare.context import Place, depths
from isaprof.compare.model import Status
from isaprof.isa.objdump import Row

#: named figures of a descriptor, in the order they are shown
_RESOURCES = (
    "vgpr_count", "accum_offset", "sgpr_count", "group_segment_fixed_size", "private_segment_fixed_size",
    "kernarg_size", "wave_size", "user_sgpr_count", "kernarg_preload_length", "kernarg_preload_offset",
    "workgroup_id_enabled", "workitem_id_dims", "private_segment_enabled", "float_mode", "ieee_mode",
    "dx10_clamp", "wgp_mode", "mem_ordered", "forward_progress", "tg_split", "inst_pref_size",
    "uses_dynamic_stack", "dynamic_vgpr", "code_properties", "rsrc1", "rsrc2", "rsrc3",
)  # fmt: skip
_NUMBER_AT_END = re.compile(r" \S+$")


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the aligned code; an index is a place in ``ObjectDiff.rows_a`` or ``rows_b``."""

    status: Status
    a: int | None
    b: int | None


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """``differences``: everything but code, resources first."""

    differences: tuple[Difference, ...]
    lines: tuple[Line, ...]  #: all instructions of both, aligned; padding left out
    rows_a: tuple[Row, ...]
    rows_b: tuple[Row, ...]
    encodings: tuple[Encoding, ...]
    same_bytes: bool
    padding: tuple[int, int] = (0, 0)  #: padding words, not compared
    notes: tuple[str, ...] = field(default=())

    @property
    def changed(self) -> tuple[Line, ...]:
        return tuple(x for x in self.lines if x.status is not Status.SAME)

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(x.status for x in self.lines)
        return {str(s): found.get(s, 0) for s in Status if s is not Status.RESIDUAL}

    @property
    def verdict(self) -> str:
        if self.differences or self.changed:
            return "different"
        return "identical" if self.same_bytes else "equivalent"


@dataclass(frozen=True, slots=True)
class _Side:
    """The code of one object without its padding."""

    facets: Facets
    code: Code
    rows: tuple[Row, ...]
    origin: tuple[int, ...]  #: index in ``code.rows``
    starts: tuple[int, ...]  #: addresses of ``rows``
    padding: int
    stops: frozenset[int]  #: addresses of symbols, destinations and entries

    def position(self, address: int) -> int:
        """Index of the first instruction at or behind ``address``."""
        return bisect_left(self.starts, address)


def diff_objects(a: Facets, b: Facets) -> ObjectDiff:
    """Compare; EnvironmentProblem when LLVM knows neither target."""
    left, right = _side(a), _side(b)
    pairs = pair_lines(_texts(left), _texts(right), _places(left), _places(right))
    lines = [Line(s, None if i < 0 else i, None if j < 0 else j) for s, i, j in pairs]
    match = _Match(lines)
    lines = [_judged(x, left, right, match) for x in lines]
    encodings = [
        Encoding(left.rows[x.a][0], left.rows[x.a][2], left.rows[x.a][1], right.rows[x.b][1])
        for x in lines
        if x.status in (Status.SAME, Status.MOVED) and x.a is not None and x.b is not None
        and _other_bits(x.a, x.b, left, right)
    ]  # fmt: skip
    names = _kernel_names(a, b)
    differences = [
        *_resources(a, b, names),
        *maps("descriptor entry", *_entries(left, right, names, match)),
        *_headers(a, b),
        *maps("metadata", flatten(a.co.metadata), flatten(b.co.metadata, names=names)),
        *counters("note", _other_notes(a), _other_notes(b)),
        *_symbols("symbol", a.symbols, b.symbols, left, right, match),
        *_symbols("dynamic symbol", a.dynamic, b.dynamic, left, right, match),
        *maps("section", _shapes(a), _shapes(b)),
        *compare_data(a.data, b.data),
        *counters("relocation", a.relocations, b.relocations),
    ]
    notes = () if a.co.arch == b.co.arch else (f"different targets: {a.co.arch} and {b.co.arch}",)
    return ObjectDiff(
        tuple(differences), tuple(lines), left.rows, right.rows, tuple(encodings), a.text == b.text,
        (left.padding, right.padding), notes,
    )  # fmt: skip


# -- code --------------------------------------------------------------------
def _side(f: Facets) -> _Side:
    code = read_code(f.co)
    stops = {s.value for s in f.layout.symbols if s.section is not None}
    stops |= set(code.branches.values()) | {r.target for r in code.references.values()}
    functions = function_starts(f.co, f.layout)
    stops |= functions
    ends = {s.value + s.size for s in f.layout.symbols if s.size and s.section is not None}
    bounds = functions | {s.end for s in f.layout.sections if s.executable}
    skip: set[int] = set()
    for first, n in padding(code.rows, stops, ends, bounds).items():
        skip.update(range(first, first + n))
    origin = tuple(n for n in range(len(code.rows)) if n not in skip)
    rows = tuple(code.rows[n] for n in origin)
    return _Side(f, code, rows, origin, tuple(r[0] for r in rows), len(skip), frozenset(stops))


def _texts(side: _Side) -> list[str]:
    """Texts to align by: destinations and distances are judged afterwards."""
    out = []
    for n in side.origin:
        pc, _, text = side.code.rows[n]
        text = bare(text)
        if n in side.code.branches:
            text = f"{_NUMBER_AT_END.sub('', text)} {'back' if side.code.branches[n] <= pc else 'on'}"
        elif n in side.code.references:
            text = side.code.references[n].head
        out.append(text)
    return out


def _places(side: _Side) -> list[Place]:
    labels = dict.fromkeys(side.stops, "->")  # destinations keep to destinations, symbols to their names
    labels.update((s.value, s.name) for s in side.facets.layout.symbols if s.section is not None)
    depth = depths([r[0] for r in side.rows], [r[2] for r in side.rows])
    return [Place(d, labels.get(r[0], "")) for d, r in zip(depth, side.rows, strict=True)]


class _Match:
    """Which position of one side is which of the other, by the lines that stay in order."""

    def __init__(self, lines: Sequence[Line]) -> None:
        kept = [(x.a, x.b) for x in lines if x.status in (Status.SAME, Status.CHANGED)]
        self.a = [i for i, _ in kept if i is not None]
        self.b = [j for _, j in kept if j is not None]

    def same(self, i: int, j: int) -> bool:
        """Whether positions ``i`` of a and ``j`` of b lie between the same kept lines.

        So a line put in at a label changes neither the branches to it nor the
        symbols that begin or end there.
        """
        return bisect_left(self.a, i) == bisect_left(self.b, j)


def _judged(x: Line, left: _Side, right: _Side, match: _Match) -> Line:
    """A line is changed, too, where it branches to or computes another place."""
    if x.status is not Status.SAME or x.a is None or x.b is None:
        return x
    n, m = left.origin[x.a], right.origin[x.b]
    if n in left.code.branches and m in right.code.branches:
        same = _same_address(left.code.branches[n], right.code.branches[m], left, right, match)
    elif n in left.code.references and m in right.code.references:
        to_a, to_b = left.code.references[n].target, right.code.references[m].target
        same = _same_address(to_a, to_b, left, right, match)
    else:
        return x
    return x if same else Line(Status.CHANGED, x.a, x.b)


def _same_address(to_a: int, to_b: int, left: _Side, right: _Side, match: _Match) -> bool:
    in_a, in_b = left.facets.layout.section_at(to_a), right.facets.layout.section_at(to_b)
    if in_a is not None and in_b is not None and in_a.executable and in_b.executable:
        return match.same(left.position(to_a), right.position(to_b))
    return where(left.facets.layout, to_a) == where(right.facets.layout, to_b)


def _other_bits(i: int, j: int, left: _Side, right: _Side) -> bool:
    n, m = left.origin[i], right.origin[j]
    free = n in left.code.branches or n in left.code.references
    return not free and left.code.rows[n][1] != right.code.rows[m][1]


# -- everything else ---------------------------------------------------------
def _kernel_names(a: Facets, b: Facets) -> dict[str, str]:
    """Kernel of b -> kernel of a it is compared with: the same name, or the only one of each."""
    names = {s: s for s in b.descriptors}
    if len(a.descriptors) == len(b.descriptors) == 1:
        names = {next(iter(b.descriptors)): next(iter(a.descriptors))}
    return names


def _headers(a: Facets, b: Facets) -> list[Difference]:
    return [d for key in a.header for d in maps(key, {key: a.header[key]}, {key: b.header[key]})]


def _resources(a: Facets, b: Facets, names: Mapping[str, str]) -> list[Difference]:
    """Descriptor fields that differ, by name where they have one."""
    out: list[Difference] = []
    fields_a = {k.symbol: _fields(k.descriptor) for k in a.co.kernels}
    fields_b = {names.get(k.symbol, k.symbol): _fields(k.descriptor) for k in b.co.kernels}
    for symbol in dict.fromkeys([*fields_a, *fields_b]):
        x, y = fields_a.get(symbol), fields_b.get(symbol)
        if x is None or y is None:
            out.append(
                Difference(
                    "kernel", symbol, None if x is None else "present", None if y is None else "present"
                )
            )
            continue
        out += maps(
            "resource", {f"{symbol} {n}": v for n, v in x.items()}, {f"{symbol} {n}": v for n, v in y.items()}
        )
    raw_b = {names.get(s, s): d for s, d in b.descriptors.items()}
    for symbol, raw in a.descriptors.items():
        other = raw_b.get(symbol)
        if other is not None and other != raw and not any(d.where.startswith(f"{symbol} ") for d in out):
            out.append(Difference("descriptor", symbol, raw.hex(" ", 4), other.hex(" ", 4)))
    return out


def _fields(d: KernelDescriptor) -> dict[str, str]:
    raw = ("code_properties", "rsrc1", "rsrc2", "rsrc3", "float_mode")
    return {n: f"{getattr(d, n):#x}" if n in raw else str(getattr(d, n)) for n in _RESOURCES}


def _entries(
    left: _Side, right: _Side, names: Mapping[str, str], match: _Match
) -> tuple[dict[str, str], dict[str, str]]:
    a = {k.symbol: k for k in left.facets.co.kernels}
    out_a, out_b = {}, {}
    for k in right.facets.co.kernels:
        symbol = names.get(k.symbol, k.symbol)
        other = a.get(symbol)
        if other is None or left.facets.layout.minimal:
            continue
        if not match.same(left.position(other.entry), right.position(k.entry)):
            out_a[symbol] = where(left.facets.layout, other.entry)
            out_b[symbol] = where(right.facets.layout, k.entry)
    return out_a, out_b


def _other_notes(f: Facets) -> Counter[tuple[str, int, bytes]]:
    """All notes but the metadata, which is compared as a document."""
    return Counter(n for n in f.notes if not (n[0] == "AMDGPU" and n[1] == 32 and f.co.metadata))


def _shapes(f: Facets) -> dict[str, str]:
    """Sections without the size of code, which the alignment of the code accounts for."""
    return {n: re.sub(r", \d+ bytes", "", s) if n in f.text else s for n, s in f.shapes.items()}


def _symbols(
    part: str, a: Counter[_Symbol], b: Counter[_Symbol], left: _Side, right: _Side, match: _Match,
) -> list[Difference]:  # fmt: skip
    """Symbols that differ; those in code by their position among the instructions."""
    gone, new = a - b, b - a
    by_name: dict[str, list[_Symbol]] = {}
    for t in new.elements():
        by_name.setdefault(t[0], []).append(t)
    for s in list(gone.elements()):
        twin = next((t for t in by_name.get(s[0], ()) if _same_symbol(s, t, left, right, match)), None)
        if twin is not None:
            by_name[s[0]].remove(twin)
            gone[s] -= 1
            new[twin] -= 1
    return counters(part, +gone, +new)


def _same_symbol(
    s: _Symbol, t: _Symbol,
    left: _Side, right: _Side, match: _Match,
) -> bool:  # fmt: skip
    if (
        (s[0], s[1], *s[4:]) != (t[0], t[1], *t[4:])
        or s[1] not in left.facets.text
        or bool(s[3]) != bool(t[3])
    ):
        return False
    base_a = next(x.address for x in left.facets.layout.sections if x.name == s[1])
    base_b = next((x.address for x in right.facets.layout.sections if x.name == s[1]), 0)
    at_a, at_b = base_a + s[2], base_b + t[2]
    if not match.same(left.position(at_a), right.position(at_b)):
        return False
    return not s[3] or match.same(left.position(at_a + s[3]), right.position(at_b + t[3]))
