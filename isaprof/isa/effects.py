"""What an instruction does to the machine: registers, memory, counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from isaprof.arch.table import ArchTable
from isaprof.isa import rules
from isaprof.isa.memory import counters_of, is_atomic, memory_access, returns_value, waits_of
from isaprof.isa.model import Category, MemAccess, Operand, OperandKind, Pipe, RegClass, RegSpan
from isaprof.isa.rules import Roles
from isaprof.isa.text import ParsedText

_SCC = RegSpan(RegClass.SCC, 0)
_M0 = RegSpan(RegClass.M0, 0)
_MODE = RegSpan(RegClass.MODE, 0)
_FLAT_SCRATCH = RegSpan(RegClass.FLAT_SCRATCH, 0, 2)


@dataclass(frozen=True, slots=True)
class Effects:
    """Derived facts of one instruction text on one architecture."""

    reads: tuple[RegSpan, ...] = ()
    writes: tuple[RegSpan, ...] = ()
    mem: MemAccess | None = None
    counters: tuple[str, ...] = ()
    waits: tuple[tuple[str, int], ...] = ()


def effects_of(
    table: ArchTable, parsed: ParsedText, category: Category, pipe: Pipe, wave_size: int
) -> Effects:
    """Effects of a parsed instruction; those of a VOPD pair include its second half."""
    mem = memory_access(parsed, category)
    reads, writes = _registers(table, parsed, category, pipe, mem, wave_size)
    if parsed.dual is not None:
        more = _registers(table, parsed.dual, category, pipe, None, wave_size)
        reads, writes = _unique((*reads, *more[0])), _unique((*writes, *more[1]))
    return Effects(reads, writes, mem, counters_of(table, parsed, category, mem), waits_of(table, parsed))


def _registers(
    table: ArchTable,
    parsed: ParsedText,
    category: Category,
    pipe: Pipe,
    mem: MemAccess | None,
    wave_size: int,
) -> tuple[tuple[RegSpan, ...], tuple[RegSpan, ...]]:
    roles = operand_roles(parsed, category, pipe, mem)
    n = roles.dsts
    if parsed.base.startswith("v_cmpx"):  # gfx9 names a destination besides EXEC, later generations do not
        n = max(0, len(parsed.operands) - 2)
    dsts, srcs = parsed.operands[:n], parsed.operands[n:]
    writes = [o.reg for o in dsts if o.reg is not None]
    reads = [o.reg for o in srcs if o.reg is not None]
    if roles.swap:
        reads += writes
    else:
        reads += [o.reg for o in dsts[:1] if o.reg is not None and (roles.rmw or _keeps_part(parsed, o))]
    lanes = wave_size // 32
    named = {
        "scc": _SCC,
        "m0": _M0,
        "mode": _MODE,
        "vcc": RegSpan(RegClass.VCC, 0, lanes),
        "exec": RegSpan(RegClass.EXEC, 0, lanes),
    }
    reads += [named[r] for r in roles.reads]
    writes += [named[r] for r in roles.writes]
    if _reads_exec(parsed.base, category, pipe):
        reads.append(named["exec"])
    if mem is not None and mem.lds_dma and "async" not in parsed.base and pipe is Pipe.VMEM:
        reads.append(_M0)
    if parsed.base.startswith(("flat_", "scratch_")) and table["flat_scratch_sgpr"]:
        reads.append(_FLAT_SCRATCH)
    if parsed.base.startswith(("s_setreg", "s_getreg")) and "MODE" in " ".join(
        o.text for o in parsed.operands
    ):
        (writes if parsed.base.startswith("s_setreg") else reads).append(_MODE)
    return _unique(reads), _unique(writes)


def operand_roles(parsed: ParsedText, category: Category, pipe: Pipe, mem: MemAccess | None) -> Roles:
    """Which operands are destinations, and what is touched without being named."""
    base = parsed.base
    if category is Category.VALU:
        return rules.first_match(rules.VECTOR, base, Roles())
    if category is Category.SMEM:
        if "atomic" in base:
            return Roles(1, rmw=True) if returns_value(parsed) else Roles(0)
        return rules.first_match(rules.SCALAR_MEMORY, base, Roles(0))
    if category is Category.LDS or base.startswith("ds_"):
        return rules.first_match(rules.LDS, base, Roles(0))
    if pipe is Pipe.VMEM:
        return _vector_memory_roles(parsed, mem)
    if base.startswith("s_"):
        return rules.first_match(rules.SCALAR, base, Roles())
    return Roles(0)


def _vector_memory_roles(parsed: ParsedText, mem: MemAccess | None) -> Roles:
    base = parsed.base
    if mem is None or mem.lds_dma:
        return Roles(0)
    if is_atomic(base):
        if not mem.load:
            return Roles(0)
        # buffer and image atomics return into the register that held the data
        return Roles(1, rmw=base.startswith(("buffer_", "tbuffer_", "image_")))
    if mem.store:
        return Roles(0)
    return Roles(1, rmw="d16" in base)


def _keeps_part(parsed: ParsedText, dst: Operand) -> bool:
    """True when the destination keeps some of its old bits or lanes, which counts as reading it."""
    if (
        dst.kind is not OperandKind.REG
        or dst.reg is None
        or dst.reg.cls not in (RegClass.VGPR, RegClass.AGPR)
    ):
        return False
    m = parsed.modifiers
    if dst.half is not None or m.get("dst_unused") == "UNUSED_PRESERVE":
        return True
    if parsed.enc.endswith("dpp"):
        whole = m.get("row_mask", 0xF) == 0xF and m.get("bank_mask", 0xF) == 0xF
        return not (whole and m.get("bound_ctrl") is not None) and "dpp8" not in m
    op_sel = m.get("op_sel")
    if isinstance(op_sel, tuple) and not parsed.base.startswith(_PACKED):
        # the last bit selects the half of the destination that a 16-bit VOP3 writes
        return len(op_sel) == len(parsed.operands) and op_sel[-1] == 1
    return False


_PACKED = (
    "v_pk_",
    "v_dot",
    "v_mfma",
    "v_smfmac",
    "v_wmma",
    "v_swmmac",
    "v_fma_mix",
    "v_mad_mix",
    "v_permlane",
)


def _reads_exec(base: str, category: Category, pipe: Pipe) -> bool:
    if category is Category.VALU:
        return rules.NO_EXEC.fullmatch(base) is None
    if pipe in (Pipe.VMEM, Pipe.LDS):
        return memory_like(base)
    return pipe is Pipe.EXPORT


def memory_like(base: str) -> bool:
    """False for cache maintenance, which works for the whole wave whatever EXEC says."""
    return "inv" not in base.split("_") and not base.endswith(("wbl2", "_wb", "_wbinv", "gl0_inv", "gl1_inv"))


def _unique(spans: Iterable[RegSpan]) -> tuple[RegSpan, ...]:
    return tuple(dict.fromkeys(s for s in spans if s.cls is not RegClass.NULL))
