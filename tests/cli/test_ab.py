"""``isaprof ab`` from the command line to two captures, and the views of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import isaprof
from isaprof import cli
from tests.ab import kernels as k

SHAPE = ["--shape", "256", "--seeds", "2"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    k.write(tmp_path, a=k.BODY, slow=k.SLOW, wrong=k.WRONG, early=k.EARLY, wild=k.WILD)


def isaprof_(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as e:
        cli.main([str(a) for a in args])
    return int(e.value.code or 0)


def ab(*args: str | Path) -> int:
    return isaprof_("ab", *args)


def captures() -> list[str]:
    return sorted(str(p) for p in Path().rglob("*.isaprof"))


@pytest.mark.parametrize("verb", ["ab", "edit"])
def test_modules_are_light(verb: str) -> None:
    probe = (
        f"import sys, isaprof.cli.{verb}\n"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'rich.table', 'elftools') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_same_comparison_gives_the_same_figures(capsys: pytest.CaptureFixture[str]) -> None:
    bodies = []
    for _ in range(2):
        assert ab("a.co", "slow.co", *SHAPE, "--json") == 0
        bodies.append(json.loads(capsys.readouterr().out))
        for arm in "ab":
            bodies[-1][arm].pop("capture")
    assert bodies[0] == bodies[1]


def test_table_and_captures(capsys: pytest.CaptureFixture[str]) -> None:
    assert ab("a.co", "slow.co", *SHAPE) == 0
    captured = capsys.readouterr()
    out = captured.out.splitlines()
    assert captured.err == ""
    assert out[-2:] == captures() == ["A-k-gfx942-1.isaprof", "B-k-gfx942-1.isaprof"]
    for said in ("modelled", "bitwise equal", "slower", "3 inserted", "no spread", "launch and drain"):
        assert said in captured.out, said
    a, b = (isaprof.open(p) for p in captures())
    assert a.meta["verification"]["verified"] is b.meta["verification"]["verified"] is True
    assert a.provenance == "modelled"


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert ab("a.co", "slow.co", *SHAPE, "--json") == 0
    captured = capsys.readouterr()
    body = json.loads(captured.out)
    assert captured.err == ""
    assert body["schema_version"] == 1
    assert body["provenance"] == "modelled"
    assert body["correct"] is True
    assert body["spread"] is None
    assert [c["seed"] for c in body["a"]["checks"]] == [1, 2]
    assert body["a"]["text_sha256"] != body["b"]["text_sha256"]
    d = body["difference"]
    assert sum(r["delta"] for r in d["rows"]) == d["total_delta"] == d["lines_delta"] + d["residual_delta"]
    assert d["total_delta"] == body["cycles"]["wave_cycles"]["difference"]
    assert d["counts"]["inserted"] == 3
    assert [r["text_b"] for r in d["rows"] if r["status"] == "inserted"] == ["s_nop 15"] * 3
    assert [body[x]["capture"] for x in "ab"] == captures()


def test_every_key_of_the_json_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert ab("a.co", "slow.co", *SHAPE, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    page = (Path(__file__).parents[2] / "docs/ab.md").read_text()

    def keys(value: Any, outside: str) -> set[str]:
        if isinstance(value, list):
            return set().union(*(keys(v, outside) for v in value))
        if not isinstance(value, dict) or outside in ("verification", "shape"):
            return set()
        return set(value).union(*(keys(v, name) for name, v in value.items()))

    missing = [name for name in sorted(keys(body, "")) if f"`{name}`" not in page]
    assert missing == []


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["a.co", "wrong.co", *SHAPE], 5, "B is wrong"),
        (["a.co", "early.co", *SHAPE], 5, "lacks a wait"),
        (["wrong.co", "a.co", *SHAPE, "--launch", "a.launch.toml"], 5, "A is wrong"),
        (["a.co", "wild.co", *SHAPE], 4, "wild.co"),
        (["a.co", "a.co", *SHAPE], 2, "same instructions"),
        (["a.co", "slow.co", "--shape", "1,2"], 2, "1 axes"),
        (["a.co", "slow.co", *SHAPE, "--kernel", "nope"], 3, "nope"),
        (["a.co", "slow.co", *SHAPE, "--kernel-b", "nope"], 3, "nope"),
        (["a.co", "slow.co", *SHAPE, "--workgroups", "9,0,0"], 2, "--workgroups"),
        (["a.co", "slow.co", *SHAPE, "--fail-slower", "-1"], 2, "--fail-slower"),
        (["a.co", "slow.co", *SHAPE, "--seeds", "0"], 2, "seeds"),
        (["a.co", "slow.co", *SHAPE, "-o", "a.co"], 2, "directory"),
        (["a.co", "absent.co", *SHAPE], 3, "absent.co"),
        (["a.co", "a.launch.toml", *SHAPE], 3, "a.launch.toml"),
        (["a.co", "slow.co", *SHAPE, "--max-instructions", "3"], 4, "3 wave-instructions"),
    ],
)
def test_exit_codes(args: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ab(*args) == code
    captured = capsys.readouterr()
    assert says in captured.err
    if code == 5:
        assert len(captures()) == 2, "the captures of a wrong kernel show where it is wrong"
    else:
        assert captured.out == ""
        assert captures() == []


def test_slower_is_a_failure_only_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert ab("a.co", "slow.co", *SHAPE, "--fail-slower", "0.5") == 1
    assert "slower by" in capsys.readouterr().err
    assert ab("a.co", "slow.co", *SHAPE, "--fail-slower", "500", "--json") == 0
    assert json.loads(capsys.readouterr().out)["slower"]["failed"] is False
    (Path("a.co")).rename("fast.co")
    assert ab("slow.co", "fast.co", *SHAPE, "--launch", "a.launch.toml", "--fail-slower", "0") == 0


def test_nothing_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert ab("a.co", "slow.co", *SHAPE, "-o", "d") == 0
    assert [Path(c).name for c in captures()] == [
        f"{x}-k-gfx942-{n}.isaprof" for x in "AB" for n in (1, 2)
    ]  # fmt: skip
    before = isaprof.open("d/A-k-gfx942-1.isaprof").meta["created"]
    assert ab("a.co", "wrong.co", *SHAPE, "-o", "d", "--force") == 5
    assert len(captures()) == 4
    assert isaprof.open("d/B-k-gfx942-1.isaprof").meta["verification"]["verified"] is False
    assert isaprof.open("d/A-k-gfx942-1.isaprof").meta["created"] >= before


def test_report_draws_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert ab("a.co", "slow.co", *SHAPE) == 0
    line = next(x for x in capsys.readouterr().out.splitlines() if x.startswith("next: isaprof report"))
    command = line.removeprefix("next: isaprof ").split()
    assert isaprof_(*command) == 0
    page = Path("ab.html").read_text()
    assert "s_nop 15" in page
    assert "inserted" in page


def test_real_gemm_against_an_edited_one(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from isaprof.asm import assemble_text, disassemble_object

    path = data_dir / "sqtt/gfx1200/gemm_run0/kernel.co"
    text = disassemble_object(path.read_bytes(), path=path).text
    edited = text.replace("\ts_endpgm", "\ts_nop 7\n\ts_endpgm", 1)
    assert edited != text
    Path("b.co").write_bytes(assemble_text(edited))
    args = ["--shape", "32,32,32", "--workgroups", "8", "--seeds", "1", "--json"]
    assert ab(path, "b.co", *args) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["outputs"][0]["equal"] == body["outputs"][0]["compared"] == 8
    assert body["difference"]["counts"]["inserted"] == 1
