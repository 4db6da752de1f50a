"""Reading ELF files: sections, symbols, notes and the loadable image, safely.

Ordinary files are read by :mod:`isaprof.codeobj.tables`; the minimal ELF
files some programs write (class set, e_machine 0, e_shentsize 0) are read
here. Whatever is wrong with a file ends as :class:`~isaprof.errors.BadInput`.
"""

import struct
from os import PathLike
from typing import NamedTuple

from isaprof.codeobj.tables import Tables, read_tables
from isaprof.errors import BadInput

EM_AMDGPU = 224
SHF_ALLOC, SHF_EXECINSTR = 2, 4
_MACHINES = {
    3: "x86 (32-bit)", 8: "MIPS", 20: "PowerPC", 21: "PowerPC64", 22: "S/390", 40: "ARM", 62: "x86-64",
    183: "AArch64", 190: "NVIDIA CUDA", 243: "RISC-V", 247: "BPF", 258: "LoongArch",
}  # fmt: skip


class Section(NamedTuple):
    """A section that is loaded: name, virtual address, bytes."""

    name: str
    address: int
    data: bytes
    executable: bool

    def __contains__(self, address: object) -> bool:
        return isinstance(address, int) and self.address <= address < self.address + len(self.data)


class Symbol(NamedTuple):
    name: str
    value: int
    size: int
    kind: str  #: FUNC, OBJECT or NOTYPE
    local: bool


class Image(NamedTuple):
    """An ELF file taken apart."""

    machine: int
    osabi: int
    abi_version: int
    e_flags: int
    minimal: bool
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    notes: tuple[tuple[str, int, bytes], ...]  #: owner, type, payload
    segments: tuple[tuple[int, bytes], ...] = ()  #: loaded address, file bytes
    tables: Tables | None = None  #: everything else the file says; None for minimal files

    @property
    def text(self) -> tuple[Section, ...]:
        """The executable sections."""
        return tuple(s for s in self.sections if s.executable)


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


def _extract(path: str | PathLike[str] | None) -> str:
    return f"isaprof extract {'FILE' if path is None else path} --list"


def _refuse_other_files(data: bytes, path: str | PathLike[str] | None) -> None:
    if data.startswith(b"__CLANG_OFFLOAD_BUNDLE__"):
        raise BadInput(
            "an offload bundle (several code objects in one file), not a code object",
            path=path, hint=_extract(path), kind="bundle",
        )  # fmt: skip
    if data.startswith(b"CCOB"):
        raise BadInput(
            "a compressed offload bundle (CCOB), not a code object",
            path=path,
            hint=_extract(path),
            kind="bundle",
        )
    if data.startswith(b"BC\xc0\xde"):
        raise BadInput("LLVM bitcode, not a code object", path=path, kind="not_a_code_object")
    if not data.startswith(b"\x7fELF"):
        what = "empty file" if not data else "not an ELF file"
        text = path is not None and str(path).endswith((".s", ".S", ".asm"))
        raise BadInput(
            f"{what}; an AMDGPU code object is needed",
            path=path,
            kind="not_elf",
            hint=f"isaprof asm {path} -o KERNEL.co" if text else "isaprof extract FILE --list",
        )
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
            path=path, hint=_extract(path), kind="bundle",
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
    if struct.unpack_from("<H", data, 60)[0] == 0:
        raise BadInput("no section headers (stripped or damaged)", path=path, offset=60, kind="no_sections")
    try:
        tables = read_tables(data)
    except BadInput as e:
        raise BadInput(e.message, path=path, offset=e.offset, kind=e.kind) from None
    sections = tuple(
        Section(s.name, s.address, s.data, bool(s.flags & SHF_EXECINSTR))
        for s in tables.sections
        if s.flags & SHF_ALLOC and s.type != 0 and not s.nobits
    )
    symbols = {
        (s.name, s.value): Symbol(s.name, s.value, s.size, s.type, s.bind == "LOCAL")
        for s in tables.symbols
        if s.name and not s.undefined and not s.absolute
    }
    flags = struct.unpack_from("<I", data, 48)[0]
    return Image(
        EM_AMDGPU, data[7], data[8], flags, False, sections, tuple(symbols.values()), tables.notes,
        tables.segments, tables,
    )  # fmt: skip
