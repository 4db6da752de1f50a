"""Running one verb without the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from isaprof import cli


@pytest.fixture
def run_import(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """``isaprof import ARGS`` in an empty directory: (exit code, stdout, stderr)."""
    here = tmp_path / "cwd"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(cli, "VERBS", {"import": "isaprof.cli.import_", "doctor": "isaprof.cli.doctor"})

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as e:
            cli.main(["import", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert isinstance(e.value.code, int)
        return e.value.code, out, err

    return run
