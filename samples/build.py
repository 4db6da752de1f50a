"""Assembles the sample kernels with the LLVM that isaprof finds.

    python samples/build.py [NAME.co ...]

Without names all objects are built. An object newer than its source is kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from isaprof.errors import IsaprofError
from isaprof.isa.llvm import assemble, find_tools, link

HERE = Path(__file__).resolve().parent

#: object -> (source, architecture)
OBJECTS: dict[str, tuple[str, str]] = {
    "gemm_rdna35/gemm_rdna35.co": ("gemm_rdna35/gemm_rdna35.s", "gfx1151"),
    "gemm_rdna4/gemm_rdna4.co": ("gemm_rdna4/gemm_rdna4.s", "gfx1201"),
    "gemm_cdna3/gemm_cdna3.co": ("gemm_cdna3/gemm_cdna3.s", "gfx942"),
    "gemm_cdna3/gemm_cdna3.gfx950.co": ("gemm_cdna3/gemm_cdna3.s", "gfx950"),
    "waitcnt_relax/waitcnt_relax.co": ("waitcnt_relax/waitcnt_relax.s", "gfx942"),
    "w4a16_ladder/step0.co": ("w4a16_ladder/step0.s", "gfx1151"),
    "w4a16_ladder/step1.co": ("w4a16_ladder/step1.s", "gfx1151"),
    "w4a16_ladder/step2.co": ("w4a16_ladder/step2.s", "gfx1151"),
    "w4a16_ladder/step3.co": ("w4a16_ladder/step3.s", "gfx1151"),
    "w4a16_ladder/step4.co": ("w4a16_ladder/step4.s", "gfx1151"),
    "w4a16_ladder/step5.co": ("w4a16_ladder/step5.s", "gfx1151"),
    "mxfp4_gfx950/mxfp4_registers.co": ("mxfp4_gfx950/mxfp4_registers.s", "gfx950"),
    "mxfp4_gfx950/mxfp4_pipelined.co": ("mxfp4_gfx950/mxfp4_pipelined.s", "gfx950"),
    "mxfp4_gfx950/mxfp4_prequantised.co": ("mxfp4_gfx950/mxfp4_prequantised.s", "gfx950"),
    # a positive and a negative kernel for each transform (waitcnt-relax's positive one is above)
    "transforms/waitcnt_relax/needed.co": ("transforms/waitcnt_relax/needed.s", "gfx942"),
    "transforms/swp/load_use.co": ("transforms/swp/load_use.s", "gfx942"),
    "transforms/swp/pipelined.co": ("transforms/swp/pipelined.s", "gfx942"),
}


def build(source: str, arch: str) -> bytes:
    """Assemble and link one source text. The metadata names the target: it is set to ``arch``."""
    lines = source.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if line.startswith("amdhsa.target:"):
            lines[i] = f"amdhsa.target: amdgcn-amd-amdhsa--{arch}\n"
    tools = find_tools(arch)
    return link([assemble("".join(lines), arch, tools=tools)], tools=tools)


def build_file(name: str, directory: Path = HERE) -> Path:
    """Build one object of :data:`OBJECTS` into ``directory`` unless it is up to date."""
    source, arch = OBJECTS[name]
    src, out = HERE / source, directory / name
    if out.exists() and out.stat().st_mtime_ns >= max(
        src.stat().st_mtime_ns, Path(__file__).stat().st_mtime_ns
    ):
        return out
    data = build(src.read_text(), arch)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=out.parent, delete=False) as f:  # whole or not at all
        f.write(data)
    os.chmod(f.name, 0o644)
    os.replace(f.name, out)
    return out


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in OBJECTS]
    if unknown:
        print(f"unknown object {', '.join(unknown)}; known: {', '.join(OBJECTS)}", file=sys.stderr)
        return 2
    for name in names or OBJECTS:
        try:
            print(build_file(name))
        except IsaprofError as e:
            print(f"{name}: {e}", file=sys.stderr)
            if e.hint:
                print(f"  try: {e.hint}", file=sys.stderr)
            return int(e.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
