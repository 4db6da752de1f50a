"""A Capture from engine traces whose waves and records are tables: no Python object for each.

The result equals that of :func:`isaprof.backends.sqtt.assemble` for the same
trace. Tables that would not fit into memory are left as row groups, which are
made while the capture is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from isaprof.backends.frames import code_frame, frame
from isaprof.backends.protocol import Progress, RawCapture
from isaprof.backends.sqtt import (
    RanKernel,
    Recording,
    Stats,
    code_lines,
    code_map,
    find_kernels,
    finished,
    kernel_number,
)
from isaprof.capture.stream import Streamed
from isaprof.parsers.sqtt.fitting import Fitting
from isaprof.parsers.sqtt.model import Cat, State
from isaprof.parsers.sqtt.order import in_order, traced_in_order
from isaprof.parsers.sqtt.slots import END_SEEN, START_SEEN, TARGET

if TYPE_CHECKING:
    from isaprof.capture.tables import RowGroups
    from isaprof.parsers.sqtt.codemap import CodeMap
    from isaprof.parsers.sqtt.spool import Spool
    from isaprof.parsers.sqtt.stream import Rows

#: rows of a table that are kept in memory
KEEP = 1 << 22
#: rows of one group, about
GROUP = 1 << 19
_Columns = dict[str, Any]


def assemble_columns(rec: Recording, progress: Progress) -> RawCapture:
    """The capture of a recording whose engines all have ``rows``."""
    stats = column_stats(rec)
    kernels = find_kernels(rec, stats)
    addresses = {a for _, r in _rows(rec) for a in r.pcs}
    if rec.entry is not None:
        addresses.add(rec.entry)
    code = code_map(rec, addresses)
    work = _Tables(rec, code, stats, progress)
    lines, renumber = code_lines(rec, code, kernels, set(work.touched.tolist()))
    work.number(renumber, kernels)
    tables: dict[str, pd.DataFrame] = {"code": code_frame(lines)}
    groups: dict[str, RowGroups] = {}
    for name, rows in work.sizes.items():
        make = partial(work.MAKERS[name], work)
        if rows > KEEP:
            groups[name] = Streamed(rows, partial(_frames, name, make))
        else:
            tables[name] = frame(name, next(_gathered(make(), KEEP + 1), {}))
    return finished(rec, kernels, stats, lines, tables, groups)


def _frames(name: str, make: Callable[[], Iterator[_Columns]]) -> Iterator[pd.DataFrame]:
    return (frame(name, columns) for columns in _gathered(make(), GROUP))


def _rows(rec: Recording) -> Iterator[tuple[int, Rows]]:
    for se in sorted(rec.engines):
        rows = rec.engines[se].rows
        assert rows is not None
        yield se, rows


def column_stats(rec: Recording) -> Stats:
    """See :func:`isaprof.backends.sqtt.wave_stats`."""
    out = Stats()
    for se, rows in _rows(rec):
        long = np.array(list(rows.parts), np.int64)
        for first, w in rows.waves.blocks(GROUP):
            traced = (w["count"] > 0) | np.isin(np.arange(first, first + len(w)), long)
            entry = w["entry"]
            if rec.entry is not None:
                entry = np.where((entry < 0) & (w["flags"] & START_SEEN != 0), rec.entry, entry)
            out.total += len(w)
            out.traced += int(traced.sum())
            out.endless += int((w["flags"] & END_SEEN == 0).sum())
            out.beginless += int((w["flags"] & START_SEEN == 0).sum())
            out.on_target |= bool((w["flags"] & TARGET != 0).any())
            places = w["cu"].astype(np.int64) << 8 | w["simd"]
            for place, n in zip(*np.unique(places, return_counts=True), strict=True):
                out.where[se, int(place) >> 8, int(place) & 0xFF] += int(n)
            for counter, some in ((out.entries, entry >= 0), (out.traced_entries, traced & (entry >= 0))):
                for value, n in zip(*np.unique(entry[some], return_counts=True), strict=True):
                    counter[int(value)] += int(n)
    return out


def _gathered(parts: Iterator[_Columns], rows: int) -> Iterator[_Columns]:
    """Small parts put together, until there are about ``rows``."""
    kept: list[_Columns] = []
    n = 0
    for part in parts:
        kept.append(part)
        n += len(next(iter(part.values())))
        if n >= rows:
            yield _joined(kept)
            kept, n = [], 0
    if kept:
        yield _joined(kept)


def _joined(parts: Sequence[_Columns]) -> _Columns:
    """One set of columns; those that are names as numbers become categories."""
    out: _Columns = {}
    for name, first in parts[0].items():
        columns = [p[name] for p in parts]
        if isinstance(first, _Named):
            codes = np.concatenate([c.codes for c in columns]).astype(np.int64)
            out[name] = pd.Categorical.from_codes(
                codes, pd.Index(list(first.names))
            ).remove_unused_categories()
        elif isinstance(first, _Nullable):
            values = np.concatenate([c.values for c in columns])
            missing = np.concatenate([c.missing for c in columns])
            out[name] = pd.arrays.IntegerArray(values, missing)
        else:
            out[name] = np.concatenate(columns)
    return out


@dataclass(frozen=True, slots=True)
class _Named:
    codes: NDArray[Any]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Nullable:
    values: NDArray[Any]
    missing: NDArray[np.bool_]


def _below_zero(values: NDArray[Any], dtype: str = "int32") -> _Nullable:
    """Negative: not known."""
    missing = values < 0
    return _Nullable(np.where(missing, 0, values).astype(dtype), missing)


class _Tables:
    """Makes the columns of each table from the engines' rows, as often as they are asked for."""

    def __init__(self, rec: Recording, code: CodeMap, stats: Stats, progress: Progress) -> None:
        self.rec, self.code, self.progress = rec, code, progress
        self.first: dict[int, int] = {}
        self.traced: dict[int, Spool] = {}
        n = 0
        for se, rows in _rows(rec):
            self.first[se] = n
            self.traced[se] = traced_in_order(rows, n)
            n += len(rows.waves)
        self.total = n
        self.records = max(sum(len(rows.records) for _, rows in _rows(rec)), 1)
        self.good = np.ones(n, np.bool_)
        self.renumber = np.zeros(0, np.int64)
        self.kernels: Mapping[tuple[int | None, int], int] = {}
        used = np.zeros(len(code.lines) + 1, np.bool_)
        insts = 0
        for _, _, part in self._fitted("matching instructions"):
            insts += len(part.wave)
            used[part.columns[4]] = True
            self.good[part.number] = part.good
        used[-1] = False
        self.touched = np.flatnonzero(used)
        stats.unstitched = int((~self.good).sum())
        states = sum(len(part.wave) for _, part in self._timelines())
        self.sizes = {
            "waves": n,
            "insts": insts,
            "states": states,
            "occupancy": sum(len(r.seen) + len(r.unstarted) for _, r in _rows(rec)),
            "events": sum(len(r.events) for _, r in _rows(rec)),
        }
        counters = sum(len(r.counters) for _, r in _rows(rec))
        if counters:
            self.sizes["counters"] = 4 * counters

    def number(self, renumber: Mapping[int, int], kernels: Sequence[RanKernel]) -> None:
        """Numbers that the tables have for lines of ``code`` and for kernels."""
        self.renumber = np.full(len(self.code.lines) + 1, -1, np.int64)
        for line, place in renumber.items():
            self.renumber[line] = place
        self.kernels = {(k.codeobj, k.entry): n for n, k in enumerate(kernels)}

    def _fitting(self, se: int, rows: Rows) -> Fitting:
        header = self.rec.engines[se].header
        return Fitting(
            rows, self.traced[se], self.code, header.generation.stitch,
            exclude_barrier_wait=header.exclude_barrier_wait, entry=self.rec.entry,
        )  # fmt: skip

    def _fitted(self, what: str) -> Iterator[tuple[int, Rows, Any]]:
        done = 0
        for se, rows in _rows(self.rec):
            for part in self._fitting(se, rows).insts():
                yield se, rows, part
                done += len(part.wave)
                self.progress(min(done, self.records), self.records, what)

    def _timelines(self) -> Iterator[tuple[int, Any]]:
        for se, rows in _rows(self.rec):
            for part in self._fitting(se, rows).states():
                yield se, part

    # -- one method for each table ------------------------------------------
    def waves(self) -> Iterator[_Columns]:
        for se, rows in _rows(self.rec):
            at = self.first[se]
            long = np.array(list(rows.parts), np.int64)
            for ids, w in in_order(rows.waves):
                numbers = np.arange(at, at + len(w))
                both = (w["flags"] & START_SEEN != 0) & (w["flags"] & END_SEEN != 0)
                yield {
                    "wave": numbers,
                    "se": np.full(len(w), se),
                    "cu": w["cu"],
                    "simd": w["simd"],
                    "slot": w["slot"],
                    "dispatch": _below_zero(w["dispatch"]),
                    "threads": _below_zero(w["threads"]),
                    "begin": w["begin"],
                    "end": np.maximum(w["end"], w["begin"]),
                    "traced": (w["count"] > 0) | np.isin(ids, long),
                    "complete": both & self.good[numbers],
                }
                at += len(w)

    def insts(self) -> Iterator[_Columns]:
        last, count = -1, 0
        for _, _, part in self._fitted("writing instructions"):
            time, duration, stall, category, line = part.columns
            seq = _places(part.wave)
            if len(seq) and part.wave[0] == last:
                seq[part.wave == last] += count
            if len(seq):
                last, count = int(part.wave[-1]), int(seq[-1]) + 1
            # a damaged stream may run backwards: the columns keep their meaning all the same
            stall = np.maximum(stall, 0)
            yield {
                "wave": part.wave,
                "seq": seq,
                "line": _below_zero(self.renumber[line]),
                "time": time,
                "stall": stall,
                "duration": np.maximum(duration, stall),
                "category": _Named(category, [c.name for c in Cat]),
            }

    def states(self) -> Iterator[_Columns]:
        last, end = -1, 0
        for _, part in self._timelines():
            state, cycles = part.columns
            if not len(state):
                continue
            new = np.append(True, np.diff(part.wave) != 0)
            heads = np.flatnonzero(new)
            total = np.cumsum(cycles) - cycles
            first = part.begin[np.searchsorted(part.number, part.wave[heads])]
            if part.wave[0] == last:
                first[0] = end
            which = np.cumsum(new) - 1
            begin = first[which] + total - total[heads][which]
            last, end = int(part.wave[-1]), int(begin[-1] + cycles[-1])
            yield {
                "wave": part.wave,
                "begin": begin,
                "duration": cycles,
                "state": _Named(state, [s.name for s in State]),
            }

    def occupancy(self) -> Iterator[_Columns]:
        known: dict[int, int] = {-1: -1}
        for se, rows in _rows(self.rec):
            for spool, backwards in ((rows.unstarted, True), (rows.seen, False)):
                for _, o in spool.blocks(GROUP, backwards=backwards):
                    entries, inverse = np.unique(o["entry"], return_inverse=True)
                    for e in entries.tolist():
                        if e not in known:
                            n = kernel_number(self.rec, self.kernels, e)
                            known[e] = -1 if n is None else n
                    yield {
                        "se": np.full(len(o), se),
                        "time": o["time"],
                        "cu": o["cu"],
                        "simd": o["simd"],
                        "slot": o["slot"],
                        "start": o["start"] != 0,
                        "kernel": _below_zero(np.array([known[e] for e in entries.tolist()])[inverse]),
                    }

    def events(self) -> Iterator[_Columns]:
        names = sorted({k for _, rows in _rows(self.rec) for k in rows.kinds})
        for se, rows in _rows(self.rec):
            place = np.array([names.index(k) for k in rows.kinds], np.int16)
            for _, e in rows.events.blocks(GROUP):
                yield {
                    "se": np.full(len(e), se),
                    "time": e["time"],
                    "kind": _Named(place[e["kind"]], names),
                    "value": _Nullable(e["value"].copy(), e["given"] == 0),
                }

    def counters(self) -> Iterator[_Columns]:
        for se, rows in _rows(self.rec):
            for _, c in rows.counters.blocks(GROUP // 4):
                number = c["bank"][:, None].astype(np.int64) * 4 + np.arange(4)
                yield {
                    "se": np.full(4 * len(c), se),
                    "cu": np.repeat(c["cu"], 4),
                    "time": np.repeat(c["time"], 4),
                    "name": _Named(number.ravel(), [f"counter{i}" for i in range(16)]),
                    "value": c["values"].ravel(),
                }

    MAKERS: Mapping[str, Callable[[_Tables], Iterator[_Columns]]] = {
        "waves": waves,
        "insts": insts,
        "states": states,
        "occupancy": occupancy,
        "events": events,
        "counters": counters,
    }


def _places(waves: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... for the rows of each wave."""
    if not len(waves):
        return np.zeros(0, np.int64)
    new = np.flatnonzero(np.append(True, np.diff(waves) != 0))
    sizes = np.diff(np.append(new, len(waves)))
    return np.arange(len(waves)) - np.repeat(new, sizes)
