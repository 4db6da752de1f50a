; step: K offsets in SGPRs (scalar-load-offset)
// w4a16_ladder/step5.s (written by generate.py)
//
// C[M,N] = A[M,K] @ dequant(W)[N,K]^T for RDNA3.5 (gfx1151), wave32. A and C are bf16, W holds eight 4-bit
// codes n in an int32, and dequant is (n - 8) * scale[n, k / group_size], the scale bf16.
// Element j of eight is at bit 4 (j / 2) + 16 (j % 2) of its int32.
//
//   workgroup   256 threads = 8 waves, 128 x 64 of C; waves 4 (M) x 2 (N)
//   wave        32 x 32 of C = 2 x 2 WMMA tiles of 16 x 16
//   K step      32; the 8 KB of LDS hold A's 128 x 32 tile, then B's 64 x 32
//   grid        x = ceil(M / 128), y = ceil(N / 64)
//
// LDS is dynamic (8192 bytes). Rows have 64 bytes; 16-byte chunk c of row r lies at chunk c ^ (r / 2 % 4), so
// that eight lanes' 16 bytes fall in eight different groups of four banks.
//
// kernarg   0 A   8 W   16 scales   24 packed scales (unused)   32 C   40 M   44 N   48 K   52 K/8
//           56 W's row in int32   60 groups of a row   64 group size   72, 80 unused
//
// s0:1 kernarg   s2, s3 workgroup x, y   s4:7 and s36:37 pointers, then free
// s8:11 descriptor of the scales   s12:15 A   s16:19 W   s20:23 C
// s24 M   s25 N   s26 K   s27 K/8   s28 W's row   s29 groups   s30 group size
// s31 k of the next load   s32 2^32 / group size   s33 the scale's group   s38:45 scratch
// s35, s46 nibble masks   s48, s49, s50 lanes whose row of A, of A + 64, of W exists
// v0 thread   v1-32 accumulators, tile (i,j) at 1 + 16 i + 8 j
// v33, v34 offsets of this thread's rows of A   v35 of W   v36 of the scale   v37 LDS write address
// v38-41 LDS read addresses of A's four chunks   v42-45 of B's
// v50-81 fragments of B, v83-114 of A: (tile t, half h of K) at 16 h + 8 t
// v46-49, v115-118, v119, v82 A's two loads, W's, the scale: one K step ahead

	.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
	.text
	.globl	_triton_w4a16_skinny_fmt_kernel
	.p2align 8
	.type	_triton_w4a16_skinny_fmt_kernel,@function

_triton_w4a16_skinny_fmt_kernel:
// arguments
	s_load_b128 s[4:7], s[0:1], 0x0                                 // A, W
	s_load_b64 s[8:9], s[0:1], 0x10                                 // scales
	s_load_b64 s[36:37], s[0:1], 0x20                               // C
	s_load_b128 s[24:27], s[0:1], 0x28                              // M, N, K, K/8
	s_load_b64 s[28:29], s[0:1], 0x38                               // W's row, groups
	s_load_b32 s30, s[0:1], 0x40                                    // group size

// This thread stages 16 bytes of A's row thread / 4 and of the row 64 below, and one int32 (eight
// codes) of W's row thread / 4.
	v_lshlrev_b32_e32 v37, 4, v0
	v_lshlrev_b32_e32 v61, 1, v0
	s_delay_alu instid0(VALU_DEP_1)
	v_and_b32_e32 v61, 48, v61
	s_delay_alu instid0(VALU_DEP_1)
	v_xor_b32_e32 v37, v37, v61                                     // (row 64 + chunk 16) ^ swizzle

