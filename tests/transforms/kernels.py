"""Tiny kernels of our own for the static analyses."""

from __future__ import annotations

from isaprof.asm import assemble_text
from isaprof.transforms import Context

HEAD = """
	.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
	.amdhsa_code_object_version 5
	.text
	.globl k
	.p2align 8
	.type k,@function
k:
"""
TAIL = """
	.size k, .-k
	.section .rodata,"a"
	.p2align 6
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 64
		.amdhsa_next_free_sgpr 32
		{extra}
	.end_amdhsa_kernel
"""


def assemble(body: str, arch: str = "gfx942") -> bytes:
    """Code object with one kernel ``k`` made of ``body``."""
    extra = ".amdhsa_accum_offset 64" if arch in ("gfx90a", "gfx942", "gfx950") else ""
    return assemble_text((HEAD + body + TAIL).format(arch=arch, extra=extra))


def context(body: str, arch: str = "gfx942") -> Context:
    return Context.of(assemble(body, arch))
