"""Compressed offload bundles (``CCOB``, versions 1 to 3, zlib and zstd).

Layout: llvm/lib/Object/OffloadBundle.cpp. The payload expands to a plain bundle;
its size is checked against the header and the limits below before anything is
allocated, and its MD5 afterwards.
"""

from __future__ import annotations

import hashlib
import struct
import zlib

from isaprof.codeobj.bundle import Compression, Path
from isaprof.errors import BadInput

MAGIC = b"CCOB"
METHODS = {0: "zlib", 1: "zstd"}
#: version -> header size, layout after magic, version and method (no total size in version 1)
_LAYOUT = {1: (20, "<IQ"), 2: (24, "<IIQ"), 3: (32, "<QQQ")}
MAX_UNCOMPRESSED = 1 << 30  #: bytes of one expanded bundle that are accepted
MAX_RATIO = 1000  #: of expanded to compressed; real bundles reach 25
_ZSTD_BLOCK = 128 * 1024  #: the most one zstd block expands to (RFC 8878, 3.1.1.2.4)


def read_header(data: memoryview, *, path: Path = None, base: int = 0) -> Compression:
    """The header at the start of ``data``, checked; BadInput names what is wrong with it.

    Version 1 does not say where it ends: ``total_size`` is found by walking the
    zstd blocks, or by expanding a zlib payload.
    """

    def damaged(message: str, at: int, kind: str = "damaged") -> BadInput:
        return BadInput(message, path=path, offset=base + at, kind=kind)

    if len(data) < 8:
        raise damaged(f"truncated: {len(data)} bytes of a compressed bundle's header", 0, "truncated")
    version, method = struct.unpack_from("<HH", data, 4)
    if version not in _LAYOUT:
        raise damaged(f"compressed bundle of version {version}; 1, 2 and 3 are known", 4, "unknown_version")
    if method not in METHODS:
        raise damaged(f"compression method {method}; 0 (zlib) and 1 (zstd) are known", 6, "unknown_method")
    header, layout = _LAYOUT[version]
    if len(data) < header:
        raise damaged(f"truncated: {len(data)} bytes of a header of {header}", 0, "truncated")
    *sizes, digest = struct.unpack_from(layout, data, 8)
    uncompressed = sizes[-1]
    if uncompressed > MAX_UNCOMPRESSED:
        raise damaged(
            f"the bundle says it expands to {uncompressed} bytes; the limit is {MAX_UNCOMPRESSED}",
            header - 8 - (8 if version == 3 else 4), "too_large",
        )  # fmt: skip
    total = sizes[0] if version > 1 else len(data)
    if total > len(data):
        raise damaged(
            f"truncated: a compressed bundle of {total} bytes, {len(data)} are there", 8, "truncated"
        )
    if total <= header:
        raise damaged(f"a compressed bundle of {total} bytes, its header alone has {header}", 8)
    if uncompressed > MAX_RATIO * total:
        raise damaged(
            f"{total} bytes that expand to {uncompressed}: more than {MAX_RATIO}:1, "
            "no compiler writes such a bundle",
            8, "too_large",
        )  # fmt: skip
    name = METHODS[method]
    if version == 1:
        payload = data[header:]
        used = (
            _zstd_frame_size(payload, path, base + header)
            if name == "zstd"
            else _inflate(payload, uncompressed, path, base + header)[1]
        )
        total = header + used
    return Compression(version, name, header, total, uncompressed, digest)


