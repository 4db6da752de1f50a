// gemm_cdna3: C[M,N] = A[M,K] @ B[N,K]^T for CDNA3 (gfx942), wave64; the same
// source assembles for CDNA4 (gfx950).
//
// A and B are bf16, C is f32, all row-major; products accumulate in f32 (MFMA).
// M and N are multiples of 64, K of 32.
//
//   workgroup   256 threads = 4 waves, one 64 x 64 tile of C
//   wave        32 x 32 of C = 2 x 2 MFMA tiles of 16 x 16
//   K step      32: both tiles are staged in LDS, then read by all four waves
//   grid        x = N / 64, y = M / 64
//
// Deliberately plain: one LDS buffer, no prefetch. The buffer loads are waited
// for in the iteration that issues them, and two barriers a step keep the LDS
// tile consistent. That is what the stall table of this kernel shows.
//
// kernarg   0 A   8 B   16 C   24 M   28 N   32 K
// LDS       A tile at 0, B tile at 5120; rows of 32 bf16 (64 bytes) padded to
//           80 bytes, the least that keeps the 16-byte writes aligned. Rows r
//           and r + 8 then share banks: the 8-byte reads conflict two-way.

	.text
	.globl	gemm_cdna3
	.p2align 8
	.type	gemm_cdna3,@function

	.set ROW, 80			// bytes of a padded LDS row
	.set LDS_B, 64*ROW		// the B tile follows the A tile
	.set LDS_BYTES, 2*64*ROW

// s0:1 kernarg   s2 workgroup x   s3 workgroup y
// s4:5 A   s6:7 B   s8:9 C   s10 M   s11 N   s12 K, then K steps left
// s16:19 buffer descriptor of A   s20:23 of B   s24 byte offset of the K step
// v0 thread   v1, v2 offsets of this thread's row of A and B   v3 LDS write address
// v4, v5 LDS read addresses of A and B
// v8-23 accumulators, tile (i,j) at 8 + 8 i + 4 j
// v24-27 fragments of A, v28-31 of B (2 registers each)   v32-39 loads on their way to LDS

// c(i,j) += A fragment i times B fragment j
.macro MMA i, j
	v_mfma_f32_16x16x16_bf16 v[8+8*\i+4*\j:11+8*\i+4*\j], v[24+2*\i:25+2*\i], v[28+2*\j:29+2*\j], v[8+8*\i+4*\j:11+8*\i+4*\j]
.endm

// Sixteen values of K: a lane holds row lane % 16, values 4 (lane / 16) to + 3.
.macro K16 k
	ds_read_b64 v[24:25], v4 offset:32*\k
	ds_read_b64 v[28:29], v5 offset:32*\k
	ds_read_b64 v[26:27], v4 offset:32*\k+16*ROW
	ds_read_b64 v[30:31], v5 offset:32*\k+16*ROW
	s_waitcnt lgkmcnt(2)
	MMA 0, 0
	s_waitcnt lgkmcnt(1)
	MMA 1, 0
	s_waitcnt lgkmcnt(0)
	MMA 0, 1
	MMA 1, 1
.endm

gemm_cdna3:
	s_load_dwordx8 s[4:11], s[0:1], 0x0
	s_load_dword s12, s[0:1], 0x20

	// Each thread stages 16 bytes of A and of B: row thread / 4, chunk thread % 4.
	v_lshrrev_b32_e32 v24, 2, v0
	v_and_b32_e32 v25, 3, v0
	v_lshlrev_b32_e32 v25, 4, v25
	v_mul_u32_u24_e32 v3, ROW, v24
	v_add_u32_e32 v3, v3, v25

	// Wave w computes rows 32 (w / 2) and columns 32 (w % 2) of the tile.
	v_and_b32_e32 v26, 15, v0
	v_bfe_u32 v27, v0, 4, 2			// lane / 16
	v_lshrrev_b32_e32 v28, 7, v0		// w / 2
	v_bfe_u32 v29, v0, 6, 1			// w % 2
	v_lshl_or_b32 v4, v28, 5, v26
	v_lshl_or_b32 v5, v29, 5, v26
	v_mul_u32_u24_e32 v4, ROW, v4
	v_mul_u32_u24_e32 v5, ROW, v5
	v_lshl_add_u32 v4, v27, 3, v4
	v_lshl_add_u32 v5, v27, 3, v5
	v_add_u32_e32 v5, LDS_B, v5

	s_lshl_b32 s2, s2, 6
	s_lshl_b32 s3, s3, 6
	v_add_u32_e32 v30, s3, v24
	v_add_u32_e32 v31, s2, v24
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s13, s12, 1			// bytes of a row of A and B
	v_mul_lo_u32 v1, v30, s13
	v_mul_lo_u32 v2, v31, s13
	v_add_u32_e32 v1, v1, v25
	v_add_u32_e32 v2, v2, v25

	// Raw buffers, as long as the matrices: a stray lane reads zero, not somebody else's memory.
	s_mov_b32 s16, s4
	s_and_b32 s17, s5, 0xffff
	s_mul_i32 s18, s10, s13
	s_mov_b32 s19, 0x00020000
	s_mov_b32 s20, s6
	s_and_b32 s21, s7, 0xffff
	s_mul_i32 s22, s11, s13
	s_mov_b32 s23, 0x00020000
	s_mov_b32 s24, 0

	.irp r, 8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23
	v_mov_b32_e32 v\r, 0
	.endr

	s_lshr_b32 s12, s12, 5			// K steps of 32

