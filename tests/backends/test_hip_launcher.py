"""The launcher makes exactly the HIP calls that AMD documents, in order.

The GPU is replaced by a recording stand-in with device memory of its own; it
checks the raw kernarg buffer by reading it through the pointers it is given.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import struct
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from isaprof.backends import hip_launcher
from isaprof.errors import BadInput, EnvironmentProblem


class Error(IntEnum):
    hipSuccess = 0
    hipErrorOutOfMemory = 2
    hipErrorLaunchFailure = 719


class FakeHip:
    """Device memory in a dict; the "kernel" adds 1 to each byte of its first buffer into the second."""

    HIP_LAUNCH_PARAM_BUFFER_POINTER, HIP_LAUNCH_PARAM_BUFFER_SIZE, HIP_LAUNCH_PARAM_END = 1, 2, 3
    hipMemcpyKind = staticmethod(int)

    def __init__(self, fail: str = "") -> None:
        self.calls: list[str] = []
        self.memory: dict[int, bytearray] = {}
        self.kernargs: list[bytes] = []
        self.geometry: tuple[Any, ...] = ()
        self.fail = fail

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("hip"):
            raise AttributeError(name)

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append(name)
            if name == self.fail:
                return (Error.hipErrorLaunchFailure,)
            result = getattr(self, "_" + name)(*arguments)
            return (Error.hipSuccess,) if result is None else (Error.hipSuccess, result)

        return call

    def _hipInit(self, flags: int) -> None:
        assert flags == 0

    def _hipSetDevice(self, index: int) -> None:
        assert index == 0

    def _hipModuleLoadData(self, image: bytearray) -> str:
        assert image == b"code"
        return "module"

    def _hipModuleGetFunction(self, module: str, name: bytes) -> str:
        assert (module, name) == ("module", b"k")
        return "function"

    def _hipMalloc(self, size: int) -> int:
        pointer = 0x1000 * (len(self.memory) + 1)
        self.memory[pointer] = bytearray(size)
        return pointer

    def _hipMemset(self, pointer: int, value: int, size: int) -> None:
        self.memory[pointer][:size] = bytes([value]) * size

    def _hipMemcpy(self, target: Any, source: Any, size: int, kind: int) -> None:
        if kind == 1:
            self.memory[target][:size] = source[:size]
        else:
            assert kind == 2
            target[:] = self.memory[source][:size]

    def _hipModuleLaunchKernel(self, function: str, *rest: Any) -> None:
        *geometry, stream, parameters, extra = rest
        assert (function, stream, parameters) == ("function", None, None)
        self.geometry = tuple(geometry)
        assert (extra[0], extra[2], extra[4]) == (1, 2, 3)
        size = ctypes.c_size_t.from_address(extra[3]).value
        self.kernargs.append(ctypes.string_at(extra[1], size))
        a, c = struct.unpack("<QQ", self.kernargs[-1])
        pairs = zip(self.memory[c], self.memory[a], strict=True)
        self.memory[c][:] = bytes((old + new + 1) & 255 for old, new in pairs)

    def _hipDeviceSynchronize(self) -> None: ...
    def _hipFree(self, pointer: int) -> None: ...
    def _hipModuleUnload(self, module: str) -> None: ...


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "k.co").write_bytes(b"code")
    (tmp_path / "buffers").mkdir()
    (tmp_path / "outputs").mkdir()
    data = bytes(range(8))
    (tmp_path / "buffers/a.bin").write_bytes(data)
    sha = hashlib.sha256(data).hexdigest()
    return {
        "schema": "isaprof-launcher",
        "schema_version": 1,
        "kernel": "k",
        "code_object": {"path": str(tmp_path / "k.co"), "sha256": hashlib.sha256(b"code").hexdigest()},
        "grid": [2, 3, 4],
        "workgroup": [64, 2, 1],
        "dynamic_lds": 512,
        "kernarg": {
            "size": 16,
            "bytes": bytes(16).hex(),
            "relocations": [
                {"offset": 0, "buffer": "A", "addend": 0},
                {"offset": 8, "buffer": "C", "addend": 0},
            ],
        },
        "buffers": [
            {"name": "A", "role": "input", "size": 8, "file": "buffers/a.bin", "sha256": sha},
            {"name": "C", "role": "output", "size": 8, "fill": 100, "output": "outputs/c.bin"},
        ],
        "warmup": 2,
        "iterations": 1,
    }


def test_a_launch_runs_on_the_given_buffers(spec: dict[str, Any], tmp_path: Path) -> None:
    hip = FakeHip()
    hip_launcher.run(spec, tmp_path, hip)
    assert hip.geometry == (2, 3, 4, 64, 2, 1, 512)
    # 100 + x + 1: refilled before each of the three launches, not accumulated
    assert (tmp_path / "outputs/c.bin").read_bytes() == bytes(101 + x for x in range(8))
    assert hip.kernargs == [struct.pack("<QQ", 0x1000, 0x2000)] * 3


def test_the_calls_come_in_the_documented_order(spec: dict[str, Any], tmp_path: Path) -> None:
    hip = FakeHip()
    hip_launcher.run({**spec, "warmup": 1}, tmp_path, hip)
    launch = ["hipModuleLaunchKernel", "hipDeviceSynchronize"]
    assert hip.calls == [
        "hipInit", "hipSetDevice", "hipModuleLoadData", "hipModuleGetFunction",
        "hipMalloc", "hipMemcpy", "hipMalloc", "hipMemset", *launch, "hipMemset", *launch, "hipMemcpy",
        "hipFree", "hipFree", "hipModuleUnload",
    ]  # fmt: skip


def test_a_failing_call_is_named_and_memory_is_freed(spec: dict[str, Any], tmp_path: Path) -> None:
    hip = FakeHip(fail="hipDeviceSynchronize")
    with pytest.raises(EnvironmentProblem, match="hipDeviceSynchronize failed: hipErrorLaunchFailure"):
        hip_launcher.run(spec, tmp_path, hip)
    assert hip.calls[-3:] == ["hipFree", "hipFree", "hipModuleUnload"]
    assert not (tmp_path / "outputs/c.bin").exists()


def test_the_first_error_is_reported_when_cleaning_up_fails_too(spec: dict[str, Any], tmp_path: Path) -> None:
    class Broken(FakeHip):
        def _hipDeviceSynchronize(self) -> None:
            self.fail = "hipFree"
            raise RuntimeError("gone")

    with pytest.raises(EnvironmentProblem, match="hipDeviceSynchronize: gone"):
        hip_launcher.run(spec, tmp_path, Broken())


@pytest.mark.parametrize("file", ["k.co", "buffers/a.bin"])
def test_changed_files_are_refused(spec: dict[str, Any], tmp_path: Path, file: str) -> None:
    (tmp_path / file).write_bytes(b"other")
    with pytest.raises(BadInput, match="has changed since the launcher spec was written"):
        hip_launcher.run(spec, tmp_path, FakeHip())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "unreadable launcher spec"),
        ("[]", "not a launcher spec"),
        ('{"schema": "isaprof-launcher", "schema_version": 9}', "version 9, not 1"),
    ],
)
def test_other_files_are_no_spec(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "launch.json").write_text(text)
    with pytest.raises(BadInput, match=message):
        hip_launcher.load(tmp_path / "launch.json")


def test_main_without_hip_says_what_to_install(
    spec: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rocm.bindings", None)
    (tmp_path / "launch.json").write_text(json.dumps(spec))
    assert hip_launcher.main([str(tmp_path / "launch.json")]) == 6
    assert "pip install rocm-bindings-hip" in capsys.readouterr().err
