"""From records to instructions: the walk along the code that fits a wave's records.

Rules of rocprof-trace-decoder (MIT): packets carry no addresses, so the walk
starts at the kernel's entry, takes one record for each traced instruction and
follows branches by their JUMP/NEXT records. What differs between generations
is in :class:`isaprof.parsers.sqtt.model.StitchRules`.
"""

from __future__ import annotations

from isaprof.parsers.sqtt.codemap import CodeMap, Line
from isaprof.parsers.sqtt.model import Cat, State, StitchRules
from isaprof.parsers.sqtt.records import Edits, Wave

#: lines passed without a match before the walk is given up
_MAX_MISSES = 1000
#: cycles of one gfx9 issue slot
_SLOT = 4
#: how far the look-ahead of an optional wait compares
_LOOK = 64


def stitch(wave: Wave, code: CodeMap, rules: StitchRules, *, exclude_barrier_wait: bool = False) -> bool:
    """Fill ``wave.records.lines``; True when every record got a line.

    Corrects records where the hardware writes more or fewer packets than
    instructions (gfx9 barriers and matrix scale loads, gfx12 barrier waits).
    """
    return _Walk(wave, code, rules, exclude_barrier_wait).run()


class _Walk:
    def __init__(self, wave: Wave, code: CodeMap, rules: StitchRules, exclude: bool) -> None:
        self.wave, self.r, self.code, self.rules, self.exclude = wave, wave.records, code, rules, exclude
        self.i = 0
        self.line = -1
        self.early = 0
        self.edits = Edits()
        self.waits: list[tuple[int, int]] = []  # stretches of the timeline that become WAIT

    def run(self) -> bool:
        matched = self._walk()
        self.r.apply(self.edits)
        self.wave.timeline.overwrite_all(self.waits, State.WAIT)
        return matched and self._finish()

    def _walk(self) -> bool:
        r = self.r
        r.lines = [None] * len(r)
        misses = 0
        while self.i < len(r):
            i = self.i
            if r.category[i] is Cat.CONTEXT and i not in r.pcs:
                self.i += 1
                continue
            if i in r.unfinished:
                return False
            if i in r.pcs:
                if not self._known(i):
                    return False
                continue
            if self.line < 0:
                return False
            line = self.code.lines[self.line]
            if not line.traced:
                self.line = line.next
                continue
            if line.optional_wait and self.exclude and self._without_record(i, line):
                self._insert_wait(i)
                self.line = line.next
                continue
            matched = self._match(i, line)
            if matched is None:
                return False
            misses = 0 if matched else misses + 1
            if misses > _MAX_MISSES:
                return False
        return True

    # -- steps --------------------------------------------------------------
    def _take(self, i: int, following: int) -> bool:
        self.r.lines[i] = self.line
        self.i = i + 2 if self.edits.last_deleted == i + 1 else i + 1
        self.line = following
        return True

    def _known(self, i: int) -> bool:
        """A record whose address is known needs no match test."""
        address = self.r.pcs[i]
        self.line = -1 if address is None else self.code.at(address)
        while self.line >= 0 and not self.code.lines[self.line].traced:
            self.line = self.code.lines[self.line].next
        if self.line < 0:
            return False
        line = self.code.lines[self.line]
        if line.barrier_pair and self.r.category[i] is Cat.MESSAGE:
            self._join_barrier(i)
        jump = line.cat is Cat.JUMP and self.r.category[i] is Cat.JUMP
        return self._take(i, line.target if jump else line.next)

    def _match(self, i: int, line: Line) -> bool | None:
        """Try record ``i`` on the current line: True matched, False passed the line, None stop."""
        r = self.r
        c, cat = r.category[i], line.cat
        if line.barrier_pair:
            if c is Cat.MESSAGE:
                self._join_barrier(i)
                return self._take(i, line.next)
            if c is Cat.IMMED:
                return self._take(i, line.next)
        elif fits(c, line):
            if c is Cat.VALU and line.two_cycle_move:
                r.duration[i] = max(r.duration[i], r.stall[i] + 2)
            if c is Cat.VALU and line.scaled_matrix:
                self._scale(i)
            if cat is Cat.JUMP and c is Cat.JUMP:
                return self._take(i, line.target)
            return self._take(i, line.next)
        elif cat is Cat.JUMP:
            return None
        if self.rules.swap and self._swapped(i, line):
            r.swap(i, i + 1)
            return False
        if self.rules.early_immediates and c is Cat.IMMED and cat is not Cat.SALU:
            self.early += 1
            return self._take(i, line.next)
        if line.wait and self.early:
            self.early -= 1
            return self._take(i, line.next)
        if line.stop:
            return None
        self.line = line.next
        return False

    def _swapped(self, i: int, line: Line) -> bool:
        r = self.r
        if i + 1 >= len(r) or line.next < 0 or i + 1 in r.unfinished:
            return False
        return r.category[i + 1] is line.cat and r.category[i] is self.code.lines[line.next].cat

    # -- corrections --------------------------------------------------------
    def _join_barrier(self, i: int) -> None:
        """gfx9 s_barrier: a MESSAGE on entry and an IMMED on exit are one execution."""
        r = self.r
        if i + 1 >= len(r) or r.category[i + 1] is not Cat.IMMED or i + 1 in r.pcs:
            return
        begin, end, entry = r.time[i], r.end(i + 1), r.end(i)
        # the record that goes ends where this one ends from now on, so it may stay in its place for the while
        self.edits.delete(i + 1)
        r.category[i] = Cat.IMMED
        r.duration[i] = r.stall[i] = end - begin
        self.waits.append((begin - self.wave.begin, entry - begin))

    def _scale(self, i: int) -> None:
        """A matrix instruction with its scale load: one issue slot more, before it if there is room."""
        r = self.r
        before = r.end(i - 1) if i else self.wave.begin
        after = r.time[i + 1] if i + 1 < len(r) else None
        r.duration[i] += _SLOT
        if r.time[i] - before >= _SLOT:
            r.time[i] -= _SLOT
            if after is None or r.end(i) + _SLOT <= after:
                r.duration[i] += _SLOT
        elif after is not None and r.end(i) > after:
            r.duration[i] -= _SLOT

    def _without_record(self, i: int, line: Line) -> bool:
        """Whether the records fit better when this wait has none of its own."""
        if self.r.category[i] is not Cat.IMMED:
            return True
        return self._fits_from(i, line.next) > self._fits_from(i + 1, line.next)

    def _fits_from(self, i: int, at: int) -> int:
        """Records from ``i`` on that fit the code from line ``at`` on (at most ``_LOOK``)."""
        n = 0
        r = self.r
        while i + n < len(r) and at >= 0 and n < _LOOK:
            line = self.code.lines[at]
            if not line.traced or (line.optional_wait and r.category[i + n] is not Cat.IMMED):
                at = line.next
                continue
            if not fits(r.category[i + n], line):
                break
            at = line.target if r.category[i + n] is Cat.JUMP else line.next
            n += 1
        return n

    def _insert_wait(self, i: int) -> None:
        """gfx12 s_barrier_wait writes no packet: it lasts from the record before to the record after."""
        r = self.r
        begin = self.edits.end_before(i)
        if begin is None:
            begin = r.end(i - 1) if i else self.wave.begin
        cycles = r.time[i] - begin
        if cycles <= 0:
            r.time[i] += 1
            r.duration[i] = max(r.duration[i] - 1, 0)
            r.stall[i] = min(r.stall[i], r.duration[i])
            cycles = max(r.time[i] - begin, 0)
        self.edits.insert(i, Cat.IMMED, begin, cycles, self.line)

    def _finish(self) -> bool:
        r = self.r
        last = len(r) - 1
        if last < 0:
            return True
        at = r.lines[last]
        if self.rules.endpgm_traced and at is not None and self.code.lines[at].endpgm and last > 0:
            end = r.time[last] + _SLOT
            r.time[last] = min(r.end(last - 1), r.time[last])
            r.duration[last], r.stall[last] = end - r.time[last], 0
            t = self.wave.timeline
            t.overwrite(r.time[last] - self.wave.begin, r.duration[last], State.WAIT)
            t.add(State.WAIT, end - self.wave.begin - t.cycles)
        return all(x is not None for x, c in zip(r.lines, r.category, strict=True) if c is not Cat.CONTEXT)


def fits(c: Cat, line: Line) -> bool:
    """Whether a record of category ``c`` may belong to ``line``."""
    cat = line.cat
    return (
        c is cat
        or (cat is Cat.JUMP and c is Cat.NEXT)
        or (c is Cat.MESSAGE and cat is Cat.IMMED)
        or (c is Cat.FLAT and cat is Cat.VMEM)
    )
