"""Counters of whole dispatches (``rocprofv3 --pmc``) beside a trace: read, matched, shown, never guessed."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from isaprof.attribution import analyse
from isaprof.backends.protocol import RawCapture
from isaprof.backends.recorded import open_recording
from isaprof.capture import open as open_capture
from isaprof.capture import save
from isaprof.errors import BadInput
from isaprof.views.json import to_dict
from isaprof.views.table import render
from tests.backends import own_recordings as own

SUMS = {name: sum(units) for name, units in own.COUNTED.items()}
SOURCES: dict[str, Callable[[Path], Path]] = {
    "csv": own.counter_table,
    "json": lambda folder: own.results(folder, counted=True),
    "rocpd 3": lambda folder: own.rocpd(folder, 3, counted=True),
    "rocpd 4": lambda folder: own.rocpd(folder, 4, counted=True),
}


def read(folder: Path, number: int = 1) -> RawCapture:
    return open_recording(folder).read(number, arch="gfx942")


def kinds(raw: RawCapture) -> list[str]:
    return [w.kind for w in raw.warnings if w.kind.startswith("counters") or w.kind == "bad_counters"]


def message(raw: RawCapture, kind: str) -> str:
    return next(w.message for w in raw.warnings if w.kind == kind)


@pytest.mark.parametrize("source", SOURCES)
def test_every_format_gives_the_sum_over_the_units(tmp_path: Path, source: str) -> None:
    own.stats(tmp_path)
    path = SOURCES[source](tmp_path)
    raw = read(tmp_path)
    assert raw.meta["dispatch_counters"] == {"values": SUMS, "dispatch": 1, "files": [path.name]}
    assert kinds(raw) == []


def test_all_formats_of_one_run_agree(tmp_path: Path) -> None:
    own.stats(tmp_path)
    for source in ("csv", "json", "rocpd 3"):
        SOURCES[source](tmp_path)
    raw = read(tmp_path)
    assert raw.meta["dispatch_counters"]["values"] == SUMS
    assert kinds(raw) == []


def test_no_counters_no_field(tmp_path: Path) -> None:
    own.stats(tmp_path)
    own.results(tmp_path)
    assert "dispatch_counters" not in read(tmp_path).meta


# -- which dispatch -------------------------------------------------------------------
@pytest.mark.parametrize("name", ["_Z4tinyPf", "void tiny<16u>(float*)", "tiny", own.KERNEL])
def test_a_kernel_goes_by_many_names(tmp_path: Path, name: str) -> None:
    own.stats(tmp_path)
    own.counter_table(tmp_path, (1,), kernel=name)
    assert read(tmp_path).meta["dispatch_counters"]["values"] == SUMS


def test_the_number_of_another_kernel_is_no_match(tmp_path: Path) -> None:
    own.stats(tmp_path)
    own.counter_table(tmp_path, (1,), kernel="other(int)")
    raw = read(tmp_path)
    assert "dispatch_counters" not in raw.meta
    assert "has no row of dispatch 1 with" in message(raw, "counters_unmatched")


def test_another_run_of_the_kernel_counts_only_where_it_is_one_dispatch(tmp_path: Path) -> None:
    own.stats(tmp_path)
    own.counter_table(tmp_path, (7,))
    assert read(tmp_path).meta["dispatch_counters"]["dispatch"] == 7
    own.counter_table(tmp_path, (7, 9))
    raw = read(tmp_path)
    assert "dispatch_counters" not in raw.meta
    assert "as dispatches 7, 9, none of them is dispatch 1" in message(raw, "counters_unmatched")


def test_two_values_of_one_counter_are_left_out(tmp_path: Path) -> None:
    own.stats(tmp_path)
    own.counter_table(tmp_path)
    other = own.counter_table(tmp_path, name="10")
    other.write_text(other.read_text().replace("1234.0", "1300.0"))
    raw = read(tmp_path)
    assert raw.meta["dispatch_counters"]["values"] == {"SQ_LDS_IDX_ACTIVE": 4936}
    said = message(raw, "counters_differ")
    assert "1300 in 10_counter_collection.csv line 2" in said
    assert "1234 in 9_counter_collection.csv line 2" in said


# -- damage ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1234.0", '"many"', "9_counter_collection.csv: line 2: Counter_Value 'many' is no count"),
        ("1234.0", "-1", "9_counter_collection.csv: line 2: Counter_Value '-1' is no count"),
        ("1234.0", "nan", "9_counter_collection.csv: line 2: Counter_Value 'nan' is no count"),
        ('\r\n1,1,"Agent 1"', '\r\n1,one,"Agent 1"', "line 2: Dispatch_Id 'one' is no number"),
        ('"SQ_LDS_BANK_CONFLICT"', '""', "line 2: Counter_Name is empty"),
        ('"Counter_Value"', '"Value"', "line 1: the header lacks Counter_Value"),
    ],
)
def test_bad_rows_are_told_with_file_and_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    own.stats(tmp_path)
    path = own.counter_table(tmp_path)
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())
    raw = read(tmp_path)
    assert said in message(raw, "bad_counters")
    assert "SQ_LDS_BANK_CONFLICT" not in raw.meta.get("dispatch_counters", {"values": {}})["values"]


def test_cut_and_empty_files(tmp_path: Path) -> None:
    own.stats(tmp_path)
    path = own.counter_table(tmp_path)
    path.write_bytes(path.read_bytes()[:-40])
    assert "line 3" in message(read(tmp_path), "bad_counters")
    path.write_bytes(b"")
    assert message(read(tmp_path), "bad_counters") == f"{path.name}: the file is empty"


def test_bad_values_in_json_and_rocpd(tmp_path: Path) -> None:
    own.stats(tmp_path)
    path = own.results(tmp_path, counted=True)
    body = json.loads(path.read_text())
    record = body["rocprofiler-sdk-tool"][0]["callback_records"]["counter_collection"][0]["records"]
    record[0]["value"], record[1]["counter_id"] = "x", None
    path.write_text(json.dumps(body))
    said = message(read(tmp_path), "bad_counters")
    assert said.startswith(f"{path.name}: counter_collection[0] has a record without a count")
    path.unlink()
    path = own.rocpd(tmp_path, counted=True)
    with sqlite3.connect(path) as db:
        (table,) = next(db.execute("select name from sqlite_master where name like 'rocpd_pmc_event_%'"))
        db.execute(f"update \"{table}\" set value = x'00' where id = 1")
    db.close()
    assert message(read(tmp_path), "bad_counters") == f"{path.name}: rocpd_pmc_event row 1 has no count"


# -- shown ------------------------------------------------------------------------------
def shown(capture: Any, by: str) -> str:
    out = io.StringIO()
    render(analyse(capture), console=Console(file=out, width=200), by=by)
    return out.getvalue()


def test_real_counters_of_a_trace_folder(data_dir: Path, tmp_path: Path) -> None:
    """The recorder's own counters: no conflict, as the addresses of the kernel say."""
    raw = open_recording(data_dir / "sqtt" / "gfx950" / "gemm_run0").read(0)
    capture = save(tmp_path / "a.isaprof", raw.meta, raw.tables, raw.code_objects)
    plain = open_capture(tmp_path / "a.isaprof")
    assert plain.meta["dispatch_counters"]["values"]["SQ_LDS_IDX_ACTIVE"] == 18432
    banks = shown(capture, "bank")
    assert "conflicts: counters, whole dispatch: 0 conflict cycles, 0.0 % of the cycles the LDS" in banks
    assert "counters, whole dispatch: SQ_LDS_BANK_CONFLICT 0, SQ_LDS_IDX_ACTIVE 18,432 (meta.json)" in banks
    assert "TCC_HIT" not in banks
    kernel = shown(capture, "kernel")
    assert "SQ_INSTS_VALU 30,720" in kernel
    assert "counters, whole dispatch" not in shown(capture, "simd")
    body = to_dict(analyse(capture), by="kernel")
    assert body["dispatch_counters"]["label"] == "counters, whole dispatch"
    assert body["dispatch_counters"]["values"]["TCC_MISS"] == 985


