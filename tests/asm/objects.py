"""Small code objects of our own, for the tests of the round trip."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path

from isaprof.asm.facts import BuildFacts, build_facts
from isaprof.isa import llvm

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1250")

METADATA = """
	.amdgpu_metadata
amdhsa.kernels:
  - .name: {name}
    .symbol: {symbol}
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 8
    .vgpr_count: 8
    .max_flat_workgroup_size: 64
    .args: []
amdhsa.version: [1, 2]
	.end_amdgpu_metadata
"""


def source(
    arch: str,
    body: str,
    *,
    name: str = "k",
    data: str = "",
    extra: str = "",
    version: int = 5,
    features: str = "",
) -> str:
    """A kernel ``name`` with ``body``, its descriptor, ``data`` sections and metadata."""
    nine = arch in ("gfx90a", "gfx942", "gfx950")
    own = "\t.amdhsa_accum_offset 8\n" if nine else ""
    wave = 64 if arch.startswith("gfx9") else 32
    escaped = name.replace("\\", "\\\\")
    quoted = name if name == "k" else f'"{escaped}"'
    return (
        f'\t.amdgcn_target "amdgcn-amd-amdhsa--{arch}{features}"\n'
        f"\t.amdhsa_code_object_version {version}\n\t.text\n"
        f"\t.globl {quoted}\n\t.protected {quoted}\n\t.p2align 8\n\t.type {quoted},@function\n"
        f"{quoted}:\n{body}\n"
        f"\ts_endpgm\n.Lend:\n\t.size {quoted}, .Lend-{quoted}\n"
        f'\t.section .rodata,"a"\n\t.p2align 6\n\t.amdhsa_kernel {quoted}\n'
        f"\t.amdhsa_next_free_vgpr 8\n\t.amdhsa_next_free_sgpr 8\n{own}{extra}\t.end_amdhsa_kernel\n"
        f"{data}\n" + METADATA.format(name=f"'{name}'", symbol=f"'{name}.kd'", wave=wave)
    )


def build(text: str, *link: str, header: tuple[int, int] | None = None) -> bytes:
    """Assemble with LLVM alone (nothing of isaprof's facts); ``header`` sets ABI version and e_flags.

    ``link`` are more arguments of ld.lld.
    """
    want: BuildFacts = build_facts(text)
    tools = llvm.find_tools(want.mcpu)
    obj = bytearray(llvm.assemble(text, want.mcpu, mattr=want.mattr, tools=tools))
    if header is not None:
        obj[8] = header[0]
        struct.pack_into("<I", obj, 48, header[1])
    with tempfile.TemporaryDirectory() as d:
        src, out = Path(d) / "k.o", Path(d) / "k.co"
        src.write_bytes(obj)
        done = llvm.run_tool([tools.linker(), "-shared", *link, "-o", out, src])
        assert done.returncode == 0, done.stderr
        made = bytearray(out.read_bytes())
    if header is not None:
        struct.pack_into("<I", made, 48, header[1])
    return bytes(made)
