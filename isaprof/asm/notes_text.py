"""Notes as text: the metadata as YAML, or byte by byte where YAML would not give the same bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isaprof.asm.metadata_text import to_yaml
from isaprof.codeobj.metadata import NT_AMDGPU_METADATA

#: written by the linker when asked to (--build-id), not part of the program
_GNU_BUILD_ID = ("GNU", 3)


def metadata_lines(metadata: Mapping[str, Any]) -> list[str]:
    return ["", "\t.amdgpu_metadata", *to_yaml(metadata).rstrip("\n").split("\n"), "\t.end_amdgpu_metadata"]


def raw_notes(notes: Sequence[tuple[str, int, bytes]], *, with_metadata: bool) -> list[str]:
    """Directives for the notes that ``.amdgpu_metadata`` does not make."""
    out: list[str] = []
    for owner, kind, payload in notes:
        if (owner, kind) == _GNU_BUILD_ID:
            continue
        if (owner, kind) == ("AMDGPU", NT_AMDGPU_METADATA) and not with_metadata:
            continue
        if not out:
            out += ["", '\t.section\t.note,"a",@note']
        name = owner.encode("ascii", "replace") + b"\0"
        out += [
            "\t.p2align\t2",
            f"\t.long\t{len(name)}, {len(payload)}, {kind}\t; note of {len(payload)} bytes, type {kind}",
            f"\t.ascii\t{_string(name)}",
            "\t.p2align\t2",
        ]
        out += [f"\t.ascii\t{_string(payload[i : i + 64])}" for i in range(0, len(payload), 64)]
        out.append("\t.p2align\t2")
    return out


def _string(data: bytes) -> str:
    """An assembler string of any bytes: printable ASCII as it is, the rest in octal."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in data) + '"'
