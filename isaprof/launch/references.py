"""The registry of reference functions a launch file may name.

A reference gets a :class:`Case` (decoded inputs, shape, parameters) and
returns the expected outputs by operand name, unrounded, as float64 or int64.
``--plugin FILE.py`` may register more with :func:`reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What a reference function may look at.

    ``inputs``: operand name -> values as the kernel sees them (after rounding
    to the operand's dtype); ``parameters``: the other keys of the launch
    file's [reference] table; ``shape``: axis name -> size; ``outputs``: names
    and logical shapes of the outputs; ``scalars``: the numbers by name: axes, options,
    [let], the symbol's, and the kernel's arguments that are no pointers.
    """

    inputs: Mapping[str, Array]
    shape: Mapping[str, int]
    parameters: Mapping[str, Any]
    outputs: Mapping[str, tuple[int, ...]]
    scalars: Mapping[str, int | float] = field(default_factory=dict)

    def number(self, key: str, default: float) -> float:
        """Parameter ``key``: a number, or a name in ``scalars``."""
        value = self.parameters.get(key, default)
        if isinstance(value, str):
            if value not in self.scalars:
                raise ReferenceError_(f"the reference's {key} = {value!r} names no number")
            return float(self.scalars[value])
        return float(value)

    def optional(self, key: str) -> Array | None:
        """The input that parameter ``key`` names; None without the parameter or, here, the buffer."""
        name = self.parameters.get(key)
        return None if name is None else self.inputs.get(str(name))

    def operand(self, key: str, default: str) -> Array:
        """The input that parameter ``key`` names (``default`` where it is absent)."""
        name = str(self.parameters.get(key, default))
        if name not in self.inputs:
            raise ReferenceError_(f"the reference's {key} = {name!r} is not an input operand")
        return self.inputs[name]

    def out(self, default: str) -> str:
        """The output that parameter ``out`` names; a single output needs no name."""
        name = str(
            self.parameters.get("out", next(iter(self.outputs)) if len(self.outputs) == 1 else default)
        )
        if name not in self.outputs:
            raise ReferenceError_(f"the reference's out = {name!r} is not an output operand")
        return name


class ReferenceError_(ValueError):
    """The launch file's [reference] table does not fit its operands."""


Reference = Callable[[Case], dict[str, Array]]
REFERENCES: dict[str, Reference] = {}


def reference(name: str) -> Callable[[Reference], Reference]:
    """Register a reference function under ``name``."""

    def add(f: Reference) -> Reference:
        REFERENCES[name] = f
        return f

    return add


@reference("matmul_nn")
def matmul_nn(case: Case) -> dict[str, Array]:
    """C[..., M, N] = alpha * A[..., M, K] @ B[..., K, N]."""
    return _matmul(case, case.operand("b", "B"))


@reference("matmul_nt")
def matmul_nt(case: Case) -> dict[str, Array]:
    """C[..., M, N] = alpha * A[..., M, K] @ B[..., N, K] transposed."""
    return _matmul(case, np.swapaxes(case.operand("b", "B"), -1, -2))


def _matmul(case: Case, b: Array) -> dict[str, Array]:
    a = case.operand("a", "A")
    if a.shape[-1] != b.shape[-2]:
        raise ReferenceError_(f"matmul of {a.shape} and {b.shape}: the inner sizes differ")
    return {case.out("C"): case.number("alpha", 1.0) * (a @ b)}


_ELEMENTWISE: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
}


@reference("elementwise")
def elementwise(case: Case) -> dict[str, Array]:
    """C = A op B, op one of add, sub, mul, max."""
    op = str(case.parameters.get("op", "add"))
    if op not in _ELEMENTWISE:
        raise ReferenceError_(f"elementwise op {op!r} (known: {', '.join(_ELEMENTWISE)})")
    return {case.out("C"): _ELEMENTWISE[op](case.operand("a", "A"), case.operand("b", "B"))}


@reference("copy")
def copy(case: Case) -> dict[str, Array]:
    """C = A."""
    return {case.out("C"): case.operand("a", "A").copy()}


@reference("successor")
def successor(case: Case) -> dict[str, Array]:
    """C[i] = i + 1, the last element -1 (a linked list through all elements)."""
    name = case.out("C")
    n = int(np.prod(case.outputs[name], dtype=np.int64))
    values = np.arange(1, n + 1, dtype=np.int64)
    values[-1:] = -1
    return {name: values.reshape(case.outputs[name])}


def load_all() -> Mapping[str, Reference]:
    """The registry with every reference that ships with isaprof."""
    from isaprof.launch import (  # noqa: F401  register
        reference_attention,
        reference_gemm,
        reference_quantised,
        reference_topk,
    )

    return REFERENCES
