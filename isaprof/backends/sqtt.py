"""Decoded engine traces plus code objects become a Capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from isaprof import __version__, arch
from isaprof.backends.frames import CodeLine, code_frame, rows_frame
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.capture.model import CodeObjectRef, Warning_
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.errors import BadInput
from isaprof.parsers.sqtt.codemap import CodeMap, Region
from isaprof.parsers.sqtt.records import EngineTrace, Wave
from isaprof.parsers.sqtt.stitch import stitch

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.capture.tables import RowGroups
    from isaprof.isa.model import Listing

_INT32 = (1 << 31) - 1


@dataclass(slots=True)
class LoadedCode:
    """A code object of the traced process, loaded at ``base`` (None: the trace does not say where)."""

    id: int
    data: bytes = field(repr=False)
    co: CodeObject
    name: str
    base: int | None
    _listing: Listing | None = field(default=None, repr=False)

    @property
    def listing(self) -> Listing:
        if self._listing is None:
            from isaprof.isa.decode import disassemble

            self._listing = disassemble(self.data, arch=self.co.arch, path=self.co.path)
        return self._listing

    def holds(self, address: int) -> bool:
        """Whether an absolute address lies in this object's code."""
        if self.base is None:
            return False
        v = address - self.base
        return any(s.address <= v < s.address + len(s.data) for s in self.co.text)

    def kernel_at(self, vaddr: int) -> Kernel | None:
        return next((k for k in self.co.kernels if k.entry <= vaddr < k.entry + k.size), None)


@dataclass(frozen=True, slots=True)
class RanKernel:
    """A kernel whose waves were seen. ``entry``: virtual address they start at."""

    name: str
    codeobj: int | None
    entry: int
    kernel: Kernel | None = None


@dataclass(slots=True)
class Recording:
    """Everything that is known about one recorded dispatch before assembly."""

    engines: Mapping[int, EngineTrace]
    objects: Sequence[LoadedCode]
    arch: str
    path: str
    #: absolute address the dispatch's waves start at, where a file beside the trace says it
    entry: int | None = None
    dispatch: dict[str, Any] = field(default_factory=dict)
    launch: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    warnings: list[Warning_] = field(default_factory=list)


def check_generation(trace: EngineTrace, file: str, target: str, said_by: str) -> None:
    """BadInput ``arch_mismatch`` where a trace cannot come from a GPU of ``target``."""
    wanted, found = arch.generation(target), trace.header.generation
    if wanted != found.name:
        version = f"SQTT version {found.version}" if found.version else "gfx9 software header"
        raise BadInput(
            f"is a {found.name} trace ({version}), but {said_by} is for {target} ({wanted})",
            path=file,
            kind="arch_mismatch",
            hint="put the code object that ran, and the trace of the same run, into one folder",
        )


@dataclass(slots=True)
class Stats:
    """What there is to say of all waves together."""

    total: int = 0
    traced: int = 0
    unstitched: int = 0
    endless: int = 0  #: their end was not seen
    beginless: int = 0  #: their begin was not seen
    on_target: bool = False  #: there is one on the traced unit
    entries: Counter[int] = field(default_factory=Counter)  #: waves by kernel entry
    traced_entries: Counter[int] = field(default_factory=Counter)  #: those with records by kernel entry
    where: Counter[tuple[int, int, int]] = field(default_factory=Counter)  #: waves by engine, cu, SIMD


