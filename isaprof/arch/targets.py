"""Which GPU targets exist: ELF machine numbers, generation, feature defaults.

The EF_AMDGPU_MACH numbers are those of LLVM's ``llvm/BinaryFormat/ELF.h``; they
were read back from the e_flags of an object assembled for each processor by
LLVM 22. gfx940 and gfx941 are gone from LLVM 22 but occur in old objects.
"""

from __future__ import annotations

from collections.abc import Mapping

from isaprof.errors import BadInput

#: low byte of e_flags -> processor name
EF_AMDGPU_MACH: Mapping[int, str] = {
    0x20: "gfx600", 0x21: "gfx601", 0x3A: "gfx602",
    0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704", 0x3B: "gfx705",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x3C: "gfx805", 0x2B: "gfx810",
    0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909",
    0x32: "gfx90c", 0x3F: "gfx90a", 0x40: "gfx940", 0x4B: "gfx941", 0x4C: "gfx942", 0x4F: "gfx950",
    0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012", 0x42: "gfx1013",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3E: "gfx1034", 0x3D: "gfx1035",
    0x45: "gfx1036",
    0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103",
    0x43: "gfx1150", 0x4A: "gfx1151", 0x55: "gfx1152", 0x58: "gfx1153",
    0x48: "gfx1200", 0x4E: "gfx1201", 0x49: "gfx1250", 0x5A: "gfx1251",
    0x51: "gfx9-generic", 0x5F: "gfx9-4-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic",
    0x54: "gfx11-generic", 0x59: "gfx12-generic",
}  # fmt: skip

#: e_flags bits 8-9 (xnack) and 10-11 (sramecc) of code object v4 and later:
#: 0 unsupported, 1 any, 2 off, 3 on
EF_FEATURE_SETTING: Mapping[int, str] = {0: "", 1: "", 2: "-", 3: "+"}

#: EI_ABIVERSION of EI_OSABI 64 -> code object version
CODE_OBJECT_VERSION: Mapping[int, int] = {0: 2, 1: 3, 2: 4, 3: 5, 4: 6}

GENERATIONS = ("gfx6", "gfx7", "gfx8", "gfx9", "gfx10", "gfx11", "gfx12", "gfx1250")

#: generations whose objects are disassembled with true16 register names (v4.l, v4.h)
TRUE16_GENERATIONS = frozenset({"gfx11", "gfx12", "gfx1250"})

#: generations where a mode gives the upper bits of VGPR numbers (s_set_vgpr_msb)
VGPR_MSB_GENERATIONS = frozenset({"gfx1250"})

_PREFIXES: tuple[tuple[str, str], ...] = (
    ("gfx125", "gfx1250"),
    ("gfx12", "gfx12"),
    ("gfx11", "gfx11"),
    ("gfx10", "gfx10"),
    ("gfx9", "gfx9"),
    ("gfx8", "gfx8"),
    ("gfx7", "gfx7"),
    ("gfx6", "gfx6"),
)


def generation_of(name: str) -> str | None:
    """``gfx1151`` -> ``gfx11``; None for a name that is no AMD GPU target."""
    return next((gen for prefix, gen in _PREFIXES if name.startswith(prefix)), None)


#: lanes a wave may have; the first is usual
_WAVE_SIZES: Mapping[str, tuple[int, ...]] = {
    "gfx9": (64,), "gfx10": (32, 64), "gfx11": (32, 64), "gfx12": (32, 64), "gfx1250": (32,),
}  # fmt: skip


def wave_sizes(name: str) -> tuple[int, ...]:
    """Wave sizes of a target, the usual first; BadInput for targets before gfx9 and for other names."""
    base = name.split(":", 1)[0]
    gen = generation_of(base)
    if gen is None:
        raise BadInput(f"{base!r} is not an AMD GPU target (gfx...)", kind="unknown_architecture")
    if gen not in _WAVE_SIZES:
        raise BadInput(f"{base} is not supported: gfx9 and later are", kind="unsupported_architecture")
    return _WAVE_SIZES[gen]
