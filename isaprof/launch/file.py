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
from isaprof.launch.symbol import SymbolPattern

if TYPE_CHECKING:
    from isaprof.launch.resolve import ResolvedLaunch

ROLES = ("input", "output", "inout", "scratch")
#: scalar type -> (struct code, bytes)
SCALARS: Mapping[str, tuple[str, int]] = {
    "i8": ("b", 1), "u8": ("B", 1), "i16": ("h", 2), "u16": ("H", 2), "i32": ("i", 4),
    "u32": ("I", 4), "i64": ("q", 8), "u64": ("Q", 8), "f32": ("f", 4), "f64": ("d", 8),
}  # fmt: skip
#: names an expression may use beside axes and [let]: the workgroup, in tiles only
WORKGROUP_NAMES = ("wg_x", "wg_y", "wg_z")


@dataclass(frozen=True, slots=True)
class Match:
    """What a kernel must be for the file to apply: never where it lies."""

    symbols: tuple[SymbolPattern, ...]  #: any of them (isaprof.launch.symbol)
    kernarg_size: int
    kernarg: tuple[tuple[int, int, str], ...]  #: explicit arguments: offset, size, value_kind
    archs: tuple[str, ...] = ()  #: empty: any
    code_sha256: tuple[str, ...] = ()  #: of the kernel's instructions; empty: any
    #: bytes of a slot that holds one argument each, the rest padding; 0: no slots. With slots,
    #: kernarg_size is what the arguments need, and the kernel's segment may be larger
    slot: int = 0


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of an output that one workgroup writes."""

    start: tuple[Expr, ...]
    size: tuple[Expr, ...]
    needs: Expr | None = None  #: workgroups that add to the tile; None: the one


@dataclass(frozen=True, slots=True)
class Choice:
    """A name that may depend on the shape, the symbol or the architecture."""

    then: str
    when: Expr | None = None
    otherwise: str = ""

    def __call__(self, env: Mapping[str, int]) -> str:
        """The name under ``env``. Raises ExprError."""
        return self.then if self.when is None or self.when(env) else self.otherwise


@dataclass(frozen=True, slots=True)
class Operand:
    """A buffer the kernel gets a pointer to; shape expressions in elements."""

    name: str
    role: str
    dtype: Choice
    shape: tuple[Expr, ...]
    layout: Choice = Choice("row")
    pitch: Expr | None = None
    extra: Expr | None = None  #: spare elements after the last
    elements: Expr | None = None  #: least size of the storage, in elements
    fill: Choice = Choice("poison")
    fill_parameters: Mapping[str, float | Expr] = field(default_factory=dict)
    seed: int | None = None
    tile: Tile | None = None
    when: Expr | None = None  #: 0: there is no such buffer, pointers to it are null
    spill: Expr | None = None  #: not 0: the kernel may write the storage beyond the elements


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument: a pointer to an operand, or a scalar."""

    offset: int
    name: str
    pointer: str | None = None
    byte_offset: Expr | None = None
    type: str | None = None
    value: Expr | float | None = None
    rsqrt: bool = False  #: a float: 1 / sqrt(value)
    when: Expr | None = None  #: 0: zero, a null pointer
    optional: bool = False  #: left out where the kernel's segment ends before it

    @property
    def size(self) -> int:
        return 8 if self.type is None else SCALARS[self.type][1]


@dataclass(frozen=True, slots=True)
class Constraint:
    require: Expr
    message: str


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|out - ref| <= atol + atol_of_max max|ref| + rtol |ref|, and cosine at least ``cosine``.

    ``exact``: outputs without any tolerance, in another case too.
    ``rel_floor``: the relative error divides by max(|ref|, rel_floor); None
    stands for 1 % of the reference's root mean square.
    """

    rtol: float = 0.0
    atol: float = 0.0
    cosine: float | None = None
    rel_floor: float | None = None
    atol_of_max: float = 0.0
    exact: frozenset[str] = frozenset()
    reason: str = ""
    #: the first case whose condition holds replaces all figures
    cases: tuple[tuple[Expr, Tolerance], ...] = ()

    def at(self, env: Mapping[str, int]) -> Tolerance:
        """The tolerance that holds under ``env``."""
        return next((t for when, t in self.cases if when(env)), self)

    def absolute(self, largest: float) -> float:
        """The part that does not depend on the element; ``largest`` is max|ref|."""
        return self.atol + self.atol_of_max * largest

    def text(self, largest: float | None = None) -> str:
        """For people: the rule, with the absolute figure where ``largest`` is known."""
        parts = [f"{self.rtol:g} |ref|"] if self.rtol else []
        if self.atol or not (parts or self.atol_of_max):
            parts.append(f"{self.atol:g}")
        if self.atol_of_max:
            figure = "" if largest is None else f" = {self.atol_of_max * largest:.3g}"
            parts.append(f"{self.atol_of_max:g} max|ref|{figure}")
        rules = ["|out - ref| <= " + " + ".join(parts)]
        if self.cosine is not None:
            rules.append(f"cosine >= {self.cosine:g}")
        if self.exact:
            rules.append(f"{', '.join(sorted(self.exact))} equal")
        return ", ".join(rules) + (f" ({self.reason})" if self.reason else "")


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
    #: sizes that --shape may give by name, with the value they have otherwise
    options: tuple[tuple[str, Expr], ...] = ()
    #: name -> architecture -> value; "default" is any other architecture
    by_arch: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: values of the symbol's placeholders and of ``by_arch``, for the kernel it was matched to
    bound: Mapping[str, int] = field(default_factory=dict)

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
        from isaprof.launch.parse import read
        from isaprof.launch.schema import Table

        try:
            data = tomllib.loads(text.decode() if isinstance(text, bytes) else text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as e:
            raise BadInput(f"not TOML: {e}", path=origin, kind="bad_launch_file") from None
        return read(Table.of(data, "launch file", origin), origin)

    def resolve(self, shape_text: str | None, *, seed: int | None = None) -> ResolvedLaunch:
        """Everything for one shape, in bytes. Raises UsageError naming axis and rule."""
        from isaprof.launch.resolve import resolve

        return resolve(self, shape_text, seed=seed)
