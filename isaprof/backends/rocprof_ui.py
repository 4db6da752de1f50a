"""A ``ui_output_*`` directory (AMD's own decode) becomes a Capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from isaprof import arch as tables_of
from isaprof.backends.frames import CodeLine, code_frame, frame, rows_frame
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.backends.sqtt import LoadedCode
from isaprof.capture.model import CodeObjectRef, Warning_
from isaprof.capture.schema import TABLES
from isaprof.capture.stream import Streamed
from isaprof.capture.tables import RowGroups
from isaprof.errors import BadInput
from isaprof.isa.decode import decode_lines
from isaprof.parsers.sqtt.model import Cat, State
from isaprof.parsers.ui_output import CodeRow, UiOutput, UiWave
from isaprof.parsers.untraced import count_units, populated

_CATEGORIES = pd.Index([c.name for c in Cat])
_STATES = pd.Index([s.name for s in State])
#: tables of more rows than this are handed on in pieces, of about so many rows each
PIECE = 1 << 20
#: wave of the tables: (se, cu, simd, slot, begin, end or None, traced wave or None, start seen)
_Row = tuple[int, int, int, int, int, int | None, UiWave | None, bool]


def assemble_ui(
    ui: UiOutput,
    target: str,
    objects: Sequence[LoadedCode] = (),
    *,
    dispatch: dict[str, Any],
    launch: dict[str, Any],
    device: dict[str, Any],
    warnings: Sequence[Warning_] = (),
    backend: str = "rocprofv3-ui",
    progress: Progress = no_progress,
) -> RawCapture:
    """Tables of one decoded dispatch.

    ``objects`` are the code object files found beside the directory: where one
    has the id of a code row, it adds machine code, sizes and the wave size. What
    the format does not carry is null.
    """
    if tables_of.generation(target) not in generation_names(ui):
        raise BadInput(
            f"filenames.json says gfxip {ui.gfxip}, but the code object is for {target}",
            path=ui.path,
            kind="arch_mismatch",
            hint="give the right target with --arch",
        )
    lines, number = code_lines(ui.code, target, objects)
    rows = _waves(ui)
    kernels, ids = _kernels(ui)
    main = _main_kernel(ui, lines, kernels)
    warns = [*warnings, *_warnings(ui, rows)]
    tables: dict[str, pd.DataFrame] = {
        "code": code_frame(lines),
        "waves": _waves_frame(rows),
    }
    groups: dict[str, RowGroups] = {}
    for name, found in (("insts", _insts(rows, number)), ("states", _states(rows))):
        if isinstance(found, Streamed):
            groups[name] = found
        else:
            tables[name] = found
    if ui.has_totals:
        tables["totals"] = totals_frame(ui.code, number)
    if ui.occupancy:
        tables["occupancy"] = _occupancy_frame(ui, ids)
    if ui.counters:
        tables["counters"] = _counters_frame(ui)
    events = list(_events(ui))
    if events:
        tables["events"] = rows_frame("events", ("se", "time", "kind", "value"), events)
    progress(1, 1, "reading waves")
    if ui.workgroup and "workgroup" not in launch:
        launch = {**launch, "workgroup": list(ui.workgroup)}
    used = {x.codeobj for x in lines}
    kept = [o for o in objects if o.id in used]
    meta: dict[str, Any] = {
        "provenance": "measured",
        "backend": backend,
        "arch": target,
        "generation": tables_of.generation(target),
        "kernel": main,
        "kernels": kernels or [main],
        "dispatch": dispatch,
        "launch": launch,
        "decoder": {"name": "rocprof-trace-decoder", "version": ui.version or None},
        "device": device,
        "coverage": {
            "waves_traced": sum(r[6] is not None for r in rows),
            "waves_total": len(rows),
            "engines": len(ui.occupancy) or len({r[0] for r in rows}),
        },
        "warnings": [asdict(w) for w in warns],
    }
    wave_size = next(
        (k.wave_size for o in kept for k in [o.kernel_at(main.get("entry") or -1)] if k is not None), None
    )
    if wave_size is not None:
        meta["wave_size"] = wave_size
    if ui.realtime_hz is not None:
        meta["realtime_hz"] = ui.realtime_hz
    refs = tuple(CodeObjectRef(o.id, o.data, o.name, o.co.sha256, None) for o in kept)
    return RawCapture(meta, tables, refs, warns, groups)


def generation_names(ui: UiOutput) -> tuple[str, ...]:
    """Trace generations the directory can be of: gfx1250 reports 12, too."""
    return ("gfx12", "gfx1250") if ui.gfxip == 12 else (f"gfx{ui.gfxip}",)


# -- code -------------------------------------------------------------------
def code_lines(
    code: Sequence[CodeRow], target: str, objects: Sequence[LoadedCode] = ()
) -> tuple[list[CodeLine], dict[int, int]]:
    """Code lines by address, and execution line number -> row."""
    rows = sorted(code, key=lambda r: (r.codeobj, r.vaddr))
    by_id = {o.id: o for o in objects}
    known = {
        (r.codeobj, r.vaddr): i
        for r in rows
        if r.codeobj in by_id and (i := by_id[r.codeobj].listing.at(r.vaddr)) is not None
    }
    decoded = decode_lines(
        target, [(r.vaddr, k.words if (k := known.get((r.codeobj, r.vaddr))) else (), r.text) for r in rows]
    )
    out = []
    for n, (r, instruction) in enumerate(zip(rows, decoded, strict=True)):
        size, encoding = instruction.size, None
        if instruction.words:
            encoding = b"".join(w.to_bytes(4, "little") for w in instruction.words)
        else:
            following = rows[n + 1] if n + 1 < len(rows) else None
            gap = following.vaddr - r.vaddr if following and following.codeobj == r.codeobj else 0
            # without machine code the size is the distance to the next row; the last row of a
            # symbol (s_endpgm) has the smallest encoding
            size = gap if 0 < gap <= 20 else 4
        out.append(CodeLine(r.codeobj, instruction, size, r.label, r.source, encoding))
    return out, {r.line: n for n, r in enumerate(rows)}


# -- waves ------------------------------------------------------------------
def _waves(ui: UiOutput) -> list[_Row]:
    """Traced waves and those that only occupancy.json shows, ordered by engine and begin."""
    traced: dict[tuple[int, int, int, int, int], UiWave] = {}
    rows: list[_Row] = []
    for w in ui.waves:
        key = (w.se, w.cu, w.simd, w.slot, w.begin)
        if key in traced:  # no slot can begin two waves at once: a damaged file, of which nothing is dropped
            rows.append((*key, w.end, w, True))
        else:
            traced[key] = w
    for se, events in ui.occupancy.items():
        running: dict[tuple[int, int, int], int] = {}
        for t, cu, simd, slot, start, _ in events.tolist():
            where = (cu, simd, slot)
            if start:
                if where in running:
                    rows.append((se, *where, running[where], None, None, True))
                running[where] = t
            else:
                begin = running.pop(where, None)
                wave = traced.pop((se, *where, begin), None) if begin is not None else None
                rows.append((se, *where, begin or 0, t, wave, begin is not None))
        rows.extend((se, *where, t, None, None, True) for where, t in running.items())
    for i, r in enumerate(rows):
        if r[6] is None and r[5] is None and (late := traced.pop((r[0], r[1], r[2], r[3], r[4]), None)):
            rows[i] = (*r[:5], late.end, late, True)
    rows.extend((w.se, w.cu, w.simd, w.slot, w.begin, w.end, w, True) for w in traced.values())
    return sorted(rows, key=lambda r: (r[0], r[4], r[1], r[2], r[3]))


def _waves_frame(rows: Sequence[_Row]) -> pd.DataFrame:
    fields = ("wave", "se", "cu", "simd", "slot", "begin", "end", "traced", "complete")

    def row(n: int, r: _Row) -> tuple[Any, ...]:
        se, cu, simd, slot, begin, end, w, started = r
        known = w is None or not w.unknown
        finish = w.end if w is not None else end
        complete = started and finish is not None and known
        last = max(begin, finish if finish is not None else begin)
        return n, se, cu, simd, slot, begin, last, w is not None and w.instructions > 0, complete

    return rows_frame("waves", fields, (row(n, r) for n, r in enumerate(rows)))


def _insts(rows: Sequence[_Row], number: dict[int, int]) -> pd.DataFrame | Streamed:
    """The instruction records, in pieces where they are too many to hold."""
    lines = np.full(max(number, default=0) + 1, -1, np.int64)
    lines[list(number)] = list(number.values())

    def frames() -> Iterator[pd.DataFrame]:
        for part in _batches(_numbered(rows)):
            wave, seq, r = (np.concatenate(x) for x in zip(*part, strict=True))
            line = lines[np.maximum(r[:, 4], 0)]
            yield frame(
                "insts",
                {
                    "wave": wave,
                    "seq": seq,
                    "line": _nullable(line),
                    "time": r[:, 0],
                    "stall": r[:, 2],
                    # decoders differ in whether a duration may be shorter than the stall it includes
                    "duration": np.maximum(r[:, 3], r[:, 2]),
                    "category": pd.Categorical.from_codes(r[:, 1].astype(np.int8), _CATEGORIES),
                },
            )

    return _table("insts", sum(r[6].instructions for r in rows if r[6] is not None), frames)


def _nullable(line: NDArray[np.int64]) -> Any:
    """Row numbers as a nullable column; negative ones are null."""
    return pd.arrays.IntegerArray(line.astype(np.int32), line < 0)


def _numbered(rows: Sequence[_Row]) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Wave number, position and record of every instruction, a piece of a wave at a time."""
    for n, r in enumerate(rows):
        at = 0
        for part in r[6].rows() if r[6] is not None else ():
            yield np.full(len(part), n), np.arange(at, at + len(part)), part
            at += len(part)


