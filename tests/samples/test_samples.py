"""The sample kernels assemble, fit their launch files, and compute what they claim."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from isaprof.codeobj.elf import CodeObject
from isaprof.errors import UsageError
from isaprof.launch import LaunchFile, Verification, find
from isaprof.launch.match import mismatch

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def _build_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("samples_build", SAMPLES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["samples_build"] = module
    spec.loader.exec_module(module)
    return module


BUILD = _build_module()
OBJECTS: list[str] = list(BUILD.OBJECTS)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All sample objects, built from their sources into a directory of the test."""
    out = tmp_path_factory.mktemp("samples")
    for name in OBJECTS:
        BUILD.build_file(name, out)
        for toml in (SAMPLES / name).parent.glob("*.launch.toml"):
            (out / name).with_name(toml.name).write_text(toml.read_text())
    return out


@pytest.mark.parametrize("name", OBJECTS)
def test_object_is_for_its_target_and_matches_its_launch_file(built: Path, name: str) -> None:
    co = CodeObject.load(built / name)
    kernel = co.kernel()
    assert co.arch == BUILD.OBJECTS[name][1]
    assert co.metadata["amdhsa.target"].endswith(co.arch)
    file = find(kernel, co, built / name)
    assert file.origin.startswith(str(built))
    assert mismatch(file, kernel, co) is None
    launch = file.resolve(None)
    assert launch.threads == kernel.metadata[".max_flat_workgroup_size"]
    named = {a.offset: a.name for a in kernel.args}
    assert named == {a.offset: a.name for a in file.arguments}


@pytest.mark.parametrize("name", OBJECTS)
def test_metadata_agrees_with_the_descriptor(built: Path, name: str) -> None:
    kernel = CodeObject.load(built / name).kernel()
    d, meta = kernel.descriptor, kernel.metadata
    assert meta[".group_segment_fixed_size"] == d.group_segment_fixed_size
    assert meta[".kernarg_segment_size"] == d.kernarg_size
    assert meta[".wavefront_size"] == d.wave_size
    assert meta[".vgpr_count"] <= d.vgpr_count < meta[".vgpr_count"] + 8


@pytest.mark.parametrize("name", [n for n in OBJECTS if "gemm" in n])
@pytest.mark.parametrize(
    ("shape", "axis"), [("32,64,64", "M = 32"), ("64,100,64", "N = 100"), ("64,64,48", "K = 48")]
)
def test_shapes_the_tile_cannot_do_are_refused(name: str, shape: str, axis: str) -> None:
    file = LaunchFile.load(next((SAMPLES / name).parent.glob("*.launch.toml")))
    with pytest.raises(UsageError, match=axis):
        file.resolve(shape)


def test_build_leaves_an_up_to_date_object_alone(built: Path) -> None:
    path = BUILD.build_file(OBJECTS[0], built)
    before = path.stat().st_mtime_ns
    assert BUILD.build_file(OBJECTS[0], built).stat().st_mtime_ns == before


def test_unknown_object_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert BUILD.main(["nope.co"]) == 2
    assert "gemm_rdna35/gemm_rdna35.co" in capsys.readouterr().err


@pytest.mark.parametrize("name", [n for n in OBJECTS if "gemm" in n])
@pytest.mark.parametrize("shape", ["64,64,32", "128,64,96", "64,192,64"])
def test_gemm_is_right_at_several_shapes(built: Path, name: str, shape: str) -> None:
    verdict = _execute(built / name, shape, seed=3)
    assert verdict.verified is True, verdict.message
    m, n, _ = map(int, shape.split(","))
    assert (verdict.checked, verdict.total) == (m * n, m * n)
    assert verdict.cosine is not None
    assert verdict.cosine > 0.9999


@pytest.mark.parametrize("shape", ["1024", "4096"])
def test_streaming_add_is_right(built: Path, shape: str) -> None:
    verdict = _execute(built / "waitcnt_relax/waitcnt_relax.co", shape)
    assert verdict.verified is True, verdict.message
    assert verdict.max_abs_err is not None
    assert verdict.max_abs_err < 1e-6, "one rounding of a sum"


def _execute(path: Path, shape: str, seed: int | None = None) -> Verification:
    from isaprof.isa.decode import disassemble
    from isaprof.sim import functional

    co = CodeObject.load(path)
    kernel = co.kernel()
    launch = find(kernel, co, path).resolve(shape, seed=seed)
    result = functional.run(co, kernel, disassemble(path.read_bytes()), launch, trace=lambda wg: False)
    return launch.verify(result.outputs)