// Lane % 16 is the fragment's row: 32 (wave / 2) + lane % 16 of A, 32 (wave % 2) + lane % 16 of B.
	v_and_b32_e32 v62, 15, v0
	v_lshrrev_b32_e32 v63, 6, v0
	v_bfe_u32 v64, v0, 5, 1
	v_lshl_or_b32 v63, v63, 5, v62
	v_lshl_or_b32 v64, v64, 5, v62
	v_bfe_u32 v62, v0, 1, 2                                         // row / 2 % 4: the same for both
	s_delay_alu instid0(VALU_DEP_1)
	v_lshlrev_b32_e32 v62, 4, v62
	s_delay_alu instid0(VALU_DEP_1)
	v_lshl_or_b32 v38, v63, 6, v62
	v_lshl_or_b32 v42, v64, 6, v62
	v_xor_b32_e32 v39, 16, v38
	v_xor_b32_e32 v43, 16, v42
	v_xor_b32_e32 v40, 32, v38
	v_xor_b32_e32 v44, 32, v42
	v_xor_b32_e32 v41, 48, v38
	v_xor_b32_e32 v45, 48, v42

	s_lshl_b32 s2, s2, 7                                            // first row of C
	s_lshl_b32 s3, s3, 6                                            // first column
	v_lshrrev_b32_e32 v61, 2, v0
	v_and_b32_e32 v62, 3, v0
	v_add_nc_u32_e32 v63, s2, v61                                   // row of A
	s_delay_alu instid0(VALU_DEP_1)
	v_add_nc_u32_e32 v64, 64, v63
	v_add_nc_u32_e32 v65, s3, v61                                   // row of W
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s38, s26, 1                                          // bytes of a row of A
	s_lshl_b32 s39, s28, 2                                          // of W
	s_lshl_b32 s40, s29, 1                                          // of the scales
	v_mul_lo_u32 v33, v63, s38
	v_mul_lo_u32 v34, v64, s38
	v_mul_lo_u32 v35, v65, s39
	v_mul_lo_u32 v36, v65, s40
	v_lshl_add_u32 v33, v62, 4, v33
	v_lshl_add_u32 v34, v62, 4, v34
	v_lshl_add_u32 v35, v62, 2, v35

// raw buffers, each as long as its matrix: a row that does not exist reads zeros
	s_mov_b32 s12, s4
	s_and_b32 s13, s5, 0xffff
	s_mul_i32 s14, s24, s38
	s_mov_b32 s15, 0x31027000
	s_mov_b32 s16, s6
	s_and_b32 s17, s7, 0xffff
	s_mul_i32 s18, s25, s39
	s_mov_b32 s19, 0x31027000
	s_and_b32 s9, s9, 0xffff
	s_mul_i32 s10, s25, s40
	s_mov_b32 s11, 0x31027000
	s_mov_b32 s20, s36
	s_and_b32 s21, s37, 0xffff
	s_mov_b32 s22, 0x7ffffffe
	s_mov_b32 s23, 0x31027000

// 2^32 / group size, a little less, for the division in the loop
	v_cvt_f32_u32_e32 v61, s30
	s_delay_alu instid0(VALU_DEP_1)
	v_rcp_iflag_f32_e32 v61, v61
	s_delay_alu instid0(TRANS32_DEP_1)
	v_mul_f32_e32 v61, 0x4f7ffffe, v61
	s_delay_alu instid0(VALU_DEP_1)
	v_cvt_u32_f32_e32 v61, v61
	s_delay_alu instid0(VALU_DEP_1)
	v_readfirstlane_b32 s32, v61
	s_mov_b32 s35, 15
	s_mov_b32 s46, 0xf0000
	s_mov_b32 s31, 0

	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 0
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 0
	v_mov_b32_e32 v7, 0
	v_mov_b32_e32 v8, 0
	v_mov_b32_e32 v9, 0
	v_mov_b32_e32 v10, 0
	v_mov_b32_e32 v11, 0
	v_mov_b32_e32 v12, 0
	v_mov_b32_e32 v13, 0
	v_mov_b32_e32 v14, 0
	v_mov_b32_e32 v15, 0
	v_mov_b32_e32 v16, 0
	v_mov_b32_e32 v17, 0
	v_mov_b32_e32 v18, 0
	v_mov_b32_e32 v19, 0
	v_mov_b32_e32 v20, 0
	v_mov_b32_e32 v21, 0
	v_mov_b32_e32 v22, 0
	v_mov_b32_e32 v23, 0
	v_mov_b32_e32 v24, 0
	v_mov_b32_e32 v25, 0
	v_mov_b32_e32 v26, 0
	v_mov_b32_e32 v27, 0
	v_mov_b32_e32 v28, 0
	v_mov_b32_e32 v29, 0
	v_mov_b32_e32 v30, 0
	v_mov_b32_e32 v31, 0
	v_mov_b32_e32 v32, 0

