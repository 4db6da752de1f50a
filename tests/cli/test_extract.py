"""``isaprof extract`` and containers as input of other commands, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.cli import VERBS, main
from isaprof.codeobj.elf import CodeObject
from isaprof.codeobj.source import read_source
from isaprof.errors import BadInput
from tests import synthetic_bundle as make
from tests.ab import kernels

TARGETS = ("gfx90a:xnack-", "gfx1030", "gfx1151")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("extract", "ab", "edit"):
        monkeypatch.setitem(VERBS, name, f"isaprof.cli.{name}")


def verb(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as e:
        main([str(a) for a in args])
    return int(e.value.code or 0)


@pytest.fixture(scope="module")
def objects() -> dict[str, bytes]:
    return {t: make.code_object(t, "alpha", "_Z4betav") for t in TARGETS}


@pytest.fixture
def library(tmp_path: Path, objects: dict[str, bytes]) -> Path:
    path = tmp_path / "libx.so"
    second = {"gfx1030": make.code_object("gfx1030", "gamma")}
    path.write_bytes(make.elf_host([make.compressed(make.by_target(b)) for b in (objects, second)]))
    return path


def files() -> list[str]:
    return sorted(str(p) for p in Path().rglob("*") if p.is_file() and p.name != "libx.so")


def test_one_object(library: Path, objects: dict[str, bytes], capsys: pytest.CaptureFixture[str]) -> None:
    assert verb("extract", library, "--target", "gfx1151") == 0
    assert capsys.readouterr() == ("libx-gfx1151.co\n", "")
    assert Path("libx-gfx1151.co").read_bytes() == objects["gfx1151"]
    assert verb("extract", library, "--target", "gfx90a:xnack-", "-o", "k.co") == 0
    assert Path("k.co").read_bytes() == objects["gfx90a:xnack-"]


def test_all_objects_into_a_folder(
    library: Path, objects: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb("extract", library, "-o", "out", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert [o["path"] for o in body["objects"]] == [
        "out/libx-bundle0-gfx90a_xnack-.co",
        "out/libx-bundle0-gfx1030.co",
        "out/libx-bundle0-gfx1151.co",
        "out/libx-bundle1-gfx1030.co",
    ]
    assert Path(body["objects"][1]["path"]).read_bytes() == objects["gfx1030"]
    assert body["objects"][0]["kernels"] == ["alpha", "_Z4betav"]
    assert verb("extract", library, "--target", "gfx1030", "-o", "two/") == 0
    assert [f for f in files() if f.startswith("two")] == [
        "two/libx-bundle0-gfx1030.co",
        "two/libx-bundle1-gfx1030.co",
    ]


def test_nothing_is_overwritten(library: Path, objects: dict[str, bytes]) -> None:
    Path("out").mkdir()
    mine = Path("out/libx-bundle1-gfx1030.co")
    mine.write_text("mine")
    assert verb("extract", library, "-o", "out") == 2
    assert files() == [str(mine)], "all or nothing"
    assert mine.read_text() == "mine"
    assert verb("extract", library, "-o", "out", "--force") == 0
    assert mine.read_bytes()[:4] == b"\x7fELF"
    k = Path("k.co")
    k.write_text("mine")
    assert verb("extract", library, "--target", "gfx1151", "-o", k) == 2
    assert k.read_text() == "mine"


def test_several_that_fit(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in ((), ("-o", "one.co")):
        assert verb("extract", library, "--target", "gfx1030", *options) == 2
        err = capsys.readouterr().err
        assert "2 code objects fit --target gfx1030" in err
        assert "gamma" in err
    assert verb("extract", library) == 2
    assert "give --target, one of" in capsys.readouterr().err
    assert files() == []
    assert verb("extract", library, "--target", "gfx1030", "--kernel", "gamma") == 0


def test_nothing_fits(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb("extract", library, "--target", "gfx942", "--json") == 3
    out = capsys.readouterr()
    assert json.loads(out.out)["error"]["kind"] == "no_such_target"
    assert "gfx90a:xnack-" in out.err


def test_the_list(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb("extract", library, "--list") == 0
    out = capsys.readouterr().out
    assert "ELF shared library, 2 bundles" in out
    assert out.count("code object v6, 2 kernels") == 3
    assert "code object v6, 1 kernel: gamma" in out
    assert verb("extract", library, "--target", "gfx1151", "--list") == 0
    assert "_Z4betav  beta()" in capsys.readouterr().out
    assert verb("extract", library, "--list", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert [b["version"] for b in body["bundles"]] == [3, 3]
    assert [o["target"] for o in body["objects"]] == [None, *TARGETS, None, "gfx1030"]
    assert files() == []


def test_names_from_the_file_stay_in_the_folder_and_off_the_terminal(
    tmp_path: Path, objects: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in" / "a.aks2"
    path.parent.mkdir()
    path.write_bytes(make.aks2([("../../evil", objects["gfx1030"]), ("..", objects["gfx1151"])]))
    assert verb("extract", path, "-o", "out") == 0
    assert capsys.readouterr().out.splitlines() == ["out/_.._evil-gfx1030.co", "out/object-gfx1151.co"]
    odd = objects["gfx1030"].replace(b"alpha.kd\0", b"al\x1b[2J.kd\0"[:9])
    path.write_bytes(odd)
    assert verb("extract", path, "--list", "--target", "gfx1030") == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_triton_folder(
    tmp_path: Path, objects: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cache" / "ABC"
    folder.mkdir(parents=True)
    (folder / "alpha.hsaco").write_bytes(objects["gfx1151"])
    (folder / "alpha.json").write_text('{"num_warps": 2, "warp_size": 32, "shared": 512}')
    assert verb("extract", folder) == 0
    assert capsys.readouterr().out == "alpha-gfx1151.co\n"
    assert verb("launch-template", tmp_path / "cache", "--kernel", "alpha") == 0
    text = capsys.readouterr().out
    assert "workgroup = [64, 1, 1]  # Triton" in text
    assert "dynamic_lds = 512" in text


def test_other_commands_take_containers(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verb("launch-template", library, "--target", "gfx1151", "--kernel", "alpha", "-o", "a.toml") == 0
    assert 'symbol = "alpha"' in Path("a.toml").read_text()
    assert verb("launch-template", library) == 2
    capsys.readouterr()
    assert verb("run", library, "--target", "gfx1151", "--kernel", "alpha") == 3
    err = capsys.readouterr().err
    assert f"isaprof launch-template {library} --target gfx1151 --kernel alpha" in err
    assert verb("run", library, "--kernel", "alpha") == 2
    assert "give --target" in capsys.readouterr().err


def test_ab_and_edit_take_containers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernels.write(tmp_path, a=kernels.SLOW, b=kernels.BODY)
    old = Path("a.co").read_bytes()
    others = {"gfx1030": make.code_object("gfx1030")}
    arch = CodeObject.from_bytes(old).arch
    Path("lib").write_bytes(make.compressed(make.by_target({**others, arch: old})))
    Path("lib.launch.toml").write_bytes(Path("a.launch.toml").read_bytes())
    options = ("--shape", "256", "--seeds", "1", "--target", arch, "--json")
    assert verb("ab", "lib", "b.co", *options) == 0
    assert json.loads(capsys.readouterr().out)["outputs"][0]["bitwise"] is True
    assert verb("edit", "lib", *options, "--no-editor") == 0
    assert Path("lib.edit/step-00.co").read_bytes() == old


def test_hardware_runs_get_the_object_as_a_file(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isaprof.backends.environment.gpu_targets", lambda *_: iter(()))
    object_ = (data_dir / "sqtt/gfx1100/gemm_run0/kernel.co").read_bytes()
    Path("lib").write_bytes(make.by_target({"gfx1100": object_}))
    options = ("run", "lib", "--shape", "32,32,32", "--backend", "rocprofv3", "-o", "c.isaprof")
    assert verb(*options, "--dry-run") == 0
    assert str(tmp_path / "c.co") in capsys.readouterr().out
    assert not Path("c.co").exists(), "a dry run writes nothing"
    for _ in range(2):  # no GPU: the second attempt must not trip over the first one's file
        assert verb(*options) == 6
        assert Path("c.co").read_bytes() == object_


def test_a_kernel_inside_a_bundle_runs(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    object_ = (data_dir / "sqtt/gfx1100/gemm_run0/kernel.co").read_bytes()
    path = tmp_path / "app"
    others = {"gfx1030": make.code_object("gfx1030")}
    path.write_bytes(make.pe_host([make.compressed(make.by_target({**others, "gfx1100": object_}))]))
    assert verb("run", path, "--target", "gfx1100", "--shape", "32,32,32", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True


def test_a_capture_in_the_place_of_an_object_is_named(tmp_path: Path) -> None:
    (tmp_path / "capture.json").write_text("{}")
    with pytest.raises(BadInput, match="is a capture; a code object is needed") as e:
        read_source(tmp_path)
    assert "isaprof report A B" in str(e.value.hint)
