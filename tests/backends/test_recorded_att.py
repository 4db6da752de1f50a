"""Our decode of the raw .att files against AMD's own decode of the same run (ui_output)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from isaprof.backends.protocol import RawCapture
from isaprof.backends.recorded import RecordedTrace, open_recording
from isaprof.capture import save
from isaprof.errors import BadInput
from isaprof.parsers.sqtt.model import Cat

UI = "ui_output_agent_32617_dispatch_3"


@pytest.fixture(scope="module")
def att(data_dir: Path) -> Path:
    return data_dir / "att" / "wave_gemm_gfx950"


@pytest.fixture(scope="module")
def raw(att: Path) -> RawCapture:
    return open_recording(att).read(3, decoder="isaprof")


@pytest.fixture(scope="module")
def ui(att: Path) -> RawCapture:
    return open_recording(att).read(3)


def waves_of(folder: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for path in sorted(folder.glob("se*_wv*.json")):
        yield int(path.name[2:].split("_")[0]), json.loads(path.read_text())["wave"]


def test_rows_equal_amds(att: Path, raw: RawCapture) -> None:
    """3552 rows: address, time, category, duration, stall; 16 waves with begin, end and timeline."""
    code = {row[2]: row[5] for row in json.loads((att / UI / "code.json").read_text())["code"]}
    waves, insts, states = (raw.tables[t] for t in ("waves", "insts", "states"))
    pcs = raw.tables["code"]["pc"]
    compared = seen = 0
    for se, w in waves_of(att / UI):
        where = (
            (waves.se == se) & (waves.cu == w["cu"]) & (waves.simd == w["simd"]) & (waves.slot == w["slot"])
        )
        (number,) = waves.loc[where & waves.traced, "wave"]
        ours = waves.loc[number]
        assert (ours.begin, ours.end, ours.complete) == (w["begin"], w["end"], True)
        mine = insts[insts.wave == number]
        got = list(
            zip(
                mine.time, [Cat[c].value for c in mine.category], mine.stall, mine.duration,
                pcs[mine.line].tolist(), strict=True,
            )
        )  # fmt: skip
        assert got == [(t, c, s, d, code[line]) for t, c, s, d, line in w["instructions"]]
        compared += len(got)
        seen += 1
        runs = list(
            zip(states[states.wave == number].state, states[states.wave == number].duration, strict=True)
        )
        assert runs == merged(w["timeline"])
    assert (seen, compared) == (16, 3552)
    assert len(insts) == 3552
    assert int(waves.traced.sum()) == 16


def merged(timeline: list[list[int]]) -> list[tuple[str, int]]:
    """AMD's timeline with equal neighbours joined."""
    names = ("EMPTY", "IDLE", "EXEC", "WAIT", "STALL")
    out: list[tuple[str, int]] = []
    for state, cycles in timeline:
        if out and out[-1][0] == names[state]:
            out[-1] = (names[state], out[-1][1] + cycles)
        else:
            out.append((names[state], cycles))
    return out


def test_occupancy_and_counters_equal_amds(att: Path, raw: RawCapture) -> None:
    """512 occupancy rows and 622 samples of four counters."""
    occupancy = raw.tables["occupancy"]
    expected = json.loads((att / UI / "occupancy.json").read_text())
    want = [
        (int(se), *row[:4], bool(row[4]))
        for se in sorted((k for k in expected if k.isdecimal()), key=int)
        for row in expected[se]
    ]
    got = list(occupancy[["se", "time", "cu", "simd", "slot", "start"]].itertuples(index=False, name=None))
    assert got == want
    assert len(want) == 512
    counters = raw.tables["counters"]
    samples = [
        (int(p.name[2:].split("_")[0]), *row)
        for p in (att / UI).glob("se*_perfcounter.json")
        for row in json.loads(p.read_text())["data"]
    ]
    assert len(samples) == 622
    rows = {
        (se, cu, t, f"counter{bank * 4 + i}", v)
        for se, t, *values, cu, bank in samples
        for i, v in enumerate(values)
    }
    assert set(counters[["se", "cu", "time", "name", "value"]].itertuples(index=False, name=None)) == rows
    assert len(counters) == 4 * 622


