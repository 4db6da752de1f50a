"""GLOBAL, FLAT and SCRATCH instructions: loads, stores, atomics, LDS-DMA.

Addressing: RDNA3 ISA and CDNA3 ISA, "FLAT, global and scratch" (64-bit VGPR
address, or 64-bit SGPR base plus 32-bit VGPR offset; signed immediate).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind, RegClass
from isaprof.sim.lower import access
from isaprof.sim.lower.access import ELEMENTS, Element
from isaprof.sim.lower.context import Context, Step, StepFault, Unimplemented, modifier_int
from isaprof.sim.lower.operands import (
    PRIVATE_BASE_HI,
    SHARED_BASE_HI,
    is_vector,
    join64,
    row_of,
    scalar_getter,
)
from isaprof.sim.memory import gather, scatter
from isaprof.sim.semantics import atomic
from isaprof.sim.state import M0, Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
Address = Callable[[Wave, "Vec | None"], Vec]


def lower_vmem(ins: Instruction, ctx: Context) -> Step:
    """The step of a global_*, flat_* or scratch_* instruction."""
    space, _, rest = ins.base.partition("_")
    if rest.startswith("load_lds_"):
        return _lds_dma(ins, ctx, ELEMENTS[rest.removeprefix("load_lds_")])
    if rest.startswith(("load_async_to_lds_", "store_async_from_lds_")):
        return _lds_async(ins, ctx, ELEMENTS[rest.rpartition("_")[2]])
    if rest.startswith("load_") and rest.removeprefix("load_") in ELEMENTS:
        return _load(ins, ctx, space, ELEMENTS[rest.removeprefix("load_")])
    if rest.startswith("store_") and rest.removeprefix("store_") in ELEMENTS:
        return _store(ins, ctx, space, ELEMENTS[rest.removeprefix("store_")])
    if rest.startswith("atomic_"):
        return _atomic(ins, ctx, space, rest.removeprefix("atomic_"))
    raise Unimplemented(f"no semantics for {ins.mnemonic}")


def _is_off(o: Operand | None) -> bool:
    return (
        o is None
        or (o.kind is OperandKind.NAME and o.text == "off")
        or (o.reg is not None and o.reg.cls is RegClass.NULL)
    )


def address_of(ins: Instruction, ctx: Context, vaddr: Operand, saddr: Operand | None, space: str) -> Address:
    """Addresses (uint64) of the active lanes; for scratch, byte offsets in the lane's own memory."""
    imm = modifier_int(ins, "offset")
    off = np.uint64(imm & 0xFFFFFFFFFFFFFFFF)
    if space == "scratch":
        return _scratch_offset(ctx, vaddr, saddr, imm)
    if vaddr.reg is None or not is_vector(vaddr):
        raise Unimplemented(f"{vaddr.text} as an address")
    if _is_off(saddr) or saddr is None:
        row = row_of(ctx, vaddr.reg, 2)

        def wide(w: Wave, lanes: Vec | None) -> Vec:
            u = w.tables["u32"]
            return join64(access.take(u[row], lanes), access.take(u[row + 1], lanes)) + off

        return wide
    base, row = scalar_getter(ctx, saddr, 64), row_of(ctx, vaddr.reg, 1)

    def based(w: Wave, lanes: Vec | None) -> Vec:
        start = np.uint64((base(w) + imm) & 0xFFFFFFFFFFFFFFFF)
        return access.take(w.tables["u32"][row], lanes).astype(np.uint64) + start

    return based


def _scratch_offset(ctx: Context, vaddr: Operand, saddr: Operand | None, imm: int) -> Address:
    sgpr = None if _is_off(saddr) or saddr is None else scalar_getter(ctx, saddr, 32)
    row = row_of(ctx, vaddr.reg, 1) if vaddr.reg is not None and is_vector(vaddr) else None
    lanes_total = ctx.lanes

    def get(w: Wave, lanes: Vec | None) -> Vec:
        base = imm + (0 if sgpr is None else sgpr(w))
        if row is None:
            n = lanes_total if lanes is None else lanes.size
            return np.full(n, base & 0xFFFFFFFF, np.uint64)
        return (access.take(w.tables["u32"][row], lanes).astype(np.int64) + base).astype(
            np.uint64
        ) & np.uint64(0xFFFFFFFF)

    return get


