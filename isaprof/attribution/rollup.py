"""Sums of the segments: by line, by cause, by culprit, by wave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.attribution.conflicts import ADDRESSES_FROM
from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.model import CAUSES, Analysis, Cause
from isaprof.attribution.partition import ISSUE, PARTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.partition import Partition
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode
    from isaprof.capture.model import Capture

_NAMES = np.array([str(c) for c in CAUSES], dtype=object)
_FREE = tuple(CAUSE_CODE[c] for c in (Cause.ISSUE, Cause.LAUNCH))  #: causes that are no loss at a line


def roll_up(
    capture: Capture, code: StaticCode, records: Records, tiles: Partition, segments: Segments
) -> Analysis:
    """All tables of the Analysis."""
    s, waves = segments, records.waves
    line = np.where(s.r >= 0, records.line[s.r] if len(records) else -1, -1)
    seq = np.where((s.r >= 0) & (s.part != 0), records.seq[s.r] if len(records) else -1, -1)
    total = int(s.cycles.sum())
    victims, by_cause = _waits(records, segments, line)
    lines = _lines(capture, code, records, tiles, segments, line, by_cause, victims, total)
    frame = pd.DataFrame(
        {
            "wave": waves.wave[s.w], "seq": seq, "line": line,
            "part": _category(s.part, PARTS),
            "cause": _category(s.cause, CAUSES),
            "culprit": s.culprit, "ambiguous": s.ambiguous, "begin": s.begin, "cycles": s.cycles,
        }
    )  # fmt: skip
    return Analysis(
        provenance=str(capture.provenance),
        arch=capture.arch,
        kernel=capture.kernel,
        segments=frame,
        lines=lines,
        line_causes=_named(by_cause, ["line", "cause", "cycles"]),
        culprits=_named(victims, ["culprit", "victim", "cause", "cycles"]),
        causes=_causes(s, total),
        waves=_waves(records, segments),
        total_cycles=total,
        span_cycles=_span(records),
        overlap_cycles=tiles.overlap,
        instructions=len(records),
        notes=_notes(capture, records, segments),
        meta=capture.meta,
    )


def _span(records: Records) -> int:
    waves = records.waves
    spans = [int(waves.end[at].max() - waves.begin[at].min())
             for se in np.unique(waves.se) if len(at := np.flatnonzero(waves.se == se))]  # fmt: skip
    return max(spans, default=0)


def _sum_by(keys: list[NDArray[np.int64]], cycles: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Distinct rows of ``keys`` and the sum of ``cycles`` over each: columns of the result."""
    if not len(cycles):
        return [np.zeros(0, np.int64) for _ in range(len(keys) + 1)]
    # lines and causes: all of them together are far from filling 64 bits
    low = [int(k.min()) for k in keys]
    size = [int(k.max()) - n + 1 for k, n in zip(keys, low, strict=True)]
    one = np.zeros(len(cycles), np.int64)
    for k, n, m in zip(keys, low, size, strict=True):
        one = one * m + (k - n)
    which, rows = pd.factorize(one)
    sums = np.zeros(len(rows), np.int64)
    np.add.at(sums, which, cycles)
    order = np.argsort(rows)
    rows, out = rows[order], [sums[order]]
    for n, m in zip(reversed(low), reversed(size), strict=True):
        out.append(rows % m + n)
        rows = rows // m
    return out[::-1]


