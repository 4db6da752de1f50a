"""A tiny kernel of ours (C = A + B) in variants, and its launch file."""

from __future__ import annotations

from pathlib import Path

from isaprof.isa.llvm import assemble, link

LOADS = "global_load_dword v2, v1, s[4:5]\n global_load_dword v3, v1, s[6:7]"
STORE = "global_store_dword v1, v4, s[8:9]"
BODY = f"""
 s_load_dwordx4 s[4:7], s[0:1], 0x0
 s_load_dwordx2 s[8:9], s[0:1], 0x10
 s_lshl_b32 s3, s2, 8
 v_lshlrev_b32_e32 v1, 2, v0
 v_add_u32_e32 v1, s3, v1
 s_waitcnt lgkmcnt(0)
 {LOADS}
 s_waitcnt vmcnt(0)
 v_add_f32_e32 v4, v2, v3
 {STORE}
 s_endpgm"""


def source(body: str = BODY, *, name: str = "k", args: int = 3) -> str:
    """Assembly text; ``args`` pointers in the kernarg segment."""
    rows = ", ".join(
        f"{{.offset: {8 * i}, .size: 8, .value_kind: global_buffer, .address_space: global}}"
        for i in range(args)
    )
    return f"""    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
    .amdhsa_code_object_version 5
    .text
    .globl {name}
    .p2align 8
    .type {name},@function
{name}: {body}
.Lend: .size {name}, .Lend-{name}
    .rodata
    .p2align 6
    .amdhsa_kernel {name}
    .amdhsa_kernarg_size {8 * args}
    .amdhsa_user_sgpr_count 2
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_accum_offset 8
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: {name}, .symbol: {name}.kd, .kernarg_segment_size: {8 * args}, .kernarg_segment_align: 8,
     .wavefront_size: 64, .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .sgpr_count: 16,
     .vgpr_count: 8, .max_flat_workgroup_size: 64, .args: [{rows}]}}
...
    .end_amdgpu_metadata
"""


def build(body: str = BODY, *, name: str = "k", args: int = 3, arch: str = "gfx942") -> bytes:
    """The code object."""
    text = source(body, name=name, args=args)
    if arch != "gfx942":
        text = text.replace("gfx942", arch)
    return link([assemble(text, arch)])


def launch(*, reference: str = "add", rtol: str = "1e-6", symbol: str = "k", order: str = "ABC") -> str:
    """Launch file; ``reference`` "" for none, ``order`` of the three pointers in the kernarg segment."""
    operands = "".join(
        f'[[operand]]\nname = "{n}"\nrole = "input"\ndtype = "f32"\nshape = ["N"]\nfill = "normal"\n'
        for n in "AB"
    )
    arguments = "".join(
        f'[[argument]]\noffset = {8 * i}\nname = "{n}"\npointer = "{n}"\n' for i, n in enumerate(order)
    )
    ref = f'[reference]\nfunction = "elementwise"\nop = "{reference}"\n' if reference else ""
    rows = ", ".join(f'[{8 * i}, 8, "global_buffer"]' for i in range(len(order)))
    return f"""schema_version = 1
[kernel]
symbol = "{symbol}"
kernarg_size = {8 * len(order)}
kernarg = [{rows}]
[shape]
axes = ["N"]
[launch]
grid = ["N // 64"]
workgroup = [64]
{operands}[[operand]]
name = "C"
role = "output"
dtype = "f32"
shape = ["N"]
{arguments}{ref}[tolerance]
rtol = {rtol}
"""


def write(directory: Path, **bodies: str) -> None:
    """``NAME.co`` for each body, and the launch file as ``a.launch.toml``."""
    for name, body in bodies.items():
        (directory / f"{name}.co").write_bytes(build(body))
    (directory / "a.launch.toml").write_text(launch())


SLOW = BODY.replace("v_add_f32", "s_nop 15\n s_nop 15\n s_nop 15\n v_add_f32")
#: the sum may be made before the second load is back
EARLY = BODY.replace("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(1)")
WRONG = BODY.replace("v_add_f32", "v_sub_f32")
#: the last lane writes nothing
PARTIAL = BODY.replace(STORE, f"v_cmp_gt_u32_e32 vcc, 63, v0\n s_and_b64 exec, exec, vcc\n {STORE}")
#: adds what the output held before
STALE = BODY.replace(LOADS, f"{LOADS}\n global_load_dword v5, v1, s[8:9]").replace(
    "v4, v2, v3", "v4, v2, v3\n v_and_b32_e32 v5, 1, v5\n v_or_b32_e32 v4, v4, v5"
)
WILD = BODY.replace(STORE, f"v_mov_b32_e32 v1, 0x7000000\n {STORE}")
