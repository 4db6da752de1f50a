"""Records of the compiled wave builder, fitted to the code: blocks of instruction rows and of wave states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt import match as m
from isaprof.parsers.sqtt.codemap import CodeMap
from isaprof.parsers.sqtt.model import StitchRules
from isaprof.parsers.sqtt.order import BLOCK
from isaprof.parsers.sqtt.slots import START_SEEN, TARGET
from isaprof.parsers.sqtt.spool import Spool
from isaprof.parsers.sqtt.stream import RECORD, RUN, Rows

#: records handled at once
LIMIT = 1 << 18
_I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of some waves, or of a part of one. ``wave``: number in the Capture of each row's wave.

    ``number``: the same, once for each wave that ends in this part, with ``good``: its records fit the code.
    Of states instead once for each wave, with its ``begin``.
    """

    wave: _I64
    columns: tuple[NDArray[Any], ...]
    number: _I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    good: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    begin: _I64 = field(default_factory=lambda: np.zeros(0, np.int64))


class Fitting:
    """One engine's rows on their way into tables.

    ``traced``: its waves with records (order.traced_in_order). ``entry``: where waves begin if the trace
    does not say.
    """

    def __init__(
        self, rows: Rows, traced: Spool, code: CodeMap, rules: StitchRules, *, exclude_barrier_wait: bool,
        entry: int | None, limit: int = LIMIT,
    ) -> None:  # fmt: skip
        self.rows, self.traced, self.code, self.entry, self.limit = rows, traced, code, entry, limit
        self.lines = _lines(code)
        self.corrects = bool(rules.barrier_pair or rules.endpgm_traced)
        self.rules = (
            (m.EXCLUDE if exclude_barrier_wait else 0)
            | (m.SWAP if rules.swap else 0)
            | (m.EARLY if rules.early_immediates else 0)
            | (m.ENDPGM_TRACED if rules.endpgm_traced else 0)
        )
        self.inserts = exclude_barrier_wait and any(x.optional_wait for x in code.lines)
        self._at: dict[int, int] = {}
        self._room = 0

    def insts(self) -> Iterator[Part]:
        """Time, duration, stall, category and line of every record, waves in the order of the Capture."""
        for numbers, ids, waves in self._waves():
            if len(ids) == 1 and self._long(int(ids[0]), waves[0]):
                yield from self._windows(int(numbers[0]), int(ids[0]), waves[0])
                continue
            columns, result, _, _ = self._fit(waves)
            yield Part(np.repeat(numbers, result[:, 0]), columns, numbers, result[:, 1] != 0)

    def states(self) -> Iterator[Part]:
        """State and cycles of every run, waves in the order of the Capture."""
        for numbers, ids, waves in self._waves():
            if len(ids) == 1 and self._long(int(ids[0]), waves[0]):
                yield from self._long_states(int(numbers[0]), int(ids[0]), waves[0])
                continue
            none = np.zeros((len(waves), 4), np.int64)
            waits, tails, counts = np.zeros((0, 2), np.int64), none, none[:, 2]
            if self.corrects:
                _, result, waits, tails = self._fit(waves)
                counts = result[:, 2]
            start = waves["first_run"].astype(np.int64)
            runs, start = _read(self.rows.runs, start, waves["runs"].astype(np.int64))
            length = waves["runs"].astype(np.int64)
            yield self._timelines(numbers, waves["begin"], runs, start, length, waits, counts, tails)

    # -- which waves --------------------------------------------------------
    def _long(self, ident: int, wave: Any) -> bool:
        return ident in self.rows.parts or int(wave["count"]) > self.limit

    def _waves(self) -> Iterator[tuple[_I64, _I64, NDArray[Any]]]:
        """Groups of waves with records: number in the Capture, in the stream, row; a long one is alone."""
        parts = np.array(sorted(self.rows.parts), np.int64)
        for _, waves in self.traced.blocks(BLOCK):
            long = np.isin(waves["ident"], parts) | (waves["count"] > self.limit)
            size = np.where(long, self.limit, waves["count"]).astype(np.int64)
            # a long wave ends the group before it and its own
            group = (np.cumsum(size) - 1) // self.limit + np.cumsum(long) + np.cumsum(np.append(0, long[:-1]))
            edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(waves)]
            for a, b in pairwise(edges):
                part = waves[a:b]
                yield part["number"].copy(), part["ident"].copy(), part

    # -- records ------------------------------------------------------------
    def _lines_of(self, records: NDArray[Any]) -> _I64:
        """Line of the code at each record's known address."""
        pc = records["pc"].astype(np.int64)
        known = np.flatnonzero(pc >= 0)
        if len(known):
            values, inverse = np.unique(pc[known], return_inverse=True)
            pc[known] = np.array([self._line_at(int(a)) for a in values], np.int64)[inverse]
        return pc

    def _line_at(self, address: int) -> int:
        if address not in self._at:
            line = self.code.at(address)
            self._at[address] = line if line >= 0 else m.LOST_PC
        return self._at[address]

    def _entry_line(self, wave: Any) -> int | None:
        """Line of the first record of a wave whose entry is known otherwise than from the trace."""
        flags = int(wave["flags"])
        if self.entry is None or wave["entry"] >= 0 or not flags & START_SEEN or not flags & TARGET:
            return None
        return self._line_at(self.entry)

    def _fit(self, waves: NDArray[Any]) -> tuple[tuple[NDArray[Any], ...], _I64, _I64, NDArray[Any]]:
        """Columns of the rows, results, stretches of waiting and last stretches of whole waves."""
        count = waves["count"].astype(np.int64)
        records, first = _read(self.rows.records, waves["first"].astype(np.int64), count)
        columns = _columns(records, self._lines_of(records))
        for i in np.flatnonzero((waves["entry"] < 0) & (count > 0)):
            line = self._entry_line(waves[i])
            if line is not None:
                columns[4][first[i]] = line
        return self._match(
            first, count, waves["begin"].astype(np.int64), columns, np.zeros(m.STATE, np.int64)
        )

    def _match(
        self, first: _I64, count: _I64, begin: _I64, columns: tuple[NDArray[Any], ...], state: _I64,
        *, fresh: bool = True, final: bool = True,
    ) -> tuple[tuple[NDArray[Any], ...], _I64, _I64, NDArray[Any]]:  # fmt: skip
        size = len(columns[0])
        inserts = np.empty((1024 << self._room, 4), np.int64)
        waits = np.empty((int(count.sum()) + 1, 2), np.int64)
        tails = np.zeros((len(count), 4), np.int64)
        lines, deleted = np.empty(size, np.int64), np.empty(size, np.uint8)
        out = _out(size + (1024 << self._room))
        result = np.zeros((len(count) + 1, 4), np.int64)
        # a wave with more waits than there is room for is done again: then its columns must be as they were
        original = tuple(c.copy() for c in columns) if self.inserts else ()
        done, parts, stretches = 0, [], []
        while True:
            saved = state.copy()
            now = m.match(
                first, count, begin, columns, self.lines, self.rules, fresh, final, state, inserts, waits,
                tails, lines, deleted, out, result, done,
            )  # fmt: skip
            rows, used = int(result[done:now, 0].sum()), int(result[done:now, 2].sum())
            parts.append(tuple(c[:rows].copy() for c in out))
            stretches.append(waits[:used].copy())
            if now == len(count):
                break
            for a, b in zip(columns, original, strict=True):
                a[first[now] : first[now] + count[now]] = b[first[now] : first[now] + count[now]]
            state[:] = saved
            if now == done:
                self._room += 1
                inserts = np.empty((1024 << self._room, 4), np.int64)
                out = _out(size + len(inserts))
            done = now
        joined = tuple(np.concatenate([p[i] for p in parts]) for i in range(5))
        return joined, result[:-1], np.concatenate(stretches), tails

    def _windows(self, number: int, ident: int, wave: Any) -> Iterator[Part]:
        """A long wave, part by part."""
        for columns, _, _, good in self._walk_long(ident, wave):
            whole = good is not None
            yield Part(
                np.full(len(columns[0]), number, np.int64),
                columns,
                np.array([number] if whole else [], np.int64),
                np.array([good] if whole else [], np.bool_),
            )

    def _walk_long(
        self, ident: int, wave: Any
    ) -> Iterator[tuple[tuple[NDArray[Any], ...], _I64, NDArray[Any], bool | None]]:
        parts = _parts(self.rows, ident, wave)
        chunks = [
            (first + k, min(self.limit, count - k))
            for first, count, _, _ in parts
            for k in range(0, count, self.limit)
        ]  # fmt: skip
        state = np.zeros(m.STATE, np.int64)
        begin = np.array([wave["begin"]], np.int64)
        kept: tuple[NDArray[Any], ...] = _columns(np.zeros(0, RECORD), np.zeros(0, np.int64))
        for n, (first, count) in enumerate(chunks):
            records = self.rows.records.read(first, count)
            columns = _columns(records, self._lines_of(records))
            line = self._entry_line(wave) if n == 0 else None
            if line is not None:
                columns[4][0] = line
            columns = tuple(np.concatenate([a, b]) for a, b in zip(kept, columns, strict=True))
            size = np.array([len(columns[0])], np.int64)
            final = n == len(chunks) - 1
            made, result, waits, tails = self._match(
                np.zeros(1, np.int64), size, begin, columns, state, fresh=n == 0, final=final
            )
            kept = tuple(c[int(result[0, 3]) :] for c in columns)
            yield made, waits, tails, bool(result[0, 1]) if final else None

    # -- states -------------------------------------------------------------
    def _long_states(self, number: int, ident: int, wave: Any) -> Iterator[Part]:
        parts = _parts(self.rows, ident, wave)
        numbers, begin = np.array([number]), np.array([int(wave["begin"])])
        if not self.corrects:
            for _, _, first, count in parts:
                for k in range(0, count, self.limit):
                    runs = self.rows.runs.read(first + k, min(self.limit, count - k))
                    columns = runs["state"].copy(), runs["cycles"].copy()
                    yield Part(np.full(len(runs), number, np.int64), columns, numbers, begin=begin)
            return
        found = [(waits, tails) for _, waits, tails, _ in self._walk_long(ident, wave)]
        waits = np.concatenate([w for w, _ in found])
        runs = np.concatenate([self.rows.runs.read(first, count) for _, _, first, count in parts])
        one, size = np.zeros(1, np.int64), np.array([len(runs)], np.int64)
        counts = np.array([len(waits)], np.int64)
        yield self._timelines(numbers, begin, runs, one, size, waits, counts, found[-1][1])

    def _timelines(
        self, numbers: _I64, begin: _I64, runs: NDArray[Any], start: _I64, count: _I64, waits: _I64,
        counts: _I64, tails: NDArray[Any],
    ) -> Part:  # fmt: skip
        counts = np.ascontiguousarray(counts)
        longest = int((count + 2 * counts).max()) + 8
        scratch = (
            np.empty(longest, np.int8), np.empty(longest, np.int64),
            np.empty(longest, np.int8), np.empty(longest, np.int64),
        )  # fmt: skip
        room = int(count.sum() + 2 * counts.sum()) + 4 * len(count) + 8
        out = np.empty(room, np.int8), np.empty(room, np.int64)
        result = np.zeros(len(count), np.int64)
        m.timelines(
            start, count, runs["state"].copy(), runs["cycles"].copy(), waits, counts, tails, scratch, out,
            result, 0,
        )  # fmt: skip
        rows = int(result.sum())
        wave = np.repeat(numbers, result)
        return Part(wave, (out[0][:rows], out[1][:rows]), numbers, begin=begin.astype(np.int64))


