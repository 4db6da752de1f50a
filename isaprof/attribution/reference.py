"""Hidden latency as AMD's decoder defines it, for comparison with :mod:`isaprof.attribution.exposure`.

Source: ROCm/rocm-systems, projects/rocprof-trace-decoder (MIT), hidden
latency of newer builds. Per shader engine and SIMD number, records keep one of
four pipes busy from issue to end of duration; in a pipe, intervals that meet
are laid behind each other. A record's idle, stall and issue time is hidden as
far as the pipes that its class looks at are busy, whosever instruction it is.
Issue windows of records of other SIMDs (VMEM in the original) are no part of a
capture and are left out here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isaprof.attribution.intervals import Axis, union
from isaprof.attribution.records import CATEGORY_NUMBER
from isaprof.isa.model import Category

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.records import Records
    from isaprof.attribution.static import StaticCode

    Ints = NDArray[np.int64]
    Stretches = tuple[Ints, Ints]

_MATRIX = ("v_mfma", "v_smfma", "v_wmma", "v_swmma")
_MEMORY = [CATEGORY_NUMBER[c] for c in (Category.LDS, Category.VMEM, Category.FLAT)]
_SCALAR = [CATEGORY_NUMBER[c] for c in (Category.SALU, Category.SMEM)]
_VALU = CATEGORY_NUMBER[Category.VALU]


def hidden_latency(code: StaticCode, records: Records) -> pd.DataFrame:
    """Per line: line, hidden_idle, hidden_stall, hidden_issue, cost (all cycles, summed over records).

    ``cost`` is what AMD calls non-hidden: latency - hidden stall - hidden
    issue + idle - hidden idle.
    """
    n = len(code)
    rec = records
    start, end = rec.issue, rec.time + np.maximum(rec.duration, rec.stall)
    unit = np.unique(np.stack((rec.waves.se, rec.waves.simd), axis=1), axis=0, return_inverse=True)[1]
    unit = unit.reshape(-1)[rec.w].astype(np.int64) if len(rec) else np.zeros(0, np.int64)
    last = _previous_end(records)
    axis = Axis.around(start, end, last, rec.time)
    matrix = np.array([x.text.startswith(_MATRIX) for x in code.instructions], np.bool_)[rec.line]
    kind = {
        "matrix": matrix,
        "valu": (rec.category == _VALU) & ~matrix,
        "vmem": np.isin(rec.category, _MEMORY),
        "scalar": np.isin(rec.category, _SCALAR),
    }
    length = end - start
    pipe = {k: _pipe(axis, unit, start, np.where(kind[k], length, 0)) for k in ("matrix", "vmem", "scalar")}
    pipe["valu"] = _pipe(
        axis, unit, start, np.where(matrix, 3 * length // 4, np.where(kind["valu"], length, 0))
    )

    # idle, stall and issue of each record
    asked = [
        axis.keys(unit, a, np.maximum(a, b))
        for a, b in ((last, rec.time), (rec.time, rec.issue), (start, end))
    ]

    def covered(*pipes: str) -> tuple[Ints, Ints, Ints]:
        both = union(*(np.concatenate([pipe[p][k] for p in pipes]) for k in (0, 1)))
        return tuple(both.measure(*keys) for keys in asked)  # type: ignore[return-value]

    valu, matrix_set, vmem, scalar = (covered(p) for p in ("valu", "matrix", "vmem", "scalar"))
    vector, wide = covered("valu", "matrix"), covered("valu", "matrix", "vmem")
    rest = covered("valu", "matrix", "vmem", "scalar")
    choice = [
        (kind["matrix"], _without_issue(valu), _without_issue(matrix_set)),
        (kind["valu"], _without_issue(valu), matrix_set),
        (kind["vmem"], vector, _without_issue(vmem)),
        (kind["scalar"], wide, _without_issue(scalar)),
    ]
    hidden = [x.copy() for x in rest]
    for which, a, b in choice:
        first = which & (sum(a) > sum(b))
        for k in range(3):
            hidden[k] = np.where(first, a[k], np.where(which, b[k], hidden[k]))

    def sums(values: Ints) -> Ints:
        out = np.zeros(n, np.int64)
        np.add.at(out, rec.line, values)
        return out

    idle = np.maximum(rec.time - _running_end(records), 0)
    idle_sum, parts = sums(idle), [sums(h) for h in hidden]
    cost = sums(rec.duration) - parts[1] - parts[2] + idle_sum - np.minimum(parts[0], idle_sum)
    names = ("hidden_idle", "hidden_stall", "hidden_issue")
    return pd.DataFrame({"line": np.arange(n)} | dict(zip(names, parts, strict=True)) | {"cost": cost})


def _without_issue(x: tuple[Ints, Ints, Ints]) -> tuple[Ints, Ints, Ints]:
    return x[0], x[1], np.zeros_like(x[2])


def _pipe(axis: Axis, unit: Ints, start: Ints, length: Ints) -> Stretches:
    """Busy stretches of one pipe: operations of a unit one behind the other, in order of their start."""
    at = np.flatnonzero(length > 0)
    key = axis.key(unit[at], start[at])
    order = np.argsort(key, kind="stable")
    key, length = key[order], length[at][order]
    total = np.cumsum(length)
    through = np.maximum.accumulate(key - (total - length)) + total if len(key) else key
    stop = (unit[at][order] + 1) * axis.span  # what is piled up stays in its own unit
    return np.minimum(through - length, stop), np.minimum(through, stop)


def _previous_end(records: Records) -> Ints:
    """End of the record before of each record's wave; the wave's begin at its first."""
    end = records.time + records.duration
    out = np.empty_like(end)
    out[1:] = end[:-1]
    first = records.is_first
    out[first] = records.waves.begin[records.w[first]]
    return out


def _running_end(records: Records) -> Ints:
    from isaprof.attribution.partition import running_max

    before = _previous_end(records)
    return running_max(before, records.w)
