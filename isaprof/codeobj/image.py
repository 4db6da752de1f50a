"""Reading ELF files: sections, symbols, notes and the loadable image, safely.

Ordinary files go through pyelftools behind bounds checks; the minimal ELF
files some programs write (class set, e_machine 0, e_shentsize 0) are read
here. Whatever is wrong with a file ends as :class:`~isaprof.errors.BadInput`.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field
from os import PathLike

from isaprof.errors import BadInput

EM_AMDGPU = 224
SHF_ALLOC, SHF_EXECINSTR = 2, 4
_MACHINES = {
    3: "x86 (32-bit)", 8: "MIPS", 20: "PowerPC", 21: "PowerPC64", 22: "S/390", 40: "ARM", 62: "x86-64",
    183: "AArch64", 190: "NVIDIA CUDA", 243: "RISC-V", 247: "BPF", 258: "LoongArch",
}  # fmt: skip
#: what pyelftools raises on damaged files besides its own ELFError
_DAMAGE = (
    ValueError, LookupError, struct.error, OverflowError, TypeError, AttributeError, AssertionError,
    ArithmeticError, RecursionError,
)  # fmt: skip
_HINT_HOST = "llvm-objdump --offloading FILE extracts its code objects; pass one of them"
_HINT_BUNDLE = (
    "clang-offload-bundler --type=o --list --input=FILE names its code objects, --unbundle extracts one"
)


@dataclass(frozen=True, slots=True)
class Section:
    """A section that is loaded: name, virtual address, bytes."""

    name: str
    address: int
    data: bytes
    executable: bool

    def __contains__(self, address: object) -> bool:
        return isinstance(address, int) and self.address <= address < self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class Symbol:
    name: str
    value: int
    size: int
    kind: str  #: FUNC, OBJECT or NOTYPE
    local: bool


@dataclass(frozen=True, slots=True)
class Image:
    """An ELF file taken apart."""

    machine: int
    osabi: int
    abi_version: int
    e_flags: int
    minimal: bool
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    notes: tuple[tuple[str, int, bytes], ...]  #: owner, type, payload
    segments: tuple[tuple[int, bytes], ...] = field(default=())  #: loaded address, file bytes


def read_image(data: bytes, path: str | PathLike[str] | None = None) -> Image:
    """Take an AMDGPU (or minimal) ELF apart; BadInput says what any other file is."""
    _refuse_other_files(data, path)
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine == 0 and (data[5] == 0 or struct.unpack_from("<H", data, 58)[0] == 0):
        return _read_minimal(data, path)
    if data[4] != 2 or data[5] != 1:
        raise BadInput("not a 64-bit little-endian ELF file", path=path, offset=4, kind="not_a_code_object")
    if machine != EM_AMDGPU:
        raise _other_machine(data, machine, path)
    return _read_elf(data, path)


def _refuse_other_files(data: bytes, path: str | PathLike[str] | None) -> None:
    if data.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
        raise BadInput(
            "an offload bundle (several code objects in one file), not a code object",
            path=path, hint=_HINT_BUNDLE, kind="bundle",
        )  # fmt: skip
    if data.startswith(b"CCOB"):
        raise BadInput(
            "a compressed offload bundle (CCOB), not a code object",
            path=path,
            hint=_HINT_BUNDLE,
            kind="bundle",
        )
    if data.startswith(b"BC\xc0\xde"):
        raise BadInput("LLVM bitcode, not a code object", path=path, kind="not_a_code_object")
    if not data.startswith(b"\x7fELF"):
        what = "empty file" if not data else "not an ELF file"
        raise BadInput(f"{what}; an AMDGPU code object is needed", path=path, kind="not_elf")
    if len(data) < 64:
        raise BadInput(
            f"truncated: {len(data)} bytes, an ELF header has 64",
            path=path,
            offset=len(data),
            kind="truncated",
        )


def _other_machine(data: bytes, machine: int, path: str | PathLike[str] | None) -> BadInput:
    name = _MACHINES.get(machine, f"machine {machine}")
    if b".hip_fatbin" in data:
        return BadInput(
            f"a host file ({name}) with embedded GPU code (.hip_fatbin), not a code object",
            path=path, hint=_HINT_HOST, kind="bundle",
        )  # fmt: skip
    return BadInput(
        f"an ELF file for {name}, not for AMD GPUs (machine {EM_AMDGPU})",
        path=path,
        offset=18,
        kind="other_machine",
    )


def _read_minimal(data: bytes, path: str | PathLike[str] | None) -> Image:
    """ELF with e_machine 0: section headers of 64 bytes at e_shoff, file offset = address."""
    shoff = struct.unpack_from("<Q", data, 40)[0]
    shnum, shstrndx = struct.unpack_from("<HH", data, 60)
    if shnum == 0 or shoff + 64 * shnum > len(data):
        raise BadInput(
            f"truncated: {shnum} section headers at {shoff:#x}, the file ends at {len(data):#x}",
            path=path, offset=40, kind="truncated",
        )  # fmt: skip
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(shnum)]
    names = b""
    if shstrndx < shnum:
        names = data[heads[shstrndx][4] : heads[shstrndx][4] + heads[shstrndx][5]]
    sections = []
    for name, _kind, flags, address, offset, size, *_ in heads:
        if not flags & SHF_ALLOC:
            continue
        if offset + size > len(data):
            raise BadInput(
                f"truncated: a section of {size} bytes at {offset:#x} passes the end of the file",
                path=path, offset=offset, kind="truncated",
            )  # fmt: skip
        end = names.find(b"\0", name)
        label = names[name:end].decode("ascii", "replace") if end >= 0 else ""
        executable = bool(flags & SHF_EXECINSTR)
        sections.append(Section(label, address, bytes(data[offset : offset + size]), executable))
    if not any(s.executable for s in sections):
        raise BadInput("no executable section", path=path, kind="no_code")
    return Image(0, data[7], data[8], 0, True, tuple(sections), (), ())


def _read_elf(data: bytes, path: str | PathLike[str] | None) -> Image:
    phoff, shoff, flags = struct.unpack_from("<QQI", data, 32)
    phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", data, 54)
    for what, offset, entry, count, want in (
        ("program headers", phoff, phentsize, phnum, 56),
        ("section headers", shoff, shentsize, shnum, 64),
    ):
        if count and (entry != want or offset + entry * count > len(data)):
            raise BadInput(
                f"truncated or damaged: {count} {what} of {entry} bytes at {offset:#x} in a file of "
                f"{len(data)} bytes",
                path=path, offset=min(offset, len(data)), kind="truncated",
            )  # fmt: skip
    if shnum == 0:
        raise BadInput("no section headers (stripped or damaged)", path=path, offset=60, kind="no_sections")
    from elftools.common.exceptions import ELFError

    try:
        sections, symbols, notes, segments = _walk(data)
    except BadInput as e:
        raise BadInput(e.message, path=path, offset=e.offset, kind=e.kind) from None
    except (ELFError, *_DAMAGE) as e:
        raise BadInput(f"damaged ELF file: {e or type(e).__name__}", path=path, kind="damaged") from None
    return Image(EM_AMDGPU, data[7], data[8], flags, False, sections, symbols, notes, segments)


_Walk = tuple[
    tuple[Section, ...], tuple[Symbol, ...], tuple[tuple[str, int, bytes], ...], tuple[tuple[int, bytes], ...]
]


def _walk(data: bytes) -> _Walk:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    elf = ELFFile(io.BytesIO(data))
    sections: list[Section] = []
    symbols: dict[tuple[str, int], Symbol] = {}
    notes: list[tuple[str, int, bytes]] = []
    # sections of a sane file do not overlap; a damaged one may name the whole file thousands of times
    budget = 4 * len(data) + (1 << 16)
    for s in elf.iter_sections():
        h = s.header
        kind, flags, size = h["sh_type"], h["sh_flags"], h["sh_size"]
        if kind in ("SHT_NULL", "SHT_NOBITS"):
            continue
        budget -= size
        if budget < 0:
            raise BadInput("sections overlap: together they are far larger than the file", kind="damaged")
        body = _slice(data, h["sh_offset"], size, f"section {s.name or '?'}")
        if kind == "SHT_NOTE":
            notes += _notes(body)
        if flags & SHF_ALLOC:
            sections.append(Section(s.name, h["sh_addr"], body, bool(flags & SHF_EXECINSTR)))
        if isinstance(s, SymbolTableSection):
            if h["sh_entsize"] != 24:
                raise BadInput(
                    f"symbol table with entries of {h['sh_entsize']} bytes, not 24", kind="damaged"
                )
            for sym in s.iter_symbols():
                name, info = sym.name, sym.entry["st_info"]
                if name and sym.entry["st_shndx"] not in ("SHN_UNDEF", "SHN_ABS"):
                    what = str(info["type"]).removeprefix("STT_")
                    symbols[name, sym.entry["st_value"]] = Symbol(
                        name, sym.entry["st_value"], sym.entry["st_size"], what, info["bind"] == "STB_LOCAL"
                    )
    segments = []
    for seg in elf.iter_segments():
        h = seg.header
        if h["p_type"] == "PT_LOAD" and h["p_filesz"]:
            budget -= h["p_filesz"]
            if budget < 0:
                raise BadInput("segments overlap: together they are far larger than the file", kind="damaged")
            segments.append((h["p_vaddr"], _slice(data, h["p_offset"], h["p_filesz"], "segment")))
    return tuple(sections), tuple(symbols.values()), tuple(notes), tuple(segments)


def _slice(data: bytes, offset: int, size: int, what: str) -> bytes:
    if offset + size > len(data):
        raise BadInput(
            f"truncated: {what} ends at {offset + size:#x}, the file at {len(data):#x}",
            offset=min(offset, len(data)), kind="truncated",
        )  # fmt: skip
    return bytes(data[offset : offset + size])


def _notes(body: bytes) -> list[tuple[str, int, bytes]]:
    """(owner, type, payload) of each note; stops at the first damaged one."""
    out = []
    at = 0
    while at + 12 <= len(body):
        name_size, size, kind = struct.unpack_from("<III", body, at)
        start = at + 12 + (name_size + 3 & ~3)
        if start + size > len(body):
            break
        owner = body[at + 12 : at + 12 + name_size].rstrip(b"\0").decode("ascii", "replace")
        out.append((owner, kind, body[start : start + size]))
        at = start + (size + 3 & ~3)
    return out
