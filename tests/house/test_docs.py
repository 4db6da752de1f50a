"""The documentation says what the code does, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import isaprof
from isaprof.capture.describe import markdown
from isaprof.cli import VERBS
from isaprof.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])


def test_the_exit_code_table_is_complete() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| \S", text, re.MULTILINE)
    assert {(int(code), name) for code, name in rows} == {(int(c), c.name) for c in ExitCode}


def test_every_command_is_documented() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    documented = re.findall(r"^### isaprof ([\w-]+)", text, re.MULTILINE)
    assert set(VERBS) <= set(documented)
    modules = {p.stem.strip("_").replace("_", "-") for p in (ROOT / "isaprof/cli").glob("*.py")}
    assert set(documented) <= modules


def test_the_capture_schema_in_the_docs_is_the_one_in_the_code() -> None:
    text = (ROOT / "docs/capture.md").read_text()
    begin, end = (
        "<!-- generated: python -m isaprof.capture.describe -->\n\n",
        "\n<!-- end of generated part -->",
    )
    assert text.count(begin) == 1
    assert text.count(end) == 1
    generated = text[text.index(begin) + len(begin) : text.index(end)]
    assert generated == markdown()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    local = [t for t in targets if not re.match(r"[a-z]+:", t)]
    assert [t for t in local if not (page.parent / t).exists()] == []


def test_make_targets_named_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {t for page in PAGES for t in re.findall(r"\bmake ([a-z][a-z-]+)\b`", page.read_text())}
    assert {"run", "test"} <= targets
    assert named <= targets


def test_the_example_in_the_docs_writes_a_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/capture.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "docs/capture.md", "exec"), {})
    capture = isaprof.open(tmp_path / "mine.isaprof")
    assert (len(capture.code), len(capture.waves), len(capture.insts)) == (2, 1, 2)
    assert capture.states is None
