"""docs/formats.md says what the readers do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from isaprof.backends import absent, diagnose
from isaprof.backends.protocol import RawCapture
from isaprof.backends.recorded import DECODERS, open_recording
from isaprof.capture import TABLES
from isaprof.capture.model import LOSS_KINDS
from tests.backends import own_recordings as own
from tests.backends.test_diagnoses import CASES

TEXT = (Path(__file__).resolve().parents[2] / "docs/formats.md").read_text()
COLUMNS = ("raw", "ui", "rocprof", "stats")


def carried() -> dict[str, dict[str, str]]:
    """Format -> table -> yes, no, empty or if recorded."""
    part = TEXT.split("<!-- checked by")[1].split("<!-- end of checked part -->")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", part, re.MULTILINE)
    assert [name for name, _ in rows] == list(TABLES)
    return {f: {name: cells.split("|")[i].strip() for name, cells in rows} for i, f in enumerate(COLUMNS)}


def says_the_truth(raw: RawCapture, said: dict[str, str]) -> None:
    for name, word in said.items():
        frame = raw.tables.get(name)
        if word == "yes":
            assert frame is not None, name
            assert len(frame), name
        elif word == "empty":
            assert frame is not None, name
            assert not len(frame), name
        elif word == "no":
            assert frame is None, name
        else:
            assert word == "if recorded", word


def test_what_each_format_carries(data_dir: Path, tmp_path: Path) -> None:
    said = carried()
    recording = open_recording(data_dir / "att" / "wave_gemm_gfx950")
    says_the_truth(recording.read(3, decoder="isaprof"), said["raw"])
    says_the_truth(recording.read(3, decoder="ui"), said["ui"])
    for path in (data_dir / "att" / "wave_gemm_gfx950").glob("stats_*.csv"):
        shutil.copy(path, tmp_path)
    says_the_truth(open_recording(tmp_path).read(3), said["stats"])
    # "if recorded": there where it was, not there where it was not
    full = recording.read(3, decoder="ui").tables
    bare = open_recording(own.ui_output(tmp_path / "own")).read(1, arch="gfx942").tables
    assert "counters" in full
    assert not {"counters", "events"} & set(bare)


def test_every_diagnosis_is_listed() -> None:
    listed = {
        k
        for row in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", TEXT, re.MULTILINE)
        for k in re.findall(r"\w+", row)
    }
    kinds = (
        {kind for _, kind, _, _ in CASES.values()} | {p.kind for p in absent.PRINTED} | set(diagnose._NEXT)
    )
    assert kinds - {"unknown_packet"} <= listed


def test_losses_and_decoders_are_listed() -> None:
    losses = TEXT.split("`--strict` turns every loss (")[1].split(")")[0]
    assert set(re.findall(r"`(\w+)`", losses)) == LOSS_KINDS
    assert set(re.findall(r"^\| `(\w+)` \| (?:the raw|ui_output where|what AMD)", TEXT, re.MULTILINE)) == set(
        DECODERS
    )


@pytest.mark.parametrize("layout", own.LAYOUTS)
def test_every_layout_is_named(layout: str) -> None:
    assert layout in TEXT or layout.startswith("decoder")
