"""What ``isaprof roundtrip`` does and prints, free of typer.

Typer's start (with pydantic, some 200 ms) takes longer than the round trip of
an ordinary kernel: :func:`quick` reads plain command lines itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isaprof.errors import ExitCode

if TYPE_CHECKING:
    from isaprof.asm.prove import Proof

_SHOWN = 10


def quick(args: Sequence[str]) -> int | None:
    """Run a command line of paths, ``--json`` and ``--target X``; None for any other, which typer reads."""
    paths: list[Path] = []
    target = None
    as_json = False
    rest = iter(args)
    for arg in rest:
        if arg == "--json":
            as_json = True
        elif arg == "--target":
            target = next(rest, None)
            if target is None or target.startswith("-"):
                return None
        elif arg.startswith("-"):
            return None
        else:
            paths.append(Path(arg))
    return run(paths, target, as_json=as_json) if paths else None


def run(paths: Sequence[Path], target: str | None, *, as_json: bool) -> int:
    """Prove, print, and say how it ended."""
    from isaprof.asm.find import jobs_of
    from isaprof.asm.prove import prove_all
    from isaprof.cli.progress import Bar

    jobs = jobs_of(paths, target)
    with Bar() as bar:
        proofs = prove_all(jobs, bar.update)
    if as_json:
        import json

        print(json.dumps({"schema_version": 1, "objects": [p.as_json() for p in proofs]}))
    else:
        _table(proofs)
    if any(p.verdict == "different" for p in proofs):
        return ExitCode.NO
    return ExitCode.BAD_INPUT if any(p.verdict == "failed" for p in proofs) else ExitCode.OK


def _table(proofs: list[Proof]) -> None:
    rows = [("verdict", "target", "cov", "kernels", "instr", ".long", "bits", "object")]
    for p in proofs:
        version = "" if p.code_object_version is None else f"v{p.code_object_version}"
        counts = (str(p.kernels), str(p.instructions), str(p.kept_as_words), str(p.with_bits))
        rows.append((p.verdict, p.target, version, *(counts if p.error is None else ("",) * 4), p.path))
    widths = [max(len(r[i]) for r in rows) for i in range(7)]
    for r in rows:
        cells = [
            c.rjust(w) if 3 <= i <= 6 else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths, strict=False))
        ]
        print("  ".join([*cells, r[7]]))
    for p in proofs:
        _details(p)
    verdicts = [p.verdict for p in proofs]
    parts = [
        f"{verdicts.count(v)} {v}"
        for v in ("identical", "equivalent", "different", "failed")
        if v in verdicts or v in ("identical", "equivalent", "different")
    ]
    print(
        f"{len(proofs)} objects: {', '.join(parts)}; of {sum(p.instructions for p in proofs)} instructions "
        f"{sum(p.kept_as_words for p in proofs)} are kept as .long, {sum(p.with_bits for p in proofs)} have "
        "their bits in a comment"
    )


def _details(p: Proof) -> None:
    if p.error is not None:
        print(f"\n{p.path}: {p.error}" if not p.error.startswith(p.path) else f"\n{p.error}")
    if p.outcome is None or p.verdict == "identical":
        return
    print(f"\n{p.path}: {p.verdict}")
    for e in p.outcome.encodings[:_SHOWN]:
        print(f"  {e.address:#x} {e.text}: {', '.join(e.bits)}")
    if len(p.outcome.encodings) > _SHOWN:
        print(f"  ... {len(p.outcome.encodings)} encodings in all")
    for d in p.outcome.differences[:_SHOWN]:
        print(f"  {d.part} {d.where}\n    original {d.a or 'absent'}\n    rebuilt  {d.b or 'absent'}")
    if p.outcome.count > _SHOWN:
        print(f"  ... {p.outcome.count} differences in all")
    sys.stdout.flush()
