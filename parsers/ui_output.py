"""``ui_output_agent_*_dispatch_*``: the JSON that rocprofv3's decoder writes.

Read are code.json, filenames.json, the wave files it names, occupancy.json and
the optional files (perf counters, realtime, shader data), in the layouts of
ROCm 7.0 (3.0.0) to 2026: rows may have more columns than named here, object
keys may be unknown (ROCm/rocm-systems, projects/rocprofiler-sdk att-tool).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput
from isaprof.parsers.jsonfile import INT_MAX, Fields, inside, load_json
from isaprof.parsers.sqtt.model import Cat, State
from isaprof.parsers.untraced import nothing_attributed
from isaprof.parsers.wave_json import Rows, WaveFile, int_rows, open_wave

I64 = NDArray[np.int64]
_KIND = "bad_ui_output"
_HINT = "copy the directory again, or decode the raw .att files of the run with --decoder isaprof"
_INT32 = (1 << 31) - 1
_MAX = {"se": 1024, "simd": 4, "slot": 64}
#: rows of waves that are kept in memory, bytes; more are read from their files again when needed
KEPT = 1 << 26
#: column ServiceType of code.json: 0 thread trace, others PC sampling
_SERVICE = 10


@dataclass(frozen=True, slots=True)
class CodeRow:
    """One instruction of code.json. ``line``: execution line number, the key of wave files."""

    line: int
    codeobj: int
    vaddr: int
    text: str
    label: str | None
    source: str | None
    hits: int
    latency: int
    stall: int
    idle: int


@dataclass(slots=True)
class UiWave:
    """One traced wave. Times are cycles of its engine.

    ``rows`` gives its instructions as arrays of the columns time, category,
    stall, duration, line (0 = unknown address), ``timeline`` its states as
    arrays of state, duration: piece by piece, again on every call.
    """

    se: int
    cu: int
    simd: int
    slot: int
    begin: int
    end: int
    instructions: int  #: number of rows
    unknown: int  #: rows without a line
    rows: Rows
    timeline: Rows


@dataclass(slots=True)
class UiOutput:
    path: Path
    gfxip: int
    version: str
    counter_names: list[str]
    code: list[CodeRow]
    waves: list[UiWave] = field(default_factory=list)
    #: engine -> rows of time, cu, simd, slot, start, kernel id
    occupancy: dict[int, I64] = field(default_factory=dict)
    kernels: dict[int, str] = field(default_factory=dict)  #: kernel id -> name or "<codeobj> / 0x<addr>"
    #: engine -> rows of time, c0, c1, c2, c3, cu, bank
    counters: dict[int, I64] = field(default_factory=dict)
    realtime: dict[int, I64] = field(default_factory=dict)  #: engine -> rows of shader clock, realtime
    realtime_hz: int | None = None
    shaderdata: dict[int, I64] = field(default_factory=dict)  #: engine -> rows of time, value
    #: engine -> rows of time, duration, category: memory instructions of the other SIMDs (gfx11 and later)
    other_simd: dict[int, I64] = field(default_factory=dict)
    workgroup: tuple[int, int, int] | None = None  #: threads, where dispatch events agree on it
    has_totals: bool = True  #: the code rows carry sums
    other_simd_known: bool = False  #: the writer knows other_simd files: decoder 0.1.5 or later


def read_ui_output(path: Path, progress: Callable[[int, int], None] | None = None) -> UiOutput:
    """Read the directory ``path``.

    Raises BadInput: ``missing_file`` (a file named by filenames.json or an
    index file is absent), ``code_null``, ``target_cu_empty`` or
    ``wrong_se_mask`` (the decoder attributed nothing), ``pc_sampling`` (no
    thread trace) or ``bad_ui_output`` (values of the wrong type), naming file
    and key.
    """
    file = path / "filenames.json"
    if not file.is_file():
        raise BadInput(
            "no filenames.json: the ui_output directory is incomplete",
            path=path,
            kind="missing_file",
            hint="copy the whole ui_output_* directory, or import the raw .att files with --decoder isaprof",
        )
    f = Fields(load_json(file, kind=_KIND, hint=_HINT), file, "", kind=_KIND, hint=_HINT)
    names = f.optional("counter_names", list) or []
    if not all(isinstance(n, str) for n in names):
        raise f.bad("counter_names must hold strings")
    version = f.value.get("version")
    if f.value.get("thread_trace") is False:
        raise _pc_sampling(file)
    wave_files = list(_wave_files(f))
    out = UiOutput(
        path,
        f.need_integer("gfxip", low=0, high=99),
        version if isinstance(version, str) else "",
        [n.split(":", 1)[0] for n in names],
        [],
        other_simd_known="other_simd_filenames" in f.value,
    )
    _read_occupancy(path / "occupancy.json", out)
    out.code = _read_code(path / "code.json", out, traced=bool(wave_files))
    if not wave_files:
        what = "names no wave with instructions: "
        raise nothing_attributed(file, out.occupancy, traced=False, raw=path.parent, what=what)
    lines = np.unique(np.array([r.line for r in out.code], np.int64))
    kept = 0
    for n, (se, simd, slot, name) in enumerate(wave_files):
        wave, size = _read_wave(file, (se, simd, slot), name, lines, keep=kept < KEPT)
        kept += size
        out.waves.append(wave)
        if progress is not None:
            progress(n + 1, len(wave_files))
    _read_optional(path, f, out)
    return out


def _pc_sampling(path: Path) -> BadInput:
    return BadInput(
        "holds PC sampling results, no thread trace",
        path=path,
        kind="pc_sampling",
        hint="rocprofv3 --att -d DIR -- APP   records a thread trace",
    )


def _read_code(path: Path, out: UiOutput, *, traced: bool) -> list[CodeRow]:
    if not path.is_file():
        raise BadInput("no such file", path=path, kind="missing_file", hint=f"ls {path.parent}")
    f = Fields(load_json(path, kind=_KIND, hint=_HINT), path, "", kind=_KIND, hint=_HINT)
    if f.value.get("code") is None:
        raise nothing_attributed(path, out.occupancy, traced=traced, raw=path.parent.parent)
    rows: list[CodeRow] = []
    label: str | None = None
    sampled = 0
    for i, row in enumerate(f.need("code", list)):
        where = f"code[{i}]"
        if not isinstance(row, list) or len(row) < 10:
            raise f.bad(f"{where} must be a list of at least 10 columns")
        text, source = row[0], row[3]
        if not isinstance(text, str) or not (source is None or isinstance(source, str)):
            raise f.bad(f"{where}: columns ISA and Source must be strings")
        if text.lstrip().startswith(";"):
            label = text.lstrip("; \t").strip() or None
            continue
        line, codeobj, vaddr, hits, latency, stall, idle = (
            f.check_int(row[k], f"{where}[{k}]", -1, INT_MAX if k > 4 else _INT32)
            for k in (2, 4, 5, 6, 7, 8, 9)
        )
        rows.append(CodeRow(line, codeobj, vaddr, text, label, source or None, hits, latency, stall, idle))
        label = None
        sampled += len(row) > _SERVICE and row[_SERVICE] in (1, 2)
    if rows and sampled == len(rows):
        raise _pc_sampling(path)
    if len({r.line for r in rows}) != len(rows):
        raise f.bad("two rows have the same LineNumber")
    return rows


def _wave_files(f: Fields) -> Iterator[tuple[int, int, int, str]]:
    """(se, simd, slot, file name) of every wave, in numeric order."""
    tree = f.optional("wave_filenames", dict) or {}
    for se, simds in _numbered(f, tree, "se"):
        for simd, slots in _numbered(f, simds, "simd"):
            for slot, waves in _numbered(f, slots, "slot"):
                for _, entry in _numbered(f, waves, "id"):
                    if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
                        raise f.bad("wave_filenames: an entry must be [file name, begin, end]")
                    yield se, simd, slot, entry[0]


def _numbered(f: Fields, value: Any, level: str) -> list[tuple[int, Any]]:
    if not isinstance(value, dict):
        raise f.bad(f"wave_filenames: level {level} must be an object")
    out = []
    for key, item in value.items():
        if not key.isascii() or not key.isdecimal() or len(key) > 9 or int(key) >= _MAX.get(level, 1 << 31):
            raise f.bad(f"wave_filenames: {key[:40]!r} is no {level} number")
        out.append((int(key), item))
    return sorted(out)


def _read_wave(
    index: Path, at: tuple[int, int, int], name: str, lines: I64, *, keep: bool
) -> tuple[UiWave, int]:
    """One wave, all its rows checked, and how many bytes of rows it keeps in memory."""
    path = inside(index, name, lambda m: BadInput(m, path=index, kind=_KIND, hint=_HINT))
    if not path.is_file():
        raise BadInput(
            f"no such file, but {index.name} names it",
            path=path,
            kind="missing_file",
            hint=f"ls {path.parent}",
        )
    wave = open_wave(path, kind=_KIND, hint=_HINT)
    w = Fields(wave.top.need("wave", dict), path, "wave", kind=_KIND, hint=_HINT)
    begin, end = w.need_integer("begin"), w.need_integer("end")
    if end < begin:
        raise w.bad(f"wave.end = {end} is before wave.begin = {begin}")
    se, simd, slot = at
    where = (se, w.need_integer("cu", low=0, high=1 << 16), simd, slot, begin, end)
    rows_held, states_held = [], []
    count = unknown = 0
    for rows in wave.instructions():
        for column, high in ((1, len(Cat) - 1), (2, INT_MAX), (3, INT_MAX)):
            _check_range(w, rows[:, column], 0, high, f"wave.instructions column {column}")
        strange = rows[(rows[:, 4] > 0) & ~np.isin(rows[:, 4], lines), 4]
        if len(strange):
            raise w.bad(f"wave.instructions names line {strange[0]}, which code.json does not have")
        count += len(rows)
        unknown += int((rows[:, 4] <= 0).sum())
        if keep:
            rows_held.append(rows)
            keep = count * rows.itemsize * 5 <= KEPT
    if not keep:
        rows_held.clear()
    for rows in wave.timeline():
        _check_range(w, rows[:, 0], 0, len(State) - 1, "wave.timeline state")
        _check_range(w, rows[:, 1], 0, INT_MAX, "wave.timeline duration")
        if keep:
            states_held.append(rows)
    if keep:
        size = sum(x.nbytes for x in (*rows_held, *states_held))
        return UiWave(*where, count, unknown, lambda: iter(rows_held), lambda: iter(states_held)), size
    if wave.large:
        return UiWave(*where, count, unknown, wave.instructions, wave.timeline), 0

    def again() -> WaveFile:
        return open_wave(path, kind=_KIND, hint=_HINT)

    return UiWave(*where, count, unknown, lambda: again().instructions(), lambda: again().timeline()), 0


def _check_range(f: Fields, column: I64, low: int, high: int, name: str) -> None:
    wrong = (column < low) | (column > high)
    if wrong.any():
        i = int(wrong.argmax())
        raise f.bad(f"{name}, row {i}: {int(column[i])} is outside {low}..{high}")


def _read_occupancy(path: Path, out: UiOutput) -> None:
    if not path.is_file():
        return
    f = Fields(load_json(path, kind=_KIND, hint=_HINT), path, "", kind=_KIND, hint=_HINT)
    for key, value in f.value.items():
        if key.isascii() and key.isdecimal() and len(key) < 6:
            if not isinstance(value, list):
                raise f.bad(f"{key} must be a list of occupancy rows")
            rows = int_rows(value, 6, f, key)
            for column in range(1, 6):
                _check_range(f, rows[:, column], 0, _INT32, f"{key} column {column}")
            out.occupancy[int(key)] = rows
    for key, value in (f.optional("dispatches", dict) or {}).items():
        if key.isascii() and key.isdecimal() and len(key) < 10 and isinstance(value, str):
            out.kernels[int(key)] = value
    sizes = set()
    for events in (f.optional("events", dict) or {}).values():
        for e in events if isinstance(events, list) else ():
            if isinstance(e, dict) and e.get("kind") == "dispatch":
                sizes.add(tuple(n if isinstance(n := e.get(f"thread_dim_{a}"), int) else 0 for a in "xyz"))
    if len(sizes) == 1:
        x, y, z = sizes.pop()
        out.workgroup = (x, y, z) if all(0 < n <= 1 << 16 for n in (x, y, z)) else None


def _read_optional(path: Path, f: Fields, out: UiOutput) -> None:
    for file in sorted(path.glob("se*_perfcounter.json")):
        se = file.name[2:].split("_", 1)[0]
        if se.isascii() and se.isdecimal() and len(se) < 6:
            g = Fields(load_json(file, kind=_KIND, hint=_HINT), file, "", kind=_KIND, hint=_HINT)
            rows = int_rows(g.optional("data", list), 7, g, "data")
            _check_range(g, rows[:, 5], 0, _INT32, "data column 5")
            _check_range(g, rows[:, 6], 0, 1, "data column 6")
            out.counters[int(se)] = rows
    file = path / "realtime.json"
    if file.is_file():
        g = Fields(load_json(file, kind=_KIND, hint=_HINT), file, "", kind=_KIND, hint=_HINT)
        meta = g.optional("metadata", dict)
        if meta is not None:
            out.realtime_hz = Fields(meta, file, "metadata", kind=_KIND, hint=_HINT).integer(
                "frequency", low=1
            )
        for key, value in g.value.items():
            number = key.removeprefix("SE")
            if key != number and number.isascii() and number.isdecimal() and isinstance(value, list):
                out.realtime[int(number)] = int_rows(value, 2, g, key)
    out.shaderdata = _by_engine(f, "shaderdata_filenames", "records", 2)
    out.other_simd = _by_engine(f, "other_simd_filenames", "instructions", 3)
    for rows in out.other_simd.values():
        _check_range(f, rows[:, 2], 0, len(Cat) - 1, "instructions column 2 of an other_simd file")


def _by_engine(f: Fields, key: str, records: str, columns: int) -> dict[int, I64]:
    """Rows of the files that ``key`` of filenames.json names for each engine."""
    out: dict[int, I64] = {}
    for se, entries in (f.optional(key, dict) or {}).items():
        if not (se.isascii() and se.isdecimal() and len(se) < 6 and isinstance(entries, list)):
            raise f.bad(f"{key} must be {{engine: [[file, begin, end], ...]}}")
        parts = []
        for entry in entries:
            if not isinstance(entry, list) or not entry or not isinstance(entry[0], str):
                raise f.bad(f"{key}: an entry must be [file, begin, end]")
            file = inside(f.path, entry[0], f.bad)
            g = Fields(load_json(file, kind=_KIND, hint=_HINT), file, "", kind=_KIND, hint=_HINT)
            parts.append(int_rows(g.optional(records, list), columns, g, records))
        if parts:
            out[int(se)] = np.concatenate(parts)
    return out


__all__ = ["CodeRow", "UiOutput", "UiWave", "read_ui_output"]
