"""A damaged, foreign or hostile capture gives one clear error, never a traceback."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.capture import TABLES, open, save  # noqa: A004
from isaprof.capture.schema import DAMAGED
from isaprof.errors import BadInput, EnvironmentProblem
from tests.synthetic_capture import CODE, META, make_tables

#: any JSON value
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("captures") / "good.isaprof"
    save(
        path, {**META, "warnings": [{"kind": "data_lost", "message": "m", "amount": 1}]}, make_tables(), CODE
    )
    return path


def read_all(path: Path) -> None:
    """Everything a reader can touch."""
    capture = open(path)
    assert isinstance(capture.kernel + capture.arch + capture.provenance, str)
    assert capture.lossy in (True, False)
    assert all(isinstance(w.kind, str) for w in capture.warnings)
    for name in TABLES:
        if capture.has(name):
            capture.table(name)
    assert isinstance(capture.code_objects, tuple)


def read_or_refuse(path: Path) -> None:
    with contextlib.suppress(BadInput):
        read_all(path)


def edited(good: Path, copy: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(good, copy)
    meta = json.loads((copy / "capture.json").read_text())
    edit(meta)
    (copy / "capture.json").write_text(json.dumps(meta))
    return copy


def test_the_good_capture_reads(good: Path) -> None:
    read_all(good)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.update(schema="other"), "not a capture"),
        (lambda m: m.update(schema_version=2), "schema version 2; this isaprof reads 1 to 1"),
        (lambda m: m.update(schema_version=True), "schema version True"),
        (lambda m: m.update(provenance=["measured"]), '"provenance" must be a JSON string'),
        (lambda m: m.update(provenance="guessed"), "measured or modelled"),
        (lambda m: m.pop("arch"), '"arch" is missing'),
        (lambda m: m.update(kernel={}), '"kernel" must have a "name"'),
        (lambda m: m["tables"].pop("insts"), "table insts is missing"),
        (lambda m: m["tables"]["insts"].update(rows=-1), 'number of "rows"'),
        (lambda m: m["tables"]["insts"].update(rows=3), "2 rows where capture.json says 3"),
        (lambda m: m["tables"]["insts"].update(file="code.parquet"), "table insts: column wave is missing"),
        (lambda m: m["tables"]["insts"].update(file="../good/insts.parquet"), "inside the capture"),
        (lambda m: m["tables"]["insts"].update(file="/etc/passwd"), "inside the capture"),
        (lambda m: m["tables"]["insts"].update(file="a\0b"), "inside the capture"),
        (lambda m: m["tables"]["insts"].update(file="code"), "no such file"),
        (lambda m: m["tables"]["insts"].update(file="capture.json"), "unreadable table"),
        (lambda m: m["code_objects"][0].update(file="../x"), "code_objects"),
        (lambda m: m["code_objects"][0].update(file="code/9.co"), "unreadable code object"),
        (lambda m: m["code_objects"][0].update(sha256="00"), "SHA-256 differs"),
        (lambda m: m["code_objects"][1].update(id=1), "different ids"),
        (lambda m: m["warnings"][0].update(kind=["x"]), "warnings"),
        (lambda m: m["warnings"][0].update(more=1), "warnings"),
        (lambda m: m.update(launch={"grid": "abc"}), "grid"),
        (lambda m: m.update(launch={"grid": [1, 1, -1]}), "grid"),
        (lambda m: m.update(launch={"workgroup": [64]}), "workgroup"),
        (lambda m: m["tables"]["waves"].update(rows=10**9), "rows where capture.json says 1000000000"),
    ],
)
def test_each_damage_is_named(good: Path, tmp_path: Path, edit: Any, message: str) -> None:
    copy = edited(good, tmp_path / "copy", edit)
    with pytest.raises(BadInput, match=message.replace("(", r"\(")) as e:
        read_all(copy)
    assert e.value.hint is not None
    assert e.value.hint == DAMAGED or "upgrade" in e.value.hint


def test_a_table_that_claims_more_rows_than_fit_is_not_read(good: Path, tmp_path: Path) -> None:
    rows = 1 << 40
    copy = edited(good, tmp_path / "copy", lambda m: m["tables"]["waves"].update(rows=rows))
    with pytest.MonkeyPatch.context() as patch:

        class Claims:
            def __init__(self, _: object) -> None:
                self.metadata = type("M", (), {"num_rows": rows})

            def read(self, **_: object) -> None:
                raise AssertionError("the table is read")

        patch.setattr("pyarrow.parquet.ParquetFile", Claims)
        with pytest.raises(EnvironmentProblem, match="GiB of memory") as e:
            _ = open(copy).waves
    assert e.value.kind == "out_of_memory"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "\ufeff{}", "[" * 100_000, '{"schema": "isaprof-capture"}']
)
def test_broken_json_is_refused(good: Path, tmp_path: Path, text: str) -> None:
    copy = edited(good, tmp_path / "copy", lambda m: None)
    (copy / "capture.json").write_text(text)
    with pytest.raises(BadInput):
        read_all(copy)


def test_what_is_no_capture_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such capture"):
        open(tmp_path / "absent")
    with pytest.raises(BadInput, match=r"no capture\.json") as e:
        open(tmp_path)
    assert e.value.hint is not None
    assert e.value.hint.startswith("isaprof import")
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="not a capture"):
        open(tmp_path / "file")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere_in_capture_json(good: Path, tmp_path: Path, data: st.DataObject) -> None:
    def edit(meta: dict[str, Any]) -> None:
        node: Any = meta
        while True:
            key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
            if isinstance(node[key], dict | list) and node[key] and data.draw(st.booleans()):
                node = node[key]
                continue
            if data.draw(st.booleans()):
                node[key] = data.draw(JSON)
            else:
                del node[key]
            return

    read_or_refuse(edited(good, tmp_path / "copy", edit))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_flipped_and_missing_bytes_in_any_file(good: Path, tmp_path: Path, data: st.DataObject) -> None:
    copy = edited(good, tmp_path / "copy", lambda m: None)
    file = copy / data.draw(st.sampled_from(sorted(p.name for p in good.glob("*.*"))))
    raw = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(raw[: data.draw(st.sampled_from([len(raw), len(raw) - 1, len(raw) // 2, 4, 0]))])
    read_or_refuse(copy)