def assemble(rec: Recording, progress: Progress = no_progress) -> RawCapture:
    """Stitch the waves to the code and lay out the tables.

    Raises BadInput (kind ``no_code_object``) where the code of the traced
    waves is in none of the objects.
    """
    if any(t.rows is not None for t in rec.engines.values()):
        from isaprof.backends.sqtt_columns import assemble_columns

        return assemble_columns(rec, progress)
    for trace in rec.engines.values():
        for w in trace.waves:
            if w.entry is None and w.start_seen and rec.entry is not None:
                w.entry = rec.entry
                if w.target:
                    w.records.pcs[0] = rec.entry
    stats = wave_stats(rec)
    kernels = find_kernels(rec, stats)
    code = _stitch_all(rec, progress)
    touched = {x for t in rec.engines.values() for w in t.waves for x in w.records.lines if x is not None}
    lines, renumber = code_lines(rec, code, kernels, touched)
    waves = sorted(
        ((se, w) for se, t in rec.engines.items() for w in t.waves),
        key=lambda x: (x[0], x[1].begin, x[1].cu, x[1].simd, x[1].slot),
    )
    stats.unstitched = sum(len(w.records) > 0 and not w.stitched for _, w in waves)
    numbers = {(k.codeobj, k.entry): n for n, k in enumerate(kernels)}
    tables = {
        "code": code_frame(lines),
        "waves": rows_frame("waves", WAVE_FIELDS, (_wave_row(n, se, w) for n, (se, w) in enumerate(waves))),
        "insts": rows_frame("insts", INST_FIELDS, _inst_rows(waves, renumber)),
        "states": rows_frame("states", ("wave", "begin", "duration", "state"), _state_rows(waves)),
        "occupancy": _occupancy(rec, numbers),
        "events": rows_frame("events", ("se", "time", "kind", "value"), _event_rows(rec)),
    }
    if any(t.counters for t in rec.engines.values()):
        fields = ("se", "cu", "time", "name", "value")
        tables["counters"] = rows_frame("counters", fields, _counter_rows(rec))
    return finished(rec, kernels, stats, lines, tables)


def finished(
    rec: Recording,
    kernels: Sequence[RanKernel],
    stats: Stats,
    lines: Sequence[CodeLine],
    tables: dict[str, pd.DataFrame],
    groups: dict[str, RowGroups] | None = None,
) -> RawCapture:
    """The capture of these tables: with metadata, warnings and the code objects that ran."""
    warnings = [*rec.warnings, *_warnings(rec, stats)]
    used = {x.codeobj for x in lines}
    return RawCapture(
        meta=_meta(rec, kernels, stats, warnings),
        tables=tables,
        code_objects=tuple(
            CodeObjectRef(o.id, o.data, o.name, o.co.sha256, o.base) for o in rec.objects if o.id in used
        ),
        warnings=warnings,
        groups=groups or {},
    )


def wave_stats(rec: Recording) -> Stats:
    """What all waves of a recording have in common; how many fit no code is known after stitching only."""
    if any(t.rows is not None for t in rec.engines.values()):
        from isaprof.backends.sqtt_columns import column_stats

        return column_stats(rec)
    out = Stats()
    for se, t in rec.engines.items():
        for w in t.waves:
            out.total += 1
            out.traced += len(w.records) > 0
            out.endless += not w.end_seen
            out.beginless += not w.start_seen
            out.on_target |= w.target
            out.where[se, w.cu, w.simd] += 1
            if w.entry is not None:
                out.entries[w.entry] += 1
                if len(w.records):
                    out.traced_entries[w.entry] += 1
    return out


# -- kernels and code -------------------------------------------------------
def object_at(rec: Recording, address: int) -> LoadedCode | None:
    return next((o for o in rec.objects if o.holds(address)), None)


def find_kernels(rec: Recording, stats: Stats) -> list[RanKernel]:
    """Kernels that ran, by the number of their traced waves, then of all; BadInput where no code is there."""
    count = Counter(stats.entries)
    if rec.entry is not None and rec.entry not in count:
        count[rec.entry] = 0
    traced = stats.traced_entries
    out: list[RanKernel] = []
    for entry in sorted(count, key=lambda e: (-traced[e], -count[e], e)):
        o = object_at(rec, entry)
        if o is None or o.base is None:
            out.append(RanKernel(f"0 / {entry:#x}", None, entry))
            continue
        kernel = o.kernel_at(entry - o.base)
        name = o.name if kernel is None or o.co.minimal else kernel.name
        out.append(RanKernel(name, o.id, entry - o.base, kernel))
    if not out or out[0].codeobj is None:
        raise _no_code(rec, out)
    return out


