"""How an operand's logical elements lie in memory.

A layout turns the logical array (axes as the launch file lists them) into the
flat storage order and back. Named shuffles are pure permutations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
#: shape -> flat storage position (int64, in elements) of each logical element, in C order
Positions = Callable[[Shape, int], NDArray[np.int64]]

LAYOUTS: dict[str, Positions] = {}


def layout(name: str) -> Callable[[Positions], Positions]:
    """Register a layout under ``name``."""

    def add(f: Positions) -> Positions:
        LAYOUTS[name] = f
        return f

    return add


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the logical elements of one operand are stored.

    ``positions``: int64, storage index of each logical element (C order);
    ``elements``: storage size in elements, padding included.
    """

    shape: Shape
    positions: NDArray[np.int64]
    elements: int

    @property
    def dense(self) -> bool:
        """True where there is no padding between or after the elements."""
        return self.elements == self.positions.size

    def scatter(self, values: NDArray[Any], background: NDArray[Any]) -> NDArray[Any]:
        """Storage array: ``background`` with the logical ``values`` put in place."""
        out = background.copy()
        out[self.positions] = values.reshape(-1)
        return out

    def gather(self, storage: NDArray[Any]) -> NDArray[Any]:
        """Logical array from flat storage."""
        return storage[self.positions].reshape(self.shape)


def place(name: str, shape: Shape, pitch: int = 0, extra: int = 0) -> Placement:
    """Placement of ``shape`` under layout ``name``.

    ``pitch`` is the stride of the slowest matrix dimension in elements (0: no
    padding), ``extra`` the number of spare elements after the last. Raises
    KeyError (unknown layout) or ValueError (a shape the layout cannot hold).
    """
    positions = LAYOUTS[name](shape, pitch)
    used = int(positions.max()) + 1 if positions.size else 0
    if pitch and len(shape) >= 2:
        # whole rows: the last one carries its padding too
        used = -(-used // pitch) * pitch
    return Placement(shape, positions, used + extra)


@layout("row")
def row(shape: Shape, pitch: int) -> NDArray[np.int64]:
    """Row-major: the last axis is contiguous; ``pitch`` pads the rows."""
    width = shape[-1] if shape else 1
    step = pitch or width
    if step < width:
        raise ValueError(f"pitch {step} is less than the row's {width} elements")
    rows = int(np.prod(shape[:-1], dtype=np.int64))
    return (np.arange(rows, dtype=np.int64)[:, None] * step + np.arange(width, dtype=np.int64)).reshape(-1)


@layout("col")
def col(shape: Shape, pitch: int) -> NDArray[np.int64]:
    """Column-major: of the last two axes the first is contiguous."""
    if len(shape) < 2:
        raise ValueError("a column-major operand has two axes or more")
    swapped = (*shape[:-2], shape[-1], shape[-2])
    return row(swapped, pitch).reshape(swapped).swapaxes(-1, -2).reshape(-1)


@layout("shuffle16x16")
def shuffle16x16(shape: Shape, pitch: int) -> NDArray[np.int64]:
    """The 16 x 16-byte weight shuffle of AMD's aiter, for 1-byte elements.

    Row n = 16 n0 + n1, byte k = 32 k0 + 16 k1 + k2 goes to
    (((n0 * K/32 + k0) * 2 + k1) * 16 + n1) * 16 + k2 (aiter, shuffle_weight).
    """
    if len(shape) != 2 or shape[0] % 16 or shape[1] % 32 or pitch:
        raise ValueError(
            "shuffle16x16 needs a matrix with rows % 16 == 0 and bytes per row % 32 == 0, unpadded"
        )
    n = np.arange(shape[0], dtype=np.int64)[:, None]
    k = np.arange(shape[1], dtype=np.int64)[None, :]
    n0, n1, k0, k1, k2 = n // 16, n % 16, k // 32, k // 16 % 2, k % 16
    return ((((n0 * (shape[1] // 32) + k0) * 2 + k1) * 16 + n1) * 16 + k2).reshape(-1)
