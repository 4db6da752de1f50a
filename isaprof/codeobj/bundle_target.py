"""Target ids and bundle entry ids: taking them apart, and which object serves which GPU.

Syntax: clang's "Clang Offload Bundler" page and LLVM's AMDGPU user guide,
sections "Target ID" and "Generic processors".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

_TARGET = (
    r"(?P<processor>gfx[0-9]+(?:-[0-9]+)*-generic|gfx[0-9a-f]+)(?P<features>(?::(?:xnack|sramecc)[+-])*)"
)
_TARGET_ONLY = re.compile(_TARGET)
_TARGET_AT_END = re.compile(r"(?:^|-)" + _TARGET + r"$")

#: generic processor -> the processors its code runs on
GENERIC: Mapping[str, frozenset[str]] = {
    "gfx9-generic": frozenset({"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}),
    "gfx9-4-generic": frozenset({"gfx940", "gfx941", "gfx942", "gfx950"}),
    "gfx10-1-generic": frozenset({"gfx1010", "gfx1011", "gfx1012", "gfx1013"}),
    "gfx10-3-generic": frozenset(f"gfx103{n}" for n in range(7)),
    "gfx11-generic": frozenset(
        {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}
    ),
    "gfx12-generic": frozenset({"gfx1200", "gfx1201"}),
    "gfx12-5-generic": frozenset({"gfx1250", "gfx1251"}),
}


class Fit(IntEnum):
    """How well an object serves a wanted target; lower is better."""

    EXACT = 0
    FEATURES = 1  #: same processor; one side leaves xnack or sramecc open
    GENERIC = 2  #: the object is for a generic processor that covers the wanted one


@dataclass(frozen=True, slots=True)
class TargetId:
    """``gfx90a:sramecc+:xnack-``: a processor and the features it fixes (absent: any)."""

    processor: str
    features: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> TargetId | None:
        """The target id that ``text`` is, feature order left open; None for anything else."""
        m = _TARGET_ONLY.fullmatch(text)
        return None if m is None else _of(m)

    def __str__(self) -> str:
        return self.processor + "".join(f":{name}{sign}" for name, sign in self.features)

    def fit(self, have: TargetId) -> Fit | None:
        """How an object for ``have`` serves this target; None: it does not run there."""
        if have == self:
            return Fit.EXACT
        mine, theirs = dict(self.features), dict(have.features)
        if any(theirs.get(name, sign) != sign for name, sign in mine.items()):
            return None
        if have.processor == self.processor:
            return Fit.FEATURES
        return Fit.GENERIC if self.processor in GENERIC.get(have.processor, ()) else None


def _of(m: re.Match[str]) -> TargetId:
    parts = [p for p in m["features"].split(":") if p]
    return TargetId(m["processor"], tuple(sorted((p[:-1], p[-1]) for p in parts)))


def split_entry_id(entry_id: str) -> tuple[str, str | None]:
    """(offload kind, target id) of ``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-``; target None for hosts.

    Triples have three or four fields, so the target is what the id ends with,
    not what follows a fixed number of dashes.
    """
    m = _TARGET_AT_END.search(entry_id)
    return entry_id.partition("-")[0], None if m is None else str(_of(m))
