"""Do two objects compute the same? Both run on the simulator, bit for bit.

Every output, inout and padding byte counts. Outputs hold the poison of their
type before the run, so that what is not written is compared as well. The
simulator completes every load at once: an equal result says nothing about
wait counts, which are proven by :mod:`isaprof.analysis.waits` instead, and by
following them along the paths that the waves took here.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isaprof.analysis.replay import Replay
from isaprof.backends.protocol import no_progress
from isaprof.errors import KernelFault, UsageError, VerificationFailed

if TYPE_CHECKING:
    from isaprof.backends.protocol import Progress
    from isaprof.launch.file import LaunchFile
    from isaprof.launch.resolve import ResolvedLaunch
    from isaprof.transforms.context import Context

#: random shapes, and seeds for each shape
SHAPES, SEEDS = 3, 2
#: bytes of operands and workgroups that a random shape may have, as a multiple of the default shape's
_GROWTH = 2
#: draws before no more legal shapes are looked for
_DRAWS = 400
#: workgroups whose waves are followed along their path
_FOLLOWED = 4
MAX_INSTRUCTIONS = 200_000_000


@dataclass(frozen=True)
class Trial:
    """One launch that both objects run."""

    shape: str  #: as for --shape
    seed: int


def trials(
    file: LaunchFile, shapes: Sequence[str] = (), *, count: int = SHAPES, seeds: int = SEEDS
) -> list[Trial]:
    """The shapes asked for (none: the default shape), then random legal ones, with several seeds each.

    Raises UsageError where a shape asked for is not legal, or the launch file
    has no default and none is asked for.
    """
    first = [file.resolve(s) for s in shapes] or [file.resolve(None)]
    texts = [_text(r.shape) for r in first]
    random_shapes = _random_shapes(file, first[0], frozenset(texts), count)
    more = seeds * (count - len(random_shapes))  # where few other shapes are legal, more seeds
    todo = [Trial(s, file.seed + k) for s in texts for k in range(seeds + more)]
    return todo + [Trial(s, file.seed + k) for s in random_shapes for k in range(seeds)]


def _text(shape: dict[str, int]) -> str:
    return ",".join(f"{axis}={size}" for axis, size in shape.items())


def _random_shapes(file: LaunchFile, base: ResolvedLaunch, known: frozenset[str], count: int) -> list[str]:
    """Legal shapes around the base shape, of at most about its size; fewer where few are legal."""
    rng = random.Random(file.seed)
    limit = _GROWTH * (sum(int(o.data.size) for o in base.operands) + 4096)
    out: list[str] = []
    for _ in range(_DRAWS):
        if len(out) == count:
            break
        # options (splits, flags) stay as they are: only axes have a size to vary
        shape = {n: _draw(rng, size) if n in file.axes else size for n, size in base.shape.items()}
        text = _text(shape)
        elements = 1
        for axis in file.axes:
            elements *= shape[axis]
        if text in known or text in out or elements > 64 * limit:
            continue
        try:
            launch = file.resolve(text)
        except UsageError:
            continue
        size = sum(int(o.data.size) for o in launch.operands)
        if size <= limit and launch.workgroups <= _GROWTH * base.workgroups + 8:
            out.append(text)
    return out


def _draw(rng: random.Random, size: int) -> int:
    """A size near ``size``: a ratio of small numbers, so that multiples of a tile stay multiples."""
    step = 1 << rng.randrange(0, max(1, size.bit_length()))
    if rng.random() < 0.3:
        return rng.randrange(1, 2 * size + 1)
    return max(1, step * rng.randrange(1, max(2, 2 * size // step + 1)))


def prove(
    before: Context,
    after: Context,
    index: Mapping[int, int],
    file: LaunchFile,
    todo: Iterable[Trial],
    progress: Progress = no_progress,
) -> list[str]:
    """Run both on every trial; the proof as lines. ``index``: instruction of ``before`` -> of ``after``.

    Raises VerificationFailed where an output differs, or where on a path that a
    wave took the second object touches a result that may still be in flight and
    the first does not; KernelFault where either cannot be run.
    """
    steps: list[str] = []
    for trial in todo:
        launch = file.resolve(trial.shape, seed=trial.seed)
        a = _run(before, launch, "before the edit", progress)
        b = _run(after, launch, "after the edit", progress)
        what = f"{trial.shape}, seed {trial.seed}"
        total = 0
        for name, x in a.outputs.items():
            y = b.outputs[name]
            total += len(x)
            if x != y:
                at = next(i for i, (p, q) in enumerate(zip(x, y, strict=True)) if p != q)
                raise VerificationFailed(
                    f"{what}: output {name} differs from byte {at} on: {x[at]:#04x} before, "
                    f"{y[at]:#04x} after",
                    kind="outputs_differ",
                )
        known = {(index.get(user, -1), index.get(op, -1)) for user, op in a.hazards}
        for pair, hazard in b.hazards.items():
            if pair not in known:
                raise VerificationFailed(f"{what}: {hazard}", kind="in_flight")
        verdict = launch.verify(b.outputs)
        word = {True: "both right", False: "both differ from the reference", None: "no reference"}
        steps.append(
            f"{what}: {total:,} output bytes equal ({word[verdict.verified]}); {b.steps:,} instructions of "
            f"{b.waves} waves followed, no result used in flight"
        )
    return steps


@dataclass(frozen=True)
class _Ran:
    outputs: dict[str, bytes]
    hazards: dict[tuple[int, int], str]
    steps: int
    waves: int


def _run(context: Context, launch: ResolvedLaunch, what: str, progress: Progress) -> _Ran:
    from isaprof.sim import functional

    n = launch.workgroups
    chosen = {_id(i * n // _FOLLOWED, launch.grid) for i in range(_FOLLOWED)}
    try:
        result = functional.run(
            context.co,
            context.kernel,
            context.listing,
            launch,
            trace=chosen.__contains__,
            max_instructions=MAX_INSTRUCTIONS,
            progress=lambda done, total, step: progress(done, total, f"{what}: {step}"),
        )
    except KernelFault as e:
        e.message = f"{what}: {e.message}"
        raise
    replay = Replay(context.listing.instructions, context.counter_maxima)
    paths = [w.lines.tolist() for t in result.traces for w in t.waves]
    hazards: dict[tuple[int, int], str] = {}
    for path in paths:
        hazards.update(replay.hazards(path))
    return _Ran(result.outputs, hazards, sum(map(len, paths)), len(paths))


def _id(i: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    return i % grid[0], i // grid[0] % grid[1], i // (grid[0] * grid[1])
