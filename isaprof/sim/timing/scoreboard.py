"""What an instruction must wait for beside its counters, as rules over a wave's last issues.

A wave keeps one time per slot (the last VALU instruction, the last VALU write
of an SGPR, ...). A rule says: an instruction of this kind issues no earlier
than the slot's time plus a constant of the architecture. Sources: gaps in
hardware thread traces (tinygrad/extra/sqtt, flydsl-kernel-profiling) and, for
RDNA's all-VALU-retired rules, LLVM AMDGPUInsertDelayAlu.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Slot(IntEnum):
    VALU = 0  #: last VALU instruction
    VSGPR = 1  #: last VALU write of any SGPR, VCC or EXEC
    VVCC = 2
    VEXEC = 3
    SALU = 4
    SCC = 5
    SVCC = 6  #: SALU write of VCC
    SEXEC = 7  #: SALU write of EXEC
    TRANS = 8  #: when the transcendental unit takes the wave's next instruction
    MEM = 9  #: last vector memory or LDS instruction
    STORE = 10  #: last vector store
    LDS_TAKEN = 11  #: when LDS took up the last LDS instruction


SLOTS = len(Slot)


class Kind(IntEnum):
    """What the issue loop does with a line."""

    VALU = 0
    TRANS = 1
    MATRIX = 2
    SALU = 3
    SMEM = 4
    VMEM = 5
    LDS = 6
    EXPORT = 7
    BRANCH = 8
    MESSAGE = 9
    WAIT = 10  #: wait for counters
    DELAY = 11  #: s_nop, s_sleep: a fixed number of cycles
    IMMED = 12  #: other internal instruction
    BARRIER = 13  #: arrive and wait
    SIGNAL = 14  #: arrive
    BARRIER_WAIT = 15
    END = 16
    DELAY_ALU = 17
    WAIT_ALU = 18
    SKIP = 19  #: no packet and no effect on timing


@dataclass(frozen=True, slots=True)
class Rule:
    """``kinds`` of instructions that also ``need`` something wait for ``slot`` + constant ``fact``."""

    kinds: tuple[Kind, ...]
    slot: Slot
    fact: str
    need: str = ""  #: register it must read (sgpr, scc, vcc, exec); "wait": it stands right behind a wait


_MEMORY = (Kind.LDS, Kind.VMEM, Kind.EXPORT)
_INTERNAL = (Kind.WAIT, Kind.DELAY, Kind.IMMED)

PER_CYCLE: tuple[Rule, ...] = (
    Rule(_MEMORY, Slot.VALU, "valu_to_mem"),
    Rule((Kind.VMEM,), Slot.SALU, "salu_to_vmem", "sgpr"),
    Rule((Kind.SMEM,), Slot.SALU, "salu_to_smem"),
    Rule((Kind.SMEM, Kind.SALU), Slot.VSGPR, "valu_sgpr_to_salu"),
    Rule((Kind.BRANCH,), Slot.SCC, "scmp_to_branch", "scc"),
    Rule((Kind.BRANCH,), Slot.SEXEC, "scmp_to_branch", "exec"),
    Rule((Kind.BRANCH,), Slot.SVCC, "scmp_to_branch", "vcc"),
    Rule((Kind.BRANCH,), Slot.VEXEC, "exec_to_branch", "exec"),
    Rule((Kind.BRANCH,), Slot.VVCC, "exec_to_branch", "vcc"),
    Rule(_INTERNAL, Slot.MEM, "mem_to_clause"),
    Rule((Kind.MESSAGE, Kind.DELAY), Slot.STORE, "store_to_message"),
    Rule((Kind.VALU, Kind.TRANS, Kind.MATRIX), Slot.LDS_TAKEN, "lds_taken_to_valu", "wait"),
)

ROUND_ROBIN: tuple[Rule, ...] = (
    Rule(_MEMORY, Slot.VALU, "valu_to_mem"),
    Rule((Kind.VMEM,), Slot.SALU, "salu_to_vmem", "sgpr"),
    # seen for SALU instructions that do not read the register, too
    Rule((Kind.SMEM, Kind.SALU), Slot.VSGPR, "valu_sgpr_to_salu"),
    Rule((Kind.BRANCH,), Slot.SCC, "salu_to_branch", "scc"),
    Rule((Kind.BRANCH,), Slot.SEXEC, "salu_to_branch", "exec"),
    Rule((Kind.BRANCH,), Slot.SVCC, "salu_to_branch", "vcc"),
    Rule((Kind.BRANCH,), Slot.VEXEC, "vcmp_to_vcc_branch", "exec"),
    Rule((Kind.BRANCH,), Slot.VVCC, "vcmp_to_vcc_branch", "vcc"),
)

#: rules by the architecture table's ``issue_model``
RULES: dict[str, tuple[Rule, ...]] = {"per_cycle": PER_CYCLE, "simd_round_robin": ROUND_ROBIN}
