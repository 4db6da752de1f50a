"""The order rules of the attribution as data: what keeps an instruction from issuing, and how long.

A rule says that an instruction of class ``consumer`` does not issue before
``cycles`` after the last instruction of class ``producer`` of its wave, be
there a register dependency or not. ``cycles`` is a key of the architecture
table, where each figure stands with its source and confidence; an
architecture whose table lacks the key does not have the rule. Register
dependencies are in :mod:`isaprof.attribution.depend`, what other waves do in
:mod:`isaprof.attribution.contention`.
"""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.attribution.model import Cause
from isaprof.attribution.static import Cls

#: anything that reads VGPRs outside the vector ALU
MEMORY = Cls.VMEM | Cls.LDS | Cls.EXPORT
NOTHING = Cls(0)


@dataclass(frozen=True, slots=True)
class OrderRule:
    """See the module docstring. ``why`` names the mechanism for the documentation."""

    name: str
    producer: Cls
    consumer: Cls
    cycles: str  #: key of the architecture table
    cause: Cause
    why: str
    requires: str | None = None  #: the rule needs this key in the table, too
    not_producer: Cls = NOTHING
    #: count from the end of the producer's occupancy of its pipe beyond one issue slot
    after_occupancy: bool = False
    #: cycles beyond the figure that are still the same delay (spread of the measured gaps)
    slack: int = 0


ORDER_RULES: tuple[OrderRule, ...] = (
    OrderRule(
        "VALU to memory", Cls.VALU, MEMORY, "valu_to_mem", Cause.VALU_DEP,
        "memory instructions wait until the wave's VALU operations have retired (LLVM "
        "AMDGPUInsertDelayAlu.cpp: VA_VDST == 0), whether or not they use a result",
        not_producer=Cls.MATRIX, after_occupancy=True, slack=3,
    ),
    OrderRule(
        "matrix to memory", Cls.MATRIX, MEMORY, "mfma_to_lds", Cause.MATRIX_BUSY,
        "an MFMA keeps the vector issue port for two turns",
    ),
    OrderRule(
        "SALU to SMEM", Cls.SALU, Cls.SMEM, "salu_to_smem", Cause.SALU_DEP,
        "scalar loads wait until the wave's scalar operations have retired", slack=1,
    ),
    OrderRule(
        "SALU to VMEM", Cls.SALU, Cls.VMEM, "salu_to_vmem", Cause.SALU_DEP,
        "vector memory waits until the wave's scalar operations have retired", slack=3,
    ),
    OrderRule(
        "VALU-written SGPR to SALU", Cls.VALU_SGPR, Cls.SALU | Cls.SMEM, "valu_sgpr_to_salu", Cause.VALU_DEP,
        "scalar instructions wait for the wave's outstanding VALU writes of SGPRs (VA_SDST == 0)",
        slack=1,
    ),
    OrderRule(
        "EXEC or VCC to branch", Cls.VALU_SGPR, Cls.CONDITIONAL, "exec_to_branch", Cause.VALU_DEP,
        "a conditional branch waits for the vector compare it may depend on", slack=2,
    ),
    OrderRule(
        "memory to internal", Cls.VMEM | Cls.LDS, Cls.INTERNAL, "mem_to_clause", Cause.VMEM_BUSY,
        "the sequencer handles an internal instruction after the memory instruction has left", slack=0,
    ),
    OrderRule(
        "store to message", Cls.STORE, Cls.INTERNAL, "store_to_message", Cause.VMEM_BUSY,
        "the store's data must have been read from the VGPRs", slack=0,
    ),
)  # fmt: skip

#: An LDS operation is surely done so many cycles after its issue (key: issue_model of the table).
#: Longest seen: 156 on gfx950 with two waves per SIMD, 80 on gfx1201 (public hardware thread traces).
LDS_DONE: dict[str, int] = {"simd_round_robin": 256, "per_cycle": 160}

#: A leftover of so many issue slots, with no other reason, in front of an instruction that the wave runs
#: for the first time is taken for instruction fetch: cold straight-line code has bubbles of 24-96 cycles on
#: gfx950 that the same code does not have later (public traces; an inference, not a measured mechanism).
FETCH_SLOTS = 6
