"""Speed of the timing model: the compiled issue loop against the reference, on the same waves in one run.

    python benchmarks/timing.py [KERNEL.co --shape M,N,K] [--repeat N]

Rates are modelled wave-instructions for each second of processor time, all of
``simulate`` included: reducing addresses, the loop, and the capture's tables.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from isaprof import arch
from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.launch import find
from isaprof.sim import functional
from isaprof.sim.timing import Resources, simulate
from isaprof.sim.timing.compiled import CHOICE

ROOT = Path(__file__).resolve().parent.parent
#: workgroups that share the one unit that is modelled
WORKGROUPS = 64


def main() -> None:
    """Print both rates and their ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernel", nargs="?", type=Path, default=ROOT / "samples/gemm_rdna35/gemm_rdna35.co")
    parser.add_argument("--shape", default="512,512,512")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()

    data = options.kernel.read_bytes()
    co = CodeObject.from_bytes(data, path=options.kernel)
    kernel = co.kernel(None)
    listing = disassemble(data, arch=co.arch)
    launch = find(kernel, co, options.kernel).resolve(options.shape)
    traces = functional.run(co, kernel, listing, launch, trace=lambda _: True).traces[:WORKGROUPS]
    resources = Resources.of(
        kernel,
        waves_per_workgroup=-(-launch.threads // kernel.wave_size),
        dynamic_lds=launch.dynamic_lds,
        workgroups=launch.workgroups,
        footprint=sum(len(o.data) for o in launch.operands),
    )
    count = sum(len(w.lines) for t in traces for w in t.waves)
    best = {}
    for choice in ("reference", "compiled"):
        os.environ[CHOICE] = choice
        simulate(listing, arch.get(co.arch), traces[:1], resources=resources)  # imports, compilation
        times = []
        for _ in range(options.repeat):
            begin = time.process_time()
            simulate(listing, arch.get(co.arch), traces, resources=resources)
            times.append(time.process_time() - begin)
        best[choice] = min(times)
        rate = count / best[choice] / 1e6
        print(f"{choice:10} {count:,} wave-instructions, best of {options.repeat}: {rate:.3f} M/s")
    print(f"compiled / reference: {best['reference'] / best['compiled']:.1f}")


if __name__ == "__main__":
    main()
