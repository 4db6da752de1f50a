"""Predecoded execution: each instruction is lowered once, then run by every wave."""

from __future__ import annotations

from typing import Any

from isaprof.errors import KernelFault
from isaprof.isa.model import Instruction
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.lower.context import Context, IllegalOperand, Step, StepFault, Unimplemented
from isaprof.sim.lower.modal import changes_modes, in_modes
from isaprof.sim.memory import MemoryFault
from isaprof.sim.state import EXEC, Wave


def lower_instruction(ins: Instruction, ctx: Context) -> Step:
    """The closure that executes ``ins``; Unimplemented or IllegalOperand when there is none."""
    from isaprof.sim.lower.buffer import lower_buffer
    from isaprof.sim.lower.control import lower_control
    from isaprof.sim.lower.lanes import lower_special
    from isaprof.sim.lower.lds import lower_lds
    from isaprof.sim.lower.matrix import is_matrix, lower_matrix
    from isaprof.sim.lower.salu import lower_pseudo_scalar, lower_salu
    from isaprof.sim.lower.scaled import lower_scaled
    from isaprof.sim.lower.smem import lower_smem
    from isaprof.sim.lower.valu import lower_valu, with_op_sel
    from isaprof.sim.lower.vmem import lower_vmem

    base = ins.base
    if "not supported" in ins.text:
        raise Unimplemented(f"LLVM does not decode this: {ins.text}")
    try:
        control = lower_control(ins, ctx)
        if control is not None:
            return control
        if base.startswith("s_"):
            return lower_smem(ins, ctx) or lower_salu(ins, ctx)
        if base.startswith("v_"):
            if is_matrix(base):
                return lower_matrix(ins, ctx)
            scalar = lower_pseudo_scalar(ins, ctx)
            if scalar is not None:
                return scalar
            return lower_special(ins, ctx) or lower_scaled(ins, ctx) or lower_valu(with_op_sel(ins, ctx), ctx)
        if base.startswith("ds_"):
            return lower_lds(ins, ctx)
        if base.startswith("buffer_"):
            return lower_buffer(ins, ctx)
        if base.startswith(("global_", "flat_", "scratch_")):
            return lower_vmem(ins, ctx)
    except (ValueError, IndexError, KeyError, TypeError) as e:
        # an operand list or modifier of a shape the lowering does not know
        raise Unimplemented(f"cannot lower {ins.text}: {e}") from e
    raise Unimplemented(f"no semantics for {ins.mnemonic}")


class Program:
    """The lowered instructions of one kernel; shared by all its waves."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.instructions = ctx.listing.instructions
        self.steps: list[Step | None] = [None] * len(self.instructions)
        self.counts = [0] * len(self.instructions)
        self.modal = changes_modes(self.instructions)

    def _lower(self, index: int) -> Step:
        ins = self.instructions[index]
        step = lower_instruction(ins, self.ctx)
        if self.modal:
            step = in_modes(ins, step, lambda changed: lower_instruction(changed, self.ctx))
        self.steps[index] = step
        return step

    def run(self, w: Wave, quantum: int) -> tuple[int, int | None]:
        """Execute up to ``quantum`` instructions of ``w``.

        Returns (instructions executed, signal or None when the quantum ran out).
        Raises SimulatedFault.
        """
        try:
            if w.trace is not None:
                return self._run_traced(w, quantum)
            return self._run(w, quantum)
        except KernelFault:
            raise
        except Exception as e:
            raise self._fault(w, e) from e

    def _run(self, w: Wave, quantum: int) -> tuple[int, int | None]:
        steps, counts = self.steps, self.counts
        start = w.clock
        i = w.pc
        for n in range(quantum):
            w.pc = i
            step = steps[i]
            if step is None:
                step = self._lower(i)
            w.next = i + 1
            w.clock = start + n
            signal = step(w)
            counts[i] += 1
            i = w.next
            if signal is not None:
                w.pc = i
                w.clock = start + n + 1
                return n + 1, signal
        w.pc = i
        w.clock = start + quantum
        return quantum, None

    def _run_traced(self, w: Wave, quantum: int) -> tuple[int, int | None]:
        for n in range(quantum):
            i = w.pc
            step = self.steps[i] or self._lower(i)
            w.next = i + 1
            w.lines.append(i)
            if not (w.s[EXEC] | (w.s[EXEC + 1] if w.lanes == 64 else 0)):
                w.exec_zero.add(w.step)
            signal = step(w)
            self.counts[i] += 1
            w.step += 1
            w.clock += 1
            w.pc = w.next
            if signal is not None:
                return n + 1, signal
        return quantum, None

    def _fault(self, w: Wave, e: Exception) -> SimulatedFault:
        """The exception of a step as a fault with all its coordinates."""
        ins = self.instructions[w.pc] if 0 <= w.pc < len(self.instructions) else None
        where: dict[str, Any] = {"instruction": ins, "workgroup": w.workgroup, "wave": w.id_in_wg}
        if isinstance(e, MemoryFault):
            active = [i for i in range(w.lanes) if w.mask[i]]
            scalar = ins is not None and ins.base.startswith("s_")
            lane = None if scalar or e.lane >= len(active) else active[e.lane]
            message = f"access of {e.nbytes} bytes outside every buffer: {e.why}"
            if "read-only" in e.why:
                message = f"store of {e.nbytes} bytes: {e.why}"
            return SimulatedFault(message, kind="memory", lane=lane, memory_address=e.address, **where)
        if isinstance(e, StepFault):
            return SimulatedFault(e.message, kind=e.kind, lane=e.lane, memory_address=e.address, **where)
        if isinstance(e, Unimplemented):
            return SimulatedFault(f"not implemented: {e}", kind="unimplemented", **where)
        if isinstance(e, IllegalOperand):
            return SimulatedFault(str(e), kind="illegal_register", **where)
        if isinstance(e, IndexError) and ins is None:
            return SimulatedFault("the program ran past its last instruction", kind="wild_jump", **where)
        return SimulatedFault(
            f"the simulator failed on this instruction ({type(e).__name__}: {e})",
            kind="simulator_error",
            **where,
        )
