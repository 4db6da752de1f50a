"""The W4A16 ladder and the MXFP4 GEMMs: right at many shapes, clean, and steps of a ladder."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from isaprof.codeobj.elf import CodeObject
from isaprof.errors import UsageError
from isaprof.launch import LaunchFile, Verification, find

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
build_file = runpy.run_path(str(SAMPLES / "build.py"))["build_file"]
Build = Callable[[str], Path]
LADDER = [f"w4a16_ladder/step{n}.co" for n in range(6)]
MXFP4 = [f"mxfp4_gfx950/mxfp4_{n}.co" for n in ("registers", "pipelined", "prequantised")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds an object, when it is asked for, in a directory of the test."""
    out = tmp_path_factory.mktemp("quantised")

    @cache
    def build(name: str) -> Path:
        path: Path = build_file(name, out)
        for toml in (SAMPLES / name).parent.glob("*.launch.toml"):
            path.with_name(toml.name).write_text(toml.read_text())
        return path

    return build


def run(path: Path, shape: str) -> tuple[Verification, int]:
    """(verdict, modelled cycles of one CU or WGP)."""
    from isaprof.backends.simulator import Simulator

    data = path.read_bytes()
    co = CodeObject.from_bytes(data, path=path)
    kernel = co.kernel()
    simulator = Simulator(co, data, kernel, find(kernel, co, path).resolve(shape, seed=5))
    waves: Any = simulator.capture().tables["waves"]
    return simulator.verification, int(waves["end"].max() - waves["begin"].min())


def assert_right(verdict: Verification, shape: str, cosine: float = 0.999) -> None:
    assert verdict.verified is True, verdict.message
    m, n = (int(x) for x in shape.split(",")[:2])
    assert (verdict.checked, verdict.total, verdict.unwritten) == (m * n, m * n, 0)
    assert verdict.cosine is not None
    assert verdict.cosine >= cosine


@pytest.mark.parametrize("directory", ["w4a16_ladder", "mxfp4_gfx950"])
def test_sources_are_what_the_generator_writes(directory: str) -> None:
    made = runpy.run_path(str(SAMPLES / directory / "generate.py"), run_name="generate")
    if directory == "w4a16_ladder":
        texts = {f"step{s.number}.s": made["source"](s) for s in made["STEPS"]}
    else:
        texts = {f"{name}.s": made["source"](name) for name in made["KERNELS"]}
    for name, text in texts.items():
        assert (SAMPLES / directory / name).read_text() == text, f"run samples/{directory}/generate.py"


@pytest.mark.parametrize(
    ("name", "shape"),
    [(LADDER[0], "130,70,64"), (LADDER[5], "130,70,64"), (MXFP4[2], "17,64,512")],
)
def test_first_and_last_are_right_at_a_ragged_shape(built: Build, name: str, shape: str) -> None:
    assert_right(run(built(name), shape)[0], shape)


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        (LADDER[0], "64,64,48", "K = 48"),
        (LADDER[0], "64,64,96,group_size=64", "group_size = 64"),
        (MXFP4[0], "16,48,256", "N = 48"),
        (MXFP4[1], "16,96,256", "N = 96"),
        (MXFP4[1], "16,64,384", "K = 384"),
        (MXFP4[2], "16,64,9728", "K = 9728"),
    ],
)
def test_what_a_kernel_cannot_do_is_refused(name: str, shape: str, words: str) -> None:
    directory = (SAMPLES / name).parent
    own = directory / f"{Path(name).stem}.launch.toml"
    file = LaunchFile.load(own if own.exists() else next(directory.glob("*.launch.toml")))
    with pytest.raises(UsageError, match=words):
        file.resolve(shape)


@pytest.mark.slow
@pytest.mark.parametrize("name", LADDER)
@pytest.mark.parametrize(
    "shape", ["256,256,512", "1,1,32", "129,65,96", "300,200,256", "64,64,4096", "128,64,512,group_size=128"]
)
def test_each_step_is_right(built: Build, name: str, shape: str) -> None:
    """K = 4096: rows of W are padded. group_size = 128: four K steps share a scale."""
    assert_right(run(built(name), shape)[0], shape)


@pytest.mark.slow
def test_prefetch_gains_in_the_model_and_no_step_costs_more_than_two_percent(built: Build) -> None:
    cycles = [run(built(name), "256,256,512")[1] for name in LADDER]
    assert cycles[2] < 0.9 * cycles[1]
    assert all(b < 1.02 * a for a, b in pairwise(cycles)), cycles


@pytest.mark.slow
@pytest.mark.parametrize("name", MXFP4)
@pytest.mark.parametrize("shape", ["1,64,256", "40,192,768", "8,2112,7168", "16,3072,1536", "256,2880,512"])
def test_mxfp4_is_right(built: Build, name: str, shape: str) -> None:
    assert_right(run(built(name), shape)[0], shape, cosine=0.99999)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LADDER, *MXFP4, "gemm_rdna4/gemm_rdna4.co"])
def test_lint_has_nothing_to_say_and_the_object_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    from isaprof.asm.prove import prove
    from isaprof.lint import lint_object

    path = build_file(name, tmp_path)
    report = lint_object(path.read_bytes(), path=path)
    assert not report.findings, report.findings
    assert prove(path.read_bytes(), path=str(path)).verdict == "identical"
