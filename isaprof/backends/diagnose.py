"""``isaprof doctor DIR``: what is wrong with a recording, and the command that comes next.

A recording is opened and read as ``isaprof import`` would; what that refuses
or warns about becomes a :class:`Diagnosis`, and so does what rocprofv3 printed
into a file that lies beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from isaprof.backends.absent import printed
from isaprof.backends.recorded import DispatchInfo, Recorded, open_recording
from isaprof.capture.model import Warning_
from isaprof.errors import IsaprofError
from isaprof.parsers.untraced import retarget

if TYPE_CHECKING:
    from isaprof.backends.protocol import RawCapture

#: recordings up to this size are read whole, bytes; larger ones are only opened
WHOLE = 1 << 26
_LARGER = (
    "rocprofv3 --att --att-buffer-size 1073741824 -d DIR -- APP   or fewer engines (--att-shader-engine-mask)"
)
#: kinds of warnings that say something is wrong -> what to do ({} is the import command)
_NEXT = {
    "data_lost": _LARGER,
    "buffer_full": _LARGER,
    "wave_incomplete": _LARGER,
    "truncated": "copy the recording again",
    "changed": "copy the recording again",
    "bad_results": "copy the recording again",
    "missing_file": "copy the recording again",
    "undecodable": "{}   keeps the other engines; --strict refuses",
    "stitch_incomplete": "{}   with the code object that ran beside it; --decoder rocprof: a second opinion",
    "unknown_packet": "{} --decoder rocprof   is a second opinion",
    "empty_engine": "rocprofv3 --att --att-shader-engine-mask MASK -d DIR -- APP   of engines with waves",
    "decoder_4_cycles": "{} --decoder isaprof",
}  # fmt: skip
#: not wrong: a capture is no recording, but it can be shown
_FINE = frozenset({"is_a_capture"})


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """``kind`` is a stable slug, ``next`` the command or step to try."""

    kind: str
    message: str
    next: str
    dispatch: int | None = None
    se: int | None = None


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found. ``read``: the dispatches were decoded, not only listed."""

    dispatches: tuple[DispatchInfo, ...]
    diagnoses: tuple[Diagnosis, ...]
    read: bool = True


def examine(path: Path) -> Examined:
    """Open and read the recording at ``path``; nothing is raised for what is wrong with it."""
    found = [Diagnosis(p.kind, f"{p.message} ({log.name} says {p.text!r})", p.fix)
             for log, p in (printed(path) if path.is_dir() else ())]  # fmt: skip
    try:
        recording = open_recording(path)
        infos = recording.dispatches
    except IsaprofError as e:
        wrong = _of_capture(path) if e.kind in _FINE else _of_error(e, path)
        return Examined((), tuple(_without_repeats([*found, *wrong])))
    whole = _size(path) <= WHOLE
    if whole:
        for info in infos:
            found.extend(_of_dispatch(recording, info.number, path))
    return Examined(infos, tuple(_without_repeats(found)), whole)


def _size(path: Path) -> int:
    try:
        return sum(p.stat().st_size for p in (path.rglob("*") if path.is_dir() else (path,)) if p.is_file())
    except OSError:
        return 0


def _of_capture(path: Path) -> Iterator[Diagnosis]:
    """What keeps a capture from being shown: every table and code object is read once."""
    from isaprof.capture import open as open_capture

    try:
        capture = open_capture(path)
        for name in capture.meta["tables"]:
            capture.table(name)
        _ = capture.code_objects
    except IsaprofError as e:
        yield from _of_error(e, path)


def _of_error(e: IsaprofError, path: Path, dispatch: int | None = None) -> Iterator[Diagnosis]:
    if e.kind not in _FINE:
        yield Diagnosis(e.kind, str(e), e.hint or f"ls -l {quote(str(path))}", dispatch)


def _of_dispatch(recording: Recorded, number: int, path: Path) -> Iterator[Diagnosis]:
    command = f"isaprof import {quote(str(path))}"
    if len(recording.dispatches) > 1:
        command += f" --dispatch {number}"
    try:
        raw = recording.read(number)
    except IsaprofError as e:
        yield from _of_error(e, path, number)
        return
    for w in raw.warnings:
        if w.kind == "no_traced_waves":
            yield from _untraced(w, raw, number)
        elif w.kind in _NEXT:
            yield Diagnosis(w.kind, w.message, _NEXT[w.kind].format(command), number, w.se)


def _untraced(w: Warning_, raw: RawCapture, number: int) -> Iterator[Diagnosis]:
    """No wave on the target. (Waves there that wrote no packet ran an empty kernel: nothing is wrong.)"""
    waves = raw.tables.get("waves")
    if waves is None or "wrote no instruction packet" in w.message:
        return
    units = Counter(zip(waves["se"].tolist(), waves["cu"].tolist(), strict=True))
    yield Diagnosis("target_cu_empty", w.message, retarget(units), number)


def _without_repeats(found: list[Diagnosis]) -> Iterator[Diagnosis]:
    seen: set[tuple[str, int | None, int | None]] = set()
    for d in found:
        key = (d.kind, d.dispatch, d.se)
        if key not in seen:
            seen.add(key)
            yield d
