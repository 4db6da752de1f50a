"""``isaprof roundtrip`` from the command line."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from isaprof import cli
from isaprof.cli.roundtrip_report import quick
from tests.asm.objects import build, source


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as e:
        cli.main(["roundtrip", *args])
    out = capsys.readouterr()
    return int(e.value.code or 0), out.out, out.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.co").write_bytes(build(source("gfx1100", "\t.long 0xd7006a00, 0x02020008")))
    (tmp_path / "sub" / "no_suffix").write_bytes(build(source("gfx942", "\ts_nop 1")))
    (tmp_path / "readme.txt").write_text("no object")
    (tmp_path / "host.so").write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\0" + bytes(200))
    return tmp_path


def test_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, str(folder))
    assert code == 0
    assert out.count("identical  gfx") == 2
    assert "2 objects: 2 identical, 0 equivalent, 0 different" in out
    assert "0 are kept as .long, 1 have their bits in a comment" in out
    assert err == ""


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--json", str(folder))
    body: dict[str, Any] = json.loads(out)
    assert (code, body["schema_version"]) == (0, 1)
    assert [o["verdict"] for o in body["objects"]] == ["identical"] * 2
    first = body["objects"][0]
    assert first["path"] == str(folder / "a.co")
    assert all(first["checks"].values())
    assert {"e_flags", "abi_version", "descriptors", "text", "metadata", "symbols"} <= set(first["checks"])
    assert (first["kept_as_words"], first["with_bits"]) == (0, 1)


def test_different_exits_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dynamic symbol that contradicts the symbol table cannot come out of any linker."""
    from isaprof.codeobj.tables import read_tables

    data = bytearray((folder / "a.co").read_bytes())
    dynsym = next(s for s in read_tables(bytes(data)).sections if s.name == ".dynsym")
    struct.pack_into("<Q", data, dynsym.offset + 24 + 16, 4)
    (folder / "a.co").write_bytes(data)
    code, out, _ = run(capsys, str(folder))
    assert code == 1
    assert "1 identical, 0 equivalent, 1 different" in out
    assert "dynamic symbol k" in out
    assert "original" in out
    assert "rebuilt" in out


def test_damaged_file_among_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "cut.co").write_bytes((folder / "a.co").read_bytes()[:600])
    code, out, _ = run(capsys, "--json", str(folder))
    verdicts = [o["verdict"] for o in json.loads(out)["objects"]]
    assert code == 3
    assert sorted(verdicts) == ["failed", "identical", "identical"]


def test_missing_and_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, str(tmp_path / "none.co"))[0] == 3
    code, _, err = run(capsys, str(tmp_path))
    assert code == 3
    assert "no code object below" in err


def test_both_ways_of_reading_the_command_line_agree(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from isaprof.cli.app import build as build_app

    paths = [str(folder / "a.co"), "--json"]
    assert quick(paths) == 0
    first = capsys.readouterr().out
    verbs = {"roundtrip": "isaprof.cli.roundtrip", "asm": "isaprof.cli.asm"}
    app = build_app(verbs, import_module)
    assert not app(args=["roundtrip", *paths], standalone_mode=False)
    assert capsys.readouterr().out == first
    assert quick(["--help"]) is None
    assert quick(["--target"]) is None
    assert quick([]) is None


def test_starts_without_typer(folder: Path) -> None:
    program = (
        "import sys\nfrom isaprof import cli\ntry: cli.main(['roundtrip', sys.argv[1]])\n"
        "except SystemExit as e: assert not e.code\n"
        "bad = {'typer', 'pydantic', 'numpy', 'pandas', 'elftools', 'rich'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(folder / "a.co")], check=True, stdout=subprocess.DEVNULL
    )


def test_trace_folder_names_the_target(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, str(data_dir / "sqtt" / "gfx1100" / "sync_run0"))
    assert code == 0
    assert "2 objects: 2 identical" in out


@pytest.mark.slow
def test_every_shared_object(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--json", *(str(data_dir / d) for d in ("co", "sqtt", "att", "bundle")))
    objects = json.loads(out)["objects"]
    assert code == 0
    assert len(objects) >= 136
    assert {o["verdict"] for o in objects} == {"identical"}
