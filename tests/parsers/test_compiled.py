"""The compiled decoder against the reference: equal column by column, in every generation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.parsers.sqtt import compiled, memory
from isaprof.parsers.sqtt.columns import Columns, decode_columns, iter_columns, reference
from isaprof.parsers.sqtt.frame import PacketStream, frame, frame_reference, frames
from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.header import read_header
from tests.parsers.encoder import Encoder
from tests.parsers.test_damage import HEADERS, stream

pytest.importorskip("numba")
ALL = sorted(GENERATIONS)


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(compiled.CHOICE, "compiled")
    return


def same_columns(data: bytes) -> Columns:
    """The columns of ``data`` if both paths agree on them, and on what is wrong with the buffer."""
    got, want = decode_columns(data), reference(data, read_header(data))
    for name in ("time", "type", "wave", "simd", "op"):
        a, b = getattr(got, name), getattr(want, name)
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b), (name, np.flatnonzero(a[: len(b)] != b[: len(a)])[:3], len(a), len(b))
    assert (got.cut_bits, got.cut_kind, got.damaged) == (want.cut_bits, want.cut_kind, want.damaged)
    return got


def same_frame(data: bytes) -> PacketStream:
    header = read_header(data)
    got, want = frame(data, header), frame_reference(data, header)
    for name in ("bit", "type", "time", "payload"):
        a, b = getattr(got, name), getattr(want, name)
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b), (name, np.flatnonzero(a[: len(b)] != b[: len(a)])[:3], len(a), len(b))
    assert (got.cut_bits, got.cut_kind, got.damaged_at) == (want.cut_bits, want.cut_kind, want.damaged_at)
    return got


def same(data: bytes) -> None:
    same_columns(data)
    same_frame(data)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=150, deadline=None)
@given(body=st.binary(max_size=400))
def test_random_bytes(name: str, body: bytes) -> None:
    same(HEADERS[name] + body)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    size=st.integers(0, 40_000),
    zeros=st.floats(0, 0.95),
    favourite=st.integers(0, 255),
)
def test_long_random_bytes(name: str, seed: int, size: int, zeros: float, favourite: int) -> None:
    """Long enough for lanes that start at wrong places; runs of zeros; one first byte more often (extension
    bytes, resets, timestamps)."""
    random = np.random.default_rng(seed)
    body = random.integers(0, 256, size, np.uint8)
    body[random.random(size) < zeros / 2] = favourite
    for at in random.integers(0, max(size, 1), 30 if size else 0):
        body[at : at + int(random.integers(0, 200))] = 0
    same(HEADERS[name] + body.tobytes())


@pytest.mark.parametrize("name", ALL)
def test_more_than_one_block(name: str) -> None:
    """Several blocks of four lanes, in one piece and in many; the state goes from one to the next."""
    random = np.random.default_rng(5)
    body = random.integers(0, 256, 4_000_000, np.uint8)
    body[random.random(len(body)) < 0.5] = 0
    data = HEADERS[name] + body.tobytes()
    whole = same_columns(data)
    parts = list(iter_columns(data, rows=1))
    assert len(parts) > 1
    assert [p.last for p in parts] == [False] * (len(parts) - 1) + [True]
    for column in ("time", "type", "wave", "simd", "op"):
        assert np.array_equal(np.concatenate([getattr(p, column) for p in parts]), getattr(whole, column))
    framed = same_frame(data)
    pieces = list(frames(data, read_header(data), rows=1))
    assert len(pieces) > 1
    for column in ("bit", "type", "time", "payload"):
        assert np.array_equal(np.concatenate([getattr(p, column) for p in pieces]), getattr(framed, column))


@pytest.mark.parametrize("name", ["gfx12", "gfx1250"])
def test_extension_bytes_at_every_lane_border(name: str) -> None:
    """WAVE_START_EXT, NOPs and extension bytes only: the state between packets matters everywhere."""
    e = Encoder.start(name)
    for n in range(3000):
        e.packet("WAVE_START_EXT", n % 4, wave=n % 16, count=127)
        for k in range(n % 5):
            e.extension(n * 37 + k) if (n + k) % 3 else e.packet("NOP")
    data = e.data()
    for shift in range(0, 64, 7):
        same(data + bytes(shift) + data[8:5000])


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=40, deadline=None)
@given(flips=st.lists(st.integers(0, 100_000), max_size=6), end=st.integers(0, 40))
def test_mutations(name: str, flips: list[int], end: int) -> None:
    bad = bytearray(stream(name))
    for f in flips:
        f %= len(bad) * 8 - 64
        bad[8 + f // 8] ^= 1 << f % 8
    same(bytes(bad[: len(bad) - end]))


def test_real_traces(example: Path) -> None:
    for path in sorted(example.glob("*.sqtt")):
        data = path.read_bytes()
        same(data)
        same(data[: -len(data) // 3])


@pytest.mark.parametrize("name", ["gfx10", "gfx11", "gfx12", "gfx1250"])
def test_times_out_of_range(name: str) -> None:
    e = Encoder.start(name)
    value = (
        1 << (e.layout("TIMESTAMP").fields["value"][1] - e.layout("TIMESTAMP").fields["value"][0] + 1)
    ) - 1
    how = {"type": 1} if name == "gfx10" else {"rt": 0}
    for n in range(3000):
        e.packet("TIMESTAMP", value=value - n, **how)
        if n % 3 == 0:
            e.packet("NOP")
    data = e.data()
    c = same_columns(data)
    same_frame(data)
    assert c.damaged == (value > 1 << 51)


def test_resets_that_meet_no_timestamp() -> None:
    """gfx9: a reset before another one, before the end, and one whose timestamp the end cuts."""
    e = Encoder.start("gfx9")
    for n in range(50):
        e.packet("MISC", n, misc=1)
        if n % 3 == 0:
            e.packet("EVENT", 1, data=n)
        if n % 5 != 4:
            e.packet("TIMESTAMP", n % 2, value=(1 << 40) + n * 1000)
        if n % 7 == 0:
            e.packet("TIMESTAMP", 1, value=3)
    data = e.data(2)
    for cut in range(24):
        same(data[: len(data) - cut])


def test_memory_mapped_file(tmp_path: Path) -> None:
    import mmap

    data = stream("gfx11") + bytes(5000)
    path = tmp_path / "a.sqtt"
    path.write_bytes(data)
    with path.open("rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        times = [c.time.copy() for c in iter_columns(m)]
    assert np.array_equal(np.concatenate(times), reference(data, read_header(data)).time)


SCRIPT = """
import sys
from isaprof.parsers.sqtt.columns import decode_columns
data = open(sys.argv[1], "rb").read()
c = decode_columns(data)
print(len(c), int(c.time[-1]), "numba" in sys.modules)
"""


def run(path: Path, code: str = SCRIPT, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True
    )


def test_small_buffers_load_no_numba(tmp_path: Path) -> None:
    path = tmp_path / "a.sqtt"
    path.write_bytes(stream("gfx12"))
    assert run(path, **{compiled.CHOICE: ""}).stdout.split()[2] == "False"


def test_without_numba_the_result_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.sqtt"
    path.write_bytes(stream("gfx12"))
    with_it = run(path, **{compiled.CHOICE: "compiled"})
    without = run(path, "import sys; sys.modules['numba'] = None" + SCRIPT, **{compiled.CHOICE: "compiled"})
    assert with_it.stdout.split()[:2] == without.stdout.split()[:2]
    assert with_it.stdout.split()[2] == "True"
    assert "decoding without numba" in without.stderr


@pytest.mark.slow
def test_first_run_says_what_it_does_and_later_ones_are_silent(tmp_path: Path) -> None:
    path = tmp_path / "a.sqtt"
    path.write_bytes(stream("gfx12"))
    environment = {compiled.CHOICE: "compiled", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = run(path, **environment), run(path, **environment)
    assert "compiling the trace decoder" in first.stderr
    assert str(tmp_path / "cache") in first.stderr
    assert first.stdout == second.stdout
    assert "compiled in" not in second.stderr


def test_memory_is_used_again_only_when_nobody_holds_it() -> None:
    memory.release()
    a, b = memory.columns(1000, np.int64, np.uint8)
    place = a.ctypes.data
    tail = b[5:].view(np.int8)[::2]
    del a, b
    other, _ = memory.columns(1000, np.int64, np.uint8)
    assert other.ctypes.data != place  # ``tail`` still lies there
    del tail
    again, _ = memory.columns(1000, np.int64, np.uint8)
    assert again.ctypes.data == place
    memory.release()
    again[:] = 7
    assert int(again.sum()) == 7000