def test_both_imports_give_equal_captures(raw: RawCapture, ui: RawCapture) -> None:
    """Whatever both formats carry is equal; what the JSON lacks is null, never zero."""
    assert raw.meta["backend"] == "sqtt"
    assert ui.meta["backend"] == "rocprofv3-ui"
    for key in (
        "arch",
        "generation",
        "kernel",
        "kernels",
        "wave_size",
        "launch",
        "dispatch",
        "coverage",
        "device",
    ):
        assert raw.meta[key] == ui.meta[key], key
    assert raw.meta["launch"] == {"grid": [4, 8, 1], "workgroup": [256, 2, 1]}
    lacking = {"dispatch", "threads"}
    for name in ("code", "waves", "insts", "states", "occupancy", "counters"):
        a, b = raw.tables[name], ui.tables[name]
        for column in a.columns:
            if name == "waves" and column in lacking:
                assert b[column].isna().all()
                assert a[column].notna().all()
            elif (name, column) != ("counters", "name"):  # names are in filenames.json only
                assert a[column].astype(object).where(a[column].notna(), None).tolist() == (
                    b[column].astype(object).where(b[column].notna(), None).tolist()
                ), (name, column)
    assert set(ui.tables["counters"]["name"]) >= {"SQ_BUSY_CU_CYCLES", "SQ_ACTIVE_INST_MISC"}
    assert ui.warnings == raw.warnings == []


def test_totals_equal_code_json(att: Path, ui: RawCapture) -> None:
    """Hits, latency, stall and idle of every line, summed by AMD's definitions, equal AMD's sums."""
    insts = ui.tables["insts"].merge(ui.tables["waves"][["wave", "begin"]], on="wave")
    idle = pd.Series(0, index=insts.index)
    for _, group in insts.groupby("wave"):
        previous = int(group["begin"].iloc[0])
        for i, time, duration in zip(group.index, group.time, group.duration, strict=True):
            idle[i] = max(0, time - previous)
            previous = max(previous, time + duration)
    insts["idle"] = idle
    sums = insts.groupby("line").agg(
        hits=("time", "size"), latency=("duration", "sum"), stall=("stall", "sum"), idle=("idle", "sum")
    )
    rows = [r for r in json.loads((att / UI / "code.json").read_text())["code"] if not r[0].startswith(";")]
    pcs = ui.tables["code"]["pc"].tolist()
    hit = 0
    for row in rows:
        line = pcs.index(row[5])
        got = sums.loc[line].tolist() if line in sums.index else [0, 0, 0, 0]
        assert got == row[6:10], row[0]
        hit += row[6] > 0
    assert hit == len(sums) > 200


def test_ui_directory_alone(att: Path, ui: RawCapture, tmp_path: Path) -> None:
    """A copied ui_output directory imports without the files beside it: the target is inferred, and said."""
    folder = tmp_path / UI
    shutil.copytree(att / UI, folder)
    alone = RecordedTrace(folder).capture()
    assert alone.meta["arch"] == "gfx950"
    assert [w.kind for w in alone.warnings] == ["arch_assumed"]
    assert alone.code_objects == ()
    assert alone.tables["code"]["encoding"].isna().all()
    assert alone.tables["code"]["size"].tolist() == ui.tables["code"]["size"].tolist()
    assert alone.meta["launch"] == {}
    for column in ("line", "time", "stall", "duration"):
        assert alone.tables["insts"][column].tolist() == ui.tables["insts"][column].tolist()
    capture = save(tmp_path / "x.isaprof", alone.meta, alone.tables, alone.code_objects)
    assert capture.kernel == "gemm_prefetch"
    assert len(capture.insts) == 3552


def test_missing_code_object_is_named(att: Path, tmp_path: Path) -> None:
    """Without the object that ran, the message names its file."""
    for p in (att / "host").glob("*_0_3.att"):
        shutil.copy(p, tmp_path)
    shutil.copy(att / "host" / "3785403_gfx950_code_object_id_4.out", tmp_path)
    with pytest.raises(BadInput) as e:
        RecordedTrace(tmp_path).capture()
    assert e.value.kind == "no_code_object"
    assert "code object 3" in e.value.message
    assert "code_object_id_3.out" in (e.value.hint or "")