def _parts(rows: Rows, ident: int, wave: Any) -> Sequence[tuple[int, int, int, int]]:
    """All stretches of a wave's rows: first record, records, first run, runs."""
    last = (int(wave["first"]), int(wave["count"]), int(wave["first_run"]), int(wave["runs"]))
    return [*rows.parts.get(ident, ()), last]


def _read(spool: Any, first: _I64, count: _I64) -> tuple[NDArray[Any], _I64]:
    """Rows of several stretches, read at once where they lie together; and where each begins among them."""
    total = int(count.sum())
    low, high = int(first.min()), int((first + count).max())
    if high - low <= 4 * total + (1 << 14):
        return spool.read(low, high - low), first - low
    rows = [spool.read(f, c) for f, c in zip(first.tolist(), count.tolist(), strict=True)]
    return np.concatenate(rows), np.cumsum(count) - count


def _columns(records: NDArray[Any], lines: _I64) -> tuple[NDArray[Any], ...]:
    names = ("time", "duration", "stall", "category")
    return (*(np.ascontiguousarray(records[n]) for n in names), lines)


def _out(size: int) -> tuple[NDArray[Any], ...]:
    wide = [np.empty(size, np.int64) for _ in range(3)]
    return (*wide, np.empty(size, np.int8), np.empty(size, np.int32))