// the first K step's loads
// the scale's group: k / group size
	s_abs_i32 s38, s31
	s_abs_i32 s39, s30
	s_mul_hi_u32 s33, s38, s32
	s_mul_i32 s40, s33, s39
	s_sub_i32 s40, s38, s40
	s_add_i32 s41, s33, 1
	s_sub_i32 s42, s40, s39
	s_cmp_ge_u32 s40, s39
	s_cselect_b32 s33, s41, s33
	s_cselect_b32 s40, s42, s40
	s_add_i32 s41, s33, 1
	s_cmp_ge_u32 s40, s39
	s_cselect_b32 s33, s41, s33
	s_xor_b32 s43, s31, s30
	s_ashr_i32 s43, s43, 31
	s_xor_b32 s33, s33, s43
	s_sub_i32 s33, s33, s43
// K step s31: byte offsets in A, in W, in the scales
	s_lshl_b32 s44, s31, 1
	s_lshr_b32 s45, s31, 1
	s_lshl_b32 s33, s33, 1
	buffer_load_b32 v119, v35, s[16:19], s45 offen
	buffer_load_b128 v[115:118], v33, s[12:15], s44 offen
	buffer_load_b128 v[46:49], v34, s[12:15], s44 offen
	buffer_load_u16 v82, v36, s[8:11], s33 offen

	.p2align 6
.Lk_step:
	s_waitcnt vmcnt(0)
	s_barrier                                                       // everybody has read the last B
	ds_store_b128 v37, v[115:118]
	ds_store_b128 v37, v[46:49] offset:4096
// the pairs of codes at bits 0 and 16
	v_lshrrev_b32_e32 v62, 4, v119
	v_lshrrev_b32_e32 v63, 8, v119
	v_lshrrev_b32_e32 v64, 12, v119
	s_waitcnt lgkmcnt(0)
	s_barrier                                                       // A's tile is complete
	ds_load_b128 v[83:86], v38
	ds_load_b128 v[87:90], v39
	ds_load_b128 v[91:94], v38 offset:1024
	ds_load_b128 v[95:98], v39 offset:1024
	ds_load_b128 v[99:102], v40
	ds_load_b128 v[103:106], v41
	ds_load_b128 v[107:110], v40 offset:1024
	ds_load_b128 v[111:114], v41 offset:1024
// times the scale, to bf16
	v_lshl_or_b32 v77, v82, 16, v82                                 // (scale, scale)
// 0x4300 | n is 128 + n, 0xc308 is -136
	v_and_or_b32 v65, v119, s35, 0xc3084300
	v_and_or_b32 v66, v62, s35, 0xc3084300
	v_and_or_b32 v67, v63, s35, 0xc3084300
	v_and_or_b32 v68, v64, s35, 0xc3084300
	v_and_or_b32 v69, v119, s46, 0x4300c308
	v_and_or_b32 v70, v62, s46, 0x4300c308
	v_and_or_b32 v71, v63, s46, 0x4300c308
	v_and_or_b32 v72, v64, s46, 0x4300c308
	v_dot2_bf16_bf16 v51, v65, v77, 0
	v_dot2_bf16_bf16 v52, v66, v77, 0
	v_dot2_bf16_bf16 v53, v67, v77, 0
	v_dot2_bf16_bf16 v54, v68, v77, 0
	v_dot2_bf16_bf16 v51, v69, v77, 0 op_sel:[0,0,0,1]
	v_dot2_bf16_bf16 v52, v70, v77, 0 op_sel:[0,0,0,1]
	v_dot2_bf16_bf16 v53, v71, v77, 0 op_sel:[0,0,0,1]
	v_dot2_bf16_bf16 v54, v72, v77, 0 op_sel:[0,0,0,1]

