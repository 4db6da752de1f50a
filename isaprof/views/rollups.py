"""The roll-ups of an Analysis as text: place, block, source line, category, time; loops; bank conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from isaprof.views.layout import add_row, new_table, percentage, print_table
from isaprof.views.palette import cause_look, clean, grouped

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from isaprof.attribution.model import Analysis

#: keys of each roll-up that are shown as they are; "t" text that may be cut, "n" number
_KEYS: dict[str, tuple[tuple[str, str], ...]] = {
    "source": (("source", "t"),),
    "block": (("block", "n"), ("first_line", "n"), ("last_line", "n"), ("loop", "n"), ("entered", "n")),
    "kernel": (("kernel", "t"),),
    "se": (("se", "n"), ("waves", "n")),
    "cu": (("se", "n"), ("cu", "n"), ("waves", "n")),
    "simd": (("se", "n"), ("cu", "n"), ("simd", "n"), ("waves", "n")),
}
_SUMS = ("cycles", "stall", "idle", "exposed", "hidden")
_BANK_COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "bank": (
        ("line", "n"), ("text", "t"), ("hits", "n"), ("bytes", "n"), ("banks", "n"), ("degree", "n"),
        ("extra", "n"), ("charged", "n"), ("exposed", "n"), ("stride", "n"), ("clash", "f"),
    ),
    "vgpr-bank": (
        ("line", "n"), ("text", "t"), ("form", "f"), ("banks", "f"), ("clash", "f"), ("hits", "n"),
        ("extra", "n"), ("possible", "n"), ("charged", "n"),
    ),
}  # fmt: skip
#: idle stretches of the matrix pipe listed for each loop
_GAPS = 5


def show(analysis: Analysis, by: str, count: int, console: Console) -> None:
    """Print the roll-up ``by`` (one of isaprof.attribution.groups.LISTINGS), at most ``count`` of its rows
    where it is long and sorted by size. Raises BadInput where the capture has no records."""
    from isaprof.attribution.groups import listing

    frame = listing(analysis, by)
    if by == "loop":
        _loops(analysis, frame, console)
    elif by == "category":
        print_table(_categories(frame), console)
    elif by in ("bank", "vgpr-bank"):
        _banks(by, frame, count, console)
    elif by == "time":
        print_table(_time(analysis, frame), console)
    else:
        cut = frame[:count] if by in ("source", "block") else frame
        print_table(_sums(by, cut), console)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dict("records")  # type: ignore[return-value]


def _sums(by: str, frame: pd.DataFrame) -> Table:
    keys = _KEYS[by]
    names = [(k.replace("_line", ""), kind) for k, kind in keys]
    table = new_table(
        (*names, *((n, "n") for n in ("hits", "cycles", "share", *_SUMS[1:])), ("largest cause", "f")),
        title=f"By {by}",
    )
    for row in _rows(frame):
        look = cause_look(str(row["cause"])) if row["cause"] else None
        add_row(
            table,
            (
                *(_key(row[k]) for k, _ in keys), grouped(int(row["hits"])), grouped(int(row["cycles"])),
                percentage(float(row["share"])), *(grouped(int(row[k])) for k in _SUMS[1:]),
                Text(look.short if look else "", style=look.colour if look else ""),
            ),
        )  # fmt: skip
    return table


def _key(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return clean(value) if isinstance(value, str) else "-" if value < 0 else str(value)


def _categories(frame: pd.DataFrame) -> Table:
    names = ("cycles", "share", "exposed", "hidden", "unknown", "ambiguous")
    table = new_table((("category", "f"), *((n, "n") for n in names)), title="By category")
    for row in _rows(frame):
        figures = (grouped(int(row[n])) for n in names[2:])
        add_row(
            table,
            (
                Text(str(row["cause"]), style=cause_look(str(row["cause"])).colour),
                grouped(int(row["cycles"])), percentage(float(row["share"])), *figures,
            ),
        )  # fmt: skip
    return table


def _time(analysis: Analysis, frame: pd.DataFrame) -> Table:
    causes = [str(c) for c in analysis.causes["cause"]]
    table = new_table(
        (*((n, "n") for n in ("se", "begin", "end", "in flight", "traced")), ("largest causes", "t")),
        title="Over time",
    )
    for row in _rows(frame):
        largest = sorted(((int(row[c]), c) for c in causes if row.get(c, 0) > 0), reverse=True)[:3]
        text = Text(", ").join(
            Text(f"{cause_look(c).short} {grouped(n)}", style=cause_look(c).colour) for n, c in largest
        )
        add_row(
            table,
            (
                str(row["se"]), grouped(int(row["begin"])), grouped(int(row["end"])),
                f"{row['in_flight']:.1f}", f"{row['traced']:.1f}", text,
            ),
        )  # fmt: skip
    return table


def _banks(by: str, frame: pd.DataFrame, count: int, console: Console) -> None:
    if not len(frame):
        console.print(Text("no LDS access was executed" if by == "bank" else "no conflict of VGPR banks"))
        return
    if by == "bank":
        console.print(Text(f"conflicts: {frame['evidence'].iloc[0]}", style="dim"))
    columns = _BANK_COLUMNS[by]
    titles = {"bank": "LDS bank conflicts", "vgpr-bank": "VGPR bank conflicts"}
    names = {"text": "instruction", "clash": "lanes in one bank" if by == "bank" else "clash"}
    table = new_table(((names.get(n, n), k) for n, k in columns), title=titles[by])
    for row in _rows(frame[:count]):
        add_row(table, [_cell(row[n]) for n, _ in columns])
    print_table(table, console)


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, str):
        return clean(value)
    return f"{value:.2f}" if isinstance(value, float) and value != int(value) else grouped(int(value))


def _loops(analysis: Analysis, frame: pd.DataFrame, console: Console) -> None:
    texts = analysis.lines["text"].tolist()
    gaps = analysis.detail.gaps if analysis.detail is not None else None
    for row in _rows(frame):
        for text in _loop(row):
            console.print(text, soft_wrap=True)
        if gaps is None or row["matrix_ops"] is None or row["matrix_ops"] != row["matrix_ops"]:
            continue
        for gap in _rows(gaps[gaps["loop"] == row["loop"]][:_GAPS]):
            console.print(_gap(gap, texts), soft_wrap=True)


def _loop(row: dict[str, Any]) -> Iterable[Text]:
    number = int(row["loop"])
    name = "Whole kernel" if number < 0 else f"Loop {number}"
    inside = "" if number < 0 or int(row["parent"]) < 0 else f" in loop {row['parent']}"
    head = Text(f"{name}{inside}", style="bold")
    head.append(f"  lines {row['first_line']} to {row['last_line']}, {row['waves']} waves", style="")
    yield head

    def line(label: str, text: str) -> Text:
        return Text(f"  {label:<18}", style="dim").append(text, style="")

    if number >= 0:
        yield line(
            "iterations", f"{grouped(int(row['iterations']))} in {grouped(int(row['runs']))} runs, "
            f"{row['iterations_min']} to {row['iterations_max']} a wave",
        )  # fmt: skip
        if _known(row["t_iter_mean"]):
            steps = ", ".join(
                f"{k} {row[f't_iter_{k}']:,.0f}" for k in ("min", "p10", "median", "p90", "max")
            )
            yield line("cycles/iteration", f"{steps}, mean {row['t_iter_mean']:,.1f}")
        yield line(
            "wave cycles", f"prologue {grouped(int(row['prologue']))}, loop {grouped(int(row['cycles']))} "
            f"({percentage(float(row['share']))}), between runs {grouped(int(row['between']))}, "
            f"epilogue {grouped(int(row['epilogue']))}",
        )  # fmt: skip
    yield line(
        "waits", f"exposed {grouped(int(row['exposed']))}, hidden {grouped(int(row['hidden']))}, "
        f"unknown {grouped(int(row['unknown']))}; issue {grouped(int(row['issue']))}",
    )  # fmt: skip
    if _known(row["matrix_ops"]):
        yield line(
            "matrix pipe", f"busy {percentage(float(row['matrix_efficiency']))} of its SIMDs' time: "
            f"{grouped(int(row['matrix_ops']))} instructions, {grouped(int(row['matrix_cycles']))} cycles; "
            f"idle between them {grouped(int(row['matrix_idle']))}",
        )  # fmt: skip
        if _known(row["matrix_gap_mean"]):
            mean, median = row["matrix_gap_mean"], row["matrix_gap_median"]
            yield line("matrix issue gap", f"mean {mean:,.1f}, median {median:,.1f}")
        needed, present = row["cover_needed"], row["cover_present"]
        each = "an iteration" if number >= 0 else "a wave"
        yield line("LDS cover", f"needed {needed:,.1f}, present {present:,.1f} matrix cycles {each}")
    if row["skeleton"]:
        yield line("skeleton", str(row["skeleton"]))


def _known(value: Any) -> bool:
    return value is not None and value == value


def _gap(row: dict[str, Any], texts: list[str]) -> Text:
    look = cause_look(str(row["cause"]))
    out = Text(f"  {'matrix pipe idle':<18}", style="dim")
    out.append(f"{grouped(int(row['cycles']))} ", style="")
    out.append(look.short, style=look.colour)
    blamed = int(row["culprit"]) if int(row["culprit"]) >= 0 else int(row["line"])
    if blamed >= 0:
        out.append(f" line {blamed}: {clean(texts[blamed])}", style="")
    return out
