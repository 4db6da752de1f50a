"""What the three MXFP4 GEMMs share, as text for generate.py."""

# ruff: noqa: E501  the assembly keeps its own line length

from __future__ import annotations

HEADER = """\
// {name}: C[M,N] = mxfp4(A)[M,K] @ (B * scale)[N,K]^T for CDNA4 (gfx950), wave64: {title}.
// (written by generate.py)
//
// A and C are bf16, row-major. The kernel quantises A: 32 values of K share an e8m0 scale, each becomes an fp4
// (e2m1). B is fp4 with a scale for 32 values, both shuffled:
//   B       a fragment of 16 columns x 128 of K is 1024 contiguous bytes, 16 for each lane
//   scales  32 columns x 256 of K are 256 contiguous bytes, one dword for each lane: byte c + 2 h belongs to
//           column group c (of 16) and half h of K
// N is a multiple of {n}, K of 256; any M.
//
{structure}//
// kernarg   0 A   8 B   16 scales of B   24 C   32 M   36 N   40 K
"""

REGISTERS = """\
// s0:1 kernarg   s2 workgroup x (N)   s3 workgroup y (M)   s4:11 pointers   s12 M   s13 N   s14 K
// s16:19 descriptor of A   s20:23 B   s24:27 scales   s28:31 C
// s33 mask of two magnitudes   s34, s35, s36 offsets of the K step in A, B, scales   s37 K steps left
"""

#: quantises one block: 16 registers of bf16 pairs to 4 of fp4 and a scale
QUANT = """\
// v[d:d+3], v[s] = MXFP4 of the 32 bf16 in v[a:a+15]: magnitudes compare as integers; a mantissa from 1.75 on
// counts as the next exponent, so that the largest element is at most 6. v[T:T+3] are scratch.
.macro QUANT d, s, a
	v_and_b32_e32 v[T], s33, v[\\a]
	v_and_b32_e32 v[T+1], s33, v[\\a+1]
	.irp i, 2,4,6,8,10,12,14
	v_and_b32_e32 v[T+2], s33, v[\\a+\\i]
	v_and_b32_e32 v[T+3], s33, v[\\a+\\i+1]
	v_pk_max_u16 v[T], v[T], v[T+2]
	v_pk_max_u16 v[T+1], v[T+1], v[T+3]
	.endr
	v_pk_max_u16 v[T], v[T], v[T+1]
	v_lshrrev_b32_e32 v[T+1], 16, v[T]
	v_and_b32_e32 v[T], 0xffff, v[T]
	v_max_u32_e32 v[T], v[T], v[T+1]
	v_add_u32_e32 v[T], 0x20, v[T]
	v_lshrrev_b32_e32 v[T], 7, v[T]
	v_max_u32_e32 v[T], 2, v[T]
	v_add_u32_e32 v[\\s], -2, v[T]		// the scale's exponent, biased
	v_lshlrev_b32_e32 v[T+1], 23, v[\\s]
	.irp j, 0,1,2,3				// byte 0 of the four results, then byte 1 ...
	v_cvt_scalef32_pk_fp4_bf16 v[\\d+\\j], v[\\a+4*\\j], v[T+1]
	.endr
	.irp j, 0,1,2,3
	v_cvt_scalef32_pk_fp4_bf16 v[\\d+\\j], v[\\a+4*\\j+1], v[T+1] op_sel:[0,0,1,0]
	.endr
	.irp j, 0,1,2,3
	v_cvt_scalef32_pk_fp4_bf16 v[\\d+\\j], v[\\a+4*\\j+2], v[T+1] op_sel:[0,0,0,1]
	.endr
	.irp j, 0,1,2,3
	v_cvt_scalef32_pk_fp4_bf16 v[\\d+\\j], v[\\a+4*\\j+3], v[T+1] op_sel:[0,0,1,1]
	.endr
.endm

// 64 bytes of A: v[a:a+15]
.macro LOAD_A a, offset
	buffer_load_dwordx4 v[\\a:\\a+3], v1, s[16:19], s34 offen offset:\\offset
	buffer_load_dwordx4 v[\\a+4:\\a+7], v1, s[16:19], s34 offen offset:\\offset+16
	buffer_load_dwordx4 v[\\a+8:\\a+11], v1, s[16:19], s34 offen offset:\\offset+32
	buffer_load_dwordx4 v[\\a+12:\\a+15], v1, s[16:19], s34 offen offset:\\offset+48
.endm

// column group c of the wave's two += A fragment a (scale sa) times B fragment b, half h of K; v[sb]: B's scales
.macro MMA c, h, a, sa, b, sb
	v_mfma_scale_f32_16x16x128_f8f6f4 v[C+4*\\c:C+4*\\c+3], v[\\a:\\a+3], v[\\b:\\b+3], v[C+4*\\c:C+4*\\c+3], v[\\sa], v[\\sb] op_sel:[0,\\c,0] op_sel_hi:[0,\\h,0] cbsz:4 blgp:4
.endm
"""

