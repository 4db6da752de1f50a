"""Resident waves: launch, end, records and barriers; what happens rarely in the issue loop."""

from __future__ import annotations

from heapq import heappush
from itertools import accumulate

from isaprof.isa.model import Category
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.timing.dispatch import Dispatcher, Place
from isaprof.sim.timing.lines import CODE, Lines
from isaprof.sim.timing.paths import PathLists
from isaprof.sim.timing.scoreboard import SLOTS, Kind
from isaprof.sim.timing.state import NEVER, Group, Records
from isaprof.sim.timing.units import Fetch, LdsUnit, ScalarUnit, VectorMemoryUnit

#: a heap key is (cycle, inverted priority, wave)
WAVE_BITS = 20
_IMMED, _MESSAGE = CODE[Category.IMMED], CODE[Category.MESSAGE]


class Residency:
    """The waves of one CU (CDNA) or WGP (RDNA), in flat lists by wave number."""

    def __init__(
        self,
        k: Constants,
        lines: Lines,
        paths: PathLists,
        dispatcher: Dispatcher,
        units: tuple[Fetch, VectorMemoryUnit, LdsUnit, ScalarUnit],
        counter_max: list[int],
    ) -> None:
        self.k, self.lines, self.paths, self.dispatcher = k, lines, paths, dispatcher
        self.fetch, self.vmem, self.lds, self.scalar = units
        self.counter_max = counter_max
        self.records = Records()
        n = len(paths.start) - 1
        self.place: list[Place | None] = [None] * n
        self.end = [NEVER] * n
        self.step = paths.start[:-1]
        self.ready = [0] * n
        self.last_end = [NEVER] * n
        self.priority = [0] * n
        self.board = [NEVER] * (n * SLOTS)
        self.outstanding: list[list[int]] = [[] for _ in range(n * len(counter_max))]
        self.stored = [NEVER] * n
        self.group: list[Group | None] = [None] * n
        self.signalled = [-1] * n  #: barrier phase of the wave's last signal
        self.arrival = [(0, 0)] * n  #: time and stall of the barrier it waits at
        self.fresh: list[tuple[int, int, bool]] = []  #: (wave, cycle, after a taken branch) to look at next
        self.heap: list[int] = []
        #: per wave, counter and type: completion of the last access that returns in order
        self.last_done: dict[tuple[int, int, int], int] = {}
        self.first_wave = [0, *accumulate(dispatcher.sizes)]

    def record(self, w: int, step: int, time: int, stall: int, duration: int, category: int) -> None:
        out = self.records
        out.wave.append(w)
        out.step.append(step)
        out.time.append(time)
        out.stall.append(stall)
        out.duration.append(duration)
        out.category.append(category)
        self.last_end[w] = max(self.last_end[w], time + duration)

    def control(self, w: int, line: int, kind: int, step: int, now: int) -> bool:
        """Barriers and the end of the program; True when the wave does not go on at once."""
        k = self.k
        group = self.group_of(w)
        time = self.last_end[w] if NEVER < self.last_end[w] < now else now
        self.step[w] = step + 1
        if kind == Kind.SIGNAL:
            stall = now - self.ready[w]
            self.record(w, step, self.ready[w], stall, stall + self.lines.extra[line], _MESSAGE)
            self.signalled[w] = group.phase
            self.arrive(group, now)
            return False
        if kind == Kind.BARRIER:
            self.arrival[w] = (time, now - time)
            group.waiting.append(w)
            self.arrive(group, now)
            return True
        end = max(now + int(k["endpgm_idle"]), self.stored[w])
        end += -end % int(k["time_grain"])
        self.record(w, step, time, 0, end - time, _MESSAGE)
        self.step[w] = self.paths.start[w + 1]
        self.push(w, end)
        return True

    def group_of(self, w: int) -> Group:
        group = self.group[w]
        assert group is not None
        return group

    def push(self, w: int, t: int) -> None:
        heappush(self.heap, (t * 4 + 3 - self.priority[w]) << WAVE_BITS | w)

    def arrive(self, group: Group, now: int) -> None:
        group.arrived += 1
        if group.arrived >= group.live:
            self.release(group, now)

    def release(self, group: Group, now: int) -> None:
        """All live waves have arrived: those that wait go on."""
        group.arrived = 0
        group.phase += 1
        group.released = now + int(self.k["barrier_release"])
        waiting, group.waiting = group.waiting, []
        for w in waiting:
            self.resume(w, group.released)

    def resume(self, w: int, released: int) -> None:
        """Record the barrier that wave ``w`` waited at, and let it go on."""
        step = self.step[w] - 1
        time, stall = self.arrival[w]
        if self.lines.kind[self.paths.line[step]] == Kind.BARRIER_WAIT:
            released = max(released, time + 1)
            if self.lines.traced[self.paths.line[step]]:
                self.record(w, step, time, 0, released - time, _IMMED)
        elif self.k["immediate_record"] == "whole":
            released = max(released, time + int(self.k["time_grain"]))
            self.record(w, step, time, released - time, released - time, _IMMED)
        else:
            self.record(w, step, time, stall, released - time, _MESSAGE)
        self.fresh.append((w, released, False))

    def barrier_wait(self, w: int, step: int, base: int) -> None:
        """A split barrier's wait: on if the phase the wave signalled is complete, else it parks."""
        group = self.group_of(w)
        time = self.last_end[w] if NEVER < self.last_end[w] < base else base
        self.arrival[w] = (time, 0)
        self.step[w] = step + 1
        if group.phase > self.signalled[w]:
            self.resume(w, max(base, group.released))
        else:
            group.waiting.append(w)

    # -- launch and end ---------------------------------------------------------------------

    def launch(self, now: int) -> None:
        while (got := self.dispatcher.launch(now)) is not None:
            number, places = got
            group = Group(number, len(places))
            for w, place in enumerate(places, self.first_wave[number]):
                self.group[w] = group
                self.place[w] = place
                begin = self.fetch.begin(place.begin)
                self.fresh.append((w, begin + -begin % int(self.k["time_grain"]), False))

    def end_wave(self, w: int, now: int) -> None:
        self.end[w] = now
        group, place = self.group_of(w), self.place[w]
        assert place is not None
        group.live -= 1
        self.dispatcher.end_wave(place)
        if group.live == 0:
            self.dispatcher.end_workgroup()
        elif group.arrived >= group.live:
            self.release(group, now)
        self.launch(now)
