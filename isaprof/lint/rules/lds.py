"""LDS accesses at addresses that are known, against the size that the kernel asks for."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.analysis.cfg import Cfg
from isaprof.isa.model import Instruction, OperandKind, RegClass, RegSpan, Space
from isaprof.lint.context import Context
from isaprof.lint.kinds import touches, writes
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule
from isaprof.lint.search import look_back

_EXEC = RegSpan(RegClass.EXEC, 0, 2)
_MOVES = {"v_mov_b32", "s_mov_b32", "s_movk_i32"}


def known_value(cfg: Cfg, position: int, span: RegSpan) -> int | None:
    """The constant that a 32-bit register holds at ``position`` on every path; None where it is none.

    A vector register counts only where EXEC is the same from the write on:
    otherwise other lanes may hold something else.
    """
    values: set[int | None] = set()
    lanes = span.cls is RegClass.VGPR
    entry = next(b for b in cfg.blocks if cfg.idom[b.index] == b.index)
    start = cfg.lines[entry.first].index

    def step(state: int, ins: Instruction) -> int | bool:
        if writes(ins, span):
            return True
        if (lanes and touches(ins.writes, _EXEC)) or ins.index == start:
            values.add(None)
            return False
        return state

    for found in look_back(cfg, position, 0, step):
        values.add(_moved(found.ins, span))
    return values.pop() if len(values) == 1 else None


def _moved(ins: Instruction, span: RegSpan) -> int | None:
    if ins.base not in _MOVES or ins.enc.endswith(("dpp", "sdwa")) or len(ins.operands) != 2 or ins.dual:
        return None
    dst, src = ins.operands
    if dst.reg != span or src.kind is not OperandKind.INT or not isinstance(src.value, int):
        return None
    return src.value & 0xFFFFFFFF


def _extent(ins: Instruction) -> tuple[int, int] | None:
    """(first byte, byte behind the last) that an LDS instruction touches from its base on; None: unknown."""
    m, size = ins.modifiers, ins.mem.bytes if ins.mem is not None else 0
    if size <= 0 or "addtid" in ins.base:
        return None
    if "offset0" in m or "offset1" in m or "read2" in ins.base or "write2" in ins.base or "2addr" in ins.base:
        one = size // 2
        scale = one * (64 if "st64" in ins.base or "stride64" in ins.base else 1)
        places = [scale * int(m.get(k, 0)) for k in ("offset0", "offset1")]  # type: ignore[arg-type]
        return min(places), max(places) + one
    offset = m.get("offset", 0)
    return (offset, offset + size) if isinstance(offset, int) else None


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    fixed = ctx.kernel.descriptor.group_segment_fixed_size
    most: int = ctx.table.get("lds_max_per_workgroup", 1 << 16)
    dynamic = any(a.value_kind == "hidden_dynamic_lds_size" for a in ctx.kernel.args) or any(
        a.value_kind.startswith("dynamic_shared_pointer") for a in ctx.kernel.args
    )
    constants = {s for i in ctx.lines for s in i.writes if _moved(i, s) is not None}
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if ins.mem is None or ins.mem.space is not Space.LDS or not ins.base.startswith("ds_"):
                continue
            extent = _extent(ins)
            at = 0 if not ins.mem.load else 1
            base = ins.operands[at].reg if at < len(ins.operands) else None
            if extent is None or base is None or base not in constants:
                continue
            value = None if ctx.register_mode else known_value(g, p, base)
            if value is None:
                continue
            first, end = (value + e for e in extent)
            if end <= fixed:
                continue
            if end > most:
                limit = f"a workgroup of {ctx.co.arch} has {most} bytes at most"
            elif fixed == 0 or dynamic:
                yield no_rule(
                    "dynamic_lds", "LDS beyond the static size: dynamic LDS may be given at launch", ins
                )
                continue
            else:
                limit = f"the kernel asks for {fixed} bytes (group_segment_fixed_size)"
            yield rule.at(ins, f"touches LDS bytes {first} to {end - 1}; {limit}")


RULES = (
    Rule(
        "lds-size",
        Severity.ERROR,
        "LDS beyond the kernel's size",
        "reads give 0 and writes are lost, or another workgroup's LDS is hit",
        "LLVM AMDGPU user guide, GROUP_SEGMENT_FIXED_SIZE; AMD ISA guides, LDS out of range",
        _check,
    ),
)
