"""What is lost of a trace becomes a warning of the capture with its amount, whichever builder made it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.backends.sqtt import LoadedCode, Recording, assemble
from isaprof.capture.model import Warning_
from isaprof.codeobj.elf import CodeObject
from isaprof.parsers.sqtt.engine import decode_engine
from tests.parsers.encoder import Encoder

WHERE = {"simd": 0, "wgp": 0}


def warnings(data: bytes, folder: Path, *, columns: bool) -> dict[str, Warning_]:
    """Warnings by kind of a capture in which ``data`` is a trace of the folder's kernel."""
    program = json.loads((folder / "meta.json").read_text())["programs"][0]
    content = (folder / program["file"]).read_bytes()
    co = CodeObject.from_bytes(content)
    loaded = LoadedCode(0, content, co, program["name"], program["load_base"])
    entry = program["load_base"] + co.kernels[0].start
    rec = Recording({3: decode_engine(data, columns=columns)}, [loaded], co.arch, "here", entry=entry)
    raw = assemble(rec)
    assert raw.meta["warnings"]
    return {w.kind: w for w in raw.warnings}


@pytest.fixture(params=[False, True], ids=["reference", "compiled"])
def columns(request: pytest.FixtureRequest) -> bool:
    if request.param:
        pytest.importorskip("numba")
    return bool(request.param)


def wave(slot: int, *kinds: str) -> Encoder:
    e = Encoder.start("gfx12")
    e.at(10, "WAVE_START", wave=slot, count=95 + 32, **WHERE)
    for n, kind in enumerate(kinds):
        e.at(20 + 10 * n, kind, wave=slot)
    return e


def test_lost_packets(data_dir: Path, columns: bool) -> None:
    e = wave(1)
    e.packet("TIMESTAMP", rt=0, pl=1, value=500)
    e.packet("TIMESTAMP", rt=0, pl=1, value=700)
    e.at(e.now + 9, "WAVE_END", wave=1, **WHERE)
    found = warnings(e.data(), data_dir / "sqtt/gfx1200/gemm_run0", columns=columns)
    w = found["data_lost"]
    assert (w.amount, w.unit, w.se) == (2, "places", 3)


def test_records_that_fit_no_instruction(data_dir: Path, columns: bool) -> None:
    """More vector instructions in a row than this kernel has."""
    e = wave(1, *["VALU_INST"] * 200)
    e.at(e.now + 9, "WAVE_END", wave=1, **WHERE)
    found = warnings(e.data(), data_dir / "sqtt/gfx1200/gemm_run0", columns=columns)
    w = found["stitch_incomplete"]
    assert (w.amount, w.unit) == (1, "waves")
    assert "1 of 1 traced waves" in w.message
    assert "wave_incomplete" not in found


def test_waves_without_end_and_without_begin(data_dir: Path, columns: bool) -> None:
    e = wave(1, "VALU_INST")
    e.at(e.now + 9, "WAVE_END", wave=7, **WHERE)
    recording = data_dir / "sqtt/gfx1200/gemm_run0"
    w = warnings(e.data(), recording, columns=columns)["wave_incomplete"]
    assert (w.amount, w.unit) == (1, "waves")
    assert "1 of 2 waves lack the begin" in w.message


def test_a_cut_buffer_says_what_is_there(data_dir: Path, columns: bool) -> None:
    data = wave(1, "VALU_INST", "VALU_INST").data(1)[:-1]
    w = warnings(data, data_dir / "sqtt/gfx1200/gemm_run0", columns=columns)["truncated"]
    assert (w.amount, w.unit, w.se) == (len(data), "bytes", 3)


def test_unknown_and_undecodable_packets(data_dir: Path, columns: bool) -> None:
    e = wave(1)
    e._put(0x41, 8)
    for _ in range(1100):
        e.packet("TIMESTAMP", rt=0, value=(1 << 52) - 1)
    data = e.data()
    found = warnings(data, data_dir / "sqtt/gfx1200/gemm_run0", columns=columns)
    assert (found["unknown_packet"].amount, found["unknown_packet"].unit) == (1, "packets")
    lost = found["undecodable"]
    assert lost.unit == "bytes"
    assert 0 < (lost.amount or 0) < len(data)
    assert f"{lost.amount} of {len(data)} bytes are left out" in lost.message
