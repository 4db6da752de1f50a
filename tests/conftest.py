"""Fixtures shared by the whole suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The shared real data: ``$ISAPROF_DATA``, else ``../shared/data`` beside the checkout."""
    path = Path(os.environ.get("ISAPROF_DATA") or ROOT.parent / "shared" / "data")
    if not path.is_dir():
        pytest.skip(f"ISAPROF_DATA absent: {path}")
    return path


@pytest.fixture(scope="session")
def samples_dir() -> Path:
    """The kernels of our own that ship with the project, assembled where they were not yet."""
    done = subprocess.run(
        [sys.executable, ROOT / "samples" / "build.py"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return ROOT / "samples"


@pytest.fixture(autouse=True)
def _no_terminal_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are laid out as in a pipe: pytest-xdist exports an 80 x 24 terminal to its workers."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
