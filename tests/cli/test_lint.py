"""``isaprof lint``: exit codes, text and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from isaprof.asm import assemble_text
from isaprof.cli import main
from isaprof.cli.app import build
from isaprof.cli.lint import command
from isaprof.errors import BadInput, ExitCode
from tests.lint.kernels import source

BAD = "	global_load_dword v1, v0, s[2:3]\n	v_mov_b32 v2, v1"
GOOD = BAD.replace("\n", "\n	s_waitcnt vmcnt(0)\n")


def run(capsys: pytest.CaptureFixture[str], path: Path, **more: Any) -> tuple[int, str]:
    code = command(path, **{"kernel": None, "against": None, "target": None, "as_json": False, **more})
    return code, capsys.readouterr().out


def test_source_with_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.s"
    path.write_text(source(BAD))
    code, out = run(capsys, path)
    assert code == ExitCode.NO
    assert f"error wait-missing {path}:10 0x" in out
    assert "missing before this line: s_waitcnt vmcnt(0)" in out
    assert "path: line 9 0x" in out
    assert "rule from: LLVM" in out
    assert "1 errors" in out


def test_warnings_exit_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.s"
    path.write_text(source(GOOD + "\n	s_waitcnt vmcnt(0)"))
    code, out = run(capsys, path)
    assert code == ExitCode.OK
    assert "warning wait-redundant" in out


def test_object_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.co"
    path.write_bytes(assemble_text(source(BAD)))
    code, out = run(capsys, path, as_json=True)
    body = json.loads(out)
    assert code == ExitCode.NO
    assert (body["schema_version"], body["errors"], body["warnings"]) == (1, 1, 0)
    assert (body["from_source"], body["kernels"], body["target"]) == (False, ["k"], "gfx942")
    f = body["findings"][0]
    assert (f["rule"], f["severity"], f["line"]) == ("wait-missing", "error", None)
    assert f["pc"].startswith("0x")
    assert [s["role"] for s in f["path"]] == ["load", "user"]
    assert body["no_rule"] == []
    assert "wait-missing" in body["rules"]


def test_against(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original, edited = tmp_path / "a.co", tmp_path / "b.s"
    original.write_bytes(assemble_text(source(GOOD)))
    edited.write_text(source(GOOD, args=((0, 4, "by_value"),)))
    code, out = run(capsys, edited, against=original)
    assert code == ExitCode.NO
    assert "against-kernarg" in out
    edited.write_text(source(GOOD))
    assert run(capsys, edited, against=original)[0] == ExitCode.OK


def test_what_lint_cannot_judge_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.s"
    path.write_text(source("	s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s4\n	v_mov_b32 v2, v1", "gfx1250"))
    code, out = run(capsys, path)
    assert code == ExitCode.OK
    assert "no rule: paths disagree on s_set_vgpr_msb" in out
    assert "2 without a rule" in out


def test_not_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.s"
    path.write_bytes(b"\xff\xfe\0")
    with pytest.raises(BadInput, match="no text"):
        run(capsys, path)
    path.write_text("	s_nop 0\n")
    with pytest.raises(BadInput, match="names no target"):
        run(capsys, path)


def test_options_of_the_verb() -> None:
    app = build({"lint": "isaprof.cli.lint"}, __import__("importlib").import_module)
    with pytest.raises((SystemExit, typer.Exit)):
        app(args=["lint", "--help"], prog_name="isaprof")


@pytest.mark.parametrize("meta", ['{"arch": "gfx1100"}', '{"arch": 5}', "[", None])
def test_a_minimal_object_takes_its_gpu_from_the_meta_json_beside(
    meta: str | None, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = data_dir / "sqtt" / "gfx1100" / "sync_run0" / "kernel0.co"
    (tmp_path / "k.co").write_bytes(source.read_bytes())
    if meta is not None:
        (tmp_path / "meta.json").write_text(meta)
    with pytest.raises(SystemExit) as stop:
        main(["lint", str(tmp_path / "k.co")])
    out, err = capsys.readouterr()
    if meta and "gfx" in meta:
        assert (stop.value.code or 0) in (0, 1)
        assert "gfx1100" in out
        assert "its meta.json says gfx1100" in err
    else:
        assert stop.value.code == 3
        assert "--target gfx1100" in err
