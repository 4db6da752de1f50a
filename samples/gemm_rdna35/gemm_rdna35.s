// gemm_rdna35: C[M,N] = A[M,K] @ B[N,K]^T for RDNA3.5 (gfx1151), wave32.
//
// A, B and C are bf16, row-major; products accumulate in f32 (WMMA) and are
// rounded to nearest even when stored. M and N are multiples of 64, K of 32.
//
//   workgroup   128 threads = 4 waves, one 64 x 64 tile of C
//   wave        32 x 32 of C = 2 x 2 WMMA tiles of 16 x 16
//   K step      32: both tiles are staged in LDS, then read by all four waves
//   grid        x = N / 64, y = M / 64
//
// Deliberately plain: one LDS buffer, no prefetch. The global loads are waited
// for in the iteration that issues them, and two barriers a step keep the LDS
// tile consistent. That is what the stall table of this kernel shows.
//
// kernarg   0 A   8 B   16 C   24 M   28 N   32 K
// LDS       A tile at 0, B tile at 5120; rows of 32 bf16 (64 bytes) padded to
//           80 bytes so that eight lanes' 16-byte reads fall in eight
//           different groups of four banks.

	.text
	.globl	gemm_rdna35
	.p2align 8
	.type	gemm_rdna35,@function

	.set ROW, 80			// bytes of a padded LDS row
	.set LDS_B, 64*ROW		// the B tile follows the A tile
	.set LDS_BYTES, 2*64*ROW

// s0:1 kernarg   s2 workgroup x   s3 workgroup y
// s4:5 A   s6:7 B   s8:9 C   s10 M   s11 N   s12 K, then K steps left
// v0 thread          v1, v2 offsets of this thread's two rows of A
// v3, v4 the same of B   v5 LDS write address   v6, v7 LDS read addresses
// v8-39 accumulators, tile (i,j) at 8 + 16 i + 8 j
// v40-55 fragments of A, v56-71 of B (8 registers each)
// v72-87 global loads on their way to LDS

// c(i,j) += A fragment i times B fragment j
.macro MMA i, j
	v_wmma_f32_16x16x16_bf16 v[8+16*\i+8*\j:15+16*\i+8*\j], v[40+8*\i:47+8*\i], v[56+8*\j:63+8*\j], v[8+16*\i+8*\j:15+16*\i+8*\j]
.endm

// Every lane holds one row of A (or B), 16 values of K: lanes 16-31 repeat
// lanes 0-15, as gfx11's WMMA wants it.
.macro LOAD_A i, k
	ds_load_b128 v[40+8*\i:43+8*\i], v6 offset:16*ROW*\i+32*\k
	ds_load_b128 v[44+8*\i:47+8*\i], v6 offset:16*ROW*\i+32*\k+16
.endm
.macro LOAD_B j, k
	ds_load_b128 v[56+8*\j:59+8*\j], v7 offset:16*ROW*\j+32*\k
	ds_load_b128 v[60+8*\j:63+8*\j], v7 offset:16*ROW*\j+32*\k+16
.endm

// Sixteen values of K. The waits let each WMMA start as soon as its two
// fragments are there.
.macro K16 k
	LOAD_A 0, \k
	LOAD_B 0, \k
	LOAD_A 1, \k
	LOAD_B 1, \k
	s_waitcnt lgkmcnt(4)
	MMA 0, 0
	s_waitcnt lgkmcnt(2)
	MMA 1, 0
	s_waitcnt lgkmcnt(0)
	MMA 0, 1
	MMA 1, 1
.endm

// f32 to bf16, round to nearest even, and store: row 2 r + (lane / 16) of
// tiles (i,0) and (i,1). v1 is the byte offset of the row, v2 and v3 are scratch.
.macro STORE i, r
	v_bfe_u32 v2, v[8+16*\i+\r], 16, 1
	v_bfe_u32 v3, v[16+16*\i+\r], 16, 1
	v_add3_u32 v2, v2, v[8+16*\i+\r], s14
	v_add3_u32 v3, v3, v[16+16*\i+\r], s14
	v_lshrrev_b32_e32 v2, 16, v2
	v_lshrrev_b32_e32 v3, 16, v3
	global_store_b16 v1, v2, s[8:9]
	global_store_b16 v1, v3, s[8:9] offset:32
.endm

