"""Time of ``isaprof roundtrip`` against the bare LLVM tools on the same object, in one run.

    python benchmarks/roundtrip.py [--data DIR] [--repeat 5] [--objects 12] [--json]

The bare chain: llvm-objdump -d, llvm-readelf -a, llvm-mc of the text, ld.lld of
the result, each a process of its own, one after the other. isaprof: the whole
command, interpreter start, proof and output included. Best of ``--repeat``;
the two take turns, so that load on the machine meets both. Objects are put
into classes by the size of their code; the ratio comes first, because it
depends least on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from isaprof.asm import disassemble_object
from isaprof.asm.assemble import build_facts
from isaprof.asm.find import jobs_of
from isaprof.codeobj.elf import CodeObject
from isaprof.isa import llvm

CLASSES = ((8 << 10, "up to 8 KiB"), (64 << 10, "up to 64 KiB"), (1 << 62, "larger"))
COMMAND = "import isaprof.cli as c; c.VERBS.setdefault('roundtrip', 'isaprof.cli.roundtrip'); c.main()"


def seconds(commands: Sequence[Sequence[str]]) -> float:
    begin = time.perf_counter()
    for argv in commands:
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def chain(path: Path, arch: str, folder: Path) -> list[list[str]]:
    """The bare tool chain; the text to assemble is isaprof's own."""
    text = disassemble_object(path.read_bytes(), path=path).text
    source = folder / "k.s"
    source.write_text(text)
    tools = llvm.find_tools(arch)
    facts = build_facts(text)
    attr = [f"--mattr={facts.mattr}"] if facts.mattr else []
    obj, out = str(folder / "k.o"), str(folder / "k.co")
    head = [f"--triple={llvm.TRIPLE}", f"--mcpu={arch}", *attr]
    return [
        [str(tools.objdump), "-d", *attr, str(path)],
        [str(tools.readelf), "-a", str(path)],
        [str(tools.mc), *head, "--filetype=obj", "-o", obj, str(source)],
        [str(tools.linker()), "-shared", "-o", out, obj],
    ]


def measure(path: Path, repeat: int) -> dict[str, Any]:
    co = CodeObject.load(path)
    with tempfile.TemporaryDirectory() as d:
        bare = chain(path, co.arch, Path(d))
        ours = [[sys.executable, "-c", COMMAND, "roundtrip", str(path)]]
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(repeat):
            times[0].append(seconds(bare))
            times[1].append(seconds(ours))
    return {
        "path": str(path),
        "code_bytes": sum(len(s.data) for s in co.text),
        "bare_s": min(times[0]),
        "isaprof_s": min(times[1]),
        "ratio": min(times[1]) / min(times[0]),
    }


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    here = Path(__file__).resolve().parent.parent
    default = os.environ.get("ISAPROF_DATA") or here.parent / "shared" / "data"
    p.add_argument("--data", type=Path, default=default, help="folder with code objects ($ISAPROF_DATA)")
    p.add_argument("--repeat", type=int, default=5)
    p.add_argument("--objects", type=int, default=12, help="objects of each class, evenly spread")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    paths = {Path(j.file) for j in jobs_of([args.data]) if j.index is None and j.arch is None}
    sizes = sorted((sum(len(s.data) for s in CodeObject.load(f).text), f) for f in paths)
    rows = []
    low = 0
    for limit, name in CLASSES:
        here_ = [f for n, f in sizes if low < n <= limit]
        low = limit
        step = max(1, len(here_) // args.objects)
        found = [measure(f, args.repeat) for f in here_[::step][: args.objects]]
        if not found:
            continue
        rows.append({"class": name, "objects": found})
        if not args.json:
            ratios = sorted(r["ratio"] for r in found)
            print(
                f"{name:14} {statistics.median(ratios):.2f} x the bare tools (median of {len(found)}; "
                f"{ratios[0]:.2f} to {ratios[-1]:.2f})   isaprof "
                f"{statistics.median(r['isaprof_s'] for r in found) * 1e3:.0f} ms, bare "
                f"{statistics.median(r['bare_s'] for r in found) * 1e3:.0f} ms",
                flush=True,
            )
    if args.json:
        print(json.dumps({"schema_version": 1, "python": platform.python_version(), "classes": rows}))
    return 0 if rows else 3


if __name__ == "__main__":
    sys.exit(main())
