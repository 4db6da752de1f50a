"""The figures of real captures in docs/attribution.md are what the attribution says today."""

from __future__ import annotations

from pathlib import Path

import pytest

from isaprof.attribution import Analysis, analyse
from isaprof.attribution.groups import explained_waits
from isaprof.attribution.model import CAUSES
from isaprof.backends.recorded import open_recording
from isaprof.capture.model import Capture

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = {
    "gfx1100/gemm": "sqtt/gfx1100/gemm_run0", "gfx1100/sync": "sqtt/gfx1100/sync_run0",
    "gfx1100/plus": "sqtt/gfx1100/plus_run0", "gfx1200/gemm": "sqtt/gfx1200/gemm_run0",
    "gfx1200/sync": "sqtt/gfx1200/sync_run0", "gfx1200/plus": "sqtt/gfx1200/plus_run0",
    "gfx1200/handwritten": "sqtt/gfx1200/handwritten_run0", "gfx950/gemm": "sqtt/gfx950/gemm_run0",
    "wave_gemm_gfx950": "att/wave_gemm_gfx950",
}  # fmt: skip


def top_lines(name: str, a: Analysis, count: int = 3) -> list[str]:
    lines = a.lines
    rows = lines[(lines["rank"] > 0) & (lines["rank"] <= count)].sort_values("rank")
    return [
        f"| {name} | {r.line} | `{r.text}` | {r.lost:,} | {r.cause} | "
        + (f"{r.culprit}: `{lines.loc[r.culprit, 'text']}` |" if r.culprit >= 0 else "- |")
        for r in rows.itertuples()
    ]


def summary(name: str, a: Analysis) -> str:
    named, waited = explained_waits(a)
    s = a.segments
    unclear = int(s.loc[s["ambiguous"], "cycles"].sum())
    share = f"{100 * named / waited:.1f} %" if waited else "no waits"
    ambiguous = f"{100 * unclear / waited:.1f} %" if waited else "-"
    unexplained = f"{100 * a.unexplained_share:.1f} %"
    return f"| {name} | {len(a.waves)} | {a.total_cycles:,} | {unexplained} | {share} | {ambiguous} |"


def exposure_row(name: str, a: Analysis) -> str:
    assert a.detail is not None
    sums = a.detail.exposure[["cycles", "exposed", "hidden", "unknown"]].sum()
    amd = a.detail.reference[["hidden_idle", "hidden_stall"]].sum().sum()
    return f"| {name} | " + " | ".join(f"{int(v):,}" for v in [*sums, amd]) + " |"


def tables(data: Path) -> tuple[list[str], list[str]]:
    """The rows of both tables."""
    tops: list[str] = []
    sums: list[str] = []
    for name, folder in CAPTURES.items():
        recording = open_recording(data / folder)
        raw = recording.read(recording.dispatches[0].number)
        a = analyse(Capture(raw.meta, raw.tables, raw.code_objects))
        tops += top_lines(name, a)
        sums += [summary(name, a), exposure_row(name, a)]
    return tops, sums


@pytest.mark.slow
def test_tables_of_real_captures_are_current(data_dir: Path) -> None:
    text = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")
    tops, sums = tables(data_dir)
    assert [row for row in [*tops, *sums] if row not in text] == []


def test_every_cause_is_documented() -> None:
    text = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8").replace("*", "")
    aliases = {
        "wait: store": "store",
        "wait: LDS": "LDS",
        "wait: SMEM": "SMEM",
        "LDS pipe busy": "LDS",
        "VMEM pipe busy": "VMEM",
    }
    for cause in CAUSES:
        words = aliases.get(str(cause), str(cause).removeprefix("wait: "))
        assert words in text, cause
