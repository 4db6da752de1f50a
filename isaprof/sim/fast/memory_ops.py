"""Micro-ops of memory instructions: the rules of isaprof.sim.lower.{smem,vmem,buffer,lds}."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isaprof.isa.model import Instruction, Operand, OperandKind
from isaprof.sim.events import SPACES
from isaprof.sim.fast.records import ACCESS, ATOMIC, SLOTS, SRC, Dpp, Dst, H, Mem, Op
from isaprof.sim.lower.access import ELEMENTS, Element
from isaprof.sim.lower.buffer import _operands
from isaprof.sim.lower.context import modifier_int
from isaprof.sim.lower.lds import TRANSPOSED, modern_name, swizzle_source
from isaprof.sim.lower.operands import is_vector, row_of, scalar_slot
from isaprof.sim.lower.smem import _DWORDS, _SMALL
from isaprof.sim.lower.vmem import _is_off, returns_old_value
from isaprof.sim.semantics import atomic
from isaprof.sim.state import NULL

if TYPE_CHECKING:
    from isaprof.sim.fast.decode import Decoder

_LIMIT = 1 << 31


def _add(x: Decoder, mem: Mem, handler: str = "mem") -> Op:
    x.mems.append(mem)
    return Op(h=H[handler], dpp=-1, extra=len(x.mems) - 1)


def _mem(space: str, access: str, element: Element) -> Mem:
    return Mem(
        space=SPACES.index(space), access=ACCESS[access], nbytes=element.nbytes,
        is_signed=int(element.signed), half=-1 if element.half is None else element.half, pieces=1,
        addr=-1, data=-1, data2=-1, dst=-1, saddr=-1, rsrc=-1, soffset=-1,
    )  # fmt: skip


def _row(x: Decoder, o: Operand, count: int) -> int:
    assert o.reg is not None
    return row_of(x.ctx, o.reg, count)


def _loads_to(x: Decoder, mem: Mem, o: Operand, element: Element) -> None:
    mem.dst = _row(x, o, element.dwords)
    if element.half is not None or o.half is not None:
        mem.half = element.half or int(o.half == "h")


def _stores_from(x: Decoder, mem: Mem, o: Operand, element: Element) -> None:
    mem.data = _row(x, o, element.dwords)
    mem.half = 1 if element.half == 1 or o.half == "h" else -1


def _fits(imm: int) -> bool:
    return -_LIMIT < imm < _LIMIT


# -- scalar ----------------------------------------------------------------------------------------


def smem(x: Decoder, ins: Instruction) -> Op | None:
    kind = ins.base.rpartition("_")[2]
    buffer = ins.base.startswith("s_buffer_load_")
    nbytes, signed = (4 * _DWORDS[kind], False) if kind in _DWORDS else _SMALL.get(kind, (0, False))
    if not nbytes or (buffer and nbytes < 4):
        return None
    dst, sbase, *offsets = ins.operands
    if dst.reg is None or sbase.reg is None:
        return None
    to, at = scalar_slot(dst.reg), scalar_slot(sbase.reg)
    if to is None or at is None or at + 4 > SLOTS or (to != NULL and to + (nbytes + 3) // 4 > SLOTS):
        return None
    mem = _mem("buffer" if buffer else "scalar", "load", Element(nbytes, signed))
    mem.dst, mem.saddr, mem.rsrc = to, at, at
    imm = modifier_int(ins, "offset")
    op = Op(h=H["smem"], dpp=-1)
    for o in offsets:
        if o.kind is OperandKind.INT and isinstance(o.value, int):
            imm += o.value
            continue
        src = x.scalar_source(o, 32)
        if src is None:
            return None
        op.src[op.nsrc] = src
        op.nsrc += 1
    if not _fits(imm):
        return None
    mem.imm = imm
    x.mems.append(mem)
    op.extra = len(x.mems) - 1
    return op


# -- global, flat, scratch -------------------------------------------------------------------------


def _place(x: Decoder, ins: Instruction, mem: Mem, space: str, vaddr: Operand, saddr: Operand | None) -> bool:
    """Address operands; False when they are of a form that the reference does."""
    mem.imm = modifier_int(ins, "offset")
    if not _fits(mem.imm):
        return False
    off = _is_off(saddr) or saddr is None
    if not off:
        assert saddr is not None
        src = x.scalar_source(saddr, 32 if space == "scratch" else 64)
        if src is None or src.kind not in (SRC["slot"], SRC["slot64"]):
            return False
        mem.saddr = src.at
    if space == "scratch":
        mem.addr = _row(x, vaddr, 1) if vaddr.reg is not None and is_vector(vaddr) else -1
        return True
    mem.wide = int(off)
    mem.addr = _row(x, vaddr, 2 if off else 1)
    return True


def vmem(x: Decoder, ins: Instruction) -> Op | None:
    space, _, rest = ins.base.partition("_")
    operands = list(ins.operands)
    if rest.startswith("load_lds_"):
        mem = _mem("global", "dma", ELEMENTS[rest.removeprefix("load_lds_")])
        vaddr, *more = operands
        ok = _place(x, ins, mem, "global", vaddr, more[0] if more else None)
        mem.imm2 = modifier_int(ins, "offset")
        return _add(x, mem) if ok else None
    if "_async_" in rest:
        return None
    if rest.startswith("load_"):
        element = ELEMENTS[rest.removeprefix("load_")]
        dst, vaddr, *more = operands
        mem = _mem(space, "load", element)
        _loads_to(x, mem, dst, element)
    elif rest.startswith("store_"):
        element = ELEMENTS[rest.removeprefix("store_")]
        vaddr, data, *more = operands
        mem = _mem(space, "store", element)
        _stores_from(x, mem, data, element)
    elif rest.startswith("atomic_"):
        returns = returns_old_value(ins)
        dst = operands.pop(0) if returns else operands[0]
        vaddr, data, *more = operands
        made = _atomic(x, space, rest.removeprefix("atomic_"), data, dst if returns else None)
        if made is None:
            return None
        mem = made
    else:
        return None
    return _add(x, mem) if _place(x, ins, mem, space, vaddr, more[0] if more else None) else None


def _atomic(
    x: Decoder, space: str, name: str, data: Operand, dst: Operand | None, *, apart: bool = False
) -> Mem | None:
    """The record of an atomic; both data operands lie in one register span unless ``apart``."""
    op = atomic.TABLE.get(name)
    if op is None or op.op not in ATOMIC:
        return None
    element = Element(np.dtype(op.dtype).itemsize)
    mem = _mem(space, "atomic", element)
    mem.atomic, mem.sources, mem.returns = ATOMIC[op.op], op.sources, int(dst is not None)
    mem.data = _row(x, data, element.dwords * (1 if apart else op.sources))
    if op.sources == 2 and not apart:
        mem.data2 = mem.data + element.dwords
    if dst is not None:
        mem.dst = _row(x, dst, element.dwords)
        if dst.half is not None or _overlaps(mem, element.dwords):
            return None
    return mem


def _overlaps(mem: Mem, dwords: int) -> bool:
    """Whether an atomic's result would overwrite data of lanes not done yet; lanes are independent, so only
    registers that are shifted against each other matter."""
    return any(row >= 0 and row != mem.dst and abs(row - mem.dst) < dwords for row in (mem.data, mem.data2))


# -- buffer ----------------------------------------------------------------------------------------


def buffer(x: Decoder, ins: Instruction) -> Op | None:
    rest = ins.base.removeprefix("buffer_")
    lds = bool(ins.modifiers.get("lds")) or rest.startswith("load_lds_")
    if rest.startswith("load_"):
        element = ELEMENTS[rest.removeprefix("load_").removeprefix("lds_")]
        vdata, vaddr, rsrc, soffset = _operands(ins, data=not lds)
        mem = _mem("buffer", "dma" if lds else "load", element)
        if vdata is not None:
            _loads_to(x, mem, vdata, element)
    elif rest.startswith("store_"):
        element = ELEMENTS[rest.removeprefix("store_")]
        vdata, vaddr, rsrc, soffset = _operands(ins, data=True)
        assert vdata is not None
        mem = _mem("buffer", "store", element)
        _stores_from(x, mem, vdata, element)
    elif rest.startswith("atomic_"):
        vdata, vaddr, rsrc, soffset = _operands(ins, data=True)
        assert vdata is not None
        returns = returns_old_value(ins)
        made = _atomic(x, "buffer", rest.removeprefix("atomic_"), vdata, vdata if returns else None)
        if made is None:
            return None
        mem = made
    else:
        return None
    mem.offen, mem.idxen = (int(bool(ins.modifiers.get(n))) for n in ("offen", "idxen"))
    mem.gfx9 = int(x.ctx.facts.clears_high16)
    mem.imm = mem.imm2 = modifier_int(ins, "offset")
    slot = None if rsrc.reg is None else scalar_slot(rsrc.reg)
    if slot is None or slot + 4 > SLOTS or not _fits(mem.imm):
        return None
    mem.rsrc = slot
    if mem.offen or mem.idxen:
        assert vaddr is not None
        mem.addr = _row(x, vaddr, int(mem.offen) + int(mem.idxen))
    src = x.scalar_source(soffset, 32)
    if src is None or src.kind not in (SRC["slot"], SRC["const"]):
        return None
    if src.kind == SRC["slot"]:
        mem.soffset = src.at
    else:
        mem.so_const = x.constants[src.at][0]
    return _add(x, mem)


# -- LDS -------------------------------------------------------------------------------------------


def lds(x: Decoder, ins: Instruction) -> Op | None:
    name = modern_name(ins.base)
    if name == "ds_nop":
        return Op(h=H["nop"])
    if name in ("ds_permute_b32", "ds_bpermute_b32", "ds_bpermute_fi_b32"):
        return _bpermute(x, ins)
    if name == "ds_swizzle_b32":
        return _swizzle(x, ins)
    if name in ("ds_load_addtid_b32", "ds_store_addtid_b32"):
        element, load = Element(4), "load" in name
        mem = _mem("lds", "load" if load else "store", element)
        (_loads_to if load else _stores_from)(x, mem, ins.operands[0], element)
        mem.use_m0, mem.imm = 1, modifier_int(ins, "offset")
        return _add(x, mem)
    if ins.base in TRANSPOSED:
        bits = TRANSPOSED[ins.base]
        element = Element(12 if bits == 6 else 8)
        mem = _mem("lds", "load", element)
        mem.transpose = bits
        _loads_to(x, mem, ins.operands[0], element)
        mem.addr, mem.imm = _row(x, ins.operands[1], 1), modifier_int(ins, "offset")
        return _add(x, mem)
    if name.startswith(("ds_load_2addr_", "ds_store_2addr_")):
        return _two(x, ins, name)
    if name.startswith("ds_load_") and name.removeprefix("ds_load_") in ELEMENTS:
        element = ELEMENTS[name.removeprefix("ds_load_")]
        mem = _mem("lds", "load", element)
        _loads_to(x, mem, ins.operands[0], element)
        addr = ins.operands[1]
    elif name.startswith("ds_store_") and name.removeprefix("ds_store_") in ELEMENTS:
        element = ELEMENTS[name.removeprefix("ds_store_")]
        mem = _mem("lds", "store", element)
        addr = ins.operands[0]
        _stores_from(x, mem, ins.operands[1], element)
    else:
        return _lds_atomic(x, ins, name)
    mem.addr, mem.imm = _row(x, addr, 1), modifier_int(ins, "offset")
    return _add(x, mem) if is_vector(addr) else None


def _two(x: Decoder, ins: Instruction, name: str) -> Op | None:
    element = ELEMENTS[name.rpartition("_")[2]]
    scale = element.nbytes * (64 if "stride64" in name else 1)
    load = name.startswith("ds_load")
    mem = _mem("lds", "load" if load else "store", element)
    mem.pieces = 2
    mem.imm, mem.imm2 = modifier_int(ins, "offset0") * scale, modifier_int(ins, "offset1") * scale
    if load:
        dst, addr = ins.operands[:2]
        mem.dst = _row(x, dst, 2 * element.dwords)
    else:
        addr, first, second = ins.operands[:3]
        mem.data, mem.data2 = _row(x, first, element.dwords), _row(x, second, element.dwords)
    mem.addr = _row(x, addr, 1)
    return _add(x, mem) if is_vector(addr) else None


def _lds_atomic(x: Decoder, ins: Instruction, name: str) -> Op | None:
    op = atomic.TABLE.get(name.removeprefix("ds_").replace("_rtn_", "_"))
    if op is None or op.op not in ATOMIC or op.sources > 2:
        return None
    operands = list(ins.operands)
    dst = operands.pop(0) if "_rtn_" in name else None
    made = _atomic(x, "lds", name.removeprefix("ds_").replace("_rtn_", "_"), operands[1], dst, apart=True)
    if made is None:
        return None
    element = Element(made.nbytes)
    if op.sources == 2:
        data = [_row(x, o, element.dwords) for o in operands[1:3]]
        if "cmpst_" in name:
            data.reverse()
        made.data, made.data2 = data
        if dst is not None and _overlaps(made, element.dwords):
            return None
    made.addr, made.imm = _row(x, operands[0], 1), modifier_int(ins, "offset")
    return _add(x, made)


def _bpermute(x: Decoder, ins: Instruction) -> Op | None:
    dst, addr, data = ins.operands[:3]
    if not (is_vector(dst) and is_vector(addr) and is_vector(data)):
        return None
    op = Op(h=H["bpermute"], dpp=-1, imm=modifier_int(ins, "offset"))
    op.flags = int("_fi_" in ins.base) | 2 * int("bpermute" not in ins.base)
    op.dst = Dst(at=_row(x, dst, 1))
    for i, o in enumerate((addr, data)):
        op.src[i].kind, op.src[i].at = SRC["row"], _row(x, o, 1)
    return op


def _swizzle(x: Decoder, ins: Instruction) -> Op | None:
    dst, src = ins.operands[:2]
    if not ins.words or not is_vector(dst) or not is_vector(src):
        return None
    record = Dpp()
    for lane, source in enumerate(swizzle_source(ins.words[0] & 0xFFFF, x.ctx.lanes)[0].tolist()):
        if not 0 <= source < x.ctx.lanes:
            return None
        record.source[lane] = source
    x.dpps.append(record)
    op = Op(h=H["swizzle"], dpp=len(x.dpps) - 1, dst=Dst(at=_row(x, dst, 1)))
    op.src[0].kind, op.src[0].at = SRC["row"], _row(x, src, 1)
    return op
