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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from isaprof.isa.model import Instruction, Pipe, RegClass


class Facts(Protocol):
    """Where the figures stand: an architecture table or the timing model's constants."""

    def get(self, key: str, default: Any = None, /) -> Any:
        """Value of a fact, or ``default``."""


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


def bank_conflict(x: Instruction, table: Facts) -> BankConflict | None:
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


def _vopd(x: Instruction, table: Facts, banks: int) -> BankConflict | None:
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
