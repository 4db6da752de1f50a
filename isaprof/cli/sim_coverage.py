"""What ``isaprof sim coverage`` does and prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isaprof.errors import ExitCode

if TYPE_CHECKING:
    from isaprof.sim.coverage import Coverage, Gap

#: rows shown of instructions that NumPy executes
_SHOWN = 20


def run(paths: Sequence[Path], target: str | None, *, as_json: bool) -> int:
    """Judge, print; NO when something has no semantics."""
    from isaprof.asm.find import jobs_of
    from isaprof.cli.progress import Bar
    from isaprof.errors import IsaprofError
    from isaprof.sim import coverage

    jobs = jobs_of(paths, target)
    compiled = coverage.library()
    found: list[Coverage] = []
    with Bar() as bar:
        for i, job in enumerate(jobs):
            try:
                found.append(coverage.of_bytes(job.read(), job.label, compiled, job.arch))
            except (IsaprofError, OSError) as e:
                found.append(coverage.Coverage(job.label, error=str(e)))
            bar.update(i + 1, len(jobs), "objects")
    whole = coverage.total(found)
    if as_json:
        objects = [c.as_json() for c in found]
        print(json.dumps({"schema_version": 1, "objects": objects, "total": whole.as_json()}))
    else:
        _table(found, whole)
    if whole.count(coverage.MISSING):
        return ExitCode.NO
    return ExitCode.BAD_INPUT if any(c.error for c in found) else ExitCode.OK


def _table(found: list[Coverage], whole: Coverage) -> None:
    from isaprof.sim.coverage import MISSING, REFERENCE

    rows: list[tuple[str, ...]] = [("target", "instr", "mnem", "missing", "NumPy", "object")]
    for c in found:
        numbers = (c.instructions, len(c.mnemonics), c.count(MISSING), c.count(REFERENCE) if c.fast else "?")
        rows.append((c.arch, *(str(n) if c.error is None else "" for n in numbers), c.label))
    widths = [max(len(r[i]) for r in rows) for i in range(5)]
    for r in rows:
        print("  ".join([r[0].ljust(widths[0]), *(r[i].rjust(widths[i]) for i in range(1, 5)), r[5]]))
    for c in found:
        if c.error is not None:
            print(f"\n{c.error if c.error.startswith(c.label) else f'{c.label}: {c.error}'}")
    gaps = whole.sorted_gaps()
    _gaps(
        "no semantics: the simulator ends there with a fault", [g for g in gaps if g.status == MISSING], None
    )
    _gaps("on the NumPy reference, slower", [g for g in gaps if g.status == REFERENCE], _SHOWN)
    missing, slow = whole.count(MISSING), whole.count(REFERENCE)
    tail = f", {slow} of them on NumPy" if whole.fast else "; the fast executor cannot be had here"
    print(
        f"\n{len(found)} objects, {whole.instructions} instructions of {len(whole.mnemonics)} mnemonics: "
        f"{whole.instructions - missing} execute{tail}; {missing} do not"
    )


def _gaps(title: str, gaps: list[Gap], most: int | None) -> None:
    if not gaps:
        return
    print(f"\n{title}:")
    shown = gaps[:most]
    width = max(len(g.mnemonic) for g in shown)
    print(f"  {'mnemonic'.ljust(width)}  {'count':>7}  {'objects':>7}  why (first occurrence)")
    for g in shown:
        print(
            f"  {g.mnemonic.ljust(width)}  {g.count:7}  {g.objects:7}  {g.why} ({g.address:#x}: {g.example})"
        )
    if len(gaps) > len(shown):
        print(f"  ... and {len(gaps) - len(shown)} more: --json lists all")
