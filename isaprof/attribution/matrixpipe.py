"""How well loops feed the matrix pipe: busy cycles, issue gaps, who left it idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.exposure import pipe_times
from isaprof.attribution.static import Cls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MatrixPipe:
    """Executed matrix instructions in the order in which they take the pipe of their SIMD.

    ``idle_from .. start`` is the time the pipe stood idle before each, 0 long
    for the first of a SIMD; ``before`` is the record of the one before on the
    SIMD (-1: none), whichever wave it belongs to.
    """

    r: Ints
    unit: Ints
    start: Ints
    busy: Ints
    idle_from: Ints
    before: Ints


def matrix_pipe(code: StaticCode, records: Records) -> MatrixPipe:
    """Occupancy of the matrix pipe of every SIMD, by the architecture table.

    On RDNA the WMMAs are placed where they execute, behind the vector queue.
    """
    home = records.waves.unit(simd=True)[records.w]
    r, start, end = pipe_times(code, records, home)
    matrix = (code.cls[records.line[r]] & int(Cls.MATRIX)) != 0
    r, start, end = r[matrix], start[matrix], end[matrix]
    unit = home[r]
    order = np.lexsort((start, unit))
    r, start, end, unit = r[order], start[order], end[order], unit[order]
    n = len(r)
    before = np.full(n, -1, np.int64)
    idle_from = start.copy()
    if n:
        low = int(start.min())
        span = int(end.max()) - low + 1
        reach = np.maximum.accumulate(end - low + unit * span)
        same = np.flatnonzero(unit[1:] == unit[:-1]) + 1
        before[same] = r[same - 1]
        idle_from[same] = np.minimum(reach[same - 1] - unit[same] * span + low, start[same])
    return MatrixPipe(r, unit, start, end - start, idle_from, before)


def lds_cover(code: StaticCode, wave_size: int) -> Ints:
    """Matrix cycles that must run while the LDS serves each line, all SIMDs of the CU doing the same.

    bytes a lane x lanes x SIMDs / peak bytes a cycle of the LDS: 32 cycles for a
    128-bit read on gfx942 (128 B/clk for four SIMDs), 16 on gfx950 (256 B/clk).
    Zero where the line is no LDS access or the table lacks the figures.
    """
    simds, peak = code.table.get("simds_per_cu"), code.table.get("lds_peak_bytes_per_cycle")
    out = np.zeros(len(code), np.int64)
    if not simds or not peak:
        return out
    for i in np.flatnonzero((code.cls & int(Cls.LDS)) != 0).tolist():
        mem = code.instructions[i].mem
        if mem is not None and mem.bytes:
            out[i] = -(-mem.bytes * wave_size * int(simds) // int(peak))
    return out
