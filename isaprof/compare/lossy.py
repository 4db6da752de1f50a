"""Sums over a trace of which data is missing are no figures to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isaprof.errors import BadInput

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis


def refuse_lossy(*analyses: Analysis, allow: bool) -> None:
    """BadInput (``lossy``) where trace data is missing from a capture and ``allow`` is not set."""
    from isaprof.capture.model import LOSS_KINDS

    for analysis in analyses:
        lost = [w for w in analysis.meta.get("warnings", ()) if w.get("kind") in LOSS_KINDS]
        if lost and not allow:
            raise BadInput(
                f"trace data of {analysis.kernel} is missing: {lost[0].get('message', lost[0]['kind'])}",
                kind="lossy",
                hint="--allow-lossy compares what is there",
            )