def _no_code(rec: Recording, kernels: list[RanKernel]) -> BadInput:
    if not kernels:
        return BadInput(
            "no wave of any kernel is in the trace, and nothing beside it says which kernel ran",
            path=rec.path,
            kind="no_waves",
            hint="record again with a larger grid, another --att-target-cu, a wider --att-shader-engine-mask",
        )
    entry = kernels[0].entry
    loaded = sorted({o for t in rec.engines.values() for o in t.objects}, key=lambda o: o.id)
    home = next((o for o in loaded if o.address <= entry < o.address + max(o.size, 1)), None)
    if home is not None:
        what, hint = f"code object {home.id}", f"*_code_object_id_{home.id}.out"
    else:
        what, hint = "a code object the trace does not name", "the code object that ran"
    return BadInput(
        f"the waves start at {entry:#x}, in {what}, which is not in the folder",
        path=rec.path,
        kind="no_code_object",
        hint=f"copy {hint} beside the trace",
    )


def code_map(rec: Recording, addresses: Collection[int]) -> CodeMap:
    """The code of all objects that hold one of ``addresses`` (absolute)."""
    needed = [o for o in rec.objects if any(o.holds(a) for a in addresses)]
    rules = next(iter(rec.engines.values())).header.generation.stitch
    regions = [Region(o.id, o.base or 0, o.listing.instructions) for o in needed]
    return CodeMap.build(regions, rules)


def _stitch_all(rec: Recording, progress: Progress) -> CodeMap:
    traced = [(t, w) for t in rec.engines.values() for w in t.waves if len(w.records)]
    code = code_map(rec, {a for _, w in traced for a in w.records.pcs.values() if a is not None})
    rules = next(iter(rec.engines.values())).header.generation.stitch
    for n, (trace, wave) in enumerate(traced):
        if len(wave.records):
            wave.stitched = stitch(wave, code, rules, exclude_barrier_wait=trace.header.exclude_barrier_wait)
        progress(n + 1, len(traced), "matching instructions")
    return code


def code_lines(
    rec: Recording, code: CodeMap, kernels: Sequence[RanKernel], touched: Collection[int]
) -> tuple[list[CodeLine], dict[int, int]]:
    """All instructions of the kernels that ran and of every function they called, by address.

    Also the new number of every line of ``code`` that was executed (``touched``).
    """
    kernels = [k for k in kernels if k.codeobj is not None]
    by_id = {o.id: o for o in rec.objects}
    spans: dict[int, set[tuple[int, int]]] = {}
    for k in kernels:
        o = by_id[k.codeobj if k.codeobj is not None else -1]
        spans.setdefault(o.id, set()).add(_span(o, k.entry))
    for x in touched:
        o, pc = by_id[code.object_ids[x]], code.instructions[x].pc
        if not any(lo <= pc < hi for lo, hi in spans.setdefault(o.id, set())):
            spans[o.id].add(_span(o, pc))
    lines: list[CodeLine] = []
    place: dict[tuple[int, int], int] = {}
    for ident in sorted(spans):
        o = by_id[ident]
        names = {k.entry: k.name for k in kernels if k.codeobj == ident and o.co.minimal}
        for i in o.listing.instructions:
            if any(lo <= i.pc < hi for lo, hi in spans[ident]):
                place[ident, i.pc] = len(lines)
                label = names.get(i.pc) or o.listing.labels.get(i.pc)
                encoding = b"".join(w.to_bytes(4, "little") for w in i.words)
                lines.append(CodeLine(ident, i, i.size, label, None, encoding))
    renumber = {x: place[code.object_ids[x], code.instructions[x].pc] for x in touched}
    return lines, renumber


