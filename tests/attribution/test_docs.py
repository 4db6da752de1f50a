"""The figures of real captures in docs/attribution.md are what the attribution says today."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from isaprof.attribution.model import CAUSES

DOCS = Path(__file__).resolve().parents[2] / "docs"


def generator() -> ModuleType:
    """docs/make_attribution.py."""
    spec = importlib.util.spec_from_file_location("make_attribution", DOCS / "make_attribution.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_tables_of_real_captures_are_current(data_dir: Path) -> None:
    make = generator()
    text = (DOCS / "attribution.md").read_text(encoding="utf-8")
    assert make.updated(text, make.read(data_dir)) == text, "run docs/make_attribution.py"


def test_every_real_capture_has_a_row(data_dir: Path) -> None:
    make = generator()
    folders = {
        str(p.relative_to(data_dir)) for kind in ("sqtt/*/*_run0", "att/*") for p in data_dir.glob(kind)
    }
    assert folders == set(make.CAPTURES.values())
    text = (DOCS / "attribution.md").read_text(encoding="utf-8").split("\n")
    for header in (make.TOP, make.SUMS, make.EXPOSURE):
        rows = text[text.index(header) + 2 :]
        names = {row.split("|")[1].strip() for row in rows[: rows.index("")]}
        assert names == set(make.CAPTURES), header


def test_every_cause_is_documented() -> None:
    text = (DOCS / "attribution.md").read_text(encoding="utf-8").replace("*", "")
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
