"""The ladder of ``isaprof edit`` as a table and as JSON (docs/edit.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from isaprof.edit.markdown import change, edits
from isaprof.views.ab import edited_lines, verdict
from isaprof.views.layout import add_row, new_table, print_line, print_table
from isaprof.views.palette import clean, grouped
from isaprof.views.table import standard_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from isaprof.ab.model import Result
    from isaprof.edit.ladder import Outcome
    from isaprof.edit.model import Settings, Step

SCHEMA_VERSION = 1
_STYLES = {
    "verified": "green",
    "wrong": "bold red",
    "fault": "bold red",
    "does not assemble": "red",
    "rejected": "red",
}


def render_outcome(outcome: Outcome, *, console: Console | None = None, hottest: int = 10) -> None:
    """Print what a step came to: verdict, cycles, the edited lines and what they changed."""
    console = console or standard_output()
    s = outcome.step
    head = Text(s.name, style="bold")
    if s.description:
        head.append(f"  {clean(s.description)}", style="")
    console.print(head, soft_wrap=True)
    print_line(console, f"output: {_verdict(s)}", _STYLES.get(s.status.value, ""))
    if s.message:
        print_line(console, clean(s.message), "bold red" if s.status.value == "wrong" else "dim")
    if s.cycles is not None:
        print_line(
            console, f"{grouped(s.cycles)} cycles ({s.provenance}: span of {s.waves} waves on one unit)"
        )
    if outcome.previous is not None:
        _compared(outcome.previous, console)
    if outcome.original is not None and outcome.original is not outcome.previous:
        _compared(outcome.original, console)
    if outcome.previous is not None:
        console.print()
        edited_lines(outcome.previous, console, hottest)


def _verdict(step: Step) -> str:
    parts = [step.status.value]
    if step.max_rel_err is not None:
        parts.append(f"max rel error {step.max_rel_err:.3g}")
    if step.cosine is not None:
        parts.append(f"cosine {step.cosine:.7f}")
    if step.checks:
        parts.append(f"{len(step.checks)} seed{'s' * (len(step.checks) != 1)}")
    return ", ".join(parts)


def _compared(result: Result, console: Console) -> None:
    outputs = result.outputs
    equal = all(d.equal == d.compared for d in outputs)
    agree = "outputs equal" if equal else "outputs agree" if result.agree else "OUTPUTS DIFFER"
    print_line(console, f"against {result.a.name}: {verdict(result.span)}, {agree}", "bold")


def render_ladder(steps: Sequence[Step], *, console: Console | None = None) -> None:
    """Print all steps, one line each."""
    console = console or standard_output()
    table = new_table(
        (("step", "n"), ("from", "n"), ("what", "t"), ("edit", "f"), ("output", "f"), ("cycles", "n"),
         ("vs previous", "n"), ("vs original", "n")),
        title="Ladder",
    )  # fmt: skip
    for s in steps:
        add_row(
            table,
            (
                f"{s.step:02d}", "" if s.base is None else f"{s.base:02d}", clean(s.description or ""),
                edits(s.vs_previous), Text(s.status.value, style=_STYLES.get(s.status.value, "")),
                "" if s.cycles is None else grouped(s.cycles), change(s.vs_previous), change(s.vs_original),
            ),
        )  # fmt: skip
    print_table(table, console)


def to_dict(settings: Settings, steps: Sequence[Step], directory: str, step: Step | None) -> dict[str, Any]:
    """The documented object; ``step`` is the one this command was about."""
    return {
        "schema_version": SCHEMA_VERSION,
        "directory": directory,
        "kernel": settings.kernel,
        "arch": settings.arch,
        "shape": settings.shape,
        "seeds": list(settings.seeds),
        "step": None if step is None else step.to_dict(),
        "steps": [s.to_dict() for s in steps],
    }
