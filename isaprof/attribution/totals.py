"""Lines of a capture that holds only sums of each instruction (rocprofv3's stats CSV)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.dispatch_counters import sentence
from isaprof.attribution.model import Analysis

if TYPE_CHECKING:
    from isaprof.capture.model import Capture


def with_totals(capture: Capture, analysis: Analysis) -> Analysis:
    """``analysis`` with the source's own sums where the capture has no record to sum.

    Hits, latency, stall and idle are AMD's; wait = stall + idle and issue =
    latency - stall follow. Shares are of the sum of both over all lines: launch
    and drain are in no such file. Causes and culprits need records and stay
    unknown. Captures with records are returned as they are.
    """
    totals = capture.totals
    if totals is None or len(capture.insts):
        return analysis
    lines = analysis.lines.copy()
    at = totals["line"].to_numpy(np.int64)
    for name in ("hits", "latency", "stall", "idle"):
        values = np.zeros(len(lines), np.int64)
        values[at] = totals[name].to_numpy(np.int64)
        lines[name] = values
    lines["wait"] = lines["stall"] + lines["idle"]
    lines["issue"] = (lines["latency"] - lines["stall"]).clip(lower=0)
    lines["lost"] = lines["wait"]
    hit = np.flatnonzero(lines["hits"].to_numpy(np.int64))
    if len(hit):  # idle of a kernel's first instruction is the wave's launch, no loss of an instruction
        lines.loc[hit[0], "lost"] = lines.loc[hit[0], "stall"]
    spent = (lines["wait"] + lines["issue"]).to_numpy(np.float64)
    lines["share"] = spent / spent.sum() if spent.any() else spent
    lost = lines["lost"].to_numpy(np.int64)
    lines["heat"] = lost / lost.max() if lost.any() else np.zeros(len(lines))
    rank = np.zeros(len(lines), np.int64)
    hot = np.lexsort((np.arange(len(lines)), -lost))
    hot = hot[lost[hot] > 0]
    rank[hot] = np.arange(1, len(hot) + 1)
    lines["rank"] = rank
    notes = [*analysis.notes, "sums of each instruction only: waves, times and causes are not in this format"]
    if counted := sentence(capture.meta):  # no roll-up of this capture could show them
        notes.append(counted)
    return replace(analysis, lines=lines, notes=tuple(notes), detail=None)
