"""gfx1250 (CDNA-class gfx12). Identity and registers; not timed."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.decoding import GFX1250
from isaprof.arch.table import Fact, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("registers", src.BASEINFO, vgprs_per_simd_lane=1024, vgpr_addressable=1024, agpr_addressable=0,
            vgpr_alloc_granule={32: 16}, sgpr_limit_occupancy=False),
    # one CU of four SIMDs and no WGP mode (getEUsPerCU); 16 waves (getMaxWavesPerEU)
    **facts("", src.BASEINFO, simds_per_cu=4, max_waves_per_simd=16, max_workgroups_per_unit=16),
    **facts("bytes", src.BASEINFO, lds_bytes=320 << 10, lds_max_per_workgroup=320 << 10,
            lds_alloc_granule=1024),
}  # fmt: skip

TABLE = build("gfx1250", "gfx1250", "gfx1250", GFX1250, _DEVICE)
