"""``s_waitcnt_depctr`` (gfx11) and ``s_wait_alu`` (gfx12): which counters they bring to 0."""

from __future__ import annotations

import re

from isaprof.arch.table import ArchTable
from isaprof.isa.model import Instruction, OperandKind

_FIELD = re.compile(r"depctr_(\w+)\((\d+)\)")
BASES = ("s_waitcnt_depctr", "s_wait_alu")


def waited(ins: Instruction, table: ArchTable) -> dict[str, int]:
    """Field -> count it waits for; fields that wait for nothing are absent."""
    if ins.base not in BASES:
        return {}
    layout: dict[str, tuple[int, int]] = table.get("depctr_fields", {})
    out: dict[str, int] = {}
    for o in ins.operands:
        if o.kind is OperandKind.INT and isinstance(o.value, int):
            for field, (low, width) in layout.items():
                n = o.value >> low & (1 << width) - 1
                if n < (1 << width) - 1:
                    out[field] = n
        elif m := _FIELD.fullmatch(o.text):
            width = layout.get(m[1], (0, 32))[1]
            if int(m[2]) < (1 << width) - 1:
                out[m[1]] = int(m[2])
    return out


def drains(ins: Instruction, table: ArchTable, field: str) -> bool:
    """Whether ``ins`` waits until ``field`` is 0."""
    return waited(ins, table).get(field) == 0
