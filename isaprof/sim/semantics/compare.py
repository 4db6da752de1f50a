"""Vector compares v_cmp_* and v_cmpx_* (VOPC)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.sim.semantics.spec import table
from isaprof.sim.semantics.valu_float import cmp_class

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any


def _false(a: Vec, b: Vec) -> Vec:
    return np.zeros(np.broadcast(a, b).shape, bool)


def _true(a: Vec, b: Vec) -> Vec:
    return np.ones(np.broadcast(a, b).shape, bool)


def _unordered(a: Vec, b: Vec) -> Vec:
    return np.isnan(a) | np.isnan(b)


_ORDERED: dict[str, Callable[[Vec, Vec], Vec]] = {
    "lt": np.less, "eq": np.equal, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def _lg(a: Vec, b: Vec) -> Vec:
    return (a < b) | (a > b)


#: float conditions; "n" forms are the negation, true for NaN
FLOAT: dict[str, Callable[[Vec, Vec], Vec]] = {
    "f": _false,
    **_ORDERED,
    "lg": _lg,
    "o": lambda a, b: ~_unordered(a, b),
    "u": _unordered,
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~_lg(a, b),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": np.not_equal,
    "nlt": lambda a, b: ~(a < b),
    "tru": _true,
    "t": _true,
}
INTEGER: dict[str, Callable[[Vec, Vec], Vec]] = {
    "f": _false, **_ORDERED, "ne": np.not_equal, "lg": np.not_equal, "t": _true,
}  # fmt: skip

_TYPES = {**dict.fromkeys(("f16", "f32", "f64"), FLOAT)}
_TYPES.update(dict.fromkeys(("i16", "u16", "i32", "u32", "i64", "u64"), INTEGER))


def _rows() -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for prefix, flags in (("v_cmp", {}), ("v_cmpx", {"exec_dst": True})):
        for t, conditions in _TYPES.items():
            for name, fn in conditions.items():
                rows.append((f"{prefix}_{name}_{t}", f"cmp_{name}_{t}", f"{t} {t} -> mask", fn, flags))
        for t in ("f16", "f32", "f64"):
            select = "u16" if t == "f16" else "u32"
            rows.append((f"{prefix}_class_{t}", f"cmp_class_{t}", f"{t} {select} -> mask", cmp_class,
                         {**flags, "raw": True}))  # fmt: skip
    return rows


TABLE = table("RDNA3 and CDNA3 ISA, Instructions: VOPC", _rows())
