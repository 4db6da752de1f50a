"""Facts shared by RDNA3, RDNA3.5 and RDNA4 (gfx11, gfx12)."""

from __future__ import annotations

from isaprof.arch import lds_lanes
from isaprof.arch import sources as src
from isaprof.arch.table import Fact, ValuRule, facts

_BOTH = f"{src.TINYGRAD}, gfx1100 and gfx1200"

STRUCTURE: dict[str, Fact] = {
    **facts(
        "", src.BASEINFO,
        simds_per_cu=2, cus_per_unit=2, simd_width=32, wave_slots_per_simd=16, max_waves_per_simd=16,
        trace_unit="WGP", trace_simds=1,
    ),
    **facts(
        "registers", src.BASEINFO,
        vgprs_per_simd_lane=1536, vgpr_addressable=256, agpr_addressable=0,
        vgpr_alloc_granule={32: 24, 64: 12}, sgpr_limit_occupancy=False,
    ),
    **facts(
        "bytes", src.ISA_GUIDE,
        lds_bytes=128 << 10, lds_max_per_workgroup=64 << 10, lds_alloc_granule=1024, l1_line_bytes=128,
        l1_bytes=32 << 10, l2_line_bytes=128,
    ),
    **facts("bytes per CU half", src.CHIPS, "C", lds_peak_bytes_per_cycle=128),
    **facts("bytes", src.RECALLED, "C", scalar_cache_bytes=16 << 10, icache_bytes=32 << 10,
            icache_line_bytes=128),
    **facts("workgroups", src.RECALLED, "C", max_workgroups_per_unit=32),
    **facts("bytes", src.ISA_GUIDE, lds_bank_bytes=4),
    # VGPR index mod 4, one read port each; three sources of a VOP3 in one bank need another read cycle
    **facts("banks", src.BANKED, vgpr_banks=4),
    **facts("cycles", src.BANKED, "C", vop3_bank_extra=1),
    "lds_lane_groups": Fact({32: lds_lanes.rdna(32), 64: lds_lanes.rdna(64)}, "", src.INFERRED, "D"),
}  # fmt: skip

#: every cycle a SIMD may issue one instruction of each type, from different waves
ISSUE: dict[str, Fact] = {
    **facts("cycles", _BOTH, "M", issue_period=1, time_grain=1),
    **facts(
        "", _BOTH, "M",
        issue_model="per_cycle", issue_order="oldest_first",
        issue_classes=("VALU", "SALU", "SMEM", "VMEM", "LDS", "BRANCH_MESSAGE", "EXPORT"),
        dependency_is_idle=False,
    ),
    **facts("cycles", _BOTH, "M", valu_dep_latency=5, valu_complete_latency=8, salu_dep_latency=2),
    **facts("cycles", _BOTH, "M", salu_to_smem=9, salu_to_vmem=10, valu_to_mem=18, mem_to_clause=3),
    **facts("cycles", _BOTH, "M", valu_sgpr_to_salu=7, scmp_to_branch=10, exec_to_branch=17),
    **facts("cycles", _BOTH, "M", branch_taken=9, branch_not_taken=3, wait_satisfied=1,
            nop_cycles_per_count=1),
    **facts("cycles", _BOTH, "M", wave_launch=2, vmem_spacing=2, lds_load_spacing=1, store_to_message=8),
    **facts("cycles", src.ISA_GUIDE, sleep_cycles_per_count=64),
    **facts("instructions", src.TG_GFX12, "M", valu_queue=8),
    **facts("cycles", _BOTH, "M", salu_complete_latency=2, smem_accept_latency=4, lds_accept_latency=3,
            vmem_accept_latency=3),
    # LLVM's rule: these wait until all VALU writes of the wave have retired
    **facts("", src.DELAY, wait_valu_retired=("LDS", "VMEM", "EXPORT"), wait_valu_sgpr=("SALU", "SMEM")),
    **facts("instructions of different waves per turn", _BOTH, "M", valu_per_turn=1),
}  # fmt: skip

#: dwords of VGPR operands (address and data) an instruction must read, one cycle each (wave32)
MEMORY: dict[str, Fact] = {
    **facts("cycles per VGPR dword read", f"{_BOTH}, packet names", "M", memory_issue_per_dword=1),
    # behind a satisfied wait: 7 after an LDS instruction that is taken up at once (VMEMEXEC 3 after issue),
    # as long after a late VMEMEXEC packet
    **facts("cycles", f"{_BOTH}, VMEMEXEC packets", "M", lds_taken_to_valu=7),
    **facts("cycles per wave32", src.RECALLED, "C", lds_read_cycles={4: 1, 8: 2, 12: 4, 16: 4},
            vmem_load_cycles={4: 1, 8: 2, 12: 4, 16: 4}),
    # SQC_LDS_IDX_ACTIVE counts 17 for a store of 4 bytes a lane and four reads of 16
    **facts("cycles per wave32", f"{_BOTH}, 4 bytes a lane; wider ones by their VGPRs", "M",
            lds_write_cycles={4: 1, 8: 3, 12: 4, 16: 5}),
    # with more reads waiting than a CU serves, two of 16 bytes a lane came back every 12 cycles (4 and 8
    # apart) on both, while SQC_LDS_IDX_ACTIVE counts 4 cycles for each; one lane was active
    **facts("cycles per wave32 on the way back", f"{_BOTH}, 16 bytes a lane; narrower ones as their passes",
            "M", lds_return_cycles={4: 1, 8: 2, 12: 6, 16: 6}),
    **facts("cycles", f"{_BOTH}, first touch of a page", "D", tlb_walk=800),
    **facts("cycles per extra 128-byte line", src.RECALLED, "C", vmem_extra_line=1),
}  # fmt: skip


def valu_rules(trans_latency: int) -> Fact:
    """VALU costs (occupancy, latency); ``trans_latency`` is 10 on gfx11 and 9 on gfx12."""
    return Fact(
        (
            ValuRule(r"v_s_\w+", 1, 8),
            ValuRule(r"v_(rcp|rsq|sqrt)_f64", 16, 40),
            ValuRule(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_\w+", 4, trans_latency),
            ValuRule(r"v_(fma|mul|add|min|max|(min|max)_num|ldexp|fract|trunc|ceil|rndne|floor)_f64", 16, 38),
            ValuRule(r"v_cvt_\w*f64\w*|v_div_\w+_f64|v_trig_preop_f64|v_cmpx?_\w+_f64", 16, 38),
            ValuRule(r"v_mad_(co_)?[ui]64_[ui]32|v_mul_(lo|hi)_[ui]32", 4, 8),
            ValuRule(r"v_(lshlrev|lshrrev|ashrrev|lshl|lshr|ashr|lshl_add|add|sub)_\w*[bui]64", 2, 6),
            ValuRule(r"v_\w+", 1, 5),
        ),
        "cycles", f"{_BOTH}; {src.ACO}; {src.SCHED}", "M",
    )  # fmt: skip


FAMILY: dict[str, Fact] = STRUCTURE | ISSUE | MEMORY
