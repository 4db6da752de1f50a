"""A launch file at one shape: operands in bytes, grid, kernarg, verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput, UsageError
from isaprof.launch import fills, kernarg, layouts, memory
from isaprof.launch.dtypes import DTYPES, DType
from isaprof.launch.expr import Expr, ExprError
from isaprof.launch.file import Choice, LaunchFile, Operand, Tolerance
from isaprof.launch.kernarg import Dim3
from isaprof.launch.layouts import Placement
from isaprof.launch.memory import Size
from isaprof.launch.shape import check_constraints, environment
from isaprof.launch.verify import Verification, verify

#: workgroups of a grid
MAX_WORKGROUPS = 1 << 31


@dataclass(slots=True)
class OperandBuffer:
    """One device buffer before the run: ``data`` is uint8, padding included.

    Outputs, scratch and all padding hold the poison of their dtype, so that an
    element the kernel never wrote is noticed.
    """

    name: str
    role: str
    data: NDArray[np.uint8]
    dtype: str
    shape: tuple[int, ...]
    placement: Placement
    fill: str = "poison"  #: the rule that made ``data``
    spill: bool = False  #: the kernel may write storage beyond the elements

    @property
    def type(self) -> DType:
        return DTYPES[self.dtype]

    def values(self, data: bytes | NDArray[np.uint8] | None = None) -> NDArray[Any]:
        """Logical elements as float64 or int64, of ``data`` (default: before the run)."""
        raw = self.data if data is None else np.frombuffer(bytes(data), np.uint8)
        return self.placement.gather(self.type.decode(raw, self.placement.elements))

    def codes(self, data: bytes | NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """Raw storage bytes of each logical element, shape (elements, bytes); 8 bits and more only."""
        raw = self.data if data is None else np.frombuffer(bytes(data), np.uint8)
        width = self.type.bits // 8
        return raw[: self.placement.elements * width].reshape(-1, width)[self.placement.positions]


@dataclass(slots=True)
class ResolvedLaunch:
    """Everything a backend needs to launch, and the judge of what it did."""

    file: LaunchFile
    shape: dict[str, int]
    env: dict[str, int]
    grid: Dim3  #: workgroups
    workgroup: Dim3  #: threads
    dynamic_lds: int  #: bytes
    operands: list[OperandBuffer]
    seed: int
    flop: int | None
    nbytes: int | None
    tiles: dict[str, Operand] = field(default_factory=dict)

    @property
    def workgroups(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.workgroup[0] * self.workgroup[1] * self.workgroup[2]

    def operand(self, name: str) -> OperandBuffer:
        return next(o for o in self.operands if o.name == name)

    def kernarg(self, addresses: Mapping[str, int]) -> bytes:
        """The kernarg segment for buffers at ``addresses`` (operand name -> address)."""
        geometry = (self.grid, self.workgroup, self.dynamic_lds)
        size = self.file.match.kernarg_size
        return kernarg.pack(size, self.file.arguments, self.file.hidden, self.env, addresses, geometry)

    @property
    def tolerance(self) -> Tolerance:
        """The launch file's tolerance at this shape."""
        return self.file.tolerance.at(self.env)

    @property
    def scalars(self) -> dict[str, int | float]:
        """What a reference may call by name: every name of the expressions, and the scalar arguments."""
        arguments = {a.name: kernarg.scalar(a, self.env) for a in self.file.arguments if a.pointer is None}
        return {**self.env, **arguments}

    def verify(self, outputs: Mapping[str, bytes], workgroups: Iterable[Dim3] | None = None) -> Verification:
        """Judge ``outputs`` (operand name -> bytes after the run); ``workgroups`` that ran (None: all)."""
        return verify(self, outputs, None if workgroups is None else tuple(workgroups))

    def describe(self) -> dict[str, Any]:
        """The launch as JSON-able data, for capture.json."""
        file, tolerance = self.file, self.tolerance
        args: list[dict[str, Any]] = []
        for a in file.arguments:
            what = (
                {"pointer": a.pointer}
                if a.pointer
                else {"type": a.type, "value": kernarg.scalar(a, self.env)}
            )
            args.append({"offset": a.offset, "name": a.name, **what})
        return {
            "launch_file": file.origin,
            "title": file.title,
            "shape": dict(self.shape),
            "grid": list(self.grid),
            "workgroup": list(self.workgroup),
            "dynamic_lds": self.dynamic_lds,
            "seed": self.seed,
            "operands": [
                {
                    "name": o.name,
                    "role": o.role,
                    "dtype": o.dtype,
                    "shape": list(o.shape),
                    "bytes": int(o.data.size),
                }
                for o in self.operands
            ],
            "arguments": args,
            "work": {"flop": self.flop, "bytes": self.nbytes},
            "reference": file.reference,
            "tolerance": {
                "rtol": tolerance.rtol, "atol": tolerance.atol, "cosine": tolerance.cosine,
                "atol_of_max": tolerance.atol_of_max, "text": tolerance.text(),
            },
        }  # fmt: skip