// the next K step's loads; the last iteration's are not used
	s_add_i32 s34, s31, 32
	s_sub_i32 s38, s26, 32
	s_min_i32 s31, s34, s38
// the scale's group: k / group size
	s_abs_i32 s38, s31
	s_abs_i32 s39, s30
	s_mul_hi_u32 s33, s38, s32
	s_mul_i32 s40, s33, s39
	s_sub_i32 s40, s38, s40
	s_add_i32 s41, s33, 1
	s_sub_i32 s42, s40, s39
	s_cmp_ge_u32 s40, s39
	s_cselect_b32 s33, s41, s33
	s_cselect_b32 s40, s42, s40
	s_add_i32 s41, s33, 1
	s_cmp_ge_u32 s40, s39
	s_cselect_b32 s33, s41, s33
	s_xor_b32 s43, s31, s30
	s_ashr_i32 s43, s43, 31
	s_xor_b32 s33, s33, s43
	s_sub_i32 s33, s33, s43
// K step s31: byte offsets in A, in W, in the scales
	s_lshl_b32 s44, s31, 1
	s_lshr_b32 s45, s31, 1
	s_lshl_b32 s33, s33, 1
	buffer_load_b32 v119, v35, s[16:19], s45 offen
	buffer_load_b128 v[115:118], v33, s[12:15], s44 offen
	buffer_load_b128 v[46:49], v34, s[12:15], s44 offen
	buffer_load_u16 v82, v36, s[8:11], s33 offen

	s_waitcnt lgkmcnt(0)
	s_barrier                                                       // everybody has read A
	ds_store_b128 v37, v[51:54]
	s_waitcnt lgkmcnt(0)
	s_barrier                                                       // B's tile is complete
// B's fragments, and C
	ds_load_b128 v[50:53], v42
	ds_load_b128 v[54:57], v43
	ds_load_b128 v[58:61], v42 offset:1024
	ds_load_b128 v[62:65], v43 offset:1024
	ds_load_b128 v[66:69], v44
	ds_load_b128 v[70:73], v45
	ds_load_b128 v[74:77], v44 offset:1024
	ds_load_b128 v[78:81], v45 offset:1024
	s_waitcnt lgkmcnt(6)
	v_wmma_f32_16x16x16_bf16 v[1:8], v[83:90], v[50:57], v[1:8]
	v_wmma_f32_16x16x16_bf16 v[17:24], v[91:98], v[50:57], v[17:24]
	s_waitcnt lgkmcnt(4)
	v_wmma_f32_16x16x16_bf16 v[9:16], v[83:90], v[58:65], v[9:16]
	v_wmma_f32_16x16x16_bf16 v[25:32], v[91:98], v[58:65], v[25:32]
	s_waitcnt lgkmcnt(2)
	v_wmma_f32_16x16x16_bf16 v[1:8], v[99:106], v[66:73], v[1:8]
	v_wmma_f32_16x16x16_bf16 v[17:24], v[107:114], v[66:73], v[17:24]
	s_waitcnt lgkmcnt(0)
	v_wmma_f32_16x16x16_bf16 v[9:16], v[99:106], v[74:81], v[9:16]
	v_wmma_f32_16x16x16_bf16 v[25:32], v[107:114], v[74:81], v[25:32]
	s_cmp_lt_i32 s34, s26
	s_cbranch_scc1 .Lk_step

// C: row 128 x + 32 (wave / 2) + 16 i + 2 r + lane / 16,
// column 64 y + 32 (wave % 2) + 16 j + lane % 16
	v_and_b32_e32 v62, 15, v0
	v_bfe_u32 v63, v0, 4, 1
	v_lshrrev_b32_e32 v64, 6, v0
	v_bfe_u32 v65, v0, 5, 1
	v_lshl_or_b32 v63, v64, 5, v63
	v_lshl_or_b32 v62, v65, 5, v62
	v_add_nc_u32_e32 v63, s2, v63                                   // row
	v_add_nc_u32_e32 v62, s3, v62                                   // column
	s_delay_alu instid0(VALU_DEP_1)
	v_add_nc_u32_e32 v64, 16, v62
	v_cmp_gt_i32_e64 s48, s25, v62
	v_cmp_gt_i32_e64 s49, s25, v64
	s_lshl_b32 s38, s25, 1                                          // bytes of a row
	v_mul_lo_u32 v65, v63, s38
	s_delay_alu instid0(VALU_DEP_1)
	v_lshl_add_u32 v65, v62, 1, v65
	s_lshl_b32 s38, s38, 1                                          // of two
	s_movk_i32 s39, 0x7fff