# -- memory spaces -------------------------------------------------------------------------------


class ScratchView:
    """Private memory of the active lanes as one space; offsets are per lane."""

    def __init__(self, w: Wave, lanes: Vec | None) -> None:
        if w.scratch is None:
            raise StepFault("memory", "scratch access in a kernel without private segment")
        self.w = w
        self.lanes = np.arange(w.lanes) if lanes is None else lanes
        self.bytes = w.scratch.reshape(-1)
        self.words = self.bytes.view(np.uint32)
        self.stride = w.scratch.shape[1]

    def _flat(self, offsets: Vec, nbytes: int) -> Vec:
        o = offsets.astype(np.int64)
        bad = (o < 0) | (o + nbytes > self.stride)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise StepFault(
                "memory",
                f"scratch offset {int(o[k]):#x} (+{nbytes} bytes) outside the {self.stride} bytes of a lane",
                lane=int(self.lanes[k]), address=int(o[k]),
            )  # fmt: skip
        return self.lanes[: o.size].astype(np.int64) * self.stride + o

    def load(self, offsets: Vec, nbytes: int) -> Vec:
        return gather(self.bytes, self.words, self._flat(offsets, nbytes), nbytes)

    def store(self, offsets: Vec, data: Vec, nbytes: int) -> None:
        scatter(self.bytes, self.words, self._flat(offsets, nbytes), data, nbytes)


class _LdsView:
    """LDS reached through the flat aperture: addresses are offsets from its base."""

    def __init__(self, w: Wave) -> None:
        self.lds = w.lds

    def load(self, addresses: Vec, nbytes: int) -> Vec:
        data: Vec = self.lds.load((addresses & np.uint64(0xFFFFFFFF)).astype(np.int64), nbytes)
        return data

    def store(self, addresses: Vec, data: Vec, nbytes: int) -> None:
        self.lds.store((addresses & np.uint64(0xFFFFFFFF)).astype(np.int64), data, nbytes)


def spaces(w: Wave, space: str, addresses: Vec, lanes: Vec | None) -> list[tuple[str, Any, Vec | None, Vec]]:
    """(space, memory, lanes, position in ``addresses``) groups; flat is split by aperture."""
    everything = np.arange(addresses.size)
    if space == "scratch":
        return [("scratch", ScratchView(w, lanes), lanes, everything)]
    if space == "global":
        return [("global", w.memory, lanes, everything)]
    high = addresses >> np.uint64(32)
    shared, private = high == SHARED_BASE_HI, high == PRIVATE_BASE_HI
    if not (shared.any() or private.any()):
        return [("global", w.memory, lanes, everything)]
    index = np.arange(w.lanes) if lanes is None else lanes
    out: list[tuple[str, Any, Vec | None, Vec]] = []
    for name, which in (("global", ~(shared | private)), ("lds", shared), ("scratch", private)):
        if which.any():
            mine = index[which]
            memory = w.memory if name == "global" else _LdsView(w) if name == "lds" else ScratchView(w, mine)
            out.append((name, memory, mine, np.flatnonzero(which)))
    return out


def _local(name: str, addresses: Vec) -> Vec:
    return addresses & np.uint64(0xFFFFFFFF) if name == "scratch" else addresses


def _load(ins: Instruction, ctx: Context, space: str, element: Element) -> Step:
    dst, vaddr, *rest = ins.operands
    at = address_of(ins, ctx, vaddr, rest[0] if rest else None, space)
    write, nbytes = access.destination(ctx, dst, element), element.nbytes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if not a.size:
            return
        for name, memory, mine, where in spaces(w, space, a, lanes):
            local = _local(name, a if where.size == a.size else a[where])
            access.record(w, name, local, mine, nbytes, load=True, store=False)
            write(w, memory.load(local, nbytes), mine)

    return step


def _store(ins: Instruction, ctx: Context, space: str, element: Element) -> Step:
    vaddr, data, *rest = ins.operands
    at = address_of(ins, ctx, vaddr, rest[0] if rest else None, space)
    read, nbytes = access.source(ctx, data, element), element.nbytes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if not a.size:
            return
        for name, memory, mine, where in spaces(w, space, a, lanes):
            local = _local(name, a if where.size == a.size else a[where])
            access.record(w, name, local, mine, nbytes, load=False, store=True)
            memory.store(local, read(w, mine), nbytes)

    return step


