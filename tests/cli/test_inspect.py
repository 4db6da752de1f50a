"""``isaprof inspect``: text, JSON, Markdown pages, and what it does with bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isaprof.asm import assemble_file, assemble_text
from isaprof.cli import VERBS, main
from tests.inspect.kernels import POINTERS, Arg, source

SAMPLE = Path(__file__).resolve().parents[2] / "samples/waitcnt_relax/waitcnt_relax.s"
BODY = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
BODY += "  v_mov_b32 v1, 0\n  global_store_dword v1, v1, s[4:5]\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(VERBS, "inspect", "isaprof.cli.inspect")


def verb(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["inspect", *map(str, args)])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_text_of_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.co").write_bytes(assemble_file(SAMPLE))
    code, out, err = verb(capsys, "k.co")
    assert (code, err) == (0, "")
    for title in (
        "Arguments",
        "Registers and occupancy",
        "LDS",
        "Loops",
        "Techniques present",
        "Live registers",
    ):
        assert f"\n{title}\n" in out
    assert "Control flow" not in out
    assert "Software pipelining" in out
    assert "Control flow" in verb(capsys, "k.co", "--full")[1]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.co").write_bytes(assemble_text(source(BODY)))
    code, out, err = verb(capsys, "k.co", "--json")
    assert (code, err) == (0, "")
    body: dict[str, Any] = json.loads(out)
    assert body["schema_version"] == 1
    (k,) = body["kernels"]
    assert (k["kernel"], k["arch"]) == ("k", "gfx942")
    assert [a["state"] for a in k["kernargs"]["arguments"]] == ["used", "dead", "dead", "dead"]
    assert len(k["pressure"]["rows"]) == k["code"]["reachable"]
    assert set(k) == {
        "kernel", "symbol", "arch", "target_id", "code_object_version", "sha256", "descriptor", "metadata",
        "code", "kernargs", "inputs", "lds", "registers", "occupancy", "occupancy_unknown", "pressure",
        "blocks", "loops", "buffers", "sync", "techniques", "limits",
    }  # fmt: skip


def test_pages(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.co").write_bytes(assemble_text(source(BODY)))
    code, out, _ = verb(capsys, "k.co", "-o", "pages")
    assert (code, out) == (0, "pages/k.md\n")
    page = Path("pages/k.md").read_text()
    assert page.startswith("# k\n")
    assert "## Arguments" in page
    assert "## Control flow" in page
    Path("pages/k.md").write_text("mine")
    code, _, err = verb(capsys, "k.co", "-o", "pages")
    assert code == 2
    assert "already exists" in err
    assert Path("pages/k.md").read_text() == "mine"
    assert verb(capsys, "k.co", "-o", "pages", "--force")[0] == 0
    assert Path("pages/k.md").read_text() == page


def test_names_from_the_object_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    args = (Arg('"<script>|`x`\\e[31m"', 0, 8, "global_buffer"), *POINTERS[1:])
    Path("k.co").write_bytes(assemble_text(source(BODY, args=args)))
    _, out, _ = verb(capsys, "k.co")
    assert "\x1b" not in out
    assert verb(capsys, "k.co", "-o", "pages")[0] == 0
    page = Path("pages/k.md").read_text()
    assert "<script>" not in page.replace("\\<", "")
    assert "\x1b" not in page


def test_unknown_kernel_and_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.co").write_bytes(assemble_text(source(BODY)))
    code, _, err = verb(capsys, "k.co", "--kernel", "other")
    assert code == 3
    assert "it has: k" in err
    Path("bad.co").write_bytes(b"\x7fELF junk")
    for name in ("bad.co", "none.co"):
        code, out, err = verb(capsys, name)
        assert (code, out) == (3, "")
        assert err.startswith("isaprof: ")
    Path("file").write_text("")
    assert verb(capsys, "k.co", "-o", "file")[0] == 2
