"""Groupings of an Analysis that views show as tables of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isaprof.attribution.model import Cause

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis


def by_culprit(analysis: Analysis) -> pd.DataFrame:
    """Wait cycles by the line to blame, largest first; launch is left out, nobody waits there for a line.

    Columns: culprit (-1: nobody is named), text ("" for -1), cause (the
    largest of its causes), cycles (all waits charged to it), share (of all
    wave cycles, 0..1), victims (number of lines that waited), victim (the
    line that waited longest).
    """
    import pandas as pd

    blame = analysis.culprits
    text = analysis.lines["text"].tolist()
    blame = blame[~blame["cause"].astype(str).isin((Cause.LAUNCH, Cause.ISSUE))]
    ordered = blame.assign(cause=blame["cause"].astype(str)).sort_values(
        ["culprit", "cycles"], ascending=[True, False], kind="stable"
    )
    groups = ordered.groupby("culprit", sort=False)
    out = pd.DataFrame(
        {
            "cause": groups["cause"].first(),
            "cycles": groups["cycles"].sum(),
            "victims": groups["victim"].nunique(),
            "victim": groups["victim"].first(),
        }
    ).reset_index()
    out["text"] = [text[c] if c >= 0 else "" for c in out["culprit"].tolist()]
    out["share"] = out["cycles"] / max(analysis.total_cycles, 1)
    columns = ["culprit", "text", "cause", "cycles", "share", "victims", "victim"]
    return out[columns].sort_values("cycles", ascending=False, kind="stable", ignore_index=True)


def explained_waits(analysis: Analysis) -> tuple[int, int]:
    """(cycles with a named culprit, all cycles) of stalls on a wait counter.

    The figure of merit of the attribution: of the time spent in waits for
    loads, stores, LDS, SMEM, exports and asynchronous copies, how much names
    the instruction that is to blame.
    """
    waits = analysis.culprits[analysis.culprits["cause"].astype(str).str.startswith("wait: ")]
    named = waits.loc[waits["culprit"] >= 0, "cycles"].sum()
    return int(named), int(waits["cycles"].sum())