// rows 0 and 1
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v1, 16, 1
	v_bfe_u32 v69, v9, 16, 1
	v_cmp_o_f32_e64 s43, v1, v1
	v_cmp_o_f32_e64 s44, v9, v9
	v_add3_u32 v68, v68, v1, s39
	v_add3_u32 v69, v69, v9, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 2 and 3
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v2, 16, 1
	v_bfe_u32 v69, v10, 16, 1
	v_cmp_o_f32_e64 s43, v2, v2
	v_cmp_o_f32_e64 s44, v10, v10
	v_add3_u32 v68, v68, v2, s39
	v_add3_u32 v69, v69, v10, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 4 and 5
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v3, 16, 1
	v_bfe_u32 v69, v11, 16, 1
	v_cmp_o_f32_e64 s43, v3, v3
	v_cmp_o_f32_e64 s44, v11, v11
	v_add3_u32 v68, v68, v3, s39
	v_add3_u32 v69, v69, v11, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 6 and 7
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v4, 16, 1
	v_bfe_u32 v69, v12, 16, 1
	v_cmp_o_f32_e64 s43, v4, v4
	v_cmp_o_f32_e64 s44, v12, v12
	v_add3_u32 v68, v68, v4, s39
	v_add3_u32 v69, v69, v12, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 8 and 9
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v5, 16, 1
	v_bfe_u32 v69, v13, 16, 1
	v_cmp_o_f32_e64 s43, v5, v5
	v_cmp_o_f32_e64 s44, v13, v13
	v_add3_u32 v68, v68, v5, s39
	v_add3_u32 v69, v69, v13, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 10 and 11
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v6, 16, 1
	v_bfe_u32 v69, v14, 16, 1
	v_cmp_o_f32_e64 s43, v6, v6
	v_cmp_o_f32_e64 s44, v14, v14
	v_add3_u32 v68, v68, v6, s39
	v_add3_u32 v69, v69, v14, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 12 and 13
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v7, 16, 1
	v_bfe_u32 v69, v15, 16, 1
	v_cmp_o_f32_e64 s43, v7, v7
	v_cmp_o_f32_e64 s44, v15, v15
	v_add3_u32 v68, v68, v7, s39
	v_add3_u32 v69, v69, v15, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 14 and 15
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v8, 16, 1
	v_bfe_u32 v69, v16, 16, 1
	v_cmp_o_f32_e64 s43, v8, v8
	v_cmp_o_f32_e64 s44, v16, v16
	v_add3_u32 v68, v68, v8, s39
	v_add3_u32 v69, v69, v16, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 16 and 17
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v17, 16, 1
	v_bfe_u32 v69, v25, 16, 1
	v_cmp_o_f32_e64 s43, v17, v17
	v_cmp_o_f32_e64 s44, v25, v25
	v_add3_u32 v68, v68, v17, s39
	v_add3_u32 v69, v69, v25, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 18 and 19
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v18, 16, 1
	v_bfe_u32 v69, v26, 16, 1
	v_cmp_o_f32_e64 s43, v18, v18
	v_cmp_o_f32_e64 s44, v26, v26
	v_add3_u32 v68, v68, v18, s39
	v_add3_u32 v69, v69, v26, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 20 and 21
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v19, 16, 1
	v_bfe_u32 v69, v27, 16, 1
	v_cmp_o_f32_e64 s43, v19, v19
	v_cmp_o_f32_e64 s44, v27, v27
	v_add3_u32 v68, v68, v19, s39
	v_add3_u32 v69, v69, v27, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 22 and 23
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v20, 16, 1
	v_bfe_u32 v69, v28, 16, 1
	v_cmp_o_f32_e64 s43, v20, v20
	v_cmp_o_f32_e64 s44, v28, v28
	v_add3_u32 v68, v68, v20, s39
	v_add3_u32 v69, v69, v28, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 24 and 25
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v21, 16, 1
	v_bfe_u32 v69, v29, 16, 1
	v_cmp_o_f32_e64 s43, v21, v21
	v_cmp_o_f32_e64 s44, v29, v29
	v_add3_u32 v68, v68, v21, s39
	v_add3_u32 v69, v69, v29, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 26 and 27
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v22, 16, 1
	v_bfe_u32 v69, v30, 16, 1
	v_cmp_o_f32_e64 s43, v22, v22
	v_cmp_o_f32_e64 s44, v30, v30
	v_add3_u32 v68, v68, v22, s39
	v_add3_u32 v69, v69, v30, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 28 and 29
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v23, 16, 1
	v_bfe_u32 v69, v31, 16, 1
	v_cmp_o_f32_e64 s43, v23, v23
	v_cmp_o_f32_e64 s44, v31, v31
	v_add3_u32 v68, v68, v23, s39
	v_add3_u32 v69, v69, v31, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	v_add_nc_u32_e32 v63, 2, v63
	v_add_nc_u32_e32 v65, s38, v65
