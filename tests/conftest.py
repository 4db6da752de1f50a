"""Fixtures shared by the whole suite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests import remembered_tools

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


@pytest.fixture(scope="session", autouse=True)
def _one_command_line() -> Iterator[None]:
    """Typer reads the signatures of all verbs (0.1 s) once, not at every ``cli.main`` of a test.

    A test that puts a verb of its own into the table gets a command line of its own.
    """
    from isaprof.cli import app

    built: dict[tuple[tuple[str, Any], ...], Any] = {}

    def build(verbs: Mapping[str, str], load: Callable[[str], ModuleType]) -> Any:
        key = tuple((verb, load(module).command) for verb, module in verbs.items())
        if key not in built:
            built[key] = original(verbs, load)
        return built[key]

    original = app.build
    app.build = build
    yield
    app.build = original


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that test how tools are started replace this."""
    remembered_tools.install(monkeypatch)
