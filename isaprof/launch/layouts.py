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


def place(name: str, shape: Shape, pitch: int = 0, extra: int = 0, least: int = 0) -> Placement:
    """Placement of ``shape`` under layout ``name``.

    ``pitch`` is the stride of the slowest matrix dimension in elements (0: no
    padding), ``extra`` the number of spare elements after the last, ``least`` the
    least storage size in elements. Raises
    KeyError (unknown layout) or ValueError (a shape the layout cannot hold).
    """
    positions = LAYOUTS[name](shape, pitch)
    used = int(positions.max()) + 1 if positions.size else 0
    if pitch and len(shape) >= 2:
        # whole rows: the last one carries its padding too
        used = -(-used // pitch) * pitch
    return Placement(shape, positions, max(used + extra, least))


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
    return _shuffle16(shape, pitch, 16)


@layout("shuffle16x16_2byte")
def shuffle16x16_2byte(shape: Shape, pitch: int) -> NDArray[np.int64]:
    """shuffle16x16 for 2-byte elements (bf16, f16): k counts bytes as there."""
    return _shuffle16(shape, pitch, 8)


@layout("shuffle16x16_4bit")
def shuffle16x16_4bit(shape: Shape, pitch: int) -> NDArray[np.int64]:
    """shuffle16x16 for packed 4-bit elements: k counts bytes as there."""
    return _shuffle16(shape, pitch, 32)


def _shuffle16(shape: Shape, pitch: int, chunk: int) -> NDArray[np.int64]:
    """``chunk``: elements in 16 bytes."""
    if len(shape) != 2 or shape[0] % 16 or shape[1] % (2 * chunk) or pitch:
        raise ValueError(
            f"shuffle16x16 needs a matrix with rows % 16 == 0 and columns % {2 * chunk} == 0, unpadded"
        )
    n = np.arange(shape[0], dtype=np.int64)[:, None]
    k = np.arange(shape[1], dtype=np.int64)[None, :]
    n0, n1, k0, k1, k2 = n // 16, n % 16, k // (2 * chunk), k // chunk % 2, k % chunk
    return ((((n0 * (shape[1] // (2 * chunk)) + k0) * 2 + k1) * 16 + n1) * chunk + k2).reshape(-1)


@layout("mx_scales_32x8")
def mx_scales_32x8(shape: Shape, pitch: int) -> NDArray[np.int64]:
    """Block scales as AMD's MXFP4 GEMMs read them: 32 rows x 8 columns are 256 contiguous bytes.

    Row r = 32 d0 + 16 d1 + d2, column c = 8 d3 + 4 d4 + d5 goes to
    d1 + 2 d4 + 4 d2 + 64 d5 + 256 d3 + 32 columns d0 (aiter, e8m0_shuffle).
    """
    if len(shape) != 2 or shape[1] % 8 or pitch:
        raise ValueError("mx_scales_32x8 needs a matrix with columns % 8 == 0, unpadded")
    r = np.arange(shape[0], dtype=np.int64)[:, None]
    c = np.arange(shape[1], dtype=np.int64)[None, :]
    d0, d1, d2 = r // 32, r // 16 % 2, r % 16
    d3, d4, d5 = c // 8, c // 4 % 2, c % 4
    return (d1 + 2 * d4 + 4 * d2 + 64 * d5 + 256 * d3 + 32 * shape[1] * d0).reshape(-1)
