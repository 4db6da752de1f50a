"""Modelled against measured: components of a wave's life, issue gaps, causes, hot lines, matrix loops.

Launch, the first wait for each kind of memory, cold code and the drain depend on
the device and the state it was in; they are compared one by one, so that their
errors cannot cancel. What is left (``warm``) is what the instruction set and
the code decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from isaprof.accuracy.recording import Recording
from isaprof.accuracy.replay import Replayed, as_capture
from isaprof.attribution.model import Cause
from isaprof.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from isaprof.attribution.model import Analysis
    from isaprof.capture.model import Capture


class Component(StrEnum):
    """What a stretch of a wave's life was spent on."""

    LAUNCH = "launch"  #: begin to the first issue
    SCALAR = "first scalar wait"
    VECTOR = "first vector wait"
    MEMORY = "later memory waits"
    BARRIER = "barrier"
    FETCH = "cold code"
    WARM = "warm"  #: everything else: ALU, LDS, matrix, branches
    DRAIN = "drain"  #: last issue before s_endpgm to the end


#: shortest gap that the attribution's "instruction fetch" turns into cold code, cycles
FETCH_CYCLES = 16


@dataclass(frozen=True, slots=True)
class Part:
    """Cycles of one component, summed over waves."""

    component: Component
    count: int
    measured: int
    modelled: int

    @property
    def error(self) -> float | None:
        """Relative error; None where nothing was measured."""
        return (self.modelled - self.measured) / self.measured if self.measured else None


@dataclass(frozen=True, slots=True)
class Gaps:
    """Issue-to-issue distances of the warm stretches. ``tolerance`` in cycles."""

    count: int
    tolerance: int
    within: int
    mean_absolute: float
    measured: int
    modelled: int

    @property
    def share(self) -> float | None:
        return self.within / self.count if self.count else None

    @property
    def error(self) -> float | None:
        return (self.modelled - self.measured) / self.measured if self.measured else None


@dataclass(frozen=True, slots=True)
class MatrixLoop:
    """A loop with matrix instructions, or, in straight code, the stretch from the first to the last of them.

    Pairs are (measured, modelled) cycles; waits are summed over waves and iterations.
    """

    first: int  #: listing index of its first instruction
    pc: int
    loop: bool
    iterations: int  #: iterations (passes through the stretch) that were compared
    iteration: tuple[float, float]  #: mean cycles of one
    matrix_gap: tuple[float, float]  #: mean cycles from matrix issue to matrix issue
    lds_wait: tuple[int, int]
    lds_all: tuple[int, int]  #: waits for LDS and the gaps in front of LDS instructions (a full queue)
    barrier: tuple[int, int]


#: causes at the ends of a wave's life
_ENDS = (Cause.LAUNCH.value, Cause.DRAIN.value)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Everything ``isaprof validate`` says about one capture."""

    arch: str
    kernel: str
    waves: int
    addresses: int  #: waves replayed with executed addresses; the others had assumed ones
    parts: tuple[Part, ...]
    gaps: Gaps
    durations: tuple[float, float]  #: median absolute relative error of a wave's duration; the largest
    good_waves: int  #: within 15 % with every component within 25 %
    causes: tuple[tuple[str, float, float], ...]  #: cause, share measured, share modelled
    rank: float | None  #: Spearman correlation of lines by their cycles
    loops: tuple[MatrixLoop, ...]
    calibration: str
    notes: tuple[str, ...] = ()

    @property
    def cause_points(self) -> float:
        """Largest difference of a cause's share, percentage points."""
        return max((abs(b - a) * 100 for _, a, b in self.causes), default=0.0)

    @property
    def stall_points(self) -> float:
        """The same among the cycles that are neither launch nor drain, which are components of their own."""
        inside = [r for r in self.causes if r[0] not in _ENDS]
        ours, theirs = sum(a for _, a, _ in inside) or 1.0, sum(b for *_, b in inside) or 1.0
        return max((abs(b / theirs - a / ours) * 100 for _, a, b in inside), default=0.0)


