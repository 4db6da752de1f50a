"""Recorded traces of every format behind one interface.

:func:`open_recording` looks at a path and lists its dispatches;
:meth:`Recorded.read` decodes one of them into a
:class:`~isaprof.backends.protocol.RawCapture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Protocol

from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.capture.model import Warning_
from isaprof.errors import BadInput, UsageError
from isaprof.parsers.sqtt.engine import decode_engine
from isaprof.parsers.sqtt.records import EngineTrace

DECODERS = ("auto", "isaprof", "rocprof", "ui")

#: kinds of a whole buffer that holds nothing: the engine was idle or disabled
_EMPTY_KINDS = frozenset({"empty_trace", "zero_buffer"})


@dataclass(frozen=True, slots=True)
class DispatchInfo:
    """One dispatch of a recording. ``waves``: traced waves where that is known without decoding."""

    number: int
    kernel: str | None
    waves: int | None = None


class Recorded(Protocol):
    """A folder that was recognised."""

    path: Path

    @property
    def dispatches(self) -> tuple[DispatchInfo, ...]:
        """What can be read, in numeric order."""
        ...

    def read(
        self, number: int, *, decoder: str = "auto", arch: str | None = None, progress: Progress = no_progress
    ) -> RawCapture:
        """Decode dispatch ``number``."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """The backend for one dispatch of a recording (protocol ``Backend``)."""

    path: Path
    dispatch: int | None = None
    decoder: str = "auto"
    arch: str | None = None
    name: str = "recorded"

    def capture(self, progress: Progress = no_progress) -> RawCapture:
        """Decode it. UsageError where there are several dispatches and none was chosen."""
        recording = open_recording(self.path)
        numbers = choose(recording, None if self.dispatch is None else str(self.dispatch))
        return recording.read(numbers[0], decoder=self.decoder, arch=self.arch, progress=progress)


def open_recording(path: str | Path) -> Recorded:
    """Recognise ``path``: a trace folder, a rocprofv3 output directory or a ui_output directory.

    One file of rocprofv3's output (a stats CSV, an .att file, ...) stands for
    what belongs to it. Raises BadInput (not_found, empty_folder, no_trace,
    bad_meta, several_runs, and what :mod:`isaprof.backends.absent` knows).
    """
    from isaprof.backends.absent import absent
    from isaprof.backends.recorded_folder import FolderRecording
    from isaprof.backends.recorded_rocprof import RocprofRecording
    from isaprof.parsers.rocprof_dir import of_file, scan
    from isaprof.parsers.trace_folder import META

    path = Path(path)
    if not path.exists():
        raise BadInput("no such file or directory", path=path, kind="not_found", hint=f"ls {path.parent}")
    if not path.is_dir():
        around = of_file(path)
        if around is not None and around.dispatches:
            return RocprofRecording(path, around)
        raise BadInput(
            "is a file; the folder it lies in is needed, since a trace alone names no code",
            path=path,
            kind="not_a_folder",
            hint=f"isaprof import {quote(str(path.parent))}",
        )
    if (path / "capture.json").is_file():
        raise BadInput(
            "is a capture already", path=path, kind="is_a_capture", hint=f"isaprof show {quote(str(path))}"
        )
    if (path / META).is_file():
        return FolderRecording(path)
    found = scan(path)
    if found.dispatches:
        return RocprofRecording(path, found)
    raise absent(found) or _nothing(path)


def _nothing(path: Path) -> BadInput:
    try:
        names = sorted(p.name for p in path.iterdir())
    except OSError as e:
        return BadInput(f"cannot read: {e.strerror or e}", path=path, kind="unreadable")
    if not names:
        return BadInput(
            "the folder is empty",
            path=path,
            kind="empty_folder",
            hint="rocprofv3 --att -d DIR -- app   records a trace; isaprof doctor says what that needs",
        )
    loose = [n for n in names if n.endswith((".sqtt", ".att"))]
    if loose:
        return BadInput(
            f"{loose[0]} lies here, but no meta.json, and its name is not rocprofv3's "
            "<prefix>_<agent>_shader_engine_<se>_<dispatch>.att",
            path=path,
            kind="no_meta",
            hint="write a meta.json (docs/trace-folder.md)",
        )
    return BadInput(
        "no trace found: neither meta.json nor .att files nor a ui_output_* directory "
        f"(it holds {', '.join(names[:3])}{', ...' if len(names) > 3 else ''})",
        path=path,
        kind="no_trace",
        hint="rocprofv3 --att -d DIR -- app   records a trace; isaprof doctor says what that needs",
    )


def choose(recording: Recorded, wanted: str | None) -> list[int]:
    """Dispatch numbers for ``--dispatch`` (a number, ``all`` or None).

    Raises UsageError with the list of dispatches where the choice is missing
    or names none of them.
    """
    infos = recording.dispatches
    if wanted is None and len(infos) == 1:
        return [infos[0].number]
    if wanted == "all":
        return [i.number for i in infos]
    table = "\n".join("  " + describe(i) for i in infos)
    if wanted is None:
        raise UsageError(
            f"{len(infos)} dispatches, choose one:\n{table}",
            path=recording.path,
            kind="several_dispatches",
            hint=f"isaprof import {quote(str(recording.path))} --dispatch {infos[0].number}   (or all)",
        )
    if wanted.isascii() and wanted.isdecimal() and any(i.number == int(wanted[:18]) for i in infos):
        return [int(wanted)]
    raise UsageError(
        f"no dispatch {wanted[:40]!r}; there are:\n{table}",
        path=recording.path,
        kind="unknown_dispatch",
        hint=f"isaprof import {quote(str(recording.path))} --dispatch {infos[0].number}",
    )


def describe(info: DispatchInfo) -> str:
    """One line for people: number, kernel name, waves."""
    waves = "" if info.waves is None else f"  {info.waves} waves"
    return f"{info.number:>4}  {info.kernel or '(kernel name in the trace)'}{waves}"


def _alive(progress: Progress, n: int, total: int, done: int, packets: int) -> None:
    """Progress inside one buffer: the engines done so far."""
    progress(n, total, "decoding engines")


def decode_all(
    buffers: Sequence[tuple[int, Path]], warnings: list[Warning_], progress: Progress
) -> Mapping[int, EngineTrace]:
    """Decode the buffers of all engines; one that cannot be decoded becomes a warning.

    Raises the first error where no engine at all can be decoded.
    """
    from isaprof.parsers.sqtt.buffers import file_size, read_buffer
    from isaprof.parsers.sqtt.compiled import builds

    out: dict[int, EngineTrace] = {}
    first: BadInput | None = None
    columns = builds(sum(file_size(path) for _, path in buffers))
    lost: list[int] = []
    total = 0
    for n, (se, path) in enumerate(buffers):
        data = read_buffer(path)
        try:
            alive = partial(_alive, progress, n, len(buffers))
            out[se] = decode_engine(data, path=str(path), progress=alive, columns=columns)
        except BadInput as e:
            first = first or e
            kind = "empty_engine" if e.kind in _EMPTY_KINDS else "undecodable"
            lost.append(len(warnings))
            warnings.append(Warning_(kind, f"engine {se}: {e.message}", len(data), "bytes", se))
        total += len(data)
        progress(n + 1, len(buffers), "decoding engines")
    for i in lost:  # what share that is, is known only now
        w = warnings[i]
        share = f"; that is {(w.amount or 0) / max(total, 1):.0%} of the trace, the other engines are kept"
        warnings[i] = replace(w, message=w.message + share)
    if not out:
        raise first or BadInput("no trace buffer", kind="no_trace")
    generations = {t.header.generation.name for t in out.values()}
    if len(generations) > 1:
        raise BadInput(
            f"engines of different generations in one dispatch: {', '.join(sorted(generations))}",
            path=buffers[0][1].parent,
            kind="arch_mismatch",
            hint="keep the traces of one run in one folder",
        )
    return out
