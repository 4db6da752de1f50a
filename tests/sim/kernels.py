"""Small kernels assembled for tests, and a launch without a launch file."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from isaprof.codeobj.elf import CodeObject
from isaprof.isa import llvm
from isaprof.isa.decode import disassemble
from isaprof.sim.functional import FunctionalResult, run

_TEMPLATE = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl k
.p2align 8
.type k,@function
k:
{body}
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_next_free_vgpr {vgprs}
  .amdhsa_next_free_sgpr 32
  .amdhsa_system_vgpr_workitem_id {dims}
  {extra}
.end_amdhsa_kernel
"""


@lru_cache(maxsize=256)
def assemble(
    arch: str, body: str, lds: int = 0, scratch: int = 0, vgprs: int = 64, dims: int = 0
) -> tuple[CodeObject, Any]:
    """(code object, listing) of a kernel ``k`` with kernarg pointer in s[0:1] and workgroup ids behind it."""
    data = object_bytes(arch, body, lds, scratch, vgprs, dims)
    return CodeObject.from_bytes(data), disassemble(data)


def object_bytes(
    arch: str, body: str, lds: int = 0, scratch: int = 0, vgprs: int = 64, dims: int = 0
) -> bytes:
    """The code object file of :func:`assemble`."""
    gfx9 = arch.startswith("gfx9")
    extra = ".amdhsa_accum_offset 64" if gfx9 else ".amdhsa_wavefront_size32 1"
    if not arch.startswith("gfx12"):
        extra += "\n .amdhsa_system_sgpr_workgroup_id_x 1\n .amdhsa_system_sgpr_workgroup_id_y 1"
    if scratch:
        extra += "\n .amdhsa_enable_private_segment 1"
    source = _TEMPLATE.format(
        arch=arch, body=body, lds=lds, scratch=scratch, vgprs=vgprs, dims=dims, extra=extra
    )
    tools = llvm.find_tools(arch)
    with TemporaryDirectory() as d:
        s, o, co = (Path(d) / n for n in ("k.s", "k.o", "k.co"))
        s.write_text(source)
        subprocess.run(
            [str(tools.mc), "-triple=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-filetype=obj", str(s),
             "-o", str(o)],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        subprocess.run(
            [str(tools.lld), "-shared", str(o), "-o", str(co)], check=True, capture_output=True, text=True
        )
        return co.read_bytes()


@dataclass
class Buffer:
    name: str
    role: str
    data: Any


@dataclass
class Launch:
    """Pointers to all buffers, in order, as the kernarg segment."""

    operands: list[Buffer]
    grid: tuple[int, int, int] = (1, 1, 1)
    workgroup: tuple[int, int, int] = (32, 1, 1)
    dynamic_lds: int = 0
    order: list[str] = field(default_factory=list)

    def kernarg(self, addresses: Mapping[str, int]) -> bytes:
        return b"".join(
            struct.pack("<Q", addresses[n]) for n in self.order or [o.name for o in self.operands]
        )


def buffers(**arrays: Any) -> list[Buffer]:
    """Operands from arrays; names that start with ``out`` are outputs."""
    return [
        Buffer(
            n, "inout" if n.startswith("out") else "input", np.ascontiguousarray(a).reshape(-1).view(np.uint8)
        )
        for n, a in arrays.items()
    ]


def execute(
    arch: str, body: str, launch: Launch, *, kernel: dict[str, int] | None = None, **kw: Any
) -> FunctionalResult:
    co, listing = assemble(arch, body, **(kernel or {}))
    return run(co, co.kernel(None), listing, launch, **kw)
