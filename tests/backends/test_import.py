"""``isaprof import`` on real folders: choice of dispatch, output, exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import isaprof
from isaprof.backends.recorded import RecordedTrace, open_recording
from isaprof.errors import UsageError
from tests.parsers.oracles import EXAMPLES

Run = Callable[..., tuple[int, str, str]]
LAUNCHES = [(e, n) for e in EXAMPLES for n in ((0, 1) if "sync" in e else (0,))]


@pytest.mark.parametrize(("example", "number"), LAUNCHES)
def test_every_folder_imports(example: str, number: int, data_dir: Path, run_import: Run) -> None:
    """Saved, opened again, and complete: all waves, all code of the kernel, launch and coverage."""
    folder = data_dir / "sqtt" / example
    code, out, err = run_import(folder, "--dispatch", number)
    assert code == 0, err
    capture = isaprof.open(out.splitlines()[-1])
    meta = json.loads((folder / "meta.json").read_text())
    launch, program = meta["launches"][number], meta["programs"][meta["launches"][number]["program"]]
    assert capture.kernel == program["name"]
    assert capture.meta["launch"] == {
        "grid": launch["grid_workgroups"],
        "workgroup": launch["workgroup_size"],
    }
    assert capture.meta["dispatch"] == {"id": number, "duration_us": launch["duration_us"]}
    assert capture.provenance == "measured"
    assert capture.meta["wave_size"] == (64 if "gfx950" in example else 32)
    x, y, z = launch["grid_workgroups"]
    per_group = -(-launch["workgroup_size"][0] // capture.meta["wave_size"])
    assert len(capture.waves) == x * y * z * per_group == capture.meta["coverage"]["waves_total"]
    assert capture.waves["complete"].all()
    threads = min(launch["workgroup_size"][0], capture.meta["wave_size"])
    assert (capture.waves["threads"] == threads).all()
    assert not capture.lossy
    assert capture.code.loc[0, "label"] == program["name"]
    assert capture.code["encoding"].map(len).eq(capture.code["size"]).all()
    assert capture.insts["line"].notna().all()
    assert [c.name for c in capture.code_objects] == [program["name"]]
    traced = capture.waves.loc[capture.waves["traced"], "wave"]
    assert sorted(set(capture.insts["wave"])) == traced.tolist()
    events = capture.events
    assert events is not None
    assert {"dispatch", "userdata"} <= set(events["kind"])


def test_several_dispatches_need_a_choice(data_dir: Path, run_import: Run, tmp_path: Path) -> None:
    folder = data_dir / "sqtt" / "gfx1200" / "sync_run0"
    code, out, err = run_import(folder)
    assert (code, out) == (2, "")
    assert "0  custom_lds_sync  4 waves" in err
    assert "1  E_32_4  1 waves" in err
    assert f"isaprof import {folder} --dispatch 0" in err
    assert list((tmp_path / "cwd").iterdir()) == []
    assert run_import(folder, "--dispatch", "7")[0] == 2
    assert run_import(folder, "--dispatch", "none")[0] == 2
    with pytest.raises(UsageError):
        RecordedTrace(folder).capture()
    assert RecordedTrace(folder, dispatch=1).capture().meta["kernel"]["name"] == "E_32_4"


def test_all_dispatches(data_dir: Path, run_import: Run, tmp_path: Path) -> None:
    folder = data_dir / "sqtt" / "gfx1100" / "sync_run0"
    code, out, _ = run_import(folder, "--dispatch", "all", "--json")
    assert code == 0
    body = json.loads(out)
    assert body["schema_version"] == 1
    assert [(c["dispatch"], c["kernel"]) for c in body["captures"]] == [(0, "custom_lds_sync"), (1, "E_32_4")]
    assert all((tmp_path / "cwd" / c["capture"] / "capture.json").is_file() for c in body["captures"])
    code, out, _ = run_import(folder, "--dispatch", "all", "-o", "both.isaprof")
    assert out.splitlines()[-2:] == ["both-0.isaprof", "both-1.isaprof"]


def test_output_names_and_force(data_dir: Path, run_import: Run, tmp_path: Path) -> None:
    folder = data_dir / "sqtt" / "gfx1100" / "plus_run0"
    assert run_import(folder)[1].splitlines()[-1] == "E_3-gfx1100-1.isaprof"
    assert run_import(folder)[1].splitlines()[-1] == "E_3-gfx1100-2.isaprof"
    assert run_import(folder, "-o", "x.isaprof")[0] == 0
    before = (tmp_path / "cwd" / "x.isaprof" / "capture.json").stat().st_mtime_ns
    code, out, err = run_import(folder, "-o", "x.isaprof")
    assert (code, out) == (2, "")
    assert "--force" in err
    assert (tmp_path / "cwd" / "x.isaprof" / "capture.json").stat().st_mtime_ns == before
    assert run_import(folder, "-o", "x.isaprof", "--force")[0] == 0
    capture = tmp_path / "cwd" / "x.isaprof"
    code, _, err = run_import(capture)
    assert code == 3
    assert f"isaprof show {capture}" in err


def test_several_rocprof_dispatches_in_numeric_order(data_dir: Path, run_import: Run, tmp_path: Path) -> None:
    source = data_dir / "att" / "wave_gemm_gfx950"
    for n in (10, 9, 2):
        shutil.copytree(
            source / "ui_output_agent_32617_dispatch_3", tmp_path / f"ui_output_agent_1_dispatch_{n}"
        )
    shutil.copy(source / "host" / "3785403_gfx950_code_object_id_3.out", tmp_path)
    code, _, err = run_import(tmp_path)
    assert code == 2
    rows = [line.split() for line in err.splitlines() if "gemm_prefetch" in line]
    assert rows == [[n, "gemm_prefetch", "16", "waves"] for n in ("2", "9", "10")]
    code, out, _ = run_import(tmp_path, "--dispatch", 9, "--json")
    assert code == 0
    assert json.loads(out)["captures"][0]["dispatch"] == 9
    code, _, err = run_import(tmp_path, "--dispatch", 9, "--decoder", "isaprof")
    assert code == 2
    assert "--decoder ui" in err


def test_untraced_waves_are_explained(data_dir: Path) -> None:
    """The warning names the unit that ran the waves, and whether another one should be traced."""
    other = open_recording(data_dir / "sqtt" / "gfx950" / "plus_run0").read(0)
    (warning,) = other.warnings
    assert warning.kind == "no_traced_waves"
    assert "waves ran on engine 2 CU 6 SIMD 1" in warning.message
    assert "trace CU 6 instead" in warning.message
    (warning,) = open_recording(data_dir / "sqtt" / "gfx1100" / "empty_run0").read(0).warnings
    assert "wrote no instruction packet" in warning.message


def test_progress_is_reported(data_dir: Path) -> None:
    """Every engine is a step, and so is every wave."""
    calls: list[tuple[int, int, str]] = []
    recording = open_recording(data_dir / "sqtt" / "gfx950" / "gemm_run0")
    recording.read(0, progress=lambda done, total, what: calls.append((done, total, what)))
    assert (32, 32, "decoding engines") in calls
    assert calls[-1] == (4, 4, "matching instructions")
