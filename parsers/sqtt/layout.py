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
from isaprof.parsers.sqtt.generations.gfx9 import MISC_TIME_RESET
from isaprof.parsers.sqtt.model import Generation, Packet

#: value of a column in packets without that field
NO_WAVE, NO_SIMD, NO_OP = 0xFF, 0xFF, 0xFFFF

#: flags of ``step``: extension bytes may follow; the packet does not end that state
EXTENDED, TRANSPARENT = 0x80, 0x40
#: flags of ``head``: names a wave, SIMD or operation; its step depends on more; resets the clock
FIELDS, SPECIAL, RESET = 1 << 8, 1 << 9, 1 << 10
_STEP = 11
#: bits that ``head`` is indexed by
_HEAD = 16
_NIBBLE = 4
#: bits of a window from here on are set to ones
_ONES = 48


class Unsupported(Exception):
    """The format needs more than the tables hold."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Tables of one generation. ``tables``: step, head, field, width (see :func:`layout`)."""

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
    * ``head`` uint32[65536], by the first 16 bits: packet number (255 undefined), flags FIELDS, SPECIAL
      and RESET, and from bit 11 on the time step in cycles;
    * ``field`` uint64[256]: shifts of wave, SIMD and operation (8 bits each), then their masks (8, 8, 16);
    * ``width`` uint8[256]: bits of the packet.
    """
    g = GENERATIONS[name]
    code = g.table()
    step, width = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    field = np.zeros(256, np.uint64)
    head = np.zeros(1 << _HEAD, np.uint32)
    nothing = _fields(g, Packet("NONE", 0, 0, 8), simd)
    transparent = g.kinds("NOP") if g.extended else ()
    extended = g.kinds(*g.extended)
    for c, i in enumerate(code):
        p = g.packets[i] if i >= 0 else Packet("UNKNOWN", 0, 0, max(8, g.unit_bits))
        if p.bits % _NIBBLE or p.bits > 72 or p.pattern_bits > 8:
            raise Unsupported(f"{g.name} {p.kind}: {p.bits} bits")
        step[c] = p.bits // _NIBBLE
        width[c] = 8 if i < 0 else p.bits
        step[c] |= EXTENDED if i in extended else TRANSPARENT if i in transparent else 0
        field[c] = _fields(g, p, simd)
        heads = np.arange(c, 1 << 16, 256)
        head[heads] = (i & 0xFF) | _step(g, p, heads) | (FIELDS if field[c] != nothing else 0)
    out = Layout(
        (step, head, field, width),
        _rule(g),
        g.unit_bits // _NIBBLE,
        np.array([p.bits for p in g.packets] + [8], np.int64),
    )
    return out if not g.wave_prediction else _predicted(g, out)


def _step(g: Generation, p: Packet, heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Time step (from bit _STEP on) and flags of a packet that begins with the 16 bits ``heads``."""

    def part(span: tuple[int, int]) -> NDArray[np.int64]:
        if span[1] >= _HEAD:
            raise Unsupported(f"{g.name} {p.kind}: needed bits {span} lie beyond {_HEAD}")
        return heads >> span[0] & _mask(span)

    if g.wave_prediction and p.kind == "VALU_INST":
        steps = np.array([g.wave_prediction[i][1] for i in range(16)], np.int64)
        return steps[part(p.fields["wavetm"])] << _STEP
    if p.kind == "TIMESTAMP" and g.time_unit == 1:
        name, wanted = g.advances
        return np.where(part(p.fields[name]) == wanted, SPECIAL, 0)
    step = (p.delta_add + (part(p.delta) if p.delta is not None else 0 * heads)) * g.time_unit
    if p.kind == "TIMESTAMP":
        return step << _STEP | np.where(step > 0, SPECIAL, 0)
    if g.time_unit != 1 and p.kind == "MISC":
        return step << _STEP | np.where(part(p.fields["misc"]) == MISC_TIME_RESET, SPECIAL | RESET, 0)
    return step << _STEP


def _fields(g: Generation, p: Packet, simd: int) -> int:
    """Shift and mask of wave, SIMD and operation.

    The kernel sets the upper 16 bits of a packet's window to ones before it
    extracts: a field that the packet has not is cut from there, so that its
    mask becomes its value.
    """
    name = "wavetm" if g.wave_prediction and p.kind == "VALU_INST" else "wave"
    wave, unit, op = (_ONES, NO_WAVE), (_ONES, NO_SIMD), (_ONES, NO_OP)
    if name in p.fields:
        wave, unit = _near(g, p, name, 8), (_ONES, simd)
    if "simd" in p.fields:
        unit = _near(g, p, "simd", 8)
    if p.kind == "INST":
        op = _near(g, p, "op", 16)
    return wave[0] | unit[0] << 8 | op[0] << 16 | wave[1] << 24 | unit[1] << 32 | op[1] << 40


def _near(g: Generation, p: Packet, name: str, width: int) -> tuple[int, int]:
    lo, hi = p.fields[name]
    if hi >= _ONES or hi - lo >= width:
        raise Unsupported(f"{g.name} {p.kind}.{name}: bits {lo} to {hi}")
    return lo, _mask((lo, hi))


def _rule(g: Generation) -> NDArray[np.uint64]:
    """The ``rule`` of the kernels: clock resets and TIMESTAMP."""
    (stamp,) = g.kinds("TIMESTAMP")
    fields = g.packets[stamp].fields
    value = fields["value"]
    when, wanted = (0, 0), 0
    if g.time_unit == 1:
        name, wanted = g.advances
        when = fields[name]
    rule = [stamp, g.time_unit == 1, when[0], _mask(when), wanted, value[0], _mask(value)]
    return np.array(rule, np.uint64)


def _predicted(g: Generation, out: Layout) -> Layout:
    assert g.wave_prediction is not None
    role = np.zeros(256, np.uint8)
    role[list(g.kinds("VALU_INST"))] = 1
    role[list(g.kinds("INST"))] = 2
    index = np.array([g.wave_prediction[i][0] for i in range(16)], np.int64)
    moves = np.zeros(1 << 16, np.uint8)
    moves[list(g.prediction_ops)] = 1
    return Layout(out.tables, out.rule, out.unit, out.bits, role, index, moves)
