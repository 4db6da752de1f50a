"""The LDS a kernel provably uses: every access whose address follows from constants and work-item ids.

Address rules (AMD ISA guides, DS instructions): address + offset; the two-address
forms scale their offsets by the element size, ``st64`` by 64 elements. LDS-DMA
writes M0 + offset + lane * bytes (buffer and global loads of gfx9), or the
address in its first operand (async loads of gfx1250).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isaprof.codeobj.elf import Kernel
from isaprof.inspect.entry import M0
from isaprof.inspect.evaluate import Evaluator
from isaprof.inspect.flow import Flow, is_full
from isaprof.inspect.values import Node
from isaprof.isa.model import Instruction, RegClass, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class LdsAccess:
    """One access to LDS. ``low``/``high`` are the first and one past the last byte; None: not provable."""

    index: int
    pc: int
    kind: str  #: "read", "write", "dma", "atomic"
    bytes: int  #: per lane
    low: int | None
    high: int | None
    alternatives: int  #: how many values the address can take per work-item (1: exact)


@dataclass(frozen=True, slots=True)
class LdsMap:
    """All accesses. ``highest`` is one past the highest byte that a provable access names."""

    accesses: tuple[LdsAccess, ...]
    shape: tuple[int, int, int]
    shape_source: str  #: where the workgroup's shape is from
    highest: int | None
    unproven: int  #: accesses whose address is not provable
    flat: int  #: flat instructions: they can address LDS, and are not evaluated
    regions: tuple[
        tuple[int, int, str, int], ...
    ]  #: (first byte, end, kinds, accesses), overlapping ones merged


def workgroup_shape(kernel: Kernel) -> tuple[tuple[int, int, int], str] | None:
    """The workgroup's shape as the metadata has it; a flat maximum is taken as one-dimensional."""
    wanted = kernel.metadata.get(".reqd_workgroup_size")
    if (
        isinstance(wanted, list)
        and len(wanted) == 3
        and all(isinstance(n, int) and 0 < n <= 1024 for n in wanted)
        and wanted[0] * wanted[1] * wanted[2] <= 1024
    ):
        return (wanted[0], wanted[1], wanted[2]), "required by the metadata"
    flat = kernel.metadata.get(".max_flat_workgroup_size")
    if isinstance(flat, int) and 0 < flat <= 1024:
        return (flat, 1, 1), "assumed: the largest flat workgroup the metadata allows, in x"
    return None


def lds_map(flow: Flow, kernel: Kernel) -> LdsMap:
    """Evaluate every LDS address of the kernel."""
    known = workgroup_shape(kernel)
    shape, source = known or ((1, 1, 1), "not known: no address is evaluated")
    evaluator = Evaluator(shape, kernel.wave_size)
    out = []
    for ins in flow.cfg.lines:
        if ins.mem is not None and (ins.mem.space is Space.LDS or ins.mem.lds_dma):
            out.append(_access(ins, flow, evaluator if known else None, kernel.wave_size))
    flat = sum(i.mem is not None and i.mem.space is Space.FLAT for i in flow.cfg.lines)
    highest = max((a.high for a in out if a.high is not None), default=None)
    return LdsMap(tuple(out), shape, source, highest, sum(a.high is None for a in out), flat, _regions(out))


def address_vectors(ins: Instruction, flow: Flow, evaluator: Evaluator) -> list[tuple[int, ...]] | None:
    """Byte addresses of the work-items (offsets not added), one tuple an alternative."""
    node = address_node(ins, flow)
    values = None if node is None else evaluator.values(node)
    return None if values is None else [tuple(v.tolist()) for v in values]


def address_node(ins: Instruction, flow: Flow) -> Node | None:
    """The value that an LDS access addresses with, without immediate offset; None where none is named."""
    assert ins.mem is not None
    if ins.mem.lds_dma and ins.mem.space is not Space.LDS:
        if "async" in ins.base:
            first = ins.operands[0]
            return flow.words(ins, first)[0] if first.reg is not None else None
        return None if ins.base.startswith("tensor") else flow.register(ins, M0)
    # the data destination comes first in loads and returning atomics
    place = 1 if any(w.cls in (RegClass.VGPR, RegClass.AGPR) for w in ins.writes) else 0
    operand = ins.operands[place] if place < len(ins.operands) else None
    if operand is None or operand.reg is None:
        return None
    words = flow.words(ins, operand)
    return words[0] if words else None


def offsets(ins: Instruction) -> tuple[int, ...]:
    """Immediate byte offsets of an LDS access: one, or two for the two-address forms."""
    m = ins.modifiers
    assert ins.mem is not None
    if "2addr" in ins.base or "read2" in ins.base or "write2" in ins.base or "xchg2" in ins.base:
        unit = ins.mem.bytes // 2 * (64 if "st64" in ins.base or "stride64" in ins.base else 1)
        return tuple(unit * (v if isinstance(v := m.get(k, 0), int) else 0) for k in ("offset0", "offset1"))
    offset = m.get("offset", 0)
    return (offset if isinstance(offset, int) else 0,)


def dma_step(ins: Instruction) -> int:
    """Bytes between the places that neighbouring lanes of an LDS-DMA load write (at least a dword)."""
    assert ins.mem is not None
    return max(4, ins.mem.bytes)


def _access(ins: Instruction, flow: Flow, evaluator: Evaluator | None, wave: int) -> LdsAccess:
    assert ins.mem is not None
    kind = "dma" if ins.mem.lds_dma else "atomic" if ins.mem.atomic else "write" if ins.mem.store else "read"
    node = address_node(ins, flow)
    values = None if node is None or evaluator is None else evaluator.values(node)
    size = ins.mem.bytes
    active = None if evaluator is None else _active(ins, flow, evaluator)
    if not values or not size or active is None or ins.modifiers.get("gds"):
        return LdsAccess(ins.index, ins.pc, kind, size, None, None, 0)
    if not active.any():
        return LdsAccess(ins.index, ins.pc, kind, size, 0, 0, 1)
    values = tuple(v[active] for v in values)
    places = offsets(ins)
    width = size // len(places)
    low = min(int(v.min()) for v in values) + min(places)
    high = max(int(v.max()) for v in values) + max(places) + width
    if kind == "dma" and "async" not in ins.base:
        high += dma_step(ins) * (wave - 1)
    return LdsAccess(ins.index, ins.pc, kind, size, low, high, len(values))


def _active(ins: Instruction, flow: Flow, evaluator: Evaluator) -> NDArray[np.bool_] | None:
    """Work-items that EXEC lets take part; None where that is not provable."""
    active = np.ones(evaluator.size, dtype=bool)
    todo = [flow.exec_at[ins.index][0]]
    while todo:
        node = todo.pop()
        if is_full(node):
            continue
        if node.op == "and":
            todo += node.args
        elif node.op == "mask" and (values := evaluator.values(node.args[0])) and len(values) == 1:
            active &= values[0] != 0
        else:
            return None
    return active


def _regions(accesses: list[LdsAccess]) -> tuple[tuple[int, int, str, int], ...]:
    spans = sorted((a.low, a.high, a.kind) for a in accesses if a.low is not None and a.high)
    out: list[tuple[int, int, set[str], int]] = []
    for low, high, kind in spans:
        if out and low < out[-1][1]:
            first, end, kinds, n = out[-1]
            out[-1] = (first, max(end, high), kinds | {kind}, n + 1)
        else:
            out.append((low, high, {kind}, 1))
    return tuple((a, b, "+".join(sorted(k)), n) for a, b, k, n in out)
