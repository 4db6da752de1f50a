"""The simulator backend: what the raw capture says about the run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from isaprof.backends.protocol import RawCapture
from isaprof.backends.simulator import Simulator
from isaprof.capture import save
from isaprof.codeobj.elf import CodeObject
from isaprof.launch import find

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(scope="module")
def add_object() -> bytes:
    """The machine code of the sample waitcnt_relax (gfx942)."""
    spec = importlib.util.spec_from_file_location("samples_build", SAMPLES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data: bytes = module.build((SAMPLES / "waitcnt_relax/waitcnt_relax.s").read_text(), "gfx942")
    return data


def simulator(data: bytes, n: int, workgroups: str = "all", *, verify: bool = True) -> Simulator:
    co = CodeObject.from_bytes(data)
    kernel = co.kernel()
    file = find(kernel, co, explicit=SAMPLES / "waitcnt_relax/waitcnt_relax.launch.toml")
    return Simulator(co, data, kernel, file.resolve(str(n)), workgroups=workgroups, verify=verify)


@pytest.fixture(scope="module")
def big(add_object: bytes) -> tuple[Simulator, RawCapture]:
    """305 workgroups on 304 CUs: CU 0 gets two."""
    s = simulator(add_object, 305 * 1024)
    return s, s.capture()


def test_the_first_cu_gets_workgroups_in_turn(big: tuple[Simulator, RawCapture]) -> None:
    s, raw = big
    waves = raw.tables["waves"]
    assert sorted(waves["wg_x"].tolist()) == [0, 304]
    assert raw.meta["coverage"]["waves_total"] == 305
    assert raw.meta["coverage"]["executor"] in ("fast", "reference")
    assert raw.meta["coverage"]["fallbacks"] == {}
    assert raw.meta["coverage"]["waves_modelled"] == 2
    assert raw.meta["coverage"]["text"] == "modelled on one CU: waves 2 of 305"
    assert s.verification.verified is True
    assert (s.verification.checked, s.verification.total) == (305 * 1024, 305 * 1024)


def test_records_follow_the_code(big: tuple[Simulator, RawCapture]) -> None:
    _, raw = big
    code, insts = raw.tables["code"], raw.tables["insts"]
    assert code["line"].tolist() == list(range(len(code)))
    assert code["text"].iloc[-1].startswith("s_endpgm"), "padding after the kernel is left out"
    assert code["label"].iloc[0] == "waitcnt_relax"
    assert np.array_equal(code["pc"].iloc[:-1] + code["size"].iloc[:-1], code["pc"].iloc[1:])
    one = insts[insts["wave"] == 0]
    mnemonics = code["mnemonic"].to_numpy()[one["line"].to_numpy(dtype=int)]
    assert mnemonics[0] == "s_load_dwordx8"
    assert (mnemonics == "global_store_dword").sum() == 16
    assert (mnemonics == "v_add_f32_e32").sum() == 16


def test_meta_describes_kernel_launch_and_model(big: tuple[Simulator, RawCapture], tmp_path: Path) -> None:
    s, raw = big
    meta = raw.meta
    assert (meta["provenance"], meta["backend"], meta["arch"]) == ("modelled", "simulator", "gfx942")
    assert (meta["generation"], meta["wave_size"]) == ("gfx9", 64)
    assert meta["kernel"]["name"] == "waitcnt_relax"
    assert meta["kernel"]["sha256"] == s.co.sha256
    assert meta["launch"]["shape"] == {"N": 305 * 1024}
    assert {"name", "version"} <= set(meta["model"])
    assert raw.warnings == []
    capture = save(tmp_path / "x.isaprof", meta, raw.tables, raw.code_objects)
    assert capture.code_objects[0].data == s.data


def test_a_sample_is_said_to_be_one(add_object: bytes) -> None:
    s = simulator(add_object, 8 * 1024, "3")
    raw = s.capture()
    assert s.verification.verified is True
    assert (s.verification.checked, s.verification.total) == (3 * 1024, 8 * 1024)
    assert [w.kind for w in raw.warnings] == ["sampled"]
    assert raw.meta["coverage"]["workgroups_run"] == 3


def test_no_verify_says_so(add_object: bytes) -> None:
    s = simulator(add_object, 1024, verify=False)
    raw = s.capture()
    assert raw.meta["verification"]["verified"] is None
    assert "--no-verify" in raw.meta["verification"]["message"]


def test_progress_is_reported(add_object: bytes) -> None:
    seen: list[str] = []
    simulator(add_object, 1024).capture(lambda done, total, what: seen.append(what))
    assert seen
