"""What must not be in the repository: build machines' paths, merge leftovers, oversized modules."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: absolute paths of somebody's machine; system paths such as /opt/rocm or /etc are facts
MACHINE_PATH = re.compile(r"(?<![\w.$}>-])/(?:home|root|work|tmp|Users)/[\w.~-]")
MERGE = re.compile(r"^(?:<{7} |={7}$|>{7} |\|{7} )", re.MULTILINE)
MAX_LINES = 500


def tracked() -> list[Path]:
    """Files of the repository, links left out; all files where there is no git (a source archive)."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [p for p in paths if p.is_file() and not p.is_symlink()]


def texts() -> list[tuple[str, str]]:
    out = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data:
            out.append((str(path.relative_to(ROOT)), data.decode("utf-8", errors="replace")))
    return out


def test_no_path_of_a_build_machine() -> None:
    found = [
        f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m[0]}"
        for name, text in texts()
        for m in MACHINE_PATH.finditer(text)
    ]
    assert found == []


def test_no_merge_leftovers() -> None:
    assert [name for name, text in texts() if MERGE.search(text)] == []


def test_the_patterns_find_what_they_are_for() -> None:
    for top in ("home", "work", "tmp"):
        assert MACHINE_PATH.search(f"open('/{top}/x')")
        assert not MACHINE_PATH.search(f"$DIR/{top}/x and a/{top}/b")
    assert not MACHINE_PATH.search("/opt/rocm/bin, ISAPROF_LLVM=/path/to/llvm")
    assert MERGE.search("a\n" + "<" * 7 + " HEAD\n")
    assert not MERGE.search("a\n========\n")


def test_no_module_is_longer_than_500_lines() -> None:
    lengths = {name: text.count("\n") for name, text in texts() if name.endswith(".py")}
    assert lengths, "no Python file found"
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def test_every_module_has_a_docstring() -> None:
    missing = [
        name
        for name, text in texts()
        if name.endswith(".py") and text.strip() and ast.get_docstring(ast.parse(text)) is None
    ]
    assert missing == []


def test_scripts_are_executable_and_say_what_they_do() -> None:
    scripts = [p for p in tracked() if p.suffix == ".sh" or p.relative_to(ROOT).as_posix() == ".ci/run"]
    assert scripts
    for path in scripts:
        lines = path.read_text().splitlines()
        if path.name == "common.sh":  # sourced
            continue
        assert lines[0].startswith("#!"), path
        assert lines[1].startswith("# "), path
        assert path.stat().st_mode & 0o111, path
