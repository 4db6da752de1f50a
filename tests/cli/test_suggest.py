"""``isaprof suggest``: findings ranked with evidence and the next command, or what limits the kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from isaprof.asm import assemble_file
from isaprof.cli import main

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def verb(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def capture(capsys: pytest.CaptureFixture[str], name: str) -> Path:
    """A simulated capture of a sample."""
    source = SAMPLES / name
    Path("k.co").write_bytes(assemble_file(source.with_suffix(".s")))
    launch = source.with_suffix(".launch.toml")
    assert verb(capsys, "run", "k.co", "--launch", launch, "-o", "k.isaprof")[0] == 0
    return Path("k.isaprof")


def suggest(capsys: pytest.CaptureFixture[str], path: object) -> dict[str, Any]:
    code, out, err = verb(capsys, "suggest", path, "--json")
    assert (code, err) == (0, "")
    body: dict[str, Any] = json.loads(out)
    assert body["schema_version"] == 1
    return body


def test_a_capture(capsys: pytest.CaptureFixture[str]) -> None:
    body = suggest(capsys, capture(capsys, "waitcnt_relax/waitcnt_relax"))
    assert (body["kernel"], body["arch"], body["provenance"]) == ("waitcnt_relax", "gfx942", "modelled")
    assert [f["transform"] for f in body["findings"]] == ["waitcnt-relax"] * 2
    gains = [(f["estimate"]["expected_cycles"], f["estimate"]["upper_cycles"]) for f in body["findings"]]
    assert gains == sorted(gains, reverse=True)
    first = body["findings"][0]
    assert first["safe"]
    estimate = first["estimate"]
    assert (estimate["method"], estimate["provenance"]) == ("re-timed", "modelled")
    assert 0 < estimate["low_cycles"] < estimate["expected_cycles"] < estimate["high_cycles"]
    assert estimate["expected_share"] == estimate["expected_cycles"] / estimate["total_cycles"]
    assert estimate["span_share"] == estimate["span_saved"]["expected"] / estimate["span_cycles"] > 0
    assert (
        first["next"] == f"isaprof apply KERNEL.co waitcnt-relax@{first['pc']:#x} -o KERNEL.waitcnt-relax.co"
    )
    assert first["published"]


def test_an_object_and_a_source_agree(capsys: pytest.CaptureFixture[str]) -> None:
    source = SAMPLES / "waitcnt_relax/waitcnt_relax.s"
    Path("k.co").write_bytes(assemble_file(source))
    a, b = suggest(capsys, "k.co"), suggest(capsys, source)
    assert [f["pc"] for f in a["findings"]] == [f["pc"] for f in b["findings"]]
    assert a["provenance"] is None
    assert all(f["estimate"]["upper_cycles"] is None for f in a["findings"])
    lines = source.read_text().split("\n")
    assert [lines[int(f["place"]) - 1].split()[0] for f in b["findings"]] == ["s_waitcnt"] * 2
    assert f"isaprof apply {source} waitcnt-relax@{b['findings'][0]['place']}" in b["findings"][0]["next"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(capsys, "transforms/swp/load_use")
    code, out, _ = verb(capsys, "suggest", path)
    assert code == 0
    for word in (
        "1. swp-global-prefetch", "gain: re-timed on modelled waves", "kernel span", "saved",
        "published: +7.0 %", "P1 met", "tail met", "rewritten:", ".Lisaprof_skip_", "advice",
    ):  # fmt: skip
        assert word in out


def test_nothing_helps(capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(capsys, "transforms/swp/pipelined")
    body = suggest(capsys, path)
    assert body["findings"] == []
    assert body["limits"][0]["what"] == "wait: global load"
    assert "s_waitcnt vmcnt(0)" in body["limits"][0]["where"]
    assert body["limits"][-1]["what"] == "issuing matrix instructions"
    _, out, _ = verb(capsys, "suggest", path)
    assert "No transform of the catalogue applies" in out
    assert "What limits the kernel (modelled" in out


def test_nothing_helps_and_nothing_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = verb(capsys, "suggest", SAMPLES / "transforms/swp/pipelined.s")
    assert "No capture was given" in out


@pytest.mark.parametrize("arch", ["gfx1100", "gfx950"])
def test_a_measured_capture(data_dir: Path, arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = data_dir / "sqtt" / arch / "gemm_run0"
    assert verb(capsys, "import", folder, "-o", "m.isaprof")[0] == 0
    body = suggest(capsys, "m.isaprof")
    assert body["provenance"] == "measured"
    for f in body["findings"]:
        assert f["estimate"]["provenance"] == "measured"
        assert f["estimate"]["method"] == "re-timed"
        low, expected, high = (f["estimate"][f"{n}_cycles"] for n in ("low", "expected", "high"))
        assert low < expected < high <= f["estimate"]["upper_cycles"]
        assert "that the replay is off by" in f["estimate"]["basis"]
    assert body["limits"]


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "k.co").write_bytes(b"\x7fELF junk")
    (tmp_path / "k.s").write_text("\x00")
    for path in ("empty", "k.co", "k.s", "none"):
        code, out, err = verb(capsys, "suggest", path)
        assert (code, out) == (3, "")
        assert err.startswith("isaprof: ")


def test_a_bound_says_so_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(capsys, "waitcnt_relax/waitcnt_relax")
    code, out, _ = verb(capsys, "suggest", path, "--estimate", "bound")
    assert code == 0
    assert re.search(
        r"gain: bound: at most [\d,]+ cycles \(\d+\.\d%\) of the [\d,]+ wave cycles \(modelled\)", out
    )
    assert "not re-timed: --estimate bound" in out
    assert "re-timed on" not in out
    code, _, err = verb(capsys, "suggest", "k.co", "--launch", "k.launch.toml")
    assert code == 2
    assert "for a capture" in err


def test_the_percentage_is_defined(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = verb(capsys, "suggest", "--help")
    assert "(before - after) / before" in " ".join(out.replace("│", " ").split())


def test_a_capture_without_records_is_told_from_none(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verb(capsys, "import", data_dir / "sqtt/gfx1100/empty_run0", "-o", "empty.isaprof")
    _, out, _ = verb(capsys, "suggest", "empty.isaprof")
    assert "has no instruction records" in out
    assert "No capture was given" not in out
