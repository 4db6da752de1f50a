"""Counts of instructions by class; every instruction is in exactly one class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from isaprof.isa.model import Category, Instruction, Pipe, RegClass, Space

#: class -> what it counts, in the order of tables
CLASSES: Mapping[str, str] = {
    "matrix": "MFMA, SMFMAC, WMMA",
    "valu": "vector ALU without matrix and accumulator moves",
    "acc_move": "v_accvgpr_read, _write, _mov",
    "salu": "scalar ALU",
    "smem": "scalar memory",
    "smem_atomic": "scalar atomics",
    "vmem_load": "buffer, global, flat, scratch and image loads into registers",
    "vmem_store": "stores of the same",
    "vmem_atomic": "atomics of the same",
    "lds_dma": "loads from memory straight to LDS (tensor loads and stores included)",
    "lds_read": "LDS loads",
    "lds_write": "LDS stores",
    "lds_atomic": "LDS atomics",
    "lds_lane": "lane exchanges on the LDS crossbar: bpermute, permute, swizzle",
    "cache": "cache maintenance and prefetch",
    "wait": "waits for counters",
    "barrier": "barriers (signal and wait count each)",
    "nop": "s_nop, v_nop, s_sleep",
    "branch": "branches, calls and jumps",
    "hint": "s_setprio, s_clause, s_delay_alu, modes",
    "end": "s_endpgm",
    "message": "messages, traps",
    "data": "words that are no instruction, and s_code_end padding",
}

#: attribute -> what it counts; an instruction may have several
ATTRIBUTES: Mapping[str, str] = {
    "drain": "waits that let nothing outstanding on a vector-memory load counter",
    "packed": "v_pk_* instructions",
    "transcendental": "exp, log, rcp, rsq, sqrt, sin, cos",
    "perm": "v_perm_b32",
    "permlane": "v_permlane*",
    "dpp": "DPP forms",
    "cache_policy": "memory instructions with a cache-policy bit",
}

_WAIT = re.compile(r"s_wait(?!_?alu)\w*")
_NOP = re.compile(r"s_nop|v_nop|s_sleep\w*|ds_nop|buffer_nop")
_HINT = re.compile(
    r"s_(setprio|clause|delay_alu|set_inst\w*|inst_prefetch|wait_?alu|waitcnt_depctr|set_vgpr\w*|set_gpr\w*|"
    r"setreg\w*|denorm_mode|round_mode|wakeup\w*|sethalt|version|monitor\w*)"
)
_LANE = re.compile(r"ds_(bpermute|permute|swizzle)\w*")
_POLICY = ("glc", "slc", "dlc", "sc0", "sc1", "nt", "scc")
_LOAD_COUNTERS = ("vmcnt", "loadcnt")


def class_of(ins: Instruction) -> str:
    """The class of :data:`CLASSES` that ``ins`` is counted in."""
    base = ins.base
    if ins.pipe is Pipe.MATRIX:
        return "matrix"
    if base.startswith("s_endpgm"):
        return "end"
    if base == "s_code_end":
        return "data"
    if _WAIT.fullmatch(base) and "depctr" not in base:
        return "wait"
    if base.startswith("s_barrier"):
        return "barrier"
    if _NOP.fullmatch(base):
        return "nop"
    if _HINT.fullmatch(base):
        return "hint"
    if ins.pipe is Pipe.BRANCH:
        return "branch"
    if ins.category is Category.VALU:
        return "acc_move" if base.startswith("v_accvgpr") else "valu"
    return _memory_class(ins)


def _memory_class(ins: Instruction) -> str:
    base, mem = ins.base, ins.mem
    if _LANE.fullmatch(base):
        return "lds_lane"
    if mem is not None:
        if mem.lds_dma or base.startswith("tensor_"):
            return "lds_dma"
        if mem.space is Space.SCALAR:
            return "smem_atomic" if mem.atomic else "smem"
        kind = "atomic" if mem.atomic else "store" if mem.store else "load"
        if mem.space in (Space.LDS, Space.GDS):
            return {"atomic": "lds_atomic", "store": "lds_write", "load": "lds_read"}[kind]
        return f"vmem_{kind}"
    if ins.pipe in (Pipe.VMEM, Pipe.LDS) or "prefetch" in base or base.startswith("s_dcache"):
        return "cache"
    if ins.category is Category.SMEM:
        return "smem"
    if ins.category is Category.SALU:
        return "salu"
    if base.startswith((".", "<")):
        return "data"
    return "message"


def attributes_of(ins: Instruction) -> list[str]:
    """The attributes of :data:`ATTRIBUTES` that ``ins`` has."""
    base = ins.base
    out = []
    if any(c in _LOAD_COUNTERS and n == 0 for c, n in ins.waits):
        out.append("drain")
    if base.startswith("v_pk_"):
        out.append("packed")
    if ins.pipe is Pipe.TRANS:
        out.append("transcendental")
    if base == "v_perm_b32":
        out.append("perm")
    if base.startswith("v_permlane"):
        out.append("permlane")
    if ins.enc.endswith("dpp"):
        out.append("dpp")
    if cache_policy(ins):
        out.append("cache_policy")
    return out


def cache_policy(ins: Instruction) -> tuple[str, ...]:
    """Cache-policy bits of a memory instruction, as printed (``sc0`` of an atomic is its return)."""
    if ins.mem is None or ins.mem.space in (Space.LDS, Space.GDS):
        return ()
    m = ins.modifiers
    bits = [b for b in _POLICY if m.get(b) is True]
    if ins.mem.atomic:  # these give back the old value there, which is no policy
        bits = [b for b in bits if b not in ("glc", "sc0")]
    return (*bits, *(f"{k}:{m[k]}" for k in ("th", "scope") if k in m))


def count(lines: Iterable[Instruction]) -> dict[str, int]:
    """Class -> instructions, in the order of :data:`CLASSES`; classes that do not occur are left out."""
    found = Counter(class_of(i) for i in lines)
    return {c: found[c] for c in CLASSES if found[c]}


def count_attributes(lines: Iterable[Instruction]) -> dict[str, int]:
    """Attribute -> instructions; those that do not occur are left out."""
    found = Counter(a for i in lines for a in attributes_of(i))
    return {a: found[a] for a in ATTRIBUTES if found[a]}


def count_mnemonics(lines: Iterable[Instruction], of: str) -> dict[str, int]:
    """Mnemonic -> instructions of class ``of``, most frequent first."""
    return dict(Counter(i.base for i in lines if class_of(i) == of).most_common())


def registers_used(lines: Iterable[Instruction]) -> dict[str, int]:
    """Highest register named + 1 of each file: ``vgpr``, ``agpr``, ``sgpr``."""
    top = {RegClass.VGPR: 0, RegClass.AGPR: 0, RegClass.SGPR: 0}
    for ins in lines:
        for span in (*ins.reads, *ins.writes):
            if span.cls in top:
                top[span.cls] = max(top[span.cls], span.index + span.count)
    return {"vgpr": top[RegClass.VGPR], "agpr": top[RegClass.AGPR], "sgpr": top[RegClass.SGPR]}
