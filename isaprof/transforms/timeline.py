"""When instructions issued and waits ended in a capture: what estimates are made of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isaprof.attribution.model import Analysis


@dataclass(frozen=True, slots=True)
class Pause:
    """One execution of a waiting instruction that stalled; cycles of the capture's clock."""

    wave: int
    begin: int  #: the wave arrives
    end: int  #: the wait is over
    culprit: int  #: code line that is blamed, -1 for none

    @property
    def cycles(self) -> int:
        return self.end - self.begin


class Timeline:
    """Issue times and stalls by code line (``analysis.lines``) and wave."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        lines = analysis.lines
        self._line = {int(pc): int(line) for pc, line in zip(lines["pc"], lines["line"], strict=True)}

    def line(self, pc: int) -> int:
        """Code line of an address, -1 where the capture has none."""
        return self._line.get(pc, -1)

    @cached_property
    def _issues(self) -> dict[tuple[int, int], list[int]]:
        seg = self.analysis.segments
        rows = seg[(seg["part"] == "issue") & (seg["line"] >= 0)]
        out: dict[tuple[int, int], list[int]] = {}
        for wave, line, begin in sorted(_ints(rows, ["wave", "line", "begin"])):
            out.setdefault((line, wave), []).append(begin)
        return out

    def issues(self, line: int) -> dict[int, list[int]]:
        """Wave -> times at which ``line`` issued, in order."""
        return {wave: times for (at, wave), times in self._issues.items() if at == line}

    def last_issue(self, line: int, wave: int, before: int) -> int | None:
        """When ``line`` last issued in ``wave`` before the time ``before``."""
        times = self._issues.get((line, wave), [])
        n = bisect_left(times, before)
        return times[n - 1] if n else None

    def pauses(self, line: int) -> list[Pause]:
        """Stalls of ``line``, one for each execution that stalled."""
        seg = self.analysis.segments
        rows = seg[(seg["part"] == "stall") & (seg["line"] == line)]
        merged: dict[tuple[int, int], Pause] = {}
        for wave, seq, begin, cycles, culprit in _ints(rows, ["wave", "seq", "begin", "cycles", "culprit"]):
            old = merged.get((wave, seq))
            first = begin if old is None else min(begin, old.begin)
            last = begin + cycles if old is None else max(begin + cycles, old.end)
            merged[wave, seq] = Pause(wave, first, last, culprit)
        return list(merged.values())

    def latency(self, lines: Iterable[int]) -> float | None:
        """Median cycles from the issue of an operation of ``lines`` to the end of a stall blamed on it."""
        wanted = frozenset(lines)
        seg = self.analysis.segments
        stalled = seg.loc[(seg["part"] == "stall") & seg["culprit"].isin(list(wanted)), "line"]
        samples = []
        for at in {int(x) for x in stalled}:
            for p in self.pauses(at):
                issued = self.last_issue(p.culprit, p.wave, p.end) if p.culprit in wanted else None
                if issued is not None:
                    samples.append(p.end - issued)
        return median(samples) if samples else None

    def exposure(self, lines: Iterable[int]) -> float:
        """Share (0..1) of the stall of ``lines`` in which no traced wave of the same SIMD issued."""
        import numpy as np

        waves = self.analysis.waves
        simd = {w: (se, cu, s) for w, se, cu, s in _ints(waves, ["wave", "se", "cu", "simd"])}
        seg = self.analysis.segments
        busy: dict[Any, list[tuple[int, int]]] = {}
        for wave, begin, cycles in _ints(seg[seg["part"] == "issue"], ["wave", "begin", "cycles"]):
            busy.setdefault(simd.get(wave), []).append((begin, begin + cycles))
        covered = {key: _Cover(np.array(sorted(spans), np.int64)) for key, spans in busy.items()}
        stall = hidden = 0
        for line in lines:
            for p in self.pauses(line):
                stall += p.cycles
                cover = covered.get(simd.get(p.wave))
                hidden += 0 if cover is None else cover.upto(p.end) - cover.upto(p.begin)
        return 1.0 if stall == 0 else 1 - hidden / stall


class _Cover:
    """Union of intervals; how much of it lies before a time."""

    def __init__(self, spans: NDArray[np.int64]) -> None:
        merged: list[list[int]] = []
        for begin, end in spans.tolist():
            if merged and begin <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        self._begin = [b for b, _ in merged]
        self._end = [e for _, e in merged]
        self._before = [0]
        for b, e in merged:
            self._before.append(self._before[-1] + e - b)

    def upto(self, t: int) -> int:
        n = bisect_left(self._begin, t)
        over = max(0, self._end[n - 1] - t) if n else 0
        return self._before[n] - over


def _ints(frame: Any, columns: Sequence[str]) -> list[tuple[int, ...]]:
    return [tuple(int(x) for x in row) for row in frame[list(columns)].to_numpy()]
