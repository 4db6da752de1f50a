"""Damaged tables, results and databases: a message or a capture, never anything else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.backends.recorded import open_recording
from isaprof.errors import BadInput, IsaprofError
from isaprof.parsers.pmc import read_counter_csv
from isaprof.parsers.rocpd import read_rocpd
from isaprof.parsers.rocprof_runs import read_results, read_tables
from isaprof.parsers.stats_csv import read_stats
from tests.backends import own_recordings as own

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SCRAPS = [
    b"",
    b"\0",
    b'"',
    b",",
    b"\n",
    b"-1",
    b"9" * 25,
    b"nan",
    b"\xff",
    b"[",
    b"}",
    b"null",
    b"1e9",
    b"; ",
]


def mutate(data: st.DataObject, body: bytes) -> bytes:
    out = bytearray(body)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(out)))
        out[at : at + data.draw(st.integers(0, 6))] = data.draw(st.sampled_from(SCRAPS))
    return bytes(out[: data.draw(st.integers(0, len(out)))] if data.draw(st.booleans()) else out)


def calm(read: Callable[[], Any]) -> None:
    try:
        read()
    except IsaprofError as e:
        assert e.message  # noqa: PT017
        assert e.hint  # noqa: PT017


@FUZZ
@given(data=st.data())
def test_stats(data: st.DataObject, tmp_path: Path) -> None:
    path = own.stats(tmp_path, data.draw(st.sampled_from(["3.0.0", "3.1.0"])))
    path.write_bytes(mutate(data, path.read_bytes()))
    calm(lambda: read_stats(path))
    calm(lambda: open_recording(path).read(1, arch="gfx942"))


@FUZZ
@given(data=st.data())
def test_tables(data: st.DataObject, tmp_path: Path) -> None:
    own.tables(tmp_path)
    paths = [tmp_path / "9_kernel_trace.csv", tmp_path / "9_agent_info.csv"]
    for path in paths:
        path.write_bytes(mutate(data, path.read_bytes()))
    read_tables(paths[:1], paths[1:])


@FUZZ
@given(data=st.data())
def test_counters(data: st.DataObject, tmp_path: Path) -> None:
    path = own.counter_table(tmp_path)
    path.write_bytes(mutate(data, path.read_bytes()))
    calm(lambda: read_counter_csv(path))
    own.stats(tmp_path)
    calm(lambda: open_recording(tmp_path).read(1, arch="gfx942"))


@FUZZ
@given(data=st.data())
def test_results_bytes(data: st.DataObject, tmp_path: Path) -> None:
    path = own.results(tmp_path, counted=True)
    path.write_bytes(mutate(data, path.read_bytes()))
    calm(lambda: read_results(path))


@FUZZ
@given(data=st.data())
def test_results_values(data: st.DataObject, tmp_path: Path) -> None:
    """Any JSON in any place."""
    path = own.results(tmp_path, counted=True)
    body = json.loads(path.read_text())
    spot: Any = body
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        key = data.draw(st.sampled_from(keys))
        if not (isinstance(spot[key], dict | list) and spot[key] and data.draw(st.integers(0, 3))):
            break
        spot = spot[key]
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=3), st.floats()
    )
    spot[key] = data.draw(
        st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(st.text(max_size=2), scalars))
    )
    path.write_text(json.dumps(body))
    calm(lambda: read_results(path))
    own.stats(tmp_path)
    calm(lambda: open_recording(tmp_path).read(1, arch="gfx942"))


@FUZZ
@given(data=st.data())
def test_rocpd(data: st.DataObject, tmp_path: Path) -> None:
    (tmp_path / "9_results.db").unlink(missing_ok=True)
    path = own.rocpd(tmp_path, data.draw(st.sampled_from([3, 4])), counted=True)
    path.write_bytes(mutate(data, path.read_bytes()))
    calm(lambda: read_rocpd(path))


@pytest.mark.parametrize("value", ["'x'", "-1", "1e300", "x'00ff'", "null", "9223372036854775807"])
def test_rocpd_values(tmp_path: Path, value: str) -> None:
    path = own.rocpd(tmp_path)
    with sqlite3.connect(path) as db:
        (table,) = next(
            db.execute("select name from sqlite_master where name like 'rocpd_kernel_dispatch_%'")
        )
        for column in ("dispatch_id", "kernel_id", "start", "grid_size_x"):
            db.execute(f'update "{table}" set "{column}" = {value}')
    db.close()
    calm(lambda: read_rocpd(path))


def test_rocpd_runs_no_sql_of_the_file(tmp_path: Path) -> None:
    """A view under the name of a table would run whatever it says: only tables are read."""
    path = tmp_path / "9_results.db"
    with sqlite3.connect(path) as db:
        db.execute("create table rocpd_metadata (id integer, tag text, value text)")
        endless = (
            "with recursive r(n) as (select 1 union all select n + 1 from r) select n as dispatch_id from r"
        )
        db.execute(f"create view rocpd_kernel_dispatch as {endless}")
    db.close()
    assert read_rocpd(path).runs == []


def test_what_is_no_rocpd(tmp_path: Path) -> None:
    path = tmp_path / "9_results.db"
    for content in (b"", b"SQLite format 3\0", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(BadInput) as e:
            read_rocpd(path)
        assert e.value.kind == "bad_results"
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("create table other (id integer)")
    db.close()
    with pytest.raises(BadInput, match="no rocpd tables"):
        read_rocpd(path)


def test_a_broken_results_file_does_not_spoil_the_trace(tmp_path: Path) -> None:
    own.stats(tmp_path)
    (tmp_path / "9_results.json").write_text("{")
    raw = open_recording(tmp_path).read(1, arch="gfx942")
    assert {w.kind for w in raw.warnings} == {"bad_results", "totals_only"}
    (tmp_path / "9_results.json").unlink()
    (tmp_path / "9_results.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    raw = open_recording(tmp_path).read(1, arch="gfx942")
    assert {w.kind for w in raw.warnings} == {"bad_results", "totals_only"}
