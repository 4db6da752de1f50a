"""Running the arms on the simulator, and putting two runs side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.ab.model import Arm, Check, Result, Sample
from isaprof.backends.protocol import Progress, no_progress
from isaprof.errors import KernelFault

if TYPE_CHECKING:
    from isaprof.ab.source import Source
    from isaprof.attribution.model import Analysis
    from isaprof.backends.protocol import RawCapture
    from isaprof.isa.model import Listing
    from isaprof.launch.resolve import ResolvedLaunch

#: seeds of a comparison, unless told otherwise
SEEDS = 3


@dataclass(frozen=True, slots=True)
class SeedRun:
    """The outputs of one arm with one seed (first poison), and what is known of them."""

    launch: ResolvedLaunch
    outputs: dict[str, bytes] = field(repr=False)
    check: Check


@dataclass(frozen=True, slots=True)
class Run:
    """One executed arm; ``raw`` is what a capture is saved from."""

    source: Source
    seeds: tuple[SeedRun, ...]
    raw: RawCapture = field(repr=False)
    workgroups: tuple[int, int]  #: executed, of the launch


def seed_list(source: Source, count: int, first: int | None = None) -> tuple[int, ...]:
    """``count`` seeds from ``first`` (default: the launch file's) on."""
    base = source.file.seed if first is None else first
    return tuple(range(base, base + count))


def check_launches(a: Source, b: Source, shape: str | None, seeds: int = SEEDS) -> None:
    """Raise before anything runs what a long run would end in: a bad shape, outputs that do not match,
    operands that do not fit into memory once for each arm and seed."""
    from isaprof.ab.outputs import require_same_outputs
    from isaprof.launch.resolve import require_memory

    require_memory(a.file, shape, copies=2 * seeds)

    if a.file.operands is not b.file.operands:
        require_same_outputs(a.file.resolve(shape), b.file.resolve(shape))


def execute(
    source: Source,
    shape: str | None,
    seeds: Sequence[int],
    *,
    workgroups: str = "all",
    max_instructions: int | None = None,
    progress: Progress = no_progress,
) -> Run:
    """Run one arm: every seed with both poisons, and the first of them timed.

    Raises UsageError for a shape that does not fit and KernelFault naming the
    object; a wrong output is no error here.
    """
    from isaprof.ab.poison import examine, repoisoned
    from isaprof.backends.simulator import MAX_INSTRUCTIONS, Simulator
    from isaprof.isa.decode import disassemble

    limit = max_instructions or MAX_INSTRUCTIONS
    listing = disassemble(source.data, arch=source.co.arch, path=source.path)
    runs: list[SeedRun] = []
    raw: RawCapture | None = None
    count = total = 0
    for seed in seeds:
        launch = source.file.resolve(shape, seed=seed)
        simulator = Simulator(
            source.co, source.data, source.kernel, launch, workgroups=workgroups, max_instructions=limit
        )
        selected = simulator.selection
        count, total = selected.count, selected.total

        def step(done: int, of: int, what: str, seed: int = seed) -> None:
            progress(done, of, f"{source.name}, seed {seed}: {what}")

        try:
            if raw is None:
                raw = simulator.capture(step)
                outputs, verification = simulator.outputs, simulator.verification
            else:
                outputs = _outputs(source, listing, launch, simulator, step)
                verification = launch.verify(outputs, selected.run)
            second = _outputs(source, listing, repoisoned(launch), simulator, step)
        except KernelFault as e:
            e.path = e.path or source.path
            raise
        unwritten, unstable = examine(launch, outputs, second)
        if selected.run is not None:
            unwritten = verification.unwritten  # only the verdict knows which elements were due
        runs.append(SeedRun(launch, outputs, Check(seed, verification, unwritten, unstable)))
    if raw is None:
        raise ValueError("an arm needs at least one seed")
    return Run(source, tuple(runs), raw, (count, total))


def _outputs(
    source: Source, listing: Listing, launch: ResolvedLaunch, simulator: Any, progress: Progress
) -> dict[str, bytes]:
    from isaprof.sim import functional

    return functional.run(
        source.co,
        source.kernel,
        listing,
        launch,
        workgroups=simulator.selection.run,
        max_instructions=simulator.max_instructions,
        progress=progress,
    ).outputs


def capture_paths(sources: Sequence[Source], directory: Path, *, replace: bool = False) -> tuple[Path, ...]:
    """``A-<kernel>-<arch>-<n>.isaprof`` and so on: the first n free for all, or with ``replace`` 1."""
    from isaprof.capture import default_path
    from isaprof.capture.place import SUFFIX

    stems = [default_path(s.kernel.name, s.co.arch).stem.rpartition("-")[0] for s in sources]
    n = 1
    while True:
        paths = tuple(
            directory / f"{s.name}-{stem}-{n}{SUFFIX}" for s, stem in zip(sources, stems, strict=True)
        )
        if replace or not any(os.path.lexists(p) for p in paths):
            return paths
        n += 1


def save(run: Run, path: Path, *, force: bool = False) -> Path:
    """Write the capture of a run; errors as for isaprof.capture.save."""
    from isaprof.capture import save as save_capture

    meta = {**run.raw.meta, "warnings": [asdict(w) for w in run.raw.warnings]}
    save_capture(path, meta, run.raw.tables, run.raw.code_objects, force=force)
    return path


def arm(run_source: Source, checks: Sequence[Check], analysis: Analysis, capture: Path | None = None) -> Arm:
    """The arm as the views see it."""
    s = run_source
    return Arm(
        s.name,
        s.path,
        s.kernel.name,
        s.co.arch,
        s.co.sha256,
        s.text_sha256,
        s.file.origin,
        tuple(checks),
        (Sample.of(analysis),),
        capture,
    )


@dataclass(frozen=True, slots=True)
class Side:
    """What :func:`put_together` needs of an arm: run just now, or read back from disk."""

    source: Source
    seeds: tuple[SeedRun, ...]
    analysis: Analysis
    capture: Path
    workgroups: tuple[int, int]


def side(run: Run, capture: Path) -> Side:
    """The side of a run whose capture has been saved."""
    from isaprof.attribution.analyse import analyse
    from isaprof.capture import open as open_capture

    return Side(run.source, run.seeds, analyse(open_capture(capture)), capture, run.workgroups)


def put_together(a: Side, b: Side, *, allow_lossy: bool = False) -> Result:
    """Compare two arms that ran with the same seeds."""
    from isaprof.ab.flight import new_uses, uses_in_flight
    from isaprof.ab.outputs import difference, require_same_outputs
    from isaprof.ab.races import new_races, races
    from isaprof.capture import open as open_capture
    from isaprof.compare.align import compare
    from isaprof.compare.lossy import refuse_lossy

    refuse_lossy(a.analysis, b.analysis, allow=allow_lossy)
    notes: tuple[str, ...] = ()
    outputs = []
    for x, y in zip(a.seeds, b.seeds, strict=True):
        if x.check.seed != y.check.seed:
            raise ValueError("the arms ran with different seeds")
        notes = require_same_outputs(x.launch, y.launch)
        sampled = a.workgroups[0] < a.workgroups[1] or b.workgroups[0] < b.workgroups[1]
        outputs.append(difference(x.check.seed, x.launch, x.outputs, y.launch, y.outputs, sampled=sampled))
    arms = [arm(s.source, [r.check for r in s.seeds], s.analysis, s.capture) for s in (a, b)]
    for one in arms:
        if one.verified is None:
            notes += (f"{one.name} {one.message}",)
    models = [s.analysis.meta.get("model") for s in (a, b)]
    if models[0] != models[1]:
        notes += (f"the captures come from different timing models: {models[0]} and {models[1]}",)
    return Result(
        arms[0],
        arms[1],
        dict(a.seeds[0].launch.shape),
        a.workgroups,
        tuple(outputs),
        compare(a.analysis, b.analysis),
        notes,
        new_uses(*(uses_in_flight(open_capture(s.capture)) for s in (a, b)))
        + new_races(*(races(s.source, s.seeds[0].launch) for s in (a, b))),
    )
