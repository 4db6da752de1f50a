"""The launch file: parsed, checked TOML (format: docs/launch-files.md)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.errors import BadInput
from isaprof.files import content
from isaprof.launch.expr import Expr
from isaprof.launch.schema import Table

if TYPE_CHECKING:
    from isaprof.launch.resolve import ResolvedLaunch

SCHEMA_VERSION = 1
ROLES = ("input", "output", "inout", "scratch")
#: scalar type -> (struct code, bytes)
SCALARS: Mapping[str, tuple[str, int]] = {
    "i8": ("b", 1), "u8": ("B", 1), "i16": ("h", 2), "u16": ("H", 2), "i32": ("i", 4),
    "u32": ("I", 4), "i64": ("q", 8), "u64": ("Q", 8), "f32": ("f", 4), "f64": ("d", 8),
}  # fmt: skip
#: names an expression may use beside axes and [let]: the workgroup, in tiles only
WORKGROUP_NAMES = ("wg_x", "wg_y", "wg_z")
_RESERVED = frozenset(WORKGROUP_NAMES)


@dataclass(frozen=True, slots=True)
class Match:
    """What a kernel must be for the file to apply: never where it lies."""

    symbols: tuple[str, ...]  #: names, or patterns with *
    kernarg_size: int
    kernarg: tuple[tuple[int, int, str], ...]  #: explicit arguments: offset, size, value_kind
    archs: tuple[str, ...] = ()  #: empty: any
    code_sha256: tuple[str, ...] = ()  #: of the kernel's instructions; empty: any


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of an output that one workgroup writes."""

    start: tuple[Expr, ...]
    size: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """A buffer the kernel gets a pointer to; shape expressions in elements."""

    name: str
    role: str
    dtype: str
    shape: tuple[Expr, ...]
    layout: str = "row"
    pitch: Expr | None = None
    extra: Expr | None = None  #: spare elements after the last
    fill: str = "poison"
    fill_parameters: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    tile: Tile | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument: a pointer to an operand, or a scalar."""

    offset: int
    name: str
    pointer: str | None = None
    byte_offset: Expr | None = None
    type: str | None = None
    value: Expr | float | None = None

    @property
    def size(self) -> int:
        return 8 if self.type is None else SCALARS[self.type][1]


@dataclass(frozen=True, slots=True)
class Constraint:
    require: Expr
    message: str


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|out - ref| <= atol + rtol |ref|, and cosine at least ``cosine``.

    ``rel_floor``: the relative error divides by max(|ref|, rel_floor); None
    stands for 1 % of the reference's root mean square.
    """

    rtol: float = 0.0
    atol: float = 0.0
    cosine: float | None = None
    rel_floor: float | None = None


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """How to launch a kernel and judge its output, for any shape it allows."""

    origin: str  #: path, or "builtin:NAME"
    title: str
    match: Match
    axes: tuple[str, ...]
    default: tuple[int, ...] | None
    let: tuple[tuple[str, Expr], ...]
    grid: tuple[Expr, ...]
    workgroup: tuple[Expr, ...]
    dynamic_lds: Expr
    operands: tuple[Operand, ...]
    arguments: tuple[Argument, ...]
    constraints: tuple[Constraint, ...]
    flop: Expr | None
    nbytes: Expr | None
    seed: int
    reference: str | None
    reference_parameters: Mapping[str, Any]
    tolerance: Tolerance
    #: hidden arguments of the kernel the file was matched to: offset, size, value_kind
    hidden: tuple[tuple[int, int, str], ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> LaunchFile:
        """Read a launch file. Raises BadInput naming file and key."""
        try:
            text = content(path)
        except OSError as e:
            raise BadInput(
                f"cannot read the launch file: {e.strerror}", path=path, kind="not_found"
            ) from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: bytes | str, origin: str) -> LaunchFile:
        """Parse launch-file text; ``origin`` names it in messages."""
        try:
            data = tomllib.loads(text.decode() if isinstance(text, bytes) else text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as e:
            raise BadInput(f"not TOML: {e}", path=origin, kind="bad_launch_file") from None
        return _read(Table.of(data, "launch file", origin), origin)

    def resolve(self, shape_text: str | None, *, seed: int | None = None) -> ResolvedLaunch:
        """Everything for one shape, in bytes. Raises UsageError naming axis and rule."""
        from isaprof.launch.resolve import resolve

        return resolve(self, shape_text, seed=seed)


def _read(top: Table, origin: str) -> LaunchFile:
    version = top.get("schema_version", int)
    if version != SCHEMA_VERSION:
        raise top.fail(f"schema_version {version}; this isaprof reads {SCHEMA_VERSION}")
    match = _match(top.table("kernel"))
    shape = top.table("shape")
    axes = shape.texts("axes")
    default = shape.get("default", list, None)
    shape.done()
    if len(set(axes)) != len(axes) or not all(a.isidentifier() and a not in _RESERVED for a in axes):
        raise shape.fail("axes must be distinct names")
    if default is not None and (
        len(default) != len(axes) or not all(type(d) is int and d > 0 for d in default)
    ):
        raise shape.fail("default must give each axis a positive integer")
    let = _let(top, axes)
    known = {*axes, *(name for name, _ in let)}
    launch = top.table("launch")
    grid, workgroup = launch.exprs("grid"), launch.exprs("workgroup")
    for key, value in (("grid", grid), ("workgroup", workgroup)):
        if not 1 <= len(value) <= 3:
            raise launch.fail(f"{key} has one to three dimensions")
        _names(launch, key, value, known)
    lds = launch.expr("dynamic_lds", 0)
    _names(launch, "dynamic_lds", (lds,), known)
    launch.done()
    operands = tuple(_operand(t, known) for t in top.tables("operand"))
    names = [o.name for o in operands]
    if len(set(names)) != len(names):
        raise top.fail("two operands have the same name")
    arguments = tuple(_argument(t, known, names) for t in top.tables("argument"))
    _cover(top, match, arguments)
    constraints = []
    for t in top.tables("constraint"):
        constraints.append(Constraint(t.expr("require"), t.text("message")))
        _names(t, "require", (constraints[-1].require,), known)
        t.done()
    work = top.table("work", {})
    flop = work.expr("flop") if work.has("flop") else None
    nbytes = work.expr("bytes") if work.has("bytes") else None
    _names(work, "flop/bytes", [e for e in (flop, nbytes) if e], known)
    work.done()
    reference, parameters = None, {}
    if top.has("reference"):
        ref = top.table("reference")
        reference = ref.text("function")
        parameters = {k: v for k, v in ref.data.items() if k != "function"}
    tol = top.table("tolerance", {})
    number = (int, float)
    tolerance = Tolerance(
        float(tol.get("rtol", number, 0.0)),
        float(tol.get("atol", number, 0.0)),
        tol.get("cosine", number, None),
        tol.get("rel_floor", number, None),
    )
    tol.done()
    file = LaunchFile(
        origin, top.text("title", ""), match, axes, None if default is None else tuple(default), let,
        grid, workgroup, lds, operands, arguments, tuple(constraints), flop, nbytes,
        top.get("seed", int, 1), reference, parameters, tolerance,
    )  # fmt: skip
    top.done()
    return file


def _match(t: Table) -> Match:
    rows = []
    for row in t.get("kernarg", list, []):
        ok = (
            isinstance(row, list)
            and len(row) == 3
            and type(row[0]) is type(row[1]) is int
            and isinstance(row[2], str)
        )
        if not ok:
            raise t.fail(f"kernarg rows are [offset, size, value_kind], not {row!r}")
        rows.append((row[0], row[1], row[2]))
    match = Match(
        t.texts("symbol"),
        t.get("kernarg_size", int),
        tuple(rows),
        t.texts("arch", []),
        t.texts("code_sha256", []),
    )
    t.done()
    return match


def _let(top: Table, axes: tuple[str, ...]) -> tuple[tuple[str, Expr], ...]:
    t = top.table("let", {})
    known, out = set(axes), []
    for name in t.data:
        if name in known or name in _RESERVED or not name.isidentifier():
            raise t.fail(f"{name}: not a new name")
        e = t.expr(name)
        _names(t, name, (e,), known)
        known.add(name)
        out.append((name, e))
    return tuple(out)


def _operand(t: Table, known: set[str]) -> Operand:
    name, role, dtype = t.text("name"), t.text("role"), t.text("dtype")
    if role not in ROLES:
        raise t.fail(f"role {role!r} (known: {', '.join(ROLES)})")
    shape = t.exprs("shape")
    pitch = t.expr("pitch") if t.has("pitch") else None
    extra = t.expr("extra") if t.has("extra") else None
    _names(t, "shape", [*shape, *(e for e in (pitch, extra) if e)], known)
    rule = t.get("fill", (str, dict), "poison" if role in ("output", "scratch") else ...)
    parameters = {} if isinstance(rule, str) else {k: v for k, v in rule.items() if k != "rule"}
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in parameters.values()):
        raise t.fail("the parameters of a fill are numbers")
    fill = rule if isinstance(rule, str) else rule.get("rule")
    if not isinstance(fill, str):
        raise t.fail('fill must be a name or { rule = "...", ... }')
    if role in ("input", "inout") and fill == "poison":
        raise t.fail("an input needs a fill rule")
    tile = None
    if t.has("tile"):
        tt = Table.of(t.get("tile", dict), f"{t.where} tile", t.path)
        tile = Tile(tt.exprs("start"), tt.exprs("size"))
        tt.done()
        if len(tile.start) != len(shape) or len(tile.size) != len(shape):
            raise t.fail("tile start and size have as many entries as the shape")
        _names(t, "tile", [*tile.start, *tile.size], known | _RESERVED)
    operand = Operand(
        name, role, dtype, shape, t.text("layout", "row"), pitch, extra, fill, parameters,
        t.get("seed", int, None), tile,
    )  # fmt: skip
    t.done()
    return operand


