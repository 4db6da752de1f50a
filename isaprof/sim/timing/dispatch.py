"""Which waves are resident: occupancy limits, placement on SIMDs, launch times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isaprof.errors import BadInput
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.trace import WorkgroupTrace

if TYPE_CHECKING:
    from isaprof.codeobj.elf import Kernel


@dataclass(frozen=True, slots=True)
class Resources:
    """What a workgroup of the kernel needs, and how the dispatch starts.

    ``vgprs``: architectural plus accumulation registers a wave is given;
    ``workgroups``: of the whole dispatch (default: those that are timed);
    ``cu_mode``: RDNA, a workgroup stays on one CU of the WGP;
    ``inst_prefetch_bytes``: code the hardware fetches before the wave starts
    (kernel descriptor; None: all of it on RDNA); ``warm``: code, pages and L2
    are warm; ``footprint``: bytes of all buffers of the dispatch, which bounds
    what all units together fetch from DRAM; ``clock_mhz``: shader clock of the
    run, where it is known (else the device's).
    """

    vgprs: int
    lds_bytes: int
    waves_per_workgroup: int
    wave_size: int
    sgprs: int = 0
    workgroups: int | None = None
    cu_mode: bool = True
    inst_prefetch_bytes: int | None = None
    warm: bool = False
    footprint: int | None = None
    clock_mhz: float | None = None

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        *,
        waves_per_workgroup: int,
        dynamic_lds: int = 0,
        workgroups: int | None = None,
        footprint: int | None = None,
        clock_mhz: float | None = None,
    ) -> Resources:
        """What the descriptor of ``kernel`` asks for, in a launch of this geometry."""
        d = kernel.descriptor
        return cls(
            vgprs=d.vgpr_count,
            lds_bytes=d.group_segment_fixed_size + dynamic_lds,
            waves_per_workgroup=waves_per_workgroup,
            wave_size=kernel.wave_size,
            sgprs=d.sgpr_count,
            workgroups=workgroups,
            cu_mode=not d.wgp_mode,
            inst_prefetch_bytes=d.inst_pref_size * 128 or None,
            footprint=footprint,
            clock_mhz=clock_mhz,
        )


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when one wave begins: for replaying a recorded placement."""

    simd: int
    slot: int
    begin: int


def waves_per_simd(k: Constants, r: Resources) -> int:
    """Waves a SIMD holds by registers and slots (LLVM AMDGPUBaseInfo.cpp)."""
    most = int(k["wave_slots_per_simd"])
    granule = k["vgpr_alloc_granule"].get(r.wave_size)
    if granule is None:
        raise BadInput(f"{k.table.name} has no waves of {r.wave_size} lanes", kind="bad_launch")
    if r.vgprs > 0:
        most = min(most, max(1, k["vgprs_per_simd_lane"] // (-(-r.vgprs // granule) * granule)))
    if k["sgpr_limit_occupancy"] and r.sgprs > 0:
        step = k["sgpr_alloc_granule"]
        most = min(most, max(1, k["sgprs_per_simd"] // (-(-r.sgprs // step) * step)))
    return most


class Dispatcher:
    """Hands out workgroups to one unit, in order, as room becomes free."""

    def __init__(
        self,
        k: Constants,
        resources: Resources,
        traces: Sequence[WorkgroupTrace],
        places: Sequence[Sequence[Place]] | None,
    ) -> None:
        self.k = k
        self.resources = resources
        self.sizes = [len(t.waves) for t in traces]
        self.places = places
        self.next = 0
        self.simds: int = k["simds_per_cu"] * k["cus_per_unit"]
        self.limit = waves_per_simd(k, resources)
        self.slots: list[list[bool]] = [[False] * k["wave_slots_per_simd"] for _ in range(self.simds)]
        self.load = [0] * self.simds
        self.turn = 0
        self.order: tuple[int, ...] = k["simd_order"]
        self.half: tuple[int, ...] = k["simd_half"]
        self.running = 0
        granule = k["lds_alloc_granule"]
        self.lds_each = -(-resources.lds_bytes // granule) * granule
        self.lds_free: int = k["lds_bytes"]
        if self.lds_each > self.lds_free:
            raise BadInput(
                f"a workgroup wants {resources.lds_bytes} bytes of LDS, {k.table.name} has {self.lds_free}",
                kind="bad_launch",
            )
        self.launched_at = 0
        total = resources.workgroups if resources.workgroups is not None else len(traces)
        per_engine = -(-total // max(1, k["engines"]))
        each = max(1, resources.waves_per_workgroup) * k["wave_launch"]
        self.interval = each * min(k["units_per_engine"], max(1, per_engine))
        self.full = total >= k["engines"] * k["units_per_engine"]

    def launch(self, now: int) -> tuple[int, list[Place]] | None:
        """The next workgroup (its number and the places of its waves), or None when there is no room."""
        number = self.next
        if number == len(self.sizes):
            return None
        if self.places is not None:
            self.next += 1
            return number, list(self.places[number])
        simds = self._choose(self.sizes[number])
        if (
            simds is None
            or self.lds_free < self.lds_each
            or self.running >= self.k["max_workgroups_per_unit"]
        ):
            return None
        self.next += 1
        self.running += 1
        self.lds_free -= self.lds_each
        begin = now if number == 0 else max(now, self.launched_at + self.interval)
        self.launched_at = begin
        places = []
        for i, simd in enumerate(simds):
            slot = self.slots[simd].index(False)
            self.slots[simd][slot] = True
            self.load[simd] += 1
            places.append(Place(simd, slot, begin + i * self.k["wave_launch"]))
        self.turn += len(simds)
        return number, places

    def _choose(self, waves: int) -> list[int] | None:
        """SIMDs of a workgroup's waves in turn, the least loaded first; None when they do not fit."""
        allowed = self._half() if self.resources.cu_mode and self.k["cus_per_unit"] > 1 else self.order
        load = list(self.load)
        chosen: list[int] = []
        for i in range(waves):
            at = (self.turn + i) % len(allowed)
            rotated = allowed[at:] + allowed[:at]
            simd = min(rotated, key=lambda s: load[s])
            if load[simd] >= self.limit:
                if not any(self.load):
                    raise BadInput(
                        f"a workgroup of {waves} waves with {self.resources.vgprs} VGPRs does not fit "
                        f"{self.k.table.name}",
                        kind="bad_launch",
                    )
                return None
            load[simd] += 1
            chosen.append(simd)
        return chosen

    def _half(self) -> tuple[int, ...]:
        loads = [0, 0]
        for simd, load in enumerate(self.load):
            loads[self.half[simd]] += load
        best = int(loads[1] < loads[0])
        return tuple(s for s in self.order if self.half[s] == best)

    def end_wave(self, place: Place) -> None:
        """A wave's registers and slot are free."""
        if self.places is None:
            self.slots[place.simd][place.slot] = False
            self.load[place.simd] -= 1

    def end_workgroup(self) -> None:
        """A workgroup's LDS is free."""
        if self.places is None:
            self.running -= 1
            self.lds_free += self.lds_each
