"""rocprofv3's formats, one beside the other: equal in what they share, absent in what they lack."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import isaprof
from isaprof.attribution import analyse
from isaprof.backends.protocol import RawCapture
from isaprof.backends.recorded import open_recording
from isaprof.capture import save
from isaprof.errors import BadInput
from tests.backends import own_recordings as own

Run = Callable[..., tuple[int, str, str]]
SUMS = ["hits", "latency", "stall", "idle"]


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    for column in a.columns:
        x, y = (t[column].astype(object).where(t[column].notna(), None).tolist() for t in (a, b))
        assert x == y, column


@pytest.mark.parametrize("layout", own.LAYOUTS)
def test_every_layout_of_ui_output(tmp_path: Path, layout: str) -> None:
    raw = open_recording(own.ui_output(tmp_path, layout).parent).read(1, arch="gfx942")
    first = open_recording(own.ui_output(tmp_path / "first").parent).read(1, arch="gfx942")
    for name in ("waves", "insts", "states", "occupancy", "totals"):
        same(raw.tables[name], first.tables[name])
    same(raw.tables["code"].drop(columns="source"), first.tables["code"].drop(columns="source"))
    assert raw.meta["kernel"]["name"] == own.KERNEL
    assert raw.tables["insts"]["time"].tolist()[:4] == [108, 112, 160, 180]
    assert raw.tables["totals"][SUMS].values.tolist() == [list(v) for v in own.totals().values()]
    if layout == "3.0.0":
        assert raw.tables["code"]["source"].isna().all()
        assert "events" not in raw.tables
        assert raw.meta["launch"] == {}
    else:
        assert set(raw.tables["code"]["source"]) == {"tiny.hip:5"}
        assert raw.meta["realtime_hz"] == 100_000_000
        assert raw.meta["launch"] == {"workgroup": [64, 1, 1]}
    assert raw.warnings == []


def test_other_simds_of_rdna(tmp_path: Path) -> None:
    raw = open_recording(own.ui_output(tmp_path, "3.1.0", gfxip=11)).read(1, arch="gfx1100")
    events = raw.tables["events"]
    assert events.loc[events.kind == "other_simd_vmem", ["time", "value"]].values.tolist() == [[130, 4]]
    assert raw.warnings == []


def test_gfx1250_says_12(tmp_path: Path) -> None:
    raw = open_recording(own.ui_output(tmp_path, "3.1.0", gfxip=12)).read(1, arch="gfx1250")
    assert raw.meta["generation"] == "gfx1250"


@pytest.mark.parametrize("layout", ["3.0.0", "3.1.0"])
def test_stats_alone(tmp_path: Path, layout: str) -> None:
    """The totals of ui_output; no wave, no record, and no number that says there were none."""
    path = own.stats(tmp_path, layout)
    raw = open_recording(tmp_path).read(1, arch="gfx942")
    ui = open_recording(own.ui_output(tmp_path / "ui", layout)).read(1, arch="gfx942")
    same(raw.tables["totals"], ui.tables["totals"])
    for column in ("codeobj", "pc", "text", "mnemonic", "category", "label"):
        assert raw.tables["code"][column].tolist() == ui.tables["code"][column].tolist()
    assert (raw.meta["kernel"]["name"], raw.meta["arch"]) == (own.KERNEL, "gfx942")
    assert set(raw.tables) == {"code", "totals", "waves", "insts"}
    assert "waves_total" not in raw.meta["coverage"]
    assert [w.kind for w in raw.warnings] == ["totals_only"]
    same(open_recording(path).read(1, arch="gfx942").tables["totals"], raw.tables["totals"])
    capture = save(tmp_path / "x.isaprof", raw.meta, raw.tables, raw.code_objects)
    lines, full = analyse(capture).lines, analyse(_saved(ui, tmp_path / "y.isaprof")).lines
    for column in (*SUMS, "wait"):
        assert lines[column].tolist() == full[column].tolist()
    assert lines["issue"].tolist() == [v[1] - v[2] for v in own.totals().values()]


def _saved(raw: RawCapture, path: Path) -> isaprof.Capture:
    return save(path, raw.meta, raw.tables, raw.code_objects)


def test_stats_columns_go_by_name(tmp_path: Path) -> None:
    """Another order, other columns between: the same figures. Idle is no part of latency."""
    path = own.stats(tmp_path)
    before = open_recording(path).read(1, arch="gfx942").tables["totals"]
    with path.open(newline="") as f:
        rows = list(csv.DictReader(f))
    names = ["Idle", "Stall", "Unknown", "Latency", "Source", "Vaddr", "Hitcount", "Instruction", "CodeObj"]
    with path.open("w", newline="") as f:
        out = csv.DictWriter(f, names, restval="x")
        out.writeheader()
        out.writerows(rows)
    same(open_recording(path).read(1, arch="gfx942").tables["totals"], before)


def test_json_of_the_import(tmp_path: Path, run_import: Run) -> None:
    own.stats(tmp_path)
    code, out, err = run_import(tmp_path, "--arch", "gfx942", "--json")
    (row,) = json.loads(out)["captures"]
    assert (code, row["waves"], row["waves_traced"], row["instructions"]) == (0, None, None, None)
    assert "[totals_only]" in err
    code, out, _ = run_import(tmp_path, "--arch", "gfx942", "--strict")
    assert code == 0
    assert "sums of each instruction, no waves" in out


FACTS = {
    "csv": own.tables,
    "json": own.results,
    "rocpd 3": lambda folder, *a: own.rocpd(folder, 3, *a),
    "rocpd 4": lambda folder, *a: own.rocpd(folder, 4, *a),
}


@pytest.mark.parametrize("facts", FACTS)
def test_facts_beside_the_trace(tmp_path: Path, facts: str) -> None:
    """Tables, results and database say the same of launch, time and GPU."""
    own.stats(tmp_path)
    FACTS[facts](tmp_path)
    raw = open_recording(tmp_path).read(1)
    assert raw.meta["launch"] == {"grid": list(own.GRID), "workgroup": list(own.WORKGROUP)}
    assert raw.meta["dispatch"] == {"id": 1, "agent": 7, "duration_us": 12.345}
    assert raw.meta["device"] == own.AGENT
    assert raw.meta["arch"] == "gfx942"
    assert [w.kind for w in raw.warnings] == ["totals_only"]


@pytest.mark.parametrize("facts", FACTS)
def test_kernel_names_of_raw_dispatches(tmp_path: Path, facts: str, run_import: Run) -> None:
    """Numeric order, names from whatever is there, ``--dispatch`` to choose."""
    for n in (10, 9, 2):
        (tmp_path / f"9_7_shader_engine_0_{n}.att").write_bytes(bytes(64))
    FACTS[facts](tmp_path, (2, 9, 10))
    code, out, err = run_import(tmp_path)
    assert (code, out) == (2, "")
    rows = [line.split() for line in err.splitlines() if own.KERNEL in line and "isaprof" not in line]
    assert rows == [[n, own.KERNEL] for n in ("2", "9", "10")]


@pytest.mark.parametrize("facts", ["json", "rocpd 3", "rocpd 4"])
def test_load_address_from_the_results(data_dir: Path, tmp_path: Path, facts: str) -> None:
    """A trace that names no code object, in rocprofv3's file names: the results say where the code was."""
    source = data_dir / "sqtt" / "gfx1100" / "gemm_run0"
    for path in source.glob("se*.sqtt"):
        shutil.copy(path, tmp_path / f"9_7_shader_engine_{path.stem[2:]}_1.att")
    shutil.copy(source / "kernel.co", tmp_path / "9_gfx1100_code_object_id_1.out")
    with pytest.raises(BadInput) as e:
        open_recording(tmp_path).read(1)
    assert e.value.kind == "no_code_object"
    base = json.loads((source / "meta.json").read_text())["programs"][0]["load_base"]
    FACTS[facts](tmp_path, (1,), base)
    raw = open_recording(tmp_path).read(1)
    folder = open_recording(source).read(0)
    for name in ("waves", "insts", "states", "occupancy"):
        same(raw.tables[name], folder.tables[name])
    same(raw.tables["code"].drop(columns="codeobj"), folder.tables["code"].drop(columns="codeobj"))


