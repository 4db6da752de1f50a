// load_use: C[M,N] = A[M,K] @ B[N,K]^T for CDNA3 (gfx942), one wave64 for a tile of 16 x 16.
//
// A and B are bf16, C is f32, all row-major. M and N are multiples of 16, K of 64.
// Both tiles of a K step (64) go through LDS, so that their loads can be wide.
//
// The loads of a K step are waited for in the iteration that issues them: what
// swp-global-prefetch finds. Its registers are dead behind the LDS writes, the
// addresses depend on the step's offset (s24) only, and the loop's condition
// (s12) is known early. pipelined.s is the same kernel with the loads rotated.
//
// kernarg   0 A   8 B   16 C   24 M   28 N   32 K
// LDS       A tile at 0, B tile behind it; rows of 64 bf16 (128 bytes) padded to 144

// isaprof.mcpu: gfx942

	.text
	.globl	load_use
	.p2align 8
	.type	load_use,@function

	.set ROW, 144			// bytes of a padded LDS row
	.set LDS_B, 16*ROW
	.set LDS_BYTES, 2*16*ROW

// s0:1 kernarg   s2 workgroup x   s3 workgroup y
// s4:5 A   s6:7 B   s8:9 C   s10 M   s11 N   s12 K, then K steps left   s13 bytes of a row
// s16:19 buffer descriptor of A   s20:23 of B   s24 byte offset of the K step
// v0 lane   v1, v2 offsets of this lane's chunk of A and B   v3 LDS write, v4 LDS read address
// v8-11 accumulators   v16-31 loads on their way to LDS   v32-47 fragments

load_use:
	s_load_dwordx8 s[4:11], s[0:1], 0x0
	s_load_dword s12, s[0:1], 0x20

	// Each lane stages 32 bytes of A and of B: row lane / 4, chunk lane % 4.
	v_lshrrev_b32_e32 v32, 2, v0
	v_and_b32_e32 v33, 3, v0
	v_lshlrev_b32_e32 v33, 5, v33
	v_mul_u32_u24_e32 v3, ROW, v32
	v_add_u32_e32 v3, v3, v33
	// A fragment: row lane % 16, four values of K from 4 (lane / 16) on.
	v_and_b32_e32 v34, 15, v0
	v_lshrrev_b32_e32 v35, 4, v0
	v_mul_u32_u24_e32 v4, ROW, v34
	v_lshl_add_u32 v4, v35, 3, v4

	s_lshl_b32 s2, s2, 4
	s_lshl_b32 s3, s3, 4
	v_add_u32_e32 v36, s3, v32
	v_add_u32_e32 v37, s2, v32
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s13, s12, 1
	v_mul_lo_u32 v1, v36, s13
	v_mul_lo_u32 v2, v37, s13
	v_add_u32_e32 v1, v1, v33
	v_add_u32_e32 v2, v2, v33

	// Raw buffers, as long as the matrices.
	s_mov_b32 s16, s4
	s_and_b32 s17, s5, 0xffff
	s_mul_i32 s18, s10, s13
	s_mov_b32 s19, 0x00020000
	s_mov_b32 s20, s6
	s_and_b32 s21, s7, 0xffff
	s_mul_i32 s22, s11, s13
	s_mov_b32 s23, 0x00020000
	s_mov_b32 s24, 0
	v_mov_b32_e32 v8, 0
	v_mov_b32_e32 v9, 0
	v_mov_b32_e32 v10, 0
	v_mov_b32_e32 v11, 0
	s_lshr_b32 s12, s12, 6			// K steps of 64

.Lk_step:
	buffer_load_dwordx4 v[16:19], v1, s[16:19], s24 offen
	buffer_load_dwordx4 v[20:23], v1, s[16:19], s24 offen offset:16
	buffer_load_dwordx4 v[24:27], v2, s[20:23], s24 offen
	buffer_load_dwordx4 v[28:31], v2, s[20:23], s24 offen offset:16
	s_add_u32 s24, s24, 128
	s_sub_u32 s12, s12, 1
	s_waitcnt vmcnt(0)
	ds_write_b128 v3, v[16:19]
	ds_write_b128 v3, v[20:23] offset:16
	ds_write_b128 v3, v[24:27] offset:LDS_B
	ds_write_b128 v3, v[28:31] offset:LDS_B+16
	// One wave's LDS operations complete in order: no wait between writes and reads.
	ds_read_b64 v[32:33], v4
	ds_read_b64 v[34:35], v4 offset:LDS_B
	ds_read_b64 v[36:37], v4 offset:32
	ds_read_b64 v[38:39], v4 offset:LDS_B+32
	ds_read_b64 v[40:41], v4 offset:64
	ds_read_b64 v[42:43], v4 offset:LDS_B+64
	ds_read_b64 v[44:45], v4 offset:96
	ds_read_b64 v[46:47], v4 offset:LDS_B+96
	s_waitcnt lgkmcnt(6)
	v_mfma_f32_16x16x16_bf16 v[8:11], v[32:33], v[34:35], v[8:11]
	s_waitcnt lgkmcnt(4)
	v_mfma_f32_16x16x16_bf16 v[8:11], v[36:37], v[38:39], v[8:11]
	s_waitcnt lgkmcnt(2)
	v_mfma_f32_16x16x16_bf16 v[8:11], v[40:41], v[42:43], v[8:11]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_16x16x16_bf16 v[8:11], v[44:45], v[46:47], v[8:11]
	s_cmp_lg_u32 s12, 0
	s_cbranch_scc1 .Lk_step

	// C: row 16 y + 4 (lane / 16) + r, column 16 x + lane % 16.
	v_and_b32_e32 v32, 15, v0
	v_lshrrev_b32_e32 v33, 4, v0
	v_lshlrev_b32_e32 v33, 2, v33
	v_add_u32_e32 v33, s3, v33
	v_add_u32_e32 v32, s2, v32
	s_lshl_b32 s13, s11, 2			// bytes of a row of C
	v_mul_lo_u32 v33, v33, s13
	v_lshl_add_u32 v32, v32, 2, v33
	s_nop 7					// the last MFMA's result
	global_store_dword v32, v8, s[8:9]
	v_add_u32_e32 v32, s13, v32
	global_store_dword v32, v9, s[8:9]
	v_add_u32_e32 v32, s13, v32
	global_store_dword v32, v10, s[8:9]
	v_add_u32_e32 v32, s13, v32
	global_store_dword v32, v11, s[8:9]
	s_endpgm
.Lend:
	.size	load_use, .Lend-load_use

	.rodata
	.p2align 6
	.amdhsa_kernel load_use
		.amdhsa_group_segment_fixed_size LDS_BYTES
		.amdhsa_kernarg_size 36
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 48
		.amdhsa_next_free_sgpr 25
		.amdhsa_accum_offset 48
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: load_use
    .symbol: load_use.kd
    .args:
      - {.name: A, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}
      - {.name: B, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}
      - {.name: C, .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global, .access: write_only}
      - {.name: M, .offset: 24, .size: 4, .value_kind: by_value}
      - {.name: N, .offset: 28, .size: 4, .value_kind: by_value}
      - {.name: K, .offset: 32, .size: 4, .value_kind: by_value}
    .kernarg_segment_size: 36
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4608
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 31
    .vgpr_count: 48
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [64, 1, 1]
...
	.end_amdgpu_metadata
