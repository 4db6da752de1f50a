"""Facts of RDNA4 (gfx1200, gfx1201)."""

from __future__ import annotations

from isaprof.arch import matrix, rdna
from isaprof.arch import sources as src
from isaprof.arch.decoding import GFX12
from isaprof.arch.table import Fact, facts

FAMILY: dict[str, Fact] = {
    **GFX12,
    **rdna.FAMILY,
    "valu_rules": rdna.valu_rules(9),
    "matrix": Fact(matrix.WMMA_GFX12, "cycles", f"{src.MATRIX_CALC}; f16 and iu8 in {src.TG_GFX12}"),
    **facts("cycles", src.TG_GFX12, "M", barrier_release=13),
    **facts(
        "cycles", src.TG_GFX12, "M",
        lds_read_latency={4: 32, 8: 36, 12: 40, 16: 43}, lds_write_latency={4: 33, 8: 34, 12: 35, 16: 36},
    ),
    **facts("cycles", src.TG_GFX12, "M", wave_start_cold=710, endpgm_idle=85, endpgm_after_store=300),
    **facts("cycles", src.TG_GFX12, "D", wave_start_warm=30),
    **facts("cycles", src.TG_GFX12, "M", smem_cold=1610, global_cold=1870, global_cold_few_lanes=1000),
    **facts("cycles", src.RECALLED, "C", smem_hit=40, l1_latency=80, l2_latency=230),
    # loads of 16 lanes in 16 lines came back to a CU 2 cycles apart
    **facts("lines a cycle on the way back to a CU's registers", src.TG_GFX12, "M", vmem_return_lines=8),
    # waves that waited for their first instruction issued it so far apart, in order of their begin
    **facts("cycles a wave", src.TG_GFX12, "M", icache_wave_cycles=0.7),
    **facts("ns", src.RECALLED, "C", mall_latency_ns=140, dram_latency_ns=240),
    **facts("bytes", src.CHIPS, "B", mid_l1_bytes=0),
    **facts("cycles", src.TG_GFX12, "M", icache_miss_cold=1500, salu_wait_alu=9, vcc_wait_alu=17),
}  # fmt: skip