def test_one_kernel_in_every_format(data_dir: Path, tmp_path: Path) -> None:
    """The real recording as raw files, ui_output and stats CSV: equal in code, totals and facts."""
    source = data_dir / "att" / "wave_gemm_gfx950"
    for path in [
        *source.glob("stats_*.csv"),
        *(source / "host").glob("*.csv"),
        *(source / "host").glob("*.out"),
    ]:
        shutil.copy(path, tmp_path)
    recording = open_recording(source)
    raw, ui = recording.read(3, decoder="isaprof"), recording.read(3, decoder="ui")
    stats = open_recording(tmp_path).read(3)
    for key in ("arch", "generation", "launch", "dispatch", "device", "wave_size"):
        assert raw.meta[key] == ui.meta[key] == stats.meta[key], key
    assert {m.meta["kernel"]["name"] for m in (raw, ui, stats)} == {"gemm_prefetch"}
    same(raw.tables["code"], ui.tables["code"])
    same(stats.tables["code"], ui.tables["code"])
    same(stats.tables["totals"], ui.tables["totals"])
    lines = analyse(_saved(raw, tmp_path / "raw.isaprof")).lines
    assert lines[SUMS].values.tolist() == stats.tables["totals"][SUMS].values.tolist()
    assert "totals" not in raw.tables


