"""A quick look at what a bundle entry is: code object or not, target, kernel names.

Choosing among hundreds of objects needs no more than their headers and symbol
names; only the chosen one is read in full (:mod:`isaprof.codeobj.elf`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from isaprof.arch.targets import CODE_OBJECT_VERSION, EF_AMDGPU_MACH, EF_FEATURE_SETTING

_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_SHT_NOBITS = 8
_EM_AMDGPU = 224
CODE_OBJECT = "code object"


@dataclass(frozen=True, slots=True)
class Peek:
    """``payload`` says what the bytes are; the rest is of code objects (else None or empty)."""

    payload: str
    abi_version: int | None = None  #: EI_ABIVERSION
    code_object_version: int | None = None
    e_flags: int | None = None
    target: str | None = None  #: by the ELF header
    kernels: tuple[str, ...] = ()


def peek(data: bytes | memoryview) -> Peek:
    """What ``data`` is. Never raises: damage shows when the object itself is read."""
    head = bytes(data[:64])
    if head.startswith(b"BC\xc0\xde"):
        return Peek("LLVM bitcode")
    if head[:4] in (b"\x03\x02\x23\x07", b"\x07\x23\x02\x03"):
        return Peek("SPIR-V")
    if not head.startswith(b"\x7fELF"):
        return Peek("unknown data")
    if len(head) < 64 or head[4:6] != b"\x02\x01":
        return Peek("ELF file, not for AMD GPUs")
    if struct.unpack_from("<H", head, 18)[0] != _EM_AMDGPU:
        return Peek("ELF file, not for AMD GPUs")
    (flags,) = struct.unpack_from("<I", head, 48)
    abi = head[8]
    return Peek(
        CODE_OBJECT, abi, CODE_OBJECT_VERSION.get(abi), flags, _target(flags, abi), _kernel_names(data)
    )


def _target(flags: int, abi: int) -> str | None:
    name = EF_AMDGPU_MACH.get(flags & 0xFF)
    if name is None:
        return None
    if abi < 2:
        signs = {"sramecc": "+" if flags >> 9 & 1 else "", "xnack": "+" if flags >> 8 & 1 else ""}
    else:
        signs = {
            "sramecc": EF_FEATURE_SETTING[flags >> 10 & 3],
            "xnack": EF_FEATURE_SETTING[flags >> 8 & 3],
        }
    return name + "".join(f":{feature}{sign}" for feature, sign in signs.items() if sign)


def _kernel_names(data: bytes | memoryview) -> tuple[str, ...]:
    """Names of the descriptor symbols (``NAME.kd``), in symbol order, each once."""
    (shoff,) = struct.unpack_from("<Q", data, 40)
    entsize, count = struct.unpack_from("<HH", data, 58)
    if entsize != 64 or shoff + 64 * count > len(data):
        return ()
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + 64 * i) for i in range(count)]
    tables = sorted((h for h in heads if h[1] in (_SHT_DYNSYM, _SHT_SYMTAB)), key=lambda h: -h[1])
    names: dict[str, None] = {}
    for _, _, _, _, offset, size, link, _, _, _ in tables[:2]:
        if link >= count or offset + size > len(data):
            continue
        start, length = heads[link][4], heads[link][5]
        if heads[link][1] == _SHT_NOBITS or start + length > len(data):
            continue
        strings = bytes(data[start : start + length])
        for name, _, _, section, _, _ in struct.iter_unpack(
            "<IBBHQQ", data[offset : offset + size // 24 * 24]
        ):
            end = strings.find(b"\0", name)
            if section and end > 3 and end <= name + 4096 and strings[end - 3 : end] == b".kd":
                names[strings[name : end - 3].decode("utf-8", "replace")] = None
    return tuple(names)
