"""Reading a launch file's TOML tables into :class:`~isaprof.launch.file.LaunchFile`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isaprof.launch import symbol
from isaprof.launch.expr import Expr
from isaprof.launch.file import (
    ROLES,
    SCALARS,
    WORKGROUP_NAMES,
    Argument,
    Choice,
    Constraint,
    LaunchFile,
    Match,
    Operand,
    Tile,
    Tolerance,
)
from isaprof.launch.schema import Table

SCHEMA_VERSION = 1
_RESERVED = frozenset(WORKGROUP_NAMES)


def read(top: Table, origin: str) -> LaunchFile:
    version = top.get("schema_version", int)
    if version != SCHEMA_VERSION:
        raise top.fail(f"schema_version {version}; this isaprof reads {SCHEMA_VERSION}")
    match = _match(top.table("kernel"))
    shape = top.table("shape")
    axes = shape.texts("axes")
    default = shape.get("default", list, None)
    options = _options(shape, axes)
    shape.done()
    if len(set(axes)) != len(axes) or not all(a.isidentifier() and a not in _RESERVED for a in axes):
        raise shape.fail("axes must be distinct names")
    if default is not None and (
        len(default) != len(axes) or not all(type(d) is int and d > 0 for d in default)
    ):
        raise shape.fail("default must give each axis a positive integer")
    by_arch = _by_arch(top)
    given = [*axes, *(name for name, _ in options)]
    placed = list(dict.fromkeys(n for s in match.symbols for n in s.names))
    if len(set(names := [*given, *placed, *by_arch])) != len(names) or _RESERVED & set(names):
        raise top.fail(f"axes, options, symbol placeholders and [arch] share a name: {', '.join(names)}")
    for name, e in options:
        _names(shape, f"options.{name}", (e,), {*axes, *placed, *by_arch})
    let = _let(top, names)
    known = {*names, *(name for name, _ in let)}
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
    buffers = [o.name for o in operands]
    if len(set(buffers)) != len(buffers):
        raise top.fail("two operands have the same name")
    arguments = tuple(_argument(t, known, buffers) for t in top.tables("argument"))
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
    tolerance = _tolerance(top.table("tolerance", {}), known, buffers)
    file = LaunchFile(
        origin, top.text("title", ""), match, axes, None if default is None else tuple(default), let,
        grid, workgroup, lds, operands, arguments, tuple(constraints), flop, nbytes,
        top.get("seed", int, 1), reference, parameters, tolerance, options=options, by_arch=by_arch,
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
    try:
        symbols = tuple(symbol.parse(text) for text in t.texts("symbol"))
    except ValueError as e:
        raise t.fail(f"symbol {e}") from None
    match = Match(
        symbols,
        t.get("kernarg_size", int),
        tuple(rows),
        t.texts("arch", []),
        t.texts("code_sha256", []),
        t.get("slot", int, 0),
    )
    if match.slot not in (0, 4, 8, 16, 32) or (match.slot and rows):
        raise t.fail("slot is 4, 8, 16 or 32 bytes, and stands instead of kernarg")
    t.done()
    return match


def _options(shape: Table, axes: tuple[str, ...]) -> tuple[tuple[str, Expr], ...]:
    t = Table.of(shape.get("options", dict, {}), f"{shape.where} options", shape.path)
    out = []
    for name in t.data:
        if not name.isidentifier():
            raise t.fail(f"{name}: not a name")
        out.append((name, t.expr(name)))
    return tuple(out)


def _by_arch(top: Table) -> dict[str, dict[str, int]]:
    """[arch]: NAME = { gfx942 = 1, default = 0 }."""
    t = top.table("arch", {})
    out: dict[str, dict[str, int]] = {}
    for name in t.data:
        values = t.get(name, dict)
        if not name.isidentifier() or "default" not in values:
            raise t.fail(f"{name} must be {{ default = 0, gfx942 = 1, ... }}")
        if not all(type(v) is int for v in values.values()):
            raise t.fail(f"{name}: the values are integers")
        out[name] = dict(values)
    return out


def _tolerance(t: Table, known: set[str], operands: list[str]) -> Tolerance:
    exact = frozenset(t.texts("exact", []))
    if missing := sorted(exact - set(operands)):
        raise t.fail(f"exact: unknown operand {', '.join(missing)} (known: {', '.join(operands)})")
    cases = []
    for case in t.tables("case"):
        when = case.expr("when")
        _names(case, "when", (when,), known)
        cases.append((when, _figures(case, exact)))
        case.done()
    plain = _figures(t, exact, tuple(cases))
    t.done()
    return plain


def _figures(t: Table, exact: frozenset[str], cases: tuple[tuple[Expr, Tolerance], ...] = ()) -> Tolerance:
    number = (int, float)
    return Tolerance(
        float(t.get("rtol", number, 0.0)),
        float(t.get("atol", number, 0.0)),
        t.get("cosine", number, None),
        t.get("rel_floor", number, None),
        float(t.get("atol_of_max", number, 0.0)),
        exact,
        t.text("reason", ""),
        cases,
    )


def _let(top: Table, axes: list[str]) -> tuple[tuple[str, Expr], ...]:
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
    name, role = t.text("name"), t.text("role")
    dtype = _choice(t, "dtype", known)
    if role not in ROLES:
        raise t.fail(f"role {role!r} (known: {', '.join(ROLES)})")
    shape = t.exprs("shape")
    sizes = {k: t.expr(k) for k in ("pitch", "extra", "elements", "when", "spill") if t.has(k)}
    _names(t, "shape", [*shape, *sizes.values()], known)
    fill, parameters = _fill(t, role, known)
    tile = None
    if t.has("tile"):
        tt = Table.of(t.get("tile", dict), f"{t.where} tile", t.path)
        needs = tt.expr("needs") if tt.has("needs") else None
        tile = Tile(tt.exprs("start"), tt.exprs("size"), needs)
        tt.done()
        if len(tile.start) != len(shape) or len(tile.size) != len(shape):
            raise t.fail("tile start and size have as many entries as the shape")
        _names(t, "tile", [*tile.start, *tile.size], known | _RESERVED)
        _names(t, "tile needs", [needs] if needs else [], known)
    layout = _choice(t, "layout", known) if t.has("layout") else Choice("row")
    operand = Operand(
        name, role, dtype, shape, layout, sizes.get("pitch"), sizes.get("extra"), sizes.get("elements"),
        fill, parameters, t.get("seed", int, None), tile, sizes.get("when"), sizes.get("spill"),
    )  # fmt: skip
    t.done()
    return operand


def _choice(t: Table, key: str, known: set[str]) -> Choice:
    """A text, or ``{ when = "EXPR", then = "...", else = "..." }``."""
    value = t.get(key, (str, dict))
    if isinstance(value, str):
        return Choice(value)
    tt = Table.of(value, f"{t.where} {key}", t.path)
    choice = Choice(tt.text("then"), tt.expr("when"), tt.text("else"))
    tt.done()
    _names(tt, "when", [choice.when], known)
    return choice


def _fill(t: Table, role: str, known: set[str]) -> tuple[Choice, dict[str, float | Expr]]:
    """The fill rule and its parameters; ``when`` = 0 leaves an output poisoned."""
    rule = t.get("fill", (str, dict), "poison" if role in ("output", "scratch") else ...)
    if isinstance(rule, str):
        rule = {"rule": rule}
    tt = Table.of(rule, f"{t.where} fill", t.path)
    name = tt.text("rule")
    when = tt.expr("when") if tt.has("when") else None
    if role in ("input", "inout") and (name == "poison" or when is not None):
        raise t.fail("an input needs a fill rule" if when is None else "an input is always filled: no when")
    parameters: dict[str, float | Expr] = {}
    for key in tt.data:
        if key in ("rule", "when"):
            continue
        value = tt.get(key, (int, float, str))
        parameters[key] = tt.to_expr(key, value) if isinstance(value, str) else value
    _names(tt, "fill", [e for e in (when, *parameters.values()) if isinstance(e, Expr)], known)
    return Choice(name, when, "poison"), parameters


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
        raw = t.get("value", (int, str, float, dict))
        rsqrt = isinstance(raw, dict)
        if rsqrt:
            if set(raw) != {"rsqrt"} or kind[0] != "f":
                raise t.fail(f"value {raw}: the only function is {{ rsqrt = EXPR }}, of a float type")
            raw = raw["rsqrt"]
        value = raw if isinstance(raw, float) else t.to_expr("value", raw)
        if isinstance(value, float) and kind[0] != "f":
            raise t.fail(f"value {value} does not fit type {kind}")
        if isinstance(value, Expr):
            _names(t, "value", (value,), known)
        argument = Argument(offset, name, type=kind, value=value, rsqrt=rsqrt)
    when = t.expr("when") if t.has("when") else None
    _names(t, "when", [when] if when else [], known)
    argument = replace(argument, when=when, optional=bool(t.get("optional", bool, False)))
    t.done()
    return argument


def _cover(top: Table, match: Match, arguments: tuple[Argument, ...]) -> None:
    """Every explicit kernarg slot has exactly one argument and they do not overlap."""
    at = {a.offset: a for a in arguments}
    if len(at) != len(arguments):
        raise top.fail("two arguments have the same offset")
    end = 0
    for a in sorted(arguments, key=lambda a: a.offset):
        outside = a.offset + a.size > match.kernarg_size and not a.optional
        if a.offset < end or outside or (match.slot and a.offset % match.slot):
            raise top.fail(
                f"argument {a.name} at {a.offset} overlaps its neighbour, leaves the kernarg segment"
                + (f" or its slot of {match.slot} bytes" if match.slot else "")
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
