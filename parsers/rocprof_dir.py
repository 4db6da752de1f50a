"""Finding the parts of a rocprofv3 ``--att`` output directory.

File names are parsed from the right, since their prefix is free:
``<prefix>_<agent>_shader_engine_<se>_<dispatch>.att``,
``<prefix>_<gfx>_code_object_id_<id>.out``,
``ui_output_agent_<agent>_dispatch_<dispatch>/`` and
``stats_ui_output_agent_<agent>_dispatch_<dispatch>.csv`` (ROCm/rocm-systems,
projects/rocprofiler-sdk, att-tool).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from isaprof.errors import BadInput
from isaprof.parsers.stats_csv import NAME as STATS

#: names of raw buffers
ATT = re.compile(r"(?P<prefix>.*?)_?(?P<agent>\d+)_shader_engine_(?P<se>\d+)_(?P<dispatch>\d+)\.att$")
_OBJECT = re.compile(r"(?P<prefix>.*?)_?(?P<arch>gfx[0-9a-f]+)_code_object_id_(?P<id>\d+)\.out$")
_UI = re.compile(r"ui_output_agent_(?P<agent>\d+)_dispatch_(?P<dispatch>\d+)$")
#: what device mode writes: a trace of no dispatch in particular
_DEVICE = re.compile(r"(?P<prefix>.*?)_?(?P<agent>\d+)_shader_engine_(?P<se>\d+)\.att$")
#: tables beside the traces, by the ends of their names
_TABLES = {
    "agent_info": "agent_info.csv", "kernel_trace": "kernel_trace.csv", "results": "results.json",
    "rocpd": "results.db", "counters": "counter_collection.csv",
}  # fmt: skip
#: how deep below the given directory rocprofv3 puts its files (host name, pass_<n>, ...)
_DEPTH = 3
_MAX_ENTRIES = 200_000


@dataclass(slots=True)
class Dispatch:
    """What a directory offers for one dispatch of one agent."""

    agent: int
    number: int
    att: dict[int, Path] = field(default_factory=dict)  #: shader engine -> raw buffer
    ui: Path | None = None
    stats: Path | None = None  #: totals of each instruction


@dataclass(slots=True)
class RocprofDirectory:
    path: Path
    dispatches: list[Dispatch] = field(default_factory=list)
    objects: dict[int, Path] = field(default_factory=dict)  #: code object id -> file
    archs: set[str] = field(default_factory=set)  #: from the names of the code object files
    tables: dict[str, list[Path]] = field(default_factory=dict)  #: by the keys of :data:`_TABLES`
    device_traces: list[Path] = field(default_factory=list)  #: .att files that name no dispatch


def of_file(path: Path) -> RocprofDirectory | None:
    """What lies around one file of rocprofv3's output, with no other dispatch than the file's own.

    None where the name is none of rocprofv3's.
    """
    name = path.name
    if name in ("code.json", "filenames.json", "occupancy.json") and is_ui_output(path.parent):
        return scan(path.parent)
    stats, att = STATS.match(name), ATT.match(name)
    results = name.endswith(("results.json", ".db", "kernel_trace.csv", "counter_collection.csv"))
    if not (stats or att or results):
        return None
    if stats and not any(p != path for p in _listed(path.parent)):
        return _only_stats(path, stats)
    out = scan(path.parent)
    for m in (stats, att):
        if m:
            key = (int(m["agent"]), int(m["dispatch"]))
            out.dispatches = [d for d in out.dispatches if (d.agent, d.number) == key]
    if stats:  # the totals were asked for, not the waves beside them
        return _only_stats(path, stats, out)
    out.path = path
    return out


def _only_stats(path: Path, name: re.Match[str], around: RocprofDirectory | None = None) -> RocprofDirectory:
    out = around or RocprofDirectory(path)
    out.path = path
    out.dispatches = [Dispatch(int(name["agent"]), int(name["dispatch"]), stats=path)]
    return out


def _listed(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except OSError:
        return []


def is_ui_output(path: Path) -> bool:
    """Whether ``path`` is itself a ``ui_output_*`` directory."""
    return path.is_dir() and ((path / "filenames.json").is_file() or (path / "code.json").is_file())


def scan(path: Path) -> RocprofDirectory:
    """Everything below ``path`` that belongs to rocprofv3's thread traces.

    Raises BadInput (kind ``several_runs``) where two runs of the same dispatch
    number lie in one tree: which file belongs to which could only be guessed.
    """
    out = RocprofDirectory(path)
    found: dict[tuple[int, int], Dispatch] = {}
    if is_ui_output(path):
        agent, number = _ui_name(path)
        found[agent, number] = Dispatch(agent, number, ui=path)
        for base in (path.parent, *_folders(path.parent)):
            _collect(base, out, found, only=(agent, number))
    else:
        for base, _ in _walk(path, _DEPTH):
            _collect(base, out, found)
    out.dispatches = sorted(found.values(), key=lambda d: (d.number, d.agent))
    return out


def _ui_name(path: Path) -> tuple[int, int]:
    m = _UI.search(path.resolve().name)
    return (int(m["agent"]), int(m["dispatch"])) if m else (0, 0)


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(p for p in path.iterdir() if p.is_dir() and not _UI.match(p.name))
    except OSError:
        return []


def _walk(path: Path, depth: int) -> Iterator[tuple[Path, int]]:
    yield path, depth
    if depth:
        for p in _folders(path):
            if not p.is_symlink():
                yield from _walk(p, depth - 1)


def _collect(
    base: Path,
    out: RocprofDirectory,
    found: dict[tuple[int, int], Dispatch],
    only: tuple[int, int] | None = None,
) -> None:
    try:
        names = sorted(p.name for p in base.iterdir())
    except OSError as e:
        raise BadInput(f"cannot read: {e.strerror or e}", path=base, kind="unreadable") from None
    lenient = only is not None  # files beside a directory that was named itself
    for name in names[:_MAX_ENTRIES]:
        p = base / name
        if m := ATT.match(name):
            key = (int(m["agent"]), int(m["dispatch"]))
            if only in (None, key):
                att = found.setdefault(key, Dispatch(*key)).att
                _once(
                    att.setdefault(int(m["se"]), p),
                    p,
                    f"engine {m['se']} of dispatch {key[1]}",
                    lenient=lenient,
                )
        elif m := _OBJECT.match(name):
            out.archs.add(m["arch"])
            _once(out.objects.setdefault(int(m["id"]), p), p, f"code object {m['id']}", lenient=lenient)
        elif _DEVICE.match(name):
            out.device_traces.append(p)
        elif m := STATS.match(name):
            key = (int(m["agent"]), int(m["dispatch"]))
            if only in (None, key):
                d = found.setdefault(key, Dispatch(*key))
                d.stats = d.stats or p
                _once(d.stats, p, f"totals of dispatch {key[1]}", lenient=lenient)
        elif (m := _UI.match(name)) and p.is_dir():
            key = (int(m["agent"]), int(m["dispatch"]))
            if only is None:
                d = found.setdefault(key, Dispatch(*key))
                d.ui = d.ui or p
                _once(d.ui, p, f"dispatch {key[1]}")
        else:
            for table, ending in _TABLES.items():
                if name.endswith(ending):
                    out.tables.setdefault(table, []).append(p)


def _once(first: Path, second: Path, what: str, *, lenient: bool = False) -> None:
    if first != second and not lenient:
        raise BadInput(
            f"two files for {what}: {first} and {second}",
            kind="several_runs",
            hint=f"isaprof import {quote(str(second.parent))}",
        )