def agreement(recording: Recording, replayed: Replayed) -> Agreement:
    """Compare a replay with its recording."""
    from isaprof.attribution.analyse import analyse

    measured = analyse(_compared(recording, replayed))
    modelled = analyse(as_capture(recording, replayed))
    rows = _rows(recording, replayed, measured, modelled)
    parts = _parts(rows)
    whole, worst, good = _waves(rows)
    return Agreement(
        arch=recording.capture.arch,
        kernel=recording.capture.kernel,
        waves=int(rows["wave"].nunique()),
        addresses=replayed.matched,
        parts=parts,
        gaps=_gaps(rows, max(2, int(recording.table.value("issue_period")))),
        durations=(whole, worst),
        good_waves=good,
        causes=_causes(replayed, measured, modelled),
        rank=_rank(measured, modelled),
        loops=_matrix_loops(recording, rows),
        calibration=str(replayed.model.get("calibration", "")),
        notes=recording.notes,
    )


def _compared(recording: Recording, replayed: Replayed) -> Capture:
    """The capture without the records of traced waves that are not compared (holes, another kernel).

    What they did explains nothing in the replay, so it may not in the trace.
    """
    from isaprof.capture.model import Capture as Made

    capture = recording.capture
    kept = capture.waves["wave"].isin(replayed.waves["wave"])
    if kept[capture.waves["traced"].astype(bool)].all():
        return capture
    insts = capture.insts[capture.insts["wave"].isin(replayed.waves["wave"])]
    tables = {"code": capture.code, "waves": capture.waves.assign(traced=kept), "insts": insts}
    if capture.occupancy is not None:
        tables["occupancy"] = capture.occupancy
    return Made({**capture.meta, "tables": {}}, tables, capture.code_objects, path=capture.path)


class Judge:
    """Errors of many replays of one recording; what each gap belongs to is decided once, by the first."""

    def __init__(self, recording: Recording, first: Replayed) -> None:
        from isaprof.attribution.analyse import analyse

        rows = _rows(
            recording, first, analyse(_compared(recording, first)), analyse(as_capture(recording, first))
        )
        self._cut = recording.cut
        self._rows = rows[["wave", "step", "component", "measured"]]
        self._measured = rows.groupby(["wave", "component"])["measured"].sum()
        self.components = frozenset(Component(str(c)) for c in rows["component"].unique())

    def ratios(self, replayed: Replayed) -> dict[Component, float]:
        """Measured over modelled cycles of every component, summed over waves."""
        rows = _with_gaps(self._rows, replayed, self._cut)
        modelled = rows.groupby("component")["modelled"].sum().clip(lower=1)
        measured = self._measured.groupby(level="component").sum()
        return {Component(str(c)): float(v) for c, v in (measured / modelled).items()}

    def errors(self, replayed: Replayed) -> dict[Component, float]:
        """Absolute error of every component, summed over waves, as a share of what was measured.

        A fit makes these small; as shares, captures with many waves do not outvote the others.
        """
        rows = _with_gaps(self._rows, replayed, self._cut)
        modelled = rows.groupby(["wave", "component"])["modelled"].sum()
        off = (modelled - self._measured).abs().groupby(level="component").sum()
        measured = self._measured.groupby(level="component").sum().clip(lower=1)
        return {Component(str(c)): float(v) for c, v in (off / measured).items()}


def _with_gaps(rows: pd.DataFrame, replayed: Replayed, cut: frozenset[int]) -> pd.DataFrame:
    """``rows`` (wave, step) with ``line``, ``model_seq`` and ``modelled``: the replay's gaps, as in _rows."""
    theirs = replayed.records[["wave", "step", "line"]].assign(
        model_at=replayed.records["time"] + replayed.records["stall"]
    )
    theirs["model_seq"] = theirs.groupby("wave").cumcount()
    both = rows.merge(theirs, on=["wave", "step"], how="inner").sort_values(["wave", "step"])
    both["modelled"] = gap_cycles(both, "model_at", replayed.waves, cut)
    return both


def gap_cycles(
    rows: pd.DataFrame, at: str, waves: pd.DataFrame, cut: frozenset[int] = frozenset()
) -> pd.Series[Any]:
    """Cycles from the issue before (the wave's begin) to each one, the last to the wave's end.

    Of waves that are ``cut`` the end is not known: their last one is a gap like the others.
    """
    spans = waves.set_index("wave")
    previous = rows.groupby("wave")[at].shift().fillna(rows["wave"].map(spans["begin"])).astype("int64")
    last = _ends(rows, cut)
    until = rows[at].where(~last, rows["wave"].map(spans["end"]))
    return until - previous


