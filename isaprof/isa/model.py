"""The one decoded-instruction type of isaprof.

Built from LLVM's disassembly by :mod:`isaprof.isa.decode`; used by the
simulator, the attribution, the transforms and the views alike. Plain frozen
data: nothing here imports a third-party package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RegClass(StrEnum):
    """Register files and special registers an instruction can name."""

    VGPR = "v"
    AGPR = "a"
    SGPR = "s"
    TTMP = "ttmp"
    VCC = "vcc"  #: index 0 = vcc_lo, 1 = vcc_hi
    EXEC = "exec"  #: index 0 = exec_lo, 1 = exec_hi
    M0 = "m0"
    SCC = "scc"
    NULL = "null"
    FLAT_SCRATCH = "flat_scratch"
    XNACK_MASK = "xnack_mask"
    MODE = "mode"
    #: read-only sources: src_shared_base, src_private_base, vccz, execz, lds_direct, ... (see Operand.text)
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class RegSpan:
    """``count`` consecutive 32-bit registers of one class, from ``index`` on."""

    cls: RegClass
    index: int
    count: int = 1

    def overlaps(self, other: RegSpan) -> bool:
        """True when the two spans share a register."""
        return (
            self.cls == other.cls
            and self.index < other.index + other.count
            and other.index < self.index + self.count
        )


class OperandKind(StrEnum):
    REG = "reg"
    INT = "int"  #: inline integer or literal; value is what the text says
    FLOAT = "float"  #: inline float constant such as 0.5, or 0.15915494
    TARGET = "target"  #: branch destination; value = address
    NAME = "name"  #: hwreg(...), sendmsg(...), off, attr..., exp targets, wait fields


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as LLVM prints it, resolved."""

    text: str
    kind: OperandKind
    reg: RegSpan | None = None
    value: int | float | None = None
    neg: bool = False
    abs: bool = False
    sext: bool = False
    half: str | None = None  #: "l" or "h" for true16 operands (v4.l, v4.h)


class Category(StrEnum):
    """Instruction categories of the thread trace (numbers: :data:`CATEGORY_CODES`)."""

    NONE = "NONE"
    SMEM = "SMEM"
    SALU = "SALU"
    VMEM = "VMEM"
    FLAT = "FLAT"
    LDS = "LDS"
    VALU = "VALU"
    JUMP = "JUMP"  #: a branch, taken (as a static category: any branch)
    NEXT = "NEXT"  #: a branch, not taken
    IMMED = "IMMED"  #: executed inside the sequencer: waits, nops, barriers
    CONTEXT = "CONTEXT"  #: trap or context switch
    MESSAGE = "MESSAGE"  #: s_sendmsg, s_barrier entry, s_endpgm
    BVH = "BVH"


#: record category numbers used by rocprof-trace-decoder and in ui_output wave files
CATEGORY_CODES: Mapping[int, Category] = dict(enumerate(Category))


class Pipe(StrEnum):
    """Execution resource an instruction occupies."""

    VALU = "VALU"
    TRANS = "TRANS"
    MATRIX = "MATRIX"
    SALU = "SALU"
    SMEM = "SMEM"
    VMEM = "VMEM"
    LDS = "LDS"
    EXPORT = "EXPORT"
    BRANCH = "BRANCH"
    INTERNAL = "INTERNAL"  #: waits, nops, barriers, priorities: no pipe


class Space(StrEnum):
    GLOBAL = "global"
    BUFFER = "buffer"
    FLAT = "flat"
    SCRATCH = "scratch"
    LDS = "lds"
    SCALAR = "scalar"
    GDS = "gds"


@dataclass(frozen=True, slots=True)
class MemAccess:
    """What a memory instruction does, per lane."""

    space: Space
    load: bool
    store: bool
    atomic: bool = False
    bytes: int = 0  #: per lane (per wave for scalar loads)
    lds_dma: bool = False  #: data goes from memory straight to LDS


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction.

    ``mnemonic`` is LLVM's text; ``base`` is it without ``_e32/_e64/_dpp/_sdwa``
    (the encoding is in ``enc``). ``operands`` are destination(s) first, as
    printed; modifiers such as ``offset:16``, ``glc``, ``op_sel:[0,1]``,
    ``row_shr:1`` or ``cbsz:4`` are in ``modifiers`` (``offset -> 16``,
    ``glc -> True``, ``op_sel -> (0, 1)``). For VOPD ``dual`` is the second (Y)
    half; its reads and writes are included in those of the first.
    ``reads``/``writes`` include implicit registers (SCC, VCC, EXEC, M0).
    ``counters`` names the wait counters it increments (``vmcnt``, ``vscnt``,
    ``lgkmcnt``, ``expcnt``; gfx12: ``loadcnt``, ``storecnt``, ``samplecnt``,
    ``bvhcnt``, ``dscnt``, ``kmcnt``, ``expcnt``), ``waits`` the counters a wait
    instruction waits on with the largest count it lets pass.
    """

    index: int  #: position in the listing (row of the code table)
    pc: int  #: ELF virtual address, bytes
    size: int  #: bytes
    words: tuple[int, ...]  #: encoding, 32-bit little-endian words
    text: str
    mnemonic: str
    base: str
    enc: str  #: "e32", "e64", "dpp", "sdwa", "e64_dpp" or ""
    operands: tuple[Operand, ...] = ()
    modifiers: Mapping[str, int | str | bool | tuple[int, ...]] = field(default_factory=dict)
    dual: Instruction | None = None
    category: Category = Category.NONE
    traced: bool = True  #: False: hardware writes no trace packet (s_delay_alu, s_wait_alu, ...)
    pipe: Pipe = Pipe.INTERNAL
    reads: tuple[RegSpan, ...] = ()
    writes: tuple[RegSpan, ...] = ()
    mem: MemAccess | None = None
    counters: tuple[str, ...] = ()
    waits: tuple[tuple[str, int], ...] = ()
    target: int | None = None  #: branch destination address

    @property
    def is_branch(self) -> bool:
        return self.target is not None

    @property
    def end(self) -> int:
        """Address of the byte after this instruction."""
        return self.pc + self.size


@dataclass(frozen=True, slots=True)
class Listing:
    """All instructions of one code object's text section(s), in address order.

    ``labels`` maps an address to the symbol that starts there (functions and
    kernels first, then the object's own labels). Words that LLVM cannot decode
    are kept as instructions with mnemonic ``.long``.
    """

    arch: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[int, str] = field(default_factory=dict)
    by_pc: Mapping[int, int] = field(default_factory=dict)
    #: instructions whose VGPR numbers are only the lower bits: paths disagree on s_set_vgpr_msb (gfx1250)
    unknown_vgprs: frozenset[int] = frozenset()

    def at(self, pc: int) -> Instruction | None:
        """The instruction that starts at ``pc``, or None."""
        i = self.by_pc.get(pc)
        return None if i is None else self.instructions[i]