def expand(
    data: memoryview, c: Compression, *, path: Path = None, base: int = 0, check_hash: bool = True
) -> bytes:
    """The plain bundle inside; BadInput when it is damaged, of another size, or its hash differs.

    ``check_hash`` False: for one whose hash has been checked (MD5 takes longer than zstd).
    """
    at = base + c.header_size
    payload = data[c.header_size : c.total_size]
    if c.method == "zstd":
        out = _unzstd(payload, c.uncompressed_size, path, at)
    else:
        out = _inflate(payload, c.uncompressed_size, path, at)[0]
    if len(out) != c.uncompressed_size:
        raise BadInput(
            f"expands to {len(out)} bytes, the header says {c.uncompressed_size}",
            path=path, offset=at, kind="damaged",
        )  # fmt: skip
    if not check_hash:
        return out
    digest = hashlib.md5(out, usedforsecurity=False).digest()
    if int.from_bytes(digest[:8], "little") != c.hash:
        raise BadInput(
            f"damaged: the expanded bundle's hash is {int.from_bytes(digest[:8], 'little'):016x}, "
            f"the header says {c.hash:016x}",
            path=path, offset=base, kind="damaged",
        )  # fmt: skip
    return out


def _inflate(payload: memoryview, size: int, path: Path, at: int) -> tuple[bytes, int]:
    """(expanded bytes, at most ``size`` + 1; bytes of ``payload`` used)."""
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(payload, size + 1)
        if stream.unconsumed_tail and len(out) <= size:  # the end marker may be left to read
            out += stream.decompress(stream.unconsumed_tail, size + 1 - len(out))
    except zlib.error as e:
        raise BadInput(f"damaged zlib payload: {e}", path=path, offset=at, kind="damaged") from None
    if not stream.eof and len(out) <= size:
        raise BadInput(
            f"truncated zlib payload: {len(out)} of {size} bytes",
            path=path, offset=at + len(payload), kind="truncated",
        )  # fmt: skip
    return out, len(payload) - len(stream.unused_data)


def _unzstd(payload: memoryview, size: int, path: Path, at: int) -> bytes:
    import zstandard

    used = _zstd_frame_size(payload, path, at)
    try:
        head = zstandard.get_frame_parameters(payload)
        known = head.content_size not in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR)
        if known and head.content_size != size:
            raise BadInput(
                f"the zstd frame holds {head.content_size} bytes, the bundle's header says {size}",
                path=path, offset=at, kind="damaged",
            )  # fmt: skip
        if head.window_size > MAX_UNCOMPRESSED:
            raise BadInput(
                f"a zstd window of {head.window_size} bytes; the limit is {MAX_UNCOMPRESSED}",
                path=path, offset=at, kind="too_large",
            )  # fmt: skip
        decompressor = zstandard.ZstdDecompressor(max_window_size=max(head.window_size, 1 << 10))
        return decompressor.decompress(payload[:used], max_output_size=size)
    except zstandard.ZstdError as e:
        raise BadInput(f"damaged zstd payload: {e}", path=path, offset=at, kind="damaged") from None
    except MemoryError:
        raise BadInput(
            f"no memory for a bundle of {size} bytes", path=path, offset=at, kind="too_large"
        ) from None


def _zstd_frame_size(payload: memoryview, path: Path, at: int) -> int:
    """Bytes of the zstd frame at the start of ``payload``, from its block headers (RFC 8878, 3.1.1)."""
    import zstandard

    try:
        head = zstandard.get_frame_parameters(payload)
        pos = zstandard.frame_header_size(payload)
    except zstandard.ZstdError as e:
        raise BadInput(f"no zstd frame: {e}", path=path, offset=at, kind="damaged") from None
    last = False
    while not last:
        if pos + 3 > len(payload):
            break
        block = int.from_bytes(payload[pos : pos + 3], "little")
        last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
        if kind == 3 or size > _ZSTD_BLOCK:
            raise BadInput("damaged zstd block header", path=path, offset=at + pos, kind="damaged")
        pos += 3 + (1 if kind == 1 else size)  # kind 1 repeats one byte
    pos += 4 if head.has_checksum else 0
    if not last or pos > len(payload):
        raise BadInput(
            "truncated: the zstd frame passes the end", path=path, offset=at + len(payload), kind="truncated"
        )
    return pos
