"""gfx90a: MI210, MI250, MI250X (CDNA2). Identity and registers; not timed."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.decoding import CDNA_UNIFIED, GFX9
from isaprof.arch.table import Fact, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("", src.ROCPROF_COMPUTE, simds_per_cu=4, cus_per_unit=1, simd_width=16, wave_slots_per_simd=8,
            max_waves_per_simd=8),
    **facts("registers", src.BASEINFO, vgprs_per_simd_lane=512, vgpr_addressable=256, agpr_addressable=256,
            vgpr_alloc_granule={64: 8}, sgprs_per_simd=800, sgpr_alloc_granule=16),
    **facts("bytes", src.ROCPROF_COMPUTE, lds_bytes=64 << 10, lds_max_per_workgroup=64 << 10,
            lds_alloc_granule=512),
    **facts("cycles", src.MT4G, "B", l1_latency=124, l2_latency=302, smem_hit=53),
}  # fmt: skip

TABLE = build("gfx90a", "gfx9", "MI210, MI250", GFX9, CDNA_UNIFIED, _DEVICE)
