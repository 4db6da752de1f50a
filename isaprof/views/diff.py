"""The rows of a Comparison as plain frozen data, for interactive views.

As in :mod:`isaprof.views.listing`, nothing is computed: columns become rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from isaprof.views.palette import clean

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison

#: one character for each status, readable without colour
MARKS: Final[dict[str, str]] = {
    "same": " ",
    "changed": "~",
    "moved": "»",
    "inserted": "+",
    "deleted": "-",
    "residual": "·",
}

MIXED: Final = (
    "One capture is measured, the other modelled: the difference says as much about the model as about the "
    "kernel. Do not read it as a speed-up."
)


@dataclass(frozen=True, slots=True)
class Side:
    """One capture's part of a row; line -1 where it has none."""

    line: int
    text: str
    hits: int
    latency: int
    stall: int
    idle: int
    cycles: int
    per_wave: float
    cause: str


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One aligned row; ``delta_per_wave`` > 0 means slower in b."""

    status: str
    a: Side
    b: Side
    delta: int
    delta_per_wave: float
    heat: float
    rank: int

    @property
    def text(self) -> str:
        """What to search: both texts, once where they are the same."""
        if self.a.text == self.b.text or not self.a.text:
            return self.b.text
        return f"{self.a.text} → {self.b.text}" if self.b.text else self.a.text


@dataclass(frozen=True, slots=True)
class Diff:
    """All rows and, by rank, those that change."""

    rows: tuple[DiffRow, ...]
    ranked: tuple[int, ...]


def diff(comparison: Comparison) -> Diff:
    """The rows of ``comparison`` in its order."""
    frame = comparison.rows
    sides = []
    for s in "ab":
        numbers = ([int(x) for x in frame[f"{n}_{s}"].tolist()] for n in ("hits", "latency", "stall", "idle"))
        sides.append(
            tuple(
                map(
                    Side,
                    [int(x) for x in frame[f"line_{s}"].tolist()],
                    [clean(str(x)) for x in frame[f"text_{s}"].tolist()],
                    *numbers,
                    [int(x) for x in frame[f"cycles_{s}"].tolist()],
                    [float(x) for x in frame[f"per_wave_{s}"].tolist()],
                    [clean(x) if isinstance(x, str) else "" for x in frame[f"cause_{s}"].tolist()],
                )
            )
        )
    rows = tuple(
        map(
            DiffRow,
            [str(x) for x in frame["status"].tolist()],
            *sides,
            [int(x) for x in frame["delta"].tolist()],
            [float(x) for x in frame["delta_per_wave"].tolist()],
            [float(x) for x in frame["heat"].tolist()],
            [int(x) for x in frame["rank"].tolist()],
        )
    )
    ranked = sorted((i for i, r in enumerate(rows) if r.rank > 0), key=lambda i: rows[i].rank)
    return Diff(rows, tuple(ranked))


def mixed(a: Analysis, b: Analysis) -> bool:
    """Whether one is measured and the other modelled."""
    return a.provenance != b.provenance


def signed(value: float, digits: int = 1) -> str:
    """A change with its sign: +12.5, -3, 0; integers without decimals."""
    text = f"{value:+,.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("+0", "-0") else text


def relative(delta: float, base: float) -> str:
    """``delta`` as a share of ``base`` with its sign, empty where there is no base."""
    return f"{100 * delta / base:+.1f} %" if base else ""