def returns_old_value(ins: Instruction) -> bool:
    """Whether an atomic returns: glc (gfx10/11), sc0 (gfx940), th:TH_ATOMIC_RETURN (gfx12)."""
    m = ins.modifiers
    return bool(m.get("glc") or m.get("sc0")) or "RETURN" in str(m.get("th", ""))


def _atomic(ins: Instruction, ctx: Context, space: str, name: str) -> Step:
    op = atomic.TABLE.get(name)
    if op is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    element = Element(np.dtype(op.dtype).itemsize)
    operands = list(ins.operands)
    returns = returns_old_value(ins)
    write = access.destination(ctx, operands.pop(0), element) if returns else None
    vaddr, data, *rest = operands
    at = address_of(ins, ctx, vaddr, rest[0] if rest else None, space)
    n = element.dwords
    read = access.source(ctx, data, Element(element.nbytes * op.sources))

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if not a.size:
            return
        for where_name, memory, mine, where in spaces(w, space, a, lanes):
            local = _local(where_name, a if where.size == a.size else a[where])
            access.record(w, where_name, local, mine, element.nbytes, load=returns, store=True)
            d = np.ascontiguousarray(read(w, mine))
            parts = [
                d[i * n : (i + 1) * n] for i in range(op.sources)
            ]  # compare-and-swap: data, then compare
            old = atomic.apply(op, memory.load, memory.store, local, parts)
            if write is not None:
                write(w, old, mine)

    return step


def dma_to_lds(w: Wave, data: Vec, lanes: Vec | None, element: Element, imm: int) -> None:
    """Put loaded dwords into LDS at M0 + immediate + lane * bytes.

    CDNA3 ISA, "Memory buffer load to LDS": LDS address = LDS base + M0 + instruction
    offset + 4 * lane; gfx950's 96 and 128-bit forms step by their own size.
    """
    size = max(4, element.nbytes)
    index = np.arange(w.lanes) if lanes is None else lanes
    offset = index.astype(np.int64) * size + w.s[M0] + imm
    access.record(w, "lds", offset, lanes, size, load=False, store=True)
    w.lds.store(offset, access.sign_extend(data, element), size)


def _lds_dma(ins: Instruction, ctx: Context, element: Element) -> Step:
    vaddr, *rest = ins.operands
    at, imm = address_of(ins, ctx, vaddr, rest[0] if rest else None, "global"), modifier_int(ins, "offset")
    nbytes = element.nbytes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if a.size:
            data = w.memory.load(a, nbytes)
            access.record(w, "global", a, lanes, nbytes, load=True, store=False)
            trace, w.trace = w.trace, None  # the event of this step is the global read
            dma_to_lds(w, data, lanes, element, imm)
            w.trace = trace

    return step


def _lds_async(ins: Instruction, ctx: Context, element: Element) -> Step:
    """gfx1250: between memory and the LDS address in each lane's VGPR; the offset counts for both.

    LLVM, IntrinsicsAMDGPU: llvm.amdgcn.global.load.async.to.lds and store.async.from.lds. As with all loads
    here, the data is there at once; waits for ASYNCcnt are the sanitizer's business.
    """
    load = "_load_" in ins.base
    first, second, *rest = ins.operands
    lds, vaddr = (first, second) if load else (second, first)
    if lds.reg is None or not is_vector(lds):
        raise Unimplemented(f"{lds.text} as an LDS address")
    at, row = address_of(ins, ctx, vaddr, rest[0] if rest else None, "global"), row_of(ctx, lds.reg, 1)
    imm, nbytes = modifier_int(ins, "offset"), element.nbytes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if not a.size:
            return
        place = access.take(w.tables["u32"][row], lanes).astype(np.int64) + imm
        access.record(w, "global", a, lanes, nbytes, load=load, store=not load)
        if load:
            w.lds.store(place, w.memory.load(a, nbytes), nbytes)
        else:
            w.memory.store(a, w.lds.load(place, nbytes), nbytes)

    return step