def _ends(rows: pd.DataFrame, cut: frozenset[int]) -> pd.Series[bool]:
    """The last row of each wave that was seen to its end."""
    return (rows.groupby("wave").cumcount(ascending=False) == 0) & ~rows["wave"].isin(list(cut))


def _rows(recording: Recording, replayed: Replayed, measured: Analysis, modelled: Analysis) -> pd.DataFrame:
    """One row a gap: wave, step, line, component, measured, modelled (cycles), and issue times.

    The row of a record is the gap that ends at its issue; s_endpgm's is the
    drain, the first record's the launch.
    """
    import numpy as np
    import pandas as pd

    capture = recording.capture
    steps = {w.wave: w.path.recorded for u in recording.units for g in u.groups for w in g if w.path}
    insts = capture.insts[capture.insts["wave"].isin(list(steps))].sort_values(["wave", "seq"])
    # a wave that is cut ends with records of instructions that were not completed
    known = insts["wave"].map({w: len(s) for w, s in steps.items()})
    insts = insts[insts.groupby("wave").cumcount() < known]
    if insts.empty:  # a damaged capture: records of a hardware trace issue within their wave
        raise BadInput(
            "no record lies between its wave's begin and end, so there is nothing to compare",
            kind="no_records",
            hint="isaprof import TRACE   makes the capture again",
        )
    ours = pd.DataFrame({"wave": insts["wave"].astype("int64"), "seq": insts["seq"].astype("int64")})
    ours["step"] = np.concatenate([np.asarray(steps[int(w)]) for w in ours["wave"].unique()])
    ours["at"] = (insts["time"] + insts["stall"]).to_numpy()
    both = _with_gaps(ours, replayed, recording.cut)
    both["measured"] = gap_cycles(both, "at", capture.waves, recording.cut)
    both = both.merge(_dominant(measured), on=["wave", "seq"], how="left")
    key = dict(enumerate(sorted(replayed.waves["wave"])))
    model_cause = _dominant(modelled)
    model_cause["wave"] = model_cause["wave"].map(key)
    both = both.merge(
        model_cause.rename(columns={"cause": "model_cause", "seq": "model_seq", "cycles": "model_cycles"}),
        on=["wave", "model_seq"],
        how="left",
    )
    for name in ("cause", "model_cause"):
        both[name] = both[name].fillna("")
    both["component"] = _components(recording, both)
    return both.reset_index(drop=True)


def line_errors(recording: Recording, replayed: Replayed) -> dict[int, tuple[int, float]]:
    """Listing index -> how far the replay is off there.

    (cycles up to its issues, all waves together: the difference of the sums, or
    the root of the summed squares where single ones cancel; error of the
    components that these cycles belong to, as a share of what the model says).
    """
    from isaprof.attribution.analyse import analyse

    measured, modelled = analyse(_compared(recording, replayed)), analyse(as_capture(recording, replayed))
    rows = _rows(recording, replayed, measured, modelled)
    share = {p.component.value: abs(p.modelled - p.measured) / max(1, p.modelled) for p in _parts(rows)}
    out = {}
    for line, mine in rows.groupby("line"):
        weight = mine["modelled"].abs().clip(lower=1)
        error = float((mine["component"].map(share) * weight).sum() / weight.sum())
        off = (mine["modelled"] - mine["measured"]).astype("float64")
        out[int(str(line))] = (round(max(abs(off.sum()), (off**2).sum() ** 0.5)), error)
    return out


def _dominant(analysis: Analysis) -> pd.DataFrame:
    """The cause of most waiting cycles of each record, and how many there are."""
    s = analysis.segments
    s = s[s["part"].isin(["idle", "stall"])]
    sums = s.groupby(["wave", "seq", "cause"], observed=True)["cycles"].sum().reset_index()
    top = sums.loc[sums.groupby(["wave", "seq"])["cycles"].idxmax()]
    return top[["wave", "seq", "cause", "cycles"]].astype({"wave": "int64", "seq": "int64", "cause": str})


