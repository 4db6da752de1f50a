"""Damaged streams: no traceback, no hang, bounded output; what comes before the damage is unchanged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.errors import BadInput
from isaprof.parsers.sqtt.engine import decode_engine
from isaprof.parsers.sqtt.frame import PacketStream, decode
from isaprof.parsers.sqtt.generations import GENERATIONS
from tests.parsers.encoder import Encoder

HEADERS = {name: Encoder.start(name).data(8)[:8] for name in GENERATIONS}


def stream(name: str) -> bytes:
    """A small trace with waves, waits, gaps and markers."""
    e = Encoder.start(name)
    gfx9 = name == "gfx9"
    unit = e.generation.time_unit
    for slot in range(3):
        count = {"count": 64} if gfx9 else {"count": 127}
        e.at(e.now + 8 * unit, "WAVE_START", wave=slot, **count)
    for n in range(20):
        slot = n % 3
        e.at(e.now + (n % 5) * unit, "WAVE_READY" if not gfx9 else "ISSUE", **(
            {"states": 1 << 2 * slot} if gfx9 else {"mask": 1 << slot}))  # fmt: skip
        if gfx9:
            e.at(e.now + 40, "ISSUE", states=2 << 2 * slot)
            e.at(e.now + 4, "INST", wave=slot, op=(0, 1, 5, 15)[n % 4])
        else:
            e.at(e.now + 40, "INST", wave=slot, op=(0, 1, 34, 3)[n % 4])
    e.at(e.now + 5000 * unit, "NEW_PC", wave=1, pc=0x1234)
    for slot in range(3):
        e.at(e.now + 100 * unit, "WAVE_END", wave=slot)
    return e.data()


def columns(s: PacketStream) -> np.ndarray:
    return np.stack([s.bit, s.type.astype(np.int64), s.time, s.payload.view(np.int64)])


def survives(data: bytes) -> None:
    """Decodes or is refused with a message; sizes stay in proportion to the input."""
    try:
        trace = decode_engine(data)
    except BadInput as e:
        refused = (e.kind in {"bad_header", "zero_buffer", "empty_trace"}, bool(e.hint))
        assert refused == (True, True)
        return
    assert len(trace.waves) <= 16 * len(data)  # one IMMEDIATE packet names up to 16 waves
    assert sum(len(w.records) for w in trace.waves) <= 32 * len(data)
    for w in trace.waves:
        assert w.end is not None


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(sorted(GENERATIONS)), body=st.binary(max_size=600))
def test_random_bytes_after_a_valid_header(name: str, body: bytes) -> None:
    survives(HEADERS[name] + body)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes(data: bytes) -> None:
    survives(data)


@pytest.mark.parametrize("name", sorted(GENERATIONS))
@settings(max_examples=100, deadline=None)
@given(flips=st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
def test_bit_flips(name: str, flips: list[int]) -> None:
    """Packets that end before the first flipped bit are the same."""
    good = stream(name)
    bad = bytearray(good)
    for f in flips:
        f %= len(bad) * 8 - 64
        bad[8 + f // 8] ^= 1 << f % 8
    first = min(f % (len(bad) * 8 - 64) for f in flips) + 64
    survives(bytes(bad))
    a, b = decode(good), decode(bytes(bad))
    width = np.array([p.bits for p in a.generation.packets])
    n = int(((a.bit + width[a.type]) <= first).sum())
    # a packet that begins in a flipped byte may be read differently; all before it may not
    n = min(n, int((a.bit + 8 <= first).sum()))
    assert np.array_equal(columns(a)[:, :n], columns(b)[:, :n])


@pytest.mark.parametrize("name", sorted(GENERATIONS))
def test_every_prefix_gives_the_same_leading_packets(name: str) -> None:
    good = stream(name)
    full = columns(decode(good))
    for n in range(8, len(good)):
        survives(good[:n])
        part = columns(decode(good[:n]))
        assert part.shape[1] <= full.shape[1]
        assert np.array_equal(part, full[:, : part.shape[1]])


def test_real_traces_cut_anywhere(example: Path) -> None:
    """Leading packets of a cut real trace are those of the whole (gfx9 times up to the last time reset,
    which may lack its timestamp); a cut inside a packet is reported."""
    path = sorted(example.glob("*.sqtt"))[1]
    good = path.read_bytes()
    whole = decode(good)
    for n in range(8, len(good), 97):
        part = decode(good[:n])
        m = len(part)
        assert np.array_equal(columns(part)[[0, 1, 3]], columns(whole)[[0, 1, 3], :m])
        misc = part.rows("MISC")
        safe = m
        if part.generation.time_unit != 1:
            resets = misc[part.field("misc", misc) == 1]
            safe = int(resets[-1]) if len(resets) else m
        assert np.array_equal(part.time[:safe], whole.time[:safe])
        trace = decode_engine(good[:n])
        assert bool(trace.cut_block) == bool((n - trace.header.start) % 32)


@pytest.mark.slow
def test_real_traces_cut_at_every_byte(example: Path) -> None:
    """As above at every byte; of long traces the first 3000 bytes and the last 300."""
    path = sorted(example.glob("*.sqtt"))[1]
    good = path.read_bytes()
    whole = columns(decode(good))[[0, 1, 3]]
    for n in [*range(8, min(len(good), 3000)), *range(max(3000, len(good) - 300), len(good))]:
        part = columns(decode(good[:n]))[[0, 1, 3]]
        assert np.array_equal(part, whole[:, : part.shape[1]]), n
        decode_engine(good[:n])


@pytest.mark.parametrize("name", sorted(GENERATIONS))
def test_a_cut_last_packet_is_reported_and_the_rest_kept(name: str) -> None:
    e = Encoder.start(name)
    e.at(80, "WAVE_START", wave=1, count=64 if name == "gfx9" else 127)
    good = e.data(1)
    trace = decode_engine(good[:-1])
    assert trace.cut_kind == "WAVE_START"
    assert trace.waves == []
    assert len(decode_engine(good).waves) == 1


def test_zeros_are_called_zeros() -> None:
    with pytest.raises(BadInput, match=r"buffer of zeros \(100% of 4096 bytes") as e:
        decode_engine(bytes(4096))
    assert e.value.kind == "zero_buffer"


def test_absurd_times_end_the_stream() -> None:
    """Time steps that no clock can make stop the decoding there; the message says where."""
    e = Encoder.start("gfx12")
    e.at(5, "WAVE_START", wave=1, count=127)
    for _ in range(3000):
        e.packet("TIMESTAMP", rt=0, value=(1 << 52) - 1)
    trace = decode_engine(e.data())
    assert trace.stopped_at is not None
    assert "clock" in trace.stopped_why
    assert len(trace.waves) == 1


def test_gfx9_impossible_slot_ends_the_stream() -> None:
    e = Encoder.start("gfx9")
    e.at(80, "WAVE_START", wave=3, count=64)
    e.at(160, "WAVE_START", wave=12, count=64)
    e.at(240, "WAVE_END", wave=3)
    trace = decode_engine(e.data())
    assert trace.stopped_at is not None
    assert "slot 12" in trace.stopped_why
    assert [w.end_seen for w in trace.waves] == [False]
