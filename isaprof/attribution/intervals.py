"""Measures of unions of intervals, for all SIMDs (or waves) at once.

Times of one unit are moved into a stretch of their own, ``unit * span + time -
low``, so that one sorted array and one search serve all units. Everything is
int64 and exact; the cost is a sort of the interval ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Axis:
    """The common time axis: every time that is asked about lies in ``low .. low + span``."""

    low: int
    span: int

    @classmethod
    def around(cls, *times: Ints) -> Axis:
        """An axis that holds all ``times``."""
        some = [t for t in times if len(t)]
        low = min((int(t.min()) for t in some), default=0)
        high = max((int(t.max()) for t in some), default=0)
        return cls(low, high - low + 1)

    def key(self, unit: Ints, time: Ints) -> Ints:
        """Position of ``time`` of ``unit``; times outside the axis are clipped to it."""
        return np.asarray(unit * self.span + np.clip(time - self.low, 0, self.span - 1))

    def keys(self, unit: Ints, begin: Ints, end: Ints) -> tuple[Keys, Keys]:
        """Two times of ``unit``, to ask several sets about."""
        return Keys.of(self.key(unit, begin)), Keys.of(self.key(unit, end))


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys that are asked about, sorted once for all sets: ``sorted[i]`` is key number ``order[i]``."""

    order: Ints
    sorted: Ints

    @classmethod
    def of(cls, key: Ints) -> Keys:
        """Of keys in any order; those of one wave mostly ascend, so that sorting them is cheap."""
        order = np.argsort(key, kind="stable")
        return cls(order, key[order])


@dataclass(frozen=True, slots=True)
class Cover:
    """A set of disjoint, sorted stretches of keys, with the length of all before each."""

    start: Ints
    end: Ints
    before: Ints  #: one more entry than stretches

    @classmethod
    def of(cls, start: Ints, end: Ints) -> Cover:
        """From sorted, disjoint stretches."""
        return cls(start, end, np.concatenate(([0], np.cumsum(end - start))).astype(np.int64))

    def measure(self, start: Keys | Ints, end: Keys | Ints) -> Ints:
        """How much of each ``start .. end`` (keys) is covered."""
        first, last = (k if isinstance(k, Keys) else Keys.of(k) for k in (start, end))
        return np.asarray(self._upto(last) - self._upto(first))

    def _upto(self, key: Keys) -> Ints:
        # the keys before the first stretch, and those from each stretch's start to the next one's
        bounds = np.searchsorted(key.sorted, self.start)
        count = np.diff(bounds, append=len(key.sorted))
        none = int(bounds[0]) if len(bounds) else len(key.sorted)
        covered = np.minimum(key.sorted[none:], np.repeat(self.end, count))
        covered += np.repeat(self.before[:-1] - self.start, count)
        out = np.zeros(len(key.order), np.int64)
        out[key.order[none:]] = covered
        return out


def union(start: Ints, end: Ints) -> Cover:
    """The union of any stretches of keys (none may reach from one unit into the next)."""
    keep = end > start
    start, end = start[keep], end[keep]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    if not len(start):
        return Cover.of(start, end)
    reach = np.maximum.accumulate(end)
    new = np.ones(len(start), np.bool_)
    new[1:] = start[1:] > reach[:-1]
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(start)) - 1
    return Cover.of(start[first], reach[last])


@dataclass(frozen=True, slots=True)
class Shared:
    """When any member of a unit is active, and when exactly one is, and which.

    ``alone`` is keyed by member, not by unit: ``axis.key(member, time)``.
    """

    axis: Axis
    any: Cover
    alone: Cover

    def others(self, unit: tuple[Keys, Keys], member: tuple[Keys, Keys]) -> Ints:
        """How long members of a unit other than ``member`` are active, between the times of the keys.

        ``unit``: begin and end as keys of the unit, ``member``: the same as keys of the member.
        """
        return np.asarray(self.any.measure(*unit) - self.alone.measure(*member))


def shared(axis: Axis, unit: Ints, member: Ints, begin: Ints, end: Ints) -> Shared:
    """Count the active members of each unit over time (``member`` numbers are unique over all units)."""
    # a member counts once however many of its intervals overlap
    own = union(axis.key(member, begin), axis.key(member, end))
    member_of = own.start // axis.span
    home = np.zeros(int(member.max(initial=-1)) + 1, np.int64)
    home[member] = unit
    offset = (home[member_of] - member_of) * axis.span
    edges = np.concatenate((own.start + offset, own.end + offset))
    step = np.concatenate((np.ones(len(own.start), np.int64), -np.ones(len(own.end), np.int64)))
    who = np.concatenate((member_of, -member_of))
    order = np.argsort(edges, kind="stable")
    edges, count, names = edges[order], np.cumsum(step[order]), np.cumsum(who[order])
    if not len(edges):
        empty = Cover.of(edges, edges)
        return Shared(axis, empty, empty)
    begin_, end_ = edges[:-1], edges[1:]
    count, names = count[:-1], names[:-1]
    real = end_ > begin_
    anyone = union(begin_[real & (count > 0)], end_[real & (count > 0)])
    single = real & (count == 1)
    name = names[single]
    back = (name - home[name]) * axis.span
    return Shared(axis, anyone, union(begin_[single] + back, end_[single] + back))
