"""The per-line rows of an Analysis as plain frozen data, for interactive views.

A DataFrame look-up costs microseconds a cell; a view that draws 40 lines a
frame needs plain attributes. Nothing is computed here: columns are turned into
rows, and the two long tables into look-ups by line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isaprof.views.palette import clean

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis


@dataclass(frozen=True, slots=True)
class Row:
    """One code line; cycles are sums over all traced waves (see Analysis.lines)."""

    line: int
    pc: int
    text: str
    label: str
    source: str
    hits: int
    latency: int
    stall: int
    idle: int
    wait: int
    issue: int
    held: int  #: of the issue, inside a barrier or trap
    lost: int
    cause: str
    culprit: int
    share: float
    heat: float
    rank: int
    encoding: str


@dataclass(frozen=True, slots=True)
class Blame:
    """``cycles`` of ``cause`` between this line and ``line`` (the other one)."""

    line: int
    cause: str
    cycles: int


@dataclass(frozen=True, slots=True)
class Listing:
    """All rows of one capture and who waits for whom, largest first."""

    rows: tuple[Row, ...]
    causes: Mapping[int, tuple[tuple[str, int], ...]]  #: line -> (cause, wait cycles)
    culprits: Mapping[int, tuple[Blame, ...]]  #: victim line -> lines to blame
    victims: Mapping[int, tuple[Blame, ...]]  #: culprit line -> lines that wait for it
    hottest: tuple[int, ...]  #: lines with lost cycles, by rank


def listing(analysis: Analysis) -> Listing:
    """The rows of ``analysis`` in code order."""
    frame = analysis.lines
    n = len(frame)

    def numbers(name: str) -> list[int]:
        return [int(x) for x in frame[name].tolist()]

    rows = tuple(
        map(
            Row,
            numbers("line"),
            numbers("pc"),
            _texts(frame["text"]),
            _texts(frame["label"]),
            _texts(frame["source"]),
            numbers("hits"),
            numbers("latency"),
            numbers("stall"),
            numbers("idle"),
            numbers("wait"),
            numbers("issue"),
            numbers("held"),
            numbers("lost"),
            _texts(frame["cause"]),
            numbers("culprit"),
            [float(x) for x in frame["share"].tolist()],
            [float(x) for x in frame["heat"].tolist()],
            numbers("rank"),
            _encodings(frame["encoding"]) if "encoding" in frame.columns else [""] * n,
        )
    )
    causes: dict[int, list[tuple[str, int]]] = {}
    for line, cause, cycles in _records(analysis.line_causes, ("line", "cause", "cycles")):
        causes.setdefault(int(line), []).append((str(cause), int(cycles)))
    culprits: dict[int, list[Blame]] = {}
    victims: dict[int, list[Blame]] = {}
    for culprit, victim, cause, cycles in _records(
        analysis.culprits, ("culprit", "victim", "cause", "cycles")
    ):
        if culprit < 0 or victim < 0:
            continue
        culprits.setdefault(int(victim), []).append(Blame(int(culprit), str(cause), int(cycles)))
        victims.setdefault(int(culprit), []).append(Blame(int(victim), str(cause), int(cycles)))
    return Listing(
        rows,
        {k: tuple(sorted(v, key=lambda x: (-x[1], x[0]))) for k, v in causes.items()},
        {k: tuple(sorted(v, key=_largest)) for k, v in culprits.items()},
        {k: tuple(sorted(v, key=_largest)) for k, v in victims.items()},
        tuple(r.line for r in sorted((r for r in rows if r.rank > 0), key=lambda r: r.rank)),
    )


def _largest(blame: Blame) -> tuple[int, int, str]:
    return (-blame.cycles, blame.line, blame.cause)


def _records(frame: pd.DataFrame, columns: Sequence[str]) -> Any:
    return zip(*(frame[c].tolist() for c in columns), strict=True)


def _texts(series: pd.Series[Any]) -> list[str]:
    """Printable strings; null (None, NaN, NA) becomes empty."""
    return [clean(x) if isinstance(x, str) else "" for x in series.tolist()]


def _encodings(series: pd.Series[Any]) -> list[str]:
    """Little-endian 32-bit words as LLVM prints them, 8 hex digits each."""
    out = []
    for data in series.tolist():
        if isinstance(data, str):
            out.append(clean(data))
        elif isinstance(data, (bytes, bytearray)):
            words = (data[i : i + 4] for i in range(0, len(data), 4))
            out.append(" ".join(f"{int.from_bytes(w, 'little'):08X}" for w in words))
        else:
            out.append("")
    return out
