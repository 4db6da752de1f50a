"""The search for rocprofv3, its decoder, HIP and GPUs, on made-up file systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from isaprof.backends import environment
from isaprof.backends.environment import Finding, gpu_targets, require_hardware
from isaprof.errors import EnvironmentProblem


def tool(path: Path, version: str, options: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "{version}";; *) echo "{options}";; esac\n')
    path.chmod(0o755)
    return path


def library(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_rocprofv3_on_path_comes_first(tmp_path: Path) -> None:
    first = tool(tmp_path / "bin/rocprofv3", "version: 1.0.0", "--att")
    tool(tmp_path / "opt/rocm/bin/rocprofv3", "version: 0.9", "--att")
    found = environment.rocprofv3({"PATH": f"{first.parent}:/bin:/usr/bin"}, root=tmp_path)
    assert found.ok
    assert found.detail == f"1.0.0, {first}, supports --att"


@pytest.mark.parametrize("variable", ["ROCM_PATH", "ROCM_HOME", None])
def test_rocprofv3_in_a_rocm_prefix(tmp_path: Path, variable: str | None) -> None:
    prefix = tmp_path / ("elsewhere" if variable else "opt/rocm")
    path = tool(prefix / "bin/rocprofv3", "1.1.0", "--att")
    environ = {"PATH": str(tmp_path), **({variable: str(prefix)} if variable else {})}
    assert environment.find_rocprofv3(environ, root=tmp_path) == str(path)


def test_a_rocprofv3_without_att_is_not_enough(tmp_path: Path) -> None:
    path = tool(tmp_path / "bin/rocprofv3", "version: 0.4.0", "--pmc")
    found = environment.rocprofv3({"PATH": f"{path.parent}:/bin:/usr/bin"}, root=tmp_path)
    assert not found.ok
    assert "0.4.0" in found.detail
    assert "does not know --att" in found.detail
    assert found.fix
    assert "rocprofiler-sdk" in found.fix


def test_no_rocprofv3(tmp_path: Path) -> None:
    found = environment.rocprofv3({"PATH": str(tmp_path)}, root=tmp_path)
    assert not found.ok
    assert found.fix


def test_decoder_search_order(tmp_path: Path) -> None:
    name = "librocprof-trace-decoder.so"
    expected = [
        library(tmp_path / "explicit" / name),
        library(tmp_path / "att" / name),
        library(tmp_path / "ld" / f"{name}.0.1"),
        library(tmp_path / "home/lib" / name),
        library(tmp_path / "prefix/lib" / name),
        library(tmp_path / "opt/rocm/lib" / name),
    ]
    environ = {
        "ROCPROF_TRACE_DECODER_LIB": str(expected[0]),
        "ROCPROF_ATT_LIBRARY_PATH": str(tmp_path / "att"),
        "LD_LIBRARY_PATH": f"{tmp_path}/absent:{tmp_path}/ld",
        "ROCM_HOME": str(tmp_path / "home"),
        "ROCM_PATH": str(tmp_path / "prefix"),
    }
    for path in expected:
        assert environment.find_decoder(environ, root=tmp_path) == path
        path.unlink()
    assert environment.find_decoder(environ, root=tmp_path) is None
    missing = environment.decoder(environ, root=tmp_path)
    assert not missing.ok
    assert missing.fix


def test_hip_library(tmp_path: Path) -> None:
    assert not environment.hip_library({}, root=tmp_path).ok
    path = library(tmp_path / "opt/rocm/lib/libamdhip64.so.7")
    assert environment.hip_library({}, root=tmp_path).detail == str(path)


@pytest.mark.parametrize(
    ("version", "target"),
    [
        (90402, "gfx942"),
        (90500, "gfx950"),
        (90010, "gfx90a"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
    ],
)
def test_gpu_targets_from_the_driver(tmp_path: Path, version: int, target: str) -> None:
    nodes = tmp_path / "sys/class/kfd/kfd/topology/nodes"
    for node, value in ((0, 0), (1, version)):  # node 0 is the CPU
        (nodes / str(node)).mkdir(parents=True)
        (nodes / str(node) / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {value}\nx 1\n")
    assert list(gpu_targets(tmp_path)) == [target]
    assert not environment.gpu(root=tmp_path).ok  # no /dev/kfd
    library(tmp_path / "dev/kfd")
    assert environment.gpu(root=tmp_path) == Finding("GPU", "rocprofv3", True, target)


def test_require_hardware_names_all_that_is_missing() -> None:
    require_hardware((Finding("GPU", "rocprofv3", True, "gfx950"),))
    missing = (
        Finding("a", "rocprofv3", False, "no a", "get a"),
        Finding("b", "rocprofv3", False, "no b", "get b"),
    )
    with pytest.raises(EnvironmentProblem, match=r"a \(no a\); b \(no b\)"):
        require_hardware(missing)


def test_an_llvm_that_knows_no_modelled_architecture_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM 14 knows gfx90a, and none of those whose timing is modelled."""
    from isaprof.isa import llvm

    tools = llvm.find_tools()

    def find_tools(arch: str | None = None) -> llvm.Tools:
        if arch in (None, "gfx90a"):
            return tools
        raise EnvironmentProblem(f"no LLVM that knows {arch}", hint="apt-get install llvm-22 lld-22")

    monkeypatch.setattr(llvm, "find_tools", find_tools)
    finding = environment.llvm()
    assert not finding.ok
    assert finding.fix == "apt-get install llvm-22 lld-22"
