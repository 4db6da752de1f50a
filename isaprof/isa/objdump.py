"""Text of machine code: one llvm-objdump run over a clean ELF made of the code bytes.

The input object itself is never given to LLVM: its text sections, at their
addresses and with their function symbols, are wrapped into a fresh AMDGPU
ELF. So minimal objects (no machine number, no section entry size) and
damaged ones take the same path as good ones.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from isaprof.arch.targets import EF_AMDGPU_MACH, wave_sizes
from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.isa import llvm
from isaprof.isa.process import Running

Row = tuple[int, tuple[int, ...], str]  #: address, words, text

_MACH_OF = {name: mach for mach, name in EF_AMDGPU_MACH.items()}
_LONG = ".long"
_WINDOW = 24  #: bytes; no instruction is longer


class CodeRange(NamedTuple):
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
    return Reading(ranges, arch, symbols, wave_size=wave_size).rows()


class Reading:
    """A disassembly under way: :meth:`rows` waits for it. Arguments of :func:`disassemble_ranges`."""

    def __init__(
        self,
        ranges: Sequence[CodeRange],
        arch: str,
        symbols: Mapping[int, str] | None = None,
        *,
        wave_size: int | None = None,
    ) -> None:
        self._ranges = sorted((r for r in ranges if len(r.data) >= 4), key=lambda r: r.address)
        self._arch = arch
        self._true16 = llvm.default_mattr(arch)
        wide = wave_size == 64 and len(wave_sizes(arch)) > 1
        self._wave = ["-wavefrontsize32", "+wavefrontsize64"] if wide else []
        self._elf = _wrap(self._ranges, arch, symbols or {}) if self._ranges else b""
        features = [*self._wave, self._true16]
        self._running = _start(self._elf, arch, features) if self._ranges else None

    def rows(self) -> list[Row]:
        """The rows; see :func:`disassemble_ranges`."""
        if self._running is None:
            return []
        best = _finish(self._running, self._ranges)
        if self._true16 and (bad := [r for r in best if _undecoded(r)]):
            other = self._without_true16(bad)
            # words that stay undecoded in both leave nothing to choose
            if other is not None:
                return other if sum(map(_undecoded, other)) < len(bad) else best
        return best

    def _without_true16(self, bad: list[Row]) -> list[Row] | None:
        """Everything read without true16, where that can decode any of the ``bad`` rows at all."""
        windows = {self._window(pc) for pc, _, _ in bad}
        piece = [CodeRange(0, b"".join(w + bytes(_WINDOW) for w in windows))]
        tried = _finish(_start(_wrap(piece, self._arch, {}), self._arch, self._wave), piece)
        if all(_undecoded(r) for r in tried if r[0] % (2 * _WINDOW) == 0):
            return None
        return _finish(_start(self._elf, self._arch, self._wave), self._ranges)

    def _window(self, pc: int) -> bytes:
        """The longest instruction that may begin at ``pc``."""
        r = next(r for r in self._ranges if r.address <= pc < r.address + len(r.data))
        return r.data[pc - r.address :][:_WINDOW].ljust(_WINDOW, b"\0")


def _undecoded(row: Row) -> bool:
    return (row[2].startswith(_LONG) and any(row[1])) or "Invalid register" in row[2]


def _start(elf: bytes, arch: str, features: Sequence[str]) -> Running:
    tools = llvm.find_tools(arch)
    argv: list[str | Path] = [tools.objdump, "-d", "-z", f"--triple={llvm.TRIPLE}", f"--mcpu={arch}"]
    if mattr := ",".join(filter(None, features)):
        argv.append(f"--mattr={mattr}")
    return llvm.launch([*argv, "-"], elf)


def _finish(running: Running, ranges: Sequence[CodeRange]) -> list[Row]:
    done = running.wait()
    if done.returncode != 0:
        raise EnvironmentProblem(f"{running.name}: {done.stderr.strip()[:1000]}", kind="objdump_failed")
    return _tile(ranges, done.stdout)


def _tile(ranges: Sequence[CodeRange], listing: str) -> list[Row]:
    """Rows that cover each range exactly, in order; gaps and zero words become ``.long``.

    A line of the listing: tab, text, spaces, ``// ``, address, colon, and each
    word as a space and eight digits.
    """
    at: dict[int, tuple[str, int]] = {}
    for line in listing.split("\n"):
        mark = line.rfind("// ")
        if mark > 0 and line[0] == "\t":
            colon = line.find(":", mark)
            # behind the words of a branch stands its destination in <>
            words = line.find("<", colon) - 1 if line[-1] == ">" else len(line)
            at[int(line[mark + 3 : colon], 16)] = line[1:mark].rstrip(), (words - colon) // 9
    out: list[Row] = []
    get = at.get
    for r in ranges:
        n = len(r.data) // 4
        dwords = struct.unpack_from(f"<{n}I", r.data)
        i, pc = 0, r.address
        while i < n:
            got = get(pc)
            if got is None or not dwords[i] or not got[1] or i + got[1] > n:
                out.append((pc, (dwords[i],), f"{_LONG} {dwords[i]:#x}"))
                i += 1
                pc += 4
            else:
                text, size = got
                out.append((pc, dwords[i : i + size], text))
                i += size
                pc += 4 * size
    return out


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
        # zeros behind: LLVM 22 crashes where the section ends in front of an instruction's literal
        data = r.data[: len(r.data) // 4 * 4] + bytes(_WINDOW)
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