_MEMORY = frozenset({Cause.WAIT_LOAD.value, Cause.WAIT_STORE.value, Cause.WAIT_SMEM.value})
_FIRST = {Cause.WAIT_SMEM.value: Component.SCALAR, Cause.WAIT_LOAD.value: Component.VECTOR}


def _missed(cause: pd.Series[Any], cycles: pd.Series[Any]) -> pd.Series[bool]:
    """Gaps that one side spent on instruction fetch."""
    return (cause == Cause.FETCH.value) & (cycles >= FETCH_CYCLES)


def _components(recording: Recording, rows: pd.DataFrame) -> list[str]:
    code = recording.listing.instructions
    out: list[str] = []
    wave, seen = -1, set[str]()
    last = _ends(rows, recording.cut)
    missed = _missed(rows["cause"], rows["cycles"]) | _missed(rows["model_cause"], rows["model_cycles"])
    for w, line, cause, also, cold, ends in zip(
        rows["wave"], rows["line"], rows["cause"], rows["model_cause"], missed, last, strict=True
    ):
        instruction = code[line]
        if w != wave:
            wave, seen = w, set()
            what = Component.LAUNCH
        elif ends:
            what = Component.DRAIN
        elif "barrier" in instruction.base and "signal" not in instruction.base:
            what = Component.BARRIER
        elif instruction.waits and (cause in _MEMORY or also in _MEMORY):
            # a wait that one side had to sit out counts for both, as a bubble of instruction fetch does
            name = cause if cause in _MEMORY else also
            first = _FIRST.get(name)
            what = Component.MEMORY if first is None or name in seen else first
            seen.add(name)
        elif cold:
            what = Component.FETCH
        else:
            what = Component.WARM
        out.append(what.value)
    return out


def _parts(rows: pd.DataFrame) -> tuple[Part, ...]:
    by_component = {str(c): g for c, g in rows.groupby("component")}
    return tuple(
        Part(c, len(g), int(g["measured"].sum()), int(g["modelled"].sum()))
        for c in Component
        if (g := by_component.get(c.value)) is not None
    )


def _gaps(rows: pd.DataFrame, tolerance: int) -> Gaps:
    warm = rows[rows["component"] == Component.WARM.value]
    off = (warm["modelled"] - warm["measured"]).abs()
    return Gaps(
        len(warm),
        tolerance,
        int((off <= tolerance).sum()),
        float(off.mean()) if len(warm) else 0.0,
        int(warm["measured"].sum()),
        int(warm["modelled"].sum()),
    )


def _waves(rows: pd.DataFrame) -> tuple[float, float, int]:
    total = rows.groupby("wave")[["measured", "modelled"]].sum()
    error = ((total["modelled"] - total["measured"]) / total["measured"]).abs()
    parts = rows.groupby(["wave", "component"])[["measured", "modelled"]].sum()
    # a component of a few cycles cannot be 25 % right: one issue slot is more than that
    off = (parts["modelled"] - parts["measured"]).abs()
    fine = (off <= 0.25 * parts["measured"]) | (off <= FETCH_CYCLES)
    every = fine.groupby("wave").all()
    return float(error.median()), float(error.max()), int(((error <= 0.15) & every).sum())


def _causes(
    replayed: Replayed, measured: Analysis, modelled: Analysis
) -> tuple[tuple[str, float, float], ...]:
    """Shares of the compared waves' cycles by cause, largest difference first."""
    ours = _shares(measured, set(replayed.waves["wave"]))
    theirs = _shares(modelled, None)
    names = sorted(set(ours) | set(theirs))
    rows = [(n, ours.get(n, 0.0), theirs.get(n, 0.0)) for n in names]
    return tuple(sorted(rows, key=lambda r: (-abs(r[2] - r[1]), r[0])))


def _shares(analysis: Analysis, waves: set[int] | None) -> dict[str, float]:
    s = analysis.segments
    if waves is not None:
        s = s[s["wave"].isin(waves)]
    sums = s.groupby("cause", observed=True)["cycles"].sum()
    total = float(sums.sum()) or 1.0
    return {str(c): float(v) / total for c, v in sums.items() if v}