def _argument(t: Table, known: set[str], operands: list[str]) -> Argument:
    offset, name = t.get("offset", int), t.text("name")
    if t.has("pointer"):
        pointer = t.text("pointer")
        if pointer not in operands:
            raise t.fail(f"pointer to an unknown operand {pointer!r} (known: {', '.join(operands)})")
        shift = t.expr("byte_offset") if t.has("byte_offset") else None
        _names(t, "byte_offset", [shift] if shift else [], known)
        argument = Argument(offset, name, pointer, shift)
    else:
        kind = t.text("type")
        if kind not in SCALARS:
            raise t.fail(f"type {kind!r} (known: {', '.join(SCALARS)})")
        raw = t.get("value", (int, str, float))
        value = raw if isinstance(raw, float) else t.to_expr("value", raw)
        if isinstance(value, float) and kind[0] != "f":
            raise t.fail(f"value {value} does not fit type {kind}")
        if isinstance(value, Expr):
            _names(t, "value", (value,), known)
        argument = Argument(offset, name, type=kind, value=value)
    t.done()
    return argument


def _cover(top: Table, match: Match, arguments: tuple[Argument, ...]) -> None:
    """Every explicit kernarg slot has exactly one argument and they do not overlap."""
    at = {a.offset: a for a in arguments}
    if len(at) != len(arguments):
        raise top.fail("two arguments have the same offset")
    end = 0
    for a in sorted(arguments, key=lambda a: a.offset):
        if a.offset < end or a.offset + a.size > match.kernarg_size:
            raise top.fail(
                f"argument {a.name} at {a.offset} overlaps its neighbour or leaves the kernarg segment"
            )
        end = a.offset + a.size
    for offset, size, _ in match.kernarg:
        if offset not in at or at[offset].size > size:
            raise top.fail(f"the kernarg slot at offset {offset} ({size} bytes) has no argument that fits")


def _names(t: Table, key: str, exprs: Any, known: set[str] | frozenset[str]) -> None:
    for e in exprs:
        if missing := sorted(e.names - known):
            raise t.fail(
                f"{key} = {e.text!r}: unknown name {', '.join(missing)} (known: {', '.join(sorted(known))})"
            )
