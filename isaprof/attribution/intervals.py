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

    def measure(self, start: Ints, end: Ints) -> Ints:
        """How much of each ``start .. end`` (keys) is covered."""
        return np.asarray(self._upto(end) - self._upto(start))

    def _upto(self, key: Ints) -> Ints:
        if not len(self.start):
            return np.zeros(len(key), np.int64)
        at = np.searchsorted(self.start, key, side="right") - 1
        inside = np.maximum(at, 0)
        part = np.clip(key - self.start[inside], 0, self.end[inside] - self.start[inside])
        return np.asarray(np.where(at >= 0, self.before[inside] + part, 0))


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

    def others(self, unit: Ints, member: Ints, begin: Ints, end: Ints) -> Ints:
        """How long within ``begin .. end`` (times) members of ``unit`` other than ``member`` are active."""
        key = self.axis.key
        anyone = self.any.measure(key(unit, begin), key(unit, end))
        only_itself = self.alone.measure(key(member, begin), key(member, end))
        return np.asarray(anyone - only_itself)


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
