"""Scalar memory: s_load_*, s_buffer_load_*, s_memtime; gfx9's s_store_*, s_atomic_* and their buffer forms.

Address: base + offset (immediate and/or SGPR), low two bits ignored (RDNA3 and
CDNA3 ISA, "Scalar memory operations").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind
from isaprof.sim.lower.context import Context, Step, Unimplemented, modifier_int
from isaprof.sim.lower.operands import scalar_getter, scalar_slot
from isaprof.sim.semantics import atomic
from isaprof.sim.state import EXEC, NULL, Wave
from isaprof.sim.trace import MemEvent

_DWORDS = {
    "dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16,
    "b32": 1, "b64": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16,
}  # fmt: skip
_SMALL = {"u8": (1, False), "i8": (1, True), "u16": (2, False), "i16": (2, True)}
_NO_LANES = np.zeros(0, np.int16)


def lower_smem(ins: Instruction, ctx: Context) -> Step | None:
    """The step of a scalar memory instruction, None when ``ins`` is none."""
    base = ins.base
    if base in ("s_memtime", "s_memrealtime"):
        return _time(ins, ctx)
    if base.startswith(("s_store_dword", "s_buffer_store_dword", "s_scratch_store_dword")):
        return _store(ins, ctx)
    if base.startswith(("s_atomic_", "s_buffer_atomic_")):
        return _atomic(ins, ctx)
    buffer = base.startswith("s_buffer_load_")
    if not buffer and not base.startswith(("s_load_", "s_scratch_load_")):
        return None
    kind = base.rpartition("_")[2]
    if kind in _DWORDS:
        nbytes, signed = 4 * _DWORDS[kind], False
    elif kind in _SMALL:
        nbytes, signed = _SMALL[kind]
    else:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    dst, sbase, *offsets = ins.operands
    if dst.reg is None or sbase.reg is None:
        raise Unimplemented(f"operand list of {ins.text}")
    slot, base_slot = scalar_slot(dst.reg), scalar_slot(sbase.reg)
    if slot is None or base_slot is None:
        raise Unimplemented(f"operand list of {ins.text}")
    imm, sgprs = _offsets(ins, ctx, offsets)
    first, at = slot, base_slot
    align = ~3 if nbytes >= 4 else ~(nbytes - 1)

    def step(w: Wave) -> None:
        s = w.s
        offset = imm
        for g in sgprs:
            offset += g(w)
        start = s[at] | s[at + 1] << 32
        if buffer:
            raw = _buffer(w, at, offset & align, nbytes)
        else:
            address = (start + offset & align) & 0xFFFFFFFFFFFFFFFF
            raw = w.memory.read(address, nbytes)
            _record(w, address, nbytes)
        if first == NULL:
            return
        if nbytes < 4:
            s[first] = int.from_bytes(raw, "little", signed=signed) & 0xFFFFFFFF
            return
        for i in range(0, nbytes, 4):
            s[first + i // 4] = int.from_bytes(raw[i : i + 4], "little")
        if first + nbytes // 4 > EXEC:
            w.refresh_exec()

    return step


def _offsets(
    ins: Instruction, ctx: Context, operands: list[Operand]
) -> tuple[int, list[Callable[[Wave], int]]]:
    imm = modifier_int(ins, "offset")
    sgprs: list[Callable[[Wave], int]] = []
    for o in operands:
        if o.kind is OperandKind.INT and isinstance(o.value, int):
            imm += o.value
        elif o.kind is OperandKind.REG:
            sgprs.append(scalar_getter(ctx, o, 32))
        else:
            raise Unimplemented(f"offset {o.text}")
    return imm, sgprs


def _buffer(w: Wave, at: int, offset: int, nbytes: int) -> bytes:
    """Scalar load through a buffer descriptor: dwords beyond the buffer's size read 0.

    Size in bytes: num_records, times the stride where there is one (RDNA3 ISA,
    "Scalar memory: buffer loads").
    """
    s = w.s
    base = s[at] | (s[at + 1] & 0xFFFF) << 32
    stride = s[at + 1] >> 16 & 0x3FFF
    size = s[at + 2] * (stride or 1)
    _record(w, base + offset, nbytes)
    out = b""
    step = min(4, nbytes)
    for k in range(0, nbytes, step):
        inside = offset + k >= 0 and offset + k + step <= size
        out += w.memory.read(base + offset + k, step) if inside else bytes(step)
    return out


def _address(ins: Instruction, ctx: Context) -> tuple[int, Callable[[Wave, int], int | None]]:
    """(slot of the data, address of an access of n bytes: None where a buffer ends before)."""
    data, sbase, *offsets = ins.operands
    if data.reg is None or sbase.reg is None:
        raise Unimplemented(f"operand list of {ins.text}")
    slot, base = scalar_slot(data.reg), scalar_slot(sbase.reg)
    if slot is None or base is None:
        raise Unimplemented(f"operand list of {ins.text}")
    imm, sgprs = _offsets(ins, ctx, offsets)
    buffer, at = "_buffer_" in ins.base, base

    def address(w: Wave, nbytes: int) -> int | None:
        s = w.s
        offset = imm + sum(g(w) for g in sgprs)
        if not buffer:
            return (s[at] | s[at + 1] << 32) + offset & ~3 & 0xFFFFFFFFFFFFFFFF
        offset &= ~3
        size = s[at + 2] * ((s[at + 1] >> 16 & 0x3FFF) or 1)
        if offset < 0 or offset + nbytes > size:
            return None
        return (s[at] | (s[at + 1] & 0xFFFF) << 32) + offset

    return slot, address


def _lane(address: int) -> Any:
    return np.array([address], np.uint64)


def _store(ins: Instruction, ctx: Context) -> Step:
    """s_store_dword*: the scalar cache is write-through here; s_dcache_wb has nothing left to do."""
    slot, address = _address(ins, ctx)
    n = _DWORDS[ins.base.rpartition("_")[2]]

    def step(w: Wave) -> None:
        to = address(w, 4 * n)
        if to is not None:
            _record(w, to, 4 * n, load=False, store=True)
            w.memory.store(_lane(to), np.array(w.s[slot : slot + n], np.uint32)[:, None], 4 * n)

    return step


def _atomic(ins: Instruction, ctx: Context) -> Step:
    """s_atomic_*: one operation on memory by the wave; with glc the old value comes back."""
    op = atomic.TABLE.get(ins.base.removeprefix("s_").removeprefix("buffer_").removeprefix("atomic_"))
    if op is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    slot, address = _address(ins, ctx)
    n = np.dtype(op.dtype).itemsize // 4
    returns = bool(ins.modifiers.get("glc"))

    def step(w: Wave) -> None:
        at = address(w, 4 * n)
        if at is None:
            return
        _record(w, at, 4 * n, load=returns, store=True)
        # the operand of a compare-and-swap is the new value, then the one to compare with
        parts = [
            np.array(w.s[slot + i * n : slot + (i + 1) * n], np.uint32)[:, None] for i in range(op.sources)
        ]
        old = atomic.apply(op, w.memory.load, w.memory.store, _lane(at), parts)
        if returns:
            for i in range(n):
                w.s[slot + i] = int(old[i, 0])

    return step


def _record(w: Wave, address: int, nbytes: int, *, load: bool = True, store: bool = False) -> None:
    if w.trace is not None:
        w.trace[w.step] = MemEvent("scalar", load, store, nbytes, np.array([address], np.int64), _NO_LANES)


def _time(ins: Instruction, ctx: Context) -> Step:
    """s_memtime and s_memrealtime: instructions executed by this wave so far, as a clock that only grows."""
    dst = ins.operands[0]
    slot = None if dst.reg is None else scalar_slot(dst.reg)
    if slot is None:
        raise Unimplemented(ins.text)
    first = slot

    def step(w: Wave) -> None:
        w.s[first], w.s[first + 1] = w.clock & 0xFFFFFFFF, w.clock >> 32

    return step
