"""What each code line is, for the rules: classes, costs and registers, once per capture.

Everything comes from :class:`isaprof.isa.model.Instruction` (decoded from the
capture's own disassembly) and the architecture table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from isaprof.isa.model import Category, Instruction, Pipe, RegClass, RegSpan, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.arch import ArchTable
    from isaprof.capture.model import Capture


class Cls(IntFlag):
    """Classes of instructions that the rules of :mod:`isaprof.attribution.rules` name."""

    VALU = 1 << 0  #: anything on the vector ALU, matrix and transcendental included
    MATRIX = 1 << 1
    TRANS = 1 << 2
    PACKED = 1 << 3  #: takes every VALU port on CDNA (packed f32, transcendentals): waits for a whole MFMA
    VALU_SGPR = 1 << 4  #: vector instruction that writes SGPR, VCC or EXEC
    SALU = 1 << 5
    SMEM = 1 << 6
    VMEM = 1 << 7  #: global, buffer, scratch, flat, image
    STORE = 1 << 8  #: VMEM without data coming back
    LDS = 1 << 9
    EXPORT = 1 << 10
    BRANCH = 1 << 11
    CONDITIONAL = 1 << 12  #: branch that reads SCC, VCC or EXEC
    WAIT = 1 << 13  #: waits on a counter
    NOP = 1 << 14  #: s_nop, s_sleep
    BARRIER = 1 << 15
    ENDPGM = 1 << 16
    INTERNAL = 1 << 17  #: executed in the sequencer
    MESSAGE = 1 << 18


_SCALAR_STATE = (RegClass.SGPR, RegClass.VCC, RegClass.EXEC, RegClass.M0, RegClass.SCC, RegClass.TTMP)
#: bit offset of each register class in the masks; VGPRs and AGPRs have 512 each (gfx1250 banks included)
_OFFSET = {
    RegClass.VGPR: 0, RegClass.AGPR: 1024, RegClass.SGPR: 1536, RegClass.TTMP: 1664, RegClass.VCC: 1680,
    RegClass.EXEC: 1682, RegClass.M0: 1684, RegClass.SCC: 1685, RegClass.FLAT_SCRATCH: 1686,
    RegClass.XNACK_MASK: 1688,
}  # fmt: skip
_CONDITION = (RegClass.SCC, RegClass.VCC, RegClass.EXEC)


def mask(spans: Iterable[RegSpan], classes: Sequence[RegClass] | None = None) -> int:
    """Bit mask of the 32-bit registers in ``spans`` (of ``classes`` only, if given)."""
    out = 0
    for s in spans:
        offset = _OFFSET.get(s.cls)
        if offset is not None and (classes is None or s.cls in classes):
            out |= ((1 << s.count) - 1) << (offset + s.index)
    return out


#: bits of EXEC: nearly every vector instruction reads them, which is no data dependency to look for
EXEC_MASK = mask([RegSpan(RegClass.EXEC, 0, 2)])


@dataclass(frozen=True, slots=True)
class StaticCode:
    """Per code line (row of the capture's code table), index = line."""

    instructions: tuple[Instruction, ...]
    table: ArchTable
    cls: NDArray[np.int64]  #: Cls bits
    pc: NDArray[np.int64]
    size: NDArray[np.int64]  #: bytes, 0 where not known
    occupancy: NDArray[np.int64]  #: cycles the line keeps its VALU (or matrix) pipe
    latency: NDArray[np.int64]  #: issue to use of the result by a VALU, cycles
    reads: tuple[int, ...]  #: register masks
    writes: tuple[int, ...]
    scale_slot: NDArray[np.int64]  #: cycles that a matrix instruction's load of scales issues before it
    skipped: tuple[tuple[int, ...], ...]  #: untraced lines just before this one (s_delay_alu, s_wait_alu)

    def __len__(self) -> int:
        return len(self.instructions)


def instructions_of(capture: Capture) -> tuple[Instruction, ...]:
    """The decoded instructions of the capture's code table, in its order.

    Decoded from the text (and machine code where the capture has it), so that
    neither LLVM nor the code object is needed.
    """
    from isaprof.isa.decode import decode_lines

    code = capture.code
    words = [_words(e) for e in code["encoding"].tolist()] if "encoding" in code else [()] * len(code)
    rows = zip(code["pc"].tolist(), words, code["text"].tolist(), strict=True)
    return decode_lines(capture.arch, rows)


def _words(encoding: object) -> tuple[int, ...]:
    if not isinstance(encoding, bytes):
        return ()
    return tuple(int.from_bytes(encoding[i : i + 4], "little") for i in range(0, len(encoding), 4))


def static_code(capture: Capture, instructions: Sequence[Instruction] | None = None) -> StaticCode:
    """Classes and costs of every line of ``capture``."""
    from isaprof import arch

    ins = tuple(instructions) if instructions is not None else instructions_of(capture)
    table = arch.family_table(capture.arch)
    n = len(ins)
    cls, occupancy, latency = (np.zeros(n, np.int64) for _ in range(3))
    for i, x in enumerate(ins):
        cls[i] = classify(x, table)
        occupancy[i], latency[i] = _costs(x, Cls(int(cls[i])), table)
    pc = np.array([x.pc for x in ins], np.int64)
    size = np.array([x.size for x in ins], np.int64)
    scales = np.array(["_scale_" in x.base and x.pipe is Pipe.MATRIX for x in ins], np.bool_)
    return StaticCode(
        ins, table, cls, pc, size, occupancy, latency,
        tuple(mask(x.reads) for x in ins), tuple(mask(x.writes) for x in ins),
        np.where(scales, int(table.get("matrix_scale_slot", 0)), 0), _skipped(ins),
    )  # fmt: skip


def _skipped(ins: Sequence[Instruction]) -> tuple[tuple[int, ...], ...]:
    out: list[tuple[int, ...]] = []
    run: tuple[int, ...] = ()
    for i, x in enumerate(ins):
        out.append(run)
        run = (*run, i) if not x.traced and x.category is not Category.NONE else ()
    return tuple(out)


def classify(x: Instruction, table: ArchTable) -> Cls:
    """The classes of one instruction."""
    base = x.base
    if x.pipe in (Pipe.VALU, Pipe.TRANS, Pipe.MATRIX):
        cls = Cls.VALU
        if x.pipe is Pipe.MATRIX:
            cls |= Cls.MATRIX
        elif x.pipe is Pipe.TRANS:
            cls |= Cls.TRANS
        alone = (table.get("packed_f32_pattern", ""), *table.get("valu_alone", ()))
        if any(p and _fullmatch(p, base) for p in alone):
            cls |= Cls.PACKED
        if any(s.cls in _SCALAR_STATE for s in x.writes):
            cls |= Cls.VALU_SGPR
        return cls
    if x.pipe is Pipe.BRANCH:
        condition = any(s.cls in _CONDITION for s in x.reads) or "cbranch" in base
        return Cls.BRANCH | (Cls.CONDITIONAL if condition else Cls(0))
    if x.pipe is Pipe.VMEM:
        returns = x.mem is None or x.mem.load or x.mem.lds_dma or "rtn" in base
        return Cls.VMEM if returns else Cls.VMEM | Cls.STORE
    simple = {Pipe.SALU: Cls.SALU, Pipe.SMEM: Cls.SMEM, Pipe.LDS: Cls.LDS, Pipe.EXPORT: Cls.EXPORT}
    if x.pipe in simple:
        return simple[x.pipe]
    cls = Cls.INTERNAL
    if x.waits or base.startswith(("s_waitcnt", "s_wait_")):
        cls |= Cls.WAIT
    if base.startswith(("s_nop", "s_sleep")):
        cls |= Cls.NOP
    if base.startswith("s_barrier"):
        cls |= Cls.BARRIER
    if base.startswith("s_endpgm"):
        cls |= Cls.ENDPGM
    if base.startswith("s_sendmsg"):
        cls |= Cls.MESSAGE
    return cls


def _costs(x: Instruction, cls: Cls, table: ArchTable) -> tuple[int, int]:
    """(occupancy, latency) in cycles of a vector instruction; the issue period for the others."""
    period = int(table.get("issue_period", 1))
    if cls & Cls.MATRIX:
        cycles = matrix_cycles(x, table)
        return (cycles, cycles) if cycles else (period, period)
    if not cls & Cls.VALU:
        return period, period
    for rule in table.get("valu_rules", ()):
        if _fullmatch(rule.pattern, x.base):
            return rule.occupancy, rule.latency
    return period, int(table.get("valu_dep_latency", period))


def matrix_cycles(x: Instruction, table: ArchTable) -> int:
    """Cycles a matrix instruction keeps the matrix pipe; 0 where the table does not know it."""
    for rule in table.get("matrix", ()):
        if _fullmatch(rule.pattern, x.base):
            eight_bit = any(x.modifiers.get(k, 0) in (0, 1) for k in ("cbsz", "blgp"))
            if rule.cycles_8bit is not None and eight_bit:
                return int(rule.cycles_8bit)
            return int(rule.cycles)
    return 0


@lru_cache(maxsize=65536)
def _fullmatch(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def has_memory(x: Instruction, space: Space) -> bool:
    """True when ``x`` accesses ``space``."""
    return x.mem is not None and x.mem.space is space
