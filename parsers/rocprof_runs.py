"""What rocprofv3 writes beside its traces: which kernels ran how, and on what.

Three formats say the same: CSV tables (``*_kernel_trace.csv``,
``*_agent_info.csv``), ``*_results.json`` and ``*_results.db`` (rocpd, a SQLite
file). They add facts to a trace; what one lacks is absent.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isaprof.errors import BadInput
from isaprof.parsers.jsonfile import load_json
from isaprof.parsers.pmc import Complaints, Counted, count_of

_MAX_FIELD = 1 << 24
_KIND = "bad_results"
_HINT = "copy the file again; the traces beside it can be read without it"
#: facts of a GPU that are kept, by their names in the CSV table
DEVICE_KEYS = (
    "name", "product_name", "cu_count", "simd_count", "num_xcc", "max_waves_per_simd", "wave_front_size",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One dispatch. ``grid`` counts workgroups, ``workgroup`` threads."""

    number: int
    agent: int | None = None  #: agent handle, as in the names of .att files
    kernel: str | None = None
    grid: tuple[int, int, int] | None = None
    workgroup: tuple[int, int, int] | None = None
    duration_us: float | None = None


@dataclass(slots=True)
class Runs:
    """Facts of one run of the profiler."""

    runs: list[Run] = field(default_factory=list)
    devices: list[dict[str, Any]] = field(default_factory=list)  #: GPUs, keys of :data:`DEVICE_KEYS`
    bases: dict[int, int] = field(default_factory=dict)  #: code object id -> address its vaddr 0 has
    att_files: list[str] = field(default_factory=list)  #: .att files that the run says it wrote
    counted: list[Counted] = field(default_factory=list)  #: counters of whole dispatches
    wrong: list[str] = field(default_factory=list)  #: what of the counters is left out, and why

    def add(self, other: Runs) -> None:
        """Facts of a file beside the first; what is known already stays."""
        self.runs.extend(other.runs)
        self.devices.extend(d for d in other.devices if d not in self.devices)
        self.bases = {**other.bases, **self.bases}
        self.att_files.extend(f for f in other.att_files if f not in self.att_files)
        self.counted.extend(other.counted)
        self.wrong.extend(other.wrong)

    def of(self, number: int, agent: int | None = None) -> list[Run]:
        """The runs with a dispatch number; those of another agent only where none is of this one."""
        same = [r for r in self.runs if r.number == number]
        return [r for r in same if r.agent == agent] or [r for r in same if r.agent is None] or same


# -- CSV ------------------------------------------------------------------------
def read_tables(kernel_trace: Iterable[Path], agent_info: Iterable[Path]) -> Runs:
    """The CSV tables. Unreadable ones are as good as absent: they only add facts."""
    out = Runs()
    for row in _rows(kernel_trace):
        number = _int(row.get("Dispatch_Id"))
        if number is not None:
            work, grid = (
                [_int(row.get(f"{what}_Size_{a}")) for a in "XYZ"] for what in ("Workgroup", "Grid")
            )
            begin, end = _int(row.get("Start_Timestamp")), _int(row.get("End_Timestamp"))
            out.runs.append(make_run(number, None, row.get("Kernel_Name"), grid, work, begin, end))
    for row in _rows(agent_info):
        if row.get("Agent_Type") == "GPU":
            out.devices.append(_device({k.lower(): v for k, v in row.items() if isinstance(k, str)}))
    return out


def _rows(paths: Iterable[Path]) -> Iterator[dict[str, str]]:
    csv.field_size_limit(_MAX_FIELD)
    for path in paths:
        try:
            with path.open(newline="", encoding="utf-8", errors="replace") as f:
                yield from csv.DictReader(f)
        except (OSError, csv.Error):
            continue


