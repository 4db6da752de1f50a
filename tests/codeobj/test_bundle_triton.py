"""Triton cache folders: objects found, launch facts read, launch files filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.codeobj.bundle_triton import Parameter, metadata_of
from isaprof.codeobj.source import load_object, read_source
from isaprof.errors import BadInput, UsageError
from isaprof.isa.llvm import assemble, link
from isaprof.launch.file import LaunchFile
from isaprof.launch.match import mismatch
from isaprof.launch.template import skeleton

SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.amdhsa_code_object_version 5
.text
.globl add_kernel
.p2align 8
.type add_kernel,@function
add_kernel:
  s_endpgm
.Lend:
  .size add_kernel, .Lend-add_kernel
.rodata
.amdhsa_kernel add_kernel
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 4
  .amdhsa_accum_offset 4
  .amdhsa_kernarg_size 40
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: add_kernel
    .symbol: add_kernel.kd
    .kernarg_segment_size: 40
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 4
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 16, .size: 4, .value_kind: by_value}
      - {.offset: 20, .size: 4, .value_kind: by_value}
      - {.offset: 24, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 32, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
"""
METADATA: dict[str, Any] = {
    "name": "add_kernel",
    "target": {"backend": "hip", "arch": "gfx942", "warp_size": 64},
    "arch": "gfx942",
    "warp_size": 64,
    "num_warps": 4,
    "shared": 8192,
    "global_scratch_size": 0,
    "profile_scratch_size": 0,
    "launch_cooperative_grid": False,
    "triton_version": "3.4.0",
}
TTIR = (
    '#loc = loc("add.py":1:0)\nmodule {\n'
    '  tt.func public @add_kernel(%x_ptr: !tt.ptr<bf16> {tt.divisibility = 16 : i32} loc("x_ptr"(#loc)), '
    "%y_ptr: !tt.ptr<f8E4M3FNUZ> {tt.divisibility = 16 : i32}, %n: i32, %scale: f32) "
    "attributes {noinline = false} {\n    tt.return\n"
)
VARIANT = "QEYDGMTCGAYTEMZUGU3DOOBZGAYTEMZUGU3DOOBZGAYTEMZUGU3A"


@pytest.fixture(scope="module")
def hsaco() -> bytes:
    return link([assemble(SOURCE, "gfx942")])


@pytest.fixture
def variant(tmp_path: Path, hsaco: bytes) -> Path:
    """A cache root with one variant's folder in it; the folder is returned."""
    folder = tmp_path / "cache" / VARIANT
    folder.mkdir(parents=True)
    (folder / "add_kernel.hsaco").write_bytes(hsaco)
    (folder / "add_kernel.json").write_text(json.dumps(METADATA))
    (folder / "add_kernel.ttir").write_text(TTIR)
    (folder / "__grp__add_kernel.json").write_text(
        json.dumps({"child_paths": {"add_kernel.hsaco": "/somewhere/else/add_kernel.hsaco"}})
    )
    return folder


def test_a_folder_and_its_root_open_as_the_object(variant: Path, hsaco: bytes) -> None:
    for place in (variant, variant.parent, variant / "add_kernel.hsaco"):
        data, co, origin = load_object(place, kernel="add_kernel")
        assert data == hsaco
        assert co.arch == "gfx942"
        assert origin.path == variant / "add_kernel.hsaco"
        assert not origin.embedded
        assert origin.triton is not None
        assert origin.triton.workgroup == (256, 1, 1)
        assert (origin.triton.shared, origin.triton.triton_version) == (8192, "3.4.0")


def test_the_signature(variant: Path) -> None:
    meta = metadata_of(variant / "add_kernel.hsaco")
    assert meta is not None
    assert meta.parameters == (
        Parameter("x_ptr", "ptr", "bf16"),
        Parameter("y_ptr", "ptr", "f8E4M3FNUZ"),
        Parameter("n", "i32"),
        Parameter("scale", "f32"),
    )


