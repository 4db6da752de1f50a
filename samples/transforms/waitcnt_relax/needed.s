// needed: C = A + B in f32 for CDNA3 (gfx942), wave64.
//
// A pipelined loop whose s_waitcnt vmcnt(0) looks as needless as that of
// ../../waitcnt_relax: nothing between it and the loop's end reads what was just
// loaded. The next iteration does, in its first instruction. Writing vmcnt(2)
// there gives wrong sums; waitcnt-relax follows the back edge and leaves it.
//
//   workgroup   64 threads = 1 wave; it adds CHUNKS chunks of 256 bytes
//   grid        x = N / (64 * CHUNKS); N is passed in elements
//
// kernarg   0 A   8 B   16 C   24 chunks of a workgroup (at least 2)

// isaprof.mcpu: gfx942

	.text
	.globl	needed
	.p2align 8
	.type	needed,@function

// s4:5 A   s6:7 B   s8:9 C   s10 chunks left   v1 offset of the loads   v2 of the stores
// v4, v5 the chunk   v8 sum

needed:
	s_load_dwordx8 s[4:11], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 s11, s10, 8			// bytes of a workgroup
	s_mul_i32 s2, s2, s11
	v_add_u32_e32 v1, s2, v1
	v_mov_b32_e32 v2, v1
	global_load_dword v4, v1, s[4:5]
	global_load_dword v5, v1, s[6:7]
	s_sub_u32 s10, s10, 1
	s_waitcnt vmcnt(0)

.Lchunk:
	v_add_f32_e32 v8, v4, v5
	global_store_dword v2, v8, s[8:9]
	v_add_u32_e32 v2, 0x100, v2
	v_add_u32_e32 v1, 0x100, v1
	global_load_dword v4, v1, s[4:5]
	global_load_dword v5, v1, s[6:7]
	s_sub_u32 s10, s10, 1
	s_waitcnt vmcnt(0)			// needed: the next iteration begins with v4 + v5
	s_cmp_lg_u32 s10, 0
	s_cbranch_scc1 .Lchunk

	v_add_f32_e32 v8, v4, v5
	global_store_dword v2, v8, s[8:9]
	s_endpgm
.Lend:
	.size	needed, .Lend-needed

	.rodata
	.p2align 6
	.amdhsa_kernel needed
		.amdhsa_kernarg_size 32
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 12
		.amdhsa_next_free_sgpr 12
		.amdhsa_accum_offset 12
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: needed
    .symbol: needed.kd
    .args:
      - {.name: A, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}
      - {.name: B, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}
      - {.name: C, .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global, .access: write_only}
      - {.name: chunks, .offset: 24, .size: 4, .value_kind: by_value}
      - {.name: spare, .offset: 28, .size: 4, .value_kind: by_value}
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 18
    .vgpr_count: 12
    .agpr_count: 0
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [64, 1, 1]
...
	.end_amdgpu_metadata
