"""What tools said about themselves, kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isaprof.isa.tool_facts import remembered


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ISAPROF_NO_CACHE", raising=False)
    path = tmp_path / "llvm-mc"
    path.write_text("1")
    return path


def test_asked_once(tool: Path) -> None:
    asked: list[int] = []
    for _ in range(3):
        assert list(remembered(tool, "version", lambda: asked.append(1) or [22, 1]) or ()) == [22, 1]
    assert len(asked) == 1


def test_another_file_is_asked_anew(tool: Path) -> None:
    assert remembered(tool, "version", lambda: [22]) == [22]
    tool.write_text("23")
    assert remembered(tool, "version", lambda: [23]) == [23]


def test_questions_do_not_mix(tool: Path) -> None:
    assert remembered(tool, "version", lambda: [22]) == [22]
    assert remembered(tool, "processors", lambda: ["gfx942"]) == ["gfx942"]
    assert remembered(tool, "version", lambda: [0]) == [22]


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\t\t\n", b"\xff\xfe", b"x\tversion\t3\n", b"\0\tversion\t" + b"9" * 5000]
)
def test_damaged_cache_is_no_answer(tool: Path, content: bytes) -> None:
    place = Path(os.environ["XDG_CACHE_HOME"]) / "isaprof" / "tools.txt"
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    assert remembered(tool, "version", lambda: [22]) == [22]
    assert remembered(tool, "version", lambda: [0]) == [22]


def test_no_answer_is_not_kept(tool: Path) -> None:
    assert remembered(tool, "version", lambda: None) is None
    assert remembered(tool, "version", lambda: [22]) == [22]


def test_turned_off(tool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAPROF_NO_CACHE", "1")
    assert remembered(tool, "version", lambda: [22]) == [22]
    assert remembered(tool, "version", lambda: [23]) == [23]
