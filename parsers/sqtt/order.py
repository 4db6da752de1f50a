"""The waves of an engine's tables in the order of a Capture: by begin, unit, SIMD and slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt.slots import END_SEEN, UNSTARTED_WAVE
from isaprof.parsers.sqtt.spool import Spool
from isaprof.parsers.sqtt.stream import WAVE, Rows

#: waves of one block
BLOCK = 1 << 18
#: a wave with records: its number in the Capture, and in the stream
TRACED = np.dtype([("number", "i8"), ("ident", "i8"), *WAVE.descr])
#: a wave: (its number in stream order, its row)
Block = tuple[NDArray[np.int64], NDArray[Any]]


def in_order(waves: Spool, size: int = BLOCK) -> Iterator[Block]:
    """Blocks of waves, as (numbers in stream order, rows), in memory that does not depend on their number.

    Waves come in stream order, which is that of their begin but for those of the same cycle, and for those
    that only an end was seen of: they began before the trace, at 0. Where the clock ran backwards, as in a
    damaged trace or one put together of pieces, they are sorted in parts.
    """
    yield from _at_zero(waves, size)
    if not _ascending(waves, size):
        yield from _sorted_in_parts(waves, size)
        return
    kept_numbers, kept = np.zeros(0, np.int64), np.zeros(0, WAVE)
    for first, block in waves.blocks(size):
        numbers, rows = _later(first, block)
        numbers, rows = np.concatenate([kept_numbers, numbers]), np.concatenate([kept, rows])
        # waves that begin with the last one may have others of the same cycle in the next block
        whole = int(np.searchsorted(rows["begin"], rows["begin"][-1])) if len(rows) else 0
        if first + size >= len(waves):
            whole = len(rows)
        order = _sorted(rows[:whole])
        if whole:
            yield numbers[order], rows[order]
        kept_numbers, kept = numbers[whole:], rows[whole:]


def traced_in_order(rows: Rows, first_wave: int = 0) -> Spool:
    """The waves that have records, in Capture order; the engine's first wave is its ``first_wave``."""
    out = Spool(TRACED)
    long = np.array(list(rows.parts), np.int64)
    for ids, waves in in_order(rows.waves):
        keep = np.flatnonzero((waves["count"] > 0) | np.isin(ids, long))
        made = np.zeros(len(keep), TRACED)
        made["number"], made["ident"] = first_wave + keep, ids[keep]
        for name in WAVE.names or ():
            made[name] = waves[name][keep]
        out.append(made)
        first_wave += len(ids)
    return out


def _sorted_in_parts(waves: Spool, size: int) -> Iterator[Block]:
    """Those that begin after 0, in whatever order: first put into parts of about ``size`` by their begin."""
    step = max(size // 256, 1)
    sample = np.sort(np.concatenate([b["begin"][::step].copy() for _, b in waves.blocks(size)]))
    edges = np.unique(sample[max(size // step, 1) :: max(size // step, 1)])
    parts = [Spool(TRACED, 1) for _ in range(len(edges) + 1)]
    for first, block in waves.blocks(size):
        numbers, rows = _later(first, block)
        made = np.zeros(len(rows), TRACED)
        made["ident"] = numbers
        for name in WAVE.names or ():
            made[name] = rows[name]
        part = np.searchsorted(edges, rows["begin"], side="right")
        for k in np.unique(part).tolist():
            parts[k].append(made[part == k])
    for spool in parts:
        found = spool.read(0, len(spool))
        found = found[_sorted(found)]
        out = np.zeros(len(found), WAVE)
        for name in WAVE.names or ():
            out[name] = found[name]
        yield found["ident"].copy(), out


def _sorted(rows: NDArray[Any]) -> NDArray[np.intp]:
    return np.lexsort((rows["slot"], rows["simd"], rows["cu"], rows["begin"]))


def _later(first: int, rows: NDArray[Any]) -> Block:
    """Those that begin after 0."""
    if (rows["begin"] != 0).all():
        return np.arange(first, first + len(rows)), rows
    keep = np.flatnonzero(rows["begin"] != 0)
    return keep + first, rows[keep]


def _ascending(waves: Spool, size: int) -> bool:
    last = 0
    for first, block in waves.blocks(size):
        begin = _later(first, block)[1]["begin"]
        if len(begin) and (begin[0] < last or (np.diff(begin) < 0).any()):
            return False
        last = int(begin[-1]) if len(begin) else last
    return True


def _at_zero(waves: Spool, size: int) -> Iterator[Block]:
    """Waves that begin at 0; most of them are known by their end only, and kept in short."""
    places, ends, others = [], [], []
    for first, block in waves.blocks(size):
        zero = np.flatnonzero(block["begin"] == 0)
        rows = block[zero]
        unit = rows["cu"].astype(np.int64) << 16 | rows["simd"].astype(np.int64) << 8 | rows["slot"]
        places.append(np.stack([unit, zero + first]))
        ends.append(rows["end"].copy())
        # one that was opened at 0 has more to tell
        for k in np.flatnonzero(rows["flags"] & UNSTARTED_WAVE == 0).tolist():
            others.append((int(zero[k]) + first, rows[k]))
    if not places:
        return
    unit, number = np.concatenate(places, axis=1)
    end = np.concatenate(ends)
    order = np.lexsort((number, unit))
    full = dict(others)
    for i in range(0, len(order), size):
        part = order[i : i + size]
        out = np.zeros(len(part), WAVE)
        out["cu"], out["simd"], out["slot"] = unit[part] >> 16, unit[part] >> 8 & 0xFF, unit[part] & 0xFF
        out["end"], out["flags"] = end[part], UNSTARTED_WAVE | END_SEEN
        out["entry"] = out["threads"] = out["dispatch"] = -1
        for place in np.flatnonzero(np.isin(number[part], list(full))).tolist() if full else ():
            out[place] = full[int(number[part][place])]
        yield number[part], out
