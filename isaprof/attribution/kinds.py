"""What kind of instruction a line is, in the words in which people divide a kernel's time.

Beside the causes, which say what a wave waited *for*: on a flash attention
loop authors compare how much of the waves' life the waits for vmcnt, the
vector ALU, s_nop or the issue of loads took, whatever the reason was.
"""

from __future__ import annotations

from isaprof.attribution.static import Cls, StaticCode
from isaprof.isa.model import Instruction

#: first class that fits
_NAMES = (
    (Cls.MATRIX, "matrix"), (Cls.VALU, "VALU"), (Cls.SALU, "SALU"), (Cls.SMEM, "SMEM"),
    (Cls.STORE, "store"), (Cls.VMEM, "load"), (Cls.LDS, "LDS"), (Cls.EXPORT, "export/GDS"),
    (Cls.BRANCH, "branch"), (Cls.NOP, "s_nop/s_sleep"), (Cls.BARRIER, "barrier"), (Cls.ENDPGM, "end"),
    (Cls.MESSAGE, "message"),
)  # fmt: skip
OTHER = "other"


def kind(x: Instruction, cls: Cls) -> str:
    """The kind of one instruction; a wait is named after its counters ("wait vmcnt lgkmcnt")."""
    if x.waits:
        return " ".join(("wait", *(name for name, _ in x.waits)))
    return next((name for which, name in _NAMES if cls & which), OTHER)


def kinds(code: StaticCode) -> list[str]:
    """The kind of every line."""
    return [kind(x, Cls(int(c))) for x, c in zip(code.instructions, code.cls.tolist(), strict=True)]
