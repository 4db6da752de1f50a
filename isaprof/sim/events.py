"""Memory accesses of a wave as columns: what a launch of millions of instructions can afford to keep.

A :class:`~isaprof.sim.trace.MemEvent` with its two arrays takes a kilobyte and
a microsecond. The executors therefore fill these columns, the timing model
reads them, and an event is only made for somebody who asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.sim.trace import MemEvent

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: what ``space`` numbers; the C executor's order (SP_GLOBAL ... in isa.h), then what it never executes
SPACES = ("global", "lds", "scratch", "buffer", "scalar", "flat", "gds")
_CODE = {name: i for i, name in enumerate(SPACES)}
#: lane of an access that has none (scalar loads)
NO_LANE = -1


class MemEvents(Mapping[int, MemEvent]):
    """Step -> MemEvent, in the order of the steps.

    By event: ``step`` int32, ``space`` uint8 (index of :data:`SPACES`),
    ``load`` and ``store`` bool, ``bytes`` int32. The lanes of event ``i`` are
    ``at[i]:at[i + 1]`` of ``addresses`` (int64) and ``lanes`` (int8,
    :data:`NO_LANE` for scalar ones).
    """

    __slots__ = ("addresses", "at", "bytes", "lanes", "load", "space", "step", "store")

    def __init__(
        self,
        step: NDArray[Any],
        kind: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]],
        count: NDArray[Any],
        addresses: NDArray[np.int64],
        lanes: NDArray[np.int8],
    ) -> None:
        """Of events in the order of their execution; ``kind``: space, load, store, bytes; ``count``: lanes.

        Several of one step are one: the second address of ``ds_read2`` follows the first.
        """
        step = step.astype(np.int32)
        if (step[1:] < step[:-1]).any():
            order = np.argsort(step, kind="stable")
            move = _lanes_of(order, count)
            addresses, lanes, step, count = addresses[move], lanes[move], step[order], count[order]
            kind = (kind[0][order], kind[1][order], kind[2][order], kind[3][order])
        if (step[1:] == step[:-1]).any():
            last = np.append(step[1:] != step[:-1], True)
            first = np.flatnonzero(np.append(True, last[:-1]))
            kind = (kind[0][last], kind[1][last], kind[2][last], kind[3][last])
            step, count = step[last], np.add.reduceat(count, first)
        self.step: NDArray[np.int32] = step
        self.space: NDArray[np.uint8] = kind[0].astype(np.uint8)
        self.load: NDArray[np.bool_] = kind[1].astype(bool)
        self.store: NDArray[np.bool_] = kind[2].astype(bool)
        self.bytes: NDArray[np.int32] = kind[3].astype(np.int32)
        self.at: NDArray[np.int64] = np.concatenate(([0], np.cumsum(count, dtype=np.int64)))
        self.addresses = np.ascontiguousarray(addresses, dtype=np.int64)
        self.lanes = np.ascontiguousarray(lanes, dtype=np.int8)

    @classmethod
    def of(cls, memory: Mapping[int, MemEvent]) -> MemEvents:
        """Columns of any mapping; of columns, themselves."""
        if isinstance(memory, MemEvents):
            return memory
        events = list(memory.values())
        kind = (
            np.array([_CODE[e.space] for e in events], dtype=np.uint8),
            np.array([e.load for e in events], dtype=bool),
            np.array([e.store for e in events], dtype=bool),
            np.array([e.bytes for e in events], dtype=np.int32),
        )
        count = np.array([len(e.addresses) for e in events], dtype=np.int64)
        lanes = [e.lanes if len(e.lanes) else np.full(len(e.addresses), NO_LANE) for e in events]
        return cls(
            np.fromiter(memory, np.int32, len(events)), kind, count,
            _joined([e.addresses for e in events], np.int64), _joined(lanes, np.int8),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[MemEvents]) -> MemEvents:
        """The events of all ``parts``, each in its order."""
        if len(parts) == 1:
            return parts[0]

        def column(name: str, dtype: type[np.generic]) -> NDArray[Any]:
            return _joined([getattr(p, name) for p in parts], dtype)

        kind = (
            column("space", np.uint8), column("load", np.bool_), column("store", np.bool_),
            column("bytes", np.int32),
        )  # fmt: skip
        return cls(
            column("step", np.int32), kind, _joined([np.diff(p.at) for p in parts], np.int64),
            column("addresses", np.int64), column("lanes", np.int8),
        )  # fmt: skip

    @property
    def kind(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """space, load, store and bytes."""
        return self.space, self.load, self.store, self.bytes

    def moved(self, origin: Mapping[int, int]) -> MemEvents:
        """At each key of ``origin`` the event of the step that is its value, where there is one."""
        new = np.fromiter(origin, np.int64, len(origin))
        old = np.fromiter(origin.values(), np.int64, len(origin))
        found = np.searchsorted(self.step, old)
        known = np.append(self.step, -1)[found] == old
        chosen, new = found[known], new[known]
        count = np.diff(self.at)
        lanes = _lanes_of(chosen, count)
        space, load, store, width = self.kind
        return MemEvents(
            new,
            (space[chosen], load[chosen], store[chosen], width[chosen]),
            count[chosen], self.addresses[lanes], self.lanes[lanes],
        )  # fmt: skip

    def of_one_lane(self, steps: Sequence[int], space: str) -> MemEvents:
        """All events; those at ``steps`` in ``space`` with their first address only."""
        chosen = np.isin(self.step, np.array(steps, np.int64)) & (self.space == _CODE[space])
        count = np.diff(self.at)
        keep = (np.arange(len(self.addresses)) == np.repeat(self.at[:-1], count)) | ~np.repeat(chosen, count)
        few = np.where(chosen, 1, count)
        return MemEvents(self.step, self.kind, few, self.addresses[keep], self.lanes[keep])

    def event(self, i: int) -> MemEvent:
        """The ``i``-th event."""
        a, b = self.at[i], self.at[i + 1]
        lanes = self.lanes[a:b]
        if b > a and lanes[0] == NO_LANE:
            lanes = lanes[:0]
        return MemEvent(
            SPACES[self.space[i]], bool(self.load[i]), bool(self.store[i]), int(self.bytes[i]),
            self.addresses[a:b], lanes.astype(np.int16),
        )  # fmt: skip

    def __getitem__(self, step: int) -> MemEvent:
        i = int(np.searchsorted(self.step, step))
        if i == len(self.step) or self.step[i] != step:
            raise KeyError(step)
        return self.event(i)

    def __contains__(self, step: object) -> bool:
        if not isinstance(step, int | np.integer):
            return False
        i = int(np.searchsorted(self.step, step))
        return i < len(self.step) and int(self.step[i]) == step

    def __iter__(self) -> Iterator[int]:
        steps: Iterable[int] = self.step.tolist()
        return iter(steps)

    def __len__(self) -> int:
        return len(self.step)


def _lanes_of(events: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the lanes of ``events`` are, event by event."""
    begin, length = np.cumsum(count) - count, count[events]
    return np.repeat(begin[events] - (np.cumsum(length) - length), length) + np.arange(length.sum())


def _joined(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)
