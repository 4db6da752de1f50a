"""What can go wrong with a recording: its kind, exit code 3 and the next command, from import and doctor."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isaprof import cli
from tests.backends import own_recordings as own
from tests.parsers.encoder import Encoder

Run = Callable[..., tuple[int, str, str]]
OBJECT = "3785403_gfx950_code_object_id_3.out"


@pytest.fixture
def run(
    run_import: Run, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """``isaprof VERB ARGS --json``: exit code, the JSON object, stderr."""

    def call(*arguments: object) -> tuple[int, dict[str, Any], str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as e:
            cli.main([*map(str, arguments), "--json"])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert isinstance(e.value.code, int)
        return e.value.code, json.loads(out), err

    return call


Builder = Callable[[Path, Path], object]


def _code_null(folder: Path, _: Path) -> None:
    ui = own.ui_output(folder)
    body = json.loads((ui / "code.json").read_text())
    (ui / "code.json").write_text(json.dumps({**body, "code": None}))


def _no_wave_files(folder: Path, _: Path) -> None:
    ui = own.ui_output(folder)
    body = json.loads((ui / "filenames.json").read_text())
    (ui / "filenames.json").write_text(json.dumps({**body, "wave_filenames": None}))


def _raw(folder: Path, data: Path, buffer: bytes, name: str = "9_7_shader_engine_2_1.att") -> None:
    folder.mkdir(exist_ok=True)
    shutil.copy(data / "att" / "wave_gemm_gfx950" / "host" / OBJECT, folder)
    (folder / name).write_bytes(buffer)


def _other_cu(folder: Path, data: Path) -> None:
    """A gfx9 trace of CU 1 whose waves all ran on CU 6."""
    e = Encoder.start("gfx9")
    for slot in range(3):
        e.at(e.now + 8 * e.generation.time_unit, "WAVE_START", wave=slot, count=64, cu=6)
    for slot in range(3):
        e.at(e.now + 400, "WAVE_END", wave=slot, cu=6)
    _raw(folder, data, e.data())


def _log(text: str) -> Builder:
    def build(folder: Path, data: Path) -> None:
        folder.mkdir()
        own.tables(folder)
        (folder / "rocprofv3.log").write_text(f"W2026 tool.cpp:1\n{text}\nbye\n")

    return build


def _objects_only(folder: Path, data: Path) -> None:
    _raw(folder, data, b"")
    (folder / "9_7_shader_engine_2_1.att").unlink()


#: name -> what is written, kind, part of the message, part of the next command
CASES: dict[str, tuple[Builder, str, str, str]] = {
    "buffer of zeros": (
        lambda f, d: _raw(f, d, bytes(4096)),
        "zero_buffer",
        "100% of 4096 bytes",
        "--att-target-cu",
    ),
    "buffer of almost only zeros": (
        lambda f, d: _raw(f, d, bytes(4090) + b"\1" * 6),
        "zero_buffer",
        "100% of 4096 bytes",
        "--att-shader-engine-mask",
    ),
    "code null": (_code_null, "code_null", '"code": null', "keep the .att files"),
    "code null, raw files beside it": (
        lambda f, d: (_code_null(f, d), _raw(f, d, bytes(64))),
        "code_null",
        '"code": null',
        "--dispatch 1 --decoder isaprof",
    ),
    "stats with a header only": (
        lambda f, d: (f.mkdir(), own.stats(f, rows=False)),
        "stats_empty",
        "a header and no instruction",
        "isaprof doctor",
    ),
    "target CU, ui_output": (
        lambda f, d: own.ui_output(f, traced=False, occupied=((0, 4), (2, 4), (2, 4), (1, 9))),
        "target_cu_empty",
        "engine 2 CU 4 (2)",
        "--att-target-cu 4 --att-shader-engine-mask 0x5 -d DIR -- APP   (or CU 9)",
    ),
    "target CU, ui_output with code": (
        _no_wave_files,
        "target_cu_empty",
        "engine 0 CU 1 (2)",
        "--att-target-cu 1 --att-shader-engine-mask 0x9",
    ),
    "target WGP of RDNA, shader array 1": (
        lambda f, d: own.ui_output(f, "3.1.0", gfxip=11, traced=False, occupied=((3, 130),)),
        "target_cu_empty",
        "engine 3 CU 2 (1)",
        "--att-target-cu 2 --att-shader-engine-mask 0x8",
    ),
    "target CU, raw": (
        _other_cu,
        "target_cu_empty",
        "CU 6",
        "--att-target-cu 6 --att-shader-engine-mask 0x4",
    ),
    "shader-engine mask, ui_output": (
        lambda f, d: own.ui_output(f, traced=False),
        "wrong_se_mask",
        "no wave",
        "--att-shader-engine-mask 0xffffffff",
    ),
    "shader-engine mask, raw": (
        lambda f, d: _raw(f, d, Encoder.start("gfx9").data(8)[:8] + bytes(56)),
        "wrong_se_mask",
        "engines (2)",
        "--att-shader-engine-mask 0xffffffff",
    ),
    "INVALID_SHADER_DATA, raw": (
        lambda f, d: _raw(f, d, b"\x5a" * 512),
        "invalid_shader_data",
        "INVALID_SHADER_DATA",
        "ROCm 7.0 or newer",
    ),
    "INVALID_SHADER_DATA, printed": (
        _log("Callback failed with status 4: THREAD_TRACE_DECODER_STATUS_ERROR_INVALID_SHADER_DATA"),
        "invalid_shader_data",
        "rocprofv3.log",
        "ROCm 7.0 or newer",
    ),
    "too old, printed": (
        _log("rocprofv3: error: unrecognized arguments: --att"),
        "rocprofv3_too_old",
        "too old for --att",
        "apt-get install --only-upgrade -y rocprofiler-sdk",
    ),
    "no --att": (
        lambda f, d: (f.mkdir(), own.results(f)),
        "no_thread_trace",
        "without --att",
        "rocprofv3 --att -d DIR",
    ),
    "device mode, code objects only": (
        _objects_only,
        "device_mode",
        "no .att file",
        "without --att-consecutive-kernels",
    ),
    "device mode, a trace of no dispatch": (
        lambda f, d: _raw(f, d, bytes(64), "9_7_shader_engine_2.att"),
        "device_mode",
        "belongs to no dispatch",
        "without --att-consecutive-kernels",
    ),
    "device mode, printed": (
        _log("thread trace context not present for agent"),
        "device_mode",
        "device mode",
        "--kernel-include-regex",
    ),
    "no decoder library, printed": (
        _log("FATAL: rocprof-trace-decoder library path not found"),
        "decoder_missing",
        "library",
        "isaprof doctor --backend rocprofv3",
    ),
}


@pytest.fixture(autouse=True)
def _no_rocm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "nowhere"))


@pytest.mark.parametrize("case", CASES)
def test_import_and_doctor_say_it(case: str, run: Callable[..., Any], tmp_path: Path, data_dir: Path) -> None:
    build, kind, message, command = CASES[case]
    folder = tmp_path / "recording"
    build(folder, data_dir)
    code, body, err = run("import", folder)
    assert (code, body["error"]["kind"]) == (3, kind), err
    assert message in body["error"]["message"]
    assert command in body["error"]["hint"]
    assert list((tmp_path / "cwd").iterdir()) == []
    code, body, _ = run("doctor", folder)
    assert (code, body["error"]["kind"]) == (3, kind)
    (diagnosis,) = (d for d in body["diagnoses"] if d["kind"] == kind)
    assert message in diagnosis["message"]
    assert command in diagnosis["next"]


def test_a_rocprofv3_that_is_too_old(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables without a trace, and the installed rocprofv3 does not know --att."""
    tool = tmp_path / "bin" / "rocprofv3"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 'usage: rocprofv3 [--pmc ...]'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    (tmp_path / "recording").mkdir()
    own.tables(tmp_path / "recording")
    code, body, _ = run("import", tmp_path / "recording")
    assert (code, body["error"]["kind"]) == (3, "rocprofv3_too_old")
    assert str(tool) in body["error"]["message"]


