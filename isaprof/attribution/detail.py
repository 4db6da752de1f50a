"""What costs more than the line table and is computed on first use: the rest of an Analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isaprof.attribution import exposure, rollups
from isaprof.attribution.conflicts import lds_conflicts
from isaprof.attribution.display import histogram, most_exposed
from isaprof.attribution.kinds import kinds
from isaprof.attribution.loops import Loops, analyse_loops
from isaprof.attribution.partition import LAUNCH
from isaprof.attribution.reference import hidden_latency
from isaprof.attribution.regions import Regions, find_regions
from isaprof.attribution.sources import source_lines
from isaprof.attribution.vgpr_banks import vgpr_conflicts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.attribution.partition import Partition
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode
    from isaprof.capture.model import Capture

    Ints = NDArray[np.int64]

#: steps of the time series that :meth:`Detail.by` gives
TIME_STEPS = 40
#: steps of the distribution of the cycles of an iteration
HISTOGRAM_STEPS = 24


class Detail:
    """Exposure, loops, bank conflicts and roll-ups of one analysed capture. Everything is cached."""

    def __init__(
        self,
        capture: Capture,
        code: StaticCode,
        records: Records,
        tiles: Partition,
        segments: Segments,
        lines: pd.DataFrame,
    ) -> None:
        self._capture = capture
        self._code = code
        self._records = records
        self._tiles = tiles
        self._segments = segments
        self._lines = lines

    # -- exposure ------------------------------------------------------------
    @cached_property
    def split(self) -> exposure.Exposure:
        """Exposed, hidden, covered and unknown cycles of each segment (rows of Analysis.segments)."""
        return exposure.expose(self._capture, self._code, self._records, self._segments)

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that each wait is split into: columns of every roll-up, exposed first."""
        return exposure.SPLIT

    @cached_property
    def exposure(self) -> pd.DataFrame:
        """Waits by line, part, cause and culprit; see :func:`isaprof.attribution.exposure.table`."""
        return exposure.table(self._records, self._tiles, self._segments, self.split)

    @cached_property
    def reference(self) -> pd.DataFrame:
        """Hidden latency of each line by AMD's definition (:mod:`isaprof.attribution.reference`)."""
        return hidden_latency(self._code, self._records)

    @cached_property
    def lines(self) -> pd.DataFrame:
        """Analysis.lines with source lines and the split of the waits.

        ``exposed`` + ``hidden`` + ``covered`` + ``unknown`` = ``wait`` + ``held``,
        where ``held`` is time inside a barrier or trap that the trace books as issue
        (RDNA): the waits as the roll-up by category counts them. The same with
        ``stall_`` in front = ``stall``. ``own_pipe``: of the four, with the wave's own
        vector or matrix pipe busy.
        """
        out = self._lines.copy()
        known = self.sources
        out["source"] = pd.Series(known, dtype=object)
        waits = self.exposure
        for part, prefix in ((waits, ""), (waits[waits["part"] == "stall"], "stall_")):
            sums = part.groupby("line")[[*exposure.SPLIT, "own_pipe"]].sum()
            for name in exposure.SPLIT:
                out[prefix + name] = sums[name].reindex(out.index, fill_value=0).astype(np.int64)
            if not prefix:
                out["own_pipe"] = sums["own_pipe"].reindex(out.index, fill_value=0).astype(np.int64)
        return out

    @cached_property
    def most_exposed(self) -> pd.DataFrame:
        """Lines by exposed cycles; see :func:`isaprof.attribution.display.most_exposed`."""
        return most_exposed(self.lines)

    # -- code ------------------------------------------------------------------
    @cached_property
    def sources(self) -> list[str | None]:
        """``file:line`` of each code line."""
        return source_lines(self._capture)

    @cached_property
    def regions(self) -> Regions:
        """Basic blocks and loops of the code that traced waves could reach."""
        return find_regions(self._code, self._records)

    @cached_property
    def _loops(self) -> Loops:
        size = self._capture.meta.get("wave_size") or self._code.table.get("wave_sizes", (64,))[0]
        return analyse_loops(self._code, self._records, self._segments, self.split, self.regions, int(size))

    @property
    def loops(self) -> pd.DataFrame:
        """One row a loop; columns in docs/attribution.md, "Loops and the matrix pipe"."""
        return self._loops.table

    @property
    def iterations(self) -> pd.DataFrame:
        """loop, wave, t_iter: cycles from one arrival at the header to the next."""
        return self._loops.iterations

    def t_iter_histogram(self, loop: int, steps: int = HISTOGRAM_STEPS) -> pd.DataFrame:
        """Distribution of the cycles of an iteration of ``loop``: begin, end, count."""
        mine = self.iterations["loop"] == loop
        return histogram(self.iterations.loc[mine, "t_iter"].to_numpy(np.int64), steps)

    @property
    def gaps(self) -> pd.DataFrame:
        """Idle stretches of the matrix pipe in loops: loop, line, cause, culprit, cycles, gaps."""
        return self._loops.gaps

    # -- banks -----------------------------------------------------------------
    @cached_property
    def conflicts(self) -> pd.DataFrame:
        """LDS bank conflicts by instruction; see :func:`isaprof.attribution.conflicts.lds_conflicts`."""
        return lds_conflicts(self._capture, self._code, self._records, self._segments, self.split)

    @cached_property
    def vgpr_banks(self) -> pd.DataFrame:
        """VGPR bank conflicts by instruction; see :func:`isaprof.attribution.vgpr_banks.vgpr_conflicts`."""
        return vgpr_conflicts(self._code, self._records, self._segments)

    # -- time ------------------------------------------------------------------
    def life(self, wave: int, steps: int = TIME_STEPS) -> pd.DataFrame:
        """The life of ``wave`` (key of the capture) in ``steps``: begin, end, cycles by cause."""
        waves = self._records.waves
        at = np.flatnonzero(waves.wave == wave)
        if not len(at):
            raise KeyError(wave)
        w = int(at[0])
        return rollups.life(self._segments, w, int(waves.begin[w]), int(waves.end[w]), steps)

    @cached_property
    def in_flight(self) -> pd.DataFrame:
        """Resident waves over time: se, time, waves."""
        return rollups.in_flight(self._capture.waves)

    # -- roll-ups ----------------------------------------------------------------
    def by(self, what: str) -> pd.DataFrame:
        """The roll-up ``what`` (a key of :data:`ROLL_UPS`); KeyError for another name."""
        return ROLL_UPS[what](self)

    def _roll(self, record_keys: dict[str, Ints], drain: int = -1, launch: int | None = None) -> pd.DataFrame:
        """Roll up by a key of the records; segments without one (drain) have the key ``drain``.

        The launch of a wave belongs to its first record unless it has a key of its own.
        """
        r = self._segments.r
        keys = {
            k: np.where(r >= 0, v[r], drain) if len(v) else np.full(len(r), drain, np.int64)
            for k, v in record_keys.items()
        }
        if launch is not None:
            starting = self._segments.part == LAUNCH
            keys = {k: np.where(starting, launch, v) for k, v in keys.items()}
        return rollups.roll(self._records, self._segments, self.split, keys, record_keys)

    def _roll_place(self, *names: str) -> pd.DataFrame:
        """Roll up by where the wave was."""
        waves = self._records.waves
        columns = {n: getattr(waves, n) for n in names}
        keys = {n: v[self._segments.w] for n, v in columns.items()}
        of_records = {n: v[self._records.w] for n, v in columns.items()}
        out = rollups.roll(self._records, self._segments, self.split, keys, of_records)
        per = pd.DataFrame(columns).groupby(list(names), as_index=False).size()
        out.insert(len(names), "waves", out.merge(per, on=list(names), how="left")["size"])
        return out

    def _by_line(self) -> pd.DataFrame:
        return self.lines

    def _by_block(self) -> pd.DataFrame:
        block, lines = self.regions.block, self._records.line
        out = self._roll({"block": block[lines]})
        every = np.arange(len(block))
        hits = np.bincount(lines, minlength=len(block))
        frame = pd.DataFrame({"block": block, "line": every, "loop": self.regions.loop, "entered": hits})
        known = frame[frame["block"] >= 0].groupby("block", as_index=False)
        extra = known.agg(
            first_line=("line", "min"), last_line=("line", "max"), loop=("loop", "max"),
            entered=("entered", "max"),  # a block's first line may be one that leaves no records
        )  # fmt: skip
        out = out.merge(extra, on="block", how="left")
        for name, nothing in (("first_line", -1), ("last_line", -1), ("loop", -1), ("entered", 0)):
            out[name] = out[name].fillna(nothing).astype(np.int64)
        return out.sort_values("cycles", ascending=False, kind="stable", ignore_index=True)

    def _named(
        self, names: Sequence[str], key: str, drain: str = "", launch: str | None = None
    ) -> pd.DataFrame:
        """Roll up by a text of each line, largest first; None stands for an empty text."""
        unique, code = np.unique(np.array([*names, drain, launch or ""], dtype=str), return_inverse=True)
        *lines, end, begin = code.reshape(-1).tolist()
        number = np.array(lines, np.int64)
        out = self._roll({key: number[self._records.line]}, end, begin if launch else None)
        text = unique.tolist()
        out[key] = [text[i] or None for i in out[key].tolist()]
        return out.sort_values("cycles", ascending=False, kind="stable", ignore_index=True)

    def _by_source(self) -> pd.DataFrame:
        return self._named(["" if t is None else t for t in self.sources], "source")

    def _by_kind(self) -> pd.DataFrame:
        """Roll-up by kind of instruction, launch and drain of their own; ``issue_share`` and
        ``stall_share`` of all wave cycles, and the split of the stalls alone (``stall_exposed``, ...)."""
        names = kinds(self._code)
        out = self._named(names, "kind", "drain", "launch")
        for part in ("issue", "stall"):
            out[f"{part}_share"] = out[part] / max(int(self._segments.cycles.sum()), 1)
        waits = self.exposure[self.exposure["part"] == "stall"]
        of_line = np.array([*names, ""], dtype=object)
        sums = waits.groupby(of_line[waits["line"].to_numpy(np.int64)])[list(exposure.SPLIT)].sum()
        for name in exposure.SPLIT:
            out[f"stall_{name}"] = sums[name].reindex(out["kind"], fill_value=0).to_numpy(np.int64)
        return out

    def _by_kernel(self) -> pd.DataFrame:
        n = len(self._records)
        out = self._roll({"kernel": np.zeros(n, np.int64)}, 0)
        out["kernel"] = self._capture.kernel
        return out

    def _by_category(self) -> pd.DataFrame:
        return rollups.by_cause(self._segments, self.split)

    def _by_culprit(self) -> pd.DataFrame:
        table = self.exposure
        keys = ["culprit", "line", "cause"]
        names = ["cycles", *exposure.SPLIT, "own_pipe"]
        out = table.groupby(keys, as_index=False)[names].sum().rename(columns={"line": "victim"})
        return out.sort_values("cycles", ascending=False, kind="stable", ignore_index=True)

    def _by_time(self) -> pd.DataFrame:
        return rollups.over_time(self._records, self._segments, self._capture.waves, TIME_STEPS)


ROLL_UPS: dict[str, Callable[[Detail], pd.DataFrame]] = {
    "line": Detail._by_line,
    "source": Detail._by_source,
    "kind": Detail._by_kind,
    "block": Detail._by_block,
    "loop": lambda d: d.loops,
    "gap": lambda d: d.gaps,
    "kernel": Detail._by_kernel,
    "category": Detail._by_category,
    "culprit": Detail._by_culprit,
    "bank": lambda d: d.conflicts,
    "vgpr-bank": lambda d: d.vgpr_banks,
    "se": lambda d: d._roll_place("se"),
    "cu": lambda d: d._roll_place("se", "cu"),
    "simd": lambda d: d._roll_place("se", "cu", "simd"),
    "wave": lambda d: d._roll_place("wave", "se", "cu", "simd", "slot"),
    "time": Detail._by_time,
    "in-flight": lambda d: d.in_flight,
}
