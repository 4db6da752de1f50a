"""An A/B result as a table and as JSON (docs/ab.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from isaprof.ab.model import NO_SPREAD
from isaprof.views.diff import MARKS, signed
from isaprof.views.layout import add_row, new_table, print_line, print_table, records
from isaprof.views.palette import clean, grouped
from isaprof.views.table import standard_output

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from rich.console import Console

    from isaprof.ab.model import Arm, Change, Check, OutputDifference, Result

SCHEMA_VERSION = 1
NO_CAUSE = "no stall"


def render(result: Result, *, console: Console | None = None, hottest: int = 20) -> None:
    """Print correctness, cycles, and the lines the change comes from."""
    console = console or standard_output()
    r = result
    label = r.a.samples[0].provenance
    title = Text(clean(r.a.kernel), style="bold")
    title.append(f"  {clean(r.a.arch)}  ").append(label, style="bold yellow")
    shape = ",".join(f"{k}={v}" for k, v in r.shape.items())
    title.append(f"  {shape}")
    console.print(title, soft_wrap=True)
    for arm in (r.a, r.b):
        name = "" if arm.kernel == r.a.kernel else f"  kernel {clean(arm.kernel)}"
        print_line(console, f"{arm.name}: {clean(arm.path)}{name}  .text {arm.text_sha256[:12]}")
    for note in r.notes:
        print_line(console, f"note: {clean(note)}", "yellow")
    if r.workgroups[0] < r.workgroups[1]:
        print_line(console, f"note: {r.workgroups[0]} of {r.workgroups[1]} workgroups ran", "yellow")
    console.print()
    _correctness(r, console)
    console.print()
    _cycles(r, console, label)
    console.print()
    edited_lines(r, console, hottest)


def _correctness(r: Result, console: Console) -> None:
    table = new_table(
        (("seed", "n"), (f"{r.a.name} against reference", "f"), (f"{r.b.name} against reference", "f"),
         (f"{r.b.name} against {r.a.name}", "f")),
        title="Output, with two poisons",
    )  # fmt: skip
    for a, b, d in zip(r.a.checks, r.b.checks, r.outputs, strict=True):
        add_row(table, (str(a.seed), _check(a), _check(b), _agreement(d)))
    print_table(table, console)
    if r.problem:
        print_line(console, clean(r.problem), "bold red")


def _check(check: Check) -> Text:
    v = check.verification
    word = {True: "verified", False: "WRONG", None: "no reference"}[check.ok]
    figures = [
        f"{name} {value:.3g}"
        for name, value in (("abs", v.max_abs_err), ("rel", v.max_rel_err))
        if value is not None
    ]
    if v.cosine is not None:
        figures.append(f"cosine {v.cosine:.7f}")
    return Text(", ".join([word, *figures]), style="bold red" if check.ok is False else "")


def _agreement(d: OutputDifference) -> Text:
    if d.equal == d.compared and d.compared:
        return Text(f"all {grouped(d.compared)} {'bitwise ' if d.bitwise else ''}equal")
    word = "within tolerance" if d.within else "BEYOND TOLERANCE"
    parts = [f"{word}: {grouped(d.equal)} of {grouped(d.compared)} {'bitwise ' if d.bitwise else ''}equal"]
    if d.max_abs is not None and d.max_rel is not None:
        parts.append(f"abs {d.max_abs:.3g}, rel {d.max_rel:.3g}")
    if d.cosine is not None:
        parts.append(f"cosine {d.cosine:.7f}")
    return Text(", ".join(parts), style="" if d.within else "bold red")


def verdict(change: Change) -> str:
    """``1.23x faster`` and the like, of a figure where less is better."""
    if not change.a or not change.b:
        return "no cycles to compare"
    if change.difference == 0:
        return "the same"
    faster = change.difference < 0
    times = change.a / change.b if faster else change.b / change.a
    return f"{times:.3f}x {'faster' if faster else 'slower'} ({change.percent:+.2f} %)"


def _cycles(r: Result, console: Console, label: str) -> None:
    table = new_table(
        ((f"cycles, {label}", "f"), (r.a.name, "n"), (r.b.name, "n"), ("change", "n"), ("ratio", "n")),
    )
    for name, change in (
        ("span, first begin to last end", r.span),
        ("wave cycles, all waves", r.wave_cycles),
        ("per wave", r.per_wave),
    ):
        add_row(
            table,
            (
                name, f"{change.a:,.1f}".removesuffix(".0"), f"{change.b:,.1f}".removesuffix(".0"),
                signed(change.difference), "-" if change.ratio is None else f"{change.ratio:.4f}",
            ),
        )  # fmt: skip
    print_table(table, console)
    but = "" if r.correct else "; the outputs or waits are wrong, see above"
    print_line(console, f"{r.b.name} by span: {verdict(r.span)}, {label}{but}", "bold")
    print_line(console, NO_SPREAD, "dim")


def edited_lines(r: Result, console: Console, hottest: int) -> None:
    """Edited lines in code order, then the other lines whose cycles changed most, then the sum."""
    c = r.comparison
    print_line(console, "instructions: " + ", ".join(f"{n} {s}" for s, n in c.counts.items() if n), "bold")
    rows = c.rows
    edited = rows[~rows["status"].isin(("same", "residual"))]
    shown = edited.head(max(hottest, 1) * 5)
    if len(shown):
        _rows_table(r, f"Edited lines ({len(edited)})", shown, console)
        if len(edited) > len(shown):
            print_line(console, f"... and {len(edited) - len(shown)} more: --json lists all", "dim")
    others = rows[(rows["rank"] > 0) & ~rows.index.isin(edited.index)].sort_values("rank").head(hottest)
    if len(others):
        _rows_table(r, f"Other lines whose cycles changed most ({len(others)})", others, console)
    print_line(
        console,
        f"change of wave cycles: lines {signed(r.lines_delta)}, launch and drain {signed(r.residual_delta)}, "
        f"together {signed(c.delta_cycles)}",
        "bold",
    )


def _rows_table(r: Result, title: str, frame: pd.DataFrame, console: Console) -> None:
    names = (r.a.name, r.b.name)
    table = new_table(
        (("", "f"), *((f"line {n}", "n") for n in names), ("instruction", "t"),
         *((f"cycles {n}", "n") for n in names), ("change", "n"), ("cause", "f")),
        title=title,
    )  # fmt: skip
    for row in records(frame):
        a, b = clean(str(row["text_a"])), clean(str(row["text_b"]))
        text = f"{a}\n{b}" if row["status"] == "changed" else (b or a)
        add_row(
            table,
            (
                MARKS.get(str(row["status"]), "?"),
                *(str(row[k]) if row[k] >= 0 else "" for k in ("line_a", "line_b")), text,
                grouped(int(row["cycles_a"])), grouped(int(row["cycles_b"])), signed(int(row["delta"])),
                cause_change(row),
            ),
        )  # fmt: skip
    print_table(table, console)


def cause_change(row: Mapping[str, Any]) -> str:
    """The main cause of a row's stall, ``A's -> B's`` where an aligned line's changed; "no stall": has none.

    A's cycles stand beside B's, so B's cause alone would name the wrong one for A's.
    """
    a, b = (clean(x) if isinstance(x, str) else "" for x in (row["cause_a"], row["cause_b"]))
    if a == b or row["line_a"] < 0 or row["line_b"] < 0:
        return b or a
    return f"{a or NO_CAUSE} -> {b or NO_CAUSE}"


# -- JSON ----------------------------------------------------------------------
_ROW = (
    "status", "line_a", "line_b", "text_a", "text_b", "cause_a", "cause_b", "cycles_a", "cycles_b", "delta",
    "per_wave_a", "per_wave_b", "delta_per_wave",
)  # fmt: skip
_CAUSE = ("cause", "cycles_a", "cycles_b", "delta", "per_wave_a", "per_wave_b", "delta_per_wave")


def to_dict(result: Result) -> dict[str, Any]:
    """The documented object; plain Python values only."""
    r = result
    c = r.comparison
    changed = c.rows[(c.rows["status"] != "same") | (c.rows["delta"] != 0)]
    return {
        "schema_version": SCHEMA_VERSION,
        "provenance": r.a.samples[0].provenance,
        "arch": r.a.arch,
        "shape": r.shape,
        "workgroups": {"run": r.workgroups[0], "total": r.workgroups[1]},
        "correct": r.correct,
        "problem": r.problem,
        "in_flight": list(r.in_flight),
        "a": _arm(r.a),
        "b": _arm(r.b),
        "outputs": [_output(d) for d in r.outputs],
        "cycles": {
            "span": _change(r.span),
            "wave_cycles": _change(r.wave_cycles),
            "per_wave": _change(r.per_wave),
        },
        "spread": None,
        "spread_note": NO_SPREAD,
        "difference": {
            "counts": c.counts,
            "rows": [_row(row) for row in records(changed)],
            "causes": [{k: _plain(row[k]) for k in _CAUSE} for row in records(c.causes)],
            "lines_delta": r.lines_delta,
            "residual_delta": r.residual_delta,
            "total_delta": int(c.delta_cycles),
        },
        "notes": [*r.notes, *c.notes],
    }


def _arm(arm: Arm) -> dict[str, Any]:
    return {
        "path": arm.path,
        "kernel": arm.kernel,
        "sha256": arm.sha256,
        "text_sha256": arm.text_sha256,
        "launch_file": arm.launch_file,
        "capture": None if arm.capture is None else str(arm.capture),
        "verified": arm.verified,
        "checks": [
            {
                "seed": k.seed,
                "ok": k.ok,
                "message": k.message,
                "unwritten": k.unwritten,
                "unstable": k.unstable,
                "verification": k.verification.to_dict(),
            }
            for k in arm.checks
        ],
        "samples": [
            {
                "provenance": s.provenance,
                "waves": s.waves,
                "wave_cycles": s.wave_cycles,
                "per_wave": s.per_wave,
                "span_cycles": s.span_cycles,
            }
            for s in arm.samples
        ],
    }


def _output(d: OutputDifference) -> dict[str, Any]:
    return {
        "seed": d.seed,
        "compared": d.compared,
        "total": d.total,
        "equal": d.equal,
        "bitwise": d.bitwise,
        "max_abs": d.max_abs,
        "max_rel": d.max_rel,
        "rel_floor": d.rel_floor,
        "cosine": d.cosine,
        "beyond": d.beyond,
        "worst": d.worst,
        "within": d.within,
    }


def _change(c: Change) -> dict[str, Any]:
    return {"a": c.a, "b": c.b, "difference": c.difference, "ratio": c.ratio, "percent": c.percent}


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the comparison; the side that has no line has null."""
    out = {k: _plain(row[k]) for k in _ROW}
    for key in ("line_a", "line_b"):
        out[key] = out[key] if out[key] >= 0 else None
    return out


def _plain(value: Any) -> Any:
    """A plain Python value; NaN becomes None."""
    item = getattr(value, "item", None)
    value = item() if callable(item) else value
    return None if value != value else value
