"""The attribution on real hardware traces: conservation, AMD's totals, named culprits, little unexplained."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import pytest

from isaprof.attribution import Analysis, analyse
from isaprof.attribution.groups import explained_waits
from isaprof.backends.recorded import open_recording
from isaprof.capture.model import Capture
from tests.attribution.invariants import check, check_detail

TRACES = [
    "sqtt/gfx1100/gemm_run0", "sqtt/gfx1100/sync_run0", "sqtt/gfx1100/plus_run0", "sqtt/gfx1100/empty_run0",
    "sqtt/gfx1200/gemm_run0", "sqtt/gfx1200/sync_run0", "sqtt/gfx1200/plus_run0", "sqtt/gfx1200/empty_run0",
    "sqtt/gfx1200/handwritten_run0", "sqtt/gfx950/gemm_run0", "sqtt/gfx950/plus_run0",
    "sqtt/gfx950/empty_run0", "att/wave_gemm_gfx950",
]  # fmt: skip
GEMMS = ["sqtt/gfx1100/gemm_run0", "sqtt/gfx1200/gemm_run0", "sqtt/gfx950/gemm_run0", "att/wave_gemm_gfx950"]


@lru_cache(maxsize=16)
def read(folder: Path) -> tuple[Capture, Analysis]:
    recording = open_recording(folder)
    raw = recording.read(recording.dispatches[0].number)
    cap = Capture(raw.meta, raw.tables, raw.code_objects)
    return cap, analyse(cap)


@pytest.mark.parametrize("name", TRACES)
def test_conservation_and_amds_definitions(data_dir: Path, name: str) -> None:
    cap, analysis = read(data_dir / name)
    check(cap, analysis)
    check_detail(analysis)


@pytest.mark.parametrize("name", GEMMS)
def test_waits_name_their_culprit(data_dir: Path, name: str) -> None:
    _, a = read(data_dir / name)
    named, waited = explained_waits(a)
    assert waited > 1000
    assert named >= 0.99 * waited


@pytest.mark.parametrize("name", TRACES)
def test_little_is_unexplained(data_dir: Path, name: str) -> None:
    assert read(data_dir / name)[1].unexplained_share < 0.02


def test_line_totals_equal_amds_code_json(data_dir: Path) -> None:
    """Hit, Latency, Stall, Idle of all 285 instructions, as AMD's own decoder wrote them."""
    folder = data_dir / "att" / "wave_gemm_gfx950"
    code = json.loads((folder / "ui_output_agent_32617_dispatch_3" / "code.json").read_text())["code"]
    amd = {r[5]: tuple(r[6:10]) for r in code if not r[0].startswith(";")}
    lines = read(folder)[1].lines
    columns = (lines[c].tolist() for c in ("pc", "hits", "latency", "stall", "idle"))
    mine = {pc: tuple(rest) for pc, *rest in zip(*columns, strict=True)}
    assert len(amd) == 285
    assert {pc: mine[pc] for pc in amd} == amd


def test_the_mfma_gemm_blames_its_direct_to_lds_loads(data_dir: Path) -> None:
    _, a = read(data_dir / "att" / "wave_gemm_gfx950")
    hottest = a.lines[a.lines["rank"] == 1].iloc[0]
    assert hottest["text"] == "s_waitcnt vmcnt(0)"
    assert hottest["cause"] == "wait: global load"
    assert a.lines.loc[hottest["culprit"], "text"].startswith("buffer_load_dword")
    barrier = a.culprits[a.culprits["cause"] == "barrier"]
    assert (barrier["culprit"] >= 0).mean() > 0.9


def test_the_rdna_gemm_blames_loads_and_scalar_loads(data_dir: Path) -> None:
    _, a = read(data_dir / "sqtt" / "gfx1100" / "gemm_run0")
    assert a.provenance == "measured"
    assert a.causes["cause"].tolist()[:2] == ["wait: global load", "wait: SMEM"]
    first = a.lines[a.lines["rank"] == 1].iloc[0]
    assert first["text"] == "s_waitcnt vmcnt(1)"
    assert a.lines.loc[first["culprit"], "text"].startswith("global_load_b32")
