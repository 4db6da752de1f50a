"""The launcher spec: one kernel launch as plain JSON plus buffer files.

Written by :mod:`isaprof.backends.rocprofv3`, read by
:mod:`isaprof.backends.hip_launcher` in the process that rocprofv3 traces.
That process needs neither numpy nor the launch file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.errors import IsaprofError

if TYPE_CHECKING:
    from isaprof.launch.resolve import OperandBuffer, ResolvedLaunch

SCHEMA_NAME = "isaprof-launcher"
SCHEMA_VERSION = 1


#: buffers get made-up addresses this far apart to find where a kernarg holds them
_BASE, _SPACING, _STEP = 0x7000_0000_0000, 0x10_0000_0000, 0x10000


def relocations(launch: ResolvedLaunch) -> tuple[bytes, list[dict[str, Any]]]:
    """The kernarg segment with all buffers at 0, and where to add their addresses.

    Found by moving one buffer at a time and looking at what changes, so that
    addresses with an offset are found as well. Raises IsaprofError where a
    buffer's address is stored in another form than a 64-bit little-endian word.
    """
    names = [b.name for b in launch.operands]
    home = {name: _BASE + i * _SPACING for i, name in enumerate(names)}
    base = launch.kernarg(dict(home))
    image = bytearray(base)
    found = []
    for name in names:
        moved = launch.kernarg({**home, name: home[name] + _STEP})
        changed = {i for i, (a, b) in enumerate(zip(base, moved, strict=True)) if a != b}
        for offset in range(0, len(base) - 7, 4):
            word = int.from_bytes(base[offset : offset + 8], "little")
            if int.from_bytes(moved[offset : offset + 8], "little") - word == _STEP:
                found.append({"offset": offset, "buffer": name, "addend": word - home[name]})
                image[offset : offset + 8] = bytes(8)
                changed -= set(range(offset, offset + 8))
        if changed:
            raise IsaprofError(
                f"the kernarg bytes {sorted(changed)} depend on the address of {name!r} in another form than "
                "a 64-bit pointer: this launch cannot be described to the HIP launcher",
                kind="unsupported_kernarg",
            )
    return bytes(image), sorted(found, key=lambda r: int(r["offset"]))


def kernarg(spec: Mapping[str, Any], addresses: Mapping[str, int]) -> bytes:
    """The kernarg segment of ``spec`` for buffers at ``addresses``."""
    image = bytearray.fromhex(spec["kernarg"]["bytes"])
    for r in spec["kernarg"]["relocations"]:
        value = addresses[r["buffer"]] + r["addend"]
        image[r["offset"] : r["offset"] + 8] = value.to_bytes(8, "little")
    return bytes(image)


def build(
    *,
    kernel: str,
    code_object: Path,
    sha256: str,
    arch: str,
    launch: ResolvedLaunch,
    warmup: int,
    iterations: int,
) -> dict[str, Any]:
    """The spec as a JSON-able object.

    Paths of buffers are relative to the directory the spec is written to. A
    buffer whose bytes are all equal is described by that byte, without a file.
    """
    image, relocs = relocations(launch)
    return {
        "schema": SCHEMA_NAME,
        "schema_version": SCHEMA_VERSION,
        "kernel": kernel,
        "code_object": {
            "path": str(code_object.resolve()),
            "sha256": sha256,
            "arch": arch,
        },
        "grid": [int(n) for n in launch.grid],
        "workgroup": [int(n) for n in launch.workgroup],
        "dynamic_lds": int(launch.dynamic_lds),
        "kernarg": {"size": len(image), "bytes": image.hex(), "relocations": relocs},
        "buffers": [_buffer(i, b) for i, b in enumerate(launch.operands)],
        "warmup": warmup,
        "iterations": iterations,
    }


def _buffer(index: int, buffer: OperandBuffer) -> dict[str, Any]:
    data = buffer.data.tobytes()
    stem = f"{index}-" + "".join(c if c.isalnum() else "_" for c in buffer.name)
    entry: dict[str, Any] = {"name": buffer.name, "role": buffer.role, "size": len(data)}
    if data and data.count(data[0]) == len(data):
        entry["fill"] = data[0]
    else:
        entry["file"] = f"buffers/{stem}.bin"
        entry["sha256"] = hashlib.sha256(data).hexdigest()
    if buffer.role in ("output", "inout"):
        entry["output"] = f"outputs/{stem}.bin"
    return entry


def write_buffers(spec: Mapping[str, Any], launch: ResolvedLaunch, directory: Path) -> None:
    """Write the buffer files that ``spec`` names under ``directory``."""
    (directory / "buffers").mkdir(parents=True, exist_ok=True)
    (directory / "outputs").mkdir(parents=True, exist_ok=True)
    for entry, buffer in zip(spec["buffers"], launch.operands, strict=True):
        if "file" in entry:
            (directory / entry["file"]).write_bytes(buffer.data.tobytes())