def _lines(code: CodeMap) -> tuple[NDArray[Any], ...]:
    """Category, next line, target and flags of every line."""
    x = code.lines
    flags = (
        ("traced", m.TRACED), ("barrier_pair", m.BARRIER_PAIR), ("scaled_matrix", m.SCALED),
        ("two_cycle_move", m.TWO_CYCLE), ("optional_wait", m.OPTIONAL_WAIT), ("wait", m.WAIT),
        ("stop", m.STOP), ("endpgm", m.ENDPGM),
    )  # fmt: skip
    return (
        np.array([i.cat for i in x], np.int8),
        np.array([i.next for i in x], np.int64),
        np.array([i.target for i in x], np.int64),
        np.array([sum(bit for name, bit in flags if getattr(i, name)) for i in x], np.int64),
    )


def prepare(rows: Rows, code: CodeMap, rules: StitchRules) -> None:
    """Have everything compiled, by waves without records."""
    f = Fitting(rows, Spool(np.uint8), code, rules, exclude_barrier_wait=False, entry=None)
    one, none = np.zeros(1, np.int64), np.zeros(1, np.int64)
    nothing = _columns(np.zeros(1, RECORD), np.zeros(1, np.int64))
    _, result, waits, tails = f._match(one, none, one, nothing, np.zeros(m.STATE, np.int64))
    f._timelines(one, one, np.zeros(1, RUN), one, none, waits, result[:, 2], tails)
