"""MUBUF/VBUFFER: loads, stores, atomics through a buffer descriptor, with range checks.

Sources: CDNA3 ISA, "Vector memory buffer instructions" (addressing, range
checking); RDNA3 ISA, section of the same name (OOB_SELECT).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind
from isaprof.sim.lower import access
from isaprof.sim.lower.access import ELEMENTS, Element
from isaprof.sim.lower.context import Context, Step, Unimplemented, modifier_int
from isaprof.sim.lower.operands import is_vector, row_of, scalar_getter, scalar_slot
from isaprof.sim.lower.vmem import dma_to_lds, returns_old_value
from isaprof.sim.semantics import atomic
from isaprof.sim.state import Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any


@dataclass(slots=True)
class Located:
    """Addresses of the active lanes and, per dword of the access, whether it is in range."""

    addresses: Vec
    inside: Vec | None  #: bool [dwords, active]; None when everything is in range


Locate = Callable[[Wave, "Vec | None"], Located]


def lower_buffer(ins: Instruction, ctx: Context) -> Step:
    """The step of a buffer_* instruction."""
    rest = ins.base.removeprefix("buffer_")
    lds = bool(ins.modifiers.get("lds")) or rest.startswith("load_lds_")
    if rest.startswith("load_"):
        tail = rest.removeprefix("load_").removeprefix("lds_")
        if tail in ELEMENTS:
            return (_load_lds if lds else _load)(ins, ctx, ELEMENTS[tail])
    elif rest.startswith("store_") and rest.removeprefix("store_") in ELEMENTS:
        return _store(ins, ctx, ELEMENTS[rest.removeprefix("store_")])
    elif rest.startswith("atomic_"):
        return _atomic(ins, ctx, rest.removeprefix("atomic_"))
    raise Unimplemented(f"no semantics for {ins.mnemonic}")


def _operands(ins: Instruction, *, data: bool) -> tuple[Operand | None, Operand | None, Operand, Operand]:
    """(data, vaddr or None, descriptor, soffset)."""
    ops = list(ins.operands)
    vdata = ops.pop(0) if data else None
    vaddr: Operand | None = None
    if is_vector(ops[0]) or ops[0].text == "off":
        o = ops.pop(0)
        vaddr = o if is_vector(o) else None
    if len(ops) != 2:
        raise Unimplemented(f"operand list of {ins.text}")
    return vdata, vaddr, ops[0], ops[1]


def locate(
    ins: Instruction, ctx: Context, vaddr: Operand | None, rsrc: Operand, soffset: Operand, nbytes: int
) -> Locate:
    """Address calculation and range check of one buffer access."""
    imm = modifier_int(ins, "offset")
    offen, idxen = bool(ins.modifiers.get("offen")), bool(ins.modifiers.get("idxen"))
    if ins.modifiers.get("tfe") or ins.modifiers.get("addr64"):
        raise Unimplemented(f"tfe or addr64: {ins.text}")
    slot = None if rsrc.reg is None else scalar_slot(rsrc.reg)
    if slot is None:
        raise Unimplemented(f"{rsrc.text} as a buffer descriptor")
    at = slot
    g_soffset = scalar_getter(ctx, soffset, 32)
    if soffset.kind is OperandKind.FLOAT:
        raise Unimplemented(f"soffset {soffset.text}")
    row = None
    if offen or idxen:
        if vaddr is None or vaddr.reg is None:
            raise Unimplemented(f"no address register: {ins.text}")
        row = row_of(ctx, vaddr.reg, int(offen) + int(idxen))
    dwords = max(1, nbytes // 4)
    piece = min(4, nbytes)
    step_bytes = (np.arange(dwords, dtype=np.int64) * 4)[:, None]
    gfx9, sizes = ctx.facts.clears_high16, ctx.facts.swizzle_sizes

    def find(w: Wave, lanes: Vec | None) -> Located:
        w0, w1, records, w3 = w.s[at : at + 4]
        base = w0 | (w1 & 0xFFFF) << 32
        stride = w1 >> 16 & 0x3FFF
        swizzle = w1 >> 30 & 3 if sizes else w1 >> 31 & 1
        add_tid = w3 >> 23 & 1
        if add_tid and gfx9:
            stride |= (w3 >> 15 & 15) << 14  # the data format's bits extend the stride
        n = w.lanes if lanes is None else lanes.size
        u = w.tables["u32"]
        index = (
            access.take(u[row], lanes).astype(np.int64)
            if idxen and row is not None
            else np.zeros(n, np.int64)
        )
        offset = (
            access.take(u[row + idxen], lanes).astype(np.int64) + imm
            if offen and row is not None
            else np.full(n, imm, np.int64)
        )
        so = g_soffset(w)
        if add_tid:
            index = index + (np.arange(w.lanes) if lanes is None else lanes)
        structured = idxen or bool(add_tid)
        linear = index * stride + offset
        if swizzle and stride:
            linear = _swizzled(index, offset, stride, 8 << (w3 >> 21 & 3), 2 << swizzle)
        ok = _in_range(gfx9, w3, stride, records, index, offset, linear, so, step_bytes, piece, structured)
        if gfx9 and swizzle and stride:
            ok = ok & (offset < stride)[None]
        addresses = (linear + np.int64(so)).astype(np.uint64) + np.uint64(base)
        return Located(addresses, None if ok.all() else np.broadcast_to(ok, (dwords, n)))

    return find


def _swizzled(index: Vec, offset: Vec, stride: int, lanes: int, element: int) -> Vec:
    """Byte offset where elements of ``lanes`` neighbouring records lie side by side (scratch, typed buffers).

    RDNA3 ISA and CDNA3 ISA, "Swizzled buffer addressing"; ``lanes`` is INDEX_STRIDE.
    """
    rows = (index // lanes * stride + offset // element * element) * lanes
    linear: Vec = rows + index % lanes * element + offset % element
    return linear


def _in_range(
    gfx9: bool, w3: int, stride: int, records: int, index: Vec, offset: Vec, linear: Vec, so: int, step: Vec,
    piece: int, idxen: bool,
) -> Vec:  # fmt: skip
    """Range check per dword of each lane's access, bool [dwords or 1, lanes]."""
    if gfx9:
        if stride and idxen:
            return (index < records)[None]
        # raw: offset + sgpr offset counts against num_records bytes, dword by dword
        ok: Vec = linear + so + step + piece <= records
        return ok
    select = w3 >> 28 & 3
    if select == 0:
        return (index < records)[None] & (offset + step + piece <= stride)
    if select == 1:
        return (index < records)[None]
    if select == 2:
        return np.full((1, index.size), records != 0)
    raw: Vec = linear + step + piece <= records
    return raw


