"""What VGPR bank conflicts cost, by line (rules: :mod:`isaprof.isa.vgpr_banks`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.model import Cause
from isaprof.isa.vgpr_banks import bank_conflict

if TYPE_CHECKING:
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode


def static_extra(code: StaticCode) -> Any:
    """Cycles that a bank conflict adds to each line (int64; 0 where there is none or it is not known)."""
    out = np.zeros(len(code), np.int64)
    for i, x in enumerate(code.instructions):
        found = bank_conflict(x, code.table)
        out[i] = found.extra or 0 if found is not None else 0
    return out


def vgpr_conflicts(code: StaticCode, records: Records, s: Segments) -> pd.DataFrame:
    """One row for each executed instruction with a conflict, most executions first.

    line, text, form, banks ("src0 3, src1 3, src2 1"), clash, hits, extra (cycles
    an execution, static), possible (extra x hits), charged (wait cycles that
    the trace shows: cause *VGPR bank conflict*, culprit this line).
    """
    hits = np.bincount(records.line, minlength=len(code))
    mine = s.cause == CAUSE_CODE[Cause.VGPR_CONFLICT]
    rows = []
    for i in np.flatnonzero(hits).tolist():
        x = code.instructions[i]
        found = bank_conflict(x, code.table)
        if found is None:
            continue
        rows.append(
            {
                "line": i, "text": x.text, "form": found.form,
                "banks": ", ".join(f"{n} {b}" for n, b in found.banks.items()),
                "clash": ", ".join(found.clash), "hits": int(hits[i]), "extra": found.extra,
                "possible": None if found.extra is None else found.extra * int(hits[i]),
                "charged": int(s.cycles[mine & (s.culprit == i)].sum()),
            }
        )  # fmt: skip
    columns = ["line", "text", "form", "banks", "clash", "hits", "extra", "possible", "charged"]
    out = pd.DataFrame(rows, columns=columns)
    return out.sort_values("hits", ascending=False, kind="stable", ignore_index=True)
