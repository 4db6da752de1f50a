"""The public objects: every error on them is one of those that docs/lint.md proves."""

from __future__ import annotations

from pathlib import Path

import pytest

from isaprof.lint import Severity, lint_object

#: object -> rule -> findings
PROVEN = {
    "co/gfx942/topksoftmax/topksoftmax_4x128x4.co": {"valu-sgpr-valu": 17},
    "co/gfx950/topksoftmax/topksoftmax_4x128x4.co": {"valu-sgpr-valu": 17},
    "co/gfx950/topksoftmax/topksoftmax_4x128x6.co": {"valu-sgpr-valu": 25},
    "co/gfx950/fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_16x64_6tg_pf2.co": {"valu-sgpr-valu": 4},
    "co/gfx950/fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_tkw1_silu_1tg_32x64.co": {"wait-missing": 1},
    "co/gfx950/mla/mla_a8w8_qh16_qseqlen1_gqaratio16.co": {"wait-missing": 12, "permlane-swap": 6},
    "sqtt/gfx1200/handwritten_run0/kernel.co": {"valu-sgpr-read": 9},
}


def objects(data_dir: Path) -> list[Path]:
    found = [p for d in ("co", "sqtt") for p in sorted((data_dir / d).rglob("*.co"))]
    return found + sorted((data_dir / "att").rglob("*.out"))


def arch_of(path: Path) -> str | None:
    """Minimal ELF files do not say their target."""
    if path.read_bytes()[18:20] != b"\0\0":
        return None
    return "gfx1100" if "gfx1100" in str(path) else "gfx1201"


def test_errors_on_shipped_objects_are_those_that_were_proven(data_dir: Path) -> None:
    seen: dict[str, dict[str, int]] = {}
    paths = objects(data_dir)
    if not paths:
        pytest.skip("no objects in the shared data")
    for path in paths:
        report = lint_object(path.read_bytes(), path=path, arch=arch_of(path))
        counts: dict[str, int] = {}
        for f in report.findings:
            if f.severity is Severity.ERROR:
                counts[f.rule] = counts.get(f.rule, 0) + 1
        if counts:
            seen[path.relative_to(data_dir).as_posix()] = counts
    assert seen == PROVEN
