"""Occupancy of the matrix pipe by instruction, and the hazards around MFMA."""

from __future__ import annotations

from isaprof.arch.table import HazardRule, MatrixRule

#: CDNA3; cycles are 4 x passes. First match wins.
MFMA_GFX942: tuple[MatrixRule, ...] = (
    MatrixRule(r"v_mfma_f64_4x4x4_4b_f64", 16, blocks_valu=True),
    MatrixRule(r"v_mfma_f64_16x16x4_f64", 32, blocks_valu=True),
    MatrixRule(r"v_mfma_f32_4x4x1_16b_f32", 8, blocks_valu=True),
    MatrixRule(r"v_mfma_f32_16x16x(4|1_4b)_f32", 32, blocks_valu=True),
    MatrixRule(r"v_mfma_f32_32x32x(2|1_2b)_f32", 64, blocks_valu=True),
    MatrixRule(r"v_mfma_\w+_4x4x4_16b_\w+", 8),
    MatrixRule(r"v_mfma_\w+_16x16x4_4b_\w+", 32),
    MatrixRule(r"v_mfma_\w+_32x32x4_2b_\w+", 64),
    MatrixRule(r"v_mfma_\w+_16x16x(8_xf32|16_(f16|bf16)|32_(fp8|bf8|i8)\w*)", 16),
    MatrixRule(r"v_mfma_\w+_32x32x(4_xf32|8_(f16|bf16)|16_(fp8|bf8|i8)\w*)", 32),
    MatrixRule(r"v_smfmac_\w+_16x16x\w+", 16),
    MatrixRule(r"v_smfmac_\w+_32x32x\w+", 32),
)

#: CDNA4: twice the K of 16-bit and 8-bit types in the same passes; f8f6f4; f64 at half rate
MFMA_GFX950: tuple[MatrixRule, ...] = (
    MatrixRule(r"v_mfma_f64_16x16x4_f64", 64, blocks_valu=True),
    MatrixRule(r"v_mfma_(scale_)?f32_16x16x128_f8f6f4", 16, 32),
    MatrixRule(r"v_mfma_(scale_)?f32_32x32x64_f8f6f4", 32, 64),
    MatrixRule(r"v_mfma_\w+_16x16x(32_(f16|bf16)|64_i8)", 16),
    MatrixRule(r"v_mfma_\w+_32x32x(16_(f16|bf16)|32_i8)", 32),
    *(r for r in MFMA_GFX942 if "v_mfma_f64_16x16x4" not in r.pattern),
)

WMMA_GFX11: tuple[MatrixRule, ...] = (
    MatrixRule(r"v_wmma_\w+_16x16x16_iu4", 16, blocks_valu=True),
    MatrixRule(r"v_wmma_\w+_16x16x16_(f16|bf16|iu8)", 32, blocks_valu=True),
)

WMMA_GFX12: tuple[MatrixRule, ...] = (
    MatrixRule(r"v_wmma_\w+_16x16x16_(f16|bf16)", 16, blocks_valu=True),
    MatrixRule(r"v_wmma_\w+_16x16x(16_(iu8|iu4|fp8|bf8)\w*|32_iu4)", 8, blocks_valu=True),
    MatrixRule(r"v_swmmac_\w+_16x16x32_(f16|bf16)", 16, blocks_valu=True),
    MatrixRule(r"v_swmmac_\w+_16x16x(32_(fp8|bf8|iu8|iu4)\w*|64_iu4)", 8, blocks_valu=True),
)

#: "other_valu" reads or writes the registers; an accumulate chain is the same D as C and the same shape
_MFMA_COMMON: tuple[HazardRule, ...] = (
    HazardRule("xdl", "same_srcc", 0),
    HazardRule("xdl", "overlapping_srcc", 1, plus_passes=True),
    HazardRule("non_xdl", "srcab", 2, plus_passes=True),
    HazardRule("non_xdl", "overlapping_srcc", 0, plus_passes=True),
    HazardRule("non_xdl", "valu_or_memory", 2, plus_passes=True),
    HazardRule("f64_4x4", "srcc", 4),
    HazardRule("f64_4x4", "srcab", 6),
    HazardRule("f64_4x4", "valu", 6),
    HazardRule("f64_4x4", "memory", 9),
    HazardRule("valu", "mfma", 2),
    HazardRule("valu_exec", "mfma", 4),
    HazardRule("dot", "other_valu_or_srcab", 3),
)
MFMA_HAZARDS_GFX942: tuple[HazardRule, ...] = (
    *_MFMA_COMMON,
    HazardRule("xdl", "srcab", 3, plus_passes=True),
    HazardRule("xdl", "valu_or_memory", 3, plus_passes=True),
    HazardRule("f64_16x16", "srcc", 9),
    HazardRule("f64_16x16", "srcab", 11),
    HazardRule("f64_16x16", "valu", 11),
    HazardRule("f64_16x16", "memory", 18),
)
MFMA_HAZARDS_GFX950: tuple[HazardRule, ...] = (
    *_MFMA_COMMON,
    HazardRule("xdl", "overlapping_srcc", 2, plus_passes=True, except_passes=(2,)),
    HazardRule("xdl", "srcab", 4, plus_passes=True, except_passes=(2,)),
    HazardRule("xdl", "srcab", 3, plus_passes=True),
    HazardRule("xdl", "valu_or_memory", 4, plus_passes=True, except_passes=(2,)),
    HazardRule("xdl", "valu_or_memory", 3, plus_passes=True),
    HazardRule("f64_16x16", "srcc", 17),
    HazardRule("f64_16x16", "srcab", 19),
    HazardRule("f64_16x16", "valu", 19),
    HazardRule("f64_16x16", "memory", 18),
)

#: hazards between other instructions that CDNA3/4 code must fill with s_nop
OTHER_HAZARDS: tuple[HazardRule, ...] = (
    HazardRule("valu_writes_sgpr", "vmem_reads_it", 5),
    HazardRule("valu_writes_vcc", "v_div_fmas", 4),
    HazardRule("valu_writes_sgpr", "lane_select", 4),
    HazardRule("valu_writes_exec", "dpp", 5),
    HazardRule("valu_writes_vgpr", "dpp_reads_it", 2),
    HazardRule("valu_writes_sgpr", "valu_reads_it", 2),
    HazardRule("valu_writes_exec", "lane_access", 4),
    HazardRule("valu_writes_vgpr", "v_readlane_reads_it", 1),
    HazardRule("trans_writes_vgpr", "other_valu_reads_it", 1),
    HazardRule("subdword_write", "valu_reads_it", 1),
    HazardRule("salu_writes_m0", "m0_user", 1),
    HazardRule("s_setreg", "s_getreg", 2),
    HazardRule("wide_store", "valu_overwrites_data", 2),
)
PERMLANE_HAZARDS_GFX950: tuple[HazardRule, ...] = (
    HazardRule("valu_writes_vgpr", "v_permlane_swap", 2),
    HazardRule("v_cmpx", "v_permlane", 4),
)
