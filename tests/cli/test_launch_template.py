"""``isaprof launch-template``: a file that loads again, on stdout, in a file, or in JSON."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from isaprof import cli


@pytest.fixture
def kernel(samples_dir: Path) -> str:
    return str(samples_dir / "gemm_rdna35/gemm_rdna35.co")


def run(capsys: pytest.CaptureFixture[str], kernel: str, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as e:
        cli.main(["launch-template", kernel, *arguments])
    return int(str(e.value.code)), capsys.readouterr().out


def test_on_stdout(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, kernel)
    assert code == 0
    assert tomllib.loads(out)["kernel"]["symbol"] == "gemm_rdna35"


def test_json_is_one_object(kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = run(capsys, kernel)
    code, out = run(capsys, kernel, "--json")
    assert code == 0
    assert json.loads(out) == {
        "schema_version": 1,
        "kernel": "gemm_rdna35",
        "arch": "gfx1151",
        "output": None,
        "launch_file": text,
    }
    file = tmp_path / "k.launch.toml"
    assert json.loads(run(capsys, kernel, "--json", "-o", str(file))[1])["output"] == str(file)
    assert file.read_text() == text
    code, out = run(capsys, kernel, "--json", "-o", str(file))
    assert code == 2
    assert "already exists" in json.loads(out)["error"]["message"]
