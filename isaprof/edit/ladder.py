"""Steps of one kernel: begun, assembled, executed, compared, written down."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof.ab import run as ab
from isaprof.ab.source import Source, load_a, load_b
from isaprof.backends.protocol import Progress, no_progress
from isaprof.edit.model import (
    Against,
    Settings,
    Status,
    Step,
    description,
    step_name,
    with_description,
    without_description,
)
from isaprof.edit.store import Store, new_directory
from isaprof.errors import BadInput, EnvironmentProblem, IsaprofError, KernelFault, UsageError

if TYPE_CHECKING:
    from isaprof.ab.model import Result


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for; None: as the ladder has it, or the default."""

    shape: str | None = None
    kernel: str | None = None
    launch: Path | None = None
    seeds: int | None = None
    seed: int | None = None
    workgroups: str | None = None
    max_instructions: int | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A step that ran, against the step it was made from and against the original."""

    step: Step
    previous: Result | None
    original: Result | None


class Ladder:
    """One ladder; use :func:`open_ladder`."""

    def __init__(
        self, store: Store, settings: Settings, steps: list[Step], original: Source, limit: int | None
    ) -> None:
        self.store = store
        self.settings = settings
        self.steps = steps
        self._original = original
        self._limit = limit
        self._sides: dict[int, ab.Side] = {}

    # -- which step ------------------------------------------------------------
    def step(self, number: int) -> Step:
        """Step ``number``; UsageError that lists those there are."""
        found = next((s for s in self.steps if s.step == number), None)
        if found is None:
            known = ", ".join(str(s.step) for s in self.steps)
            raise UsageError(
                f"no step {number}: there are {known}", path=self.store.directory, kind="no_step"
            )
        return found

    @property
    def last_assembled(self) -> Step:
        """The step to go on from: the last one that assembled."""
        return [s for s in self.steps if s.status.assembled][-1]

    @property
    def open_step(self) -> Step | None:
        """The last step that was begun and not evaluated, if nothing came after it."""
        last = self.steps[-1]
        return last if last.status is Status.OPEN and self.source_path(last).exists() else None

    def source_path(self, step: Step) -> Path:
        return self.store.file(step.step, ".s")

    def changed(self, step: Step) -> bool:
        """Whether the step's text differs from that of its base (its description apart)."""
        if step.base is None:
            return False
        mine, base = self.store.text(step.step), self.store.text(step.base)
        return without_description(mine) != without_description(base)

    # -- one attempt -------------------------------------------------------------
    def begin(self, base: Step, text: str | None = None) -> Step:
        """A new step from ``base``: a copy of its source, or the ready source ``text``."""
        source = with_description(self.store.text(base.step), "") if text is None else text
        number = self.store.next_number(self.steps)
        self.store.write(self.store.file(number, ".s"), source.encode())
        step = Step(number, base.step, Status.OPEN, date=_now())
        self._record(step)
        return step

    def evaluate(self, step: Step, progress: Progress = no_progress) -> Outcome:
        """Assemble, execute and compare an open step, and write its row.

        Raises BadInput (does not assemble, no kernel to compare) and
        KernelFault after the row has been written. Whatever happens, the
        source stays; an interrupted step stays open.
        """
        number = step.step
        path = self.source_path(step)
        try:
            text = self.store.text(number)
            step = replace(step, description=description(text), date=_now())
            from isaprof.asm import assemble_text

            data = assemble_text(text, path)
        except EnvironmentProblem:
            raise
        except IsaprofError as e:
            self._record(replace(step, status=Status.NOT_ASSEMBLED, message=e.message))
            raise
        self.store.write(self.store.file(number, ".co"), data, force=True)
        try:
            source = self._source(number, data)
            step = replace(step, sha256=source.co.sha256, text_sha256=source.text_sha256)
            done = self._execute(source, progress)
        except KernelFault as e:
            e.message += _source_line(e, source, text, path)
            self._record(replace(step, status=Status.FAULT, message=str(e)))
            raise
        except (BadInput, UsageError) as e:
            self._record(replace(step, status=Status.REJECTED, message=str(e)))
            raise
        self._keep(number, done)
        step = _with_results(step, self._sides[number])
        previous = self._compare(step.base, number, progress)
        original = previous if step.base == 0 else self._compare(0, number, progress)
        step = replace(step, vs_previous=_against(step.base, previous), vs_original=_against(0, original))
        if original is not None and (not original.agree or original.in_flight):
            why = step.message if step.verified is False else original.problem
            step = replace(step, status=Status.WRONG, message=why)
        self._record(step)
        return Outcome(step, previous, original)

    def _record(self, step: Step) -> None:
        kept = [s for s in self.steps if s.step != step.step]
        self.steps = sorted([*kept, step], key=lambda s: s.step)
        self.store.save(self.settings, self.steps)

    # -- runs ----------------------------------------------------------------------
    def _source(self, number: int, data: bytes) -> Source:
        if number == 0:
            return self._original
        return load_b(self._original, self.store.file(number, ".co"), data, name=step_name(number))

    def _execute(self, source: Source, progress: Progress) -> ab.Run:
        s = self.settings
        return ab.execute(
            source, s.shape_text, s.seeds, workgroups=s.workgroups, max_instructions=self._limit,
            progress=progress,
        )  # fmt: skip

    def _keep(self, number: int, done: ab.Run) -> None:
        """Save capture and outputs of a run. They are derived: an interrupted step's are replaced."""
        capture = ab.save(done, self.store.file(number, ".isaprof"), force=True)
        outputs = {f"{r.check.seed}:{name}": data for r in done.seeds for name, data in r.outputs.items()}
        self.store.write_outputs(number, outputs)
        self._sides[number] = ab.side(done, capture)

    def _side(self, number: int, progress: Progress) -> ab.Side | None:
        """A step's results: read back, or computed again where they are gone; None where it never ran."""
        if number in self._sides:
            return self._sides[number]
        step = self.step(number)
        if not step.status.ran:
            return None
        found = self._read_side(step)
        if found is None:
            from isaprof.files import read_bytes

            data = read_bytes(self.store.file(number, ".co"))
            self._keep(number, self._execute(self._source(number, data), progress))
            return self._sides[number]
        self._sides[number] = found
        return found

    def _read_side(self, step: Step) -> ab.Side | None:
        from isaprof.ab.model import Check
        from isaprof.attribution.analyse import analyse
        from isaprof.capture import open as open_capture
        from isaprof.files import read_bytes
        from isaprof.launch.verify import Verification

        outputs = self.store.read_outputs(step.step)
        path = self.store.file(step.step, ".isaprof")
        if outputs is None or [c.get("seed") for c in step.checks] != list(self.settings.seeds):
            return None
        source = self._source(step.step, read_bytes(self.store.file(step.step, ".co")))
        seeds = []
        for c in step.checks:
            launch = source.file.resolve(self.settings.shape_text, seed=c["seed"])
            names = [o.name for o in launch.operands if o.role in ("output", "inout")]
            if any(f"{c['seed']}:{n}" not in outputs for n in names):
                return None
            check = Check(c["seed"], Verification(**c["verification"]), c["unwritten"], c["unstable"])
            seeds.append(ab.SeedRun(launch, {n: outputs[f"{c['seed']}:{n}"] for n in names}, check))
        try:
            capture = open_capture(path)
            analysis = analyse(capture)
        except BadInput:
            return None
        coverage = capture.meta.get("coverage") or {}
        ran = (int(coverage.get("workgroups_run", 0)), int(coverage.get("workgroups_total", 0)))
        return ab.Side(source, tuple(seeds), analysis, path, ran)

    def _compare(self, base: int | None, number: int, progress: Progress) -> Result | None:
        """``number`` against ``base``; None where the base never ran."""
        first = None if base is None else self._side(base, progress)
        second = self._side(number, progress) if number in self._sides else None
        return None if first is None or second is None else ab.put_together(first, second)


