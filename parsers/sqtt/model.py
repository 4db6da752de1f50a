"""The data model of a thread-trace generation: packets, operations, rules.

One :class:`Generation` object describes one packet format completely. The
decoder reads these tables and contains no test on an architecture name.
Positions are bit numbers of the packet, inclusive, bit 0 = first bit.

Sources: ROCm/rocm-systems projects/rocprof-trace-decoder (MIT) and
tinygrad/tinygrad tinygrad/renderer/amd/sqtt.py (MIT).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum

Bits = tuple[int, int]


class Cat(IntEnum):
    """Dynamic record categories (numbers of rocprof-trace-decoder and of ui_output wave files)."""

    NONE = 0
    SMEM = 1
    SALU = 2
    VMEM = 3
    FLAT = 4
    LDS = 5
    VALU = 6
    JUMP = 7
    NEXT = 8
    IMMED = 9
    CONTEXT = 10
    MESSAGE = 11
    BVH = 12


class State(IntEnum):
    """Wave states of a timeline."""

    EMPTY = 0
    IDLE = 1
    EXEC = 2
    WAIT = 3
    STALL = 4


class Act(StrEnum):
    """What an INST operation does to the wave's record list."""

    RECORD = "record"  #: one record
    IGNORE = "ignore"  #: no record
    JUMP_PC = "jump_pc"  #: a record, and the next record's pc comes from a NEW_PC packet
    BARRIER = "barrier"  #: an IMMED record
    BARRIER_EXTENDED = "barrier_extended"  #: becomes MESSAGE and lasts to the wave's next packet
    TRAP = "trap"  #: enters the trap handler: records are suspended
    RETURN = "return"  #: leaves it; next pc unknown
    OTHER_SIMD = "other_simd"  #: a memory operation of the SIMD that shares the path
    REPLAY = "replay"  #: XNACK: the last memory record is issued again
    EARLY = "early"  #: no record; the wave's next record starts 1 earlier and is 1 longer


class Scale(StrEnum):
    """Header-dependent cycle counts (sqtt HEADER fields DPRate, dp_derate, trans2)."""

    ONE = "one"
    DPRATE = "dprate"
    DPRATE_DERATE = "dprate_derate"
    TRANS2 = "trans2"


@dataclass(frozen=True, slots=True)
class Op:
    """One INST operation code: category and execution cycles."""

    category: Cat
    cycles: int = 1
    act: Act = Act.RECORD
    scale: Scale = Scale.ONE


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet layout. ``kind`` is the name used by the wave builder; two
    layouts of one kind may coexist in a generation."""

    kind: str
    pattern: int
    pattern_bits: int
    bits: int
    delta: Bits | None = None
    delta_add: int = 0
    fields: Mapping[str, Bits] = field(default_factory=dict)

    def matches(self, code: int) -> bool:
        return code & ((1 << self.pattern_bits) - 1) == self.pattern


def packet(
    kind: str, pattern: str, bits: int, delta: Bits | None = None, add: int = 0, /, **fields: Bits | int
) -> Packet:
    """A :class:`Packet`; ``pattern`` is written most significant bit first and
    a field given as one number is a single bit."""
    spans = {k: (v, v) if isinstance(v, int) else v for k, v in fields.items()}
    return Packet(kind, int(pattern, 2), len(pattern), bits, delta, add, spans)


@dataclass(frozen=True, slots=True)
class StitchRules:
    """Differences between generations in matching records to instructions.

    Tuples hold mnemonic prefixes (empty: the rule does not exist in this
    generation).
    """

    #: entry is a MESSAGE and exit an IMMED record of one instruction
    barrier_pair: tuple[str, ...] = ()
    #: matrix instructions with a scale load in front: 4 cycles more
    scaled_matrix: tuple[str, ...] = ()
    #: the record's duration is at least stall + 2
    two_cycle_move: tuple[str, ...] = ()
    #: may have no record at all when the header says exclude_barrier_wait
    optional_wait: tuple[str, ...] = ()
    #: wait instructions that may take the place of an immediate seen early
    wait: tuple[str, ...] = ("s_waitcnt",)
    #: a mismatch at a mnemonic with one of these parts (``stop_at``, unless it begins with
    #: ``no_stop``) or at a wait ends the walk: from there on any match would be a guess
    stop_at: tuple[str, ...] = ("_load_",)
    no_stop: tuple[str, ...] = ("scratch_",)
    #: two neighbouring records may have completed in the other order
    swap: bool = False
    #: an IMMED record may belong to an internal instruction and is consumed
    early_immediates: bool = True
    #: the MESSAGE record before the wave's end is s_endpgm and starts at its predecessor's end
    endpgm_traced: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """Everything the decoder needs to know about one trace format."""

    name: str  #: "gfx9", "gfx10", "gfx11", "gfx12", "gfx1250"
    version: int  #: version number in the HEADER packet (gfx9: 0, it has a software header)
    unit_bits: int  #: packet positions are multiples of this
    packets: tuple[Packet, ...]
    ops: Mapping[int, Op]
    time_unit: int = 1  #: cycles per delta step
    #: field and value of a TIMESTAMP that moves the clock by its value (1-cycle clocks)
    advances: tuple[str, int] = ("rt", 0)
    #: kinds whose packet may be followed by extension bytes (bit 0 set)
    extended: tuple[str, ...] = ()
    #: cycles before a WAVE_READY at which an extended barrier ends
    ready_offset: int = 0
    #: VALU_INST carries an index into the recently used waves (move to front)
    wave_prediction: Mapping[int, tuple[int, int]] | None = None
    #: operation codes that move their wave to the front of that list
    prediction_ops: tuple[int, ...] = ()
    #: highest valid wave slot
    max_slot: int = 31
    #: WAVE_START.count - this = active threads; the valid range of threads is 1..max
    thread_bias: int = 0
    max_threads: int = 64
    #: WAVE_START.count codes of a context restore / save
    context_codes: tuple[int, ...] = ()
    stitch: StitchRules = StitchRules()

    def table(self) -> tuple[int, ...]:
        """Packet number for each of the 256 first bytes (-1: undefined).

        ``packets`` is ordered oldest generation first; a later entry wins,
        within one generation the longer pattern (the tables are written so).
        """
        out = [-1] * 256
        for code in range(256):
            for i, p in enumerate(self.packets):
                if p.matches(code):
                    out[code] = i
        return tuple(out)

    def kinds(self, *names: str) -> tuple[int, ...]:
        """Packet numbers of the given kinds."""
        return tuple(i for i, p in enumerate(self.packets) if p.kind in names)


def overlay(base: tuple[Packet, ...], *new: Packet, round_to: int | None = None) -> tuple[Packet, ...]:
    """``base`` with a newer generation's entries laid over it.

    An entry with the same kind and pattern is replaced; others stay reachable
    for the codes that the new patterns do not cover.
    """
    keys = {(p.pattern, p.pattern_bits) for p in new}
    kept = [p for p in base if (p.pattern, p.pattern_bits) not in keys]
    if round_to:
        kept = [replace(p, bits=-(-p.bits // round_to) * round_to) for p in kept]
    return (*kept, *sorted(new, key=lambda p: p.pattern_bits))
