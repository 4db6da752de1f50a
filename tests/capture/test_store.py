"""A capture is written whole or not at all, and comes back as it was."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import isaprof
from isaprof.capture import (
    SCHEMA_VERSION,
    TABLES,
    Provenance,
    default_path,
    open,  # noqa: A004
    save,
    save_numbered,
)
from isaprof.errors import BadInput, EnvironmentProblem, UsageError
from tests.synthetic_capture import CODE, META, make_tables

Frames = dict[str, pd.DataFrame]


def test_round_trip_of_every_table(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a.isaprof", META, tables, CODE)
    capture = isaprof.open(tmp_path / "a.isaprof")
    assert (capture.provenance, capture.arch, capture.kernel) == (Provenance.MODELLED, "gfx1100", "k")
    for name, columns in TABLES.items():
        frame = capture.table(name)
        assert list(frame.columns) == [c.name for c in columns]
        for c in columns:
            expected = [None if pd.isna(v) else v for v in tables[name][c.name]]
            assert [None if pd.isna(v) else v for v in frame[c.name]] == expected, (name, c.name)
    assert [(o.id, o.data, o.name, o.load_base) for o in capture.code_objects] == [
        (o.id, o.data, o.name, o.load_base) for o in CODE
    ]


def test_nullable_integers_stay_integers(tmp_path: Path, tables: Frames) -> None:
    big = 2**60 + 1  # a float64 detour would lose the last bit
    tables["code"]["target"] = pd.array([big, None], dtype="Int64")
    capture = save(tmp_path / "a", META, tables)
    assert capture.code["target"].dtype == pd.Int64Dtype()
    assert capture.code["target"][0] == big


def test_categories_are_categorical(tmp_path: Path, tables: Frames) -> None:
    assert isinstance(save(tmp_path / "a", META, tables).insts["category"].dtype, pd.CategoricalDtype)


def test_optional_tables_are_absent_not_empty(tmp_path: Path, tables: Frames) -> None:
    required = {name: tables[name] for name in ("code", "waves", "insts")}
    capture = save(tmp_path / "a", META, required)
    assert capture.memory is None
    assert capture.states is None
    with pytest.raises(BadInput, match="no table 'memory'"):
        capture.table("memory")
    with pytest.raises(KeyError):
        capture.table("nonsense")


def test_tables_are_read_on_first_use(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", META, tables)
    (tmp_path / "a" / "memory.parquet").write_bytes(b"broken")
    capture = open(tmp_path / "a")
    assert len(capture.code) == 2
    with pytest.raises(BadInput, match="unreadable table"):
        capture.table("memory")


def test_numbers_json_cannot_say_become_null(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", {**META, "verification": {"cosine": math.nan, "max": [math.inf, 1.5]}}, tables)
    text = (tmp_path / "a" / "capture.json").read_text()
    assert json.loads(text)["verification"] == {"cosine": None, "max": [None, 1.5]}


def test_an_existing_capture_is_not_overwritten(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", META, tables)
    before = (tmp_path / "a" / "capture.json").read_bytes()
    with pytest.raises(UsageError, match="already exists"):
        save(tmp_path / "a", {**META, "arch": "gfx950"}, tables)
    assert (tmp_path / "a" / "capture.json").read_bytes() == before


def test_force_replaces_a_capture_and_leaves_nothing_else(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", META, tables)
    save(tmp_path / "a", {**META, "arch": "gfx950"}, tables, force=True)
    assert open(tmp_path / "a").arch == "gfx950"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "make", [lambda p: p.write_text("mine"), lambda p: p.mkdir(), lambda p: p.symlink_to("x")]
)
def test_force_never_replaces_what_is_not_a_capture(tmp_path: Path, tables: Frames, make: Any) -> None:
    make(tmp_path / "a")
    with pytest.raises(UsageError, match="not a capture"):
        save(tmp_path / "a", META, tables, force=True)
    assert os.path.lexists(tmp_path / "a")


@pytest.mark.parametrize(
    "interruption", [KeyboardInterrupt, MemoryError, OSError(28, "No space left on device")]
)
@pytest.mark.parametrize("force", [False, True])
def test_an_interrupted_save_leaves_nothing(
    tmp_path: Path, tables: Frames, monkeypatch: pytest.MonkeyPatch, interruption: Any, force: bool
) -> None:
    if force:
        save(tmp_path / "a", META, tables)
    real, calls = pq.write_table, []

    def fails_at_the_second(*args: Any, **kwargs: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise interruption
        real(*args, **kwargs)

    monkeypatch.setattr(pq, "write_table", fails_at_the_second)
    expected = EnvironmentProblem if isinstance(interruption, OSError) else interruption
    with pytest.raises(expected):
        save(tmp_path / "a", {**META, "arch": "gfx950"}, tables, force=force)
    assert os.listdir(tmp_path) == (["a"] if force else [])
    if force:
        assert open(tmp_path / "a").arch == "gfx1100"


def test_the_old_capture_comes_back_when_replacing_fails(
    tmp_path: Path, tables: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "a", META, tables)
    real = os.rename

    def fails_for_the_new(source: Any, target: Any) -> None:
        if Path(target).name == "a" and Path(source).name != "capture":
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "rename", fails_for_the_new)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "a", {**META, "arch": "gfx950"}, tables, force=True)
    assert open(tmp_path / "a").arch == "gfx1100"
    assert os.listdir(tmp_path) == ["a"]


def test_default_path_takes_the_first_free_number(tmp_path: Path) -> None:
    assert default_path("gemm", "gfx950", tmp_path).name == "gemm-gfx950-1.isaprof"
    (tmp_path / "gemm-gfx950-1.isaprof").mkdir()
    assert default_path("gemm", "gfx950", tmp_path).name == "gemm-gfx950-2.isaprof"
    assert default_path("a/../b c", "gfx950", tmp_path).parent == tmp_path


@pytest.mark.parametrize(
    ("table", "column", "values", "message"),
    [
        ("code", "line", [0, 2], "row 1: line must be the row number"),
        ("waves", "wave", [1, 1], "row 0: wave must be the row number"),
        ("insts", "wave", [0, 2], "row 1: wave is not a row of table waves"),
        ("insts", "line", [-1, None], "row 0: line is not a row of table code"),
        ("memory", "wave", [5, 0], "row 0: wave is not a row of table waves"),
        ("waves", "end", [-1, 5], "row 0: end is before begin"),
        ("insts", "stall", [-1, 3], "row 0: stall is negative"),
        ("insts", "duration", [0, 2], "row 1: duration is shorter than stall"),
        ("states", "duration", [0, -3], "row 1: duration is negative"),
    ],
)
def test_rows_that_make_no_sense_are_refused(
    tmp_path: Path, tables: Frames, table: str, column: str, values: list[Any], message: str
) -> None:
    good = save(tmp_path / "good", META, tables)
    tables[table][column] = pd.array(values, dtype="Int64")
    with pytest.raises(BadInput, match=message):
        save(tmp_path / "bad", META, tables)
    assert not (tmp_path / "bad").exists()
    # the same rows, written by another program
    frame = tables[table].astype({c.name: object for c in TABLES[table]})
    other = good.table(table).copy()
    other[column] = frame[column].array
    other.to_parquet(tmp_path / "good" / f"{table}.parquet")
    with pytest.raises(BadInput, match=message):
        open(tmp_path / "good").table(table)


def test_a_table_of_another_program_may_use_other_integer_types(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", META, tables)
    frame = tables["waves"].drop(columns=["dispatch", "threads"])  # nullable: may be missing
    frame = frame.astype(
        {"begin": "uint32", "end": "int16", "se": "int64", "wg_x": "float64", "traced": bool}
    )
    frame.assign(extra=1).astype({"complete": bool}).to_parquet(tmp_path / "a" / "waves.parquet")
    waves = open(tmp_path / "a").waves
    assert waves["begin"].dtype == "int64"
    assert waves["wg_x"].dtype == pd.Int32Dtype()
    assert waves["threads"].isna().all()
    assert "extra" not in waves


def test_schema_version_is_written(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", META, tables)
    meta = json.loads((tmp_path / "a" / "capture.json").read_text())
    assert (meta["schema"], meta["schema_version"]) == ("isaprof-capture", SCHEMA_VERSION)


def test_a_capture_of_version_1_stays_readable() -> None:
    capture = open(Path(__file__).parent / "golden" / "v1.isaprof")
    assert capture.meta["schema_version"] == 1
    assert capture.totals is None  # an optional table that came later
    for name, frame in make_tables().items():
        if name == "totals":
            continue
        stored = capture.table(name)
        for column in frame:
            if (name, column) in {("memory", "stride"), ("memory", "clash")}:
                assert stored[column].isna().all()  # nullable columns that came later
                continue
            expected = [None if pd.isna(v) else v for v in frame[column]]
            assert [None if pd.isna(v) else v for v in stored[column]] == expected, (name, column)
    assert [o.data for o in capture.code_objects] == [o.data for o in CODE]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("events", "time", 2**63),
        ("waves", "se", 2**31),
        ("code", "text", "\udc80"),
        ("events", "kind", "\udc80"),
    ],
)
def test_values_that_do_not_fit_are_bad_input(
    tmp_path: Path, tables: Frames, table: str, column: str, value: Any
) -> None:
    tables[table][column] = pd.Series([value, value], dtype=object)
    with pytest.raises(BadInput, match=f"table {table}, column {column}: a value does not fit"):
        save(tmp_path / "a", META, tables)
    assert list(tmp_path.iterdir()) == []


def test_force_keeps_a_folder_that_is_another_programs(tmp_path: Path, tables: Frames) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "capture.json").write_text('{"camera": 1}')
    (tmp_path / "a" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="not a capture"):
        save(tmp_path / "a", META, tables, force=True)
    assert (tmp_path / "a" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["notes.txt", "code/notes.txt", "more.parquet"])
def test_force_keeps_what_the_user_put_into_a_capture(tmp_path: Path, tables: Frames, name: str) -> None:
    save(tmp_path / "a", META, tables)
    (tmp_path / "a" / "code").mkdir(exist_ok=True)
    (tmp_path / "a" / name).write_text("mine")
    with pytest.raises(UsageError, match=name):
        save(tmp_path / "a", META, tables, force=True)
    assert (tmp_path / "a" / name).read_text() == "mine"


def test_a_capture_written_meanwhile_is_not_replaced(
    tmp_path: Path, tables: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes take the same free name: the later one is told, the earlier one's capture stays."""
    real = pq.write_table

    def the_other_is_faster(*args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(pq, "write_table", real)
        save(tmp_path / "a", {**META, "arch": "gfx950"}, tables)
        real(*args, **kwargs)

    monkeypatch.setattr(pq, "write_table", the_other_is_faster)
    with pytest.raises(UsageError, match="already exists"):
        save(tmp_path / "a", META, tables)
    assert open(tmp_path / "a").arch == "gfx950"
    assert os.listdir(tmp_path) == ["a"]


def test_a_default_name_taken_meanwhile_gives_the_next(
    tmp_path: Path, tables: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pq.write_table

    def the_other_is_faster(*args: Any, **kwargs: Any) -> None:
        monkeypatch.setattr(pq, "write_table", real)
        save_numbered(META, tables, directory=tmp_path)
        real(*args, **kwargs)

    monkeypatch.setattr(pq, "write_table", the_other_is_faster)
    mine = save_numbered(META, tables, directory=tmp_path)
    assert str(mine.path).endswith("-2.isaprof")
    assert len(os.listdir(tmp_path)) == 2


def test_a_path_that_is_no_utf8(tmp_path: Path, tables: Frames) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.isaprof")
    save(path, META, tables)
    assert len(open(path).waves) == len(tables["waves"])


def test_a_path_that_cannot_be_looked_at(tmp_path: Path, tables: Frames) -> None:
    with pytest.raises(EnvironmentProblem, match="name too long"):
        save(tmp_path / ("a" * 300), META, tables)


def test_a_table_with_an_impossible_name_is_bad_input(tmp_path: Path, tables: Frames) -> None:
    save(tmp_path / "a", META, tables)
    meta = json.loads((tmp_path / "a" / "capture.json").read_text())
    meta["tables"]["waves"]["file"] = "a" * 300
    (tmp_path / "a" / "capture.json").write_text(json.dumps(meta))
    with pytest.raises(BadInput, match="name too long"):
        _ = open(tmp_path / "a").waves


def test_a_capture_says_what_it_is_and_where_its_cycles_come_from(tmp_path: Path, tables: Frames) -> None:
    text = repr(save(tmp_path / "a", META, tables))
    assert all(part in text for part in ("'k'", "gfx1100", "modelled", str(tmp_path / "a")))
