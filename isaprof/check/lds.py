"""LDS races: which access of which wave came last, and what orders it before the next one.

Two accesses of different waves are ordered when the first was *proven
complete* by a wait before its wave signalled a barrier, and the second was
issued after its wave had passed that barrier. A barrier alone orders nothing:
an LDS operation may still be in flight when its wave arrives (LLVM's AMDGPU
memory model: ``s_waitcnt lgkmcnt(0)`` before the barrier of a release).
Within a wave, LDS instructions are done in order; LDS-DMA is not ordered with
them unless a wait on its counter lies between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.analysis.replay import Operation

Vec = NDArray[Any]


@dataclass(slots=True, eq=False)
class LdsAccess:
    """One executed access. ``passed``: barriers that its wave had passed when it was issued."""

    row: int
    wave: int
    passed: int
    signalled: int  #: barriers that its wave had signalled when it was issued
    write: bool
    atomic: bool
    dma: bool
    operation: Operation | None = None  #: its entry on the wait counters
    region: int = -1  #: row of the barrier that its wave passed last, -1 before the first
    fresh: bool = False  #: a read of bytes that no wave had written yet

    @property
    def complete(self) -> int | None:
        """Signals of its wave when it was proven complete; None while it may be in flight."""
        return None if self.operation is None else self.operation.done

    def before(self, later: LdsAccess) -> bool:
        """Whether a barrier orders this access before one of another wave."""
        done = self.complete
        return done is not None and done < later.passed

    @property
    def kind(self) -> str:
        return ("LDS-DMA write" if self.dma else "write") if self.write else "read"


@dataclass(frozen=True, slots=True)
class Clash:
    """Two accesses that nothing orders; ``offset`` is the first byte that both touch."""

    earlier: LdsAccess
    later: LdsAccess
    offset: int
    units: int  #: how many units of the shadow they share


class LdsShadow:
    """Last accesses to each unit of one workgroup's LDS; ``unit`` bytes is the smallest access."""

    def __init__(self, size: int, waves: int, unit: int) -> None:
        self.unit = unit
        n = -(-size // unit) + 1
        self.accesses: list[LdsAccess] = []
        self._writer = np.full(n, -1, np.int32)
        self._reader = np.full((waves, n), -1, np.int32)

    def _units(self, offsets: Vec, nbytes: int) -> Vec:
        per = max(1, nbytes // self.unit)
        start = offsets // self.unit
        # an access that does not start at a unit's boundary reaches into one more
        if (offsets % self.unit).any():
            per += 1
        units: Vec = (start[:, None] + np.arange(per)).reshape(-1)
        return units

    def access(self, a: LdsAccess, offsets: Vec, nbytes: int) -> list[Clash]:
        """Enter ``a`` and give what it clashes with."""
        units = np.minimum(self._units(offsets, nbytes), self._writer.size - 1)
        clashes = self._against(a, self._writer[units], units)
        if a.write:
            readers = self._reader[:, units]
            for wave in np.flatnonzero((readers >= 0).any(axis=1)).tolist():
                if wave != a.wave or a.dma:
                    clashes += self._against(a, readers[wave], units)
        ident = len(self.accesses)
        self.accesses.append(a)
        if a.write:
            self._writer[units] = ident
        else:
            self._reader[a.wave, units] = ident
        return clashes

    def _against(self, a: LdsAccess, idents: Vec, units: Vec) -> list[Clash]:
        out = []
        for ident in set(idents.tolist()):
            if ident < 0:
                continue
            b = self.accesses[ident]
            if self._ordered(b, a):
                continue
            shared = units[idents == ident]
            out.append(Clash(b, a, int(shared.min()) * self.unit, int(shared.size)))
        return out

    @staticmethod
    def _ordered(b: LdsAccess, a: LdsAccess) -> bool:
        if a.atomic and b.atomic:
            return True
        if a.wave == b.wave:
            return a.dma == b.dma or b.complete is not None
        return b.before(a)
