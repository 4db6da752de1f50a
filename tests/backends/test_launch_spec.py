"""The launcher spec describes a launch so that another process repeats it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.backends import launch_spec
from isaprof.errors import IsaprofError


def buffer(name: str, role: str, data: bytes) -> Any:
    return SimpleNamespace(name=name, role=role, data=np.frombuffer(data, np.uint8))


class FakeLaunch:
    """A launch whose kernarg is: A, 32-bit scalar, padding, C + 64, A again."""

    grid = (4, 2, 1)
    workgroup = (64, 1, 1)
    dynamic_lds = 512

    def __init__(self) -> None:
        self.operands = [buffer("A", "input", bytes(range(16))), buffer("C", "output", b"\xff" * 32)]

    def kernarg(self, addresses: Mapping[str, int]) -> bytes:
        return struct.pack("<QIIQQ", addresses["A"], 7, 0, addresses["C"] + 64, addresses["A"])


def build(launch: Any, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kernel": "k", "code_object": Path("k.co"), "sha256": "00", "arch": "gfx1100",
        "launch": launch, "warmup": 1, "iterations": 1,
    }  # fmt: skip
    return launch_spec.build(**{**values, **changes})


def test_relocations_name_each_place_of_an_address() -> None:
    image, found = launch_spec.relocations(FakeLaunch())  # type: ignore[arg-type]
    assert image == struct.pack("<QIIQQ", 0, 7, 0, 0, 0)
    assert found == [
        {"offset": 0, "buffer": "A", "addend": 0},
        {"offset": 16, "buffer": "C", "addend": 64},
        {"offset": 24, "buffer": "A", "addend": 0},
    ]


@given(a=st.integers(0, 2**48 - 1), c=st.integers(0, 2**48 - 1))
def test_the_spec_rebuilds_the_kernarg_for_any_addresses(a: int, c: int) -> None:
    launch = FakeLaunch()
    spec = json.loads(json.dumps(build(launch)))
    assert launch_spec.kernarg(spec, {"A": a, "C": c}) == launch.kernarg({"A": a, "C": c})


def test_an_address_in_another_form_is_refused() -> None:
    class Split(FakeLaunch):
        def kernarg(self, addresses: Mapping[str, int]) -> bytes:
            return struct.pack("<QQ", addresses["A"] >> 8, addresses["C"])

    with pytest.raises(IsaprofError, match="address of 'A' in another form"):
        launch_spec.relocations(Split())  # type: ignore[arg-type]


def test_buffers_are_files_or_one_repeated_byte(tmp_path: Path) -> None:
    launch = FakeLaunch()
    spec = build(launch)
    a, c = spec["buffers"]
    assert (a["size"], a["file"], "output" in a) == (16, "buffers/0-A.bin", False)
    assert (c["size"], c["fill"], c["output"]) == (32, 255, "outputs/1-C.bin")
    launch_spec.write_buffers(spec, launch, tmp_path)  # type: ignore[arg-type]
    assert (tmp_path / a["file"]).read_bytes() == bytes(range(16))
    assert sorted(p.name for p in tmp_path.rglob("*.bin")) == ["0-A.bin"]


def test_buffer_names_never_leave_the_directory() -> None:
    launch = FakeLaunch()
    launch.operands[0].name = "../../x"
    launch.kernarg = lambda addresses: struct.pack("<Q", addresses["../../x"])  # type: ignore[method-assign]
    launch.operands.pop()
    assert build(launch)["buffers"][0]["file"] == "buffers/0-______x.bin"
