"""Waves per SIMD that the granted resources allow, what limits them, and the next step.

Rules: LLVM AMDGPUBaseInfo.cpp (registers); AMD's guides (LDS, workgroups). All
sizes and granules are in the architecture table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from isaprof import arch as tables
from isaprof.codeobj.elf import Kernel
from isaprof.errors import BadInput


@dataclass(frozen=True, slots=True)
class Limit:
    """One resource. ``workgroups``/``waves_per_simd``: what it alone would allow.

    ``next_amount``: the largest amount that would allow one more workgroup
    (LDS) or one more wave per SIMD (registers); None where there is none.
    """

    resource: str
    amount: int
    allocated: int  #: rounded up to the granule
    unit: str
    waves_per_simd: float
    workgroups: int | None
    next_amount: int | None
    next_waves_per_simd: float | None


@dataclass(frozen=True, slots=True)
class Occupancy:
    """``waves_per_simd`` and ``workgroups`` per ``unit`` (CU or WGP) by the static resources."""

    unit: str
    waves_per_simd: float
    workgroups: int
    waves_per_workgroup: int
    limiters: tuple[str, ...]
    limits: tuple[Limit, ...]
    assumption: str  #: where the workgroup's size is from


def occupancy(kernel: Kernel, arch: str, shape: tuple[int, int, int] | None, source: str) -> Occupancy | str:
    """Occupancy of ``kernel``, or why it is not known. Dynamic LDS is not counted."""
    try:
        table = tables.get(arch)
    except BadInput:
        return f"there is no architecture table for {arch}"
    if shape is None:
        return "the metadata does not say how large a workgroup is"
    needed = ("simds_per_cu", "vgprs_per_simd_lane", "vgpr_alloc_granule", "lds_bytes", "lds_alloc_granule")
    if missing := [k for k in (*needed, "max_waves_per_simd") if k not in table]:
        return f"the architecture table of {arch} lacks {', '.join(missing)}"
    d, wave = kernel.descriptor, kernel.wave_size
    cu_mode = table.get("cus_per_unit", 1) == 1 or not d.wgp_mode
    # in CU mode a workgroup stays on one CU of the WGP, with that CU's share of the LDS
    cus = 1 if cu_mode else table["cus_per_unit"]
    simds = table["simds_per_cu"] * cus
    lds = table["lds_bytes"] * cus // table.get("cus_per_unit", 1)
    waves = -(-prod(shape) // wave)
    most = table["max_waves_per_simd"]
    granule = table["vgpr_alloc_granule"].get(wave)
    if granule is None:
        return f"{arch} has no waves of {wave} lanes"
    limits = [_registers("vgpr", d.vgpr_count, granule, table["vgprs_per_simd_lane"], most, simds, waves)]
    if table.get("sgpr_limit_occupancy"):
        limits.append(
            _registers(
                "sgpr", d.sgpr_count, table["sgpr_alloc_granule"], table["sgprs_per_simd"], most, simds, waves
            )
        )
    if d.group_segment_fixed_size:
        limits.append(_lds(d.group_segment_fixed_size, table["lds_alloc_granule"], lds, simds, waves))
    slots = simds * most // waves
    limits.append(Limit("wave slots", most, most, "waves per SIMD", float(most), slots, None, None))
    if (cap := table.get("max_workgroups_per_unit")) is not None and waves > 1:
        limits.append(Limit("workgroup slots", cap, cap, "workgroups", cap * waves / simds, cap, None, None))
    groups = min(x.workgroups for x in limits if x.workgroups is not None)
    names = tuple(x.resource for x in limits if x.workgroups == groups)
    reached = min(groups * waves / simds, float(most))
    unit = table.get("trace_unit", "CU") if not cu_mode or table.get("cus_per_unit", 1) == 1 else "CU"
    return Occupancy(str(unit), reached, groups, waves, names, tuple(limits), source)


def _registers(name: str, amount: int, granule: int, total: int, most: int, simds: int, waves: int) -> Limit:
    def allowed(n: int) -> int:
        return most if n <= 0 else min(most, max(1, total // (-(-n // granule) * granule)))

    now = allowed(amount)
    target = now + 1 if now < most else None
    following = None
    if target is not None:
        following = total // target // granule * granule
        target = allowed(following)
    return Limit(
        name, amount, -(-amount // granule) * granule, "registers", float(now), simds * now // waves,
        following, None if target is None else float(target),
    )  # fmt: skip


def _lds(amount: int, granule: int, total: int, simds: int, waves: int) -> Limit:
    each = -(-amount // granule) * granule
    groups = total // each
    following = total // (groups + 1) // granule * granule
    return Limit(
        "lds", amount, each, "bytes", groups * waves / simds, groups,
        following or None, (groups + 1) * waves / simds if following else None,
    )  # fmt: skip