def _span(o: LoadedCode, vaddr: int) -> tuple[int, int]:
    """Address range of the kernel, else the function, else the section around ``vaddr``."""
    k = o.kernel_at(vaddr)
    if k is not None:
        return k.entry, k.entry + k.size
    section = next(s for s in o.co.text if s.address <= vaddr < s.address + len(s.data))
    lo, hi = section.address, section.address + len(section.data)
    labels = sorted(a for a in o.co.labels if lo <= a < hi)
    return (
        max((a for a in labels if a <= vaddr), default=lo),
        min((a for a in labels if a > vaddr), default=hi),
    )


# -- tables -----------------------------------------------------------------
WAVE_FIELDS = (
    "wave", "se", "cu", "simd", "slot", "dispatch", "threads", "begin", "end", "traced", "complete",
)  # fmt: skip
INST_FIELDS = ("wave", "seq", "line", "time", "stall", "duration", "category")


def _wave_row(n: int, se: int, w: Wave) -> tuple[Any, ...]:
    end = w.begin if w.end is None else max(w.end, w.begin)
    complete = w.start_seen and w.end_seen and w.stitched
    return (n, se, w.cu, w.simd, w.slot, w.dispatch, w.threads, w.begin, end, len(w.records) > 0, complete)


def _inst_rows(waves: Sequence[tuple[int, Wave]], renumber: Mapping[int, int]) -> Iterator[tuple[Any, ...]]:
    for n, (_, w) in enumerate(waves):
        r = w.records
        for i in range(len(r)):
            line = None if r.lines[i] is None else renumber[r.lines[i]]  # type: ignore[index]
            # a damaged stream may run backwards: the columns keep their meaning all the same
            stall = max(r.stall[i], 0)
            yield n, i, line, r.time[i], stall, max(r.duration[i], stall), r.category[i].name


def _state_rows(waves: Sequence[tuple[int, Wave]]) -> Iterator[tuple[Any, ...]]:
    for n, (_, w) in enumerate(waves):
        if not len(w.records):
            continue
        t = w.begin
        for state, cycles in w.timeline.runs:
            yield n, t, cycles, state.name
            t += cycles


def kernel_number(rec: Recording, numbers: Mapping[tuple[int | None, int], int], entry: int) -> int | None:
    """Number, in the list of kernels, of the one that starts at an absolute address."""
    o = object_at(rec, entry)
    return numbers.get((None, entry) if o is None or o.base is None else (o.id, entry - o.base))


def _occupancy(rec: Recording, numbers: Mapping[tuple[int | None, int], int]) -> pd.DataFrame:
    known: dict[int | None, int | None] = {None: None}
    rows = []
    for se in sorted(rec.engines):
        for e in rec.engines[se].occupancy:
            if e.entry is not None and e.entry not in known:
                known[e.entry] = kernel_number(rec, numbers, e.entry)
            rows.append((se, e.time, e.cu, e.simd, e.slot, e.start, known[e.entry]))
    return rows_frame("occupancy", ("se", "time", "cu", "simd", "slot", "start", "kernel"), rows)


def _event_rows(rec: Recording) -> Iterator[tuple[Any, ...]]:
    for se in sorted(rec.engines):
        for e in rec.engines[se].events:
            yield se, e.time, e.kind, e.value


def _counter_rows(rec: Recording) -> Iterator[tuple[Any, ...]]:
    for se in sorted(rec.engines):
        for s in rec.engines[se].counters:
            for i, value in enumerate(s.values):
                yield se, s.cu, s.time, f"counter{s.bank * 4 + i}", value


