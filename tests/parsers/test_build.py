"""The compiled wave builder and stitcher against the reference: equal in everything they say of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.backends.protocol import RawCapture
from isaprof.backends.recorded import open_recording
from isaprof.parsers.sqtt import compiled, control, frame
from isaprof.parsers.sqtt.engine import decode_engine
from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.header import read_header
from isaprof.parsers.sqtt.records import EngineTrace
from tests.parsers.encoder import Encoder
from tests.parsers.tables import object_rows, table_rows
from tests.parsers.test_damage import HEADERS, stream

pytest.importorskip("numba")
ALL = sorted(GENERATIONS)
#: records that a slot keeps: few, so that waves are written in parts
SMALL = 16


def small(data: bytes, capacity: int = SMALL) -> EngineTrace:
    """``data`` through a builder that keeps few records of a wave in memory."""
    from isaprof.parsers.sqtt.stream import Stream

    header = read_header(data)
    out = EngineTrace(header, {})
    builder = Stream(header, out, control.Control(out), capacity)
    piece = frame.frame_reference(data, header)
    out.end_time = int(piece.time[-1]) if len(piece) else 0
    builder.piece(piece)
    out.rows = builder.close()
    return out


def same(data: bytes) -> None:
    assert table_rows(decode_engine(data, columns=True)) == object_rows(decode_engine(data))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60, deadline=None)
@given(body=st.binary(max_size=300))
def test_random_bytes(name: str, body: bytes) -> None:
    same(HEADERS[name] + body)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1 << 32), size=st.integers(0, 3000), kinds=st.integers(1, 12))
def test_random_packets(name: str, seed: int, size: int, kinds: int) -> None:
    """Whole packets with random fields, few kinds at a time, so that waves get many records."""
    random = np.random.default_rng(seed)
    e = Encoder.start(name)
    all_kinds = sorted({p.kind for p in e.generation.packets} - {"HEADER", "TIMESTAMP", "WAVE_START_EXT"})
    usual = [
        k for k in ("WAVE_START", "INST", "ISSUE", "VALU_INST", "IMM_ONE", "WAVE_READY") if k in all_kinds
    ]
    chosen = [*sorted(usual), *random.choice(all_kinds, kinds).tolist()]
    for _ in range(size // 10):
        kind = str(random.choice(chosen))
        p = e.layout(kind)
        fields = {n: int(random.integers(0, 1 << min(hi - lo + 1, 30))) for n, (lo, hi) in p.fields.items()}
        if "wave" in fields:
            fields["wave"] &= 3
        for place in ("simd", "wgp", "cu", "sa", "sh"):
            if place in fields and random.random() < 0.9:
                fields[place] = 0
        e.packet(kind, int(random.integers(0, e.room(kind) + 1)), **fields)
    same(e.data())


@pytest.mark.parametrize("name", ALL)
def test_long_waves_are_written_in_parts(name: str) -> None:
    data = stream(name)
    assert small(data, 8).rows.parts  # type: ignore[union-attr]
    want = object_rows(decode_engine(data))
    for capacity in (8, 9, 12, 100):
        got = table_rows(small(data, capacity))
        assert {k: got[k] for k in ("waves", "occupancy", "events")} == {
            k: want[k] for k in ("waves", "occupancy", "events")
        }


def test_real_traces(example: Path) -> None:
    for path in sorted(example.glob("*.sqtt")):
        same(path.read_bytes())


def columns_of(raw: RawCapture) -> dict[str, Any]:
    return {
        f"{name}.{c}": (str(t[c].dtype), t[c].astype(object).where(t[c].notna(), None).tolist())
        for name, t in raw.tables.items()
        for c in t.columns
    }


def test_captures_are_equal(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table of every recorded folder, lines of the code included, and all warnings."""
    recording = open_recording(example)
    for d in recording.dispatches:
        monkeypatch.setenv(compiled.CHOICE, "reference")
        want = recording.read(d.number, decoder="isaprof")
        monkeypatch.setenv(compiled.CHOICE, "compiled")
        got = recording.read(d.number, decoder="isaprof")
        assert (got.meta, got.warnings, got.groups) == (want.meta, want.warnings, {})
        assert columns_of(got) == columns_of(want)


def test_capture_of_amds_trace_is_equal(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gfx950 with barriers, counters and 32 engines."""
    recording = open_recording(data_dir / "att" / "wave_gemm_gfx950")
    monkeypatch.setenv(compiled.CHOICE, "reference")
    want = recording.read(3, decoder="isaprof")
    monkeypatch.setenv(compiled.CHOICE, "compiled")
    got = recording.read(3, decoder="isaprof")
    assert (got.meta, got.warnings) == (want.meta, want.warnings)
    assert columns_of(got) == columns_of(want)
