"""What a file says about its GPU, and the names of its code: all that disassembling needs."""

from __future__ import annotations

from os import PathLike

from isaprof.arch.targets import EF_AMDGPU_MACH, EF_FEATURE_SETTING, wave_sizes
from isaprof.codeobj.image import Image
from isaprof.errors import BadInput

MINIMAL_KERNEL_NAME = "kernel"
_OSABI_AMDGPU_HSA = 64


def target_of(image: Image, arch: str | None, path: str | PathLike[str] | None) -> tuple[str, str]:
    """(processor, target id) of the object, checked against the caller's ``arch``."""
    wanted = None if arch is None else arch.split(":", 1)[0]
    if image.minimal:
        if arch is None or wanted is None:
            raise BadInput(
                "a minimal ELF file: it does not say for which GPU it was built",
                path=path,
                hint="name it, e.g. --target gfx1100",
                kind="arch_needed",
            )
        wave_sizes(wanted)
        return wanted, arch
    mach = image.e_flags & 0xFF
    name = EF_AMDGPU_MACH.get(mach)
    if image.osabi != _OSABI_AMDGPU_HSA or name is None:
        raise BadInput(
            f"unknown AMDGPU machine {mach:#x} (OS ABI {image.osabi}) in the ELF header",
            path=path,
            offset=48,
            kind="unknown_architecture",
        )
    wave_sizes(name)  # refuses what is too old
    if wanted is not None and wanted != name:
        raise BadInput(f"built for {name}, not for {wanted}", path=path, kind="other_architecture")
    target = name
    if image.abi_version >= 2:  # v4 and later: two 2-bit settings
        for feature, shift in (("sramecc", 10), ("xnack", 8)):
            if sign := EF_FEATURE_SETTING[image.e_flags >> shift & 3]:
                target += f":{feature}{sign}"
    else:  # v3: one bit each
        for feature, bit in (("sramecc", 9), ("xnack", 8)):
            if image.e_flags >> bit & 1:
                target += f":{feature}+"
    return name, target


def labels_of(image: Image) -> dict[int, str]:
    """Address -> name of what starts there; functions win over plain labels, globals over locals."""
    text = image.text
    if image.minimal:
        return {text[0].address: MINIMAL_KERNEL_NAME}
    rank = {"FUNC": 0, "NOTYPE": 1, "OBJECT": 2}
    out: dict[int, tuple[tuple[int, bool], str]] = {}
    for s in image.symbols:
        if s.kind in rank and any(s.value in t for t in text):
            key = (rank[s.kind], s.local)
            if s.value not in out or key < out[s.value][0]:
                out[s.value] = (key, s.name)
    return {a: name for a, (_, name) in sorted(out.items())}
