"""Encoder of SQTT streams, for tests: packets with times in, bytes out.

It is written from the packet tables alone and shares no code with the decoder's
framing, time or field extraction. :meth:`Encoder.at` takes absolute times and
inserts whatever carries the time (delta bits, TIME, TIMESTAMP, MISC).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.model import Generation, Packet

#: gfx9 software header with all four SIMDs of CU 0
GFX9_HEADER = 0x11 | 4 << 13 | 0xF << 16


@dataclass
class Encoder:
    """Builds one buffer. ``now`` is the time of the last packet, cycles."""

    generation: Generation
    now: int = 0
    bits: int = 0
    size: int = 0
    expected: list[tuple[str, int, dict[str, int]]] = field(default_factory=list)
    recent: list[int] = field(default_factory=list)  # gfx1250: waves used last, newest first
    base: int = 0  # gfx9: value of a TIMESTAMP at time 0

    @classmethod
    def start(cls, name: str, *, simd: int = 0, unit: int = 0, sa: int = 0, flags: int = 0) -> Encoder:
        e = cls(GENERATIONS[name])
        if name == "gfx9":
            e._put(GFX9_HEADER | unit << 20, 64)
        else:
            raw = 0x11 | e.generation.version << 7 | simd << 13 | unit << 15 | sa << 19 | flags
            e._put(raw, 64)
            e.expected.append(("HEADER", 0, {}))
        return e

    def _put(self, value: int, n: int) -> None:
        self.bits |= value << self.size
        self.size += n

    def layout(self, kind: str) -> Packet:
        """The layout the newest generation gives this kind."""
        return [p for p in self.generation.packets if p.kind == kind][-1]

    def packet(self, kind: str, delta: int = 0, **fields: int) -> None:
        """One packet with the given raw ``delta`` bits."""
        p = self.layout(kind)
        value = p.pattern
        if p.delta is not None:
            lo, hi = p.delta
            assert 0 <= delta < 1 << (hi - lo + 1)
            value |= delta << lo
        for name, v in fields.items():
            lo, hi = p.fields[name]
            assert 0 <= v < 1 << (hi - lo + 1), (name, v)
            value |= v << lo
        self._put(value, p.bits)
        self.expected.append((kind, self.now, dict(fields)))
        if kind == "INST" and fields["op"] in self.generation.prediction_ops:
            self._use(fields["wave"])

    def _use(self, wave: int) -> None:
        self.recent = [wave, *(w for w in self.recent if w != wave)][:6]

    def valu(self, time: int, wave: int) -> None:
        """VALU_INST; where it names waves by their place among recent ones and cannot, an INST."""
        if not self.generation.wave_prediction:
            self.at(time, "VALU_INST", wave=wave)
            return
        step = time - self.now
        place = self.recent.index(wave) if wave in self.recent else 5
        if step == 0 or place == 5:
            self.at(time, "INST", wave=wave, op=12)
            return
        first, most = ((0, 4), (4, 4), (8, 4), (12, 2), (14, 2))[place]
        own = min(step, most)
        self._advance(step - own)
        self.now = time
        self.packet("VALU_INST", wavetm=first + own - 1)
        self._use(wave)

    def first_reset(self, value: int) -> None:
        """gfx9: the TIME_RESET and TIMESTAMP at a trace's begin; the clock then stands at 1016."""
        self.now += 4 * 255 - 4
        self.base = value
        self.packet("MISC", 255, misc=1)
        self.packet("TIMESTAMP", value=value + self.now)

    def reset(self, time: int) -> int:
        """gfx9: a TIME_RESET that moves the clock to ``time``, whatever its own step is.

        The result is the value of the TIMESTAMP that has to follow, later.
        """
        self.now = time
        self.packet("MISC", 255, misc=1)
        return self.base + time

    def loss(self, time: int) -> None:
        """The mark of lost packets, at ``time``."""
        if self.generation.version < 3:
            self.at(time, "MISC", **({"misc": 2} if self.generation.name == "gfx9" else {"flags": 1}))
            return
        step, self.now = time - self.now, time
        self.packet("TIMESTAMP", rt=0, pl=1, value=step)

    def room(self, kind: str) -> int:
        """Largest time step (in delta units) that the packet itself can carry."""
        p = self.layout(kind)
        return 0 if p.delta is None else (1 << (p.delta[1] - p.delta[0] + 1)) - 1

    def at(self, time: int, kind: str, **fields: int) -> None:
        """One packet at an absolute time, after what is needed to get there."""
        unit = self.generation.time_unit
        step, rest = divmod(time - self.now, unit)
        assert step >= 0, (time, self.now)
        assert rest == 0, (time, self.now)
        own = min(step, self.room(kind))
        self._advance(step - own)
        self.now = time
        self.packet(kind, own, **fields)

    def _advance(self, step: int) -> None:
        """Let ``step`` units pass without an event."""
        g = self.generation
        while g.time_unit != 1 and step:
            n = min(step, 255)
            self.now += n * g.time_unit
            self.packet("MISC", n, misc=0)
            step -= n
        if not step:
            return
        short = self.layout("TIME")
        if short.delta_add <= step <= short.delta_add + 15:
            self.now += step
            self.packet("TIME", step - short.delta_add)
            return
        if step <= 255 and any(p.kind == "MEDIUM_TIME" for p in g.packets):
            self.now += step
            self.packet("MEDIUM_TIME", step)
            return
        self.now += step
        advance = {"type": 1} if g.version < 3 else {"rt": 0}
        self.packet("TIMESTAMP", 0, value=step, **advance)

    def extension(self, value: int) -> None:
        """A gfx12 extension byte after WAVE_START_EXT: no packet."""
        self._put(value | 1, 8)

    def data(self, block: int = 32) -> bytes:
        """The buffer, padded with zeros to whole blocks after the software header."""
        head = 8 if self.generation.name == "gfx9" else 0
        n = -(-self.size // 8) - head
        return self.bits.to_bytes(head + -(-n // block) * block, "little")
