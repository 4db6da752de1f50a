"""Captures of which trace data is missing are shown, but not compared unasked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isaprof import cli
from isaprof.backends.recorded import open_recording
from isaprof.capture import save
from isaprof.cli import tui
from isaprof.errors import BadInput
from tests.backends import own_recordings as own

LOST = {"kind": "data_lost", "message": "engine 0: packets were lost at 3 places", "amount": 3}


@pytest.fixture
def captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A whole one and one with a loss."""
    monkeypatch.chdir(tmp_path)
    raw = open_recording(own.ui_output(tmp_path / "recording")).read(1, arch="gfx942")
    save("whole.isaprof", raw.meta, raw.tables)
    save("lossy.isaprof", {**raw.meta, "warnings": [LOST]}, raw.tables)
    return "whole.isaprof", "lossy.isaprof"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    with pytest.raises(SystemExit) as e:
        cli.main([*arguments, "--json"])
    assert isinstance(e.value.code, int)
    return e.value.code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_report_refuses(captures: tuple[str, str], order: slice, capsys: pytest.CaptureFixture[str]) -> None:
    pair = captures[order]
    code, body = run(capsys, "report", *pair, "-o", "ab.html")
    assert (code, body["error"]["kind"]) == (3, "lossy")
    assert "packets were lost at 3 places" in body["error"]["message"]
    assert "--allow-lossy" in body["error"]["hint"]
    assert not Path("ab.html").exists()
    assert run(capsys, "report", *pair, "-o", "ab.html", "--allow-lossy")[0] == 0
    assert run(capsys, "report", "lossy.isaprof")[0] == 0  # alone, it is shown with its warning


def test_tui_refuses(captures: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal: Callable[[], bool] = lambda: True  # noqa: E731
    monkeypatch.setattr("sys.stdin.isatty", terminal, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", terminal, raising=False)
    with pytest.raises(BadInput) as e:
        tui.command(*map(Path, captures))
    assert e.value.kind == "lossy"
