"""The type of an architecture table: facts with unit, source and confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure or rule of an architecture.

    ``confidence``: ``M`` measured from public hardware traces, ``A`` stated by
    AMD (documentation or LLVM's backend), ``B`` third-party measurement with
    public data, ``C`` widely repeated but not re-checked, ``D`` inference.
    """

    value: Any
    unit: str = ""
    source: str = ""
    confidence: str = "A"


@dataclass(frozen=True, slots=True)
class ArchTable:
    """All that isaprof knows about one GPU target. Data only; unknown keys are absent."""

    name: str
    generation: str
    product: str
    facts: Mapping[str, Fact] = field(default_factory=dict)

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


def build(name: str, generation: str, product: str, *layers: Mapping[str, Fact]) -> ArchTable:
    """Table from fact layers; a later layer overrides an earlier one (family, then device)."""
    merged: dict[str, Fact] = {}
    for layer in layers:
        merged.update(layer)
    return ArchTable(name, generation, product, merged)
