"""``capture.json``: its fields, and the check of one written by anybody."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isaprof.capture.model import Provenance
from isaprof.capture.schema import DAMAGED, REQUIRED_TABLES, TABLES
from isaprof.errors import BadInput


@dataclass(frozen=True, slots=True)
class Field:
    """A field of ``capture.json``; ``docs/capture.md`` lists these."""

    name: str
    type: str  #: "string", "integer", "number", "object" or "list"
    required: bool
    doc: str


FIELDS: tuple[Field, ...] = (
    Field("schema", "string", True, "`isaprof-capture`"),
    Field("schema_version", "integer", True, "1"),
    Field("provenance", "string", True, "`measured` (hardware trace) or `modelled` (simulator)"),
    Field("arch", "string", True, "architecture, for example `gfx950`"),
    Field("kernel", "object", True, "`name` (string, required); more about the kernel where known"),
    Field("tables", "object", True, "table name: `file` (inside the directory) and `rows`"),
    Field("code_objects", "list", False, "`id`, `file`; `name`, `sha256`, `load_base` where known"),
    Field("warnings", "list", False, "`kind`, `message`; `amount`, `unit`, `se` where known"),
    Field("tool", "object", False, "`name` and `version` of the program that wrote the capture"),
    Field("created", "string", False, "date and time of writing, ISO 8601"),
    Field("backend", "string", False, "what produced it: `simulator`, `sqtt`, `rocprofv3`, ..."),
    Field("generation", "string", False, "`gfx9`, `gfx10`, `gfx11`, `gfx12` or `gfx1250`"),
    Field("wave_size", "integer", False, "threads of a wave, 32 or 64"),
    Field("launch", "object", False, "shape, grid, workgroup, dynamic LDS, operands, as far as known"),
    Field("verification", "object", False, "output against reference: `verified`, errors, elements checked"),
    Field("coverage", "object", False, "how much of the launch the tables hold, and on what"),
    Field("model", "object", False, "simulator only: name, version, calibration of the timing model"),
    Field("decoder", "object", False, "traces only: name and version of the decoder"),
    Field("kernels", "list", False, "traces only: all kernels seen; `occupancy.kernel` counts in it"),
    Field("dispatch", "object", False, "traces only: which dispatch of the recording this is"),
    Field(
        "dispatch_counters",
        "object",
        False,
        "traces only: counters of the whole dispatch, on all units: `values` (name: number), "
        "`dispatch`, `files`",
    ),
    Field("device", "object", False, "traces only: the GPU, as far as the recording describes it"),
    Field("realtime_hz", "number", False, "traces only: clock of the values of `realtime` events, Hz"),
)

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "list": list,
}
_WARNING = {"kind": str, "message": str, "amount": int, "unit": str, "se": int}
_CODE_OBJECT = {"id": int, "file": str, "name": str, "sha256": str, "load_base": int}


def check_meta(meta: dict[str, Any], file: Path) -> None:
    """Raise BadInput unless ``meta`` has the documented fields and types.

    Afterwards every table entry has ``file`` and ``rows``, and no file name
    leaves the capture directory.
    """

    def need(ok: bool, what: str) -> None:
        if not ok:
            raise BadInput(f"damaged: {what}", path=file, kind="bad_capture", hint=DAMAGED)

    for f in FIELDS:
        value = meta.get(f.name)
        need(not f.required or value is not None, f'"{f.name}" is missing')
        need(value is None or _is(value, _TYPES[f.type]), f'"{f.name}" must be a JSON {f.type}')
        if value is None:
            meta.pop(f.name, None)
    need(meta["provenance"] in list(Provenance), '"provenance" must be measured or modelled')
    need(isinstance(meta["kernel"].get("name"), str), '"kernel" must have a "name"')
    for name in ("grid", "workgroup"):
        size = meta.get("launch", {}).get(name)
        need(size is None or _size(size), f'"launch" must have a "{name}" of three numbers')
    counted = meta.get("dispatch_counters")
    need(counted is None or _counters(counted), '"dispatch_counters" must have "values": name and number')
    for name, t in meta["tables"].items():
        need(_is(t, dict) and _file(t.get("file")), f'table {name} must have a "file" inside the capture')
        need(_is(t.get("rows"), int) and t["rows"] >= 0, f'table {name} must have its number of "rows"')
    for name in REQUIRED_TABLES:
        need(name in meta["tables"], f"table {name} is missing")
    for w in meta.get("warnings", ()):
        need(_record(w, _WARNING, 2) and set(w) <= set(_WARNING), f'"warnings" must hold {_names(_WARNING)}')
    for o in meta.get("code_objects", ()):
        need(
            _record(o, _CODE_OBJECT, 2) and _file(o["file"]),
            f'"code_objects" must hold {_names(_CODE_OBJECT)}',
        )
    ids = [o["id"] for o in meta.get("code_objects", ())]
    need(len(ids) == len(set(ids)), '"code_objects" must have different ids')
    meta["tables"] = {name: t for name, t in meta["tables"].items() if name in TABLES}


def _is(value: object, type_: type | tuple[type, ...]) -> bool:
    """isinstance, but a JSON true is no number."""
    return isinstance(value, type_) and not isinstance(value, bool)


def _record(value: object, fields: Mapping[str, type], required: int) -> bool:
    """An object with the first ``required`` fields, and the right types in all known ones."""
    if not isinstance(value, dict):
        return False
    present = all(value.get(name) is not None for name in list(fields)[:required])
    return present and all(value.get(n) is None or _is(value[n], t) for n, t in fields.items())


def _size(value: object) -> bool:
    """Three numbers of 0 to 32 bits (a damaged trace may say 0)."""
    if not isinstance(value, list) or len(value) != 3:
        return False
    return all(_is(x, int) and 0 <= x < 1 << 32 for x in value)


def _counters(value: dict[str, Any]) -> bool:
    """Counts by name, and the files they are from."""
    values, files = value.get("values"), value.get("files", [])
    if not isinstance(values, dict) or not isinstance(files, list) or not all(_is(f, str) for f in files):
        return False
    if not (value.get("dispatch") is None or _is(value["dispatch"], int)):
        return False
    return all(_is(v, (int, float)) and 0 <= v < math.inf for v in values.values())


def _names(fields: Mapping[str, object]) -> str:
    return "objects of " + ", ".join(fields)


def _file(name: object) -> bool:
    """A relative file name that stays inside the directory."""
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    return not Path(name).is_absolute() and ".." not in Path(name).parts


__all__ = ["FIELDS", "Field", "check_meta"]