# -- metadata ---------------------------------------------------------------
def _meta(
    rec: Recording, kernels: Sequence[RanKernel], stats: Stats, warnings: list[Warning_]
) -> dict[str, Any]:
    main = kernels[0]
    workgroup = next((t.workgroup for t in rec.engines.values() if t.workgroup), None)
    launch = dict(rec.launch)
    if workgroup and "workgroup" not in launch:
        launch["workgroup"] = list(workgroup)
    meta: dict[str, Any] = {
        "provenance": "measured",
        "backend": "sqtt",
        "arch": rec.arch,
        "generation": arch.generation(rec.arch),
        "kernel": {"name": main.name, "codeobj": main.codeobj, "entry": main.entry},
        "kernels": [{"name": k.name, "codeobj": k.codeobj, "entry": k.entry} for k in kernels],
        "dispatch": rec.dispatch,
        "launch": launch,
        "decoder": {"name": "isaprof", "version": __version__},
        "device": rec.device,
        "coverage": {
            "waves_traced": stats.traced,
            "waves_total": stats.total,
            "engines": len(rec.engines),
        },
        "warnings": [asdict(w) for w in warnings],
    }
    if main.kernel is not None:
        meta["wave_size"] = main.kernel.wave_size
    hz = next((t.realtime_hz for t in rec.engines.values() if t.realtime_hz), None)
    if hz is not None:
        meta["realtime_hz"] = hz
    return meta


def _warnings(rec: Recording, stats: Stats) -> Iterator[Warning_]:
    for se in sorted(rec.engines):
        yield from _engine_warnings(se, rec.engines[se])
    if stats.unstitched:
        yield Warning_(
            "stitch_incomplete",
            f"{stats.unstitched} of {stats.traced} traced waves have records that fit no instruction",
            stats.unstitched,
            "waves",
        )
    for what, n in (("the end", stats.endless), ("the begin", stats.beginless)):
        if n:
            yield Warning_("wave_incomplete", f"{n} of {stats.total} waves lack {what}", n, "waves")
    if not stats.traced:
        yield Warning_("no_traced_waves", _why_untraced(rec, stats), stats.total, "waves")


def _why_untraced(rec: Recording, stats: Stats) -> str:
    """Why there are no instruction records, and which unit to trace instead."""
    if not stats.total:
        return "there are no instruction records: the trace holds no wave at all"
    where = stats.where.most_common(3)
    header = rec.engines[where[0][0][0]].header
    ran = ", ".join(f"engine {se} {header.unit} {cu} SIMD {simd}" for (se, cu, simd), _ in where)
    simds = [n for n in range(4) if header.simd_mask >> n & 1]
    traced = f"{header.unit} {header.target_cu} SIMD {', '.join(map(str, simds))}"
    if stats.on_target:
        why = "those on the traced unit wrote no instruction packet (on gfx10 and later s_endpgm writes none)"
    else:
        why = f"trace {header.unit} {where[0][0][1]} instead (rocprofv3 --att-target-cu)"
    return f"there are no instruction records: waves ran on {ran}; traced is {traced} of each engine: {why}"


def _engine_warnings(se: int, t: EngineTrace) -> Iterator[Warning_]:
    if t.lost:
        yield Warning_(
            "data_lost", f"engine {se}: packets were lost at {t.lost} places", t.lost, "places", se
        )
    if t.cut_kind is not None or t.cut_block:
        inside = f"inside a {t.cut_kind} packet" if t.cut_kind else "in the middle of a 32-byte block"
        yield Warning_(
            "truncated",
            f"engine {se}: the trace ends {inside}; what comes before is kept",
            t.size,
            "bytes",
            se,
        )
    if t.unknown:
        at = f"the first at byte {t.unknown_at:#x}" if t.unknown_at is not None else ""
        yield Warning_(
            "unknown_packet", f"engine {se}: {t.unknown} unknown packets, {at}", t.unknown, "packets", se
        )
    if t.stopped_at is not None:
        lost = max(t.size - t.stopped_at, 0)
        yield Warning_(
            "undecodable",
            f"engine {se}: decoding stopped at byte {t.stopped_at:#x} ({t.stopped_why}); "
            f"{lost} of {t.size} bytes are left out",
            lost,
            "bytes",
            se,
        )
