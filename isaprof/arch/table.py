"""The type of an architecture table: facts with unit, source and confidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """One figure or rule of an architecture.

    ``confidence``: ``M`` measured from public hardware traces, ``A`` stated by
    AMD (documentation or LLVM's backend), ``B`` third-party measurement with
    public data, ``C`` widely repeated but not re-checked, ``D`` inference.
    """

    value: Any
    unit: str = ""
    source: str = ""
    confidence: str = "A"


class MatrixRule(NamedTuple):
    """Occupancy of the matrix pipe by instructions whose mnemonic matches ``pattern`` (a regex)."""

    pattern: str
    cycles: int
    #: f8f6f4 forms: cycles when A or B is an 8-bit type (cbsz or blgp 0 or 1)
    cycles_8bit: int | None = None
    #: True: no other VALU instruction of the SIMD issues while it runs (f32 and f64 MFMA, WMMA)
    blocks_valu: bool = False


class ValuRule(NamedTuple):
    """Cost of VALU instructions whose mnemonic matches ``pattern`` (a regex), in cycles.

    ``occupancy``: how long the SIMD's VALU (or, for transcendentals, that
    unit) is taken; ``latency``: issue to use of the result by a VALU.
    """

    pattern: str
    occupancy: int
    latency: int


class LdsPattern(NamedTuple):
    """Lanes that are checked together for bank conflicts, for one access width."""

    groups: tuple[tuple[int, ...], ...]
    banks: int


class HazardRule(NamedTuple):
    """Wait states that must lie between a producer and a consumer (no interlock).

    ``states`` are fixed wait states; with ``plus_passes`` the matrix passes of
    the producer are added. One wait state is one issue slot (4 cycles).
    """

    producer: str
    consumer: str
    states: int
    plus_passes: bool = False
    except_passes: tuple[int, ...] = ()  #: the rule does not hold for producers of so many passes


class ArchTable:
    """All that isaprof knows about one GPU target. Data only, not to be changed; unknown keys are absent."""

    # no dataclass: loading that module takes as long as all tables together
    __slots__ = ("facts", "generation", "name", "product")

    def __init__(self, name: str, generation: str, product: str, facts: Mapping[str, Fact]) -> None:
        self.name = name
        self.generation = generation
        self.product = product
        self.facts = facts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArchTable) and all(
            getattr(self, k) == getattr(other, k) for k in ArchTable.__slots__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ArchTable({self.name}, {len(self.facts)} facts)"

    def value(self, key: str) -> Any:
        """The bare value of ``key``; KeyError naming architecture and key when unknown."""
        try:
            return self.facts[key].value
        except KeyError:
            raise KeyError(f"{self.name}: no fact {key!r} in the architecture table") from None

    def __getitem__(self, key: str) -> Any:
        return self.value(key)

    def __contains__(self, key: object) -> bool:
        return key in self.facts

    def get(self, key: str, default: Any = None) -> Any:
        """The bare value of ``key``, or ``default`` when the fact is unknown."""
        f = self.facts.get(key)
        return default if f is None else f.value


def facts(unit: str, source: str, confidence: str = "A", /, **values: Any) -> dict[str, Fact]:
    """Several facts of one unit, source and confidence."""
    return {k: Fact(v, unit, source, confidence) for k, v in values.items()}


def build(name: str, generation: str, product: str, *layers: Mapping[str, Fact]) -> ArchTable:
    """Table from fact layers; a later layer overrides an earlier one (family, then device)."""
    merged: dict[str, Fact] = {}
    for layer in layers:
        merged.update(layer)
    return ArchTable(name, generation, product, merged)
