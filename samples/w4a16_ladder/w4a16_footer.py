"""The end of every step's source: kernel descriptor and metadata (ABI of the Triton kernel)."""

from __future__ import annotations

ARGUMENTS = (
    ("a_ptr", 0, 8), ("b_ptr", 8, 8), ("scales_ptr", 16, 8), ("packed_scale_zp_ptr", 24, 8), ("c_ptr", 32, 8),
    ("M", 40, 4), ("N", 44, 4), ("K", 48, 4), ("K8", 52, 4), ("stride_bn", 56, 4), ("num_groups", 60, 4),
    ("group_size", 64, 4), ("scratch0", 72, 8), ("scratch1", 80, 8),
)  # fmt: skip
SYMBOL = "_triton_w4a16_skinny_fmt_kernel"


def footer(vgprs: int) -> str:
    """Symbol size, descriptor and metadata."""
    args = "\n".join(
        f"      - {{.name: {name}, .offset: {offset}, .size: {size}, "
        + (".value_kind: global_buffer, .address_space: global}" if size == 8 else ".value_kind: by_value}")
        for name, offset, size in ARGUMENTS
    )
    return f"""\
.Lend:
	.size	{SYMBOL}, .Lend-{SYMBOL}

	.rodata
	.p2align 6
	.amdhsa_kernel {SYMBOL}
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_kernarg_size 88
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr {vgprs}
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
  - .name: {SYMBOL}
    .symbol: {SYMBOL}.kd
    .args:
{args}
    .kernarg_segment_size: 88
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .workgroup_processor_mode: 0
    .sgpr_count: 53
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [256, 1, 1]
...
	.end_amdgpu_metadata
"""
