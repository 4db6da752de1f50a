"""Containers of code objects written by the test suite itself, byte for byte."""

from __future__ import annotations

import hashlib
import lzma
import struct
import zlib
from collections.abc import Sequence

import zstandard

from isaprof.isa.llvm import assemble, link

HOST = "host-x86_64-unknown-linux-gnu-"
_KERNEL = """
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
  s_nop {nop}
  s_endpgm
.L{name}_end:
  .size {name}, .L{name}_end-{name}
.rodata
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 4{more}
.end_amdhsa_kernel
"""


def code_object(target: str, *kernels: str, nop: int = 0) -> bytes:
    """A code object for a target id with kernels that do nothing (``nop`` makes them different)."""
    arch = target.partition(":")[0]
    more = "\n  .amdhsa_accum_offset 4" if arch in ("gfx90a", "gfx942", "gfx950") else ""
    source = f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n.amdhsa_code_object_version 6\n'
    source += "".join(_KERNEL.format(name=k, nop=nop, more=more) for k in kernels or ("k",))
    signs = [f[-1] + f[:-1] for f in target.split(":")[1:]]
    return link([assemble(source, arch, mattr=",".join(signs) or None)])


def entry_id(target: str) -> str:
    return f"hipv4-amdgcn-amd-amdhsa--{target}"


def plain(entries: Sequence[tuple[str, bytes]], *, align: int = 4096) -> bytes:
    """A bundle as clang writes it: the host entry first, empty."""
    rows = [(HOST, b""), *entries]
    at = 32 + sum(24 + len(name) for name, _ in rows)
    table, bodies = b"", []
    for name, data in rows:
        at += -at % align
        table += struct.pack("<QQQ", at, len(data), len(name)) + name.encode()
        bodies.append((at, data))
        at += len(data)
    out = bytearray(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(rows)) + table)
    for place, data in bodies:
        if data:
            out += bytes(place - len(out)) + data
    return bytes(out)


def by_target(objects: dict[str, bytes]) -> bytes:
    return plain([(entry_id(t), data) for t, data in objects.items()])


def compressed(
    bundle: bytes,
    version: int = 3,
    method: str = "zstd",
    *,
    payload: bytes | None = None,
    uncompressed: int | None = None,
    sized: bool = True,
) -> bytes:
    """A CCOB of version 1, 2 or 3; ``sized``: the zstd frame states its content size."""
    if payload is None:
        payload = (
            zstandard.ZstdCompressor(write_content_size=sized).compress(bundle)
            if method == "zstd"
            else zlib.compress(bundle)
        )
    size = len(bundle) if uncompressed is None else uncompressed
    digest = hashlib.md5(bundle).digest()[:8]
    head = b"CCOB" + struct.pack("<HH", version, {"zlib": 0, "zstd": 1}[method])
    sizes = {
        1: struct.pack("<I", size),
        2: struct.pack("<II", 24 + len(payload), size),
        3: struct.pack("<QQ", 32 + len(payload), size),
    }[version]
    return head + sizes + digest + payload


def section(bundles: Sequence[bytes]) -> bytes:
    """Bundles one after the other, each at a multiple of 4096, zeros between."""
    out = bytearray()
    for b in bundles:
        out += bytes(-len(out) % 4096) + b
    return bytes(out)


def elf_host(bundles: Sequence[bytes], *, name: str = ".hip_fatbin", wrappers: int | None = None) -> bytes:
    """An x86-64 shared library with the two HIP sections (and nothing else)."""
    fat = section(bundles)
    count = len(bundles) if wrappers is None else wrappers
    wrap = b"".join(struct.pack("<IIQQ", 0x48495046, 1, 0, 0) for _ in range(count))
    strings = b"\0.shstrtab\0" + name.encode() + b"\0.hipFatBinSegment\0"
    fat_at = 4096
    wrap_at = fat_at + len(fat)
    strings_at = wrap_at + len(wrap)
    table_at = strings_at + len(strings)
    table_at += -table_at % 8
    rows = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (strings.index(name.encode()), 1, 2, fat_at, fat_at, len(fat), 0, 0, 4096, 0),
        (strings.index(b".hipFatBin"), 1, 3, wrap_at + 4096, wrap_at, len(wrap), 0, 0, 8, 0),
        (1, 3, 0, 0, strings_at, len(strings), 0, 0, 1, 0),
    ]
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, table_at, 0, 64, 56, 0, 64, len(rows), 3)
    body = head + bytes(fat_at - 64) + fat + wrap + strings
    return body + bytes(table_at - len(body)) + b"".join(struct.pack("<IIQQQQIIQQ", *r) for r in rows)


def pe_host(bundles: Sequence[bytes]) -> bytes:
    """A PE file with ``.hipFatB`` before ``.hip_fat``, as lld-link orders them."""
    fat = section(bundles)
    wrap = b"".join(struct.pack("<IIQQ", 0x48495046, 1, 0, 0) for _ in bundles)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64)
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 2, 0, 0, 0, 240, 0x2022) + bytes(240)
    padded = len(fat) + -len(fat) % 512
    rows = [(b".hipFatB", len(wrap), 0x1000, 512, 1024), (b".hip_fat", len(fat), 0x2000, padded, 1536)]
    table = b"".join(struct.pack("<8sIIIIIIHHI", *r, 0, 0, 0, 0, 0x40000040) for r in rows)
    body = head + coff + table
    body += bytes(1024 - len(body)) + wrap
    return body + bytes(1536 - len(body)) + fat + bytes(padded - len(fat))


def aks2(objects: Sequence[tuple[str, bytes]], *, directory_counts: bool = True) -> bytes:
    """An AOTriton archive; releases differ in whether the size counts the directory."""
    directory, body = b"", b""
    for name, data in objects:
        text = name.encode() + b"\0"
        directory += struct.pack("<IIIII", 1024, 256, len(body), len(data), len(text)) + text
        body += data
    total = len(body) + (len(directory) if directory_counts else 0)
    head = b"AKS2" + struct.pack("<III", total, len(objects), len(directory))
    return head + lzma.compress(directory + body, format=lzma.FORMAT_XZ)
