"""``isaprof report`` on captures of real traces."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from isaprof.cli.report import Plotly, command
from isaprof.errors import BadInput, EnvironmentProblem, UsageError


@pytest.fixture(scope="module")
def real(data_dir, tmp_path_factory) -> dict[str, Path]:
    """Captures of two hardware traces, by architecture."""
    from isaprof.backends.recorded import open_recording
    from isaprof.capture import save

    out = {}
    for arch in ("gfx1100", "gfx950"):
        raw = open_recording(data_dir / "sqtt" / arch / "gemm_run0").read(0)
        meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
        out[arch] = tmp_path_factory.mktemp("captures") / f"{arch}.isaprof"
        save(out[arch], meta, raw.tables, raw.code_objects)
    return out


class TestWriting:
    """Where the file goes, and what is never overwritten."""

    def test_writes_and_prints_the_path(self, real, tmp_path, capsys, chrome):
        out = tmp_path / "deep" / "r.html"
        command(real["gfx1100"], output=out)
        assert capsys.readouterr().out.strip() == str(out)
        assert [p.name for p in out.parent.iterdir()] == ["r.html"]
        chrome.open(out)
        assert chrome.requests == []
        assert chrome.complaints == []
        assert chrome.js("document.querySelector('header .badge').textContent") == "measured"

    def test_default_name(self, real, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        command(real["gfx1100"])
        assert (tmp_path / "gfx1100.html").is_file()
        capsys.readouterr()

    def test_nothing_is_overwritten_without_force(self, real, tmp_path, capsys):
        out = tmp_path / "r.html"
        out.write_text("mine")
        with pytest.raises(UsageError, match="already exists"):
            command(real["gfx1100"], output=out)
        assert out.read_text() == "mine"
        out.unlink()
        for force in (False, True):
            command(real["gfx1100"], output=out, force=force)
            assert out.read_text().startswith("<!doctype html>")
        capsys.readouterr()

    def test_force_replaces_reports_only(self, real, tmp_path):
        out = tmp_path / "kernel.co"
        out.write_bytes(b"\x7fELF mine")
        with pytest.raises(UsageError, match="not a report"):
            command(real["gfx1100"], output=out, force=True)
        assert out.read_bytes() == b"\x7fELF mine"

    def test_bad_capture_leaves_nothing(self, tmp_path):
        out = tmp_path / "out" / "r.html"
        with pytest.raises(BadInput):
            command(tmp_path / "none.isaprof", output=out)
        assert not out.exists()

    def test_unwritable_place_is_one_message(self, real, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(EnvironmentProblem, match="cannot write"):
            command(real["gfx1100"], output=tmp_path / "file" / "r.html")

    def test_json(self, real, tmp_path, capsys):
        out = tmp_path / "r.html"
        command(real["gfx950"], output=out, as_json=True)
        body = json.loads(capsys.readouterr().out)
        assert body == {
            "schema_version": 1,
            "report": str(out),
            "bytes": out.stat().st_size,
            "provenance": ["measured"],
        }

    def test_same_bytes_again(self, real, tmp_path, capsys):
        for name in ("a", "b"):
            command(real["gfx950"], output=tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        capsys.readouterr()

    def test_plotly_cdn(self, real, tmp_path, capsys):
        command(real["gfx950"], output=tmp_path / "r.html", plotly=Plotly.CDN)
        assert "https://cdn.plot.ly/" in (tmp_path / "r.html").read_text()
        capsys.readouterr()


class TestTwoCaptures:
    """A second capture goes through the alignment."""

    def test_against_itself_nothing_changes(self, real, tmp_path, capsys, chrome):
        out = tmp_path / "r.html"
        command(real["gfx1100"], real["gfx1100"], output=out)
        capsys.readouterr()
        chrome.open(out)
        assert "0 cycles per wave" in chrome.js("document.querySelector('.verdict').textContent")
        assert chrome.js("document.querySelectorAll('#canvas .row.ins, #canvas .row.del').length") == 0
        assert chrome.complaints == []

    def test_other_architecture(self, real, tmp_path, capsys, chrome):
        out = tmp_path / "r.html"
        command(real["gfx1100"], real["gfx950"], output=out)
        capsys.readouterr()
        chrome.open(out)
        assert chrome.complaints == []
        text = chrome.js("document.body.innerText")
        assert "gfx1100" in text
        assert "gfx950" in text


def test_light_to_import():
    """The verb loads nothing heavy until it runs; a report without plotly never loads plotly."""
    code = (
        "import sys, isaprof.cli.report, isaprof.cli.tui; "
        "heavy = {'pandas', 'numpy', 'jinja2', 'plotly', 'textual', 'pyarrow'} & set(sys.modules); "
        "assert not heavy, heavy; import isaprof.views.html; "
        "heavy = {'plotly', 'textual'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
