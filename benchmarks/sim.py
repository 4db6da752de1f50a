"""Rates of the functional simulator by class of instruction: fast executor against the NumPy reference.

    python benchmarks/sim.py [--seconds 0.5]

Whole kernels follow: the shared data is looked for in $ISAPROF_DATA or ../shared/data.

Prints, for each class, the ratio first, then wave-instructions per second of both
executors in the same run. One workgroup of one wave on one core, per second of CPU time, so that
other work on the machine matters little; the last line (all cores) is wall time.
Wave size and EXEC: all 64 lanes on gfx950, all 32 on gfx1100.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from isaprof.asm.assemble import assemble_text
from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.sim.functional import FunctionalResult, run

_SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl k
.p2align 8
.type k,@function
k:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s6, 4096
  s_mov_b32 s7, {flags}
  v_lshlrev_b32_e32 v1, 4, v0
  {prologue}
  s_mov_b32 s3, {count}
loop:
{body}
  s_sub_u32 s3, s3, 1
  s_cmp_lg_u32 s3, 0
  s_cbranch_scc1 loop
  s_endpgm
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_count 2
  .amdhsa_next_free_vgpr 128
  .amdhsa_next_free_sgpr 32
  .amdhsa_float_denorm_mode_32 {denorm}
  {extra}
.end_amdhsa_kernel
"""

#: class -> (target, instructions of the loop body, times each is repeated)
CLASSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "VALU int 32": (
        "gfx950",
        (
            "v_add_u32 v2, v3, v4",
            "v_and_b32 v5, v2, v6",
            "v_lshl_add_u32 v7, v3, v4, v5",
            "v_xor_b32 v8, v7, v2",
        ),
    ),
    "VALU int with SGPR": ("gfx950", ("v_add_u32 v2, s4, v4", "v_lshlrev_b32 v5, 3, v6")),
    "VALU f32": (
        "gfx950",
        ("v_add_f32 v2, v3, v4", "v_mul_f32 v5, v2, v6", "v_fma_f32 v7, v3, v4, v5", "v_max_f32 v8, v7, v2"),
    ),
    "VALU compare, select": ("gfx950", ("v_cmp_lt_u32 vcc, v3, v4", "v_cndmask_b32 v5, v2, v6, vcc")),
    "VALU f16 packed": ("gfx950", ("v_pk_fma_f16 v2, v3, v4, v5", "v_pk_add_f16 v6, v2, v3")),
    "VALU f32 packed": (
        "gfx950",
        ("v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[8:9]", "v_pk_mul_f32 v[10:11], v[2:3], v[4:5]"),
    ),
    "VALU trans": ("gfx950", ("v_exp_f32 v2, v3", "v_rcp_f32 v4, v2", "v_sqrt_f32 v5, v4")),
    "VALU convert": ("gfx950", ("v_cvt_pk_bf16_f32 v2, v3, v4", "v_cvt_f32_u32 v5, v2")),
    "SALU": (
        "gfx950",
        ("s_add_u32 s8, s9, s10", "s_lshl_b32 s11, s8, 3", "s_and_b64 s[12:13], s[8:9], s[10:11]"),
    ),
    "LDS read b128": ("gfx950", ("ds_read_b128 v[4:7], v1",)),
    "LDS write b128": ("gfx950", ("ds_write_b128 v1, v[4:7]",)),
    "VMEM load x4": ("gfx950", ("global_load_dwordx4 v[4:7], v1, s[4:5]",)),
    "VMEM store x4": ("gfx950", ("global_store_dwordx4 v1, v[8:11], s[4:5]",)),
    "buffer load x4": ("gfx950", ("buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen",)),
    "MFMA 16x16x16 f16": ("gfx950", ("v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[10:11], v[4:7]",)),
    "MFMA 32x32x8 bf16": ("gfx950", ("v_mfma_f32_32x32x8bf16_1k v[16:31], v[8:9], v[10:11], v[16:31]",)),
    "MFMA 16x16x128 fp4 scaled": (
        "gfx950",
        (
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[4:7], v[8:11], v[12:15], v[4:7], v2, v3 "
            "op_sel_hi:[0,0,0] cbsz:4 blgp:4",
        ),
    ),
    "VALU int 32, wave32": ("gfx1100", ("v_add_nc_u32 v2, v3, v4", "v_and_b32 v5, v2, v6")),
    "VOPD": ("gfx1100", ("v_dual_add_f32 v2, v3, v4 :: v_dual_mul_f32 v5, v6, v7",)),
    "WMMA 16x16x16 f16": ("gfx1100", ("v_wmma_f32_16x16x16_f16 v[32:39], v[8:15], v[16:23], v[32:39]",)),
}
_REPEAT = 64


@dataclass
class _Buffer:
    name: str
    role: str
    data: Any


