"""Small code objects of our own, built with LLVM."""

from __future__ import annotations

import pytest

from isaprof.isa.llvm import assemble, link

#: one kernel with every user SGPR, one wave64 kernel; {arch} is filled in
SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl first
.p2align 8
.type first,@function
first:
  s_load_b64 s[0:1], s[2:3], null
  s_waitcnt lgkmcnt(0)
  v_cmp_eq_u32_e32 vcc_lo, 0, v0
  s_endpgm
.Lfirst_end:
  .size first, .Lfirst_end-first
.globl second
.p2align 8
.type second,@function
second:
  v_cmp_eq_u32_e32 vcc_lo, 0, v0
  s_endpgm
  .size second, 8
.rodata
.globl first.kd
.amdhsa_kernel first
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 16
  .amdhsa_kernarg_size 24
  .amdhsa_user_sgpr_dispatch_ptr 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_dispatch_id 1
  .amdhsa_next_free_vgpr 41
  .amdhsa_next_free_sgpr 20
  .amdhsa_system_sgpr_workgroup_id_y 1
  .amdhsa_system_vgpr_workitem_id 2
  .amdhsa_float_round_mode_32 1
  .amdhsa_float_denorm_mode_16_64 3
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdhsa_kernel second
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 4
  .amdhsa_wavefront_size32 0
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: first
    .symbol: first.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 16
    .wavefront_size: 32
    .sgpr_count: 20
    .vgpr_count: 41
    .max_flat_workgroup_size: 256
    .args:
      - {{.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 4, .value_kind: by_value}}
      - {{.offset: 16, .size: 4, .value_kind: hidden_block_count_x}}
...
.end_amdgpu_metadata
"""


@pytest.fixture(scope="session")
def two_kernels() -> bytes:
    """A gfx1100 object: kernel ``first`` (wave32, metadata) and ``second`` (wave64, no metadata)."""
    return link([assemble(SOURCE.format(arch="gfx1100"), "gfx1100")])
