"""The built-in launch files match the recorded objects they were written for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput, UsageError
from isaprof.launch import find

CASES = [
    ("gfx1100/gemm_run0/kernel.co", "tinygrad_gemm_32", (32, 32, 1), (16, 1, 1)),
    ("gfx950/gemm_run0/kernel.co", "tinygrad_gemm_32", (32, 32, 1), (16, 1, 1)),
    ("gfx1200/gemm_run0/kernel.co", "tinygrad_gemm_32", (32, 32, 1), (16, 1, 1)),
    ("gfx1100/plus_run0/kernel.co", "tinygrad_plus_3", (1, 1, 1), (3, 1, 1)),
    ("gfx950/plus_run0/kernel.co", "tinygrad_plus_3", (1, 1, 1), (3, 1, 1)),
    ("gfx1200/plus_run0/kernel.co", "tinygrad_plus_3", (1, 1, 1), (3, 1, 1)),
    ("gfx1100/empty_run0/kernel.co", "tinygrad_empty", (1, 1, 1), (1, 1, 1)),
    ("gfx950/empty_run0/kernel.co", "tinygrad_empty", (1, 1, 1), (1, 1, 1)),
    ("gfx1100/sync_run0/kernel0.co", "tinygrad_sync_128", (1, 1, 1), (128, 1, 1)),
    ("gfx1200/sync_run0/kernel0.co", "tinygrad_sync_128", (1, 1, 1), (128, 1, 1)),
    ("gfx1100/sync_run0/kernel1.co", "tinygrad_links_128", (1, 1, 1), (32, 1, 1)),
    ("gfx1200/sync_run0/kernel1.co", "tinygrad_links_128", (1, 1, 1), (32, 1, 1)),
]


@pytest.mark.parametrize(("name", "builtin", "grid", "workgroup"), CASES)
def test_recorded_objects_have_a_builtin_launch_file(
    data_dir: Path, tmp_path: Path, name: str, builtin: str, grid: tuple[int, ...], workgroup: tuple[int, ...]
) -> None:
    source = data_dir / "sqtt" / name
    arch = name.split("/")[0] if source.read_bytes()[18:20] == b"\0\0" else None
    copy = tmp_path / "anything.co"  # matched by content, not by where it lies or what it is called
    shutil.copy(source, copy)
    co = CodeObject.load(copy, arch)
    file = find(co.kernel(), co, copy)
    assert file.origin == f"builtin:{builtin}"
    launch = file.resolve(None)
    assert (launch.grid, launch.workgroup) == (grid, workgroup)


def test_the_fixed_shape_is_enforced(data_dir: Path) -> None:
    path = data_dir / "sqtt/gfx950/gemm_run0/kernel.co"
    co = CodeObject.load(path)
    file = find(co.kernel(), co, path)
    with pytest.raises(UsageError, match="fixed in the code"):
        file.resolve("64,32,32")


def test_a_symbol_many_kernels_share_is_matched_by_its_instructions(data_dir: Path) -> None:
    path = data_dir / "sqtt/gfx1100/plus_run0/kernel.co"
    data = bytearray(path.read_bytes())
    at = data.index(bytes.fromhex("01050206"))  # v_add_f32_e32 v1, v1, v2
    data[at : at + 4] = bytes.fromhex("01050210")  # v_mul_f32_e32 v1, v1, v2
    co = CodeObject.from_bytes(bytes(data))
    with pytest.raises(BadInput, match="no launch file"):
        find(co.kernel(), co, path.with_name("none.co"))