@dataclass
class _Launch:
    workgroups: int = 1
    threads: int = 64
    dynamic_lds: int = 0
    operands: list[_Buffer] = field(default_factory=lambda: [_Buffer("b", "inout", np.zeros(4096, np.uint8))])

    @property
    def grid(self) -> tuple[int, int, int]:
        return (self.workgroups, 1, 1)

    @property
    def workgroup(self) -> tuple[int, int, int]:
        return (self.threads, 1, 1)

    def kernarg(self, addresses: Mapping[str, int]) -> bytes:
        return struct.pack("<Q", addresses["b"])


@cache
def kernel(arch: str, body: tuple[str, ...], count: int, denorm: int = 3) -> tuple[CodeObject, Any]:
    gfx9 = arch.startswith("gfx9")
    repeated = (body * _REPEAT)[: _REPEAT // len(body) * len(body)]
    source = _SOURCE.format(
        arch=arch,
        body="\n".join(f"  {line}" for line in repeated),
        count=count,
        denorm=denorm,
        flags="0x20000" if gfx9 else "0x31014000",
        prologue="v_and_b32_e32 v1, 0xff0, v1",
        extra=".amdhsa_accum_offset 64" if gfx9 else ".amdhsa_wavefront_size32 1",
    )
    data = assemble_text(source, "benchmark.s")
    return CodeObject.from_bytes(data), disassemble(data)


def measure(
    arch: str, body: tuple[str, ...], executor: str, seconds: float, workgroups: int = 1, denorm: int = 3
) -> tuple[float, float]:
    """Wave-instructions per second of CPU time and of wall time; the loop takes about ``seconds``."""
    count = 8
    spent = 0.0
    # a first run, not counted, pays for what happens once in a process
    co, listing = kernel(arch, body, count, denorm)
    run(
        co,
        co.kernel(None),
        listing,
        _Launch(workgroups, 64 if arch.startswith("gfx9") else 32),
        executor=executor,
    )
    while True:
        co, listing = kernel(arch, body, count, denorm)
        launch = _Launch(workgroups, 64 if arch.startswith("gfx9") else 32)
        begin, cpu = time.perf_counter(), time.process_time()
        result: FunctionalResult = run(co, co.kernel(None), listing, launch, executor=executor)
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        if spent >= seconds / 2 or count > 1 << 24:
            return result.instructions / cpu, result.instructions / spent
        count = int(count * min(64.0, max(2.0, 1.2 * seconds / spent)))


def _human(rate: float) -> str:
    return f"{rate / 1e6:8.3f} M/s" if rate >= 1e5 else f"{rate / 1e3:8.2f} k/s"


#: real kernels: path below the repository or the shared data, shape, seconds that the issue allows
KERNELS = (
    ("data", "co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256.co", "256,256,2048", 30.0),
    ("root", "samples/w4a16_ladder/step0.co", "M=256,N=256,K=512", 10.0),
    ("root", "samples/gemm_cdna3/gemm_cdna3.co", "256,256,256", None),
)


def kernels() -> None:
    """Whole kernels with their launch files: load, operands, execution and comparison, in wall time."""
    from isaprof.launch import find

    root = Path(__file__).parents[1]
    places = {"root": root, "data": Path(os.environ.get("ISAPROF_DATA", root.parent / "shared" / "data"))}
    for where, name, shape, allowed in KERNELS:
        path = places[where] / name
        if not path.is_file():
            print(f"    absent    {name}")
            continue
        begin, cpu = time.perf_counter(), time.process_time()
        data = path.read_bytes()
        co = CodeObject.from_bytes(data, path=path)
        kernel_ = co.kernel(None)
        launch = find(kernel_, co, path).resolve(shape)
        result = run(co, kernel_, disassemble(data), launch, executor="fast")
        verdict = launch.verify(result.outputs)
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        limit = "" if allowed is None else f" (allowed: {allowed:.0f} s)"
        print(
            f"{spent:8.2f} s{limit}  {path.stem} at {shape}: verified {verdict.verified}, "
            f"{result.instructions / 1e6:.2f} M wave-instructions, {cpu:.2f} s of CPU time, "
            f"{sum(result.fallbacks.values())} left to NumPy"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each measurement")
    parser.add_argument("--only", default="", help="classes whose name contains this")
    a = parser.parse_args()
    print("fast/reference  class                        fast executor   NumPy reference (per CPU second)")
    for name, (arch, body) in CLASSES.items():
        if a.only.lower() not in name.lower():
            continue
        fast = measure(arch, body, "fast", a.seconds)[0]
        slow = measure(arch, body, "reference", a.seconds)[0]
        print(f"{fast / slow:10.1f} x    {name:28s} {_human(fast)}    {_human(slow)}", flush=True)
    arch, body = CLASSES["VALU int 32"]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    one, many = (measure(arch, body, "fast", a.seconds, n) for n in (1, 2 * cores))
    print(
        f"{many[1] / one[1]:10.2f} x    VALU int 32, {cores} threads for {2 * cores} workgroups: "
        f"{_human(many[1])} against {_human(one[1])} (wall time); "
        f"{many[0] / one[0]:.2f} of the rate per CPU second is kept"
    )
    if not a.only:
        kernels()
    print(
        "No peer in this table: tinygrad's test emulator compiles each encoding at first use and is driven "
        "by its own runtime, not by a code object and a launch.",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
