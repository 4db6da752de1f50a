"""validate and calibrate on the real traces, as a user would run them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isaprof import cli
from isaprof.accuracy.recording import read
from isaprof.accuracy.tables import to_toml
from isaprof.accuracy.validate import collect
from isaprof.arch.table import Fact
from isaprof.capture.model import Capture

TRACES = {  # least share of warm gaps within the tolerance, largest error of their sum
    "sqtt/gfx1100/gemm_run0": (0.85, 0.05),
    "sqtt/gfx1100/sync_run0": (0.80, 0.05),
    "sqtt/gfx1200/gemm_run0": (0.85, 0.05),
    "sqtt/gfx1200/sync_run0": (0.80, 0.05),
    "sqtt/gfx1200/handwritten_run0": (0.85, 0.05),
    "sqtt/gfx950/gemm_run0": (0.80, 0.05),
    "att/wave_gemm_gfx950/ui_output_agent_32617_dispatch_3": (0.85, 0.05),
}


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str]:
    with pytest.raises(SystemExit) as e:
        cli.main([str(a) for a in args])
    return int(e.value.code or 0), capsys.readouterr().out


def validated(capsys: pytest.CaptureFixture[str], *args: str | Path) -> list[dict[str, Any]]:
    code, out = run(capsys, "validate", *args, "--json")
    assert code == 0
    captures: list[dict[str, Any]] = json.loads(out)["captures"]
    return captures


@pytest.mark.parametrize("name", list(TRACES))
def test_warm_stretches(data_dir: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    share, error = TRACES[name]
    (first, *_) = validated(capsys, data_dir / name)
    assert first["compared"]
    assert first["gaps"]["count"] >= 20
    assert first["gaps"]["share"] >= share
    assert abs(first["gaps"]["error"]) <= error
    assert first["stall_points"] <= 5


@pytest.mark.parametrize(
    ("name", "clock"),
    [("gfx1100/gemm_run0", 2965), ("gfx1100/sync_run0", 1232), ("gfx1200/handwritten_run0", 1640)],
)
def test_the_clock_of_a_recording(data_dir: Path, name: str, clock: int) -> None:
    """From its marks of real time; the devices' product clocks are 2500 and 3000 MHz."""
    label, capture = next(collect([data_dir / "sqtt" / name]))
    assert isinstance(capture, Capture), label
    found = read(capture).clock_mhz
    assert found == pytest.approx(clock, rel=0.05)


def test_cold_memory_follows_the_clock_of_the_recording(data_dir: Path, capsys) -> None:
    """One table for three recordings of a device at 1.23, 2.97 and 3.17 GHz, each part apart."""
    sqtt = data_dir / "sqtt/gfx1100"
    for name, parts in (
        ("gemm_run0", ("launch", "first scalar wait", "first vector wait")),
        ("sync_run0", ("launch", "first scalar wait")),
        ("plus_run0", ("first scalar wait", "first vector wait")),
    ):
        (found, *_) = validated(capsys, sqtt / name)
        by_name = {p["component"]: p["error"] for p in found["parts"]}
        for part in parts:
            assert abs(by_name[part]) <= 0.1, (name, part)
        assert name == "plus_run0" or found["good_waves"] == found["waves"]


def test_components_sum_to_the_waves_lives(data_dir: Path, tmp_path: Path, capsys) -> None:
    """Nothing of a wave's life is left out of the comparison."""
    import isaprof

    code, out = run(capsys, "import", data_dir / "sqtt/gfx1100/gemm_run0", "-o", tmp_path / "c.isaprof")
    assert code == 0
    capture = isaprof.open(out.strip().splitlines()[-1])
    waves = capture.waves[capture.waves["traced"].astype(bool) & capture.waves["complete"].astype(bool)]
    (found,) = validated(capsys, tmp_path / "c.isaprof")
    assert sum(p["measured"] for p in found["parts"]) == int((waves["end"] - waves["begin"]).sum())
    assert found["waves"] == len(waves)


