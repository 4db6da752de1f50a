"""gfx942: MI300X, MI300A, MI308X, MI325X (CDNA3)."""

from __future__ import annotations

from isaprof.arch import lds_lanes, matrix
from isaprof.arch import sources as src
from isaprof.arch.cdna import FAMILY
from isaprof.arch.decoding import CDNA_UNIFIED, GFX9
from isaprof.arch.table import Fact, ValuRule, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("", src.PRODUCT, cu_count=304, xcd_count=8, memory_bandwidth_gb_s=5300),
    **facts("MHz", src.PRODUCT, clock_mhz=2100),
    **facts(
        "bytes", src.ROCPROF_COMPUTE,
        lds_bytes=64 << 10, lds_max_per_workgroup=64 << 10, lds_alloc_granule=512,
        lds_peak_bytes_per_cycle=128,
    ),
    "lds_lane_groups": Fact({64: lds_lanes.GFX942}, "", src.BANKS, "B"),
    # 64 passes take 20 times as long as the 6.6 cycles of a conflict-free ds_read_b32: a pass of 128 bytes
    # crosses the 64 bytes/cycle of a SIMD pair's port
    **facts("cycles", f"{src.BANKS}; {src.GCNASM}", "B", lds_pass_cycles=2),
    **facts(
        "cycles per wave, no conflict", src.ROCPROF_COMPUTE, "B",
        lds_read_cycles={4: 4, 8: 8, 12: 16, 16: 16}, lds_write_cycles={4: 8, 8: 12, 12: 20, 16: 20},
    ),
    **facts(
        "cycles", src.GCNASM, "B",
        lds_read_latency={4: 32, 8: 44, 12: 48, 16: 48}, lds_write_latency={4: 39, 8: 48, 12: 60, 16: 60},
    ),
    "matrix": Fact(matrix.MFMA_GFX942, "cycles", f"{src.MATRIX_CALC}; {src.SCHED}"),
    "matrix_hazards": Fact(matrix.MFMA_HAZARDS_GFX942, "wait states", src.HAZARD),
    **facts("cycles", src.MATRIX_CALC, matrix_to_valu=4, smfmac_to_valu=8),
    "valu_rules": Fact(
        (
            ValuRule(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_(f64)", 16, 16),
            ValuRule(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_\w+", 16, 16),
            ValuRule(r"v_cvt_(?!pk_).*f32\w*", 16, 16),
            ValuRule(r"v_accvgpr_write\w*", 8, 8),
            ValuRule(r"v_\w+", 4, 4),
        ),
        "cycles", src.SCHED,
    ),
    **facts("instructions of different waves per turn", src.INFERRED, "D", valu_per_turn=1),
    **facts("cycles", f"{src.TG_GFX950}, by analogy", "D", valu_to_mem=12, mfma_to_lds=12, barrier_release=8),
    **facts("cycles", src.MT4G, "B", smem_hit=48, l1_latency=116, l2_latency=288),
    **facts("cycles", f"{src.TG_GFX950}, by analogy", "D", smem_cold=740),
    **facts("ns", src.MT4G, "B", mall_latency_ns=240, dram_latency_ns=425),
    "vmem_load_cycles": Fact({4: 4, 8: 8, 12: 16, 16: 16}, "cycles per wave instruction", src.RECALLED, "C"),
}  # fmt: skip

TABLE = build("gfx942", "gfx9", "MI300X, MI300A, MI325X", GFX9, CDNA_UNIFIED, FAMILY, _DEVICE)