@pytest.mark.parametrize(("layout", "said"), [("3.0.0", True), ("3.1.0", False)])
def test_the_4_cycle_error_of_old_decoders(
    run: Callable[..., Any], tmp_path: Path, layout: str, said: bool
) -> None:
    """RDNA only; what a decoder of 0.1.5 or later shows by its files is trusted."""
    own.ui_output(tmp_path / "rdna", layout, gfxip=12)
    own.ui_output(tmp_path / "cdna", layout)
    code, body, _ = run("import", tmp_path / "rdna", "--arch", "gfx1200")
    kinds = [w["kind"] for w in body["captures"][0]["warnings"]]
    assert (code, "decoder_4_cycles" in kinds) == (0, said)
    code, body, _ = run("doctor", tmp_path / "rdna")
    assert (code, [d["kind"] for d in body["diagnoses"]]) == ((3, ["decoder_4_cycles"]) if said else (0, []))
    if said:
        assert body["diagnoses"][0]["next"].endswith("--decoder isaprof")
    assert run("doctor", tmp_path / "cdna")[0] == 0


@pytest.fixture
def engines(data_dir: Path, tmp_path: Path) -> Path:
    """A real folder, without its hashes, of which one engine is garbage."""
    out = tmp_path / "engines"
    source = data_dir / "sqtt" / "gfx1100" / "plus_run0"
    shutil.copytree(source, out, ignore=shutil.ignore_patterns("expected*"))
    for path in out.iterdir():
        path.chmod(0o644)
    meta = json.loads((out / "meta.json").read_text())
    for t in meta["traces"]:
        t.pop("sha256", None)
    (out / "meta.json").write_text(json.dumps(meta))
    (out / "se3.sqtt").write_bytes(b"\x5a" * (out / "se3.sqtt").stat().st_size)
    return out


