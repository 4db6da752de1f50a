"""Look-up tables of the compiled decoder, made from a generation's packet tables.

Every entry follows from :class:`~isaprof.parsers.sqtt.model.Generation`; a
format that the tables cannot express is refused here (``Unsupported``), and the
reference path decodes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.model import Generation, Packet

#: value of a column in packets without that field
NO_WAVE, NO_SIMD, NO_OP = 0xFF, 0xFF, 0xFFFF

#: flags of ``step``: extension bytes may follow; the packet does not end that state
EXTENDED, TRANSPARENT = 0x80, 0x40
#: ``short``: handled outside the fast way (TIMESTAMP, steps that lie beyond 12 bits)
SPECIAL = 1 << 8
#: bits that ``short`` is indexed by
_SHORT = 12
_NIBBLE = 4


class Unsupported(Exception):
    """The format needs more than the tables hold."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Tables of one generation. ``tables``: step, short, delta, where, what, width (see below)."""

    tables: tuple[NDArray[Any], ...]
    rule: NDArray[np.uint64]
    unit: int  #: nibbles that packet positions are multiples of
    bits: NDArray[np.int64]  #: width of each packet number; the last is that of an undefined one
    #: tables of kernel.predict (gfx1250): part of each packet number, places, operations
    role: NDArray[np.uint8] | None = None
    index: NDArray[np.int64] | None = None
    moves: NDArray[np.uint8] | None = None


def _mask(span: tuple[int, int]) -> int:
    return (1 << (span[1] - span[0] + 1)) - 1


@lru_cache(maxsize=32)
def layout(name: str, simd: int) -> Layout:
    """Tables of generation ``name`` in which instruction packets without a SIMD field belong to ``simd``.

    * ``step`` uint8[256]: length in nibbles, and flags;
    * ``short`` uint32[4096]: packet number (255 undefined), SPECIAL, time step in cycles << 16;
    * ``delta`` uint32[256]: shift, addend << 8 and mask << 16 of the time step;
    * ``where`` uint64[256]: shift, mask, fill of the wave, then of the SIMD, eight bits each;
    * ``what`` uint64[256]: shift, mask << 16 and fill << 32 of the operation;
    * ``width`` uint8[256]: bits of the packet.
    """
    g = GENERATIONS[name]
    code = g.table()
    step, width = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    delta = np.zeros(256, np.uint32)
    where, what = np.zeros(256, np.uint64), np.zeros(256, np.uint64)
    short = np.zeros(1 << _SHORT, np.uint32)
    transparent = g.kinds("NOP") if g.extended else ()
    extended = g.kinds(*g.extended)
    for c, i in enumerate(code):
        p = g.packets[i] if i >= 0 else Packet("UNKNOWN", 0, 0, max(8, g.unit_bits))
        if p.bits % _NIBBLE or p.bits > 72 or p.pattern_bits > 8:
            raise Unsupported(f"{g.name} {p.kind}: {p.bits} bits")
        step[c] = p.bits // _NIBBLE
        width[c] = 8 if i < 0 else p.bits
        step[c] |= EXTENDED if i in extended else TRANSPARENT if i in transparent else 0
        span, add = _step(g, p, c)
        delta[c] = span[0] | add << 8 | (_mask(span) if span[1] >= span[0] else 0) << 16
        where[c], what[c] = _where(g, p, simd), _what(p)
        far = span[1] >= _SHORT or p.kind == "TIMESTAMP"
        for high in range(1 << (_SHORT - 8)):
            word = high << 8 | c
            cycles = ((word >> span[0] & int(delta[c]) >> 16) + add) * g.time_unit
            short[word] = (i & 0xFF) | (SPECIAL if far else 0) | (0 if far else cycles) << 16
    out = Layout(
        (step, short, delta, where, what, width),
        _rule(g),
        g.unit_bits // _NIBBLE,
        np.array([p.bits for p in g.packets] + [8], np.int64),
    )
    return out if not g.wave_prediction else _predicted(g, out)


def _step(g: Generation, p: Packet, code: int) -> tuple[tuple[int, int], int]:
    """Bits of the time step (an empty span: none) and its addend."""
    if g.wave_prediction and p.kind == "VALU_INST":
        lo, hi = p.fields["wavetm"]
        if hi > 7:
            raise Unsupported(f"{g.name}: the wave prediction lies beyond the first byte")
        return (0, -1), g.wave_prediction[code >> lo & _mask((lo, hi))][1]
    if p.delta is None:
        return (0, -1), p.delta_add
    if p.delta[1] > 31 or p.delta_add > 0xFF:
        raise Unsupported(f"{g.name} {p.kind}: time step at bits {p.delta}")
    return p.delta, p.delta_add


def _where(g: Generation, p: Packet, simd: int) -> int:
    name = "wavetm" if g.wave_prediction and p.kind == "VALU_INST" else "wave"
    out = NO_WAVE << 16
    if name in p.fields:
        lo, hi = _near(g, p, name)
        out = lo | _mask((lo, hi)) << 8
    if "simd" in p.fields:
        lo, hi = _near(g, p, "simd")
        out |= lo << 24 | _mask((lo, hi)) << 32
    else:
        out |= (simd if name in p.fields else NO_SIMD) << 40
    return out


def _what(p: Packet) -> int:
    if p.kind != "INST":
        return NO_OP << 32
    lo, hi = p.fields["op"]
    return lo | _mask((lo, hi)) << 16


def _near(g: Generation, p: Packet, name: str) -> tuple[int, int]:
    lo, hi = p.fields[name]
    if hi > 59 or hi - lo > 7:
        raise Unsupported(f"{g.name} {p.kind}.{name}: bits {lo} to {hi}")
    return lo, hi


def _rule(g: Generation) -> NDArray[np.uint64]:
    """The ``rule`` of the kernels: clock resets and TIMESTAMP."""
    (stamp,) = g.kinds("TIMESTAMP")
    fields = g.packets[stamp].fields
    value = fields["value"]
    reset_mask, reset_value, when, wanted = 0, 1, (0, 0), 0
    if g.time_unit == 1:
        name, wanted = g.advances
        when = fields[name]
    else:
        (misc,) = (g.packets[i] for i in g.kinds("MISC"))
        lo, hi = misc.fields["misc"]
        reset_mask = (1 << misc.pattern_bits) - 1 | _mask((lo, hi)) << lo
        reset_value = misc.pattern | 1 << lo
    return np.array(
        [reset_mask, reset_value, stamp, when[0], _mask(when), wanted, value[0], _mask(value), g.time_unit],
        np.uint64,
    )


def _predicted(g: Generation, out: Layout) -> Layout:
    assert g.wave_prediction is not None
    role = np.zeros(256, np.uint8)
    role[list(g.kinds("VALU_INST"))] = 1
    role[list(g.kinds("INST"))] = 2
    index = np.array([g.wave_prediction[i][0] for i in range(16)], np.int64)
    moves = np.zeros(1 << 16, np.uint8)
    moves[list(g.prediction_ops)] = 1
    return Layout(out.tables, out.rule, out.unit, out.bits, role, index, moves)