def _batches(parts: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Pieces joined until they have about :data:`PIECE` rows."""
    held: list[tuple[Any, ...]] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part[0])
        if size >= PIECE:
            yield held
            held, size = [], 0
    if held:
        yield held


def _table(name: str, size: int, frames: Callable[[], Iterator[pd.DataFrame]]) -> pd.DataFrame | Streamed:
    """One frame where the table is small, else a table in pieces."""
    if size > PIECE:
        return Streamed(size, frames)
    found = [f for f in frames() if len(f)]
    if not found:
        return rows_frame(name, [c.name for c in TABLES[name]], ())
    return found[0] if len(found) == 1 else pd.concat(found, ignore_index=True)


def _states(rows: Sequence[_Row]) -> pd.DataFrame | Streamed:
    """Timelines: equal neighbours joined, empty stretches left out."""

    def parts() -> Iterator[tuple[NDArray[np.int64], ...]]:
        for n, r in enumerate(rows):
            if r[6] is None or not r[6].instructions:
                continue
            t, last = r[6].begin, np.zeros((0, 2), np.int64)
            for part in r[6].timeline():
                joined = _joined(np.concatenate([last, part]))
                done, last = joined[:-1], joined[-1:]
                if len(done):
                    begin = t + np.concatenate([[0], np.cumsum(done[:, 1])])
                    yield np.full(len(done), n), begin[:-1], done
                    t = int(begin[-1])
            if len(last):
                yield np.full(1, n), np.array([t]), last

    def frames() -> Iterator[pd.DataFrame]:
        for batch in _batches(parts()):
            wave, begin, s = (np.concatenate(x) for x in zip(*batch, strict=True))
            state = pd.Categorical.from_codes(s[:, 0].astype(np.int8), _STATES)
            yield frame("states", {"wave": wave, "begin": begin, "duration": s[:, 1], "state": state})

    return _counted("states", frames)


def _counted(name: str, frames: Callable[[], Iterator[pd.DataFrame]]) -> pd.DataFrame | Streamed:
    """As :func:`_table` for a table whose size is known only from going through it."""
    held: list[pd.DataFrame] = []
    size = 0
    for piece in frames():
        size += len(piece)
        if size <= PIECE:
            held.append(piece)
        else:
            held.clear()
    return _table(name, size, frames if size > PIECE else lambda: iter(held))


def _joined(runs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Runs of state, cycles with equal neighbours as one, without those of no cycles."""
    runs = runs[runs[:, 1] > 0]
    if not len(runs):
        return runs
    first = np.flatnonzero(np.concatenate([[True], runs[1:, 0] != runs[:-1, 0]]))
    return np.stack([runs[first, 0], np.add.reduceat(runs[:, 1], first)], axis=1)


def totals_frame(code: Sequence[CodeRow], number: dict[int, int]) -> pd.DataFrame:
    """Hits, latency, stall and idle of every line as the source gives them."""
    rows = sorted((number[r.line], r.hits, r.latency, r.stall, r.idle) for r in code)
    return rows_frame("totals", ("line", "hits", "latency", "stall", "idle"), rows)


# -- kernels, occupancy, counters, events -----------------------------------
def _label_at(ui: UiOutput, codeobj: int, vaddr: int) -> str | None:
    """Kernel whose rows contain an address."""
    name = None
    for r in sorted((r for r in ui.code if r.codeobj == codeobj), key=lambda r: r.vaddr):
        if r.vaddr > vaddr:
            break
        name = r.label or name
    return name


def _kernels(ui: UiOutput) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Kernel list, and kernel id of occupancy.json -> its place in the list.

    Ids count per process, and one kernel may have two: equal ones are merged.
    """
    used = {int(k) for rows in ui.occupancy.values() for k in np.unique(rows[:, 5])}
    out: list[dict[str, Any]] = []
    ids: dict[int, int] = {}
    for ident in sorted(ui.kernels):
        if ident == 0 or ident not in used:
            continue
        entry = _kernel(ui, ui.kernels[ident])
        if entry not in out:
            out.append(entry)
        ids[ident] = out.index(entry)
    return out, ids


def _kernel(ui: UiOutput, text: str) -> dict[str, Any]:
    """``3 / 0x1700`` (code object, start) or a name."""
    head, _, tail = text.partition(" / 0x")
    try:
        codeobj, entry = int(head), int(tail, 16)
    except ValueError:
        return {"name": text, "codeobj": None, "entry": None}
    return {"name": _label_at(ui, codeobj, entry) or text, "codeobj": codeobj, "entry": entry}


def _main_kernel(ui: UiOutput, lines: Sequence[CodeLine], kernels: list[dict[str, Any]]) -> dict[str, Any]:
    """The kernel of the first executed line, with what occupancy.json knows of it."""
    first = next((r for r in sorted(ui.code, key=lambda r: r.line) if r.hits > 0), None)
    name = _label_at(ui, first.codeobj, first.vaddr) if first else None
    name = name or next((x.label for x in lines if x.label), None)
    found = next((k for k in kernels if k["name"] == name), kernels[0] if kernels and not name else None)
    if found is not None:
        return dict(found)
    codeobj = first.codeobj if first else (lines[0].codeobj if lines else None)
    return {"name": name or "unknown", "codeobj": codeobj, "entry": None}


def _occupancy_frame(ui: UiOutput, ids: dict[int, int]) -> pd.DataFrame:
    engines = sorted(se for se, rows in ui.occupancy.items() if len(rows))
    if not engines:
        return rows_frame("occupancy", ("se", "time", "cu", "simd", "slot", "start", "kernel"), ())
    rows = np.concatenate([ui.occupancy[se] for se in engines])
    return frame(
        "occupancy",
        {
            "se": np.repeat(engines, [len(ui.occupancy[se]) for se in engines]),
            "time": rows[:, 0],
            "cu": rows[:, 1],
            "simd": rows[:, 2],
            "slot": rows[:, 3],
            "start": rows[:, 4] != 0,
            "kernel": [ids.get(k) for k in rows[:, 5].tolist()],
        },
    )


def _counters_frame(ui: UiOutput) -> pd.DataFrame:
    def rows() -> Iterator[tuple[Any, ...]]:
        for se in sorted(ui.counters):
            for t, c0, c1, c2, c3, cu, bank in ui.counters[se].tolist():
                for i, value in enumerate((c0, c1, c2, c3)):
                    k = bank * 4 + i
                    name = ui.counter_names[k] if k < len(ui.counter_names) else f"counter{k}"
                    yield se, cu, t, name, value

    return rows_frame("counters", ("se", "cu", "time", "name", "value"), rows())


def _events(ui: UiOutput) -> Iterator[tuple[int, int, str, int]]:
    for kind, source in (("realtime", ui.realtime), ("shaderdata", ui.shaderdata)):
        for se in sorted(source):
            for t, value in source[se].tolist():
                yield se, t, kind, value
    for se in sorted(ui.other_simd):
        for t, cycles, category in ui.other_simd[se].tolist():
            yield se, t, f"other_simd_{_CATEGORIES[category].lower()}", cycles


def _warnings(ui: UiOutput, rows: Sequence[_Row]) -> Iterator[Warning_]:
    unknown = sum(r[6] is not None and r[6].unknown > 0 for r in rows)
    if unknown:
        yield Warning_(
            "stitch_incomplete", f"{unknown} waves have records that fit no instruction", unknown, "waves"
        )
    lacking = sum((r[5] is None and r[6] is None) or not r[7] for r in rows)
    if lacking:
        yield Warning_(
            "wave_incomplete", f"{lacking} of {len(rows)} waves lack the begin or the end", lacking, "waves"
        )
    if not any(r[6] is not None for r in rows):
        units = count_units(ui.occupancy)
        where = ": " + populated(units) if units else ""
        yield Warning_("no_traced_waves", f"no wave ran on a traced unit{where}", len(rows), "waves")