def _rank(measured: Analysis, modelled: Analysis) -> float | None:
    """Spearman's correlation of the executed lines by their latency."""
    import numpy as np

    both = measured.lines[["line", "latency"]].merge(
        modelled.lines[["line", "latency"]], on="line", suffixes=("", "_modelled")
    )
    both = both[(both["latency"] > 0) | (both["latency_modelled"] > 0)]
    if len(both) < 3:
        return None
    ranks = both[["latency", "latency_modelled"]].rank()
    if ranks.std().eq(0).any():
        return None
    return float(np.corrcoef(ranks["latency"], ranks["latency_modelled"])[0, 1])


def _matrix_loops(recording: Recording, rows: pd.DataFrame) -> tuple[MatrixLoop, ...]:
    """Innermost loops (by taken backward branches) that execute matrix instructions."""
    from isaprof.isa.model import Pipe

    code = recording.listing.instructions
    out = []
    spans = _backward_spans(recording)
    matrix_lines = sorted({n for n in rows["line"].unique() if code[n].pipe is Pipe.MATRIX})
    straight = not any(first <= n <= last for first, last in spans for n in matrix_lines)
    if straight and matrix_lines:
        spans = [(matrix_lines[0], matrix_lines[-1])]
    for first, last in spans:
        if not any(i.pipe is Pipe.MATRIX for i in code[first : last + 1]):
            continue
        inside = rows[(rows["line"] >= first) & (rows["line"] <= last)]
        matrix = inside[inside["line"].map(lambda n: code[n].pipe is Pipe.MATRIX)]
        gaps = [matrix.groupby("wave")[name].diff().dropna() for name in ("at", "model_at")]
        ends = [inside.groupby("wave")[name].agg(["min", "max"]) for name in ("at", "model_at")]
        turns = (
            [e["max"] - e["min"] for e in ends]
            if straight
            else [_turns(inside, name, first) for name in ("at", "model_at")]
        )
        if not len(gaps[0]) or not len(turns[0]):
            continue
        is_wait = inside["line"].map(lambda n: bool(code[n].waits))
        waits = inside[is_wait & (inside["cause"] == Cause.WAIT_LDS.value)]
        is_lds = inside["line"].map(lambda n: code[n].pipe is Pipe.LDS)
        lds = inside[(is_wait & (inside["cause"] == Cause.WAIT_LDS.value)) | is_lds]
        barrier = inside[inside["component"] == Component.BARRIER.value]
        out.append(
            MatrixLoop(
                int(first), code[first].pc, not straight, len(turns[0]),
                (float(turns[0].mean()), float(turns[1].mean())),
                (float(gaps[0].mean()), float(gaps[1].mean())),
                (int(waits["measured"].sum()), int(waits["modelled"].sum())),
                (int(lds["measured"].sum()), int(lds["modelled"].sum())),
                (int(barrier["measured"].sum()), int(barrier["modelled"].sum())),
            )
        )  # fmt: skip
    return tuple(out)


def _backward_spans(recording: Recording) -> list[tuple[int, int]]:
    """(first, last) listing index of each innermost taken backward branch."""
    code, by_pc = recording.listing.instructions, recording.listing.by_pc
    spans = set()
    for unit in recording.units:
        for wave in (w for g in unit.groups for w in g if w.path):
            assert wave.path is not None
            for step in wave.path.taken:
                line = wave.path.lines[step]
                target = code[line].target
                if target is not None and target in by_pc and by_pc[target] <= line:
                    spans.add((by_pc[target], line))
    return sorted(s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans))


def _turn_of(inside: pd.DataFrame, first: int) -> pd.Series[Any]:
    """Number of the iteration a row belongs to, per wave."""
    head = inside.groupby("wave")["line"].transform("min").clip(lower=first)
    return (inside["line"] == head).groupby(inside["wave"]).cumsum()


def _turns(inside: pd.DataFrame, at: str, first: int) -> NDArray[np.int64]:
    """Cycles from the first record of an iteration to that of the next."""
    turn = _turn_of(inside, first)
    starts = inside.groupby([inside["wave"], turn])[at].min()
    return starts.groupby(level=0).diff().dropna().to_numpy()