# -- opening ---------------------------------------------------------------------
@contextmanager
def open_ladder(
    directory: Path, path: Path, data: bytes, options: Options, progress: Progress = no_progress
) -> Iterator[Ladder]:
    """The ladder in ``directory``, made with step 0 (``data``, executed and timed) where there is none.

    Raises UsageError where the ladder there is of another object, kernel, shape
    or launch file, or another process works on it; BadInput and KernelFault
    where the original does not disassemble or run.
    """
    store = Store(directory)
    if not store.exists:
        _create(directory, path, data, options, progress)
    with store.lock():
        settings, steps = store.load()
        original = _original(store, settings, path, options)
        _same(directory, settings, _settings(original, options, settings), data)
        yield Ladder(store, settings, steps, original, options.max_instructions)


def _create(directory: Path, path: Path, data: bytes, options: Options, progress: Progress) -> None:
    from isaprof.asm import disassemble_object

    with new_directory(directory) as store:
        source = load_a(
            path, data, kernel=options.kernel, launch=options.launch, target=options.target, name=step_name(0)
        )
        settings = _settings(source, options, None)
        done = disassemble_object(data, path=path, arch=options.target)
        store.write(store.file(0, ".s"), with_description(done.text, "original").encode())
        store.write(store.file(0, ".co"), data)
        ladder = Ladder(store, settings, [], source, options.max_instructions)
        ladder._keep(0, ladder._execute(source, progress))
        step = Step(
            0, None, Status.VERIFIED, "original", sha256=source.co.sha256, text_sha256=source.text_sha256,
            date=_now(),
        )  # fmt: skip
        step = _with_results(step, ladder._sides[0])
        if done.kept_as_words:
            words = f"{done.kept_as_words} of {done.instructions} instructions stand as .long with their text"
            step = replace(step, message="; ".join(x for x in (step.message, words) if x))
        ladder._record(step)


