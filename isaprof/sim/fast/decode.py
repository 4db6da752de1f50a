"""From instructions to micro-ops: everything that can be resolved once is resolved here.

Each instruction is lowered by the reference first. What the reference refuses
(unknown instruction, a register that the kernel does not have) stays with it,
so that the fault comes from one place and every register number that reaches
the C code has been checked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.isa.model import Instruction, Operand, OperandKind, RegClass
from isaprof.sim.executor import lower_instruction
from isaprof.sim.fast import memory_ops
from isaprof.sim.fast.matrix import matrix
from isaprof.sim.fast.records import SLOTS, SRC, Dpp, Dst, H, Mat, Mem, Op, Prog, Src
from isaprof.sim.fast.vector import special, vector
from isaprof.sim.lower.context import Context, IllegalOperand, Unimplemented
from isaprof.sim.lower.control import NO_EFFECT, is_cluster_barrier
from isaprof.sim.lower.matrix import is_matrix
from isaprof.sim.lower.operands import constant_bits, scalar_getter, scalar_slot
from isaprof.sim.lower.salu import _SOPK, _typed
from isaprof.sim.lower.valu import with_op_sel
from isaprof.sim.semantics.salu import TABLE
from isaprof.sim.state import NULL

_BRANCHES = {
    "s_branch": 0, "s_cbranch_scc0": 1, "s_cbranch_scc1": 2, "s_cbranch_vccz": 3, "s_cbranch_vccnz": 4,
    "s_cbranch_execz": 5, "s_cbranch_execnz": 6, "s_cbranch_cdbgsys": 7, "s_cbranch_cdbguser": 7,
}  # fmt: skip
#: jumps whose target is known at run time only
INDIRECT = ("s_setpc", "s_set_pc", "s_swappc", "s_swap_pc")


class Decoder:
    """Micro-ops of one kernel and the tables that they refer to."""

    def __init__(self, ctx: Context, library: Any, first: int) -> None:
        self.ctx, self.library = ctx, library
        self.ops: list[Op] = [Op() for _ in ctx.listing.instructions]
        self.constants: list[tuple[int, int]] = []
        self._constant_index: dict[tuple[int, int], int] = {}
        self.dpps: list[Dpp] = []
        self.mems: list[Mem] = []
        self.mats: list[Mat] = []
        self.keep: list[NDArray[Any]] = []  #: arrays that records point to
        for index in reachable(ctx, first):
            op = self._decode(ctx.listing.instructions[index])
            if op is not None:
                self.ops[index] = op

    # -- tables ---------------------------------------------------------------------
    def kernel(self, name: str) -> int:
        """Number of the C function for vector operation ``name``, -1 when there is none."""
        return int(self.library.isa_find_kernel(name.encode()))

    def pointer(self, a: NDArray[Any]) -> int:
        """Address of an array that is kept alive with the program."""
        kept = np.ascontiguousarray(a)
        self.keep.append(kept)
        return int(kept.ctypes.data)

    def constant(self, lo: int, hi: int = 0) -> int:
        """Index of a constant: a row of ``lo`` in all lanes and a row of ``hi``."""
        key = (lo & 0xFFFFFFFF, hi & 0xFFFFFFFF)
        index = self._constant_index.get(key)
        if index is None:
            index = self._constant_index[key] = len(self.constants)
            self.constants.append(key)
        return index

    def program(self) -> Prog:
        """The C record; the decoder must outlive it."""
        lanes = self.ctx.lanes
        table = np.zeros((max(1, len(self.constants)), 2, lanes), np.uint32)
        for i, (lo, hi) in enumerate(self.constants):
            table[i, 0], table[i, 1] = lo, hi
        self.keep.append(table)
        tables: tuple[tuple[Any, list[Any]], ...] = (
            (Op, self.ops), (Dpp, self.dpps), (Mem, self.mems), (Mat, self.mats)
        )  # fmt: skip
        self._arrays = [(kind * max(1, len(rows)))(*rows) for kind, rows in tables]
        ops, dpps, mems, mats = (ctypes.addressof(a) for a in self._arrays)
        return Prog(
            ops, len(self.ctx.listing.instructions), table.ctypes.data, dpps, mems, mats, self.ctx.load_bias
        )

    # -- operands ---------------------------------------------------------------------
    def scalar_source(self, o: Operand, bits: int) -> Src | None:
        """A scalar source as an unsigned value of 32 or 64 bits."""
        if o.kind is not OperandKind.REG or o.reg is None:
            k = constant_bits(o, bits)
            return Src(kind=SRC["const"], at=self.constant(k, k >> 32))
        text = o.text.lstrip("-|").rstrip("|")
        for tail in ("vccz", "execz"):
            if text.endswith(tail):
                return Src(kind=SRC[tail])
        if o.reg.cls is RegClass.SCC:
            return Src(kind=SRC["scc"])
        if o.reg.cls is RegClass.SOURCE:
            k = scalar_getter(self.ctx, o, bits)(None)  # type: ignore[arg-type]
            return Src(kind=SRC["const"], at=self.constant(k, k >> 32))
        slot = scalar_slot(o.reg)
        if slot is None or not 0 <= slot < SLOTS or (bits == 64 and slot != NULL and slot + 2 > SLOTS):
            return None
        return Src(kind=SRC["slot64" if bits == 64 else "slot"], at=slot)

    def scalar_destination(self, o: Operand, dwords: int) -> Dst | None:
        slot = None if o.reg is None else scalar_slot(o.reg)
        if slot is None or slot < 0 or (slot != NULL and slot + dwords > SLOTS):
            return None
        return Dst(at=slot)

    # -- instructions -------------------------------------------------------------------
    def compiles(self, ins: Instruction) -> bool:
        """Whether ``ins`` has a micro-op (coverage reports)."""
        return self._decode(ins) is not None

    def _decode(self, ins: Instruction) -> Op | None:
        """The micro-op of ``ins``; None leaves it to the reference."""
        try:
            lower_instruction(ins, self.ctx)
            return self._dispatch(ins)
        except (Unimplemented, IllegalOperand):
            return None
        except (KeyError, ValueError, IndexError, TypeError, AssertionError):
            return None  # a form that the reference knows and this decoder does not expect

    def _dispatch(self, ins: Instruction) -> Op | None:
        base = ins.base
        op = self._control(ins)
        if op is not None:
            return op
        if base.startswith("s_"):
            if base.startswith(("s_load_", "s_buffer_load_", "s_scratch_load_")):
                return memory_ops.smem(self, ins)
            return self._salu(ins)
        if base.startswith("v_s_"):
            return None
        if base.startswith("v_"):
            if is_matrix(base):
                return matrix(self, ins)
            return special(self, ins) or vector(self, with_op_sel(ins, self.ctx))
        if base.startswith("ds_"):
            return memory_ops.lds(self, ins)
        if base.startswith("buffer_"):
            return memory_ops.buffer(self, ins)
        if base.startswith(("global_", "flat_", "scratch_")):
            return memory_ops.vmem(self, ins)
        return None

    def _control(self, ins: Instruction) -> Op | None:
        base = ins.base
        if base in NO_EFFECT or base in ("s_sendmsg", "s_sendmsghalt") or is_cluster_barrier(ins):
            return Op(h=H["nop"])
        if base in _BRANCHES:
            index = self.ctx.listing.by_pc.get(ins.target) if ins.target is not None else None
            return None if index is None else Op(h=H["branch"], flags=_BRANCHES[base], target=index)
        if base in ("s_memtime", "s_memrealtime", "s_getpc_b64", "s_get_pc_i64"):
            dst = self.scalar_destination(ins.operands[0], 2)
            if dst is None:
                return None
            if "pc" in base:
                return Op(h=H["getpc"], dst=dst, imm64=ins.end + self.ctx.load_bias & (1 << 64) - 1)
            return Op(h=H["time"], dst=dst)
        if base in ("s_round_mode", "s_denorm_mode"):
            value = ins.operands[0].value
            if isinstance(value, int):
                return Op(h=H["mode"], flags=0 if base == "s_round_mode" else 4, imm=value & 15)
        simple = {
            "s_endpgm": "end", "s_endpgm_saved": "end", "s_endpgm_ordered_ps_done": "end",
            "s_barrier": "barrier", "s_barrier_wait": "barrier_wait", "s_barrier_signal": "barrier_signal",
            "s_barrier_signal_isfirst": "barrier_signal", "s_sleep": "sleep", "s_sleep_var": "sleep",
        }.get(base)  # fmt: skip
        return None if simple is None else Op(h=H[simple], flags=int(base.endswith("isfirst")))

    def _salu(self, ins: Instruction) -> Op | None:
        row = TABLE.get(ins.base)
        if row is None:
            return self._saveexec(ins)
        number = self.library.isa_find_scalar(row.op.encode())
        if number < 0:
            return None
        simm16 = ins.base.startswith(_SOPK)
        operands = list(ins.operands)
        has_dst = bool(row.dst)
        if has_dst and any(t.startswith("dst") for t in row.src):
            operands.append(operands[0])
        op = Op(h=H["salu"], kernel=number, flags=int(row.scc or not has_dst))
        for i, (o, t) in enumerate(zip(operands[has_dst:], row.src, strict=True)):
            src = self._salu_source(o, t, simm16)
            if src is None:
                return None
            op.src[i] = src
            op.nsrc = i + 1
        if has_dst:
            op.bits = int(row.dst[0][1:])
            dst = self.scalar_destination(operands[0], op.bits // 32)
            if dst is None:
                return None
            op.dst = dst
        return op

    def _salu_source(self, o: Operand, t: str, simm16: bool) -> Src | None:
        bits = 64 if t.endswith("64") else 32
        if o.kind is OperandKind.REG:
            return self.scalar_source(o, bits)
        k = _typed(self.ctx, o, t, simm16=simm16)(None)  # type: ignore[arg-type]
        k &= (1 << bits) - 1
        return Src(kind=SRC["const"], at=self.constant(k, k >> 32))

    def _saveexec(self, ins: Instruction) -> Op | None:
        name, _, tail = ins.base.removeprefix("s_").rpartition("_")
        kind = name.rpartition("_")[2]
        if kind not in ("saveexec", "wrexec") or tail not in ("b32", "b64"):
            return None
        number = self.library.isa_find_scalar(f"exec_{name.removesuffix('_' + kind)}".encode())
        bits = int(tail[1:])
        src, dst = (
            self.scalar_source(ins.operands[1], bits),
            self.scalar_destination(ins.operands[0], bits // 32),
        )
        if number < 0 or src is None or dst is None:
            return None
        op = Op(h=H["saveexec"], kernel=number, bits=bits, flags=int(kind == "saveexec"), dst=dst, nsrc=1)
        op.src[0] = src
        return op


def reachable(ctx: Context, first: int) -> Iterable[int]:
    """Instructions that control flow can reach from listing index ``first``; all of them when a jump's
    target is computed at run time."""
    listing = ctx.listing
    n = len(listing.instructions)
    seen = bytearray(n)
    todo = [first]
    while todo:
        i = todo.pop()
        while 0 <= i < n and not seen[i]:
            seen[i] = 1
            ins = listing.instructions[i]
            base = ins.base
            if base.startswith(INDIRECT):
                return range(n)
            if ins.target is not None:
                to = listing.by_pc.get(ins.target)
                if to is not None:
                    todo.append(to)
            if base == "s_branch" or base.startswith("s_endpgm"):
                break
            i += 1
    return [i for i in range(n) if seen[i]]
