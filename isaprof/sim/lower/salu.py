"""Lowering of scalar ALU instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind
from isaprof.sim.lower.context import Context, Step, Unimplemented
from isaprof.sim.lower.operands import scalar_getter, scalar_putter
from isaprof.sim.semantics import Semantics, vector_table
from isaprof.sim.semantics.salu import SAVEEXEC, TABLE, signed
from isaprof.sim.state import EXEC, Wave

GetInt = Callable[[Wave], int]


def lower_pseudo_scalar(ins: Instruction, ctx: Context) -> Step | None:
    """v_s_exp_f32 and its like (gfx12): SGPR to SGPR whatever EXEC says; None when ``ins`` is none.

    RDNA4 ISA, "Pseudo-scalar transcendental".
    """
    return _float(ins, ctx) if ins.base.startswith("v_s_") else None


def lower_salu(ins: Instruction, ctx: Context) -> Step:
    """The step of a scalar ALU instruction; Unimplemented when no semantics are known."""
    row = TABLE.get(ins.base)
    if row is not None:
        return _table_step(ins, ctx, row)
    special = _saveexec(ins, ctx) or _register(ins, ctx) or _float(ins, ctx)
    if special is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    return special


def _typed(ctx: Context, o: Operand, t: str, *, simm16: bool) -> GetInt:
    t = t.removeprefix("dst")
    if t.isdigit():
        t = "u" + t
    bits = int(t[1:])
    if simm16 and o.kind is OperandKind.INT and isinstance(o.value, int):
        # SOPK: a 16-bit immediate, sign-extended for signed operations, zero-extended for unsigned compares
        k = signed(o.value, 16) if t[0] == "i" else o.value & 0xFFFF
        return lambda w: k
    g = scalar_getter(ctx, o, bits)
    if bits == 64 and o.kind is OperandKind.INT and isinstance(o.value, int) and o.value > 64:
        # a literal: zero-extended for unsigned and bit operations, sign-extended for signed ones
        v = signed(o.value, 32) & 0xFFFFFFFFFFFFFFFF if t[0] == "i" else o.value
        g = lambda w: v  # noqa: E731
    return (lambda w: signed(g(w), bits)) if t[0] == "i" else g


_SOPK = ("s_movk", "s_cmovk", "s_addk", "s_mulk", "s_cmpk")


def _table_step(ins: Instruction, ctx: Context, row: Semantics) -> Step:
    fn = row.fn
    simm16 = ins.base.startswith(_SOPK)
    operands = list(ins.operands)
    has_dst = bool(row.dst)
    if has_dst and any(t.startswith("dst") for t in row.src):
        operands.append(operands[0])
    srcs = operands[1:] if has_dst else operands
    if len(srcs) != len(row.src):
        raise Unimplemented(f"operand list of {ins.text}")
    gets = [_typed(ctx, o, t, simm16=simm16) for o, t in zip(srcs, row.src, strict=True)]
    if row.reads_scc:
        gets.append(lambda w: w.scc)
    if not has_dst:
        g0, g1 = gets

        def compare(w: Wave) -> None:
            w.scc = 1 if fn(g0(w), g1(w)) else 0

        return compare
    bits = int(row.dst[0][1:])
    put, mask = scalar_putter(operands[0], bits), (1 << bits) - 1
    if row.scc:

        def with_scc(w: Wave) -> None:
            value, scc = fn(*[g(w) for g in gets])
            put(w, value & mask)
            w.scc = scc & 1

        return with_scc
    if len(gets) == 1:
        get = gets[0]
        return lambda w: put(w, fn(get(w)) & mask)
    return lambda w: put(w, fn(*[g(w) for g in gets]) & mask)


def _saveexec(ins: Instruction, ctx: Context) -> Step | None:
    """s_*_saveexec and s_*_wrexec: EXEC = source op EXEC, SCC = EXEC is not zero."""
    name, _, tail = ins.base.removeprefix("s_").rpartition("_")
    kind = "saveexec" if name.endswith("_saveexec") else "wrexec" if name.endswith("_wrexec") else None
    if kind is None or tail not in ("b32", "b64"):
        return None
    fn = SAVEEXEC.get(name.removesuffix("_" + kind))
    if fn is None:
        return None
    bits = int(tail[1:])
    mask = (1 << bits) - 1
    dst, src = ins.operands
    put, get = scalar_putter(dst, bits), scalar_getter(ctx, src, bits)
    save = kind == "saveexec"

    def step(w: Wave) -> None:
        old = w.s[EXEC] if bits == 32 else w.exec
        new = fn(get(w), old) & mask
        put(w, old if save else new)
        w.s[EXEC] = new & 0xFFFFFFFF
        if bits == 64:
            w.s[EXEC + 1] = new >> 32
        w.refresh_exec()
        w.scc = int(new != 0)

    return step


def _hwreg(o: Operand) -> tuple[str, int, int]:
    """(name, offset, size) of ``hwreg(NAME, offset, size)``."""
    text = o.text
    if not text.startswith("hwreg("):
        raise Unimplemented(f"operand {text}")
    parts = [p.strip() for p in text[6:-1].split(",")]
    name = {"1": "HW_REG_MODE"}.get(parts[0], parts[0])
    offset, size = (int(parts[1], 0), int(parts[2], 0)) if len(parts) == 3 else (0, 32)
    return name, offset, size


#: registers that only steer scheduling, priority or exception flags: writes have no effect here
_WRITES_IGNORED = frozenset({
    "HW_REG_SCHED_MODE", "HW_REG_WAVE_SCHED_MODE", "HW_REG_TRAPSTS", "HW_REG_WAVE_EXCP_FLAG_PRIV",
    "HW_REG_WAVE_EXCP_FLAG_USER", "HW_REG_EXCP_FLAG_USER", "HW_REG_EXCP_FLAG_PRIV",
})  # fmt: skip
#: where a wave runs: the simulator's only XCC, shader engine, CU, SIMD and slot have number 0;
#: exception flags are never raised
_READ_AS_ZERO = _WRITES_IGNORED | {
    "HW_REG_HW_ID", "HW_REG_HW_ID1", "HW_REG_HW_ID2", "HW_REG_WAVE_HW_ID1", "HW_REG_WAVE_HW_ID2",
    "HW_REG_XCC_ID",
    # gfx1250: bits 6 to 9 are not zero in a cluster, which no launch here has
    "HW_REG_IB_STS2",
}  # fmt: skip
_CLOCKS = frozenset({"HW_REG_SHADER_CYCLES", "HW_REG_SHADER_CYCLES_LO", "HW_REG_SHADER_CYCLES_HI"})
_MODE = ("HW_REG_MODE", "HW_REG_WAVE_MODE")


def _read_register(name: str) -> GetInt:
    if name in _MODE:
        return lambda w: w.mode
    if name in _READ_AS_ZERO:
        return lambda w: 0
    if name in _CLOCKS:
        shift = 32 if name.endswith("_HI") else 0
        return lambda w: w.clock >> shift & 0xFFFFFFFF
    raise Unimplemented(f"reading {name}")


def _register(ins: Instruction, ctx: Context) -> Step | None:
    """s_getreg_b32, s_setreg_b32, s_setreg_imm32_b32: the MODE register; others where they mean something."""
    if ins.base == "s_getreg_b32":
        put = scalar_putter(ins.operands[0], 32)
        name, offset, size = _hwreg(ins.operands[1])
        read = _read_register(name)
        mask = (1 << size) - 1
        return lambda w: put(w, read(w) >> offset & mask)
    if ins.base in ("s_setreg_b32", "s_setreg_imm32_b32"):
        name, offset, size = _hwreg(ins.operands[0])
        get = scalar_getter(ctx, ins.operands[1], 32)
        if name in _WRITES_IGNORED:
            return lambda w: None
        if name not in _MODE:
            raise Unimplemented(f"writing {name}")
        mask = (1 << size) - 1

        def write(w: Wave) -> None:
            w.set_mode(w.mode & ~(mask << offset) | (get(w) & mask) << offset)

        return write
    return None


def _float(ins: Instruction, ctx: Context) -> Step | None:
    """Scalar float instructions (gfx11.5, gfx12) and v_s_*: the vector operation on one lane."""
    from isaprof.sim.lower.valu import _flushes, _omod, postprocess
    from isaprof.sim.semantics.floats import flush

    base = ins.base
    compare = base.startswith("s_cmp_")
    name = base if base.startswith("v_s_") else "v_" + base.removeprefix("s_")
    if base == "s_cvt_hi_f32_f16":
        name = "v_cvt_f32_f16"
    sem = vector_table().get(name)
    if sem is None or not any(t in ("f32", "f16") for t in (*sem.src, *sem.dst)):
        return None
    operands = list(ins.operands)
    srcs = operands if compare else operands[1:]
    if sem.accumulate:
        srcs.append(operands[0])
    if len(srcs) != len(sem.src):
        return None
    gets = []
    signs = [(o.abs, o.neg) for o in srcs]
    for o, t in zip(srcs, sem.src, strict=True):
        bits = int(t[1:])
        gets.append((scalar_getter(ctx, o, bits), t, np.dtype(f"u{bits // 8}")))
    shift = 16 if base == "s_cvt_hi_f32_f16" else 0
    if shift:
        gets = [(scalar_getter(ctx, srcs[0], 32), "f16", np.dtype("u2"))]
    views: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u32": np.uint32}
    put = None if compare else scalar_putter(operands[0], 32)
    dst = sem.dst[0]
    clamp, scale = bool(ins.modifiers.get("clamp")), _omod(ins)

    def step(w: Wave) -> None:
        args = []
        for (g, t, u), (absolute, negative) in zip(gets, signs, strict=True):
            raw = g(w) >> shift & ((1 << 8 * u.itemsize) - 1)
            x = np.array([raw], u).view(views[t])
            if absolute:
                x = np.abs(x)
            if negative:
                x = -x
            if t in ("f32", "f16") and _flushes(w.fm, t)[0]:
                x = flush(x)
            args.append(x)
        r = sem.fn(w.fm, *args) if sem.mode else sem.fn(*args)
        if put is None:
            w.scc = int(r[0])
            return
        if dst in ("f32", "f16"):
            r = postprocess(w.fm, r, dst, scale, clamp)
        unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32}[r.dtype.itemsize]
        put(w, int(r.view(unsigned)[0]))

    return step