// rows 30 and 31
	v_cmp_gt_i32_e64 s40, s24, v63
	s_and_b32 s41, s40, s48
	s_and_b32 s42, s40, s49
	v_cndmask_b32_e64 v66, 0x80000000, v65, s41
	v_cndmask_b32_e64 v67, 0x80000000, v65, s42
	v_bfe_u32 v68, v24, 16, 1
	v_bfe_u32 v69, v32, 16, 1
	v_cmp_o_f32_e64 s43, v24, v24
	v_cmp_o_f32_e64 s44, v32, v32
	v_add3_u32 v68, v68, v24, s39
	v_add3_u32 v69, v69, v32, s39
	v_lshrrev_b32_e32 v68, 16, v68
	v_lshrrev_b32_e32 v69, 16, v69
	v_cndmask_b32_e64 v68, 0x7fff, v68, s43
	v_cndmask_b32_e64 v69, 0x7fff, v69, s44
	buffer_store_b16 v68, v66, s[20:23], 0 offen
	buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32
	s_nop 0
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
.Lend:
	.size	_triton_w4a16_skinny_fmt_kernel, .Lend-_triton_w4a16_skinny_fmt_kernel

	.rodata
	.p2align 6
	.amdhsa_kernel _triton_w4a16_skinny_fmt_kernel
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_kernarg_size 88
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 120
		.amdhsa_next_free_sgpr 51
		.amdhsa_wavefront_size32 1
		.amdhsa_workgroup_processor_mode 0
		.amdhsa_memory_ordered 1
		.amdhsa_forward_progress 1
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx1151
amdhsa.kernels:
  - .name: _triton_w4a16_skinny_fmt_kernel
    .symbol: _triton_w4a16_skinny_fmt_kernel.kd
    .args:
      - {.name: a_ptr, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: b_ptr, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: scales_ptr, .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: packed_scale_zp_ptr, .offset: 24, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: c_ptr, .offset: 32, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: M, .offset: 40, .size: 4, .value_kind: by_value}
      - {.name: N, .offset: 44, .size: 4, .value_kind: by_value}
      - {.name: K, .offset: 48, .size: 4, .value_kind: by_value}
      - {.name: K8, .offset: 52, .size: 4, .value_kind: by_value}
      - {.name: stride_bn, .offset: 56, .size: 4, .value_kind: by_value}
      - {.name: num_groups, .offset: 60, .size: 4, .value_kind: by_value}
      - {.name: group_size, .offset: 64, .size: 4, .value_kind: by_value}
      - {.name: scratch0, .offset: 72, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: scratch1, .offset: 80, .size: 8, .value_kind: global_buffer, .address_space: global}
    .kernarg_segment_size: 88
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .workgroup_processor_mode: 0
    .sgpr_count: 53
    .vgpr_count: 120
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [256, 1, 1]
...
	.end_amdgpu_metadata
