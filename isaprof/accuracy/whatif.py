"""What an edit would change: recorded waves timed again with and without it.

Both sides are replays in the timing model of the same waves, on their recorded
SIMDs, slots and start cycles (waves that the model itself dispatched are
dispatched again); only the edit differs, so the model's errors that both share
cancel. How far those that remain move the answer is the interval:

- the same question asked with latencies and rates a quarter lower and higher;
- on a measured capture, what the replay is off by at the edited instructions
  and in the components of a wave's life whose cycles change
  (:mod:`isaprof.accuracy.measure`).

Launch, the cold first accesses and the drain are the same before and after
unless the edit moves them: what the model gets wrong there cancels, and is not
part of the interval. Code that an edit makes longer is fetched longer; that is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from isaprof.accuracy.recording import Recording
from isaprof.accuracy.replay import Addresses, Edit, Traces
from isaprof.arch.table import Fact
from isaprof.sim.timing.calibration import Calibration, Constants, get

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.accuracy.replay import Replayed

#: constants that the interval moves, by kind
_CONSTANTS: dict[str, tuple[str, ...]] = {
    "memory latency": (
        "smem_cold", "smem_hit", "global_cold", "global_cold_few_lanes", "l1_latency", "mid_l1_latency",
        "l2_latency", "mall_latency_ns", "dram_latency_ns", "tlb_walk",
    ),
    "memory bandwidth": ("l2_bytes_per_cycle", "memory_bandwidth_gb_s"),
    "LDS latency": ("lds_read_latency", "lds_write_latency"),
    "ALU latency": ("valu_dep_latency", "valu_to_mem", "valu_sgpr_to_salu"),
    "instruction fetch": ("icache_miss_cold", "icache_sequential_miss", "icache_branch_miss"),
}  # fmt: skip
#: how far they are moved
SPREAD = 0.25
#: lines whose change is told
LINES = 6


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Cycles before and after an edit; all figures are modelled, unless they say otherwise.

    ``wave_cycles``: lifetimes of the traced waves, summed. ``span``: first begin
    to last end. Each (before, after). ``low``/``high``: bounds of the change of
    ``wave_cycles``: the smallest and largest over the ``variants`` (name,
    change), ``own_error`` cycles further apart on a measured capture.
    """

    edit: str
    wave_cycles: tuple[int, int]
    span: tuple[int, int]
    low: int
    high: int
    variants: tuple[tuple[str, int], ...]
    waves: int
    addresses: int  #: waves with executed addresses
    recorded_cycles: int  #: wave cycles of the capture itself
    recorded_span: int  #: first begin to last end of these waves in the capture
    provenance: str  #: of the capture
    calibration: str
    #: where the change is: (capture line, text, cycles); line None for what the edit put in
    lines: tuple[tuple[int | None, str, int], ...] = ()
    #: span's change over the variants, as low and high
    span_low: int = 0
    span_high: int = 0
    own_error: int = 0  #: cycles the replay is off by where the edit matters; 0 for a modelled capture
    notes: tuple[str, ...] = ()

    @property
    def change(self) -> int:
        """Change of the waves' cycles; negative is a gain."""
        return self.wave_cycles[1] - self.wave_cycles[0]

    @property
    def span_change(self) -> int:
        return self.span[1] - self.span[0]

    @property
    def measured(self) -> bool:
        """Whether the waves that were timed again come from hardware."""
        return self.provenance == "measured"