BEGIN = """\
	s_load_dwordx8 s[4:11], s[0:1], 0x0
	s_load_dwordx2 s[12:13], s[0:1], 0x20
	s_load_dword s14, s[0:1], 0x28
	s_mov_b32 s33, 0x7fff7fff
	s_mov_b32 s34, 0
	s_mov_b32 s35, 0
	s_mov_b32 s36, 0
	.irp r, 0,1,2,3,4,5,6,7
	v_mov_b32_e32 v[C+\\r], 0
	.endr
"""

DESCRIPTORS = """\
	s_waitcnt lgkmcnt(0)

	// Raw buffers, as long as the matrices: rows of A beyond M read zeros, rows of C beyond M are not stored.
	s_lshl_b32 s38, s14, 1			// bytes of a row of A
	s_mov_b32 s16, s4
	s_and_b32 s17, s5, 0xffff
	s_mul_i32 s18, s12, s38
	s_mov_b32 s19, 0x00020000
	s_lshr_b32 s39, s14, 1			// of a row of B
	s_mov_b32 s20, s6
	s_and_b32 s21, s7, 0xffff
	s_mul_i32 s22, s13, s39
	s_mov_b32 s23, 0x00020000
	s_lshr_b32 s40, s14, 5			// of the scales
	s_add_i32 s41, s13, 31
	s_and_b32 s41, s41, 0xffffffe0
	s_mov_b32 s24, s8
	s_and_b32 s25, s9, 0xffff
	s_mul_i32 s26, s41, s40
	s_mov_b32 s27, 0x00020000
	s_lshl_b32 s41, s13, 1			// of C
	s_mov_b32 s28, s10
	s_and_b32 s29, s11, 0xffff
	s_mul_i32 s30, s12, s41
	s_mov_b32 s31, 0x00020000
	s_lshr_b32 s37, s14, 8			// K steps of 256
"""

STORE = """\
	// C: v{row} row of element 0, v{column} column; lane l holds rows 4 (l / 16) to + 3 of column l % 16
	v_mul_lo_u32 v{row}, v{row}, s41
	v_lshl_add_u32 v{row}, v{column}, 1, v{row}
	s_nop 7					// the last MFMA's result
	s_nop 7
	.irp r, 0,1,2,3
	v_cvt_pk_bf16_f32 v[T+\\r], v[C+\\r], v[C+4+\\r]
	.endr
	.irp r, 0,1,2,3
	buffer_store_short v[T+\\r], v{row}, s[28:31], 0 offen
	buffer_store_short_d16_hi v[T+\\r], v{row}, s[28:31], 0 offen offset:32
	.if \\r < 3
	v_add_u32_e32 v{row}, s41, v{row}
	.endif
	.endr
	s_endpgm
"""

FOOTER = """\
.Lend:
	.size	{name}, .Lend-{name}

	.rodata
	.p2align 6
	.amdhsa_kernel {name}
		.amdhsa_group_segment_fixed_size {lds}
		.amdhsa_kernarg_size 44
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr {vgprs}
		.amdhsa_next_free_sgpr 48
		.amdhsa_accum_offset {accum}
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .args:
      - {{.name: A, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}}
      - {{.name: B, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}}
      - {{.name: ScaleB, .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global, .access: read_only}}
      - {{.name: C, .offset: 24, .size: 8, .value_kind: global_buffer, .address_space: global, .access: write_only}}
      - {{.name: M, .offset: 32, .size: 4, .value_kind: by_value}}
      - {{.name: N, .offset: 36, .size: 4, .value_kind: by_value}}
      - {{.name: K, .offset: 40, .size: 4, .value_kind: by_value}}
    .kernarg_segment_size: 44
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 54
    .vgpr_count: {vgprs}
    .agpr_count: 0
    .max_flat_workgroup_size: {threads}
    .reqd_workgroup_size: [{threads}, 1, 1]
...
	.end_amdgpu_metadata
"""
