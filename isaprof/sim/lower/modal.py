"""Modes of gfx9 that change what later vector instructions do: relative registers and VSKIP.

CDNA3 ISA, "VGPR Indexing" (S_SET_GPR_IDX_*: M0[7:0] is added to the register
numbers of the operands that M0[15:12] names) and "S_SETVSKIP" (vector
instructions are skipped). Both are bits of MODE, so that any executor sees in
one word that an instruction does not mean what its text says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isaprof.isa.model import Instruction, Operand, OperandKind, RegClass, RegSpan
from isaprof.sim.lower.context import Context, Step, Unimplemented
from isaprof.sim.lower.operands import scalar_getter
from isaprof.sim.state import M0, Wave

GPR_IDX_EN, VSKIP = 1 << 27, 1 << 28
MODAL = GPR_IDX_EN | VSKIP

#: bits of M0[15:12]
_RELATIVE = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}
_VECTOR = ("v_", "ds_", "buffer_", "tbuffer_", "global_", "flat_", "scratch_", "image_")


def _which(o: Operand) -> int:
    """``gpr_idx(SRC0,DST)``, or the bits as a number."""
    if o.kind is OperandKind.INT and isinstance(o.value, int):
        return o.value & 15
    if not o.text.startswith("gpr_idx("):
        raise Unimplemented(f"operand {o.text}")
    return sum(_RELATIVE[name.strip()] for name in o.text[8:-1].split(",") if name.strip())


def _set_m0(w: Wave, keep: int, value: int) -> None:
    w.s[M0] = (w.s[M0] & keep) | value


def _index_on(ins: Instruction, ctx: Context) -> Step:
    index, which = scalar_getter(ctx, ins.operands[0], 32), _which(ins.operands[1])

    def step(w: Wave) -> None:
        _set_m0(w, 0xFFFF0F00, index(w) & 0xFF | which << 12)
        w.set_mode(w.mode | GPR_IDX_EN)

    return step


def _index_mode(ins: Instruction, ctx: Context) -> Step:
    which = _which(ins.operands[0])
    return lambda w: _set_m0(w, 0xFFFF0FFF, which << 12)


def _index_idx(ins: Instruction, ctx: Context) -> Step:
    index = scalar_getter(ctx, ins.operands[0], 32)
    return lambda w: _set_m0(w, 0xFFFFFF00, index(w) & 0xFF)


def _index_off(ins: Instruction, ctx: Context) -> Step:
    return lambda w: w.set_mode(w.mode & ~GPR_IDX_EN)


def _setvskip(ins: Instruction, ctx: Context) -> Step:
    value, bit = (scalar_getter(ctx, o, 32) for o in ins.operands)

    def step(w: Wave) -> None:
        w.set_mode(w.mode & ~VSKIP | (VSKIP if value(w) >> (bit(w) & 31) & 1 else 0))

    return step


MODES: dict[str, Callable[[Instruction, Context], Step]] = {
    "s_set_gpr_idx_on": _index_on,
    "s_set_gpr_idx_off": _index_off,
    "s_set_gpr_idx_mode": _index_mode,
    "s_set_gpr_idx_idx": _index_idx,
    "s_setvskip": _setvskip,
}


def changes_modes(instructions: tuple[Instruction, ...]) -> bool:
    """Whether any instruction of a listing can switch one of these modes on."""
    return any(i.base in ("s_set_gpr_idx_on", "s_setvskip") for i in instructions)


def in_modes(ins: Instruction, step: Step, lower: Callable[[Instruction], Step]) -> Step:
    """``step`` of a vector instruction, made to follow the modes; ``lower`` lowers a rewritten one."""
    base = ins.base
    if not base.startswith(_VECTOR):
        return step
    indexed = base.startswith("v_")
    known: dict[int, Step] = {}

    def modal(w: Wave) -> int | None:
        mode = w.mode & MODAL
        if not mode:
            return step(w)
        if mode & VSKIP:
            return None
        if not indexed:
            return step(w)
        key = w.s[M0] & 0xF0FF
        found = known.get(key)
        if found is None:
            found = known[key] = lower(_shifted(ins, key & 0xFF, key >> 12))
        return found(w)

    return modal


def _shifted(ins: Instruction, index: int, which: int) -> Instruction:
    """The instruction with ``index`` added to the vector registers that ``which`` names."""
    if not index or not which:
        return ins
    out = []
    # carry-outs and compare masks are scalar destinations; sources start behind the last destination
    first = 1
    if "_co_" in ins.base or ins.base.startswith("v_div_scale"):
        first = 2
    for i, o in enumerate(ins.operands):
        bit = 8 if i < first else 1 << min(i - first, 2)
        out.append(_moved(o, index) if which & bit and _vector(o) else o)
    return replace(ins, operands=tuple(out))


def _vector(o: Operand) -> bool:
    return o.reg is not None and o.reg.cls in (RegClass.VGPR, RegClass.AGPR)


def _moved(o: Operand, index: int) -> Operand:
    assert o.reg is not None
    return replace(o, reg=RegSpan(o.reg.cls, o.reg.index + index, o.reg.count))
