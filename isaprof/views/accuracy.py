"""Agreements of model and hardware as text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isaprof.accuracy.measure import Agreement, MatrixLoop
    from isaprof.accuracy.validate import Outcome

#: causes shown, those that differ most first
_CAUSES = 5


def percent(value: float | None, digits: int = 1) -> str:
    """A signed share as ``+1.5 %``, or ``-`` where there is none."""
    return "-" if value is None else f"{value * 100:+.{digits}f} %"


def share(value: float | None) -> str:
    """An unsigned share as ``92 %``."""
    return "-" if value is None else f"{value * 100:.0f} %"


def text(outcome: Outcome) -> str:
    """One capture for the terminal."""
    a = outcome.agreement
    if a is None:
        return f"{outcome.name}\n  not compared: {outcome.problem}\n"
    out = [f"{outcome.name}  {a.kernel}  {a.arch}  {_waves(a)}, calibration {a.calibration}"]
    rows = [("", "records", "measured", "modelled", "error")]
    rows += [
        (p.component.value, f"{p.count:,}", f"{p.measured:,}", f"{p.modelled:,}", percent(p.error))
        for p in a.parts
    ]
    out += _columns(rows)
    out.append(f"  {_gap_sentence(a)}")
    out.append(f"  {_wave_sentence(a)}")
    out.append(
        "  shares of wave cycles, measured and modelled: " + "; ".join(_cause(c) for c in a.causes[:_CAUSES])
    )
    out += [f"  {_loop_sentence(m)}" for m in a.loops]
    out += [f"  note: {n}" for n in a.notes]
    return "\n".join(out) + "\n"


def _waves(a: Agreement) -> str:
    known = (
        "all with executed addresses" if a.addresses == a.waves else f"{a.addresses} with executed addresses"
    )
    return f"{a.waves} wave{'s' if a.waves != 1 else ''} ({known})"


def _gap_sentence(a: Agreement) -> str:
    g = a.gaps
    return (
        f"warm issue gaps: {g.count:,}, {share(g.share)} within {g.tolerance} cycles, mean absolute error "
        f"{g.mean_absolute:.2f} cycles, sum {percent(g.error)}"
    )


def _wave_sentence(a: Agreement) -> str:
    median, worst = a.durations
    rank = "-" if a.rank is None else f"{a.rank:.2f}"
    return (
        f"wave duration: median error {median * 100:.1f} %, largest {worst * 100:.1f} %; {a.good_waves} of "
        f"{a.waves} waves within 15 % with every component within 25 %; hot lines rank correlation {rank}; "
        f"largest difference of a cause's share {a.cause_points:.1f} points, "
        f"{a.stall_points:.1f} among the cycles without launch and drain"
    )


def _cause(row: tuple[str, float, float]) -> str:
    name, measured, modelled = row
    return f"{name} {measured * 100:.1f} and {modelled * 100:.1f} %"


def _loop_sentence(m: MatrixLoop) -> str:
    what = "matrix loop" if m.loop else "matrix stretch"
    passes = "iterations" if m.loop else "passes"
    pairs = [
        ("cycles each", m.iteration), ("matrix issue gap", m.matrix_gap), ("LDS waits", m.lds_wait),
        ("LDS waits and issue", m.lds_all),
        ("barriers", m.barrier),
    ]  # fmt: skip
    said = ", ".join(
        f"{n} {a:,.0f} and {b:,.0f} ({percent((b - a) / a if a else None)})" for n, (a, b) in pairs
    )
    return f"{what} at {m.pc:#x}, {m.iterations:,} {passes}, measured and modelled: {said}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True))
        )
        for r in rows
    ]


def to_dict(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """All of it as JSON-able data."""
    from dataclasses import asdict

    def one(o: Outcome) -> dict[str, Any]:
        a = o.agreement
        if a is None:
            return {"name": o.name, "compared": False, "problem": o.problem}
        body = asdict(a)
        body["parts"] = [{**asdict(p), "component": p.component.value, "error": p.error} for p in a.parts]
        body["gaps"] = {**asdict(a.gaps), "share": a.gaps.share, "error": a.gaps.error}
        body["causes"] = [{"cause": n, "measured": x, "modelled": y} for n, x, y in a.causes]
        body["cause_points"], body["stall_points"] = a.cause_points, a.stall_points
        return {"name": o.name, "compared": True, **body}

    return {"schema_version": 1, "captures": [one(o) for o in outcomes]}


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The tables of docs/accuracy.md."""
    done = [(o.name, o.agreement) for o in outcomes if o.agreement is not None]
    head = [
        "capture",
        "waves",
        "warm gaps",
        "within",
        "sum",
        "wave duration",
        "largest cause difference",
        "without launch and drain",
        "rank",
    ]
    rows = [
        [
            name, str(a.waves), str(a.gaps.count), f"{share(a.gaps.share)} in {a.gaps.tolerance}",
            percent(a.gaps.error), f"{a.durations[0] * 100:.1f} %", f"{a.cause_points:.1f} points",
            f"{a.stall_points:.1f} points",
            "-" if a.rank is None else f"{a.rank:.2f}",
        ]
        for name, a in done
    ]  # fmt: skip
    out = ["### Warm stretches and whole waves", "", *table(head, rows), "", "### Components", ""]
    names = list(dict.fromkeys(p.component.value for _, a in done for p in a.parts))
    rows = [
        [name, *(percent(next((p.error for p in a.parts if p.component.value == n), None), 0) for n in names)]
        for name, a in done
    ]
    out += table(["capture", *names], rows)
    loops = [(name, m) for name, a in done for m in a.loops]
    if loops:
        out += ["", "### Matrix loops", ""]
        out += [f"- {name}: {_loop_sentence(m)}" for name, m in loops]
    notes = [(name, n) for name, a in done for n in a.notes]
    skipped = [(o.name, o.problem) for o in outcomes if o.agreement is None]
    if notes or skipped:
        out += ["", "### Notes", ""]
        out += [f"- {name}: {n}" for name, n in notes]
        out += [f"- {name}: not compared: {p}" for name, p in skipped]
    return "\n".join(out) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, line by line."""
    return [
        "| " + " | ".join(head) + " |",
        "| " + " | ".join("---" for _ in head) + " |",
        *("| " + " | ".join(r) + " |" for r in rows),
    ]
