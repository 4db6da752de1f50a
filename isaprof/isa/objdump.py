"""Text of machine code: one llvm-objdump run over a clean ELF made of the code bytes.

The input object itself is never given to LLVM: its text sections, at their
addresses and with their function symbols, are wrapped into a fresh AMDGPU
ELF. So minimal objects (no machine number, no section entry size) and
damaged ones take the same path as good ones.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isaprof.arch import family_table
from isaprof.arch.targets import EF_AMDGPU_MACH
from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.isa import llvm

Row = tuple[int, tuple[int, ...], str]  #: address, words, text

_LINE = re.compile(r"^\t(.*?)\s*// ([0-9A-F]{12,16}): ((?:[0-9A-F]{8}\b ?)+)", re.M)
_MACH_OF = {name: mach for mach, name in EF_AMDGPU_MACH.items()}
_LONG = ".long"


@dataclass(frozen=True, slots=True)
class CodeRange:
    """A piece of machine code: virtual address and bytes."""

    address: int
    data: bytes


def disassemble_ranges(
    ranges: Sequence[CodeRange],
    arch: str,
    symbols: Mapping[int, str] | None = None,
    *,
    wave_size: int | None = None,
) -> list[Row]:
    """Every instruction of ``ranges`` as (address, words, LLVM text), in address order.

    Rows tile each range without gaps: what LLVM cannot decode, and zero words,
    are ``.long 0x...`` rows (a zero dword decodes on gfx9 as a v_cndmask that
    no assembler takes back). Function ``symbols`` are resynchronisation points.

    true16 rule: gfx11 and later are decoded with true16 names; when that
    leaves undecodable words, once more without, and the variant with fewer
    undecodable words and invalid registers wins (true16 on a tie).
    ``wave_size`` 64 on RDNA makes lane masks two registers wide.
    """
    ranges = sorted((r for r in ranges if len(r.data) >= 4), key=lambda r: r.address)
    if not ranges:
        return []
    tools = llvm.find_tools(arch)
    elf = _wrap(ranges, arch, symbols or {})
    true16 = llvm.default_mattr(arch)
    wide = wave_size == 64 and len(family_table(arch)["wave_sizes"]) > 1
    wave = ["-wavefrontsize32", "+wavefrontsize64"] if wide else []
    best = _run(tools, elf, arch, ",".join([*wave, true16] if true16 else wave))
    if true16 and (bad := _undecoded(best)):
        other = _run(tools, elf, arch, ",".join(wave))
        if _undecoded(other) < bad:
            best = other
    return list(_tile(ranges, best))


def _undecoded(rows: Iterable[Row]) -> int:
    return sum(t.startswith(_LONG) or "Invalid register" in t for _, _, t in rows)


def _run(tools: llvm.Tools, elf: bytes, arch: str, mattr: str) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="isaprof-") as d:
        path = Path(d) / "code.o"
        path.write_bytes(elf)
        argv: list[str | Path] = [tools.objdump, "-d", "-z", f"--triple={llvm.TRIPLE}", f"--mcpu={arch}"]
        if mattr:
            argv.append(f"--mattr={mattr}")
        out = llvm.run_tool([*argv, path])
    if out.returncode != 0:
        raise EnvironmentProblem(f"{tools.objdump}: {out.stderr.strip()[:1000]}", kind="objdump_failed")
    return [
        (int(a, 16), tuple(int(w, 16) for w in words.split()), text)
        for text, a, words in _LINE.findall(out.stdout)
    ]


def _tile(ranges: Sequence[CodeRange], rows: Sequence[Row]) -> Iterable[Row]:
    """Rows made to cover each range exactly, in order; gaps and zero words become ``.long``."""
    at = {a: (words, text) for a, words, text in rows}
    for r in ranges:
        n = len(r.data) // 4
        dwords = struct.unpack_from(f"<{n}I", r.data)
        i = 0
        while i < n:
            got = at.get(r.address + 4 * i)
            if got is None or dwords[i] == 0 or got[0] != dwords[i : i + len(got[0])]:
                yield r.address + 4 * i, (dwords[i],), f"{_LONG} {dwords[i]:#x}"
                i += 1
            else:
                words, text = got
                yield r.address + 4 * i, words, text
                i += len(words)


def _wrap(ranges: Sequence[CodeRange], arch: str, symbols: Mapping[int, str]) -> bytes:
    """A small ELF64 (ET_DYN, EM_AMDGPU) with ``ranges`` as executable sections."""
    mach = _MACH_OF.get(arch)
    if mach is None:
        raise BadInput(f"{arch!r} has no ELF machine number", kind="unknown_architecture")
    shstr = b"\0.text\0.symtab\0.strtab\0"
    body = bytearray(64)
    headers = [bytes(64)]
    for r in ranges:
        body += bytes(-len(body) % 256)
        data = r.data[: len(r.data) // 4 * 4]
        headers.append(struct.pack("<IIQQQQIIQQ", 1, 1, 6, r.address, len(body), len(data), 0, 0, 4, 0))
        body += data
    symtab, count = bytearray(24), 1
    for address in sorted(symbols):
        index = next(
            (i for i, r in enumerate(ranges, 1) if r.address <= address < r.address + len(r.data)), None
        )
        if index is not None and address % 4 == 0:
            symtab += struct.pack("<IBBHQQ", 1, 0x12, 0, index, address, 0)
            count += 1
    strtab_index = len(headers) + 1
    body += bytes(-len(body) % 8)
    headers.append(struct.pack("<IIQQQQIIQQ", 7, 2, 0, 0, len(body), len(symtab), strtab_index, 1, 8, 24))
    body += symtab
    headers.append(struct.pack("<IIQQQQIIQQ", 15, 3, 0, 0, len(body), len(shstr), 0, 0, 1, 0))
    body += shstr
    body += bytes(-len(body) % 8)
    ident = b"\x7fELF" + bytes((2, 1, 1, 64, 4)) + bytes(7)
    body[:64] = ident + struct.pack(
        "<HHIQQQIHHHHHH", 3, 224, 1, 0, 0, len(body), mach, 64, 0, 0, 64, len(headers), strtab_index
    )
    return bytes(body) + b"".join(headers)
