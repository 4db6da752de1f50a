"""LDS races that B has and A has not: a barrier or a wait before it was lost.

The simulator runs the waves of a workgroup one after the other between
barriers, so outputs may not show a race.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.ab.source import Source
    from isaprof.check.model import Finding
    from isaprof.launch.resolve import ResolvedLaunch


def races(source: Source, launch: ResolvedLaunch) -> tuple[Finding, ...]:
    """Races in the first workgroup of an arm, by the sanitizer's rule (isaprof.check)."""
    from isaprof.check.races import lds_races
    from isaprof.isa.decode import disassemble

    listing = disassemble(source.data, arch=source.co.arch, path=source.path)
    return lds_races(source.co, source.kernel, listing, launch)


def new_races(a: Sequence[Finding], b: Sequence[Finding]) -> tuple[str, ...]:
    """Sentences of B's races that A has not; the same instructions are told by their texts.

    None where A has as many: an edit renames registers, and with them the texts.
    """
    if len(b) <= len(a):
        return ()
    known = {_texts(f) for f in a}
    return tuple(f"{f.place}: {f.message}" for f in b if _texts(f) not in known)


def _texts(f: Finding) -> frozenset[str]:
    return frozenset(p.text for p in (f.place, f.other) if p is not None)
