"""Which hazards exist on which target: data for the rules.

Distances are wait states between producer and consumer, as LLVM's
GCNHazardRecognizer.cpp has them (release 22); where AMD's ISA guides say the
same the rule's ``source`` names both. The coarser facts of
:mod:`isaprof.arch` serve the timing model; these tell every case apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LLVM = "LLVM GCNHazardRecognizer.cpp"
LLVM_ISA = f"{LLVM}; AMD ISA guides of CDNA, manually inserted wait states"
LLVM_ROC = f"{LLVM}; AMD rocRoller, wait-state observers"
LLVM_MFMA = f"{LLVM}; AMD rocRoller, wait-state observers"

#: CDNA3 and later: LLVM's feature gfx940-insts
GFX940 = frozenset({"gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"})
#: targets with one register file for VGPRs and AGPRs and the matrix hazards of gfx90a
GFX90A = GFX940 | {"gfx90a"}
GFX950 = frozenset({"gfx950"})
#: LLVM: FeatureVALUTransUseHazard, gfx11.0 only
TRANS_USE = frozenset({"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx11-generic"})

#: passes by mnemonic where the architecture table has no matrix rules (LLVM SISchedule.td)
MATRIX_PASSES: Mapping[str, tuple[tuple[str, int], ...]] = {
    "gfx90a": (
        (r"v_mfma_f64_4x4x4\w*", 4),
        (r"v_mfma_f64_16x16x4\w*", 8),
        (r"v_mfma_\w+_4x4x\w+", 2),
        (r"v_mfma_\w+_16x16x\w+", 8),
        (r"v_mfma_\w+_32x32x\w+", 16),
    )
}


#: instructions that take longer than one issue slot of 4 cycles, in slots, as measured in public
#: hardware traces of gfx950 (v_permlane*_swap 8 cycles; s_barrier 8 cycles at least): the time that
#: the ISA's rule counts in instructions passes all the same
SLOTS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "gfx950": ((r"v_permlane(16|32)_swap_b32", 2), (r"s_barrier", 2)),
}


@dataclass(frozen=True, slots=True)
class DgemmStates:
    """Wait states behind v_mfma_f64: (4x4x4, 16x16x4) by consumer."""

    src_c: tuple[int, int]
    src_ab: tuple[int, int]
    valu_read: tuple[int, int]
    memory: tuple[int, int]
    valu_write: tuple[int, int]


_DGEMM = DgemmStates((4, 9), (6, 11), (6, 11), (9, 18), (6, 11))
DGEMM: Mapping[str, DgemmStates] = {
    **dict.fromkeys(GFX90A, _DGEMM),
    "gfx950": DgemmStates((4, 17), (6, 19), (6, 19), (9, 18), (6, 11)),
}
