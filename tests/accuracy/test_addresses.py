"""LDS conflicts of captures without addresses: the kernel is executed for them, the times stay."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import isaprof
from isaprof import cli
from isaprof.accuracy.addresses import with_addresses
from isaprof.attribution import Analysis, analyse
from isaprof.backends.recorded import open_recording
from isaprof.capture.model import Capture
from isaprof.errors import BadInput, UsageError
from tests.attribution.build import Wave, capture
from tests.attribution.invariants import check, check_detail


def recorded(folder: Path) -> Capture:
    recording = open_recording(folder)
    raw = recording.read(recording.dispatches[0].number)
    return Capture(raw.meta, raw.tables, raw.code_objects)


def banks(a: Analysis) -> pd.DataFrame:
    assert a.detail is not None
    return a.detail.conflicts


@pytest.mark.slow
def test_what_the_simulator_knew_is_found_again(samples_dir: Path, tmp_path: Path) -> None:
    """A simulated capture stripped of its addresses gets the same passes, strides and lanes back."""
    sample, out = samples_dir / "gemm_rdna35" / "gemm_rdna35.co", tmp_path / "k.isaprof"
    with pytest.raises(SystemExit):
        cli.main(["run", str(sample), "--shape", "64,64,128", "-o", str(out)])
    whole = isaprof.open(out)
    assert with_addresses(whole) is whole
    bare = Capture(
        {**whole.meta, "tables": {}},
        {n: whole.table(n) for n in ("code", "waves", "insts", "occupancy")},
        whole.code_objects,
    )
    assert banks(analyse(bare))["passes"].isna().all()
    filled = with_addresses(bare)
    figures = ["line", "hits", "lanes", "passes", "min_passes", "degree", "stride", "clash", "charged"]
    expected = banks(analyse(whole))
    assert len(expected)
    pd.testing.assert_frame_equal(banks(analyse(filled))[figures], expected[figures])
    assert expected["evidence"].iloc[0].startswith("addresses from the capture")
    assert banks(analyse(filled))["evidence"].iloc[0].startswith("addresses executed in the simulator")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gfx1100", "gfx1200", "gfx950"])
def test_the_small_gemms_have_no_conflict(data_dir: Path, name: str) -> None:
    cap = recorded(data_dir / "sqtt" / name / "gemm_run0")
    before, after = analyse(cap), analyse(with_addresses(cap))
    table = banks(after)
    assert len(table) == 5
    assert (table["degree"] == 1).all()
    assert not table["charged"].any()
    assert before.causes["cycles"].tolist() == after.causes["cycles"].tolist()


@pytest.mark.parametrize("name", ["gfx1100", "gfx1200", "gfx950"])
def test_passes_are_the_cycles_that_the_hardware_counted(data_dir: Path, name: str) -> None:
    """Workgroups of 16 lanes: groups without an active lane take their pass all the same."""
    cap = with_addresses(recorded(data_dir / "sqtt" / f"{name}/gemm_run0"))
    counted = cap.meta["dispatch_counters"]["values"]
    (active,) = (n for counter, n in counted.items() if counter.endswith("LDS_IDX_ACTIVE"))
    memory = cap.memory
    assert memory is not None
    local = memory[memory["space"].astype(str) == "lds"]
    assert set(local.groupby("wave")["passes"].sum()) == {active / 1024}  # waves of the dispatch


def test_the_mfma_gemm_reads_one_matrix_with_four_way_conflicts(data_dir: Path) -> None:
    """Rows of 128 bytes: every other row begins in the same bank of 64, four rows of a group meet there."""
    cap = recorded(data_dir / "att" / "wave_gemm_gfx950")
    before, after = analyse(cap), analyse(with_addresses(cap))
    check(cap, after)
    check_detail(after)
    table = banks(after)
    assert len(table) == 16
    bad = table[table["extra"] > 0]
    assert set(zip(bad["degree"], bad["stride"], bad["extra"], bad["lanes"], strict=True)) == {
        (4, 128, 192, 64)
    }
    assert len(bad) == 8
    # what is charged was a wait for LDS before, a read has 12 passes more than it needs, 16 waves
    was, now = (int(a.causes.set_index("cause")["cycles"]["wait: LDS"]) for a in (before, after))
    assert 0 < int(bad["charged"].sum()) == was - now
    assert (bad["charged"] <= bad["extra"]).all()
    # the conflicts of these two lie under a longer wait for global loads
    assert not bad.loc[bad["line"].isin((159, 208)), ["charged", "exposed"]].to_numpy().any()
    assert table["evidence"].iloc[0] == "addresses executed in the simulator, times from the trace"


def test_without_a_code_object_none_is_assumed_and_said(data_dir: Path) -> None:
    cap = recorded(data_dir / "att/wave_gemm_gfx950/ui_output_agent_32617_dispatch_3")
    bare = Capture(cap.meta, cap._tables)
    table = banks(analyse(with_addresses(bare)))
    assert table["degree"].isna().all()
    assert (
        table["evidence"].iloc[0].startswith("assumed none: no addresses (the capture keeps no code object")
    )


def test_a_kernel_that_nobody_describes_says_so(data_dir: Path) -> None:
    cap = with_addresses(recorded(data_dir / "sqtt/gfx1200/handwritten_run0"))
    assert cap.memory is None
    assert "no launch file describes kernel" in cap.meta["addresses"]["why"]


def test_what_was_asked_for_is_an_error_where_it_does_not_fit(data_dir: Path, tmp_path: Path) -> None:
    cap = recorded(data_dir / "sqtt/gfx950/gemm_run0")
    with pytest.raises(UsageError, match="fixed in the code"):
        with_addresses(cap, shape="64,64,64")
    with pytest.raises(BadInput, match="cannot read the launch file"):
        with_addresses(cap, launch=tmp_path / "none.toml")


def test_counters_stand_beside_or_for_the_addresses() -> None:
    wave = Wave().add(0).add(1, stall=40, issue=0)
    cap = capture("gfx950", ["ds_read_b128 v[4:7], v1", "s_waitcnt lgkmcnt(0)"], [wave])
    rows = [(0, 0, t, "SQ_LDS_BANK_CONFLICT", 16) for t in (0, 288)] + [(0, 0, 0, "SQ_BUSY_CU_CYCLES", 9)]
    cap._tables["counters"] = pd.DataFrame(rows, columns=["se", "cu", "time", "name", "value"])
    (row,) = banks(analyse(cap)).to_dict("records")
    assert row["evidence"] == "counters of the whole unit, not by instruction: 32 conflict cycles"
    assert row["degree"] is None


def test_show_by_bank_executes_the_kernel(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "g.isaprof"
    for args in (
        ["import", str(data_dir / "sqtt/gfx950/gemm_run0"), "-o", str(out)],
        ["show", str(out), "--by", "bank", "--json"],
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main(args)
        assert not stop.value.code
    body = json.loads(capsys.readouterr().out)
    assert [r["degree"] for r in body["banks"]] == [1.0] * 5
    assert {r["evidence"] for r in body["banks"]} == {
        # the hardware counted no conflict, either
        "addresses executed in the simulator, times from the trace; counters, whole dispatch: "
        "0 conflict cycles, 0.0 % of the cycles the LDS was active"
    }
    note = "LDS addresses come from executing the kernel in the simulator, all times from the trace"
    assert note in body["notes"]
    for more in ([], ["--addresses"]):
        with pytest.raises(SystemExit):
            cli.main(["show", str(out), "--by", "cause", "--json", *more])
        assert (note in json.loads(capsys.readouterr().out)["notes"]) is bool(more)
