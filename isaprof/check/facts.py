"""What the shadow of the registers needs to know of each instruction, worked out once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from isaprof.isa.model import Instruction, RegClass, RegSpan
from isaprof.sim.state import M0, VCC

#: results that start from the destination's old value; of other instructions that
#: read their destination it is a part that they leave alone
_ACCUMULATES = re.compile(
    r"v_(dual_)?(fmac|mac|pk_fmac|dot\d+c|dot2acc|dot2c|smfmac|swmmac)_\w+|v_swap\w*|v_permlane(16|32)_swap\w*"
    r"|s_(addk|mulk|fmac)\w*|(buffer|tbuffer|image)_atomic\w*"
)
#: the result does not depend on the sources where both are the same register
_CANCELS = re.compile(r"[sv]_(xor|sub|subrev)(_co|_nc)?_[biu]\d+")
#: lanes are read that EXEC does not name, or not the lanes that it names
_ACROSS = re.compile(
    r"v_(readlane|readfirstlane|writelane|permlane\w*|mov_b32_dpp|interp|mbcnt)\w*|ds_(bpermute|permute|swizzle)\w*"
    r"|v_\w*(mfma|wmma|smfmac|swmmac)\w*|ds_\w*_tr_\w*|(global|buffer)_load_\w*tr\w*"
)
_MATRIX = re.compile(r"v_\w*(mfma|smfmac|wmma|swmmac)\w*")
#: reads of M0 that are there in name only
_NO_M0 = re.compile(r"s_(sendmsg|sendmsghalt|ttracedata|set_gpr_idx)\w*")
#: instructions behind which a VGPR's number does not name it, and those that end that
INDEXING = re.compile(r"s_set_gpr_idx_(on|mode)|s_set_vgpr_msb")
INDEXING_ENDS = "s_set_gpr_idx_off"
#: instructions whose VGPR operand depends on M0
RELATIVE = re.compile(r"v_(movrel|swaprel)\w*")
_LANES = (RegClass.VGPR, RegClass.AGPR)
#: scalar registers that are followed
_SLOTS = {RegClass.SGPR: 0, RegClass.VCC: VCC, RegClass.M0: M0}


@dataclass(frozen=True, slots=True)
class RegisterFacts:
    """Rows (vector file) and slots (scalar file) that an instruction reads and writes."""

    rows_read: tuple[int, ...]
    rows_written: tuple[int, ...]
    slots_read: tuple[int, ...]
    slots_written: tuple[int, ...]
    reads_scc: bool
    writes_scc: bool
    across: bool  #: lanes of other threads matter: per-lane judgement is not possible
    all_lanes: bool  #: reads every lane whatever EXEC says, and needs them all (matrix instructions)
    writes_all: bool  #: writes every lane whatever EXEC says
    indexes: bool  #: makes VGPR numbers depend on M0 or a mode, or ends that


def _rows(spans: list[RegSpan], agpr_base: int, total: int) -> tuple[int, ...]:
    rows = (
        s.index + i + (agpr_base if s.cls is RegClass.AGPR else 0)
        for s in spans
        if s.cls in _LANES
        for i in range(s.count)
    )
    return tuple(r for r in rows if r < total)


def _slots(spans: list[RegSpan]) -> tuple[int, ...]:
    return tuple(_SLOTS[s.cls] + s.index + i for s in spans if s.cls in _SLOTS for i in range(s.count))


def register_facts(ins: Instruction, agpr_base: int, total: int) -> RegisterFacts:
    """The facts of ``ins`` for a kernel whose AGPRs start at row ``agpr_base`` of ``total``."""
    reads = list(ins.reads)
    if not _ACCUMULATES.fullmatch(ins.base):
        sources = {o.reg for o in ins.operands[1:] if o.reg is not None}
        if ins.dual is not None:
            sources |= {o.reg for o in ins.dual.operands[1:] if o.reg is not None}
            accumulating = [d for d in (ins, ins.dual) if _ACCUMULATES.fullmatch(d.base) and d.operands]
            sources |= {d.operands[0].reg for d in accumulating if d.operands[0].reg is not None}
        kept = {o.reg for o in ins.operands[:1] if o.reg is not None} & set(ins.writes)
        reads = [r for r in reads if r not in kept or r in sources]
    if (
        _CANCELS.fullmatch(ins.base)
        and len(ins.operands) == 3
        and ins.operands[1].text == ins.operands[2].text
    ):
        reads = [r for r in reads if r.cls not in (*_LANES, *_SLOTS)]
    if _NO_M0.fullmatch(ins.base):
        reads = [r for r in reads if r.cls is not RegClass.M0]
    matrix = _MATRIX.fullmatch(ins.base) is not None
    writes = list(ins.writes)
    return RegisterFacts(
        _rows(reads, agpr_base, total),
        _rows(writes, agpr_base, total),
        _slots(reads),
        _slots(writes),
        any(r.cls is RegClass.SCC for r in reads),
        any(r.cls is RegClass.SCC for r in writes),
        _ACROSS.fullmatch(ins.base) is not None or ins.enc.endswith("dpp"),
        matrix,
        matrix or ins.base.startswith("v_writelane"),
        ins.base == INDEXING_ENDS or any(p.fullmatch(ins.base) for p in (INDEXING, RELATIVE)),
    )


def row_name(row: int, agpr_base: int) -> str:
    """``v5`` or ``a5``."""
    return f"v{row}" if row < agpr_base else f"a{row - agpr_base}"


def slot_name(slot: int) -> str:
    """``s5``, ``vcc_lo``, ``m0``: a slot of the scalar file as LLVM writes it."""
    return {VCC: "vcc_lo", VCC + 1: "vcc_hi", M0: "m0"}.get(slot, f"s{slot}")
