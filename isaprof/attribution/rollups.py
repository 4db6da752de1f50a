"""Sums of the segments by anything: one set of columns for every view of the same cycles.

Each roll-up is a partition: its cycles sum to those of all traced waves. The
columns after the key are ``hits`` (records), ``cycles``, ``issue``, ``stall``,
``idle``, ``launch``, ``drain`` (these five sum to cycles; ``issue`` includes
time inside a barrier that the trace books there), ``exposed``, ``hidden``,
``covered``, ``unknown`` (of the waits), ``share`` (0..1 of all wave cycles), ``cause`` (the
largest that is neither issue nor launch, "" if none) and ``cause_cycles``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.exposure import SPLIT
from isaprof.attribution.model import CAUSES, Cause
from isaprof.attribution.partition import PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.exposure import Exposure
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments

    Ints = NDArray[np.int64]

_NAMES = np.array([str(c) for c in CAUSES], dtype=object)
_FREE = [CAUSE_CODE[c] for c in (Cause.ISSUE, Cause.LAUNCH)]


def roll(
    records: Records, s: Segments, e: Exposure, keys: Mapping[str, Ints], record_keys: Mapping[str, Ints]
) -> pd.DataFrame:
    """Sums by ``keys`` (one value a segment); ``record_keys``: the same for each record, for ``hits``."""
    names = list(keys)
    data: dict[str, Any] = dict(keys) | {"cycles": s.cycles}
    for code, part in enumerate(PARTS):
        data[part] = np.where(s.part == code, s.cycles, 0)
    data |= {name: getattr(e, name) for name in SPLIT}
    out = pd.DataFrame(data).groupby(names, as_index=False, sort=True).sum()
    hits = pd.DataFrame(dict(record_keys)).groupby(names, as_index=False, sort=True).size()
    out = out.merge(hits.rename(columns={"size": "hits"}), on=names, how="left")
    out["hits"] = out["hits"].fillna(0).astype(np.int64)
    total = int(s.cycles.sum())
    out["share"] = out["cycles"] / total if total else 0.0
    costly = ~np.isin(s.cause, _FREE)
    by_cause = pd.DataFrame({k: v[costly] for k, v in keys.items()})
    by_cause["cause"], by_cause["cause_cycles"] = s.cause[costly], s.cycles[costly]
    by_cause = by_cause.groupby([*names, "cause"], as_index=False, sort=True).sum()
    by_cause = by_cause.sort_values("cause_cycles", kind="stable").drop_duplicates(names, keep="last")
    out = out.merge(by_cause, on=names, how="left")
    cause = out["cause"].fillna(-1).to_numpy(np.int64)
    out["cause"] = np.where(cause >= 0, _NAMES[cause], "")
    out["cause_cycles"] = out["cause_cycles"].fillna(0).astype(np.int64)
    lives = ("issue", "stall", "idle", "launch", "drain")
    columns = ["hits", "cycles", *lives, *SPLIT, "share", "cause", "cause_cycles"]
    return out[[*names, *columns]]


def by_cause(s: Segments, e: Exposure) -> pd.DataFrame:
    """cause, cycles, share, exposed, hidden, covered, unknown, ambiguous (cycles), largest first."""
    split = {name: getattr(e, name) for name in SPLIT}
    unclear = np.where(s.ambiguous, s.cycles, 0)
    frame = pd.DataFrame({"cause": s.cause, "cycles": s.cycles, **split, "ambiguous": unclear})
    out = frame.groupby("cause", as_index=False, sort=True).sum()
    out["cause"] = _NAMES[out["cause"].to_numpy(np.int64)]
    out.insert(2, "share", out["cycles"] / max(int(s.cycles.sum()), 1))
    return out.sort_values("cycles", ascending=False, kind="stable", ignore_index=True)


def over_time(records: Records, s: Segments, capture_waves: pd.DataFrame, bins: int) -> pd.DataFrame:
    """What the traced waves did over the time of each shader engine, in ``bins`` equal steps.

    Columns: se, bin, begin, end (cycles of that engine's clock), in_flight (mean
    number of resident waves, with or without records, of the engine), traced
    (mean number of traced ones), and one column of wave cycles for each cause
    that occurs; these sum to the cycles of the traced waves.
    """
    waves = records.waves
    frames = []
    used = np.unique(s.cause)
    all_se = capture_waves["se"].to_numpy(np.int64, na_value=-1)
    all_begin = capture_waves["begin"].to_numpy(np.int64, na_value=0)
    all_end = capture_waves["end"].to_numpy(np.int64, na_value=0)
    for se in np.unique(waves.se).tolist():
        mine = np.flatnonzero(waves.se == se)
        low, high = int(waves.begin[mine].min()), int(waves.end[mine].max())
        if high <= low:
            continue
        edges = low + (high - low) * np.arange(bins + 1) // bins
        edges = np.unique(edges)
        width = np.maximum(np.diff(edges), 1)
        at = np.isin(s.w, mine)
        begin, end, cause = s.begin[at], s.begin[at] + s.cycles[at], s.cause[at]
        data: dict[str, Any] = {
            "se": se, "bin": np.arange(len(edges) - 1), "begin": edges[:-1], "end": edges[1:],
            "in_flight": _spread(all_begin[all_se == se], all_end[all_se == se], edges) / width,
            "traced": _spread(waves.begin[mine], waves.end[mine], edges) / width,
        }  # fmt: skip
        for code in used.tolist():
            pick = cause == code
            data[str(CAUSES[code])] = _spread(begin[pick], end[pick], edges)
        frames.append(pd.DataFrame(data))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _spread(begin: Ints, end: Ints, edges: Ints) -> Ints:
    """How much of all stretches lies between each two ``edges``: exact, without a loop over stretches."""
    times = np.concatenate((begin, end))
    step = np.concatenate((np.ones(len(begin), np.int64), -np.ones(len(end), np.int64)))
    order = np.argsort(times, kind="stable")
    times, height = times[order], np.cumsum(step[order])
    if not len(times):
        return np.zeros(len(edges) - 1, np.int64)
    area = np.concatenate(([0], np.cumsum(height[:-1] * np.diff(times))))
    at = np.searchsorted(times, edges, side="right") - 1
    inside = np.maximum(at, 0)
    upto = np.where(at >= 0, area[inside] + height[inside] * (edges - times[inside]), 0)
    return np.asarray(np.diff(upto), np.int64)


def life(s: Segments, w: int, begin: int, end: int, bins: int) -> pd.DataFrame:
    """One wave's life in ``bins`` equal steps: begin, end, and cycles by cause."""
    at = s.w == w
    edges = np.unique(begin + (end - begin) * np.arange(bins + 1) // max(bins, 1))
    data: dict[str, Any] = {"begin": edges[:-1], "end": edges[1:]}
    for code in np.unique(s.cause[at]).tolist():
        pick = at & (s.cause == code)
        data[str(CAUSES[code])] = _spread(s.begin[pick], s.begin[pick] + s.cycles[pick], edges)
    return pd.DataFrame(data)


def in_flight(capture_waves: pd.DataFrame) -> pd.DataFrame:
    """Resident waves after every change: se, time, waves (all of the capture, with or without records)."""
    begin, end, se = (capture_waves[c].to_numpy(np.int64, na_value=0) for c in ("begin", "end", "se"))
    frame = pd.DataFrame(
        {
            "se": np.concatenate((se, se)),
            "time": np.concatenate((begin, end)),
            "waves": np.repeat(np.array([1, -1], np.int64), len(begin)),
        }
    )
    out = frame.groupby(["se", "time"], as_index=False, sort=True).sum()
    out["waves"] = out.groupby("se")["waves"].cumsum()
    return out
