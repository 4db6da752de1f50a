"""Facts of RDNA3 and RDNA3.5 (gfx1100, gfx1151)."""

from __future__ import annotations

from isaprof.arch import matrix, rdna
from isaprof.arch import sources as src
from isaprof.arch.decoding import GFX11
from isaprof.arch.table import Fact, facts

FAMILY: dict[str, Fact] = {
    **GFX11,
    **rdna.FAMILY,
    "valu_rules": rdna.valu_rules(10),
    "matrix": Fact(matrix.WMMA_GFX11, "cycles", src.MATRIX_CALC),
    # 34 instead of 32 cycles when two of SRC0, SRC1, SRC2 start in one bank
    **facts("cycles", src.BANKED, "B", wmma_bank_extra=2),
    # where the kernel finds its workgroup ids
    **facts("cycles", src.TG_GFX1100, "M", barrier_release=14),
    **facts(
        "cycles", src.TG_GFX1100, "M",
        lds_read_latency={4: 32, 8: 34, 12: 37, 16: 37}, lds_write_latency={4: 33, 8: 34, 12: 35, 16: 36},
    ),
    **facts("cycles", src.TG_GFX1100, "M", wave_start_cold=518, endpgm_idle=85, endpgm_after_store=300),
    **facts("cycles", src.TG_GFX1100, "D", wave_start_warm=30),
    **facts("cycles", src.TG_GFX1100, "M", smem_cold=1210, global_cold=1325, global_cold_few_lanes=640),
    **facts("cycles", src.RECALLED, "C", smem_hit=40, l1_latency=80, mid_l1_latency=140, l2_latency=230),
    # loads of 16 lanes in 16 lines came back to a CU 8 cycles apart
    **facts("lines a cycle on the way back to a CU's registers", src.TG_GFX1100, "M", vmem_return_lines=2),
    # waves that waited for their first instruction issued it so far apart, in order of their begin
    **facts("cycles a wave", src.TG_GFX1100, "M", icache_wave_cycles=4.0),
    **facts("ns", src.CHIPS, "B", mall_latency_ns=150, dram_latency_ns=250),
    **facts("bytes", src.CHIPS, "B", mid_l1_bytes=256 << 10),
    **facts("cycles", src.TG_GFX1100, "M", icache_miss_cold=500, salu_wait_alu=2),
}  # fmt: skip
