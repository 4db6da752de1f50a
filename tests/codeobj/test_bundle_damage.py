"""Damaged and hostile containers end as BadInput with a place, in bounded time and memory."""

from __future__ import annotations

import hashlib
import lzma
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.codeobj import bundle_compressed
from isaprof.codeobj.source import load_object, read_source
from isaprof.errors import BadInput, IsaprofError
from tests import synthetic_bundle as make

BODY = b"\x7fELF" + bytes(range(256)) * 8
BUNDLE = make.plain([(make.entry_id("gfx1030"), BODY), (make.entry_id("gfx1100"), BODY[::-1])])


def refused(tmp_path: Path, data: bytes) -> BadInput:
    path = tmp_path / "broken"
    path.write_bytes(data)
    with pytest.raises(BadInput) as e:
        read_source(path)
    assert str(path) in str(e.value)
    assert e.value.offset is not None
    assert 0 <= e.value.offset <= len(data)
    return e.value


def table(*records: tuple[int, int, bytes], count: int | None = None) -> bytes:
    """A bundle header with records as given, and a page of room behind it."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(records) if count is None else count)
    for offset, size, name in records:
        head += struct.pack("<QQQ", offset, size, len(name)) + name
    return head + bytes(4096)


ID = make.entry_id("gfx1030").encode()
HUGE = (1 << 64) - 1


@pytest.mark.parametrize(
    ("data", "message", "offset"),
    [
        (b"__CLANG_OFFLOAD_BUNDLE__", "24 bytes of a bundle's header", 0),
        (table(count=HUGE), "entries in a bundle; at most 4096", 24),
        (table(count=4000)[:400], "the id of entry|record of entry|no target", None),
        (table((200, HUGE, ID)), f"takes {HUGE} bytes", 32),
        (table((HUGE, 16, ID)), "takes 16 bytes", 32),
        (table((1 << 63, 1 << 63, ID)), "bytes at 0x8000000000000000", 32),
        (table((0, 64, ID)), "overlaps the entry table", 32),
        (table((512, 64, ID), (544, 64, ID)), f"overlaps {ID.decode()}", 32),
        (table(*[(512, 3000, ID)] * 60), "overlaps", 32),
        (table((512, 64, b"")), "is no target", 56),
        (table((512, 64, b"hip-\x1b[2Jgfx1030")), "is no target", 56),
        (table((512, 64, b"x" * 1025)), "has 1025 bytes; at most 1024", 48),
    ],
)
def test_plain_bundles(tmp_path: Path, data: bytes, message: str, offset: int | None) -> None:
    e = refused(tmp_path, data)
    assert any(m in e.message for m in message.split("|")), e.message
    if offset is not None:
        assert e.offset == offset


def header(version: int, method: int, total: int, size: int) -> bytes:
    rest = struct.pack("<QQ", total, size)
    if version == 1:
        rest = struct.pack("<I", size)
    if version == 2:
        rest = struct.pack("<II", total, size)
    return b"CCOB" + struct.pack("<HH", version, method) + rest + bytes(8)


@pytest.mark.parametrize(
    ("data", "message", "offset"),
    [
        (b"CCOB", "4 bytes of a compressed bundle's header", 0),
        (header(4, 1, 100, 100), "version 4; 1, 2 and 3 are known", 4),
        (header(0, 1, 100, 100), "version 0", 4),
        (header(3, 2, 100, 100) + bytes(100), "compression method 2", 6),
        (header(3, 1, 100, 100)[:30], "30 bytes of a header of 32", 0),
        (header(3, 1, 1 << 40, 100) + bytes(100), "132 are there", 8),
        (header(3, 1, 132, HUGE) + bytes(100), f"expands to {HUGE} bytes; the limit is 1073741824", 16),
        (header(2, 1, 124, 1 << 31) + bytes(100), "the limit is 1073741824", 12),
        (header(1, 1, 0, 1 << 31) + bytes(100), "the limit is 1073741824", 8),
        (header(3, 1, 132, 1 << 29) + bytes(100), "more than 1000:1", 8),
        (header(3, 1, 0, 10) + bytes(100), "a compressed bundle of 0 bytes", 8),
        (header(2, 1, 24, 10) + bytes(100), "its header alone has 24", 8),
        (header(3, 1, 132, 10) + bytes(100), "no zstd frame", 32),
        (header(3, 0, 132, 10) + bytes(100), "damaged zlib payload", 32),
        (header(1, 1, 0, 10) + bytes(100), "no zstd frame", 20),
        (header(1, 0, 0, 10) + bytes(100), "damaged zlib payload", 20),
    ],
)
def test_compressed_headers(tmp_path: Path, data: bytes, message: str, offset: int) -> None:
    e = refused(tmp_path, data)
    assert message in e.message
    assert e.offset == offset


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_sizes_and_hash_are_checked(tmp_path: Path, version: int, method: str) -> None:
    for wrong in (len(BUNDLE) - 1, len(BUNDLE) + 1, 0):
        refused(tmp_path, make.compressed(BUNDLE, version, method, uncompressed=wrong))
        refused(tmp_path, make.compressed(BUNDLE, version, method, uncompressed=wrong, sized=False))
    good = make.compressed(BUNDLE, version, method)
    at = {1: 12, 2: 16, 3: 24}[version]
    flipped = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
    assert "hash" in refused(tmp_path, flipped).message


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_a_bomb_is_not_expanded(tmp_path: Path, version: int, sized: bool, method: str) -> None:
    """256 MiB of zeros behind a header that tells of 4 kB."""
    size = 1 << 28
    if method == "zstd":
        payload = zstandard.ZstdCompressor(write_content_size=sized).compress(bytes(size))
    else:
        payload = zlib.compress(bytes(size))
    data = make.compressed(BUNDLE, version, method, payload=payload, uncompressed=4096)
    tracemalloc.start()
    try:
        refused(tmp_path, data)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_the_limit_holds_for_what_the_header_admits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make.compressed(BUNDLE)
    path = tmp_path / "b"
    path.write_bytes(data)
    assert len(read_source(path).items) == 3
    monkeypatch.setattr(bundle_compressed, "MAX_UNCOMPRESSED", len(BUNDLE) - 1)
    assert "the limit is" in refused(tmp_path, data).message


def test_expanded_bundles_are_checked_as_plain_ones(tmp_path: Path) -> None:
    bad = table((0, 64, ID))
    e = refused(tmp_path, make.elf_host([make.compressed(bad)]))
    assert "overlaps the entry table" in e.message
    assert "in the expanded bundle" in e.message


def test_a_compressed_bundle_with_a_skippable_frame_or_dictionary(tmp_path: Path) -> None:
    skippable = struct.pack("<II", 0x184D2A50, 4) + bytes(4)
    frame = zstandard.ZstdCompressor().compress(BUNDLE)
    refused(tmp_path, make.compressed(BUNDLE, payload=skippable + frame))
    samples = [hashlib.sha256(bytes([i])).digest() * 40 for i in range(200)]
    trained = zstandard.train_dictionary(4096, samples)
    frame = zstandard.ZstdCompressor(dict_data=trained).compress(BUNDLE)
    refused(tmp_path, make.compressed(BUNDLE, payload=frame))


@pytest.mark.parametrize(
    ("at", "patch", "message"),
    [
        (40, struct.pack("<Q", HUGE), "section headers"),
        (40, struct.pack("<Q", 100), "section headers|without GPU code|truncated"),
        (58, struct.pack("<H", 40), "section headers of 40 bytes"),
        (60, struct.pack("<H", 0xFFFF), "section headers"),
        (62, struct.pack("<H", 0x00F0), "names in number 240"),
    ],
)
def test_host_elf_headers(tmp_path: Path, at: int, patch: bytes, message: str) -> None:
    good = make.elf_host([make.compressed(BUNDLE)])
    path = tmp_path / "lib.so"
    path.write_bytes(good[:at] + patch + good[at + len(patch) :])
    with pytest.raises(BadInput, match=message):
        load_object(path)


def test_a_host_whose_section_count_is_in_the_first_section(tmp_path: Path) -> None:
    good = bytearray(make.elf_host([make.compressed(BUNDLE)]))
    table_at = struct.unpack_from("<Q", good, 40)[0]
    count, names = struct.unpack_from("<HH", good, 60)
    struct.pack_into("<HH", good, 60, 0, 0xFFFF)
    struct.pack_into("<Q", good, table_at + 32, count)
    struct.pack_into("<I", good, table_at + 40, names)
    path = tmp_path / "many.so"
    path.write_bytes(good)
    assert len(read_source(path).items) == 3
    struct.pack_into("<Q", good, table_at + 32, HUGE)
    assert "section headers" in refused(tmp_path, bytes(good)).message


def test_archives(tmp_path: Path) -> None:
    good = make.aks2([("a.hsaco", BODY), ("b.hsaco", BODY)])
    for at, value in ((4, 0xFFFFFFFF), (4, 10), (8, 0xFFFFFFFF), (8, 3), (12, 0xFFFFFFFF), (12, 20)):
        refused(tmp_path, good[:at] + struct.pack("<I", value) + good[at + 4 :])
    bomb = b"AKS2" + struct.pack("<III", 4096, 1, 30) + lzma.compress(bytes(1 << 26), format=lzma.FORMAT_XZ)
    tracemalloc.start()
    try:
        refused(tmp_path, bomb)
        assert tracemalloc.get_traced_memory()[1] < 24 << 20  # xz's own dictionary is 8 MiB
    finally:
        tracemalloc.stop()


CONTAINERS: dict[str, bytes] = {
    "plain": BUNDLE,
    "v1 zlib": make.compressed(BUNDLE, 1, "zlib"),
    "v1 zstd": make.compressed(BUNDLE, 1),
    "v2 zstd": make.compressed(BUNDLE, 2),
    "v3 zstd": make.compressed(BUNDLE, 3, sized=False),
    "v3 zlib": make.compressed(BUNDLE, 3, "zlib"),
    "elf": make.elf_host([make.compressed(BUNDLE), BUNDLE]),
    "pe": make.pe_host([make.compressed(BUNDLE), BUNDLE]),
    "aks2": make.aks2([("a.hsaco", BODY), ("b.hsaco", BODY[::-1])]),
}


def survives(path: Path, data: bytes) -> None:
    """Reading and loading end, with a result or an error of ours."""
    path.write_bytes(data)
    for action in (read_source, load_object, lambda p: load_object(p, target="gfx1030", kernel="k")):
        call: Callable[[Path], object] = action
        with suppress(IsaprofError):
            call(path)


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_every_truncation(tmp_path: Path, name: str) -> None:
    data = CONTAINERS[name]
    cuts = {*range(0, min(len(data), 300)), *range(0, len(data), max(1, len(data) // 100)), len(data) - 1}
    for cut in sorted(cuts):
        path = tmp_path / "cut"
        path.write_bytes(data[:cut])
        try:
            source = read_source(path)
        except BadInput:
            continue
        # what is left over: PE padding or zeros behind the last bundle
        assert not any(data[cut:])
        assert source.items


@pytest.mark.parametrize("name", sorted(CONTAINERS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(draw=st.data())
def test_flipped_bytes(tmp_path: Path, name: str, draw: st.DataObject) -> None:
    """Anywhere, but more often among headers and tables, with values that hurt."""
    data = bytearray(CONTAINERS[name])
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.one_of(st.integers(0, min(len(data), 400) - 1), st.integers(0, len(data) - 1)))
        patch = draw.draw(
            st.one_of(
                st.binary(min_size=1, max_size=8),
                st.sampled_from(
                    [b"\xff" * 8, b"\0" * 8, b"\x7f", b"\0\0\0\x80", struct.pack("<Q", len(data))]
                ),
            )
        )
        data[at : at + len(patch)] = patch
    survives(tmp_path / "flipped", bytes(data))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.sampled_from([b"", b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__", b"AKS2", b"MZ", b"\x7fELF\x02\x01"]),
    rest=st.binary(max_size=300),
)
def test_any_bytes(tmp_path: Path, start: bytes, rest: bytes) -> None:
    survives(tmp_path / "any", start + rest)


def test_flipped_payload_bytes_are_noticed(tmp_path: Path) -> None:
    """Compressed bundles have no checksum of their own; the header's hash has to notice."""
    for name in ("v1 zlib", "v1 zstd", "v2 zstd", "v3 zlib", "v3 zstd"):
        good = CONTAINERS[name]
        path = tmp_path / "good"
        path.write_bytes(good)
        want = [i.data() for i in read_source(path).items]
        for at in range(33, len(good), max(1, len(good) // 60)):
            path.write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
            try:
                got = [i.data() for i in read_source(path).items]
            except BadInput:
                continue
            assert got == want, (name, at)
