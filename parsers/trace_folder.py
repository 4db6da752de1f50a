"""Trace folders: raw SQTT buffers, code objects and ``meta.json`` (docs/trace-folder.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isaprof.errors import BadInput
from isaprof.files import content
from isaprof.parsers.jsonfile import Fields, load_json
from isaprof.parsers.pmc import count_of

META = "meta.json"
_KIND = "bad_meta"
_HINT = "see docs/trace-folder.md for the keys of meta.json"
_MAX_SE = 1024


@dataclass(frozen=True, slots=True)
class Program:
    """A code object of the folder. ``load_base``: address its virtual address 0 was loaded at."""

    index: int
    path: Path
    name: str
    load_base: int
    entry: int | None = None  #: virtual address of the first instruction, where meta.json says it
    sha256: str | None = None  #: of the file as it was recorded


@dataclass(frozen=True, slots=True)
class Launch:
    """One dispatch. ``grid`` counts workgroups, ``workgroup`` threads."""

    index: int
    program: int
    grid: tuple[int, int, int] | None = None
    workgroup: tuple[int, int, int] | None = None
    entry: int | None = None  #: absolute address waves start at
    duration_us: float | None = None
    counters: tuple[tuple[str, float], ...] = ()  #: name and sum over the GPU, of the whole dispatch


@dataclass(frozen=True, slots=True)
class TraceFile:
    """The buffer of one shader engine for one launch."""

    path: Path
    se: int
    launch: int
    bytes: int | None = None
    sha256: str | None = None  #: of the file as it was recorded


@dataclass(frozen=True, slots=True)
class TraceFolder:
    path: Path
    arch: str
    device: dict[str, Any]
    programs: tuple[Program, ...]
    launches: tuple[Launch, ...]
    traces: tuple[TraceFile, ...]

    def program(self, launch: Launch) -> Program:
        return next(p for p in self.programs if p.index == launch.program)

    def traces_of(self, launch: Launch) -> list[TraceFile]:
        """Buffers of one launch, by shader engine."""
        return sorted((t for t in self.traces if t.launch == launch.index), key=lambda t: t.se)


def read_trace_folder(folder: Path) -> TraceFolder:
    """Parse ``folder/meta.json``. BadInput (kind ``bad_meta``) names file and key."""
    path = folder / META
    top = Fields(load_json(path, kind=_KIND, hint=_HINT), path, "", kind=_KIND, hint=_HINT)
    arch = top.need("arch", str)
    if not arch.startswith("gfx") or len(arch) > 32 or not arch.isalnum():
        raise top.bad(f"arch = {arch[:40]!r} is no GPU target such as gfx1100")
    programs = tuple(_program(f, i) for i, f in enumerate(top.objects("programs")))
    if not programs:
        raise top.bad("programs is empty: the folder names no code object")
    launches = tuple(_launch(f, i, programs) for i, f in enumerate(top.objects("launches")))
    if not launches:
        raise top.bad("launches is empty: the folder names no dispatch")
    for what, numbers in (
        ("programs", [p.index for p in programs]),
        ("launches", [x.index for x in launches]),
    ):
        if len(set(numbers)) != len(numbers):
            raise top.bad(f"two {what} have the same index")
    traces = tuple(_trace(f, launches) for f in top.objects("traces"))
    if not traces:
        raise top.bad("traces is empty: the folder names no trace buffer")
    seen: dict[tuple[int, int], str] = {}
    for t in traces:
        if (t.launch, t.se) in seen:
            raise top.bad(
                f"{t.path.name} and {seen[t.launch, t.se]} are both engine {t.se} of launch {t.launch}"
            )
        seen[t.launch, t.se] = t.path.name
    return TraceFolder(folder, arch, top.optional("device", dict) or {}, programs, launches, traces)


def _program(f: Fields, i: int) -> Program:
    index = f.integer("index", low=0, high=1 << 20)
    path = f.file("file")
    name = f.optional("name", str) or path.stem
    base = f.need_integer("load_base", low=0, high=1 << 62)
    entry = f.integer("text_vaddr", low=0, high=1 << 48)
    sha256 = f.optional("sha256", str)
    return Program(i if index is None else index, path, name, base, entry, sha256)


def _launch(f: Fields, i: int, programs: tuple[Program, ...]) -> Launch:
    index = f.integer("index", low=0, high=1 << 31)
    program = f.integer("program", low=0, high=1 << 20)
    if program is None and len(programs) == 1:
        program = programs[0].index
    if program is None:
        raise f.bad(f"{f.where}.program is missing and there are {len(programs)} programs")
    if program not in {p.index for p in programs}:
        raise f.bad(f"{f.where}.program = {program} is no index of programs")
    duration = f.value.get("duration_us")
    if duration is not None and (
        isinstance(duration, bool) or not isinstance(duration, int | float) or not 0 <= duration < 1e15
    ):
        raise f.bad(f"{f.where}.duration_us must be a number of microseconds")
    return Launch(
        i if index is None else index,
        program,
        f.triple("grid_workgroups"),
        f.triple("workgroup_size"),
        f.integer("pgm_address", low=0, high=1 << 62),
        None if duration is None else float(duration),
        tuple(_counters(f)),
    )


def _counters(f: Fields) -> Iterator[tuple[str, float]]:
    """``pmc`` of a launch: counters with their sums."""
    for counter in f.objects("pmc") if f.value.get("pmc") is not None else ():
        value = count_of(counter.value.get("sum"))
        if value is None:
            raise counter.bad(f"{counter.where}.sum must be a number that is not negative")
        yield counter.need("name", str), value


def _trace(f: Fields, launches: tuple[Launch, ...]) -> TraceFile:
    launch = f.integer("launch", low=0, high=1 << 31)
    if launch is None and len(launches) == 1:
        launch = launches[0].index
    if launch is None:
        raise f.bad(f"{f.where}.launch is missing and there are {len(launches)} launches")
    if launch not in {x.index for x in launches}:
        raise f.bad(f"{f.where}.launch = {launch} is no index of launches")
    return TraceFile(
        f.file("file"),
        f.need_integer("se", low=0, high=_MAX_SE),
        launch,
        f.integer("bytes", low=0),
        f.optional("sha256", str),
    )


def read_buffer(trace: TraceFile) -> bytes:
    """The bytes of one buffer; BadInput (kind ``missing_file``) where the file is absent."""
    return read_bytes(trace.path, "trace buffer")


def read_bytes(path: Path, what: str) -> bytes:
    """Content of a file that an index names; BadInput of kind ``missing_file`` where it cannot be read."""
    try:
        return content(path)
    except OSError as e:
        raise BadInput(
            f"cannot read the {what}: {e.strerror or e}",
            path=path,
            kind="missing_file",
            hint=f"ls {path.parent}   and copy the whole folder again",
        ) from None