def _waits(
    records: Records, s: Segments, line: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """(culprit, victim, cause, cycles) of lost time and (line, cause, cycles) of stall and idle."""
    waiting = (s.part < ISSUE) & (line >= 0)
    r, cause, culprit, cycles = s.cut
    victim = np.concatenate([line[waiting], records.line[r]])
    cause = np.concatenate([s.cause[waiting], cause])
    culprit = np.concatenate([s.culprit[waiting], culprit])
    cycles = np.concatenate([s.cycles[waiting], cycles])
    by_cause = _sum_by([victim, cause], cycles)
    held = _held(s) & (line >= 0)
    blame = [
        np.concatenate(pair)
        for pair in ((culprit, s.culprit[held]), (victim, line[held]), (cause, s.cause[held]))
    ]
    return _sum_by(blame, np.concatenate([cycles, s.cycles[held]])), by_cause


def _held(s: Segments) -> NDArray[np.bool_]:
    """Time inside a barrier or a trap that the trace books as execution (RDNA)."""
    return np.asarray((s.part == ISSUE) & (s.cause != CAUSE_CODE[Cause.ISSUE]))


def _category(codes: NDArray[np.int64], names: Sequence[str]) -> pd.Categorical[Any]:
    """A categorical column of the names that occur."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    position = np.zeros(len(names), np.int8)
    position[used] = np.arange(len(used))
    categories = pd.Index([str(names[i]) for i in used.tolist()], dtype=object)
    return pd.Categorical.from_codes(position[codes], categories)


def _named(columns: list[NDArray[np.int64]], names: list[str]) -> pd.DataFrame:
    """A frame with the cause as text, largest first."""
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    frame["cause"] = _NAMES[frame["cause"].to_numpy(np.int64)]
    return frame.sort_values("cycles", ascending=False, kind="stable", ignore_index=True)


def _causes(s: Segments, total: int) -> pd.DataFrame:
    cycles = np.bincount(s.cause, weights=None, minlength=len(CAUSES)) * 0
    np.add.at(cycles, s.cause, s.cycles)
    order = [int(i) for i in np.argsort(-cycles, kind="stable") if cycles[i]]
    return pd.DataFrame(
        {
            "cause": [str(CAUSES[i]) for i in order],
            "cycles": cycles[order].astype(np.int64),
            "share": cycles[order] / total if total else cycles[order].astype(float),
        }
    )


def _waves(records: Records, s: Segments) -> pd.DataFrame:
    waves = records.waves
    data: dict[str, Any] = {
        "wave": waves.wave, "se": waves.se, "cu": waves.cu, "simd": waves.simd, "slot": waves.slot,
        "begin": waves.begin, "end": waves.end, "cycles": waves.end - waves.begin,
        "instructions": records.last - records.first,
    }  # fmt: skip
    sums = np.zeros((len(CAUSES), len(waves)), np.int64)
    np.add.at(sums.reshape(-1), s.cause * len(waves) + s.w, s.cycles)
    for code in np.flatnonzero(np.bincount(s.cause)).tolist():
        data[str(CAUSES[code])] = sums[code]
    return pd.DataFrame(data)


def _dominant(
    n: int, key: NDArray[np.int64], value: NDArray[np.int64], cycles: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each line the ``value`` with the most cycles; -1 where there is none."""
    key, value, cycles = _sum_by([key, value], cycles)
    order = np.lexsort((-value, cycles, key))
    out = np.full(n, -1, np.int64)
    out[key[order]] = value[order]
    return out


def _lines(
    capture: Capture,
    code: StaticCode,
    records: Records,
    tiles: Partition,
    s: Segments,
    line: NDArray[np.int64],
    by_cause: list[NDArray[np.int64]],
    victims: list[NDArray[np.int64]],
    total: int,
) -> pd.DataFrame:
    n = len(code)

    def sums(at: NDArray[np.int64], cycles: NDArray[np.int64]) -> NDArray[np.int64]:
        out = np.zeros(n, np.int64)
        np.add.at(out, at, cycles)
        return out

    stall, idle = sums(records.line, records.stall), sums(records.line, tiles.idle)
    issuing = (s.part == ISSUE) & (line >= 0)
    issue = sums(line[issuing], s.cycles[issuing])
    held = _held(s) & (line >= 0)
    held_cycles = sums(line[held], s.cycles[held])
    lost = held_cycles.copy()
    costly = ~np.isin(by_cause[1], _FREE)
    lost += sums(by_cause[0][costly], by_cause[2][costly])
    rank = np.zeros(n, np.int64)
    hot = np.lexsort((np.arange(n), -lost))
    hot = hot[lost[hot] > 0]
    rank[hot] = np.arange(1, len(hot) + 1)
    cause = _dominant(
        n, np.concatenate([by_cause[0], line[held]]), np.concatenate([by_cause[1], s.cause[held]]),
        np.concatenate([by_cause[2], s.cycles[held]]),
    )  # fmt: skip
    named = (victims[0] >= 0) & (victims[2] == cause[victims[1]])  # of the dominant cause
    culprit = _dominant(n, victims[1][named], victims[0][named], victims[3][named])
    table = capture.code
    wait = stall + idle
    return pd.DataFrame(
        {
            "line": np.arange(n, dtype=np.int64),
            "pc": table["pc"].to_numpy(np.int64),
            "text": _texts(table["text"]),
            "label": _texts(table["label"]),
            "source": _texts(table["source"]),
            "hits": sums(records.line, np.ones(len(records), np.int64)),
            "latency": sums(records.line, records.duration),
            "stall": stall,
            "idle": idle,
            "wait": wait,
            "issue": issue,
            "held": held_cycles,
            "lost": lost,
            "cause": np.where(cause >= 0, _NAMES[np.maximum(cause, 0)], ""),
            "culprit": culprit,
            "share": (wait + issue) / total if total else np.zeros(n),
            "heat": lost / lost.max() if lost.any() else np.zeros(n),
            "rank": rank,
        }
    )


def _texts(series: Any) -> pd.Series[Any]:
    """Texts as Python objects with None where there is none (never NaN)."""
    values = [None if missing else text for text, missing in zip(series, series.isna(), strict=True)]
    return pd.Series(values, dtype=object)


def _notes(capture: Capture, records: Records, s: Segments) -> tuple[str, ...]:
    notes: list[str] = []
    if records.untold:
        notes.append(f"{records.untold} records have no known line; their time counts as unexplained")
    untraced = len(capture.waves) - len(records.waves)
    if untraced:
        notes.append(f"{untraced} of {len(capture.waves)} waves have no instruction records and are left out")
    if (capture.meta.get(ADDRESSES_FROM) or {}).get("from") == "executed":
        notes.append(
            "LDS addresses come from executing the kernel in the simulator, all times from the trace"
        )
    unclear = int(s.cycles[s.ambiguous].sum())
    if unclear:
        notes.append(
            f"{unclear} wait cycles have several possible culprits (marked ambiguous, divided equally)"
        )
    return tuple(notes)