def test_a_file_stands_for_what_belongs_to_it(data_dir: Path, tmp_path: Path) -> None:
    folder = own.ui_output(tmp_path)
    assert open_recording(folder / "code.json").read(1, arch="gfx942").meta["dispatch"]["id"] == 1
    host = data_dir / "att" / "wave_gemm_gfx950" / "host"
    (info,) = open_recording(host / "3785403_32617_shader_engine_0_3.att").dispatches
    assert (info.number, info.kernel) == (3, "gemm_prefetch")


def test_large_tables_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the limits, the same capture by the way of little memory."""
    from isaprof.backends import rocprof_ui
    from isaprof.parsers import ui_output

    folder = own.ui_output(tmp_path)
    whole = _saved(open_recording(folder).read(1, arch="gfx942"), tmp_path / "whole.isaprof")
    for small in (1, 5):
        monkeypatch.setattr(rocprof_ui, "PIECE", small)
        for kept in (0, 1 << 26):
            monkeypatch.setattr(ui_output, "KEPT", kept)
            raw = open_recording(folder).read(1, arch="gfx942")
            assert set(raw.groups) == {"insts", "states"}
            out = tmp_path / f"{small}-{kept}.isaprof"
            pieces = save(out, raw.meta, raw.tables, raw.code_objects, groups=raw.groups)
            for name in ("insts", "states"):
                same(pieces.table(name), whole.table(name))


def test_waves_at_one_place_and_time_are_all_kept(tmp_path: Path) -> None:
    """No hardware does it; a file that says so loses nothing."""
    folder = own.ui_output(tmp_path)
    body = json.loads((folder / "filenames.json").read_text())
    slot = body["wave_filenames"]["0"]["0"]["0"]
    slot["1"] = slot["0"]
    (folder / "filenames.json").write_text(json.dumps(body))
    raw = open_recording(folder).read(1, arch="gfx942")
    assert len(raw.tables["waves"]) == len(own.WAVES) + 1
    assert len(raw.tables["insts"]) == len(own.ROWS) * (len(own.WAVES) + 1)


def test_pc_sampling_is_no_trace(tmp_path: Path, run_import: Run) -> None:
    folder = own.ui_output(tmp_path, "3.1.0")
    body: dict[str, Any] = json.loads((folder / "code.json").read_text())
    body["header"] = body["header"].split(", ")
    for row in body["code"]:
        row[10] = 1
    (folder / "code.json").write_text(json.dumps(body))
    code, out, _ = run_import(folder, "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (3, "pc_sampling")