class Retimer:
    """Times a recording again under edits; what is common to all of them is done once."""

    def __init__(
        self, recording: Recording, addresses: Addresses, calibration: Calibration | None = None
    ) -> None:
        self.recording = recording
        self.addresses = addresses
        self.start = calibration or get(recording.capture.arch)
        self._before: dict[str, Replayed] = {}

    @cached_property
    def variants(self) -> Mapping[str, Calibration]:
        """The constants as they are, then each kind of them lower and higher."""
        known = Constants(self.recording.table, self.start)
        out = {"as calibrated": self.start}
        for kind, keys in _CONSTANTS.items():
            for factor in (1 - SPREAD, 1 + SPREAD):
                facts = {k: _scaled(f, factor) for k in keys if (f := known.fact(k)) is not None}
                if facts:
                    name = f"{kind} {factor:.2f}x"
                    out[name] = Calibration(f"{self.start.id}, {name}", {**self.start.facts, **facts})
        return out

    @cached_property
    def steps(self) -> int:
        """Wave-instructions of one replay, waves that were not traced included."""
        paths = [w.path for u in self.recording.units for g in u.groups for w in g]
        known = [len(p.lines) for p in paths if p is not None]
        return len(paths) * (max(known, default=0) if len(known) < len(paths) else 0) or sum(known)

    @cached_property
    def _traces(self) -> Traces:
        return Traces(self.recording, self.addresses, Edit())

    def before(self, name: str) -> Replayed:
        """The replay without an edit under one of the variants, with records as calibrated."""
        if name not in self._before:
            table = self.variants[name]
            self._before[name] = self._traces.replay(table, records=table is self.start)
        return self._before[name]

    def change(self, edit: Edit, title: str, *, notes: Sequence[str] = ()) -> WhatIf:
        """Replay with ``edit`` under all variants.

        Raises KernelFault where the edited waves cannot finish (a barrier that
        some waves no longer reach).
        """
        after: Replayed | None = None
        traces = Traces(self.recording, self.addresses, edit)
        cycles: list[tuple[str, int]] = []
        spans: list[int] = []
        for name, table in self.variants.items():
            one = traces.replay(table, records=table is self.start)
            cycles.append((name, _cycles(one) - _cycles(self.before(name))))
            spans.append(_span(one) - _span(self.before(name)))
            after = after or one
        assert after is not None
        first = self.before("as calibrated")
        by_line = _less(_by_line(after, edit.origin), _by_line(first, None))
        off = self._own_error(edit, by_line)
        in_span = math.ceil(off * _span(first) / max(1, _cycles(first)))  # the waves run side by side
        return WhatIf(
            title,
            (_cycles(first), _cycles(after)),
            (_span(first), _span(after)),
            min(c for _, c in cycles) - off,
            max(c for _, c in cycles) + off,
            tuple(cycles),
            len(first.waves),
            first.matched,
            self._recorded["cycles"],
            self._recorded["span"],
            self.recording.capture.provenance.value,
            self.start.id,
            _told(self.recording, by_line),
            min(spans) - in_span,
            max(spans) + in_span,
            off,
            tuple(notes),
        )

    def _own_error(self, edit: Edit, by_line: Mapping[int, int]) -> int:
        """Cycles by which the replay without the edit is off where the edit matters.

        0 where it is the capture: one that the model made, replayed with its own addresses.
        """
        if self._exact:
            return 0
        off = 0.0
        for line, (error, share) in self._line_errors.items():
            if line in edit.touched:
                off += error
            off += share * abs(by_line.get(line, 0))
        first = self.before("as calibrated")
        if first.matched < len(
            first.waves
        ):  # other addresses: what that does to all waves, it may do to the edit
            off += abs(_cycles(first) - self._recorded["cycles"])
        return round(off)

    @cached_property
    def _recorded(self) -> Mapping[str, int]:
        """``cycles`` and ``span`` of the traced waves in the capture itself."""
        waves = self.recording.capture.waves
        traced = waves[waves["wave"].isin(self.before("as calibrated").waves["wave"])]
        span = int(traced["end"].max() - traced["begin"].min()) if len(traced) else 0
        return {"cycles": int((traced["end"] - traced["begin"]).sum()), "span": span}

    @cached_property
    def _exact(self) -> bool:
        theirs = self.recording.capture.waves.set_index("wave")
        ours = self.before("as calibrated").waves.set_index("wave")
        return bool((theirs.loc[ours.index, ["begin", "end"]] == ours[["begin", "end"]]).all(axis=None))

    @cached_property
    def _line_errors(self) -> Mapping[int, tuple[int, float]]:
        from isaprof.accuracy.measure import line_errors

        return line_errors(self.recording, self.before("as calibrated"))


def whatif(
    recording: Recording,
    addresses: Addresses,
    edit: Edit,
    title: str,
    *,
    calibration: Calibration | None = None,
    notes: Sequence[str] = (),
) -> WhatIf:
    """One edit of one recording; see :meth:`Retimer.change`."""
    return Retimer(recording, addresses, calibration).change(edit, title, notes=notes)


def _cycles(r: Replayed) -> int:
    return int((r.waves["end"] - r.waves["begin"]).sum())


def _span(r: Replayed) -> int:
    return int(r.waves["end"].max() - r.waves["begin"].min()) if len(r.waves) else 0


def _by_line(replayed: Replayed, origin: Mapping[int, int] | None) -> dict[int, int]:
    """Cycles up to each line's issue, summed over waves; -1 for lines that are none of the recording's."""
    from isaprof.accuracy.measure import gap_cycles

    rows: pd.DataFrame = replayed.records[["wave", "step", "line"]].assign(
        at=replayed.records["time"] + replayed.records["stall"]
    )
    rows = rows.sort_values(["wave", "step"], ignore_index=True)
    rows["gap"] = gap_cycles(rows, "at", replayed.waves)
    if origin is not None:
        rows["line"] = [origin.get(n, -1) for n in rows["line"].tolist()]
    return {int(str(n)): int(c) for n, c in rows.groupby("line")["gap"].sum().items()}


def _less(a: Mapping[int, int], b: Mapping[int, int]) -> dict[int, int]:
    changes = {n: a.get(n, 0) - b.get(n, 0) for n in {*a, *b}}
    return {n: c for n, c in changes.items() if c}


def _told(recording: Recording, by_line: Mapping[int, int]) -> tuple[tuple[int | None, str, int], ...]:
    """The lines with the largest changes, and the rest in one."""
    code = recording.listing.instructions
    order = sorted(by_line, key=lambda n: (-abs(by_line[n]), n))
    out: list[tuple[int | None, str, int]] = []
    for n in order[:LINES]:
        known = n >= 0
        out.append(
            (
                recording.code_line.get(n, n) if known else None,
                code[n].text if known else "put in by the edit",
                by_line[n],
            )
        )
    if rest := [by_line[n] for n in order[LINES:]]:
        out.append((None, f"{len(rest)} other lines", sum(rest)))
    return tuple(out)


def _scaled(fact: Fact, factor: float) -> Fact:
    def one(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: one(v) for k, v in value.items()}
        return max(1, round(value * factor)) if type(value) is int else value * factor

    return Fact(one(fact.value), fact.unit, fact.source, fact.confidence)
