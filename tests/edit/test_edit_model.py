"""Descriptions, ladder.json and ladder.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.edit import markdown
from isaprof.edit.model import (
    Against,
    Settings,
    Status,
    Step,
    description,
    read,
    with_description,
    without_description,
)
from isaprof.edit.store import Store, new_directory
from isaprof.errors import BadInput, UsageError

SETTINGS = Settings("k.co", "ab" * 32, "k", "gfx942", "k.launch.toml", "cd" * 32, {"N": 256}, (1, 2), "all")
STEP = Step(
    0, None, Status.VERIFIED, "original", verified=True, cosine=1.0, provenance="modelled", cycles=1234
)
NEXT = Step(
    1, 0, Status.VERIFIED, "a | b", cycles=1000, provenance="modelled", cosine=0.5,
    vs_previous=Against(0, -234.0, 1000 / 1234, -18.96, True, True, {"changed": 2, "deleted": 1}),
    checks=({"seed": 1, "unwritten": 0, "unstable": 0, "verification": {"verified": True}},),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("; step: wait later\ns_endpgm\n", "wait later"),
        ("\t// step:  x \n", "x"),
        ("; step:\ns_endpgm", None),
        ("s_nop 0 ; step: not a line of its own\n", None),
        ("; first\n; step: second line\n; step: third\n", "second line"),
        ("", None),
    ],
)
def test_description(text: str, words: str | None) -> None:
    assert description(text) == words


@given(st.text(), st.text(alphabet=st.characters(categories=["L", "N"])))
def test_a_description_does_not_count_as_an_edit(text: str, words: str) -> None:
    described = with_description(text, words)
    assert without_description(described) == without_description(text)
    assert description(described) == (words[:200] or None)
    assert with_description(described, words) == described


def test_round_trip(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(SETTINGS, [STEP, NEXT])
    assert store.load() == (SETTINGS, [STEP, NEXT])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"schema": "isaprof-ladder", "schema_version": 2}', '{"schema": "x"}',
     '{"schema": "isaprof-ladder", "schema_version": 1, "settings": {}, "steps": []}',
     '{"schema": "isaprof-ladder", "schema_version": 1, "settings": 3, "steps": {}}', "[" * 100000],
)  # fmt: skip
def test_a_damaged_ladder_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "ladder.json").write_text(text)
    with pytest.raises(BadInput, match=r"ladder\.json") as e:
        Store(tmp_path).load()
    assert "-o DIR" in str(e.value.hint)


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_no_steps_of_any_shape_give_a_traceback(junk: object) -> None:
    data = {"schema": "isaprof-ladder", "schema_version": 1, "settings": junk, "steps": junk}
    with pytest.raises(BadInput):
        read(data, Path("x"))


def test_notes_outside_of_the_table_are_kept() -> None:
    page = markdown.update("", SETTINGS, [STEP])
    assert "1,234 modelled" in page
    noted = "my plan\n" + page + "\nmy notes\n"
    later = markdown.update(noted, SETTINGS, [STEP, NEXT])
    assert later.startswith("my plan\n")
    assert later.endswith("\nmy notes\n")
    assert "a \\| b" in later
    assert "~2" in later
    assert "-18.96 % (-234)" in later
    assert later.count(markdown.BEGIN) == 1
    assert markdown.update(later, SETTINGS, [STEP, NEXT]) == later


def test_a_page_without_the_markers_gets_a_table_and_keeps_its_text() -> None:
    later = markdown.update("only my text\n", SETTINGS, [STEP])
    assert later.startswith("only my text\n")
    assert markdown.BEGIN in later


def test_a_step_that_is_no_text_or_a_directory_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.file(1, ".s").write_bytes(b"s_endpgm\n\xff\n")
    with pytest.raises(BadInput, match="no UTF-8 text: byte 0xff") as e:
        store.text(1)
    assert e.value.offset == 9
    store.file(2, ".s").mkdir()
    with pytest.raises(BadInput, match="is a directory"):
        store.text(2)


def test_a_ladder_begun_by_another_meanwhile_is_left_alone(tmp_path: Path) -> None:
    directory = tmp_path / "k.edit"

    def begin_too_late() -> None:
        with new_directory(directory):
            directory.mkdir()
            (directory / "ladder.json").write_text("{}")

    with pytest.raises(UsageError, match="another isaprof edit began this ladder"):
        begin_too_late()
    assert (directory / "ladder.json").read_text() == "{}"
    assert list(tmp_path.iterdir()) == [directory]
