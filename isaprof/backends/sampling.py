"""Which workgroups run, and which of them share the one CU that is timed.

A dispatch hands workgroups to the device's units (CUs on CDNA, WGPs on RDNA)
in turn, x fastest; the launch order seen in public hardware traces is the same
(workgroups go round the units before a unit gets its second one).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isaprof.errors import UsageError

if TYPE_CHECKING:
    from isaprof.arch import ArchTable

Dim3 = tuple[int, int, int]


def unlinear(index: int, grid: Dim3) -> Dim3:
    """Workgroup id of position ``index`` in dispatch order."""
    x, y, _ = grid
    return index % x, index // x % y, index // (x * y)


def linear(wg: Dim3, grid: Dim3) -> int:
    """Position of a workgroup in dispatch order."""
    return wg[0] + grid[0] * (wg[1] + grid[1] * wg[2])


def units(table: ArchTable) -> int:
    """Units (CUs or WGPs) of the device that take workgroups in turn; 1 where unknown."""
    return max(1, int(table.get("cu_count", 1)) // int(table.get("cus_per_unit", 1)))


def unit_name(table: ArchTable) -> str:
    """``CU`` or ``WGP``."""
    return str(table.get("trace_unit", "CU"))


@dataclass(frozen=True, slots=True)
class Selection:
    """``run``: workgroups to execute, in dispatch order, None for all; ``total`` of the grid."""

    run: tuple[Dim3, ...] | None
    total: int

    @property
    def count(self) -> int:
        return self.total if self.run is None else len(self.run)


def select(text: str, grid: Dim3) -> Selection:
    """``all``, a number of workgroups spread over the grid, or one as ``X,Y,Z``.

    Raises UsageError for anything else, and for a workgroup outside the grid.
    """
    total = grid[0] * grid[1] * grid[2]
    text = text.strip()
    if text == "all":
        return Selection(None, total)
    parts = [p.strip() for p in text.split(",")]
    if not all(p.isascii() and p.isdigit() and len(p) < 12 for p in parts) or len(parts) not in (1, 2, 3):
        raise UsageError(f"--workgroups {text}: expected all, a number, or X,Y,Z", kind="workgroups")
    numbers = [int(p) for p in parts]
    if len(numbers) == 1:
        n = numbers[0]
        if n < 1:
            raise UsageError("--workgroups 0: at least one workgroup must run", kind="workgroups")
        if n >= total:
            return Selection(None, total)
        return Selection(tuple(unlinear(i * total // n, grid) for i in range(n)), total)
    x, y, z = (*numbers, 0)[:3]
    if x >= grid[0] or y >= grid[1] or z >= grid[2]:
        raise UsageError(
            f"--workgroups {text}: the grid has {grid[0]} x {grid[1]} x {grid[2]}", kind="workgroups"
        )
    return Selection(((x, y, z),), total)


def timed(selection: Selection, grid: Dim3, n_units: int, limit: int) -> tuple[Dim3, ...]:
    """The executed workgroups that unit 0 gets, at most ``limit``, at least one."""
    if selection.run is None:
        first = [unlinear(i, grid) for i in range(0, selection.total, n_units)[:limit]]
    else:
        first = [w for w in selection.run if linear(w, grid) % n_units == 0][:limit]
    return tuple(first) or (selection.run or ((0, 0, 0),))[:1]
