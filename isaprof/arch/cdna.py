"""Facts shared by CDNA3 and CDNA4 (gfx942, gfx950)."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.matrix import OTHER_HAZARDS
from isaprof.arch.table import Fact, facts

STRUCTURE: dict[str, Fact] = {
    **facts(
        "", src.ROCPROF_COMPUTE,
        simds_per_cu=4, cus_per_unit=1, simd_width=16, wave_slots_per_simd=8, max_waves_per_simd=8,
        trace_unit="CU", trace_simds=4,
    ),
    **facts(
        "registers", src.BASEINFO,
        vgprs_per_simd_lane=512, vgpr_addressable=256, agpr_addressable=256, vgpr_alloc_granule={64: 8},
        sgprs_per_simd=800, sgpr_alloc_granule=16, sgpr_limit_occupancy=True,
    ),
    **facts("workgroups", src.RECALLED, "C", max_workgroups_per_unit=16),
    **facts("banks", src.BANKS, "B", lds_bank_bytes=4),
    **facts(
        "bytes", src.ROCPROF_COMPUTE, "B",
        l1_bytes=32 << 10, l1_line_bytes=128, mid_l1_bytes=0, scalar_cache_bytes=16 << 10,
        icache_bytes=64 << 10, icache_line_bytes=128, l2_line_bytes=128, l2_channels_per_xcd=16,
        l2_bytes=4 << 20, mall_bytes=256 << 20,
    ),
    **facts("CUs", src.ROCPROF_COMPUTE, "C", scalar_cache_sharers=2, icache_sharers=2),
}  # fmt: skip

#: one SIMD is visited each cycle; in its turn each type may issue once, from different waves
ISSUE: dict[str, Fact] = {
    **facts("cycles", f"{src.ROCPROF_COMPUTE}; {src.TG_GFX950}", "M", issue_period=4, time_grain=4),
    **facts(
        "", src.ROCPROF_COMPUTE,
        issue_model="simd_round_robin", issue_per_turn=5, issue_order="oldest_first",
        issue_classes=("VALU", "SALU_SMEM", "VMEM", "LDS", "BRANCH_MESSAGE", "EXPORT"),
    ),
    **facts("cycles", f"{src.TG_GFX950}; {src.FLYDSL}", "M", valu_dep_latency=4, valu_complete_latency=4),
    **facts("cycles", src.FLYDSL, "M", salu_dep_latency=4, salu_to_smem=4, salu_to_vmem=8, salu_to_valu=4),
    **facts(
        "cycles", f"{src.FLYDSL}; used for gfx942 too", "M",
        wait_satisfied=4, nop_cycles_per_count=4, branch_taken=20, branch_not_taken=4, salu_to_branch=8,
        mfma_to_salu=4, valu_sgpr_to_salu=20, vcmp_to_vcc_branch=24,
    ),
    **facts("cycles", f"{src.TG_GFX950}; {src.FLYDSL}", "M", wave_start_warm=30, wave_start_cold=720),
    **facts("cycles per wave", src.FLYDSL, "M", wave_launch=4),
    **facts("cycles", src.FLYDSL, "M", endpgm_idle=60, endpgm_after_store=240, icache_miss_cold=728),
    **facts("cycles", src.ISA_GUIDE, sleep_cycles_per_count=64),
    **facts("entries", src.INFERRED, "D", valu_queue=1),
    # flat scratch is set up by hardware, not read from SGPRs
    **facts("", "LLVM AMDGPU user guide, architected flat scratch", flat_scratch_sgpr=False),
    # how the records of a decoded trace book a dependency: CDNA as idle time, RDNA as stall of the consumer
    **facts("", src.FLYDSL, "M", dependency_is_idle=True),
}  # fmt: skip

MEMORY: dict[str, Fact] = {
    **facts("lanes/cycle", src.RECALLED, "C", vmem_lanes_per_cycle=16),
    **facts("requests", src.GLUON, "A", vmem_queue_per_cu=12),
    **facts(
        "cycles per wave instruction", f"{src.GLUON}; dwordx4 measured in {src.FLYDSL}", "B",
        vmem_load_cycles={4: 4, 8: 16, 12: 16, 16: 16},
    ),
    # a coalesced dword a lane takes 4 cycles, four dwords 16; that pieces of 64 bytes count is an inference
    **facts("bytes/cycle", src.GLUON, "D", vmem_bytes_per_cycle=64),
    **facts("cycles per lane", src.FLYDSL, "M", vmem_uncoalesced_store=1),
    **facts("cycles", f"{src.FLYDSL}, first touch of a page", "D", tlb_walk=800),
}  # fmt: skip

HAZARDS: dict[str, Fact] = {
    "hazards": Fact(OTHER_HAZARDS, "wait states", src.HAZARD),
    "hazard_slot_cycles": Fact(4, "cycles per wait state", src.HAZARD),
    "needs_nops": Fact(True, "", src.HAZARD),
}

FAMILY: dict[str, Fact] = STRUCTURE | ISSUE | MEMORY | HAZARDS