def _fetch(w: Wave, found: Located, nbytes: int, lanes: Vec | None) -> Vec:
    """Load with range check: dwords out of range are 0 and never touch memory."""
    if found.inside is None:
        data: Vec = w.memory.load(found.addresses, nbytes)
        return data
    dwords = (nbytes + 3) // 4
    out = np.zeros((dwords, found.addresses.size), np.uint32)
    for k in range(dwords):
        ok = np.flatnonzero(found.inside[k])
        if ok.size:
            out[k, ok] = w.memory.load(found.addresses[ok] + np.uint64(4 * k), min(4, nbytes))[0]
    return out


def _record(w: Wave, found: Located, lanes: Vec | None, nbytes: int, *, load: bool, store: bool) -> None:
    if w.trace is None:
        return
    addresses, which = found.addresses, lanes
    if found.inside is not None:
        w.out_of_range(addresses, found.inside, lanes, nbytes)
        keep = np.flatnonzero(found.inside.any(axis=0))
        if not keep.size:
            return
        addresses = addresses[keep]
        which = keep if lanes is None else lanes[keep]
    access.record(w, "buffer", addresses, which, nbytes, load=load, store=store)


def _load(ins: Instruction, ctx: Context, element: Element) -> Step:
    vdata, vaddr, rsrc, soffset = _operands(ins, data=True)
    assert vdata is not None
    find, nbytes = locate(ins, ctx, vaddr, rsrc, soffset, element.nbytes), element.nbytes
    write = access.destination(ctx, vdata, element)

    def step(w: Wave) -> None:
        lanes = access.active(w)
        if lanes is not None and not lanes.size:
            return
        found = find(w, lanes)
        _record(w, found, lanes, nbytes, load=True, store=False)
        write(w, _fetch(w, found, nbytes, lanes), lanes)

    return step