gemm_rdna35:
	s_load_b128 s[4:7], s[0:1], 0x0
	s_load_b128 s[8:11], s[0:1], 0x10
	s_load_b32 s12, s[0:1], 0x20

	// Each thread stages 16 bytes: row thread / 4 (and 32 rows below), chunk thread % 4.
	v_lshrrev_b32_e32 v40, 2, v0
	v_and_b32_e32 v41, 3, v0
	s_delay_alu instid0(VALU_DEP_1)
	v_lshlrev_b32_e32 v41, 4, v41
	v_mul_u32_u24_e32 v5, ROW, v40
	s_delay_alu instid0(VALU_DEP_1)
	v_add_nc_u32_e32 v5, v5, v41

	// Wave w computes rows 32 (w / 2) and columns 32 (w % 2) of the tile;
	// lane % 16 is the row of the fragment.
	v_and_b32_e32 v42, 15, v0
	v_lshrrev_b32_e32 v43, 6, v0
	v_bfe_u32 v44, v0, 5, 1
	v_lshl_or_b32 v6, v43, 5, v42
	v_lshl_or_b32 v7, v44, 5, v42
	v_mul_u32_u24_e32 v6, ROW, v6
	v_mul_u32_u24_e32 v7, ROW, v7
	s_delay_alu instid0(VALU_DEP_1)
	v_add_nc_u32_e32 v7, LDS_B, v7

	s_lshl_b32 s2, s2, 6
	s_lshl_b32 s3, s3, 6
	v_add_nc_u32_e32 v45, s3, v40
	v_add_nc_u32_e32 v46, s2, v40
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s13, s12, 1			// bytes of a row of A and B
	s_lshl_b32 s14, s13, 5			// bytes of 32 rows
	v_mul_lo_u32 v1, v45, s13
	v_mul_lo_u32 v3, v46, s13
	v_add_nc_u32_e32 v1, v1, v41
	v_add_nc_u32_e32 v3, v3, v41
	v_add_nc_u32_e32 v2, s14, v1
	v_add_nc_u32_e32 v4, s14, v3

	.irp r, 8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39
	v_mov_b32_e32 v\r, 0
	.endr

	s_lshr_b32 s12, s12, 5			// K steps of 32

.Lk_step:
	global_load_b128 v[72:75], v1, s[4:5]
	global_load_b128 v[76:79], v2, s[4:5]
	global_load_b128 v[80:83], v3, s[6:7]
	global_load_b128 v[84:87], v4, s[6:7]
	s_add_u32 s4, s4, 64
	s_addc_u32 s5, s5, 0
	s_add_u32 s6, s6, 64
	s_addc_u32 s7, s7, 0
	s_sub_i32 s12, s12, 1

	s_waitcnt vmcnt(3)
	ds_store_b128 v5, v[72:75]
	s_waitcnt vmcnt(2)
	ds_store_b128 v5, v[76:79] offset:32*ROW
	s_waitcnt vmcnt(1)
	ds_store_b128 v5, v[80:83] offset:LDS_B
	s_waitcnt vmcnt(0)
	ds_store_b128 v5, v[84:87] offset:LDS_B+32*ROW
	s_waitcnt lgkmcnt(0)
	s_barrier				// the tile is complete

	K16 0
	K16 1

	s_barrier				// everybody has read it: it may be overwritten
	s_cmp_lg_u32 s12, 0
	s_cbranch_scc1 .Lk_step

	// C: row 64 y + 32 (w / 2) + 16 i + 2 r + lane / 16, column 64 x + 32 (w % 2) + 16 j + lane % 16
	// (the loop has used the registers that held these: they are made again)
	v_and_b32_e32 v42, 15, v0
	v_lshrrev_b32_e32 v43, 6, v0
	v_bfe_u32 v44, v0, 5, 1
	v_bfe_u32 v45, v0, 4, 1
	s_delay_alu instid0(VALU_DEP_1)
	v_lshl_or_b32 v45, v43, 5, v45
	s_delay_alu instid0(VALU_DEP_1)
	v_add_nc_u32_e32 v45, s3, v45
	v_lshl_or_b32 v46, v44, 5, v42
	s_delay_alu instid0(VALU_DEP_1)
	v_add_nc_u32_e32 v46, s2, v46
	s_lshl_b32 s13, s11, 1			// bytes of a row of C
	v_mul_lo_u32 v1, v45, s13
	s_delay_alu instid0(VALU_DEP_1)
	v_lshl_add_u32 v1, v46, 1, v1
	s_lshl_b32 s15, s13, 1			// two rows
	s_movk_i32 s14, 0x7fff			// rounding bias

	.irp i, 0,1
	.irp r, 0,1,2,3,4,5,6,7
	STORE \i, \r
	v_add_nc_u32_e32 v1, s15, v1
	.endr
	.endr
	s_endpgm
.Lend:
	.size	gemm_rdna35, .Lend-gemm_rdna35

	.rodata
	.p2align 6
	.amdhsa_kernel gemm_rdna35
		.amdhsa_group_segment_fixed_size LDS_BYTES
		.amdhsa_kernarg_size 36
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 88
		.amdhsa_next_free_sgpr 16
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
  - .name: gemm_rdna35
    .symbol: gemm_rdna35.kd
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
    .wavefront_size: 32
    .workgroup_processor_mode: 0
    .sgpr_count: 18
    .vgpr_count: 88
    .max_flat_workgroup_size: 128
    .reqd_workgroup_size: [128, 1, 1]
...
	.end_amdgpu_metadata