.Lk_step:
	buffer_load_dwordx4 v[32:35], v1, s[16:19], s24 offen
	buffer_load_dwordx4 v[36:39], v2, s[20:23], s24 offen
	s_add_u32 s24, s24, 64
	s_sub_u32 s12, s12, 1
	s_waitcnt vmcnt(1)
	ds_write_b128 v3, v[32:35]
	s_waitcnt vmcnt(0)
	ds_write_b128 v3, v[36:39] offset:LDS_B
	s_waitcnt lgkmcnt(0)
	s_barrier				// the tile is complete

	K16 0
	K16 1

	s_barrier				// everybody has read it: it may be overwritten
	s_cmp_lg_u32 s12, 0
	s_cbranch_scc1 .Lk_step

	// C: row 64 y + 32 (w / 2) + 16 i + 4 (lane / 16) + r, column 64 x + 32 (w % 2) + 16 j + lane % 16.
	// These were scratch before the loop: made again, in registers the MFMAs do not touch.
	v_and_b32_e32 v32, 15, v0
	v_bfe_u32 v33, v0, 4, 2
	v_lshrrev_b32_e32 v34, 7, v0
	v_bfe_u32 v35, v0, 6, 1
	v_lshlrev_b32_e32 v33, 2, v33
	v_lshl_or_b32 v33, v34, 5, v33
	v_lshl_or_b32 v32, v35, 5, v32
	v_add_u32_e32 v33, s3, v33
	v_add_u32_e32 v32, s2, v32
	s_lshl_b32 s13, s11, 2			// bytes of a row of C
	v_mul_lo_u32 v1, v33, s13
	v_lshl_add_u32 v1, v32, 2, v1
	s_mul_i32 s14, s13, 13			// from row r = 3 of tile 0 to r = 0 of tile 1
	s_nop 7					// the last MFMA's result: 8 wait states on gfx950, 7 on gfx942

	.irp i, 0,1
	.irp r, 0,1,2,3
	global_store_dword v1, v[8+8*\i+\r], s[8:9]
	global_store_dword v1, v[12+8*\i+\r], s[8:9] offset:64
	.if \r < 3
	v_add_u32_e32 v1, s13, v1
	.endif
	.endr
	.if \i == 0
	v_add_u32_e32 v1, s14, v1
	.endif
	.endr
	s_endpgm
.Lend:
	.size	gemm_cdna3, .Lend-gemm_cdna3

	.rodata
	.p2align 6
	.amdhsa_kernel gemm_cdna3
		.amdhsa_group_segment_fixed_size LDS_BYTES
		.amdhsa_kernarg_size 36
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 40
		.amdhsa_next_free_sgpr 25
		.amdhsa_accum_offset 40
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: gemm_cdna3
    .symbol: gemm_cdna3.kd
    .args:
      - {.name: A, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}
      - {.name: B, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}
      - {.name: C, .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global, .access: write_only}
      - {.name: M, .offset: 24, .size: 4, .value_kind: by_value}
      - {.name: N, .offset: 28, .size: 4, .value_kind: by_value}
      - {.name: K, .offset: 32, .size: 4, .value_kind: by_value}
    .kernarg_segment_size: 36
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 10240
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 31
    .vgpr_count: 40
    .agpr_count: 0
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [256, 1, 1]
...
	.end_amdgpu_metadata
