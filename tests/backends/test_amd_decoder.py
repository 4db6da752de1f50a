"""``--decoder rocprof`` against libraries of our own with the interface of AMD's decoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isaprof.backends import amd_decoder, environment
from isaprof.backends.protocol import RawCapture
from isaprof.backends.recorded import open_recording
from isaprof.errors import EnvironmentProblem
from isaprof.parsers.sqtt.model import Cat, State
from tests.backends import fake_decoder

Run = Callable[..., tuple[int, str, str]]
UI = "ui_output_agent_32617_dispatch_3"
ENGINES = (0, 5, 22)
ENTRY = (0x1700, 3)


@pytest.fixture(scope="module")
def folder(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three engines of the real recording (two with traced waves) and what AMD's decoder made of them."""
    source = data_dir / "att" / "wave_gemm_gfx950"
    out = tmp_path_factory.mktemp("att")
    (out / "host").mkdir()
    for se in ENGINES:
        shutil.copy(source / "host" / f"3785403_32617_shader_engine_{se}_3.att", out / "host")
    for name in ("kernel_trace.csv", "agent_info.csv", "gfx950_code_object_id_3.out"):
        shutil.copy(source / "host" / f"3785403_{name}", out / "host")
    shutil.copytree(source / UI, out / UI)
    for path in (out / UI).iterdir():
        path.chmod(0o644)
    for name in ("filenames.json", "occupancy.json"):
        body = json.loads((out / UI / name).read_text())
        tree = body.get("wave_filenames", body)
        for key in [k for k in tree if k.isdecimal() and int(k) not in ENGINES]:
            del tree[key]
        (out / UI / name).write_text(json.dumps(body))
    for path in (out / UI).glob("se*_perfcounter.json"):
        if int(path.name[2:].split("_")[0]) not in ENGINES:
            path.unlink()
    return out


@pytest.fixture(scope="module")
def body(folder: Path) -> str:
    buffers = {se: folder / "host" / f"3785403_32617_shader_engine_{se}_3.att" for se in ENGINES}
    return fake_decoder.tables(folder / UI, buffers, ENTRY)


