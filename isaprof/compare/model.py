"""What a comparison hands to the views. Views compute nothing beyond this."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis


class Status(StrEnum):
    """How a row of a comparison relates the two programs."""

    SAME = "same"  #: the same instruction in both, in the same order
    CHANGED = "changed"  #: one instruction replaced by another of the same mnemonic, in place
    MOVED = "moved"  #: the same instruction at another place; shown where it is in b
    INSERTED = "inserted"  #: only in b
    DELETED = "deleted"  #: only in a
    RESIDUAL = "residual"  #: not an instruction: launch, drain, cycles no line is known for


@dataclass(frozen=True, slots=True)
class Comparison:
    """Instruction-aligned comparison of capture ``a`` (before) with ``b`` (after).

    ``rows``: every line of ``a`` and of ``b`` exactly once, in the order of
    ``b`` (a deleted line stands where it was in ``a``), then the residual rows.
    Columns: status (:class:`Status`), line_a and line_b (int64, -1 where there
    is none), text_a and text_b ("" where there is none; a residual row has its
    name in both), and per side, with suffix ``_a`` or ``_b``: hits, latency,
    stall, idle, wait, issue (int64, sums over the traced waves as in
    Analysis.lines), cycles (int64: all wave cycles spent at that line, launch
    excluded), cause, per_wave (float64: cycles / number of traced waves).
    ``delta`` (int64) is cycles_b - cycles_a and sums over all rows exactly to
    ``delta_cycles``; ``delta_per_wave`` (float64) is per_wave_b - per_wave_a
    and sums to ``delta_per_wave``. ``heat`` (-1..1) is delta_per_wave over the
    largest change of any row: positive is slower in b. ``rank`` (int64): 1 is
    the largest change per wave in either direction, 0 is no change.

    ``causes``: cause, cycles_a, cycles_b, delta, share_a, share_b, per_wave_a,
    per_wave_b, delta_per_wave, over all traced waves, largest change per wave
    first; its deltas sum exactly to ``delta_cycles``.
    """

    a: Analysis
    b: Analysis
    rows: pd.DataFrame
    causes: pd.DataFrame
    waves_a: int  #: traced waves
    waves_b: int
    cycles_a: int  #: sum of the lifetimes of the traced waves
    cycles_b: int
    notes: tuple[str, ...] = ()  #: what makes the two hard to compare (waves, arch, measured/modelled)

    @property
    def delta_cycles(self) -> int:
        """Change of the wave cycles, all traced waves (b - a)."""
        return self.cycles_b - self.cycles_a

    @property
    def per_wave_a(self) -> float:
        """Mean lifetime of a traced wave of a, cycles."""
        return self.cycles_a / self.waves_a if self.waves_a else 0.0

    @property
    def per_wave_b(self) -> float:
        """Mean lifetime of a traced wave of b, cycles."""
        return self.cycles_b / self.waves_b if self.waves_b else 0.0

    @property
    def delta_per_wave(self) -> float:
        """Change of the mean lifetime of a wave, cycles (b - a)."""
        return self.per_wave_b - self.per_wave_a

    @property
    def counts(self) -> dict[str, int]:
        """Number of instruction rows by status."""
        found = self.rows["status"].value_counts()
        return {str(s): int(found.get(s, 0)) for s in Status if s is not Status.RESIDUAL}
