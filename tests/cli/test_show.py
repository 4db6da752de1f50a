"""``isaprof show`` end to end, on a saved capture and on a real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.backends.recorded import open_recording
from isaprof.capture import save
from isaprof.cli import main
from tests.attribution.build import Wave, capture

PROGRAM = ["s_load_dword s4, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "v_mov_b32_e32 v0, s4", "s_endpgm"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    wave = Wave(begin=0).add(0, idle=28).add(1, stall=400, issue=0).add(2).add(3, issue=40)
    cap = capture("gfx950", PROGRAM, [wave])
    meta = {k: cap.meta[k] for k in ("provenance", "arch", "kernel")}
    path = tmp_path / "k.isaprof"
    save(path, meta, {name: cap.table(name) for name in ("code", "waves", "insts")})
    return path


def run(capsys: pytest.CaptureFixture[str], *args: object, verb: str = "show") -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([verb, *(str(a) for a in args)])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_the_table(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, saved)
    assert (code, err) == (0, "")
    assert "modelled" in out
    assert "wait: SMEM" in out
    assert "by line 0: s_load_dword s4, s[0:1], 0x0" in out


def test_json(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, saved, "--json", "--hottest", 1)
    body = json.loads(out)
    assert code == 0
    assert body["provenance"] == "modelled"
    assert [(r["line"], r["cause"], r["culprit"]) for r in body["lines"]] == [(1, "wait: SMEM", 0)]
    assert body["total_cycles"] == 476


@pytest.mark.parametrize("by", ["line", "culprit", "cause", "wave"])
def test_by(saved: Path, capsys: pytest.CaptureFixture[str], by: str) -> None:
    assert run(capsys, saved, "--by", by)[0] == 0


@pytest.mark.parametrize("by", ["line", "loop", "block", "culprit", "wave", "time", "vgpr-bank"])
def test_by_of_a_capture_without_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    cap = capture("gfx950", PROGRAM, [Wave(begin=0).add(0)])
    meta = {k: cap.meta[k] for k in ("provenance", "arch", "kernel")}
    save(tmp_path / "k", meta, {name: cap.table(name)[:0] for name in ("code", "waves", "insts")})
    code, _, err = run(capsys, tmp_path / "k", "--by", by)
    assert code in (0, 3), err


def test_doctor_reads_a_capture_whole(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, saved, verb="doctor")[0] == 0
    (saved / "insts.parquet").write_bytes(b"PAR1")
    code, out, _ = run(capsys, saved, verb="doctor")
    assert code == 3
    assert "bad_capture" in out
    assert "isaprof run or isaprof import" in out


def test_no_such_capture_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, tmp_path / "none.isaprof")
    assert (code, out) == (3, "")
    assert "no such capture" in err
    code, out, _ = run(capsys, tmp_path / "none.isaprof", "--json")
    assert json.loads(out)["error"]["kind"] == "not_found"


@pytest.mark.parametrize("args", [("--by", "moon"), ("--hottest", "-1"), ()])
def test_usage_errors_exit_2(saved: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...]) -> None:
    assert run(capsys, *((saved, *args) if args else ()))[0] == 2


def test_a_real_mfma_gemm(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = open_recording(data_dir / "att" / "wave_gemm_gfx950").read(3)
    path = tmp_path / "gemm.isaprof"
    save(path, raw.meta, raw.tables, raw.code_objects)
    _, out, _ = run(capsys, path, "--all")
    assert "gemm_prefetch  gfx950  measured" in out
    assert "16 waves traced, 3,552 instructions" in out
    assert "by line 134: buffer_load_dword" in out


def test_all_culprits_of_a_real_mfma_gemm(data_dir: Path, tmp_path: Path, capsys) -> None:
    """Their cycles are the waits without launch and without what a satisfied wait issues."""
    raw = open_recording(data_dir / "att" / "wave_gemm_gfx950").read(3)
    path = tmp_path / "gemm.isaprof"
    save(path, raw.meta, raw.tables, raw.code_objects)
    found = {}
    for by, key in (("line", "lines"), ("culprit", "culprits")):
        _, out, _ = run(capsys, path, "--by", by, "--all", "--json")
        found[by] = json.loads(out)[key]
    waits = sum(r["wait"] for r in found["line"])
    other = sum(r["causes"].get(c, 0) for r in found["line"] for c in ("launch", "issue"))
    assert len(found["culprit"]) > 50
    assert sum(r["cycles"] for r in found["culprit"]) == waits - other
    _, short, _ = run(capsys, path, "--by", "culprit", "--json")
    assert len(json.loads(short)["culprits"]) == 10


def test_sums_only_claim_no_waves(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    att = data_dir / "att/wave_gemm_gfx950/stats_ui_output_agent_32617_dispatch_3.csv"
    out = tmp_path / "sums.isaprof"
    with pytest.raises(SystemExit) as stop:
        main(["import", str(att), "--arch", "gfx950", "-o", str(out)])
    assert not stop.value.code
    with pytest.raises(SystemExit) as stop:
        main(["show", str(out)])
    printed = capsys.readouterr().out
    assert not stop.value.code
    assert "sums of each instruction" in printed
    assert "0 waves traced" not in printed
    assert "Where the cycles went" not in printed
    for by in ("cause", "wave", "culprit", "loop"):
        with pytest.raises(SystemExit) as stop:
            main(["show", str(out), "--by", by])
        assert stop.value.code == 3
        assert capsys.readouterr().out == ""