def make_run(
    number: int,
    agent: int | None,
    kernel: Any,
    grid_threads: list[int | None],
    workgroup: list[int | None],
    begin: int | None,
    end: int | None,
) -> Run:
    """A run from what all formats hold: the grid in threads, times in nanoseconds."""
    sizes = [n for n in (*grid_threads, *workgroup) if n is not None and 0 < n < 1 << 32]
    grid = work = None
    if len(sizes) == 6:
        gx, gy, gz, wx, wy, wz = sizes
        grid, work = (-(-gx // wx), -(-gy // wy), -(-gz // wz)), (wx, wy, wz)
    duration = (end - begin) / 1000 if begin is not None and end is not None and end >= begin else None
    return Run(number, agent, kernel if isinstance(kernel, str) and kernel else None, grid, work, duration)


def _device(found: Mapping[str, Any]) -> dict[str, Any]:
    """The kept facts of a GPU; numbers as numbers, empty texts left out."""
    out: dict[str, Any] = {}
    for key in DEVICE_KEYS:
        value = found.get(key)
        if isinstance(value, str) and value.isdecimal():
            value = _int(value)
        if value not in (None, "") and isinstance(value, int | str) and not isinstance(value, bool):
            out[key] = value
    return out


def _int(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < 1 << 63 else None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return None


# -- JSON -----------------------------------------------------------------------
def read_results(path: Path) -> Runs:
    """``*_results.json``. BadInput (``bad_results``) where it is none."""
    body = load_json(path, kind=_KIND, hint=_HINT)
    top = body.get("rocprofiler-sdk-tool") if isinstance(body, dict) else None
    tools = top if isinstance(top, list) else [top]
    out = Runs()
    for tool in tools:
        if not isinstance(tool, dict):
            raise BadInput('no "rocprofiler-sdk-tool" object', path=path, kind=_KIND, hint=_HINT)
        out.add(_tool(tool, path.name))
    return out


def _tool(tool: dict[str, Any], file: str) -> Runs:
    out = Runs()
    names: dict[int, str] = {}
    for k in _objects(tool.get("kernel_symbols")):
        name = k.get("formatted_kernel_name") or k.get("kernel_name")  # the first is what the CSV table has
        if (ident := _int(k.get("kernel_id"))) is not None and isinstance(name, str):
            names[ident] = name.removesuffix(".kd")
    records = tool.get("buffer_records")
    for d in _objects(records.get("kernel_dispatch") if isinstance(records, dict) else None):
        info = d.get("dispatch_info")
        if not isinstance(info, dict) or (number := _int(info.get("dispatch_id"))) is None:
            continue
        work, grid = (_xyz(info.get(key)) for key in ("workgroup_size", "grid_size"))
        name = names.get(_int(info.get("kernel_id")) or 0)
        begin, end = _int(d.get("start_timestamp")), _int(d.get("end_timestamp"))
        out.runs.append(make_run(number, _handle(info.get("agent_id")), name, grid, work, begin, end))
    for a in _objects(tool.get("agents")):
        if str(a.get("name", "")).startswith("gfx"):
            out.devices.append(_device(a))
    for c in _objects(tool.get("code_objects")):
        ident, base = _int(c.get("code_object_id")), _int(c.get("load_delta"))
        base = _int(c.get("load_base")) if base is None else base
        if ident is not None and base is not None:
            out.bases[ident] = base
    _counters(tool, names, file, out)
    strings = tool.get("strings")
    out.att_files = sorted(_att(strings.get("att_filenames") if isinstance(strings, dict) else None))
    return out


def _counters(tool: dict[str, Any], kernels: dict[int, str], file: str, out: Runs) -> None:
    """Add the counters of ``callback_records``: a value for each unit, summed for each dispatch."""
    records = tool.get("callback_records")
    collected = _objects(records.get("counter_collection") if isinstance(records, dict) else None)
    counters = {_handle(c.get("id")): str(c.get("name")) for c in _objects(tool.get("counters"))}
    wrong = Complaints()
    for i, entry in enumerate(collected):
        where = f"counter_collection[{i}]"
        data = entry.get("dispatch_data")
        info = data.get("dispatch_info") if isinstance(data, dict) else None
        if not isinstance(info, dict) or (number := _int(info.get("dispatch_id"))) is None:
            wrong.add(f"{where} names no dispatch")
            continue
        sums: dict[str, float] = {}
        for record in _objects(entry.get("records")):
            name = counters.get(_handle(record.get("counter_id")))
            value = count_of(record.get("value"))
            if name is None or value is None:
                wrong.add(f"{where} has a record without {'a known counter' if name is None else 'a count'}")
                continue
            sums[name] = sums.get(name, 0.0) + value
        kernel = kernels.get(_int(info.get("kernel_id")) or 0)
        out.counted.extend(Counted(number, kernel, name, value, file) for name, value in sums.items())
    if wrong:
        out.wrong.append(f"{file}: {wrong}")


def _objects(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _xyz(value: Any) -> list[int | None]:
    return [_int(value.get(a)) for a in "xyz"] if isinstance(value, dict) else [None] * 3


def _handle(value: Any) -> int | None:
    return _int(value.get("handle")) if isinstance(value, dict) else _int(value)


def _att(value: Any) -> set[str]:
    """Names of .att files, however they are nested: releases differ."""
    if isinstance(value, str):
        return {Path(value).name} if value.endswith(".att") else set()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for item in items for name in _att(item)}


__all__ = ["DEVICE_KEYS", "Run", "Runs", "make_run", "read_results", "read_tables"]