def resolve(file: LaunchFile, shape_text: str | None, *, seed: int | None = None) -> ResolvedLaunch:
    """Evaluate ``file`` at a shape.

    Raises UsageError for a shape that does not fit, BadInput for a launch file
    that names what no registry knows.
    """
    shape, env = environment(file, shape_text)
    check_constraints(file, env)
    grid = _dim3(file, "grid", file.grid, env)
    workgroup = _dim3(file, "workgroup", file.workgroup, env)
    if workgroup[0] * workgroup[1] * workgroup[2] > 1024:
        raise UsageError(f"a workgroup of {workgroup} has more than 1024 threads", kind="shape")
    if grid[0] * grid[1] * grid[2] > MAX_WORKGROUPS:
        raise UsageError(f"a grid of {grid} workgroups is too large", kind="shape")
    lds = _value(file, "dynamic_lds", file.dynamic_lds, env)
    if not 0 <= lds <= 1 << 20:
        raise UsageError(f"dynamic_lds = {lds} bytes is out of range", kind="shape")
    base = file.seed if seed is None else seed
    sizes = operand_sizes(file, env)
    memory.require(file.origin, list(sizes.values()))
    present = [o for o in file.operands if o.name in sizes]
    operands = [_buffer(file, o, sizes[o.name], env, base) for o in present]
    out = ResolvedLaunch(
        file, shape, env, grid, workgroup, lds, operands, base,
        None if file.flop is None else _value(file, "flop", file.flop, env),
        None if file.nbytes is None else _value(file, "bytes", file.nbytes, env),
        {o.name: o for o in file.operands if o.tile is not None},
    )  # fmt: skip
    for a in file.arguments:  # complain now, not in the middle of a run
        if a.pointer is None:
            kernarg.scalar(a, env)
    for o in present:
        if o.tile is None:
            continue
        for x, y, z in ((0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1)):
            for e in (*o.tile.start, *o.tile.size, *([o.tile.needs] if o.tile.needs else [])):
                _value(file, f"tile of operand {o.name}", e, {**env, "wg_x": x, "wg_y": y, "wg_z": z})
    return out


def _value(file: LaunchFile, what: str, e: Expr, env: Mapping[str, int]) -> int:
    try:
        return e(env)
    except ExprError as error:
        raise UsageError(
            f"{what} = {e.text!r} at this shape: {error}", path=file.origin, kind="shape"
        ) from None


