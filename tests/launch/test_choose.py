"""Which object of a folder serves a shape: manifests and the driver's rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.cli import main
from isaprof.errors import BadInput, UsageError
from isaprof.launch import manifest
from isaprof.launch.choose import choose

HEAD = "tile_M,tile_N,splitK,bpreshuffle,knl_name,co_name"


def row(m: int, n: int, split: int = 0, shuffle: int = 1) -> str:
    stem = f"f4gemm_bf16_per1x32Fp4_{'' if shuffle else 'no'}BpreShuffle_{m}x{n}"
    return f"{m},{n},{split},{shuffle},_ZN5aiter{len(stem)}{stem}E,{stem}.co"


def folder(tmp_path: Path, *rows: str, present: bool = True) -> Path:
    (tmp_path / "f4gemm.csv").write_text("\n".join((HEAD, *rows)))
    for line in rows if present else ():
        (tmp_path / line.rpartition(",")[2]).write_bytes(b"\x7fELF")
    return tmp_path


def picked(path: Path, shape: str, cus: int = 256, **columns: str) -> tuple[str, int, str]:
    pick = choose(manifest.read(path), shape, cus, "gfx950", columns)
    assert pick.chosen is not None
    values = pick.chosen.row.values
    return f"{values['tile_M']}x{values['tile_N']}", pick.chosen.split, pick.shape


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        # the tiles that the public performance table of this family names for these sizes (MI355X, 256 CUs)
        ("8192,8192,8192", "256x256"),
        ("2048,8192,8192", "256x256"),
        ("4096,4096,4096", "256x256"),
        ("128,16384,16384", "96x640"),
    ],
)
def test_the_rule_picks_what_the_public_driver_picked(data_dir: Path, shape: str, tile: str) -> None:
    assert picked(data_dir / "co/gfx950/f4gemm", shape)[:2] == (tile, 1)


def test_the_steps_of_the_rule(tmp_path: Path) -> None:
    # 4 CUs, 256 x 512: 128x128 takes 8 workgroups = 2 rounds, 256x128 takes 4 = 1, 128x256 is no better
    here = folder(tmp_path, row(128, 128), row(256, 128), row(128, 256))
    pick = choose(manifest.read(here), "256,512,256", 4, "gfx950")
    assert [c.verdict.split(":")[0] for c in pick.candidates] == ["taken", "taken", "passed over"]
    assert pick.candidates[1].verdict == "taken: fewer rounds"
    assert picked(here, "256,512,256", 4)[0] == "256x128"


def test_splits_of_k(tmp_path: Path) -> None:
    here = folder(tmp_path, row(256, 256, split=1), row(32, 128))
    assert picked(here, "256,256,4096,log2_k_split=2") == ("256x256", 4, "M=256,N=256,K=4096,log2_k_split=2")
    # -1 leaves it to the rule: more splits leave fewer CUs idle
    tile, split, shape = picked(here, "256,256,4096,log2_k_split=-1", cus=16)
    assert (tile, split) == ("256x256", 16)
    assert shape.endswith("log2_k_split=4")


def test_512_columns_need_a_multiple(tmp_path: Path) -> None:
    here = folder(tmp_path, row(128, 512, split=1), row(32, 128))
    assert picked(here, "128,768,256")[0] == "32x128"
    pick = choose(manifest.read(here), "128,768,256", 256, "gfx950")
    assert "multiple of 512" in pick.candidates[0].verdict


def test_columns_of_the_manifest_can_be_asked_for(tmp_path: Path) -> None:
    here = folder(tmp_path, row(256, 256, shuffle=0), row(32, 128))
    assert picked(here, "256,256,256")[0] == "32x128", "shuffled B, unless asked otherwise"
    assert picked(here, "256,256,256", bpreshuffle="0")[0] == "256x256"
    with pytest.raises(UsageError, match="no column nonsense"):
        picked(here, "256,256,256", nonsense="1")


def test_an_object_that_is_not_there_is_named_and_the_best_present_one_runs(tmp_path: Path) -> None:
    here = folder(tmp_path, row(32, 128), row(256, 128))
    (here / "f4gemm_bf16_per1x32Fp4_BpreShuffle_256x128.co").unlink()
    pick = choose(manifest.read(here), "256,512,256", 4, "gfx950")
    assert pick.driver is not None
    assert pick.chosen is not None
    assert pick.driver.row.path is None
    assert pick.driver.row.values["tile_M"] == "256"
    assert pick.chosen.row.values["tile_M"] == "32"


@pytest.mark.parametrize(
    ("text", "says"),
    [("a,b\n1,2\n", "no column knl_name"), ("knl_name,co_name\n", "no row"),
     ('knl_name,co_name\n"x', "no CSV"),
     ("knl_name,co_name\nother_kernel,x.co\n", "no rule for kernels like other_kernel")],
)  # fmt: skip
def test_bad_manifests(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(BadInput, match=says):
        choose(manifest.read(tmp_path), None, 256, "gfx950")


def test_a_manifest_names_nothing_outside_its_folder(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "x.co").write_bytes(b"\x7fELF")
    (inside / "m.csv").write_text("knl_name,co_name\nk,../x.co\n")
    assert manifest.read(inside)[0].path is None


def run(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as e:
        main(["run", *map(str, args)])
    return int(e.value.code or 0)


def test_the_list_and_the_run(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = data_dir / "co/gfx950/f4gemm"
    assert run("--co-dir", objects, "--shape", "300,2048,1024", "--list") == 0
    text = capsys.readouterr().out
    assert text.count("f4gemm_bf16") == 34
    assert text.rstrip().endswith("<- driver  <- runs")
    assert "rounds" in text.splitlines()[1]
    assert run("--co-dir", objects, "--shape", "1,128,256", "--list", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["arch"], body["cus"], len(body["candidates"])) == ("gfx950", 256, 34)
    out = tmp_path / "c.isaprof"
    where = ["--where", "tile_M=32", "-o", out, "--json"]
    assert run("--co-dir", objects, "--shape", "1,128,256", *where) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["verified"] is True
    assert "32x128.co" in captured.err


def test_what_does_not_go_together(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    assert run("x.co", "--list") == 2
    assert run("x.co", "--co-dir", data_dir) == 2
    assert run("--co-dir", data_dir / "co/gfx950/f4gemm", "--shape", "1,128") == 2
    assert run("--co-dir", data_dir / "co", "--shape", "1,128,256") == 3
    assert "no manifest" in capsys.readouterr().err