@pytest.fixture
def installed(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Builds a library and makes it the one that is found."""

    def build(**options: Any) -> Path:
        path = fake_decoder.build(tmp_path / "lib", body, **options)
        monkeypatch.setenv("ROCPROF_TRACE_DECODER_LIB", str(path))
        return path

    return build


def same(a: RawCapture, b: RawCapture, *, but: tuple[str, ...] = ()) -> None:
    for key in (
        "arch",
        "generation",
        "kernel",
        "kernels",
        "wave_size",
        "launch",
        "dispatch",
        "coverage",
        "device",
    ):
        assert a.meta[key] == b.meta[key], key
    for name in ("code", "waves", "insts", "states", "occupancy"):
        for column in a.tables[name].columns:
            if f"{name}.{column}" not in but:
                x, y = (t.tables[name][column].astype(object) for t in (a, b))
                assert x.where(x.notna(), None).tolist() == y.where(y.notna(), None).tolist(), (name, column)
    x, y = (t.tables["counters"].drop(columns="name") for t in (a, b))  # names are in filenames.json only
    assert x.values.tolist() == y.values.tolist()


@pytest.mark.parametrize(("options", "version"), [({}, "0.2.3"), ({"V1": 1}, None), ({"EXTRA": 3}, "0.2.3")])
def test_the_same_capture_comes_out(
    installed: Callable[..., Path], folder: Path, options: dict[str, int], version: str | None
) -> None:
    """Handle interface, the older one, and a later one with longer records: as ui_output, row by row."""
    installed(**options)
    recording = open_recording(folder)
    amd = recording.read(3, decoder="rocprof")
    same(amd, recording.read(3, decoder="ui"))
    same(amd, recording.read(3, decoder="isaprof"), but=("waves.dispatch", "waves.threads"))
    assert amd.meta["backend"] == "rocprof-trace-decoder"
    assert amd.meta["decoder"] == {"name": "rocprof-trace-decoder", "version": version}
    assert amd.warnings == []
    assert "totals" not in amd.tables
    assert len(amd.tables["insts"]) == 3552


def test_one_engine_it_refuses(
    installed: Callable[..., Path], folder: Path, tmp_path: Path, run_import: Run
) -> None:
    installed()
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    bad = copy / "host" / "3785403_32617_shader_engine_5_3.att"
    bad.chmod(0o644)
    bad.write_bytes(b"\x5a" * bad.stat().st_size)
    code, out, err = run_import(copy, "--decoder", "rocprof", "--json")
    assert code == 0, err
    (warning,) = json.loads(out)["captures"][0]["warnings"]
    assert (warning["kind"], warning["se"], warning["amount"]) == ("undecodable", 5, bad.stat().st_size)
    assert "INVALID_SHADER_DATA" in warning["message"]
    assert "% of the trace" in warning["message"]
    assert run_import(copy, "--decoder", "rocprof", "--strict")[0] == 7
    for path in (copy / "host").glob("*.att"):
        path.chmod(0o644)
        path.write_bytes(b"\x5a" * 100)
    code, out, _ = run_import(copy, "--decoder", "rocprof", "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (3, "invalid_shader_data")


def test_a_crash_or_hang_is_a_message(
    installed: Callable[..., Path], folder: Path, run_import: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(CRASH=1)
    code, out, err = run_import(folder, "--decoder", "rocprof", "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (3, "decoder_crashed")
    assert "signal 6" in err
    installed(HANG=1)
    monkeypatch.setattr(amd_decoder, "_SECONDS", 0.5)
    monkeypatch.setattr(amd_decoder, "_SECONDS_PER_MB", 0.0)
    code, out, _ = run_import(folder, "--decoder", "rocprof", "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (3, "decoder_hangs")


def test_no_module_of_the_current_directory_runs(
    installed: Callable[..., Path], folder: Path, run_import: Run, tmp_path: Path
) -> None:
    """The user may stand in the recording: a json.py there is data."""
    installed()
    for name in ("json.py", "numpy.py"):
        (tmp_path / "cwd" / name).write_text("raise SystemExit('executed')")
    assert run_import(folder, "--decoder", "rocprof")[0] == 0


def test_what_is_no_library(
    folder: Path, tmp_path: Path, run_import: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "librocprof-trace-decoder.so"
    path.write_bytes(b"no library")
    monkeypatch.setenv("ROCPROF_TRACE_DECODER_LIB", str(path))
    code, out, err = run_import(folder, "--decoder", "rocprof", "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (6, "decoder_failed")
    assert "--decoder isaprof" in err


def test_where_it_is_absent(folder: Path, run_import: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "find_decoder", lambda *_: None)
    code, out, _ = run_import(folder, "--decoder", "rocprof", "--json")
    error = json.loads(out)["error"]
    assert (code, error["kind"]) == (6, "decoder_missing")
    assert error["hint"].startswith(f"isaprof import {folder} --decoder isaprof")
    with pytest.raises(EnvironmentProblem):
        amd_decoder.require(folder)


def test_rdna_folder_and_a_release_with_the_4_cycle_error(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No code object in the trace: addresses are absolute. Release 0.1.4 comes with a warning."""
    folder = data_dir / "sqtt" / "gfx1100" / "gemm_run0"
    recording = open_recording(folder)
    ours = recording.read(0, decoder="isaprof")
    t = ours.tables
    base = json.loads((folder / "meta.json").read_text())["programs"][0]["load_base"]
    place = {n + 1: (pc + base, 0) for n, pc in enumerate(t["code"]["pc"].tolist())}
    engines = []
    for se, path in sorted((int(p.stem[2:]), p) for p in folder.glob("se*.sqtt")):
        waves = []
        for w in t["waves"][(t["waves"].se == se) & t["waves"].traced].itertuples():
            insts, states = (x[x.wave == w.wave] for x in (t["insts"], t["states"]))
            rows = [
                [i.time, Cat[i.category].value, i.stall, i.duration, i.line + 1] for i in insts.itertuples()
            ]
            runs = [[State[x.state].value, x.duration] for x in states.itertuples()]
            waves.append({"cu": w.cu, "simd": w.simd, "slot": w.slot, "begin": w.begin, "end": w.end,
                          "instructions": rows, "timeline": runs})  # fmt: skip
        events = t["occupancy"][t["occupancy"].se == se]
        occupied = [[e.time, e.cu, e.simd, e.slot, int(e.start), 1] for e in events.itertuples()]
        engines.append((path, waves, occupied, []))
    entry = (ours.meta["kernel"]["entry"] + base, 0)
    body = fake_decoder.source(engines, place, entry)
    name = "librocprof-trace-decoder.so.0.1.4"
    monkeypatch.setenv(
        "ROCPROF_TRACE_DECODER_LIB", str(fake_decoder.build(tmp_path, body, name, V1=1, GFXIP=11))
    )
    amd = recording.read(0, decoder="rocprof")
    for key in ("arch", "kernel", "launch", "dispatch", "device", "wave_size"):
        assert amd.meta[key] == ours.meta[key], key
    assert len(amd.tables["insts"]) > 100
    for table, columns in (
        ("insts", ["wave", "seq", "line", "time", "stall", "duration", "category"]),
        ("waves", ["se", "cu", "simd", "slot", "begin", "end", "traced"]),
        ("occupancy", ["se", "time", "cu", "simd", "slot", "start", "kernel"]),
        ("code", ["pc", "text", "label", "encoding"]),
    ):
        for column in columns:
            assert amd.tables[table][column].tolist() == t[table][column].tolist(), (table, column)
    assert [w.kind for w in amd.warnings] == ["decoder_4_cycles"]
    assert "release 0.1.4" in amd.warnings[0].message
    assert not amd_decoder._older("0.1.5", (0, 1, 5))
    assert not amd_decoder._older(None, (0, 1, 5))


PACKAGE = """
from types import SimpleNamespace as N
__version__ = "0.1.7"
class DecoderError(RuntimeError):
    def __init__(self, status): self.status = status
class Decoder:
    def parse(self, data, isa=None):
        pc = N(address={pc}, code_object_id=3)
        assert isa.isa_for_pc(pc)[1] in (4, 8)
        if len(data) < {size}: raise DecoderError(4)
        wave = N(cu=1, simd=2, wave_id=3, begin_time=100, end_time=200,
                 instructions=[N(category=2, stall=4, duration=8, time=120, pc=pc)],
                 timeline=[N(type=1, duration=20), N(type=2, duration=80)])
        start = N(pc=pc, time=100, cu=1, simd=2, wave_id=3, start=1)
        end = N(pc=pc, time=200, cu=1, simd=2, wave_id=3, start=0)
        return N(gfxip=9, realtime_frequency=100, waves=[wave], occupancy=[start, end], perf_events=[],
                 realtime=[N(shader_clock=5, realtime_clock=6)], shaderdata=[N(time=7, value=8)],
                 other_simd=[], info=[1])
"""


def test_the_python_package(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the package finds the library, the package decodes."""
    package = tmp_path / "site" / "rocprof_trace_decoder"
    package.mkdir(parents=True)
    size = min(p.stat().st_size for p in (folder / "host").glob("*.att"))
    (package / "__init__.py").write_text(PACKAGE.replace("{pc}", str(ENTRY[0])).replace("{size}", str(size)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(environment, "find_decoder", lambda *_: None)
    raw = open_recording(folder).read(3, decoder="rocprof")
    assert raw.meta["decoder"]["version"] == "0.1.7"
    assert raw.meta["realtime_hz"] == 100
    assert raw.tables["insts"][["time", "stall", "duration"]].values.tolist() == [[120, 4, 8]] * 3
    assert raw.tables["insts"]["line"].tolist() == [raw.tables["code"]["pc"].tolist().index(ENTRY[0])] * 3
    events = raw.tables["events"][["time", "kind", "value"]].values.tolist()
    assert events == [[5, "realtime", 6]] * 3 + [[7, "shaderdata", 8]] * 3
    assert {w.kind for w in raw.warnings} == {"data_lost"}
