"""Writes the tables of real captures in docs/attribution.md: the attribution of the public traces.

Run from the checkout with the shared data (``ISAPROF_DATA``)::

    python docs/make_attribution.py

Only the rows below the known headers are replaced; the text around them stays.
``tests/attribution/test_docs.py`` fails where the page is not what this writes.
"""

from __future__ import annotations

import os
from pathlib import Path

from isaprof.attribution import Analysis, analyse
from isaprof.attribution.exposure import SPLIT
from isaprof.attribution.groups import explained_waits
from isaprof.backends.recorded import open_recording
from isaprof.capture.model import Capture

PAGE = Path(__file__).resolve().parent / "attribution.md"
#: every real capture whose waves have instruction records
CAPTURES = {
    "gfx1100/gemm": "sqtt/gfx1100/gemm_run0", "gfx1100/sync": "sqtt/gfx1100/sync_run0",
    "gfx1100/plus": "sqtt/gfx1100/plus_run0", "gfx1100/empty": "sqtt/gfx1100/empty_run0",
    "gfx1200/gemm": "sqtt/gfx1200/gemm_run0", "gfx1200/sync": "sqtt/gfx1200/sync_run0",
    "gfx1200/plus": "sqtt/gfx1200/plus_run0", "gfx1200/empty": "sqtt/gfx1200/empty_run0",
    "gfx1200/handwritten": "sqtt/gfx1200/handwritten_run0", "gfx950/gemm": "sqtt/gfx950/gemm_run0",
    "gfx950/plus": "sqtt/gfx950/plus_run0", "gfx950/empty": "sqtt/gfx950/empty_run0",
    "wave_gemm_gfx950": "att/wave_gemm_gfx950",
}  # fmt: skip
#: header of each table on the page
TOP = "| capture | line | instruction | lost cycles | cause | culprit |"
SUMS = "| capture | waves | wave cycles | unexplained | waits with a named culprit | of those ambiguous |"
EXPOSURE = "| capture | wait cycles | exposed | hidden | covered | unknown | hidden by AMD's definition |"


def read(data: Path) -> dict[str, Analysis]:
    """The attribution of the first dispatch of every capture."""
    out = {}
    for name, folder in CAPTURES.items():
        recording = open_recording(data / folder)
        raw = recording.read(recording.dispatches[0].number)
        out[name] = analyse(Capture(raw.meta, raw.tables, raw.code_objects))
    return out


def top_lines(name: str, a: Analysis, count: int = 3) -> list[str]:
    """The lines that lost most, with cause and culprit."""
    lines = a.lines
    rows = lines[(lines["rank"] > 0) & (lines["rank"] <= count)].sort_values("rank")
    if not len(rows):
        return [f"| {name} | - | - | {_why(a)} | - | - |"]
    return [
        f"| {name} | {r.line} | `{r.text}` | {r.lost:,} | {r.cause} | "
        + (f"{r.culprit}: `{lines.loc[r.culprit, 'text']}` |" if r.culprit >= 0 else "- |")
        for r in rows.itertuples()
    ]


def _why(a: Analysis) -> str:
    return "nothing lost" if a.instructions else "no instruction recorded"


def summary(name: str, a: Analysis) -> str:
    """Waves, cycles, unexplained share, named waits."""
    named, waited = explained_waits(a)
    s = a.segments
    unclear = int(s.loc[s["ambiguous"], "cycles"].sum())
    share = f"{100 * named / waited:.1f} %" if waited else "no waits"
    ambiguous = f"{100 * unclear / waited:.1f} %" if waited else "-"
    unexplained = f"{100 * a.unexplained_share:.1f} %"
    return f"| {name} | {len(a.waves)} | {a.total_cycles:,} | {unexplained} | {share} | {ambiguous} |"


def exposure_row(name: str, a: Analysis) -> str:
    """The split of the waits beside AMD's hidden idle and stall."""
    assert a.detail is not None
    sums = a.detail.exposure[["cycles", *SPLIT]].sum()
    amd = a.detail.reference[["hidden_idle", "hidden_stall"]].sum().sum()
    return f"| {name} | " + " | ".join(f"{int(v):,}" for v in [*sums, amd]) + " |"


def updated(text: str, analyses: dict[str, Analysis]) -> str:
    """``text`` with the rows of the three tables as they are today. ValueError where a table is missing."""
    tables = {
        TOP: [row for name, a in analyses.items() for row in top_lines(name, a)],
        SUMS: [summary(name, a) for name, a in analyses.items()],
        EXPOSURE: [exposure_row(name, a) for name, a in analyses.items()],
    }
    lines = text.split("\n")
    for header, rows in tables.items():
        first = lines.index(header) + 2
        end = next(i for i in range(first, len(lines)) if not lines[i].startswith("|"))
        lines[first:end] = rows
    return "\n".join(lines)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(updated(page, read(Path(os.environ["ISAPROF_DATA"]))), encoding="utf-8")
