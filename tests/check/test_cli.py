"""``isaprof check``: exit codes, the table, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.cli import main
from tests.check.test_samples import source

SHAPE = ["--shape", "64,64,128"]


def verb(*args: str) -> int:
    with pytest.raises(SystemExit) as e:
        main(["check", *args])
    return int(e.value.code or 0)


def test_a_right_kernel(samples_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb(str(samples_dir / "gemm_cdna3" / "gemm_cdna3.co"), *SHAPE, "--orders", "1") == 0
    out = capsys.readouterr().out
    assert "output verified" in out
    assert "0 errors, 0 warnings (1 of 1 workgroups" in out


def test_a_missing_wait(samples_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (samples_dir / "gemm_cdna3" / "gemm_cdna3.s").read_text().splitlines()
    line = next(n for n, t in enumerate(text, 1) if "s_waitcnt vmcnt(0)" in t)
    co = tmp_path / "k.co"
    co.write_bytes(source(samples_dir, "gemm_cdna3", line).data)
    launch = ["--launch", str(samples_dir / "gemm_cdna3" / "gemm_cdna3.launch.toml"), "--orders", "0"]
    assert verb(str(co), *SHAPE, *launch) == 1
    out = capsys.readouterr().out
    assert "error wait-missing" in out
    assert "missing before this line: s_waitcnt vmcnt(0)" in out
    assert "first: workgroup 0,0,0, wave 0" in out
    assert verb(str(co), *SHAPE, *launch, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["schema_version"], found["errors"], found["verified"], found["complete"]) == (
        1,
        1,
        True,
        True,
    )
    assert found["workgroups"] == {"run": 1, "total": 1}
    (f,) = found["findings"]
    assert (f["rule"], f["severity"], f["missing"]) == ("wait-missing", "error", "s_waitcnt vmcnt(0)")
    assert f["rule"] in found["rules"]
    assert f["other"]["text"].startswith("buffer_load")
    assert int(f["pc"], 16) > int(f["other"]["pc"], 16)
    assert (f["workgroup"], f["wave"]) == ([0, 0, 0], 0)


def test_what_cannot_be_run_is_no_finding(samples_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    co = str(samples_dir / "gemm_cdna3" / "gemm_cdna3.co")
    assert verb(co, *SHAPE, "--max-instructions", "100") == 4
    assert verb(co, "--shape", "7,7,7") == 2
    assert "--max-instructions" in capsys.readouterr().err


def test_a_wrong_output_without_a_finding(
    samples_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (samples_dir / "gemm_cdna3" / "gemm_cdna3.s").read_text().splitlines()
    line = next(n for n, t in enumerate(text, 1) if t.strip().startswith("v_mfma"))
    co = tmp_path / "k.co"
    co.write_bytes(source(samples_dir, "gemm_cdna3", line).data)
    launch = str(samples_dir / "gemm_cdna3" / "gemm_cdna3.launch.toml")
    assert verb(str(co), *SHAPE, "--launch", launch, "--orders", "0") == 5
    said = capsys.readouterr()
    assert "0 errors" in said.out
    assert "verification failed" in said.err
