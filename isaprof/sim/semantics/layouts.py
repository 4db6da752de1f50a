"""Where the elements of a matrix instruction live: lane and register index formulas.

A layout maps matrix coordinates to (element within the lane, lane). "Element e"
counts along a lane's registers, low bits first. Sources: AMD matrix
instruction calculator (CDNA3, RDNA3, RDNA4); CDNA4 ISA for the wider shapes of
gfx950 (a lane group holds a contiguous slice of K; 8-bit f8f6f4 operands two
16-byte halves).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Idx = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Layout:
    """Index arrays of one shape.

    ``a_element, a_lane``: [blocks, M, K]; ``b_element, b_lane``: [blocks, N, K];
    ``d_block, d_row, d_col``: [elements, lanes], the coordinates of each result.
    """

    a_element: Idx
    a_lane: Idx
    b_element: Idx
    b_lane: Idx
    d_block: Idx
    d_row: Idx
    d_col: Idx


def lane_pattern(blgp: int) -> Idx:
    """The lane of B that each lane's place is filled from.

    1 and 2: lanes 0 to 31, or 32 to 63, for both halves; 3: rotated down by 16
    lanes; 4 to 7: one group of 16 lanes for all. CDNA3 ISA, BLGP; AMD matrix
    instruction calculator.
    """
    lane = np.arange(64)
    if blgp < 3:
        return (lane & 31) + 32 * (blgp == 2) if blgp else lane
    return (lane + 16) & 63 if blgp == 3 else (lane & 15) + 16 * (blgp - 4)


def _grid(*sizes: int) -> Any:
    return np.meshgrid(*(np.arange(s) for s in sizes), indexing="ij")


@lru_cache(maxsize=256)
def mfma(m: int, k: int, per_lane: int, *, halves: bool = False, f64: bool = False) -> Layout:
    """MFMA m x m x k (64 lanes) with ``per_lane`` elements of A (and B) in each lane.

    The lanes split into 64 / m groups; groups form blocks, and within a block
    group g holds k = g * per_lane + e. ``halves``: elements 16 to 31 of a lane
    belong to the upper half of K.
    """
    blocks = 64 * per_lane // (m * k)
    groups = 64 // m // blocks
    b, i, kk = _grid(blocks, m, k)
    if halves:
        half, rest = kk // (k // 2), kk % (k // 2)
        element, group = rest % 16 + 16 * half, rest // 16
    else:
        element, group = kk % per_lane, kk // per_lane
    lane = i + m * (group + groups * b)
    if f64 and m == 4:
        lane = i + 4 * b + 16 * group  # k varies slowest over the wave
    regs = m * m * blocks // 64
    r, lanes = _grid(regs, 64)
    if m == 4:
        d_block, d_row, d_col = (lanes // 4, r, lanes % 4)
        if f64:
            d_block, d_row = lanes // 4 % 4, lanes // 16
    elif f64:
        d_block, d_row, d_col = 0 * r, 4 * r + lanes // 16, lanes % 16
    elif m == 16:
        d_block, d_row, d_col = r // 4, 4 * (lanes // 16) + r % 4, lanes % 16
    else:
        d_block, d_row, d_col = r // 16, 8 * (r % 16 // 4) + 4 * (lanes // 32) + r % 4, lanes % 32
    return Layout(element, lane, element, lane, d_block, d_row, d_col)


@lru_cache(maxsize=64)
def wmma(family: str, lanes: int, k: int) -> Layout:
    """WMMA 16x16xk.

    gfx11: every group of 16 lanes holds whole rows; D rows alternate between the
    groups. gfx12 (wave32): group g holds k = g * (k/2) + e; D rows 8 * g + r.
    """
    _b, i, kk = _grid(1, 16, k)
    groups = lanes // 16
    if family == "gfx11":
        element, lane = kk, i + 0 * kk
        r, lane_d = _grid(256 // lanes, lanes)
        row = groups * r + lane_d // 16
    else:
        per_lane = k // groups
        element, lane = kk % per_lane, i + 16 * (kk // per_lane)
        r, lane_d = _grid(256 // lanes, lanes)
        row = 256 // lanes * (lane_d // 16) + r
    return Layout(element, lane, element, lane, 0 * r, row, lane_d % 16)
