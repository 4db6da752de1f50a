"""Fit the constants that belong to a device, not to the instruction set, to its traces.

Each fitted constant has one component of a wave's life that it rules; it is
moved until that component's error (a share of what was measured, summed over
captures) is smallest. Constants
of the warm stretches are never fitted: their error is what the model is judged by.

Captures of one device differ in the state it was in. The shader clock is known
from the recording, and the model follows it. Whether the device had the code
and its translations at hand is not: a first use only adds to the launch, two or
three times what it takes otherwise. A launch is therefore fitted to the
captures in the faster state, and the others are named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isaprof.accuracy.measure import Component, Judge
from isaprof.accuracy.replay import replay
from isaprof.accuracy.tables import overlay
from isaprof.arch.table import Fact
from isaprof.errors import BadInput
from isaprof.sim.timing.calibration import Calibration, Constants, get

if TYPE_CHECKING:
    from isaprof.accuracy.recording import Recording
    from isaprof.accuracy.replay import Addresses

    Prepared = tuple[str, Recording, Addresses]

#: constant -> the component it rules
FITTED: Mapping[str, Component] = {
    "wave_start_cold": Component.LAUNCH,
    "wave_start_warm": Component.LAUNCH,
    "smem_cold": Component.SCALAR,
    "global_cold": Component.VECTOR,
    "global_cold_few_lanes": Component.VECTOR,
    "icache_miss_cold": Component.FETCH,
    "endpgm_after_store": Component.DRAIN,
    "endpgm_idle": Component.DRAIN,
}
#: components to which a device that is colder adds, in a way that no capture shows beforehand
STATE = frozenset({Component.LAUNCH})
#: how much more than in the fastest capture a component takes before it counts as another state
STATE_FACTOR = 1.4
#: factors tried around a constant, coarse first
_COARSE = (0.0625, 0.125, 0.25, 0.35, 0.5, 0.7, 0.85, 1.15, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0)
_FINE = (0.9, 0.95, 0.975, 0.99, 1.01, 1.025, 1.05, 1.1)
_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Fit:
    """One constant: built-in and fitted value (cycles), and its component's error before and after.

    Errors are shares of the measured cycles, summed over the captures it was
    fitted to; ``left_out``: captures in another state of the device.
    """

    name: str
    component: Component
    before: int
    after: int
    error_before: float
    error_after: float
    left_out: tuple[str, ...] = ()


def calibrate(
    captures: Sequence[Prepared], name: str, progress: Callable[[int, int, str], None] | None = None
) -> tuple[Calibration, dict[str, Fact], tuple[Fit, ...]]:
    """Fit to prepared captures (name, recording, addresses) of one architecture.

    Gives the calibration, the facts that moved, and the fits. Raises BadInput
    where the captures are of several architectures.
    """
    archs = sorted({r.capture.arch for _, r, _ in captures})
    if len(archs) != 1:
        raise BadInput(
            f"captures of several architectures ({', '.join(archs)}); a table is for one",
            kind="several_architectures",
            hint="calibrate each architecture by itself",
        )
    arch = archs[0]
    start = Constants(captures[0][1].table, get(arch))
    source = "fitted to " + ", ".join(n for n, _, _ in captures)
    keys = [k for k in FITTED if start.fact(k) is not None]
    facts: dict[str, Fact] = {}
    done = 0

    first_replays = [replay(r, a) for _, r, a in captures]
    judges = [Judge(r, replayed) for (_, r, _), replayed in zip(captures, first_replays, strict=True)]
    apart = other_states([j.ratios(p) for j, p in zip(judges, first_replays, strict=True)])

    def errors(trial: Mapping[str, Fact], wanted: Component | None = None) -> dict[Component, float]:
        """Summed over captures; with ``wanted``, those that say nothing about it are not replayed."""
        total: dict[Component, float] = {}
        for n, (judge, (_, recording, addresses)) in enumerate(zip(judges, captures, strict=True)):
            if wanted is not None and (wanted not in judge.components or n in apart.get(wanted, ())):
                continue
            result = replay(recording, addresses, calibration=overlay(arch, trial, name))
            for component, error in judge.errors(result).items():
                if n not in apart.get(component, ()):
                    total[component] = total.get(component, 0.0) + error
        return total

    def fact(key: str, value: int) -> Fact:
        known = start.fact(key)
        return Fact(value, known.unit if known else "cycles", source, "M")

    first = errors({})
    for _ in range(_ROUNDS):
        for key in keys:
            component = FITTED[key]
            best = int(facts[key].value if key in facts else start[key])
            least = errors(facts, component).get(component, 0.0)
            for factors in (_COARSE, _FINE):
                centre = best
                # the nearest first: of values that fit alike (a floor in the model) the least change is kept
                for factor in sorted(factors, key=lambda f: abs(math.log(f))):
                    value = max(1, round(centre * factor))
                    error = errors({**facts, key: fact(key, value)}, component).get(component, 0.0)
                    if error < least:
                        best, least = value, error
                        facts[key] = fact(key, value)
            done += 1
            if progress is not None:
                progress(done, len(keys) * _ROUNDS, f"fitting {key}")
    last = errors(facts)
    fits = tuple(
        Fit(
            k,
            FITTED[k],
            int(start[k]),
            int(facts[k].value),
            first.get(FITTED[k], 0.0),
            last.get(FITTED[k], 0.0),
            tuple(captures[n][0] for n in apart.get(FITTED[k], ())),
        )
        for k in facts
    )
    return overlay(arch, facts, name), facts, fits


def other_states(ratios: Sequence[Mapping[Component, float]]) -> dict[Component, tuple[int, ...]]:
    """Captures (by number) that a component of ``STATE`` shows in another state than the fastest one.

    ``ratios``: measured over modelled cycles by component, one mapping a
    capture. Ratios are compared, because clock and code differ between captures.
    """
    out: dict[Component, tuple[int, ...]] = {}
    for component in STATE:
        mine = {n: r[component] for n, r in enumerate(ratios) if r.get(component, 0) > 0}
        least = min(mine.values(), default=0.0)
        out[component] = tuple(n for n, r in mine.items() if r > STATE_FACTOR * least)
    return out