def test_cold_code_of_four_simds(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bubbles of one side count for both: the model has them one instruction beside the trace's."""
    (found,) = validated(capsys, data_dir / "sqtt/gfx950/gemm_run0")
    (cold,) = [p for p in found["parts"] if p["component"] == "cold code"]
    assert cold["measured"] > 100
    assert abs(cold["modelled"] - cold["measured"]) <= 0.25 * cold["measured"]


def test_the_matrix_stretch_of_a_gemm(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The MFMA GEMM with AMD's own decode: no constant of the model comes from it."""
    (found,) = validated(capsys, data_dir / "att/wave_gemm_gfx950/ui_output_agent_32617_dispatch_3")
    assert found["addresses"] == found["waves"] == 16
    (stretch,) = found["loops"]
    for name, most in (
        ("iteration", 0.05), ("matrix_gap", 0.05), ("lds_wait", 0.1), ("lds_all", 0.1), ("barrier", 0.1),
    ):  # fmt: skip
        measured, modelled = stretch[name]
        assert abs(modelled - measured) <= most * measured, name
    assert found["cause_points"] <= 5


@pytest.mark.slow
def test_a_calibration_from_other_captures_helps(data_dir: Path, tmp_path: Path, capsys) -> None:
    """Fitted to two captures of the device, judged on a third."""
    sqtt = data_dir / "sqtt/gfx1100"
    table = tmp_path / "t.toml"
    code, out = run(capsys, "calibrate", sqtt / "plus_run0", sqtt / "sync_run0", "-o", table, "--json")
    assert code == 0
    fits = json.loads(out)["fits"]
    assert {"wave_start_cold", "endpgm_after_store"} <= {f["constant"] for f in fits}
    (launch,) = [f for f in fits if f["constant"] == "wave_start_cold"]
    assert launch["left_out"] == ["plus_run0"]  # its launch takes three times as long
    for f in fits:
        assert f["after"] != f["before"]
        assert f["error_after"] < f["error_before"]
    (judged,) = validated(capsys, sqtt / "gemm_run0", "--calibration", table)
    assert judged["calibration"] == "gfx1100-t"
    assert judged["good_waves"] >= 8  # of 10: within 15 %, every part within 25 %
    code, _ = run(capsys, "calibrate", sqtt / "plus_run0", "-o", table)
    assert code == 2  # what exists is not replaced


def test_what_cannot_be_compared_says_why(data_dir: Path, tmp_path: Path, capsys) -> None:
    with pytest.raises(SystemExit) as e:
        cli.main(["validate", str(data_dir / "sqtt/gfx1100/empty_run0")])
    assert e.value.code == 3
    assert "nothing could be compared" in capsys.readouterr().err
    with pytest.raises(SystemExit) as e:
        cli.main(["validate", str(tmp_path)])
    assert e.value.code == 3
    assert "no capture and no trace folder" in capsys.readouterr().err


def test_a_calibration_for_another_architecture_is_refused(data_dir: Path, tmp_path: Path, capsys) -> None:
    table = tmp_path / "t.toml"
    table.write_text(to_toml("gfx950", "other", {"smem_cold": Fact(1, "cycles", "s", "M")}))
    with pytest.raises(SystemExit) as e:
        cli.main(["validate", str(data_dir / "sqtt/gfx1100/gemm_run0"), "--calibration", str(table)])
    assert e.value.code == 3
    assert "the calibration is for gfx950, the capture for gfx1100" in capsys.readouterr().err


def test_records_outside_their_waves_are_said(data_dir: Path, tmp_path: Path, capsys) -> None:
    """A damaged capture whose waves last no cycle."""
    import isaprof
    from isaprof.capture import save

    code, out = run(capsys, "import", data_dir / "sqtt/gfx1100/gemm_run0", "-o", tmp_path / "c.isaprof")
    assert code == 0
    whole = isaprof.open(out.strip().splitlines()[-1])
    names = [n for n in ("code", "waves", "insts", "states", "occupancy") if len(whole.table(n))]
    tables = {n: whole.table(n) for n in names}
    tables["waves"] = tables["waves"].assign(end=tables["waves"]["begin"])
    meta = {k: v for k, v in whole.meta.items() if k not in ("tables", "schema", "schema_version")}
    save(tmp_path / "d.isaprof", meta, tables, whole.code_objects)
    code, out = run(capsys, "validate", tmp_path / "d.isaprof")
    assert code == 3
    assert "nothing to compare" in out