def _original(store: Store, settings: Settings, path: Path, options: Options) -> Source:
    """Step 0, launched by the file that is given or that was found at the start."""
    from isaprof.files import read_bytes

    launch: Path | None = options.launch
    if launch is None and not settings.launch_file.startswith("builtin:"):
        launch = Path(settings.launch_file)
    return load_a(
        path, read_bytes(store.file(0, ".co")), kernel=options.kernel or settings.kernel, launch=launch,
        target=options.target, name=step_name(0),
    )  # fmt: skip


def _settings(source: Source, options: Options, old: Settings | None) -> Settings:
    from isaprof.launch.shape import parse_shape

    text = options.shape if options.shape is not None or old is None else old.shape_text
    count = options.seeds or (ab.SEEDS if old is None else len(old.seeds))
    first = old.seeds[0] if old is not None and options.seed is None else options.seed
    seeds = ab.seed_list(source, count, first)
    origin = source.file.origin
    launch_sha = None if origin.startswith("builtin:") else _file_sha256(origin)
    workgroups = options.workgroups or ("all" if old is None else old.workgroups)
    return Settings(
        source.path, source.co.sha256, source.kernel.name, source.co.arch,
        origin if launch_sha is None else str(Path(origin).absolute()), launch_sha,
        parse_shape(source.file, text), seeds, workgroups,
    )  # fmt: skip


def _same(directory: Path, old: Settings, new: Settings, data: bytes) -> None:
    """UsageError where figures of new steps could not be compared with those of the old ones."""
    pairs: list[tuple[str, Any, Any]] = [
        ("code object", old.sha256[:12], hashlib.sha256(data).hexdigest()[:12]),
        ("kernel", old.kernel, new.kernel),
        ("shape", old.shape_text, new.shape_text),
        (
            "launch file's content",
            (old.launch_sha256 or "built in")[:12],
            (new.launch_sha256 or "built in")[:12],
        ),
        ("seeds", list(old.seeds), list(new.seeds)),
        ("workgroups", old.workgroups, new.workgroups),
    ]
    for what, before, now in pairs:
        if before != now:
            raise UsageError(
                f"this ladder was begun with another {what}: {before}, now {now}",
                path=directory,
                kind="other_ladder",
                hint="begin another ladder with -o DIR",
            )


def _file_sha256(path: str) -> str:
    from isaprof.files import read_bytes

    return hashlib.sha256(read_bytes(path)).hexdigest()


def _with_results(step: Step, side: ab.Side) -> Step:
    """The row with verdict and cycles of a run."""
    arm = ab.arm(side.source, [r.check for r in side.seeds], side.analysis)
    sample = arm.samples[0]
    status = {True: Status.VERIFIED, False: Status.WRONG, None: Status.UNVERIFIED}[arm.verified]
    checks = [
        {
            "seed": c.seed, "unwritten": c.unwritten, "unstable": c.unstable,
            "verification": c.verification.to_dict(),
        }
        for c in arm.checks
    ]  # fmt: skip
    return replace(
        step, status=status, message="" if arm.verified else arm.message, verified=arm.verified,
        cosine=arm.cosine, max_rel_err=arm.max_rel_err, provenance=sample.provenance,
        cycles=sample.span_cycles, wave_cycles=sample.wave_cycles, waves=sample.waves, checks=tuple(checks),
    )  # fmt: skip


def _source_line(fault: KernelFault, source: Source, text: str, path: Path) -> str:
    """Where in the user's source the faulting instruction stands; empty where that is not known."""
    from isaprof.asm.source_map import source_lines

    pc = getattr(getattr(fault, "instruction", None), "pc", None)
    base = next((s.address for s in source.co.text if s.name == ".text"), None)
    if pc is None or base is None:
        return ""
    try:
        line = source_lines(text, path).get(pc - base)
    except IsaprofError:
        return ""
    return "" if line is None else f"; {path}:{line}"


def _against(base: int | None, result: Result | None) -> Against | None:
    if base is None or result is None:
        return None
    span = result.span
    bitwise = all(d.bitwise and d.equal == d.compared for d in result.outputs)
    counts = {k: v for k, v in result.comparison.counts.items() if k != "same" and v}
    agree = result.agree and not result.in_flight
    return Against(base, span.difference, span.ratio, span.percent, agree, bitwise, counts)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
