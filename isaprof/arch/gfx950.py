"""gfx950: MI350X, MI355X (CDNA4)."""

from __future__ import annotations

from isaprof.arch import lds_lanes, matrix
from isaprof.arch import sources as src
from isaprof.arch.cdna import FAMILY
from isaprof.arch.decoding import CDNA_UNIFIED, GFX9
from isaprof.arch.table import Fact, ValuRule, build, facts

#: VALU instructions that never share an issue turn with another wave's VALU instruction
_ALONE = (
    r"v_mfma_\w+", r"v_smfmac_\w+", r"v_pk_(fma|mul|add)_f32", r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_\w+",
    r"v_permlane(16|32)_swap_b32", r"v_cvt_pk_bf16_f32", r"v_mul_(lo|hi)_\w+", r"v_mad_u64_u32",
)  # fmt: skip

#: VALU instructions that go to the second port where it is free and leave the first to another wave's. Seen:
#: the f32 addition, beside which shifts, bfe, and_or and maximum3 of the other wave issue; rest by analogy
_SECOND_PORT = (r"v_(add|sub|subrev|mul|fma|fmac)_f32",)
#: Those that the second port takes as well. Seen beside maximum3 or integer instructions of the other wave:
#: integer addition and subtraction, and, or, xor, right shifts; moves and selects by analogy. All others
#: (maximum3, left shifts, bfe, readfirstlane, three operands, ...) were held up until the first port was free
_EITHER_PORT = (
    r"v_(add|sub|subrev)_u32", r"v_(and|or|xor|not)_b32", r"v_lshrrev_b32", r"v_ashrrev_i32",
    r"v_(mov|cndmask)_b32", *_SECOND_PORT,
)  # fmt: skip

_DEVICE: dict[str, Fact] = {
    **facts("", src.PRODUCT, cu_count=256, xcd_count=8, memory_bandwidth_gb_s=8000),
    **facts("MHz", src.PRODUCT, clock_mhz=2400),
    **facts(
        "bytes", src.GLUON,
        lds_bytes=160 << 10, lds_max_per_workgroup=160 << 10, lds_alloc_granule=1280,
        lds_peak_bytes_per_cycle=256,
    ),
    "lds_lane_groups": Fact({64: lds_lanes.GFX950}, "", src.HIPKITTENS, "B"),
    **facts(
        "cycles per wave, no conflict, per SIMD with all four active", src.GLUON, "A",
        lds_read_cycles={4: 8, 8: 8, 12: 16, 16: 16}, lds_write_cycles={4: 8, 8: 8, 12: 16, 16: 16},
    ),
    **facts("instructions per SIMD pair", src.GLUON, "A", lds_fifo=8, lds_ports_per_cu=2),
    **facts("cycles", src.FLYDSL, "M", lds_read_latency={4: 44, 8: 52, 12: 56, 16: 56}, bpermute_latency=56),
    # 56 in four of four waves with the time steps as AMD's decoder adds them up (36 to 48 without the step of
    # bit 4 of a packet); wider ones are an assumption
    **facts("cycles", f"{src.TG_GFX950}, 4 bytes a lane", "M",
            lds_write_latency={4: 56, 8: 56, 12: 60, 16: 60}),
    **facts("cycles", src.FLYDSL, "M", bpermute_issue=8),
    "matrix": Fact(matrix.MFMA_GFX950, "cycles", f"{src.SCHED}; bf16 and scaled fp4 in {src.FLYDSL}"),
    "matrix_hazards": Fact(matrix.MFMA_HAZARDS_GFX950, "wait states", src.HAZARD),
    "permlane_hazards": Fact(matrix.PERMLANE_HAZARDS_GFX950, "wait states", src.HAZARD),
    **facts("cycles", src.FLYDSL, "M", matrix_to_valu=8, matrix_scale_slot=4, mfma_to_lds=8),
    # packed f32, and a second VALU in the same turn, wait for 4 x (passes + 3)
    **facts("passes", src.FLYDSL, "M", matrix_to_packed_extra_passes=3),
    **facts("", src.FLYDSL, "M", packed_f32_pattern=r"v_pk_(fma|mul|add)_f32"),
    "valu_rules": Fact(
        (
            ValuRule(r"v_(rcp|rsq|sqrt)_f64", 16, 16),
            ValuRule(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_\w+", 8, 8),
            ValuRule(r"v_permlane(16|32)_swap_b32", 8, 8),
            ValuRule(r"v_\w+", 4, 4),
        ),
        "cycles", f"{src.FLYDSL}; f64 transcendentals {src.SCHED}", "M",
    ),
    **facts("instructions of different waves per turn", src.FLYDSL, "M", valu_per_turn=2, valu_alone=_ALONE),
    # read off the records of one SIMD's two waves; which instructions belong to a list is partly by analogy
    **facts("", f"{src.FLYDSL}, two waves of a SIMD side by side", "D",
            valu_second_port=_SECOND_PORT, valu_either_port=_EITHER_PORT),
    **facts("cycles", src.FLYDSL, "M", valu_to_mem=12, barrier_release=8),
    # seen 8 to 12 apart: two dwords a lane, scattered, four waves; that all global and flat stores do so is
    # an inference. A buffer store of a dword (32-bit offset) goes on after 4 to 8
    **facts("cycles to the unit's next vector memory instruction", src.FLYDSL, "D",
            vmem_global_store_issue=8),
    # L2 without a queue: 196-244 on an idle GPU (the youngest of four loads of four waves: median 280)
    **facts("cycles", src.FLYDSL, "M", smem_hit=40, smem_cold=760, l1_latency=120, l2_latency=220),
    **facts("ns", f"{src.FLYDSL}, streaming under load", "M", mall_latency_ns=300, dram_latency_ns=300),
    **facts("cycles", src.FLYDSL, "M", endpgm_after_uncoalesced=1200),
}  # fmt: skip

TABLE = build("gfx950", "gfx9", "MI350X, MI355X", GFX9, CDNA_UNIFIED, FAMILY, _DEVICE)
