"""VGPR bank conflicts, decided from the registers alone.

RDNA has four VGPR banks (index mod 4) with one read port each. A VOP3 whose
three sources lie in one bank needs another read cycle, a gfx11 WMMA any two of
whose fragments start in one bank takes 34 instead of 32 cycles, and the two
halves of a VOPD must not read one bank through the same port at all. Which
forms conflict on an architecture, and what a conflict adds, stands in its table
(``vgpr_banks``, ``vop3_bank_extra``, ``wmma_bank_extra``, ``vopd_bank_masks``);
CDNA's four-cycle operations hide them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.model import Cause
from isaprof.isa.model import Pipe, RegClass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isaprof.arch import ArchTable
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode
    from isaprof.isa.model import Instruction


@dataclass(frozen=True, slots=True)
class BankConflict:
    """Sources of one instruction that meet in a bank.

    ``form``: "WMMA", "VOP3" or "VOPD"; ``banks``: bank of each source, by
    name; ``extra``: cycles an execution takes longer, None where the form is
    not allowed at all (VOPD).
    """

    form: str
    banks: Mapping[str, int]
    clash: tuple[str, ...]
    extra: int | None


def bank_conflict(x: Instruction, table: ArchTable) -> BankConflict | None:
    """The conflict of ``x`` on the architecture of ``table``; None if there is none (or none is known)."""
    banks = table.get("vgpr_banks")
    if not banks:
        return None
    if x.dual is not None:
        return _vopd(x, table, int(banks))
    sources = _sources(x)
    named = {f"src{n}": r % int(banks) for n, r in enumerate(sources) if r is not None}
    if x.pipe is Pipe.MATRIX:
        extra, needed, form = table.get("wmma_bank_extra"), 2, "WMMA"
    elif x.pipe in (Pipe.VALU, Pipe.TRANS):
        extra, needed, form = table.get("vop3_bank_extra"), 3, "VOP3"
    else:
        return None
    # one register read twice is read once
    if extra is None or len({r for r in sources if r is not None}) < needed:
        return None
    for bank in sorted(set(named.values())):
        clash = tuple(n for n, b in named.items() if b == bank)
        distinct = {r for r in sources if r is not None and r % int(banks) == bank}
        if len(distinct) >= needed:
            return BankConflict(form, named, clash, int(extra))
    return None


def _sources(x: Instruction) -> list[int | None]:
    """First VGPR of each of up to three sources; the first operand is the destination."""
    out: list[int | None] = []
    for o in x.operands[1:4]:
        out.append(o.reg.index if o.reg is not None and o.reg.cls is RegClass.VGPR else None)
    return out


def _vopd(x: Instruction, table: ArchTable, banks: int) -> BankConflict | None:
    masks = table.get("vopd_bank_masks")
    if masks is None or x.dual is None:
        return None
    pairs = {}
    for name, a, b in zip(("src0", "vsrc1"), _sources(x), _sources(x.dual), strict=False):
        if a is not None and b is not None:
            pairs[name] = (a, b)
    named = {f"{n}{h}": r % banks for n, pair in pairs.items() for h, r in zip("XY", pair, strict=True)}
    clash = tuple(n for n, (a, b) in pairs.items() if a != b and (a ^ b) & int(masks[n]) == 0)
    return BankConflict("VOPD", named, clash, None) if clash else None


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
