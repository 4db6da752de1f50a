"""One instruction of each mnemonic that real kernels use, by architecture; registers are made up."""

SAMPLES = {
    "gfx942": """
buffer_atomic_add_f32 v2, v3, s[4:7], 0 offen
buffer_load_dword v2, s[4:7], 0 offen lds
buffer_load_dwordx2 v[2:3], v4, s[4:7], 0 offen
buffer_load_dwordx4 a[2:5], v2, s[4:7], 0 offen
buffer_load_short_d16 v2, v3, s[4:7], 0 offen
buffer_store_dword v2, v3, s[4:7], 0 offen
buffer_store_dwordx2 v[2:3], v4, s[4:7], 0 offen
buffer_store_dwordx4 v[2:5], v6, s[4:7], 0 offen
ds_bpermute_b32 v2, v3, v4
ds_permute_b32 v2, v3, v4
ds_read_b128 a[2:5], v2
ds_read_b32 v2, v3
ds_read_b64 v[2:3], v4 offset:16640
ds_write_b128 v2, v[4:7]
ds_write_b32 v2, v3 offset:18688
ds_write_b64 v2, v[4:5]
global_atomic_add_f32 v2, v3, s[4:5]
global_atomic_pk_add_bf16 v2, v3, s[4:5]
global_atomic_pk_add_f16 v[2:3], v4, off
global_load_dword v2, v3, s[4:5]
global_load_dwordx4 v[2:5], v[6:7], off
s_add_i32 s4, s5, s6
s_add_u32 s4, s5, s6
s_addc_u32 s4, 0, s5
s_addk_i32 s4, 0x40
s_and_b32 s4, s5, 0xffff
s_ashr_i32 s4, s5, 31
s_atomic_dec s4, s[6:7], 0x0 glc
s_barrier
s_bfm_b64 exec, s4, 0
s_branch 31
s_cbranch_scc0 26
s_cbranch_scc1 54
s_cmp_eq_i32 s4, s5
s_cmp_eq_u32 s4, 1
s_cmp_ge_i32 2, s4
s_cmp_ge_u32 s4, s5
s_cmp_gt_i32 s4, 0
s_cmp_gt_u32 s4, 23
s_cmp_le_i32 s4, 64
s_cmp_le_u32 s4, 1
s_cmp_lt_i32 s4, 2
s_cmp_lt_u32 s4, 1
s_cmpk_eq_u32 s4, 0x1
s_cselect_b32 s4, s5, s6
s_cselect_b64 s[4:5], s[6:7], s[8:9]
s_endpgm
s_ff1_i32_b64 s4, s[6:7]
s_load_dword s4, s[6:7], 0xe0
s_load_dwordx2 s[4:5], s[6:7], 0x20
s_load_dwordx8 s[8:15], s[4:5], 0x0
s_lshl1_add_u32 s4, s5, s6
s_lshl_b32 s4, s5, 7
s_lshr_b32 s4, s5, 6
s_min_u32 s4, s5, s6
s_mov_b32 s4, s5
s_mov_b64 exec, s[4:5]
s_mul_hi_u32 s4, s5, s6
s_mul_i32 s4, s5, s6
s_nop 0
s_or_b32 s4, s5, 0x40000
s_set_gpr_idx_off
s_set_gpr_idx_on s4, gpr_idx(DST)
s_setprio 0
s_setvskip s4, 0
s_store_dword s4, s[6:7], s8 glc
s_sub_i32 s4, 0, s5
s_sub_u32 s4, s5, s6
s_waitcnt lgkmcnt(0)
v_accvgpr_read_b32 v2, a2
v_accvgpr_write_b32 a2, 0
v_add3_u32 v2, v3, v4, 1
v_add_co_u32_e32 v2, vcc, s4, v3
v_add_f32_dpp v2, v3, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_add_f32_e32 v2, v3, v4
v_add_f32_e64 v2, v3, 1.0
v_add_i32 v2, v3, v4
v_add_u32_e32 v2, v3, v4
v_add_u32_e64 v2, v3, s4
v_addc_co_u32_e32 v2, vcc, v3, v4, vcc
v_and_b32_e32 v2, 0x3ff, v3
v_and_b32_e64 v2, v3, 15
v_and_or_b32 v2, v3, 15, v4
v_bfe_u32 v2, v3, 16, 1
v_cmp_eq_f32_e64 s[4:5], v2, v3
v_cmp_eq_u32_e32 vcc, 0, v2
v_cmp_eq_u32_e64 s[4:5], 0, v2
v_cmp_ge_f32_e64 s[4:5], v2, v3
v_cmp_gt_i32_e64 s[4:5], s6, v2
v_cmp_le_u32_e32 vcc, s4, v2
v_cmp_le_u32_e64 s[4:5], s6, v2
v_cmp_lt_i32_e64 s[4:5], 0, v2
v_cmp_lt_u32_e32 vcc, 1, v2
v_cmp_lt_u32_e64 s[4:5], v2, v3
v_cmp_u_f32_e64 s[4:5], v2, v3
v_cndmask_b32_e32 v2, v3, v4, vcc
v_cndmask_b32_e64 v2, v3, v4, s[4:5]
v_cvt_f16_f32_e32 v2, v3
v_cvt_f32_f16_e32 v2, v3
v_cvt_f32_i32_e32 v2, v3
v_cvt_f32_u32_e32 v2, s4
v_cvt_i32_f32_e32 v2, v3
v_cvt_pk_f32_fp8_sdwa v[2:3], v4 src0_sel:WORD_1
v_cvt_pk_fp8_f32 v2, v3, v4
v_cvt_pkrtz_f16_f32 v2, v3, v4
v_cvt_u32_f32_e32 v2, v3
v_exp_f32_e32 v2, v3
v_fma_f32 v2, v3, v4, v5
v_log_f32_e32 v2, v3
v_lshlrev_b32_e32 v2, 2, v3
v_lshrrev_b32_e32 v2, 10, v3
v_lshrrev_b32_e64 v2, 4, s4
v_max3_f32 v2, |v3|, |v4|, v5
v_max_f32_dpp v2, v3, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_max_f32_e32 v2, v3, v4
v_mfma_f32_16x16x16_bf16 v[2:5], a[2:3], a[4:5], v[6:9]
v_mfma_f32_16x16x16_f16 a[2:5], v[2:3], v[4:5], a[2:5]
v_mfma_f32_16x16x32_fp8_fp8 v[2:5], a[2:3], a[4:5], 0
v_mfma_f32_32x32x16_fp8_fp8 v[2:17], v[18:19], v[20:21], v[2:17]
v_mfma_f32_32x32x8_bf16 v[2:17], v[18:19], v[20:21], v[2:17]
v_mfma_i32_16x16x32_i8 v[2:5], a[2:3], v[6:7], v[8:11]
v_min_u32_e32 v2, v3, v4
v_mov_b32_dpp v2, v3 row_shl:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
v_mov_b32_e32 v2, 0xffff0000
v_mov_b64_e32 v[2:3], s[4:5]
v_mul_f32_dpp v2, v3, v4 row_newbcast:0 row_mask:0xf bank_mask:0xf
v_mul_f32_e32 v2, 0x4f7ffffe, v3
v_mul_f32_e64 v2, -v3, s4
v_mul_hi_u32 v2, v3, v4
v_mul_i32_i24_e32 v2, 16, v3
v_mul_i32_i24_e64 v2, 64, s4
v_mul_lo_u32 v2, v3, s4
v_mul_u32_u24_dpp v2, v3, v4 row_newbcast:0 row_mask:0xf bank_mask:0xf
v_mul_u32_u24_e32 v2, 0x108, v3
v_nop
v_or_b32_dpp v2, v3, v4 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
v_perm_b32 v2, v3, v4, s4
v_pk_add_f32 v[2:3], v[4:5], v[6:7]
v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]
v_pk_mul_f32 v[2:3], v[4:5], v[6:7]
v_rcp_f32_e32 v2, v3
v_rcp_iflag_f32_e32 v2, v3
v_readfirstlane_b32 s4, v2
v_readlane_b32 s4, v2, 32
v_sub_f32_e32 v2, v3, v4
v_sub_i32 v2, s4, v3
v_sub_u32_e32 v2, s4, v3
v_sub_u32_e64 v2, s4, v3
v_subrev_f32_dpp v2, v3, v4 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf
v_subrev_u32_e32 v2, s4, v3
v_writelane_b32 v2, s4, m0
v_xor_b32_e32 v2, s4, v3
""",
    "gfx950": """
buffer_atomic_add_f32 v2, v3, s[4:7], 0 offen
buffer_atomic_pk_add_bf16 v2, v3, s[4:7], 0 offen
buffer_atomic_pk_add_f16 v2, v3, s[4:7], 0 offen
buffer_load_dword v2, s[4:7], 0 offen lds
buffer_load_dwordx2 v[2:3], v4, s[4:7], 0 offen
buffer_load_dwordx4 a[2:5], v2, s[4:7], 0 offen
buffer_load_short_d16 v2, v3, s[4:7], 0 offen
buffer_store_dword v2, v3, s[4:7], 0 offen
buffer_store_dwordx2 v[2:3], v4, s[4:7], 0 offen
buffer_store_dwordx4 v[2:5], v6, s[4:7], 0 offen
ds_bpermute_b32 v2, v3, v4
ds_read_b128 a[2:5], v2
ds_read_b32 v2, v3
ds_read_b64 v[2:3], v4
ds_read_b64_tr_b16 v[2:3], v4 offset:18432
ds_read_b64_tr_b4 v[2:3], v4
ds_read_b64_tr_b8 a[2:3], v2
ds_write_b128 v2, v[4:7]
ds_write_b32 v2, v3 offset:4352
ds_write_b64 v2, v[4:5]
global_atomic_add_f32 v2, v3, s[4:5]
global_atomic_pk_add_bf16 v2, v3, s[4:5]
global_atomic_pk_add_f16 v[2:3], v4, off
global_load_dword v2, v3, s[4:5]
global_load_dwordx4 v[2:5], v[6:7], off
global_load_lds_dwordx4 v[2:3], off
s_add_i32 s4, s5, s6
s_add_u32 s4, s5, s6
s_addc_u32 s4, 0, s5
s_addk_i32 s4, 0x40
s_and_b32 s4, s5, 0xffff
s_atomic_dec s4, s[6:7], 0x0 glc
s_barrier
s_bfm_b64 exec, s4, 0
s_branch 31
s_cbranch_scc0 26
s_cbranch_scc1 54
s_cbranch_vccnz 207
s_cmp_eq_i32 s4, s5
s_cmp_eq_u32 s4, 1
s_cmp_ge_i32 2, s4
s_cmp_ge_u32 s4, 16
s_cmp_gt_i32 s4, 0
s_cmp_gt_u32 s4, 0
s_cmp_le_i32 s4, 64
s_cmp_le_u32 s4, 1
s_cmp_lt_i32 s4, 2
s_cmp_lt_u32 s4, 1
s_cmpk_eq_u32 s4, 0x1
s_cselect_b32 s4, s5, s6
s_cselect_b64 s[4:5], s[6:7], s[8:9]
s_endpgm
s_ff1_i32_b64 s4, s[6:7]
s_load_dword s4, s[6:7], 0xe0
s_load_dwordx2 s[4:5], s[6:7], 0x20
s_load_dwordx8 s[8:15], s[4:5], 0x0
s_lshl1_add_u32 s4, s5, s6
s_lshl_b32 s4, s5, 8
s_lshr_b32 s4, s5, 6
s_min_u32 s4, 16, s5
s_mov_b32 s4, s5
s_mov_b64 exec, s[4:5]
s_movk_i32 s4, 0x7fff
s_mul_hi_u32 s4, s5, s6
s_mul_i32 s4, s5, s6
s_nop 0
s_or_b32 s4, s5, 0x40000
s_set_gpr_idx_off
s_set_gpr_idx_on s4, gpr_idx(SRC0)
s_setprio 0
s_setvskip s4, 0
s_store_dword s4, s[6:7], s8 glc
s_sub_i32 s4, 0, s5
s_sub_u32 s4, s5, s6
s_waitcnt lgkmcnt(0)
v_accvgpr_read_b32 v2, a2
v_accvgpr_write_b32 a2, 0
v_add3_u32 v2, v3, v4, 1
v_add_co_u32_e32 v2, vcc, s4, v3
v_add_co_u32_e64 v2, s[4:5], v3, v4
v_add_f32_dpp v2, v3, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
v_add_f32_e32 v2, v3, v4
v_add_f32_e64 v2, v3, 1.0
v_add_i32 v2, v3, v4
v_add_u32_e32 v2, v3, v4
v_add_u32_e64 v2, v3, s4
v_addc_co_u32_e32 v2, vcc, v3, v4, vcc
v_addc_co_u32_e64 v2, vcc, v3, 0, vcc
v_and_b32_e32 v2, 0x3ff, v3
v_and_b32_e64 v2, v3, 15
v_and_or_b32 v2, v3, 15, v4
v_bfe_u32 v2, v3, 16, 1
v_cmp_class_f32_e64 s[4:5], v2, v3
v_cmp_eq_f32_e64 s[4:5], v2, 0
v_cmp_eq_u32_e32 vcc, 0, v2
v_cmp_eq_u32_e64 s[4:5], v2, v3
v_cmp_ge_f32_e64 s[4:5], v2, v3
v_cmp_gt_f32_e64 s[4:5], v2, v3
v_cmp_gt_i32_e64 s[4:5], s6, v2
v_cmp_le_i32_e64 s[4:5], v2, v3
v_cmp_le_u32_e32 vcc, s4, v2
v_cmp_le_u32_e64 s[4:5], s6, v2
v_cmp_lt_f32_e64 s[4:5], v2, v3
v_cmp_lt_i32_e32 vcc, 0, v2
v_cmp_lt_i32_e64 s[4:5], 0, v2
v_cmp_lt_u32_e32 vcc, 1, v2
v_cmp_lt_u32_e64 s[4:5], v2, s6
v_cmp_nge_f32_e32 vcc, v2, v3
v_cmp_u_f32_e64 s[4:5], v2, v3
v_cndmask_b32_e32 v2, v3, v4, vcc
v_cndmask_b32_e64 v2, v3, v4, s[4:5]
v_cvt_f32_f16_e32 v2, v3
v_cvt_f32_i32_e32 v2, v3
v_cvt_f32_u32_e32 v2, s4
v_cvt_i32_f32_e32 v2, v3
v_cvt_pk_bf16_f32 v2, v3, v4
v_cvt_pk_f16_f32 v2, v3, v4
v_cvt_pk_fp8_f32 v2, v3, v4
v_cvt_pkrtz_f16_f32 v2, v3, v4
v_cvt_scalef32_pk_bf16_fp8 v2, v3, v4
v_cvt_scalef32_pk_fp4_f32 v2, v3, v4, v5 op_sel:[0,0,1,0]
v_cvt_u32_f32_e32 v2, v3
v_exp_f32_e32 v2, v3
v_fma_f32 v2, v3, s4, -v4
v_log_f32_e32 v2, v3
v_lshlrev_b32_e32 v2, 2, v3
v_lshrrev_b32_e32 v2, 10, v3
v_lshrrev_b32_e64 v2, 4, s4
v_max3_f32 v2, v3, v4, v5
v_max_f32_dpp v2, v3, v4 quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xf
v_max_f32_e32 v2, v3, v4
v_mfma_f32_16x16x128_f8f6f4 v[2:5], a[2:9], v[6:13], 0
v_mfma_f32_16x16x16_bf16 v[2:5], a[2:3], a[4:5], v[6:9]
v_mfma_f32_16x16x16_f16 a[2:5], v[2:3], v[4:5], a[2:5]
v_mfma_f32_16x16x32_bf16 v[2:5], v[6:9], a[2:5], 0
v_mfma_f32_16x16x32_f16 v[2:5], v[6:9], v[10:13], v[2:5]
v_mfma_f32_16x16x32_fp8_fp8 v[2:5], a[2:3], v[6:7], v[8:11]
v_mfma_f32_32x32x16_bf16 v[2:17], v[18:21], v[22:25], v[26:41]
v_mfma_f32_32x32x16_f16 v[2:17], v[18:21], v[22:25], v[2:17]
v_mfma_f32_32x32x64_f8f6f4 v[2:17], v[18:25], v[26:33], v[2:17]
v_mfma_i32_16x16x32_i8 v[2:5], a[2:3], a[4:5], v[6:9]
v_mfma_scale_f32_16x16x128_f8f6f4 a[2:5], v[2:5], v[6:9], a[6:9], v10, v11 op_sel_hi:[0,0,0] cbsz:4 blgp:4
v_min_u32_e32 v2, v3, v4
v_mov_b32_dpp v2, v3 quad_perm:[3,3,3,3] row_mask:0xf bank_mask:0xf
v_mov_b32_e32 v2, 0xffff0000
v_mov_b64_e32 v[2:3], s[4:5]
v_mul_f32_dpp v2, v3, v4 row_newbcast:0 row_mask:0xf bank_mask:0xf
v_mul_f32_e32 v2, 0x4f7ffffe, v3
v_mul_f32_e64 v2, v3, s4
v_mul_hi_u32 v2, v3, v4
v_mul_i32_i24_dpp v2, v3, v4 row_shr:1 row_mask:0xf bank_mask:0xf
v_mul_i32_i24_e32 v2, 16, v3
v_mul_i32_i24_e64 v2, v3, 4
v_mul_lo_u32 v2, v3, s4
v_mul_u32_u24_dpp v2, v3, v4 row_newbcast:0 row_mask:0xf bank_mask:0xf
v_mul_u32_u24_e32 v2, 0x108, v3
v_nop
v_or_b32_dpp v2, v3, v4 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:1
v_or_b32_e32 v2, v3, v4
v_perm_b32 v2, v3, v4, s4
v_permlane16_swap_b32_e32 v2, v3
v_permlane32_swap_b32_e32 v2, v3
v_pk_add_f32 v[2:3], v[4:5], v[6:7]
v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]
v_pk_mul_f32 v[2:3], v[4:5], v[6:7]
v_rcp_f32_e32 v2, v3
v_rcp_iflag_f32_e32 v2, v3
v_readfirstlane_b32 s4, v2
v_readlane_b32 s4, v2, 0
v_smfmac_f32_16x16x128_fp8_fp8 v[2:5], v[6:9], v[10:17], v18
v_sub_f32_e32 v2, v3, v4
v_sub_i32 v2, s4, v3
v_sub_u32_e32 v2, s4, v3
v_sub_u32_e64 v2, s4, v3
v_subrev_f32_dpp v2, v3, v4 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf
v_subrev_u32_e32 v2, s4, v3
v_swap_b32 v2, v3
v_writelane_b32 v2, s4, 0
v_xor_b32_e32 v2, v3, v4
v_xor_b32_e64 v2, v3, s4
""",
    "gfx1250": """
buffer_atomic_add_f32 v2, v3, s[4:7], null offen
buffer_load_b128 v[2:5], v6, s[4:7], null offen
buffer_load_b32 v2, v3, s[4:7], null offen
buffer_store_b128 v[2:5], v6, s[4:7], null offen
buffer_store_b32 v2, v3, s[4:7], null offen
buffer_store_b64 v[2:3], v4, s[4:7], null offen
ds_load_b128 v[2:5], v6
ds_load_b32 v2, v3
ds_load_b64 v[2:3], v4
ds_load_tr16_b128 v[2:5], v6
ds_load_tr8_b64 v[2:3], v4
ds_store_b128 v2, v[4:7]
ds_store_b32 v2, v3
ds_store_b64 v2, v[4:5]
global_load_async_to_lds_b128 v2, v[4:5], off
global_load_async_to_lds_b32 v2, v3, s[4:5]
global_load_async_to_lds_b64 v2, v3, s[4:5]
global_load_b128 v[2:5], v[6:7], off
global_load_b32 v2, v[4:5], off
global_prefetch_b8 v2, s[4:5]
global_store_async_from_lds_b128 v2, v3, s[4:5]
global_store_async_from_lds_b64 v2, v3, s[4:5]
s_add_co_ci_u32 s4, 0, s5
s_add_co_i32 s4, s5, 1
s_add_co_u32 s4, s5, ttmp9
s_add_nc_u64 s[4:5], s[6:7], s[8:9]
s_addk_co_i32 s4, 0x100
s_and_b32 s4, ttmp7, 0xffff
s_ashr_i32 s4, s5, 2
s_barrier_signal -1
s_barrier_wait 0xffff
s_bfe_u32 s4, ttmp8, 0x50019
s_bitcmp1_b32 s4, 3
s_bitset0_b32 s4, 20
s_bitset1_b32 s4, s5
s_branch 34
s_buffer_load_b128 s[8:11], s[4:7], 0x10
s_buffer_load_b32 s4, s[8:11], s12 offset:0x0
s_cbranch_scc0 16
s_cbranch_scc1 6
s_clause 0x1
s_cmp_eq_i32 s4, 1
s_cmp_eq_u32 s4, 0
s_cmp_ge_i32 s4, s5
s_cmp_ge_u32 s4, 3
s_cmp_gt_i32 s4, 0
s_cmp_gt_u32 s4, 0
s_cmp_le_i32 s4, s5
s_cmp_le_u32 s4, s5
s_cmp_lt_i32 s4, s5
s_cmp_lt_u32 s4, s5
s_code_end
s_cselect_b32 s4, 0, 1
s_cselect_b64 s[4:5], s[6:7], s[8:9]
s_ctz_i32_b32 s4, s5
s_endpgm
s_get_pc_i64 s[4:5]
s_getreg_b32 s4, hwreg(HW_REG_WAVE_MODE)
s_load_b256 s[4:11], s[12:13], s14 offset:0x0
s_load_b32 s4, s[6:7], 0x78
s_load_b64 s[4:5], s[6:7], 0x0
s_lshl2_add_u32 s4, s5, s6
s_lshl_b32 s4, s5, s6
s_lshl_b64 s[4:5], s[6:7], 16
s_lshr_b32 s4, s5, s6
s_max_i32 s4, s5, 0
s_min_i32 s4, s5, 64
s_min_u32 s4, s5, 0x200
s_mov_b32 s4, s5
s_mov_b64 s[4:5], s[6:7]
s_mul_f32 s4, s5, s6
s_mul_hi_i32 s4, s5, s6
s_mul_hi_u32 s4, s5, s6
s_mul_i32 s4, s5, s6
s_nop 0
s_or_b32 s4, s5, s6
s_prefetch_inst s[4:5], 0x7c00, s6, 0
s_prefetch_inst_pc_rel 0x100, null, 3
s_set_vgpr_msb 64
s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2
s_sleep 0
s_sub_co_ci_u32 s4, s5, 0
s_sub_co_i32 s4, 0, s5
s_sub_co_u32 s4, s5, 1
s_version UC_VERSION_GFX12|UC_VERSION_W32_BIT
s_wait_alu depctr_va_vdst(0)
s_wait_asynccnt 0x0
s_wait_dscnt 0x8
s_wait_idle
s_wait_kmcnt 0x0
s_wait_loadcnt 0x1
s_wait_tensorcnt 0x2
s_wait_xcnt 0x0
s_xor_b32 s4, s5, s6
v_add_co_ci_u32_e64 v2, vcc_lo, s4, 0, vcc_lo
v_add_co_u32 v2, vcc_lo, s4, v3
v_add_f32_e32 v2, v3, v4
v_add_nc_i32 v2, v3, v4
v_add_nc_u32_e32 v2, s4, v3
v_add_nc_u32_e64 v2, v3, s4
v_add_nc_u64_e32 v[2:3], s[4:5], v[4:5]
v_and_b32_e32 v2, 0x3ff, v3
v_and_b32_e64 v2, v3, 15
v_ashrrev_i32_e32 v2, 4, v3
v_bfe_u32 v2, v3, 4, 5
v_cmp_eq_f32_e64 s4, v2, 0
v_cmp_eq_u32_e64 s4, v2, v3
v_cmp_ge_f32_e64 s4, v2, v3
v_cmp_ge_u16_e32 vcc_lo, s4, v2.l
v_cmp_gt_i32_e64 s4, v2, v3
v_cmp_le_u32_e32 vcc_lo, s4, v2
v_cmp_lt_i32_e32 vcc_lo, v2, v3
v_cmp_lt_i32_e64 vcc_lo, v2, 4
v_cmp_lt_u32_e64 vcc_lo, v2, s4
v_cndmask_b32_e32 v2, v3, v4, vcc_lo
v_cndmask_b32_e64 v2, v3, 0, s4
v_cvt_f32_bf16_e32 v2, v3
v_cvt_f32_u32_e32 v2, s4
v_cvt_pk_bf16_f32 v2, v3, v4
v_cvt_pk_fp8_f32 v2.l, v3, v4
v_cvt_scale_pk8_bf16_fp8 v[2:5], v[6:7], v8
v_cvt_scalef32_pk8_fp4_f32 v2, v[4:11], 1.0
v_cvt_scalef32_pk8_fp8_f32 v[2:3], v[4:11], v12
v_cvt_u32_f32_e32 v2, v3
v_exp_f32_e32 v2, v3
v_fma_f32 v2, -v3, s4, v4
v_log_f32_e32 v2, v3
v_lshl_add_u32 v2, v3, 3, 0x4800
v_lshl_or_b32 v2, v3, 4, v5
v_lshlrev_b32_e32 v2, 4, v3
v_lshlrev_b32_e64 v2, 2, s4
v_lshrrev_b32_e32 v2, 10, v3
v_lshrrev_b32_e64 v2, v3, -1
v_mad_nc_i64_i32 v[2:3], v4, v5, v[6:7]
v_max3_num_f32 v2, v3, v4, v5
v_max_num_f32_e32 v2, v3, v4
v_max_num_f32_e64 v2, v3, s4
v_min_i32_e64 v2, v3, s4
v_min_num_f64_e32 v[2:3], v[4:5], v[6:7]
v_min_u32_e32 v2, 4, v3
v_mov_b32_dpp v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf
v_mov_b32_e32 v2, v3
v_mov_b64_e32 v[2:3], 0
v_mul_f32_e32 v2, 0x4f7ffffe, v3
v_mul_f32_e64 v2, v3, s4
v_mul_hi_u32 v2, v3, v4
v_mul_i32_i24_e32 v2, 8, v3
v_mul_i32_i24_e64 v2, v3, 8
v_mul_lo_u32 v2, s4, v3
v_mul_u32_u24_e32 v2, 0x10000, v3
v_mul_u32_u24_e64 v2, v3, 0x110
v_nop
v_or_b32_e64 v2, v3, s4
v_permlane16_swap_b32_e32 v2, v3
v_permlanex16_b32 v2, v3, s4, s5
v_pk_add_f32 v[2:3], v[4:5], v[6:7]
v_pk_fma_f32 v[2:3], s[4:5], v[4:5], v[6:7] neg_lo:[0,0,1] neg_hi:[0,0,1]
v_pk_mul_f32 v[2:3], v[4:5], v[6:7]
v_rcp_f32_e32 v2, v3
v_rcp_iflag_f32_e32 v2, v3
v_readfirstlane_b32 s4, v2
v_readlane_b32 s4, v2, 3
v_sub_f32_e32 v2, v3, v4
v_sub_nc_i32 v2, v3, v4
v_sub_nc_u32_e32 v2, s4, v3
v_sub_nc_u32_e64 v2, v3, s4
v_subrev_co_ci_u32_e32 v2, vcc_lo, v3, v4, vcc_lo
v_subrev_nc_u32_e32 v2, s4, v3
v_swap_b32 v2, v3
v_wmma_f32_16x16x128_f8f6f4 v[2:9], v[10:25], v[26:41], v[42:49]
v_wmma_f32_16x16x128_fp8_fp8 v[2:9], v[10:25], v[26:41], v[2:9]
v_wmma_f32_16x16x32_bf16 v[2:9], v[10:17], v[18:25], v[2:9]
v_wmma_f32_16x16x64_fp8_fp8 v[2:9], v[10:17], v[18:25], 0
v_wmma_f32_32x16x128_f4 v[2:17], v[18:33], v[34:41], v[42:57]
v_wmma_ld_scale16_paired_b64 v[2:3], v[4:5]
v_wmma_ld_scale_paired_b32 v2, v3 matrix_a_reuse
v_wmma_scale16_f32_32x16x128_f4 v[2:17], v[18:33], v[34:41], v[2:17], v[42:43], v[44:45]
v_wmma_scale_f32_16x16x128_f8f6f4 v[2:9], v[10:25], v[26:41], 0, v42, v43
v_wmma_scale_f32_32x16x128_f4 v[2:17], v[18:33], v[34:41], v[42:57], v58, v59 matrix_a_reuse
v_writelane_b32 v2, s4, 3
v_xnor_b32_e32 v2, v3, v4
v_xor_b32_e32 v2, v3, v4
v_xor_b32_e64 v2, v3, s4
""",
}