def test_two_variants_of_a_kernel_are_ambiguous(variant: Path, hsaco: bytes) -> None:
    other = variant.parent / VARIANT[::-1]
    other.mkdir()
    (other / "add_kernel.hsaco").write_bytes(hsaco + b"\0")
    with pytest.raises(UsageError, match=f"(?s){VARIANT[::-1]}.*{VARIANT}|{VARIANT}.*{VARIANT[::-1]}"):
        load_object(variant.parent, target="gfx942")
    assert len(read_source(variant.parent).objects) == 2


def test_a_folder_without_objects(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"without \.hsaco files"):
        load_object(tmp_path)


def launch_file(variant: Path, tmp_path: Path) -> tuple[str, LaunchFile]:
    _, co, origin = load_object(variant)
    text = skeleton(co.kernel(), co, triton=origin.triton)
    path = tmp_path / "k.launch.toml"
    path.write_text(text)
    file = LaunchFile.load(path)
    assert mismatch(file, co.kernel(), co) is None
    return text, file


def test_the_launch_file_is_filled_in(variant: Path, tmp_path: Path) -> None:
    text, file = launch_file(variant, tmp_path)
    assert "workgroup = [256, 1, 1]  # Triton" in text
    assert "dynamic_lds = 8192" in text
    assert [(o.name, o.dtype({})) for o in file.operands] == [("x_ptr", "bf16"), ("y_ptr", "fp8_e4m3fnuz")]
    launch = file.resolve("N=512")
    kernarg = launch.kernarg({"x_ptr": 0x1000, "y_ptr": 0x2000})
    assert kernarg[:16] == (0x1000).to_bytes(8, "little") + (0x2000).to_bytes(8, "little")
    assert kernarg[16:20] == (512).to_bytes(4, "little")
    assert kernarg[24:40] == bytes(16), "scratch pointers are null"
    assert (launch.workgroup, launch.dynamic_lds) == ((256, 1, 1), 8192)


def test_without_a_signature_the_scratch_pointers_are_known_all_the_same(
    variant: Path, tmp_path: Path
) -> None:
    (variant / "add_kernel.ttir").unlink()
    text, file = launch_file(variant, tmp_path)
    assert [o.name for o in file.operands] == ["arg0", "arg8"]
    assert text.count("value = 0  # a scratch buffer") == 2


def test_scratch_that_is_used_becomes_an_operand(variant: Path, tmp_path: Path) -> None:
    (variant / "add_kernel.json").write_text(json.dumps({**METADATA, "global_scratch_size": 4096}))
    _, file = launch_file(variant, tmp_path)
    assert [(o.name, o.role) for o in file.operands][-1] == ("global_scratch", "scratch")


def test_a_signature_of_another_kernel_is_not_believed(variant: Path, tmp_path: Path) -> None:
    (variant / "add_kernel.ttir").write_text(TTIR.replace("%n: i32", "%n: i64"))
    _, file = launch_file(variant, tmp_path)
    assert [o.name for o in file.operands] == ["arg0", "arg8"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, '{"num_warps": "x"}', "\xff", '{"num_warps": 1e400}']
)
def test_metadata_that_is_none(variant: Path, text: str) -> None:
    (variant / "add_kernel.json").write_text(text)
    origin = load_object(variant)[2]
    assert origin.triton is None or origin.triton.workgroup is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(sorted(METADATA)), VALUES), st.text())
def test_any_metadata_gives_a_launch_file(
    variant: Path, tmp_path: Path, change: dict[str, Any], ttir: str
) -> None:
    (variant / "add_kernel.json").write_text(json.dumps({**METADATA, **change}))
    (variant / "add_kernel.ttir").write_bytes(
        ("tt.func public @add_kernel(" + ttir).encode("utf-8", "surrogatepass")
    )
    launch_file(variant, tmp_path)
