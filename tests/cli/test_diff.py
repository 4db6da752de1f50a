"""``isaprof diff`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof import cli
from tests.asm.objects import build, source


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as e:
        cli.main(["diff", *args])
    return int(e.value.code or 0), capsys.readouterr().out


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    body = "lab:\n\tv_mov_b32 v0, 1\n\ts_cbranch_scc0 lab\n\tv_mov_b32 v1, 2"
    (tmp_path / "a.co").write_bytes(build(source("gfx942", body)))
    after = source("gfx942", body.replace("v1, 2", "v1, 3").replace("lab:\n", "lab:\n\ts_nop 0\n"))
    after = after.replace("next_free_vgpr 8", "next_free_vgpr 24").replace(
        ".vgpr_count: 8", ".vgpr_count: 24"
    )
    (tmp_path / "b.co").write_bytes(build(after))
    return str(tmp_path / "a.co"), str(tmp_path / "b.co")


def test_resources_before_code(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, *pair)
    lines = out.split("\n")
    assert code == 1
    resource = next(i for i, x in enumerate(lines) if x.startswith("resource k.kd vgpr_count: 8 -> 24"))
    meta = next(i for i, x in enumerate(lines) if x.startswith("metadata") and ".vgpr_count: 8 -> 24" in x)
    nop = next(i for i, x in enumerate(lines) if x.startswith("+") and x.endswith("s_nop 0"))
    assert resource < meta < nop
    assert any(x.startswith("- ") and "v1, 2" in x for x in lines)
    assert not any("s_cbranch" in x for x in lines if x.startswith(("+", "-")))


def test_json(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, *pair, "--json")
    body = json.loads(out)
    assert (code, body["schema_version"], body["verdict"]) == (1, 1, "different")
    assert [c["status"] for c in body["code"]] == ["inserted", "changed"]
    assert body["counts"]["inserted"] == body["counts"]["changed"] == 1


def test_same(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, pair[0], pair[0])
    assert code == 0
    assert "identical" in out


def test_equivalent_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, body in (("a", "\t.long 0xd7006a00, 0x02020008"), ("b", "\tv_add_co_u32 v0, vcc_lo, s8, v0")):
        (tmp_path / name).write_bytes(build(source("gfx1100", body)))
    code, out = run(capsys, str(tmp_path / "a"), str(tmp_path / "b"))
    assert code == 0
    assert "equivalent" in out
    assert "word 1: 0x02000000" in out


def test_other_kernel_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The only kernel of each is compared with the other, whatever they are called."""
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(build(source("gfx1100", "\ts_nop 0", name=name)))
    code, out = run(capsys, str(tmp_path / "one"), str(tmp_path / "two"))
    assert code == 1
    assert "no instruction changed" in out
    assert ".name: 'one' -> 'two'" in out
