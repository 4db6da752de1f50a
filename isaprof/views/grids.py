"""The roll-ups of an Analysis as tables of texts: what the terminal, the TUI and the report show.

A grid holds finished cells; who draws it decides about widths, colours and
cutting. Nothing is summed here. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from isaprof.views.palette import cause_look, clean, grouped, percentage

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis


class Cell(NamedTuple):
    """A text and its colour, "" for that of the view."""

    text: str
    colour: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. ``columns``: (name, kind), n figure, t text that may be cut, f text that may not.

    ``note`` stands above it; ``empty`` is the sentence where there are no rows.
    ``lines``: the code line that a row is about, -1 where it is about none.
    """

    title: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    lines: tuple[int, ...]
    note: str = ""
    empty: str = "nothing to show"


#: keys of each roll-up that are shown as they are; "t" text that may be cut, "n" number
_KEYS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "source": (("source", "t"),),
    "block": (("block", "n"), ("first_line", "n"), ("last_line", "n"), ("loop", "n"), ("entered", "n")),
    "kernel": (("kernel", "t"),),
    "se": (("se", "n"), ("waves", "n")),
    "cu": (("se", "n"), ("cu", "n"), ("waves", "n")),
    "simd": (("se", "n"), ("cu", "n"), ("simd", "n"), ("waves", "n")),
    "wave": (("wave", "n"), ("se", "n"), ("cu", "n"), ("simd", "n"), ("slot", "n")),
}
_BANK_COLUMNS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "bank": (
        ("line", "n"), ("text", "t"), ("hits", "n"), ("bytes", "n"), ("banks", "n"), ("degree", "n"),
        ("extra", "n"), ("charged", "n"), ("exposed", "n"), ("stride", "n"), ("clash", "f"),
    ),
    "vgpr-bank": (
        ("line", "n"), ("text", "t"), ("form", "f"), ("banks", "f"), ("clash", "f"), ("hits", "n"),
        ("extra", "n"), ("possible", "n"), ("charged", "n"),
    ),
}  # fmt: skip
_BANK_TITLES: Final = {"bank": "LDS bank conflicts", "vgpr-bank": "VGPR bank conflicts"}


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of ``frame``."""
    return frame.to_dict("records")  # type: ignore[return-value]


def known(value: Any) -> bool:
    """Neither None nor NaN."""
    return value is not None and value == value


def classes(analysis: Analysis) -> tuple[str, ...]:
    """Names of the classes of waits, exposed first; () where the capture has sums only."""
    return analysis.detail.classes if analysis.detail is not None else ()


def shown_classes(frame: pd.DataFrame, names: Sequence[str]) -> tuple[str, ...]:
    """The first of ``names`` (exposed) and those of the others that have any cycles in ``frame``."""
    there = [n for n in names if n in frame]
    return tuple(n for i, n in enumerate(there) if not i or bool((frame[n] != 0).any()))


def roll_up(by: str, frame: pd.DataFrame, names: Sequence[str], counted: str = "") -> Grid:
    """A roll-up by place, block, source or kernel; ``names``: classes of the waits; ``counted``: counters
    of the whole dispatch, in words, which stand with its kernel."""
    keys = _KEYS[by]
    sums = ("stall", "idle", *shown_classes(frame, names))
    columns = (
        *((k.replace("_line", ""), kind) for k, kind in keys),
        *((n, "n") for n in ("hits", "cycles", "share", *sums)), ("largest cause", "f"),
    )  # fmt: skip
    rows, lines = [], []
    for row in records_of(frame):
        look = cause_look(str(row["cause"])) if row["cause"] else None
        rows.append(
            (
                *(Cell(_key(row[k])) for k, _ in keys), Cell(grouped(int(row["hits"]))),
                Cell(grouped(int(row["cycles"]))), Cell(percentage(float(row["share"]))),
                *(Cell(grouped(int(row[k]))) for k in sums),
                Cell(look.short, look.colour) if look else Cell(""),
            )
        )  # fmt: skip
        lines.append(int(row.get("first_line", -1)))
    note = clean(counted) if by == "kernel" else ""
    if by == "source" and len(frame) and not frame["source"].map(known).any():
        note = "no source lines: neither the capture nor a line table of its code objects names any"
    return Grid(f"By {by}", columns, tuple(rows), tuple(lines), note, "no wave was traced")


def _key(value: Any) -> str:
    if not known(value):
        return "-"
    return clean(value) if isinstance(value, str) else "-" if value < 0 else str(value)


def categories(frame: pd.DataFrame, names: Sequence[str]) -> Grid:
    """Cycles of each cause, split by class."""
    sums = (*(n for n in names if n in frame), "ambiguous")
    columns = (("category", "f"), *((n, "n") for n in ("cycles", "share", *sums)))
    rows = tuple(
        (
            Cell(clean(str(row["cause"])), cause_look(str(row["cause"])).colour),
            Cell(grouped(int(row["cycles"]))), Cell(percentage(float(row["share"]))),
            *(Cell(grouped(int(row[n]))) for n in sums),
        )
        for row in records_of(frame)
    )  # fmt: skip
    return Grid("By category", columns, rows, (-1,) * len(rows), empty="no wave was traced")


def kinds(frame: pd.DataFrame, names: Sequence[str]) -> Grid:
    """Issue and stall of each kind of instruction, as shares of the waves' lives, and the stalls' split."""
    split = shown_classes(frame, [f"stall_{n}" for n in names])
    columns = (
        ("kind", "f"), *((n, "n") for n in ("hits", "cycles", "issue", "stall", "share")),
        *((n.removeprefix("stall_"), "n") for n in split), ("idle", "n"),
    )  # fmt: skip
    rows = tuple(
        (
            Cell(clean(str(row["kind"]))), Cell(grouped(int(row["hits"]))), Cell(grouped(int(row["cycles"]))),
            Cell(percentage(float(row["issue_share"]))), Cell(grouped(int(row["stall"]))),
            Cell(percentage(float(row["stall_share"]))), *(Cell(grouped(int(row[n]))) for n in split),
            Cell(grouped(int(row["idle"]))),
        )
        for row in records_of(frame)
    )  # fmt: skip
    note = "issue and share (of the stall): of the waves' lives; then the split of the stall" if rows else ""
    return Grid("By kind", columns, rows, (-1,) * len(rows), note, "no wave was traced")


def in_flight(frame: pd.DataFrame) -> Grid:
    """Every change of the number of resident waves, with or without records."""
    rows = tuple(
        (Cell(str(row["se"])), Cell(grouped(int(row["time"]))), Cell(grouped(int(row["waves"]))))
        for row in records_of(frame)
    )
    columns = (("se", "n"), ("time", "n"), ("waves", "n"))
    return Grid("Waves in flight", columns, rows, (-1,) * len(rows), empty="the capture names no wave")


def banks(by: str, frame: pd.DataFrame, counted: str = "") -> Grid:
    """Conflicts of LDS banks (``bank``) or of VGPR banks (``vgpr-bank``); ``counted``: the LDS counters
    of the whole dispatch, in words."""
    columns = _BANK_COLUMNS[by]
    names = {"text": "instruction", "clash": "lanes in one bank" if by == "bank" else "clash"}
    notes = []
    if by == "bank":
        notes = [f"conflicts: {frame['evidence'].iloc[0]}"] if len(frame) else []
        notes += [clean(counted)] if counted else []
    note = "\n".join(notes)
    rows = tuple(tuple(Cell(figure(row[n])) for n, _ in columns) for row in records_of(frame))
    return Grid(
        _BANK_TITLES[by], tuple((names.get(n, n), k) for n, k in columns), rows,
        tuple(int(n) for n in frame["line"].tolist()) if len(frame) else (), note,
        "no LDS access was executed" if by == "bank" else "no conflict of VGPR banks",
    )  # fmt: skip


def figure(value: Any) -> str:
    """A text, or a figure with two decimals where it has any; "-" where it is not known."""
    if not known(value):
        return "-"
    if isinstance(value, str):
        return clean(value)
    return f"{value:.2f}" if isinstance(value, float) and value != int(value) else grouped(int(value))