def test_one_undecodable_engine(run: Callable[..., Any], engines: Path) -> None:
    """The others are analysed; the share that is lost is said; --strict refuses."""
    total = sum(p.stat().st_size for p in engines.glob("*.sqtt"))
    share = f"{(engines / 'se3.sqtt').stat().st_size / total:.0%} of the trace"
    code, body, _ = run("import", engines)
    (warning,) = body["captures"][0]["warnings"]
    assert (code, warning["kind"], warning["se"]) == (0, "undecodable", 3)
    assert share in warning["message"]
    assert body["captures"][0]["instructions"] > 0
    code, body, _ = run("import", engines, "--strict")
    assert (code, body["error"]["kind"]) == (7, "data_loss")
    code, body, _ = run("doctor", engines)
    (diagnosis,) = body["diagnoses"]
    assert (code, diagnosis["kind"], diagnosis["se"]) == (3, "undecodable", 3)
    assert f"isaprof import {engines}" in diagnosis["next"]


def test_an_engine_that_was_not_copied(run: Callable[..., Any], tmp_path: Path, data_dir: Path) -> None:
    """results.json says which .att files were written."""
    host = data_dir / "att" / "wave_gemm_gfx950" / "host"
    for path in (host / OBJECT, host / "3785403_32617_shader_engine_0_3.att"):
        shutil.copy(path, tmp_path)
    names = [f"3785403_32617_shader_engine_{se}_3.att" for se in (0, 5)]
    tool = {"strings": {"att_filenames": [[3, [32617, names]]]}}
    (tmp_path / "3785403_results.json").write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    code, body, _ = run("import", tmp_path, "-o", tmp_path / "x.isaprof")
    assert (code, [(w["kind"], w["se"]) for w in body["captures"][0]["warnings"]]) == (
        0,
        [("missing_file", 5)],
    )
    assert run("import", tmp_path, "--strict")[0] == 7


def test_doctor_names_the_cu_of_a_raw_folder(run: Callable[..., Any], data_dir: Path) -> None:
    """import keeps the occupancy of such a trace, and warns; doctor says what to record."""
    folder = data_dir / "sqtt" / "gfx950" / "plus_run0"
    assert run("import", folder)[0] == 0
    code, body, _ = run("doctor", folder)
    assert (code, body["error"]["kind"]) == (3, "target_cu_empty")
    assert "--att-target-cu 6 --att-shader-engine-mask 0x4" in body["error"]["hint"]
    assert (
        run("doctor", data_dir / "sqtt" / "gfx1100" / "empty_run0")[0] == 0
    )  # one s_endpgm: nothing to trace


def test_doctor_for_people(tmp_path: Path, run_import: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for n in (2, 10):
        own.ui_output(tmp_path / "two", "3.1.0", dispatch=n)
    own.ui_output(tmp_path / "two", traced=False, dispatch=3)

    def doctor(path: Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as e:
            cli.main(["doctor", str(path)])
        assert isinstance(e.value.code, int)
        return e.value.code, capsys.readouterr().out

    code, out = doctor(tmp_path / "two")
    assert code == 3
    assert "3 dispatches:" in out
    assert "wrong_se_mask: dispatch 3: " in out
    assert "  next: rocprofv3 --att" in out
    shutil.rmtree(tmp_path / "two" / "ui_output_agent_7_dispatch_3")
    code, out = doctor(tmp_path / "two")
    assert (code, out.splitlines()[-1]) == (0, f"isaprof import {tmp_path / 'two'}   reads it")
    stats = own.stats(tmp_path, rows=False)
    assert doctor(stats)[0] == 3
