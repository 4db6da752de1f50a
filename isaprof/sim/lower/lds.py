"""LDS instructions (DS): loads, stores, atomics, permutes, swizzle, transposed reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isaprof.isa.model import Instruction, Operand
from isaprof.sim.lower import access
from isaprof.sim.lower.access import ELEMENTS, Element
from isaprof.sim.lower.context import Context, Step, Unimplemented, modifier_int
from isaprof.sim.lower.operands import getter, is_vector, row_of
from isaprof.sim.semantics import atomic
from isaprof.sim.state import M0, Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any

#: gfx9 name stem -> gfx11 name stem
_STEMS = (("ds_read2st64_", "ds_load_2addr_stride64_"), ("ds_read2_", "ds_load_2addr_"), ("ds_read_",
    "ds_load_"),
          ("ds_write2st64_", "ds_store_2addr_stride64_"), ("ds_write2_", "ds_store_2addr_"),
          ("ds_write_", "ds_store_"), ("ds_wrxchg2st64_rtn_", "ds_storexchg_2addr_stride64_rtn_"),
          ("ds_wrxchg2_rtn_", "ds_storexchg_2addr_rtn_"))  # fmt: skip


def modern_name(base: str) -> str:
    """The gfx11 spelling of a DS mnemonic."""
    for old, new in _STEMS:
        if base.startswith(old):
            return new + base.removeprefix(old)
    return base


def lower_lds(ins: Instruction, ctx: Context) -> Step:
    """The step of a DS instruction; Unimplemented when no semantics are known."""
    if ins.modifiers.get("gds"):
        raise Unimplemented(f"GDS: {ins.text}")
    name = modern_name(ins.base)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(ins, ctx)
    if name.startswith(("ds_load_2addr_", "ds_store_2addr_", "ds_storexchg_2addr_")):
        return _two_addresses(name, ins, ctx)
    if name.startswith("ds_load_") and name.removeprefix("ds_load_") in ELEMENTS:
        return _load(ins, ctx, ELEMENTS[name.removeprefix("ds_load_")])
    if name.startswith("ds_store_") and name.removeprefix("ds_store_") in ELEMENTS:
        return _store(ins, ctx, ELEMENTS[name.removeprefix("ds_store_")])
    return _atomic(name, ins, ctx)


def _address(ctx: Context, o: Operand, offset: int) -> Callable[[Wave, Vec | None], Vec]:
    """Byte offsets in LDS of the active lanes: 32-bit VGPR plus immediate."""
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} as an LDS address")
    row = row_of(ctx, o.reg, 1)

    def get(w: Wave, lanes: Vec | None) -> Vec:
        return access.take(w.tables["u32"][row], lanes).astype(np.int64) + offset

    return get


def _load(ins: Instruction, ctx: Context, element: Element) -> Step:
    dst, addr = ins.operands[:2]
    at, write = _address(ctx, addr, modifier_int(ins, "offset")), access.destination(ctx, dst, element)
    nbytes = element.nbytes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if a.size:
            access.record(w, "lds", a, lanes, nbytes, load=True, store=False)
            write(w, w.lds.load(a, nbytes), lanes)

    return step


def _store(ins: Instruction, ctx: Context, element: Element) -> Step:
    addr, data = ins.operands[:2]
    at, read = _address(ctx, addr, modifier_int(ins, "offset")), access.source(ctx, data, element)
    nbytes = element.nbytes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if a.size:
            access.record(w, "lds", a, lanes, nbytes, load=False, store=True)
            w.lds.store(a, read(w, lanes), nbytes)

    return step


def _two_addresses(name: str, ins: Instruction, ctx: Context) -> Step:
    """Two elements at address + offset0 * size and address + offset1 * size (times 64 with stride64)."""
    element = ELEMENTS[name.rpartition("_")[2]]
    scale = element.nbytes * (64 if "stride64" in name else 1)
    o0, o1 = modifier_int(ins, "offset0") * scale, modifier_int(ins, "offset1") * scale
    n, nbytes = element.dwords, element.nbytes
    both = Element(2 * nbytes)
    if name.startswith("ds_load"):
        dst, addr = ins.operands[:2]
        first, second = _address(ctx, addr, o0), _address(ctx, addr, o1)
        put = access.destination(ctx, dst, both)

        def load(w: Wave) -> None:
            lanes = access.active(w)
            a, b = first(w, lanes), second(w, lanes)
            if a.size:
                for x in (a, b):
                    access.record(w, "lds", x, lanes, nbytes, load=True, store=False)
                put(w, np.concatenate([w.lds.load(a, nbytes), w.lds.load(b, nbytes)]), lanes)

        return load
    exchange = "xchg" in name
    dst_ops = ins.operands[:1] if exchange else ()
    addr, d0, d1 = ins.operands[len(dst_ops) : len(dst_ops) + 3]
    first, second = _address(ctx, addr, o0), _address(ctx, addr, o1)
    r0, r1 = access.source(ctx, d0, element), access.source(ctx, d1, element)
    write = access.destination(ctx, dst_ops[0], both) if exchange else None

    def store(w: Wave) -> None:
        lanes = access.active(w)
        a, b = first(w, lanes), second(w, lanes)
        if not a.size:
            return
        x, y = r0(w, lanes).copy(), r1(w, lanes).copy()
        for z in (a, b):
            access.record(w, "lds", z, lanes, nbytes, load=exchange, store=True)
        if write is not None:
            swap = atomic.TABLE["swap_b64" if n == 2 else "swap_b32"]
            old = [atomic.apply(swap, w.lds.load, w.lds.store, p, [q]) for p, q in ((a, x), (b, y))]
            write(w, np.concatenate(old), lanes)
            return
        w.lds.store(a, x, nbytes)
        w.lds.store(b, y, nbytes)

    return store


def _atomic(name: str, ins: Instruction, ctx: Context) -> Step:
    returns = "_rtn_" in name
    op = atomic.TABLE.get(name.removeprefix("ds_").replace("_rtn_", "_"))
    if op is None:
        raise Unimplemented(f"no semantics for {ins.mnemonic}")
    element = Element(np.dtype(op.dtype).itemsize)
    operands = list(ins.operands)
    write = access.destination(ctx, operands.pop(0), element) if returns else None
    at = _address(ctx, operands[0], modifier_int(ins, "offset"))
    data = [access.source(ctx, o, element) for o in operands[1 : 1 + op.sources]]
    if len(data) != op.sources:
        raise Unimplemented(f"operand list of {ins.text}")
    if (op.sources == 2 and "cmpst_" in name) or (op.sources == 2 and "mskor" in name):
        data.reverse()  # gfx9 order is compare (mask), data; gfx11 cmpstore has data, compare

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if not a.size:
            return
        access.record(w, "lds", a, lanes, element.nbytes, load=returns, store=True)
        old = atomic.apply(op, w.lds.load, w.lds.store, a, [np.ascontiguousarray(d(w, lanes)) for d in data])
        if write is not None:
            write(w, old, lanes)

    return step


# -- transposed reads ----------------------------------------------------------------------------

#: gfx950: mnemonic -> bits of an element
TRANSPOSED = {
    "ds_read_b64_tr_b16": 16, "ds_read_b64_tr_b8": 8, "ds_read_b64_tr_b4": 4, "ds_read_b96_tr_b6": 6,
}  # fmt: skip


def transpose_source(lane: Vec, k: Vec, per: int) -> tuple[Vec, Vec]:
    """(lane, element) that element ``k`` of ``lane`` comes from; ``per`` elements in a lane.

    16 lanes together read ``per`` rows of 16 elements, row after row; each of
    them receives one column: element k of lane i is row k, column i % 16
    (CDNA4 ISA, "LDS transpose loads").
    """
    column = lane % 16
    return lane // 16 * 16 + k * (16 // per) + column // per, column % per


def transpose(data: Vec, bits: int) -> Vec:
    """Dwords [n, lanes] as read by each lane -> dwords as each lane receives them."""
    n, lanes = data.shape
    per = 32 * n // bits
    raw = np.ascontiguousarray(data.T).view(np.uint8)
    elements = np.unpackbits(raw, axis=1, bitorder="little").reshape(lanes, per, bits)
    lane, k = np.meshgrid(np.arange(lanes), np.arange(per), indexing="ij")
    moved = elements[transpose_source(lane, k, per)].reshape(lanes, per * bits)
    return np.ascontiguousarray(np.packbits(moved, axis=1, bitorder="little")).view(np.uint32).T


def _load_transposed(ins: Instruction, ctx: Context) -> Step:
    """ds_read_b64_tr_*: lanes that are off contribute zeros and receive nothing."""
    dst, addr = ins.operands[:2]
    bits = TRANSPOSED[ins.base]
    element = Element(12 if bits == 6 else 8)
    at, write = _address(ctx, addr, modifier_int(ins, "offset")), access.destination(ctx, dst, element)
    n = ctx.lanes

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = at(w, lanes)
        if not a.size:
            return
        access.record(w, "lds", a, lanes, element.nbytes, load=True, store=False)
        data = np.zeros((element.dwords, n), np.uint32)
        data[:, slice(None) if lanes is None else lanes] = w.lds.load(a, element.nbytes)
        moved = transpose(data, bits)
        write(w, moved if lanes is None else moved[:, lanes], lanes)

    return step


# -- data exchange through the LDS crossbar ------------------------------------------------------


def _permute(ins: Instruction, ctx: Context) -> Step:
    """ds_permute_b32 pushes to the lane that the address names, ds_bpermute_b32 pulls from it."""
    dst, addr, data = ins.operands[:3]
    if dst.reg is None:
        raise Unimplemented(ins.text)
    offset = modifier_int(ins, "offset")
    g_addr, g_data, row = getter(ctx, addr, "u32"), getter(ctx, data, "u32"), row_of(ctx, dst.reg, 1)
    pull = "bpermute" in ins.base
    fetch_inactive = "_fi_" in ins.base
    n = ctx.lanes
    if n == 64 and ctx.facts.dpp_has_fi:
        # RDNA3 ISA, DS_BPERMUTE_B32: "lane is MOD 32 regardless of wave size", which leaves the upper half
        # open
        raise Unimplemented(f"wave64 form of {ins.mnemonic}")

    def step(w: Wave) -> None:
        lane = ((g_addr(w) + np.uint32(offset)) >> np.uint32(2)).astype(np.int64) % n
        value = g_data(w)
        if pull:
            on = w.full or fetch_inactive
            result = value[lane] if on else np.where(w.mask[lane], value[lane], np.uint32(0))
        else:
            result = np.zeros(n, np.uint32)
            lanes = np.flatnonzero(w.mask)
            result[lane[lanes]] = value[lanes]
        np.copyto(w.tables["u32"][row], result, where=w.mask)

    return step


def swizzle_source(offset: int, n: int) -> tuple[Vec, bool]:
    """Source lane of each lane for a ds_swizzle offset; the flag says it is FFT or rotate mode."""
    lane = np.arange(n)
    in32 = lane & 31
    if offset >= 0xE000:
        mask = offset & 0x1F
        rev = np.array([int(format(i, "05b")[::-1], 2) for i in range(32)])[in32]
        j = (rev >> mask.bit_count()) | (in32 & mask)
        return j | lane & 32, True
    if offset >= 0xC000:
        mask, amount = offset & 0x1F, offset >> 5 & 0x1F
        amount = -amount if offset >> 10 & 1 else amount
        j = (in32 & mask) | ((in32 + amount) & ~mask & 31)
        return j | lane & 32, True
    if offset & 0x8000:
        return (lane & ~3) + ((offset >> 2 * (lane & 3)) & 3), False
    and_, or_, xor = offset & 31, offset >> 5 & 31, offset >> 10 & 31
    return (((in32 & and_) | or_) ^ xor) | lane & 32, False


def _swizzle(ins: Instruction, ctx: Context) -> Step:
    dst, src = ins.operands[:2]
    if dst.reg is None:
        raise Unimplemented(ins.text)
    if not ins.words:
        raise Unimplemented(f"{ins.text} without its encoding")
    source, _ = swizzle_source(ins.words[0] & 0xFFFF, ctx.lanes)
    g, row = getter(ctx, src, "u32"), row_of(ctx, dst.reg, 1)

    def step(w: Wave) -> None:
        value = g(w)[source]
        if not w.full:
            value = np.where(w.mask[source], value, np.uint32(0))
        np.copyto(w.tables["u32"][row], value, where=w.mask)

    return step


def _addtid(ins: Instruction, ctx: Context) -> Step:
    """ds_{load,store}_addtid_b32: address M0 + offset + 4 * lane."""
    offset = modifier_int(ins, "offset")
    lane4 = np.arange(ctx.lanes, dtype=np.int64) * 4
    element = Element(4)
    load = modern_name(ins.base).startswith("ds_load")
    o = ins.operands[0]
    write = access.destination(ctx, o, element) if load else None
    read = access.source(ctx, o, element)

    def step(w: Wave) -> None:
        lanes = access.active(w)
        a = access.take(lane4, lanes) + (w.s[M0] & 0xFFFF) + offset
        if not a.size:
            return
        access.record(w, "lds", a, lanes, 4, load=load, store=not load)
        if write is not None:
            write(w, w.lds.load(a, 4), lanes)
        else:
            w.lds.store(a, read(w, lanes), 4)

    return step


_SPECIAL: dict[str, Callable[[Instruction, Context], Step]] = {
    "ds_permute_b32": _permute,
    "ds_bpermute_b32": _permute,
    "ds_bpermute_fi_b32": _permute,
    "ds_swizzle_b32": _swizzle,
    "ds_load_addtid_b32": _addtid,
    "ds_store_addtid_b32": _addtid,
    "ds_nop": lambda ins, ctx: lambda w: None,
    **dict.fromkeys(map(modern_name, TRANSPOSED), _load_transposed),
}