def _load_lds(ins: Instruction, ctx: Context, element: Element) -> Step:
    """buffer_load ... lds: the data goes to LDS; lanes out of range write 0 there."""
    _, vaddr, rsrc, soffset = _operands(ins, data=False)
    find, nbytes, imm = (
        locate(ins, ctx, vaddr, rsrc, soffset, element.nbytes),
        element.nbytes,
        modifier_int(ins, "offset"),
    )

    def step(w: Wave) -> None:
        lanes = access.active(w)
        if lanes is not None and not lanes.size:
            return
        found = find(w, lanes)
        _record(w, found, lanes, nbytes, load=True, store=False)
        data = _fetch(w, found, nbytes, lanes)
        trace, w.trace = w.trace, None
        dma_to_lds(w, data, lanes, element, imm)
        w.trace = trace

    return step


def _store(ins: Instruction, ctx: Context, element: Element) -> Step:
    vdata, vaddr, rsrc, soffset = _operands(ins, data=True)
    assert vdata is not None
    find, nbytes = locate(ins, ctx, vaddr, rsrc, soffset, element.nbytes), element.nbytes
    read = access.source(ctx, vdata, element)

    def step(w: Wave) -> None:
        lanes = access.active(w)
        if lanes is not None and not lanes.size:
            return
        found = find(w, lanes)
        _record(w, found, lanes, nbytes, load=False, store=True)
        data = read(w, lanes)
        if found.inside is None:
            w.memory.store(found.addresses, data, nbytes)
            return
        for k in range(data.shape[0]):
            ok = np.flatnonzero(found.inside[k])
            if ok.size:
                w.memory.store(found.addresses[ok] + np.uint64(4 * k), data[k : k + 1, ok], min(4, nbytes))

    return step


def _atomic(ins: Instruction, ctx: Context, name: str) -> Step:
    op = atomic.TABLE.get(name)
    if op is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    element = Element(np.dtype(op.dtype).itemsize)
    vdata, vaddr, rsrc, soffset = _operands(ins, data=True)
    assert vdata is not None
    find = locate(ins, ctx, vaddr, rsrc, soffset, element.nbytes)
    returns, n = returns_old_value(ins), element.dwords
    read = access.source(ctx, vdata, Element(element.nbytes * op.sources))
    write = access.destination(ctx, vdata, element) if returns else None

    def step(w: Wave) -> None:
        lanes = access.active(w)
        if lanes is not None and not lanes.size:
            return
        found = find(w, lanes)
        _record(w, found, lanes, element.nbytes, load=returns, store=True)
        data = np.ascontiguousarray(read(w, lanes))
        keep = np.arange(data.shape[1]) if found.inside is None else np.flatnonzero(found.inside.all(axis=0))
        old = np.zeros((n, data.shape[1]), np.uint32)
        if keep.size:
            parts = [np.ascontiguousarray(data[i * n : (i + 1) * n, keep]) for i in range(op.sources)]
            old[:, keep] = atomic.apply(op, w.memory.load, w.memory.store, found.addresses[keep], parts)
        if write is not None:
            write(w, old, lanes)

    return step
