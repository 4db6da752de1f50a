"""Captures in, agreements out: what ``isaprof validate`` does for each recorded dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.accuracy.measure import Agreement, agreement
from isaprof.accuracy.recording import Recording, read
from isaprof.accuracy.replay import MAX_ADDRESS_WORKGROUPS, Addresses, execute
from isaprof.accuracy.replay import replay as replay_waves
from isaprof.accuracy.tables import for_arch
from isaprof.errors import BadInput, IsaprofError, UsageError

if TYPE_CHECKING:
    from isaprof.backends.recorded import Recorded
    from isaprof.capture.model import Capture
    from isaprof.launch.resolve import ResolvedLaunch
    from isaprof.sim.timing.calibration import Calibration

#: directory levels searched for recordings below a given one
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """One recorded dispatch: its agreement, or why there is none."""

    name: str
    agreement: Agreement | None
    problem: str = ""
    hint: str | None = None


def validate(
    capture: Capture,
    *,
    launch: Path | None = None,
    shape: str | None = None,
    calibration: Calibration | None = None,
) -> Agreement:
    """Replay a measured capture in the timing model and compare.

    Addresses come from executing the kernel where a launch file describes it
    (``launch``, or a built-in one) at the recorded grid. Raises BadInput for a
    capture that is not measured or cannot be replayed.
    """
    recording, addresses, notes = prepare(measured(capture), launch=launch, shape=shape)
    result = agreement(recording, replay_waves(recording, addresses, calibration=calibration))
    return replace(result, notes=(*result.notes, *notes))


def measured(capture: Capture) -> Capture:
    """The capture itself; BadInput for one that the model made: it cannot judge itself."""
    from isaprof.capture.model import Provenance

    if capture.provenance is not Provenance.MEASURED:
        raise BadInput(
            "is modelled: only a hardware trace can judge the model",
            path=capture.path,
            kind="not_measured",
            hint="isaprof import DIR   makes a capture of a hardware trace",
        )
    return capture


def prepare(
    capture: Capture,
    *,
    launch: Path | None = None,
    shape: str | None = None,
    workgroups: int = MAX_ADDRESS_WORKGROUPS,
) -> tuple[Recording, Addresses, tuple[str, ...]]:
    """A capture's paths and, where the kernel can be executed, its addresses; notes say where not.

    ``workgroups``: how many are executed at most.
    """
    recording = read(capture)
    try:
        resolved = _launch(recording, launch, shape)
        return recording, execute(recording, resolved, workgroups), ()
    except IsaprofError as e:
        if launch is not None or shape is not None:
            raise
        return recording, Addresses(), (f"addresses are assumed (side by side, no conflict): {e.message}",)


def _launch(recording: Recording, launch: Path | None, shape: str | None) -> ResolvedLaunch:
    from isaprof.launch import find

    recorded = recording.capture.meta.get("launch") or {}
    said = launch
    if launch is None:
        launch = _recorded_file(recording, recorded)
    if shape is None and isinstance(recorded.get("shape"), dict):
        shape = ",".join(f"{axis}={n}" for axis, n in recorded["shape"].items())
    file = find(recording.kernel, recording.co, None, launch)
    resolved = file.resolve(shape, seed=recorded.get("seed"))
    operands = [(o["name"], o["dtype"]) for o in resolved.describe()["operands"]]
    theirs = [(o.get("name"), o.get("dtype")) for o in recorded.get("operands") or ()]
    if said is None and theirs and operands != theirs:
        raise UsageError(
            f"{file.origin} is not the launch file that the capture was made with",
            kind="other_launch",
            hint="--launch FILE",
        )
    for name, ours in (("grid", resolved.grid), ("workgroup", resolved.workgroup)):
        known = recorded.get(name)
        if known is not None and tuple(known) != tuple(ours):
            raise UsageError(
                f"{file.origin} gives {name} {_dims(ours)}, the trace has {_dims(known)}",
                kind="other_shape",
                hint="--shape with the recorded shape",
            )
    return resolved


def _recorded_file(recording: Recording, recorded: dict[str, Any]) -> Path | None:
    """The launch file that a simulated capture names, where it lies here or beside the capture."""
    origin = Path(str(recorded.get("launch_file") or ""))
    if not origin.name or str(origin).startswith("builtin:"):
        return None
    beside = [] if recording.capture.path is None else [recording.capture.path.parent]
    for folder in (Path(), *beside):
        if (folder / origin).is_file():
            return folder / origin
    return None


def _dims(values: Sequence[int]) -> str:
    return "x".join(str(v) for v in values)


def collect(paths: Sequence[Path]) -> Iterator[tuple[str, Capture | IsaprofError]]:
    """Every capture and every recorded dispatch at or below ``paths``, by name; errors stand for themselves.

    Raises BadInput where a path holds none at all.
    """
    for path in paths:
        if not path.exists():
            raise BadInput("no such file or directory", path=path, kind="not_found", hint=f"ls {path.parent}")
        found = list(_below(path, _DEPTH))
        if not found:
            raise BadInput(
                "no capture and no trace folder here"
                if path.is_dir()
                else "is a file; a capture is a folder",
                path=path,
                kind="no_trace",
                hint="isaprof doctor DIR   says what is wrong with a trace folder",
            )
        for place in found:
            yield from _open(place, path)


def _below(path: Path, depth: int) -> Iterator[Path]:
    if (path / "capture.json").is_file() or _is_recording(path):
        yield path
        return
    if depth == 0 or not path.is_dir():
        return
    for entry in sorted(path.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from _below(entry, depth - 1)


def _is_recording(path: Path) -> bool:
    from isaprof.backends.recorded import open_recording

    try:
        open_recording(path)
    except IsaprofError:
        return False
    return True


def _open(place: Path, root: Path) -> Iterator[tuple[str, Capture | IsaprofError]]:
    import isaprof
    from isaprof.backends.recorded import open_recording

    name = str(place.relative_to(root)) if place != root else place.name or str(place)
    try:
        if (place / "capture.json").is_file():
            yield name, isaprof.open(place)
            return
        recording = open_recording(place)
        numbers = [d.number for d in recording.dispatches]
    except IsaprofError as e:
        yield name, e
        return
    for n in numbers:
        label = name if len(numbers) == 1 else f"{name} dispatch {n}"
        try:
            yield label, _read(recording, n)
        except IsaprofError as e:
            yield label, e


def _read(recording: Recorded, number: int) -> Capture:
    """One dispatch as a capture in memory. It goes over the disk as ``import``'s does."""
    import tempfile
    from dataclasses import asdict

    from isaprof.capture import save
    from isaprof.capture.schema import TABLES

    raw = recording.read(number)
    meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
    with tempfile.TemporaryDirectory(prefix="isaprof-") as directory:
        capture = save(Path(directory) / "capture.isaprof", meta, raw.tables, raw.code_objects)
        for name in filter(capture.has, TABLES):
            capture.table(name)
        capture.code_objects  # noqa: B018 - read while the files are there
    return capture


def validate_all(
    paths: Sequence[Path],
    *,
    launch: Path | None = None,
    shape: str | None = None,
    calibrations: dict[str, Calibration] | None = None,
) -> Iterator[Outcome]:
    """:func:`validate` for everything :func:`collect` finds; what cannot be replayed says why."""
    for name, item in collect(paths):
        if isinstance(item, IsaprofError):
            yield Outcome(name, None, item.message, item.hint)
            continue
        try:
            table = for_arch(calibrations or {}, item.arch)
            yield Outcome(name, validate(item, launch=launch, shape=shape, calibration=table))
        except IsaprofError as e:
            yield Outcome(name, None, e.message, e.hint)
