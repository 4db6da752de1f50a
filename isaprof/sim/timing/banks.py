"""LDS accesses of all waves: passes, the least they could take, and why banks conflict.

The rules are :mod:`isaprof.sim.timing.lds`'s. Done in C (src/lds.c) where the
library is there, else here, shape by shape; the result is the same.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isaprof.sim.timing import lds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.arch.table import LdsPattern
    from isaprof.sim.timing.accesses import Accesses

#: different patterns of conflicting addresses of one shape (kind, width and lanes) that are looked into, the
#: first ones; random ones are too many
MAX_PATTERNS = 1024
#: limits of src/lds.c: lane numbers, banks, lanes that want one bank, dwords a lane
_LANES, _BANKS, _WHO, _DWORDS = 128, 128, 64, 32


@dataclass(slots=True)
class Banks:
    """By event; all 0, 0 and -1 where it is no LDS access of lanes."""

    passes: NDArray[np.int32]
    least: NDArray[np.int32]  #: passes without conflicts
    reason: NDArray[np.int32]  #: index into ``reasons``, -1: none
    reasons: list[tuple[int | None, str]]  #: bytes from lane to lane, lanes that want one bank


def banks(
    lib: ctypes.CDLL | None,
    x: Accesses,
    same: NDArray[np.int32],
    atomic: NDArray[np.bool_],
    patterns: Mapping[str, LdsPattern],
) -> Banks:
    """Of the accesses ``x``; ``same`` as in :class:`isaprof.sim.timing.accesses.Reduced`.

    Loops come back to the same offsets again and again: each pattern is looked at once.
    """
    if lib is None or not (same >= 0).any():
        return _reference(x, same, atomic, patterns)
    widest = -(-int(x.bytes[same >= 0].max()) // 4)
    group = np.full((len(_KINDS), _LANES), -1, np.int8)
    for at, key in zip(group, _KINDS, strict=True):
        for number, lanes in enumerate(patterns[key].groups):
            at[list(lanes)] = number
    known = [patterns[key] for key in _KINDS]
    disjoint = all(int((g >= 0).sum()) == sum(map(len, p.groups)) for g, p in zip(group, known, strict=True))
    if widest > _DWORDS or not disjoint or any(p.banks > _BANKS for p in known):
        return _reference(x, same, atomic, patterns)
    return _compiled(lib, x, same, atomic, (group, known, max(1, widest)))


#: keys of the lane patterns, in the order of src/lds.c
_KINDS = tuple(lds.pattern_key(store, width) for store, width in product((False, True), (4, 8, 12, 16)))


def _compiled(
    lib: ctypes.CDLL,
    x: Accesses,
    same: NDArray[np.int32],
    atomic: NDArray[np.bool_],
    shape: tuple[NDArray[np.int8], list[LdsPattern], int],
) -> Banks:
    """``shape``: number of each lane's group by kind, the patterns, dwords of the widest access."""
    n = len(same)
    group, known, widest = shape
    out = Banks(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), [])
    # pages that are not written cost nothing
    room = int((same == np.arange(n)).sum())
    stride, who = np.empty(room, np.int64), np.empty((room, _WHO), np.int8)
    given = (
        np.diff(x.first),
        np.array([w.addresses.ctypes.data for w in x.waves], dtype=np.uintp),
        np.array([w.lanes.ctypes.data for w in x.waves], dtype=np.uintp),
        *(np.ascontiguousarray(a) for a in (x.count, x.bytes, x.store, atomic, same, group)),
        np.array([len(p.groups) for p in known], np.int64),
        np.array([p.banks for p in known], np.int64),
    )
    most = int(x.count[same >= 0].max())
    results = (out.passes, out.least, out.reason, stride, who)
    call = lib.tl_local
    call.restype = ctypes.c_int64
    call.argtypes = [
        ctypes.c_int64, *[ctypes.c_void_p] * len(given), *[ctypes.c_int64] * 3,
        *[ctypes.c_void_p] * len(results),
    ]  # fmt: skip
    named = call(
        len(x.waves), *(a.ctypes.data for a in given), widest, most, MAX_PATTERNS,
        *(a.ctypes.data for a in results),
    )  # fmt: skip
    if named < 0:
        raise MemoryError
    none = np.iinfo(np.int64).min
    out.reasons = [
        (None if step == none else step, ",".join(str(lane) for lane in lanes if lane >= 0))
        for step, lanes in zip(stride[:named].tolist(), who[:named].tolist(), strict=True)
    ]
    return out


def _reference(
    x: Accesses, same: NDArray[np.int32], atomic: NDArray[np.bool_], patterns: Mapping[str, LdsPattern]
) -> Banks:
    n = len(same)
    passes, least = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    reason = np.full(n, -1, dtype=np.int32)
    reasons: list[tuple[int | None, str]] = []
    stacks: dict[tuple[bool, bool, int, bytes], list[int]] = defaultdict(list)
    addresses: dict[int, NDArray[np.int64]] = {}
    new = np.flatnonzero(same == np.arange(n))
    kinds = zip(x.store[new].tolist(), atomic[new].tolist(), x.bytes[new].tolist(), strict=True)
    for kind, (e, addresses[e], lanes) in zip(kinds, x.each(new), strict=True):
        stacks[(*kind, lanes.tobytes())].append(e)
    for (store, is_atomic, width, raw), events in stacks.items():
        stack = np.stack([addresses[e] for e in events])
        lanes_of = np.frombuffer(raw, np.int8).astype(np.int16)
        passes[events], least[events] = lds.passes(patterns, store, width, stack, lanes_of, atomic=is_atomic)
        conflict = passes[events] > least[events]
        for row, found in _clashes(stack, conflict, (patterns, store, width, lanes_of, is_atomic)):
            reason[events[row]] = len(reasons)
            reasons.append(found)
    alike = np.flatnonzero(same >= 0)
    for column in (passes, least, reason):
        column[alike] = column[same[alike]]
    return Banks(passes, least, reason, reasons)


def _clashes(
    stack: NDArray[np.int64],
    conflict: NDArray[np.bool_],
    shape: tuple[Mapping[str, LdsPattern], bool, int, NDArray[np.int16], bool],
) -> Iterator[tuple[int, tuple[int | None, str]]]:
    """(row of ``stack``, (stride, lanes)) where banks conflict: the same for equal patterns of addresses."""
    at = np.flatnonzero(conflict)
    if not len(at):
        return
    patterns, store, width, lanes, atomic = shape
    # which lanes meet in a bank does not change when all addresses move by whole dwords
    moved = stack[at] - 4 * (stack[at, :1] // 4)
    _, first, which = np.unique(moved, axis=0, return_index=True, return_inverse=True)
    named = {}
    for n in np.argsort(first)[:MAX_PATTERNS].tolist():
        stride, who = lds.clash(patterns, store, width, moved[first[n]], lanes, atomic=atomic)
        named[n] = (stride, ",".join(map(str, who)))
    for number, n in zip(at.tolist(), which.reshape(-1).tolist(), strict=True):
        if n in named:
            yield number, named[n]
