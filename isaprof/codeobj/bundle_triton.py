"""Triton's cache: a folder for each compiled variant, with ``<kernel>.hsaco`` and ``<kernel>.json``.

Sources: triton ``python/triton/runtime/cache.py`` and ``third_party/amd/backend``.
The metadata is what the launch needs beyond the object itself; the names and
types of the parameters stand in the intermediate form ``<kernel>.ttir``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isaprof.errors import BadInput

SUFFIX = ".hsaco"
MAX_FILES = 20_000  #: folder entries that are looked at
MAX_TEXT = 16 << 20  #: bytes of a metadata or .ttir file that are read
_SCRATCH = ("global_scratch_size", "profile_scratch_size")
_SIGNATURE = re.compile(r"tt\.func\s+public\s+@\"?(?P<name>[\w.$]+)\"?\((?P<args>[^\n]*)")
_PARAMETER = re.compile(r"%(?P<name>[A-Za-z_][\w$.-]*|\d+)\s*:\s*(?P<type>!tt\.ptr<[^<>,\s]+|[a-z]+\d+)")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter of the ``.ttir`` signature; ``pointee`` is set for pointers."""

    name: str
    type: str  #: ``ptr``, ``i32``, ``f32``, ...
    pointee: str | None = None


@dataclass(frozen=True, slots=True)
class TritonMetadata:
    """What ``<kernel>.json`` says about the launch. Sizes in bytes."""

    path: str
    name: str | None
    arch: str | None
    warp_size: int | None
    num_warps: int | None
    shared: int  #: dynamic LDS
    scratch: tuple[int, ...]  #: sizes of the scratch buffers this version of Triton appends as pointers
    cooperative: bool
    triton_version: str | None
    parameters: tuple[Parameter, ...] = ()  #: empty where there is no readable ``.ttir``

    @property
    def workgroup(self) -> tuple[int, int, int] | None:
        """Threads in x, y, z: warps in x."""
        if self.warp_size is None or self.num_warps is None:
            return None
        return self.warp_size * self.num_warps, 1, 1


def objects_in(folder: Path) -> list[Path]:
    """The ``.hsaco`` files of a variant's folder, or of all variants in a cache folder."""
    out, seen = [], 0
    try:
        for directory in (folder, *sorted(p for p in folder.iterdir() if p.is_dir())):
            for p in sorted(directory.iterdir()):
                seen += 1
                if seen > MAX_FILES:
                    raise BadInput(
                        f"more than {MAX_FILES} files", path=folder, kind="too_large",
                        hint="give the folder of one kernel variant",
                    )  # fmt: skip
                if p.suffix == SUFFIX and p.is_file():
                    out.append(p)
    except OSError as e:
        raise BadInput(f"cannot read: {e.strerror or e}", path=folder, kind="unreadable") from None
    return out


def metadata_of(hsaco: Path) -> TritonMetadata | None:
    """The metadata beside a ``.hsaco``; None where there is none or it is not Triton's."""
    path = hsaco.with_suffix(".json")
    text = _text(path)
    if text is None:
        return None
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or not ({"num_warps", "shared"} & raw.keys()):
        return None
    target = raw.get("target")
    target = target if isinstance(target, dict) else {}
    name = _str(raw.get("name"))
    return TritonMetadata(
        str(path),
        name,
        _str(raw.get("arch")) or _str(target.get("arch")),
        _int(raw.get("warp_size")) or _int(target.get("warp_size")),
        _int(raw.get("num_warps")),
        _int(raw.get("shared")) or 0,
        tuple(_int(raw[key]) or 0 for key in _SCRATCH if key in raw),
        raw.get("launch_cooperative_grid") is True,
        _str(raw.get("triton_version")),
        _parameters(_text(hsaco.with_suffix(".ttir")), name or hsaco.stem),
    )


def _text(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_TEXT:
            return None
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None


def _parameters(ttir: str | None, kernel: str) -> tuple[Parameter, ...]:
    for m in _SIGNATURE.finditer(ttir or ""):
        if m["name"] == kernel:
            return tuple(_parameter(p) for p in _PARAMETER.finditer(m["args"]))
    return ()


def _parameter(m: re.Match[str]) -> Parameter:
    kind = m["type"]
    if kind.startswith("!tt.ptr<"):
        return Parameter(m["name"], "ptr", kind.removeprefix("!tt.ptr<"))
    return Parameter(m["name"], kind)


def _str(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isprintable() and len(value) < 4096 else None


def _int(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 31 else None
