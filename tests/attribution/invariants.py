"""The invariants that hold for the Analysis of every capture, real or generated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isaprof.attribution.exposure import SPLIT
from isaprof.attribution.model import CAUSES, Analysis
from isaprof.capture.model import Capture


def amd_totals(capture: Capture) -> dict[int, tuple[int, int, int, int]]:
    """line -> (hits, latency, stall, idle) by AMD's definitions, the plain way."""
    out: dict[int, tuple[int, int, int, int]] = {}
    insts = capture.insts
    for wave in capture.waves.itertuples():
        prev = wave.begin
        rows = insts[insts["wave"] == wave.wave].sort_values("seq")
        for line, time, stall, duration in zip(
            rows["line"], rows["time"], rows["stall"], rows["duration"], strict=True
        ):
            if pd.isna(line):
                continue
            h, la, st, idle = out.get(int(line), (0, 0, 0, 0))
            out[int(line)] = (h + 1, la + duration, st + stall, idle + max(0, time - prev))
            prev = max(prev, time + duration)
    return out


def check(capture: Capture, analysis: Analysis) -> None:
    """Conservation, tiling, AMD's totals, sums of every table: exact integers."""
    s, lines, waves = analysis.segments, analysis.lines, analysis.waves
    assert (s["cycles"] > 0).all()
    per_wave = s.groupby("wave")["cycles"].sum()
    assert {w: per_wave.get(w, 0) for w in waves["wave"]} == dict(
        zip(waves["wave"], waves["end"] - waves["begin"], strict=True)
    )
    for wave, rows in s.groupby("wave"):
        begin, end = rows["begin"].to_numpy(), (rows["begin"] + rows["cycles"]).to_numpy()
        whole = waves[waves["wave"] == wave].iloc[0]
        assert (begin[0], end[-1]) == (whole["begin"], whole["end"])
        assert (begin[1:] == end[:-1]).all()
    assert int(s["cycles"].sum()) == analysis.total_cycles == int(analysis.causes["cycles"].sum())
    assert set(analysis.causes["cause"]) <= {str(c) for c in CAUSES}
    totals = amd_totals(capture)
    for row in lines.itertuples():
        assert (row.hits, row.latency, row.stall, row.idle) == totals.get(row.line, (0, 0, 0, 0))
        assert row.wait == row.stall + row.idle
    sums = analysis.line_causes.groupby("line")["cycles"].sum()
    assert {i: sums.get(i, 0) for i in lines["line"]} == dict(zip(lines["line"], lines["wait"], strict=True))
    held = s[(s["part"] == "issue") & (s["cause"] != "issue") & (s["line"] >= 0)]["cycles"].sum()
    assert int(analysis.culprits["cycles"].sum()) == int(lines["wait"].sum() + held)
    causes = [c for c in waves.columns if c in {str(x) for x in CAUSES}]
    assert (waves[causes].sum(axis=1) == waves["cycles"]).all()
    assert analysis.overlap_cycles >= 0
    ranks = lines.loc[lines["rank"] > 0].sort_values("rank")
    assert list(ranks["rank"]) == list(range(1, len(ranks) + 1))
    assert ranks["lost"].is_monotonic_decreasing
    assert ((lines["heat"] >= 0) & (lines["heat"] <= 1)).all()
    assert np.issubdtype(s["cycles"].dtype, np.integer)


def check_detail(analysis: Analysis) -> None:
    """Exposed, hidden, covered and unknown split stalls and waits exactly; every roll-up is a partition."""
    detail = analysis.detail
    assert detail is not None
    lines, table = detail.lines, detail.exposure
    assert (table[list(SPLIT)] >= 0).all(axis=None)
    assert (table[list(SPLIT)].sum(axis=1) == table["cycles"]).all()
    assert (lines[list(SPLIT)].sum(axis=1) == lines["wait"] + lines["held"]).all()
    assert (lines[["stall_" + name for name in SPLIT]].sum(axis=1) == lines["stall"]).all()
    # time in a barrier or trap that is booked as issue is a wait of its line, too, as by category
    s = analysis.segments
    held = s[(s["part"] == "issue") & (s["cause"] != "issue") & (s["line"] >= 0)]
    by_line = held.groupby("line")["cycles"].sum()
    assert lines["held"].tolist() == by_line.reindex(lines["line"], fill_value=0).tolist()
    of_lines, by_cause = table.groupby("cause")[list(SPLIT)].sum(), detail.by("category").set_index("cause")
    known = [name for name in SPLIT if name != "unknown"]  # there the cycles are, too, that found no room
    assert (of_lines[known] == by_cause[known].reindex(of_lines.index, fill_value=0)).all(axis=None)
    parts = table.groupby(["part"])["cycles"].sum()
    assert parts.get("stall", 0) == lines["stall"].sum()
    assert parts.get("launch", 0) + parts.get("idle", 0) == lines["idle"].sum()
    by_victim = detail.by("culprit").groupby("victim")[list(SPLIT)].sum()
    assert by_victim.sum().sum() == table["cycles"].sum()
    for name in ("source", "block", "kernel", "category", "se", "cu", "simd", "wave"):
        frame = detail.by(name)
        assert int(frame["cycles"].sum()) == analysis.total_cycles, name
    causes = [str(c) for c in analysis.causes["cause"]]
    time = detail.by("time")
    assert not len(time) or int(time[causes].sum().sum()) == analysis.total_cycles
    for wave, cycles in zip(analysis.waves["wave"], analysis.waves["cycles"], strict=True):
        life = detail.life(int(wave), 7).drop(columns=["begin", "end"])
        assert int(life.sum().sum()) == cycles
    for row in detail.loops.itertuples():
        if row.waves == len(analysis.waves):
            whole = row.prologue + row.cycles + row.between + row.epilogue
            assert whole == analysis.total_cycles
    if len(detail.in_flight):
        assert (detail.in_flight.groupby("se")["waves"].last() == 0).all()
