"""The one table of instruction semantics: mnemonic -> operation over typed operands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from isaprof.sim.semantics.spec import Semantics

__all__ = ["Semantics", "vector_table"]


@cache
def vector_table() -> Mapping[str, Semantics]:
    """All vector ALU operations by mnemonic without encoding suffix."""
    from isaprof.sim.semantics import compare, convert, packed, valu_float, valu_int

    merged: dict[str, Semantics] = {}
    for module in (valu_int, valu_float, convert, compare, packed):
        clash = merged.keys() & module.TABLE.keys()
        if clash:
            raise ValueError(f"declared in two tables: {sorted(clash)}")
        merged.update(module.TABLE)
    return merged
