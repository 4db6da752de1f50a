"""A launch file at one shape: operands in bytes, grid, kernarg, verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput, UsageError
from isaprof.launch import fills, kernarg, layouts
from isaprof.launch.dtypes import DTYPES, DType
from isaprof.launch.expr import Expr, ExprError
from isaprof.launch.file import LaunchFile, Operand
from isaprof.launch.kernarg import Dim3
from isaprof.launch.layouts import Placement
from isaprof.launch.shape import check_constraints, parse_shape
from isaprof.launch.verify import Verification, verify

#: all operands together, bytes
MAX_BYTES = 1 << 33
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

    def verify(self, outputs: Mapping[str, bytes], workgroups: Iterable[Dim3] | None = None) -> Verification:
        """Judge ``outputs`` (operand name -> bytes after the run); ``workgroups`` that ran (None: all)."""
        return verify(self, outputs, None if workgroups is None else tuple(workgroups))

    def describe(self) -> dict[str, Any]:
        """The launch as JSON-able data, for capture.json."""
        file = self.file
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
                "rtol": file.tolerance.rtol, "atol": file.tolerance.atol, "cosine": file.tolerance.cosine
            },
        }  # fmt: skip


def resolve(file: LaunchFile, shape_text: str | None, *, seed: int | None = None) -> ResolvedLaunch:
    """Evaluate ``file`` at a shape.

    Raises UsageError for a shape that does not fit, BadInput for a launch file
    that names what no registry knows.
    """
    shape = parse_shape(file, shape_text)
    env = dict(shape)
    for name, e in file.let:
        env[name] = _value(file, f"[let] {name}", e, env)
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
    operands, total = [], 0
    for o in file.operands:
        placement = _placement(file, o, env)
        total += DTYPES[o.dtype].nbytes(placement.elements)
        if total > MAX_BYTES:
            raise UsageError(f"the operands take more than {MAX_BYTES >> 30} GiB", kind="shape")
        operands.append(_buffer(file, o, placement, base))
    out = ResolvedLaunch(
        file, shape, env, grid, workgroup, lds, operands, base,
        None if file.flop is None else _value(file, "flop", file.flop, env),
        None if file.nbytes is None else _value(file, "bytes", file.nbytes, env),
        {o.name: o for o in file.operands if o.tile is not None},
    )  # fmt: skip
    for a in file.arguments:  # complain now, not in the middle of a run
        if a.pointer is None:
            kernarg.scalar(a, env)
    for o in file.operands:
        if o.tile is None:
            continue
        for x, y, z in ((0, 0, 0), (grid[0] - 1, grid[1] - 1, grid[2] - 1)):
            for e in (*o.tile.start, *o.tile.size):
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


def _placement(file: LaunchFile, o: Operand, env: Mapping[str, int]) -> Placement:
    if o.dtype not in DTYPES:
        raise _bad(file, f"operand {o.name}: unknown dtype {o.dtype!r} (known: {', '.join(DTYPES)})")
    if o.layout not in layouts.LAYOUTS:
        known = ", ".join(layouts.LAYOUTS)
        raise _bad(file, f"operand {o.name}: unknown layout {o.layout!r} (known: {known})", plugin=True)
    sizes = tuple(_value(file, f"operand {o.name} shape", e, env) for e in o.shape)
    pitch = 0 if o.pitch is None else _value(file, f"operand {o.name} pitch", o.pitch, env)
    extra = 0 if o.extra is None else _value(file, f"operand {o.name} extra", o.extra, env)
    count = 1
    for s in sizes:
        count *= s
    if (sizes and min(sizes) < 1) or count < 1 or count > MAX_BYTES or extra < 0 or extra > MAX_BYTES:
        raise UsageError(f"operand {o.name} would have the shape {sizes}", path=file.origin, kind="shape")
    if sizes and pitch and (count // sizes[-1]) * pitch > MAX_BYTES:
        raise UsageError(
            f"operand {o.name} would have rows of {pitch} elements", path=file.origin, kind="shape"
        )
    try:
        return layouts.place(o.layout, sizes, pitch, extra)
    except ValueError as e:
        raise UsageError(f"operand {o.name}: {e}", path=file.origin, kind="shape") from None


def _buffer(file: LaunchFile, o: Operand, placement: Placement, base: int) -> OperandBuffer:
    dtype = DTYPES[o.dtype]
    data = dtype.poisoned(dtype.nbytes(placement.elements))
    if o.fill != "poison":
        seed = base if o.seed is None else base + o.seed
        try:
            values = fills.make(o.fill, o.fill_parameters, seed, o.name, placement.shape)
        except KeyError:
            known = ", ".join(fills.FILLS)
            raise _bad(
                file, f"operand {o.name}: unknown fill {o.fill!r} (known: {known})", plugin=True
            ) from None
        except (TypeError, ValueError) as e:
            raise _bad(file, f"operand {o.name}: fill {o.fill}: {e}") from None
        if dtype.bits >= 8:
            width = dtype.bits // 8
            data.reshape(-1, width)[placement.positions] = dtype.encode(values).reshape(-1, width)
        else:
            background = np.zeros(placement.elements, values.dtype)
            data = dtype.encode(placement.scatter(values, background))
    return OperandBuffer(o.name, o.role, data, o.dtype, placement.shape, placement)


def _bad(file: LaunchFile, message: str, *, plugin: bool = False) -> BadInput:
    hint = "--plugin FILE.py may register more" if plugin else None
    return BadInput(message, path=file.origin, kind="bad_launch_file", hint=hint)
