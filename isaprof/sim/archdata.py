"""What differs between generations in the meaning of code, as data with sources.

Keyed by generation; a target may override single facts. Timing facts and
register file sizes are in :mod:`isaprof.arch`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isaprof import arch as tables


@dataclass(frozen=True, slots=True)
class SimFacts:
    """Behaviour of one target that the functional simulator depends on."""

    #: workgroup ids: "sgpr" behind the user SGPRs, or "ttmp" (ttmp9 = x, ttmp7 = y | z << 16).
    #: LLVM AMDGPU user guide, "Initial Kernel Execution State"
    id_source: str
    #: work-item ids packed 10 bits each in v0 rather than in v0, v1, v2. Same section
    packed_workitem_id: bool
    #: a 16-bit result clears the upper half of its register (LLVM SIRegisterInfo,
    #: SISubtarget.zeroesHigh16BitsOfDest); later generations keep it
    clears_high16: bool
    #: matrix register layout family
    wmma_layout: str | None
    #: s_barrier_signal / s_barrier_wait (gfx12) exist
    split_barrier: bool
    #: DPP reads of lanes beyond a row's end that are disabled count as invalid (fi needs gfx10)
    dpp_has_fi: bool
    #: v_cmpx writes EXEC only (gfx10 and later) or also the named SGPRs (gfx9). ISA, VOPC
    cmpx_writes_sgpr: bool
    #: fp8/bf8 operands are FNUZ. CDNA3 ISA (gfx940 to gfx942); OCP from gfx950 and gfx12 on
    fp8_fnuz: bool = False
    #: raw buffer range check compares offset + bytes (gfx10 and later) with num_records. RDNA ISA, "Range
    #: checking"
    buffer_checks_last_byte: bool = True
    #: scratch base comes from an SGPR pair of the wave (gfx9 before gfx940, gfx10), else from the hardware
    architected_scratch: bool = True
    #: buffer descriptors choose a swizzle's element size in two bits (gfx11 and later), else it is 4 bytes.
    #: RDNA3 ISA and CDNA3 ISA, "Buffer resource descriptor"
    swizzle_sizes: bool = True


_GFX9 = SimFacts("sgpr", True, True, None, False, False, True, swizzle_sizes=False)
_FACTS: Mapping[str, SimFacts] = {
    "gfx9": _GFX9,
    "gfx10": SimFacts(
        "sgpr", False, False, None, False, True, False, architected_scratch=False, swizzle_sizes=False
    ),
    "gfx11": SimFacts("sgpr", True, False, "gfx11", False, True, False),
    "gfx12": SimFacts("ttmp", True, False, "gfx12", True, True, False),
    "gfx1250": SimFacts("ttmp", True, False, "gfx1250", True, True, False),
}
_TARGETS: Mapping[str, SimFacts] = {
    **{
        name: replace(_GFX9, packed_workitem_id=False, architected_scratch=False)
        for name in ("gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90c")
    },
    "gfx90a": replace(_GFX9, architected_scratch=False),
    **{name: replace(_GFX9, fp8_fnuz=True) for name in ("gfx940", "gfx941", "gfx942")},
}


def facts(arch: str) -> SimFacts:
    """Facts of target ``arch``. Raises BadInput for a name that is no AMD GPU target."""
    base = arch.split(":", 1)[0]
    return _TARGETS.get(base) or _FACTS[tables.generation(base)]
