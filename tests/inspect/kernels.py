"""Small kernels of our own, assembled for the test that needs them."""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.asm import assemble_text
from isaprof.codeobj.elf import CodeObject
from isaprof.inspect.model import Passport
from isaprof.inspect.passport import inspect_object
from isaprof.isa.decode import disassemble


@dataclass(frozen=True)
class Arg:
    name: str
    offset: int
    size: int = 4
    kind: str = "by_value"


POINTERS = (
    Arg("out", 0, 8, "global_buffer"),
    Arg("src", 8, 8, "global_buffer"),
    Arg("n", 16),
    Arg("step", 20),
)


def source(
    body: str,
    *,
    arch: str = "gfx942",
    lds: int = 0,
    threads: int = 256,
    vgprs: int = 64,
    args: tuple[Arg, ...] = POINTERS,
    required: bool = True,
    extra: str = "",
) -> str:
    """A one-kernel source: kernarg pointer in s[0:1], workgroup id x in s2 (or ttmp9)."""
    wave = 64 if arch.startswith("gfx9") else 32
    listed = "".join(
        f"""
      - .name: {a.name}
        .offset: {a.offset}
        .size: {a.size}
        .value_kind: {a.kind}"""
        for a in args
    )
    size = f"    .reqd_workgroup_size: [{threads}, 1, 1]\n" if required else ""
    accum = "" if arch not in ("gfx90a", "gfx942", "gfx950") else f"\n  .amdhsa_accum_offset {vgprs}"
    return f"""// isaprof.mcpu: {arch}
  .amdgcn_target "amdgcn-amd-amdhsa--{arch}"
  .text
  .globl k
  .p2align 8
  .type k,@function
k:
{body}
  s_endpgm
.Lend:
  .size k, .Lend-k
  .rodata
  .p2align 6
  .amdhsa_kernel k
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_kernarg_size 24
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 64{accum}
{extra}  .end_amdhsa_kernel
  .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{arch}
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 24
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 64
    .vgpr_count: {vgprs}
    .max_flat_workgroup_size: {threads}
{size}    .args:{listed}
...
  .end_amdgpu_metadata
"""


def passport(body: str, **options: object) -> Passport:
    """The passport of :func:`source` (same options)."""
    data = assemble_text(source(body, **options), "k.s")  # type: ignore[arg-type]
    co = CodeObject.from_bytes(data)
    return inspect_object(co, disassemble(data))[0]
