"""``isaprof doctor``: exit codes, the exact fixes, and the folder listing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isaprof.backends import environment
from isaprof.backends.environment import HARDWARE, SIMULATOR, Finding
from isaprof.cli import doctor
from isaprof.errors import BadInput, ExitCode

OK = Finding("LLVM AMDGPU tools", SIMULATOR, True, "22.1.0")
NO_LLVM = Finding("LLVM AMDGPU tools", SIMULATOR, False, "none found", "apt-get install -y llvm-22 lld-22")
NO_GPU = Finding("GPU", HARDWARE, False, "no /dev/kfd", "run on a machine with an AMD GPU")
Probe = Callable[..., None]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Probe:
    """Makes the probe find exactly these."""
    return lambda *findings: monkeypatch.setattr(environment, "probe", lambda: findings)


def test_the_simulator_needs_no_gpu(found: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    found(OK, NO_GPU)
    assert doctor.command() == ExitCode.OK
    out = capsys.readouterr().out
    assert "MISSING GPU" in out
    assert "to get it: run on a machine with an AMD GPU" in out
    assert "simulator backend: ready" in out
    assert "rocprofv3 backend: not ready" in out


def test_without_llvm_it_exits_6(found: Probe) -> None:
    found(NO_LLVM)
    assert doctor.command() == ExitCode.ENVIRONMENT


def test_the_hardware_backend_needs_everything(found: Probe) -> None:
    found(OK, NO_GPU)
    assert doctor.command(backend=doctor.Backend.rocprofv3) == ExitCode.ENVIRONMENT
    found(OK)
    assert doctor.command(backend=doctor.Backend.rocprofv3) == ExitCode.OK


def test_json(found: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    found(NO_LLVM, NO_GPU)
    assert doctor.command(as_json=True) == ExitCode.ENVIRONMENT
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema_version"] == 1
    assert shown["ready"] == {"simulator": False, "rocprofv3": False}
    assert shown["findings"][0] == {
        "name": "LLVM AMDGPU tools",
        "needed_by": "simulator",
        "ok": False,
        "detail": "none found",
        "fix": "apt-get install -y llvm-22 lld-22",
    }


def test_this_machine_can_be_probed() -> None:
    findings = environment.probe()
    assert len({f.name for f in findings}) == len(findings) == 7
    assert all(f.ok or f.fix for f in findings)
    python = findings[0]
    assert (python.name, python.ok) == ("Python", True)


def test_a_trace_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("meta.json", "se0.sqtt", "se1.sqtt", "kernel.co", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    assert doctor.command(tmp_path) == ExitCode.BAD_INPUT  # recognised by their names, but empty
    out = capsys.readouterr().out
    assert "2  raw SQTT, one shader engine" in out
    assert "se0.sqtt" in out
    assert "bad_meta" in out
    assert "notes" not in out
    assert doctor.command(tmp_path, as_json=True) == ExitCode.BAD_INPUT
    shown = json.loads(capsys.readouterr().out)
    assert [r["pattern"] for r in shown["recognised"]] == ["meta.json", "*.sqtt", "*.co"]


@pytest.mark.parametrize("content", [None, "notes.txt"])
def test_a_folder_without_a_trace_is_bad_input(
    tmp_path: Path, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "traces"
    if content:
        folder.mkdir()
        (folder / content).write_bytes(b"")
        assert doctor.command(folder) == ExitCode.BAD_INPUT
        assert "no_trace: " in capsys.readouterr().out
        return
    with pytest.raises(BadInput) as e:
        doctor.command(folder)
    assert e.value.kind == "not_found"


def test_a_file_is_not_called_absent(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("x")
    with pytest.raises(BadInput) as e:
        doctor.command(file)
    assert e.value.kind == "not_a_folder"
    assert "no such" not in e.value.message
    assert e.value.hint == f"isaprof doctor {tmp_path}   looks at the folder it lies in"


REAL = ("sqtt/gfx1100/gemm_run0", "sqtt/gfx950/gemm_run0", "att/wave_gemm_gfx950")


@pytest.mark.parametrize("folder", REAL)
def test_real_trace_folders_are_recognised(data_dir: Path, folder: str, capsys: Any) -> None:
    assert doctor.command(data_dir / folder, as_json=True) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["recognised"]