def _dim3(file: LaunchFile, what: str, exprs: tuple[Expr, ...], env: Mapping[str, int]) -> Dim3:
    x, y, z = (*(_value(file, what, e, env) for e in exprs), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise UsageError(
            f"{what} = ({x}, {y}, {z}) at this shape: not positive", path=file.origin, kind="shape"
        )
    return x, y, z


def _choose(file: LaunchFile, what: str, choice: Choice, env: Mapping[str, int]) -> str:
    try:
        return choice(env)
    except ExprError as error:
        raise UsageError(f"{what} at this shape: {error}", path=file.origin, kind="shape") from None


def operand_sizes(file: LaunchFile, env: Mapping[str, int]) -> dict[str, Size]:
    """The operands that exist under ``env``, by name, before anything is allocated for them."""
    return {
        o.name: _sizes(file, o, env)
        for o in file.operands
        if o.when is None or _value(file, f"operand {o.name} when", o.when, env)
    }


def require_memory(file: LaunchFile, shape_text: str | None, copies: int) -> None:
    """Refuse a shape of which ``copies`` launches do not fit (UsageError with the number)."""
    _, env = environment(file, shape_text)
    check_constraints(file, env)
    memory.require(file.origin, list(operand_sizes(file, env).values()), copies)


def _sizes(file: LaunchFile, o: Operand, env: Mapping[str, int]) -> Size:
    """Extents and storage of an operand, before anything is allocated for it."""
    dtype = _choose(file, f"operand {o.name} dtype", o.dtype, env)
    if dtype not in DTYPES:
        raise _bad(file, f"operand {o.name}: unknown dtype {dtype!r} (known: {', '.join(DTYPES)})")
    shape = tuple(_value(file, f"operand {o.name} shape", e, env) for e in o.shape)
    pitch, extra, least = (
        0 if e is None else _value(file, f"operand {o.name} {what}", e, env)
        for what, e in (("pitch", o.pitch), ("extra", o.extra), ("elements", o.elements))
    )
    if (shape and min(shape) < 1) or min(extra, least, pitch) < 0:
        raise UsageError(f"operand {o.name} would have the shape {shape}", path=file.origin, kind="shape")
    logical = math.prod(shape)
    stored = max((math.prod(shape[:-1]) * pitch if shape and pitch else logical) + extra, least)
    return Size(o.name, dtype, shape, pitch, extra, least, logical, stored, DTYPES[dtype].nbytes(stored))


def _buffer(file: LaunchFile, o: Operand, size: Size, env: Mapping[str, int], base: int) -> OperandBuffer:
    layout = _choose(file, f"operand {o.name} layout", o.layout, env)
    if layout not in layouts.LAYOUTS:
        known = ", ".join(layouts.LAYOUTS)
        raise _bad(file, f"operand {o.name}: unknown layout {layout!r} (known: {known})", plugin=True)
    try:
        placement = layouts.place(layout, size.shape, size.pitch, size.extra, size.least)
    except ValueError as e:
        raise UsageError(f"operand {o.name}: {e}", path=file.origin, kind="shape") from None
    dtype = DTYPES[size.dtype]
    data = dtype.poisoned(dtype.nbytes(placement.elements))
    rule = _choose(file, f"operand {o.name} fill", o.fill, env)
    if rule != "poison":
        seed = base if o.seed is None else base + o.seed
        parameters = {
            k: _value(file, f"operand {o.name} fill {k}", v, env) if isinstance(v, Expr) else v
            for k, v in o.fill_parameters.items()
        }
        try:
            values = fills.make(rule, parameters, seed, o.name, placement.shape)
        except KeyError:
            known = ", ".join(fills.FILLS)
            raise _bad(
                file, f"operand {o.name}: unknown fill {rule!r} (known: {known})", plugin=True
            ) from None
        except (TypeError, ValueError) as e:
            raise _bad(file, f"operand {o.name}: fill {rule}: {e}") from None
        if dtype.bits >= 8:
            width = dtype.bits // 8
            data.reshape(-1, width)[placement.positions] = dtype.encode(values).reshape(-1, width)
        else:
            background = np.zeros(placement.elements, values.dtype)
            data = dtype.encode(placement.scatter(values, background))
    spill = o.spill is not None and bool(_value(file, f"operand {o.name} spill", o.spill, env))
    return OperandBuffer(o.name, o.role, data, size.dtype, placement.shape, placement, rule, spill)


def _bad(file: LaunchFile, message: str, *, plugin: bool = False) -> BadInput:
    hint = "--plugin FILE.py may register more" if plugin else None
    return BadInput(message, path=file.origin, kind="bad_launch_file", hint=hint)
