"""Why a decoded trace holds no instruction: which unit ran the waves, and how to trace that one."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput

#: gfx10 and later number CUs as WGP + 128 * shader array; --att-target-cu takes the WGP
_UNIT = 127
#: (engine, CU) -> waves that began there
Units = dict[tuple[int, int], int]


def count_units(occupancy: dict[int, NDArray[np.int64]]) -> Units:
    """Waves of each unit from rows of time, cu, simd, slot, start, ... for each engine."""
    units: Units = {}
    for se, rows in occupancy.items():
        for cu, n in zip(*np.unique(rows[rows[:, 4] != 0, 1], return_counts=True), strict=True):
            units[se, int(cu)] = int(n)
    return units


def populated(units: Units) -> str:
    """Where waves ran, in words."""
    best = sorted(units.items(), key=lambda x: (-x[1], x[0]))[:4]
    where = ", ".join(f"engine {se} CU {cu & _UNIT} ({n})" for (se, cu), n in best)
    return f"waves ran on {where}" + (f" and {len(units) - 4} more" if len(units) > 4 else "")


def retarget(units: Units) -> str:
    """The rocprofv3 command that traces the CU most waves ran on, on every engine where it had some."""
    total: dict[int, int] = {}
    for (_, cu), n in units.items():
        total[cu & _UNIT] = total.get(cu & _UNIT, 0) + n
    if not total:
        return widen()
    cu = max(total, key=lambda c: (total[c], -c))
    mask = sum({1 << se for se, c in units if c & _UNIT == cu and se < 32})
    others = sorted((c for c in total if c != cu), key=lambda c: (-total[c], c))[:6]
    more = f"   (or CU {', '.join(map(str, others))})" if others else ""
    return f"rocprofv3 --att --att-target-cu {cu} --att-shader-engine-mask {mask:#x} -d DIR -- APP{more}"


def widen() -> str:
    """The rocprofv3 command that traces every shader engine."""
    return "rocprofv3 --att --att-shader-engine-mask 0xffffffff -d DIR -- APP   (smaller masks lose less)"


def nothing_attributed(
    path: Path,
    occupancy: dict[int, NDArray[np.int64]],
    *,
    traced: bool,
    raw: Path,
    what: str = 'holds no code ("code": null): ',
) -> BadInput:
    """The diagnosis for ``{"code": null}``: AMD's decoder itself says only that there is no code.

    ``traced``: wave files exist. ``raw``: directory whose .att files could be decoded instead.
    ``what``: what is missing in the file.
    """
    if traced:
        return BadInput(
            what + "the decoder attributed no instruction to any wave",
            path=path,
            kind="code_null",
            hint=f"isaprof import {quote(str(raw))} --decoder isaprof   reads the raw .att files",
        )
    units = count_units(occupancy)
    if not units:
        return BadInput(
            what + "and occupancy.json no wave: none ran on a traced shader engine, or its buffer is empty",
            path=path,
            kind="wrong_se_mask",
            hint=widen(),
        )
    return BadInput(
        what + "no wave ran on the target CU (harvested, or never populated); " + populated(units),
        path=path,
        kind="target_cu_empty",
        hint=retarget(units),
    )
