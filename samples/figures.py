"""Runs the samples and writes their figures into the READMEs.

    python samples/figures.py [DIRECTORY ...] [--check]

Everything between `<!-- figures -->` and `<!-- end -->` of DIRECTORY/README.md is this program's: what was
verified at which shapes, the cycles that the timing model gives (*modelled*, no measurement), and for a
ladder the lines of each step. ``--check`` writes nothing; exit 1 where a README differs. Any wrong output is
exit 5.
"""

from __future__ import annotations

import difflib
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath

from build import HERE, build_file

from isaprof.backends.simulator import Simulator
from isaprof.codeobj.elf import CodeObject
from isaprof.launch import Verification, find

BEGIN, END = "<!-- figures -->", "<!-- end -->"


@dataclass(frozen=True)
class Sheet:
    """The figures of one directory: each object at each shape."""

    objects: tuple[str, ...]
    shapes: tuple[str, ...]
    ladder: bool = False  #: the objects are steps, each made from the one before


SHEETS: dict[str, Sheet] = {
    "w4a16_ladder": Sheet(
        tuple(f"step{n}.co" for n in range(6)),
        ("M=256,N=256,K=512", "M=128,N=7680,K=1024", "M=300,N=200,K=256", "M=128,N=64,K=4096"),
        ladder=True,
    ),
    "mxfp4_gfx950": Sheet(
        ("mxfp4_registers.co", "mxfp4_pipelined.co", "mxfp4_prequantised.co"),
        ("M=16,N=3072,K=1536", "M=64,N=3072,K=1536", "M=256,N=2880,K=512", "M=8,N=2112,K=7168"),
    ),
    ".": Sheet(
        (
            "gemm_cdna3/gemm_cdna3.co",
            "gemm_cdna3/gemm_cdna3.gfx950.co",
            "gemm_rdna35/gemm_rdna35.co",
            "gemm_rdna4/gemm_rdna4.co",
        ),
        ("M=64,N=64,K=32", "M=128,N=192,K=256", "M=256,N=256,K=512"),
    ),
}


@dataclass(frozen=True)
class Row:
    """One object at one shape."""

    name: str
    shape: str
    verdict: Verification
    cycles: int
    seconds: float
    unit: str


def measure(path: Path, shape: str) -> Row:
    """Execute, verify, and time in the model. ``cycles``: first begin to last end on one CU or WGP."""
    started = time.perf_counter()
    data = path.read_bytes()
    co = CodeObject.from_bytes(data, path=path)
    kernel = co.kernel()
    simulator = Simulator(co, data, kernel, find(kernel, co, path).resolve(shape))
    raw = simulator.capture()
    waves = raw.tables["waves"]
    cycles = int(waves["end"].max() - waves["begin"].min())
    seconds = time.perf_counter() - started
    return Row(path.stem, shape, simulator.verification, cycles, seconds, raw.meta["coverage"]["text"])


def verified_table(rows: Sequence[Row]) -> list[str]:
    out = [
        "| kernel | shape | verified | cosine | max. abs. error | cycles, *modelled* | waves in the model |"
    ]
    out.append("| --- | --- | --- | --- | --- | --- | --- |")
    for r in rows:
        v = r.verdict
        waves = r.unit.removeprefix("modelled on one ")
        cells = (r.name, r.shape, "yes" if v.verified else "NO", f"{v.cosine:.7f}", f"{v.max_abs_err:.3g}")
        out.append("| " + " | ".join((*cells, f"{r.cycles:,}", waves)) + " |")
    return out


def ladder_table(rows: Sequence[Row], names: Sequence[str], shapes: Sequence[str]) -> list[str]:
    """Cycles of each step, with the change against the step before and against the first."""
    of = {(r.name, r.shape): r.cycles for r in rows}
    out = ["| step | " + " | ".join(f"{s}, *modelled* cycles" for s in shapes) + " |"]
    out.append("| --- |" + " --- |" * len(shapes))
    for n, name in enumerate(names):
        cells = []
        for s in shapes:
            now, first = of[name, s], of[names[0], s]
            before = of[names[n - 1], s] if n else now
            change = [f"{100 * (now / then - 1):+.1f} %" for then in (before, first)]
            cells.append(f"{now:,} ({change[0]}, in all {change[1]})" if n else f"{now:,}")
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return out


def instructions(source: Path) -> list[str]:
    """A source's code up to the branch back of its K loop, without comments."""
    text = re.sub(r"\s*//.*", "", source.read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = next(i for i, line in enumerate(lines) if line.startswith("s_cbranch"))
    return lines[: last + 1]


def ladder_edits(directory: Path, names: Sequence[str]) -> list[str]:
    out = []
    for before, after in pairwise(names):
        a, b = instructions(directory / f"{before}.s"), instructions(directory / f"{after}.s")
        diff = list(difflib.unified_diff(a, b, before, after, n=1, lineterm=""))
        title = (directory / f"{after}.s").read_text().splitlines()[0].partition(": ")[2]
        minus = sum(line.startswith("-") for line in diff[2:])
        plus = sum(line.startswith("+") for line in diff[2:])
        out += ["", f"### {after}: {title}", "", f"{minus} lines out, {plus} in, to the loop's end.", ""]
        out += ["```diff", *diff, "```"]
    return out


def text_of(directory: str, sheet: Sheet, rows: Sequence[Row]) -> str:
    out = [
        BEGIN,
        "",
        "Written by `samples/figures.py`. Cycles are *modelled*: the timing model's prediction.",
        "",
    ]
    names = [Path(o).stem for o in sheet.objects]
    if sheet.ladder:
        out += ["## The ladder", "", *ladder_table(rows, names, sheet.shapes[:2]), ""]
    out += ["## Verified", "", *verified_table(rows)]
    if sheet.ladder:
        out += ["", "## The edits", *ladder_edits(HERE / directory, names)]
    return "\n".join([*out, "", END])


def main(argv: list[str]) -> int:
    check = "--check" in argv
    chosen = [a for a in argv if a != "--check"] or list(SHEETS)
    wrong = stale = False
    for directory in chosen:
        directory = directory.strip("/")
        sheet = SHEETS[directory]
        rows = []
        for name in sheet.objects:
            path = build_file(str(PurePosixPath(directory, name)))
            for shape in sheet.shapes:
                r = measure(path, shape)
                v = r.verdict
                print(
                    f"{directory} {r.name} {shape}: {v.message}, cosine {v.cosine:.7f}, "
                    f"abs {v.max_abs_err:.3g}, {r.cycles:,} cycles, {r.seconds:.2f} s",
                    flush=True,
                )
                wrong |= v.verified is not True
                rows.append(r)
        readme = HERE / directory / "README.md"
        old = readme.read_text()
        head, _, rest = old.partition(BEGIN)
        new = head + text_of(directory, sheet, rows) + rest.partition(END)[2]
        stale |= new != old
        if new != old and not check:
            readme.write_text(new)
    return 5 if wrong else int(stale and check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
