"""``--estimate`` of ``suggest`` and ``apply``, and how they print an estimated gain."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from isaprof.capture.model import Capture
    from isaprof.transforms.model import Estimate
    from isaprof.transforms.retime import Timing


class Choice(StrEnum):
    """How much may be timed for estimates."""

    AUTO = "auto"
    RETIME = "retime"
    BOUND = "bound"


EstimateChoice = Annotated[
    Choice,
    typer.Option(
        "--estimate",
        help="retime: time the edited code on the waves of the capture; bound: only from the stalls in it; "
        "auto: retime within a few seconds. Percentages are cycles saved, (before - after) / before.",
    ),
]


def timing(capture: Capture, choice: Choice, launch: Path | None = None, shape: str | None = None) -> Timing:
    """What findings are timed on."""
    from isaprof.transforms.retime import Timing, usual_budget

    if choice is Choice.BOUND:
        return Timing(problem="--estimate bound")
    found = Timing(capture, budget=usual_budget() if choice is Choice.AUTO else None)
    if launch is not None or shape is not None:
        found.prepare(launch, shape)  # now: what does not fit is the user's to know
    return found


def gain(e: Estimate) -> list[str]:
    """Lines: the gain, and how it was found. Cycles saved are positive."""
    from isaprof.transforms.model import Method

    if e.total is None or (e.upper is None and e.expected is None):
        return ["gain: unknown without a capture", f"  {e.basis}"]
    if e.method is Method.BOUND or e.span is None:
        arithmetic = "" if e.expected is None else f"; its stalls support {_cycles(e.expected, e.total)}"
        return [
            f"gain: bound: at most {_cycles(e.upper, e.total)} of the {e.total:,} wave cycles "
            f"({e.provenance}){arithmetic}",
            f"  not re-timed: {e.why or 'no waves to time'}",
            f"  {e.basis}",
        ]
    span, *saved = e.span
    return [
        f"gain: re-timed on {e.provenance} waves, the change is modelled:",
        f"  kernel span  {_range(saved, span)} of {span:,} saved",
        f"  wave cycles  {_range([e.expected, e.low, e.high], e.total)} of {e.total:,} saved",
        f"  {e.basis}",
    ]


#: where several findings have a gain
APART = "Each gain is of that edit alone: they do not add up."


def _range(cycles: list[int | None] | list[int], of: int) -> str:
    expected, low, high = cycles
    shares = "" if not of or low is None or high is None else f", {low / of:.1%} to {high / of:.1%}"
    return f"{_cycles(expected, of)}, interval {low:,} to {high:,}{shares},"


def _cycles(cycles: int | None, of: int) -> str:
    """``4,724 cycles (27.5 %)``."""
    if cycles is None:
        return "unknown"
    return f"{cycles:,} cycles" + (f" ({cycles / of:.1%})" if of else "")
