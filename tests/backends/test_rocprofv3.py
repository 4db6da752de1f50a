"""The rocprofv3 backend: the exact command line, and what it says without a GPU."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isaprof.backends import environment, rocprofv3
from isaprof.backends.rocprofv3 import AttOptions, Rocprofv3
from isaprof.errors import EnvironmentProblem, UsageError


class FakeLaunch:
    grid, workgroup, dynamic_lds = (4, 1, 1), (64, 1, 1), 0

    def __init__(self) -> None:
        self.operands = [SimpleNamespace(name="A", role="inout", data=np.zeros(64, np.uint8))]

    def kernarg(self, addresses: Mapping[str, int]) -> bytes:
        return addresses["A"].to_bytes(8, "little")

    def describe(self) -> dict[str, Any]:
        return {"shape": {"M": 1}}

    def verify(self, outputs: Mapping[str, bytes]) -> Any:
        verdict = {"verified": outputs == {"A": b"\x07" * 64}}
        return SimpleNamespace(to_dict=lambda: verdict)


def backend(directory: Path, *, arch: str = "gfx950", kernel: str = "gemm", **options: Any) -> Rocprofv3:
    co: Any = SimpleNamespace(arch=arch, sha256="ab" * 32)
    launch: Any = FakeLaunch()
    return Rocprofv3(
        co,
        directory / "k.co",
        SimpleNamespace(name=kernel),
        launch,
        directory / "run",
        AttOptions(**options),  # type: ignore[arg-type]
    )


def option(command: list[str], name: str) -> str:
    assert command.count(name) == 1
    assert command.index(name) < command.index("--")
    return command[command.index(name) + 1]


def test_the_command_line(tmp_path: Path) -> None:
    command = backend(tmp_path).command()
    assert Path(command[0]).name == "rocprofv3"
    assert command[1] == "--att"
    assert option(command, "--att-target-cu") == "1"
    assert option(command, "--att-shader-engine-mask") == "0x1"
    assert option(command, "--att-buffer-size") == str(256 << 20)
    assert option(command, "--kernel-iteration-range") == "[2]"
    assert option(command, "-d") == str(tmp_path / "run" / "rocprofv3")
    spec = str(tmp_path / "run" / "launch.json")
    assert command[command.index("--") + 2 :] == ["-m", "isaprof.backends.hip_launcher", spec]


@pytest.mark.parametrize(
    ("arch", "simd"),
    [("gfx90a", "0xf"), ("gfx942", "0xf"), ("gfx950", "0xf"), ("gfx1100", "0x0"), ("gfx1201", "0x0")],
)
def test_simd_select_is_a_mask_on_gfx9_and_a_number_after(tmp_path: Path, arch: str, simd: str) -> None:
    assert option(backend(tmp_path, arch=arch).command(), "--att-simd-select") == simd


def test_options_reach_the_command_line(tmp_path: Path) -> None:
    options = {"target_cu": 3, "simd_select": 2, "shader_engine_mask": 0x11, "buffer_size": 4096}
    command = backend(tmp_path, **options, warmup=2, iterations=3).command()
    assert option(command, "--att-target-cu") == "3"
    assert option(command, "--att-simd-select") == "0x2"
    assert option(command, "--att-shader-engine-mask") == "0x11"
    assert option(command, "--att-buffer-size") == "4096"
    assert option(command, "--kernel-iteration-range") == "[3-5]"


@pytest.mark.parametrize("kernel", ["gemm", "_Z1fILi3EEvPf", "a.b$c+(d)"])
def test_the_regex_matches_the_kernel_and_nothing_else(tmp_path: Path, kernel: str) -> None:
    regex = option(backend(tmp_path, kernel=kernel).command(), "--kernel-include-regex")
    assert re.search(regex, kernel)
    assert re.search(regex, kernel + ".kd")
    for other in (kernel + "2", "x" + kernel, kernel.replace(".", "x") + "x", ""):
        assert not re.search(regex, other)


def test_the_decoder_library_that_was_found_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "librocprof-trace-decoder.so"
    library.write_bytes(b"")
    monkeypatch.setenv("ROCPROF_TRACE_DECODER_LIB", str(library))
    assert option(backend(tmp_path).command(), "--att-library-path") == str(tmp_path)


def test_dry_run_prints_everything_and_writes_nothing(tmp_path: Path) -> None:
    shown = backend(tmp_path).describe()
    assert shown["spec"]["kernel"] == "gemm"
    assert shown["spec"]["code_object"]["sha256"] == "ab" * 32
    assert shlex.split(shown["shell"]) == shown["command"]
    assert list(tmp_path.iterdir()) == []


def test_without_hardware_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = environment.Finding("GPU", environment.HARDWARE, False, "no /dev/kfd", "buy one")
    monkeypatch.setattr(environment, "hardware", lambda: (missing,))
    with pytest.raises(EnvironmentProblem, match=r"GPU \(no /dev/kfd\)") as e:
        backend(tmp_path).capture()
    assert e.value.hint is not None
    assert e.value.hint.startswith("isaprof doctor")
    assert list(tmp_path.iterdir()) == []


def test_a_gpu_of_another_architecture_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "hardware", lambda: ())
    monkeypatch.setattr(environment, "gpu_targets", lambda: iter(["gfx1100"]))
    with pytest.raises(EnvironmentProblem, match="for gfx950, this machine has gfx1100"):
        backend(tmp_path).capture()


def script(path: Path, text: str) -> str:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("echo 'rocprof-trace-decoder library path not found'; exit 1", "path not found", "isaprof doctor"),
        ("echo 'INVALID_SHADER_DATA'", "INVALID_SHADER_DATA", "update ROCm"),
        ("echo 'no such option' >&2; exit 2", "exit 2", "isaprof doctor"),
        ("sleep 30", "stopped after 0.5 s", "simulator"),
    ],
)
def test_failures_of_rocprofv3_are_explained(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(EnvironmentProblem, match=message) as e:
        rocprofv3.run([script(tmp_path / "rocprofv3", text)], timeout=0.5)
    assert hint in (e.value.hint or "")


#: stands in for rocprofv3: checks the spec, "runs" it, and leaves a trace that real hardware made
TRACER = """
case "$1" in --version|--help) echo "version: 1.0.0 --att"; exit;; esac
while [ "$1" != -d ]; do shift; done
out=$2
while [ $# -gt 1 ]; do shift; done
[ -f "$1" ] || exit 9
mkdir -p "$out" && cp -r "$TRACE"/. "$out"
head -c 64 /dev/zero | tr '\\0' '\\7' > "$(dirname "$1")/outputs/0-A.bin"
echo "Thread trace buffer full!"
"""


def test_a_whole_run_with_a_recorded_trace(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin/rocprofv3", TRACER)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("TRACE", str(data_dir / "att/wave_gemm_gfx950"))
    monkeypatch.setattr(environment, "hardware", lambda: ())
    monkeypatch.setattr(environment, "gpu_targets", lambda: iter(["gfx950"]))
    run = backend(tmp_path)
    raw = run.capture()
    assert raw.meta["provenance"] == "measured"
    assert (raw.meta["backend"], raw.meta["launch"]) == ("rocprofv3", {"shape": {"M": 1}})
    assert raw.meta["verification"] == {"verified": True}
    assert "buffer_full" in [w.kind for w in raw.warnings]
    assert len(raw.tables["insts"]) > 3000
    with pytest.raises(UsageError, match="already exists"):
        run.capture()
