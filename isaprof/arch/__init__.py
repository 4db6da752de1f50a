"""Architecture tables: the facts of each GPU target, as data with sources.

``get("gfx1100")["valu_dep_latency"]`` is a bare value,
``get("gfx1100").facts["valu_dep_latency"]`` has unit, source and confidence.
One data module per target (``isaprof/arch/gfx1100.py``, ...) over the shared
module of its family.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from isaprof.arch.targets import TRUE16_GENERATIONS, generation_of, wave_sizes
from isaprof.errors import BadInput

if TYPE_CHECKING:
    from isaprof.arch.table import ArchTable, Fact

__all__ = ["ArchTable", "Fact", "family_table", "generation", "get", "has_true16", "known", "wave_sizes"]

_KNOWN = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201", "gfx1250")


def __getattr__(name: str) -> Any:
    if name in ("ArchTable", "Fact"):  # reading a file needs the names of targets only
        return getattr(import_module("isaprof.arch.table"), name)
    raise AttributeError(f"module 'isaprof.arch' has no attribute {name!r}")


def known() -> tuple[str, ...]:
    """Targets with a table of their own."""
    return _KNOWN


@lru_cache(maxsize=64)
def get(name: str) -> ArchTable:
    """The table of target ``name`` (features such as ``:xnack-`` are ignored).

    Raises BadInput for a target that has no table, naming those that have one.
    """
    base = name.split(":", 1)[0]
    if base not in _KNOWN:
        raise BadInput(
            f"no architecture table for {name!r}; known: {', '.join(_KNOWN)}", kind="unknown_architecture"
        )
    table: ArchTable = import_module(f"isaprof.arch.{base}").TABLE
    return table


@lru_cache(maxsize=64)
def generation(name: str) -> str:
    """Generation of a target name: ``gfx9``, ``gfx10``, ``gfx11``, ``gfx12`` or ``gfx1250``."""
    gen = generation_of(name.split(":", 1)[0])
    if gen is None:
        raise BadInput(f"{name!r} is not an AMD GPU target (gfx...)", kind="unknown_architecture")
    return gen


@lru_cache(maxsize=64)
def family_table(name: str) -> ArchTable:
    """Table for decoding ``name``: its own, else the facts of its generation.

    A target without a table of its own (gfx1030, gfx1103, ...) can be
    disassembled and classified, but not timed. BadInput before gfx9.
    """
    base = name.split(":", 1)[0]
    if base in _KNOWN:
        return get(base)
    gen = generation(base)
    decoding = import_module("isaprof.arch.decoding")
    variants: Mapping[str, ArchTable] = decoding.VARIANTS
    families: Mapping[str, ArchTable] = decoding.FAMILY
    if base in variants:
        return variants[base]
    wave_sizes(base)  # refuses what is too old
    return families[gen]


def has_true16(name: str) -> bool:
    """True when objects of this target are read with true16 register names."""
    return generation_of(name) in TRUE16_GENERATIONS