def test_counters_change_no_cycle(data_dir: Path, tmp_path: Path) -> None:
    source = data_dir / "sqtt" / "gfx1100" / "gemm_run0"
    with_counters = open_recording(source).read(0)
    folder = tmp_path / "plain"
    shutil.copytree(source, folder)
    meta = json.loads((folder / "meta.json").read_text())
    for launch in meta["launches"]:
        launch["pmc"] = None
    (folder / "meta.json").write_text(json.dumps(meta))
    without = open_recording(folder).read(0)
    a, b = (
        analyse(save(tmp_path / f"{i}.isaprof", raw.meta, raw.tables, raw.code_objects))
        for i, raw in enumerate((with_counters, without))
    )
    assert a.detail is not None
    assert b.detail is not None
    assert a.detail.lines.equals(b.detail.lines)
    assert a.causes.equals(b.causes)
    assert to_dict(b)["dispatch_counters"] is None


def test_sums_alone_show_them_as_a_note(tmp_path: Path) -> None:
    own.stats(tmp_path)
    own.counter_table(tmp_path, (7,))
    raw = read(tmp_path)
    capture = save(tmp_path / "a.isaprof", raw.meta, raw.tables, raw.code_objects)
    said = "counters, whole dispatch (dispatch 7 of another run): SQ_LDS_BANK_CONFLICT 1,234"
    assert said in shown(capture, "line")


@pytest.mark.parametrize("bad", [{"values": []}, {"values": {"A": "x"}}, {"values": {"A": -1}}, {}])
def test_a_damaged_manifest_is_refused(data_dir: Path, tmp_path: Path, bad: dict[str, Any]) -> None:
    raw = open_recording(data_dir / "sqtt" / "gfx1100" / "plus_run0").read(0)
    save(tmp_path / "a.isaprof", raw.meta, raw.tables, raw.code_objects)
    path = tmp_path / "a.isaprof" / "capture.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "dispatch_counters": bad}))
    with pytest.raises(BadInput, match="dispatch_counters"):
        open_capture(tmp_path / "a.isaprof")


@pytest.mark.parametrize("pmc", [[{"name": "A", "sum": -1}], [{"sum": 1}], [3], "x"])
def test_bad_counters_in_meta_json(data_dir: Path, tmp_path: Path, pmc: Any) -> None:
    source = json.loads((data_dir / "sqtt" / "gfx1100" / "plus_run0" / "meta.json").read_text())
    source["launches"][0]["pmc"] = pmc
    (tmp_path / "meta.json").write_text(json.dumps(source))
    with pytest.raises(BadInput, match="pmc"):
        open_recording(tmp_path)
