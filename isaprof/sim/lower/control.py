"""Branches, waits, barriers, messages: instructions executed by the sequencer (SOPP and relatives).

Waits return at once: memory is up to date after each instruction here. Timing
is the timing model's business; wrong waits are the sanitizer's.
"""

from __future__ import annotations

from collections.abc import Callable

from isaprof.isa.model import Instruction, OperandKind
from isaprof.sim.lower.context import BARRIER, END, YIELD, Context, Step, StepFault, Unimplemented
from isaprof.sim.lower.modal import MODES
from isaprof.sim.lower.operands import scalar_getter, scalar_putter
from isaprof.sim.state import EXEC, VCC, Wave

#: no architectural effect on registers, memory or the path
NO_EFFECT = frozenset({
    "s_nop", "s_delay_alu", "s_clause", "s_code_end", "s_setprio", "s_setprio_inc_wg", "s_inst_prefetch",
    "s_set_inst_prefetch_distance", "s_icache_inv", "s_dcache_inv", "s_dcache_wb", "s_gl1_inv",
    "s_dcache_discard", "s_waitcnt", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt",
    "s_waitcnt_lgkmcnt", "s_waitcnt_depctr", "s_wait_alu", "s_wait_idle", "s_wait_event", "s_wait_loadcnt",
    "s_wait_storecnt", "s_wait_samplecnt", "s_wait_bvhcnt", "s_wait_expcnt", "s_wait_dscnt", "s_wait_kmcnt",
    "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_wait_asynccnt", "s_wait_tensorcnt", "s_wait_xcnt",
    "s_version", "s_ttracedata", "s_ttracedata_imm", "s_incperflevel", "s_decperflevel", "s_prefetch_inst",
    "s_prefetch_inst_pc_rel", "s_prefetch_data", "s_prefetch_data_pc_rel", "s_buffer_prefetch_data",
    "s_wakeup", "buffer_wbl2", "buffer_inv", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbinvl1",
    "buffer_wbinvl1_vol", "global_inv", "global_wb", "global_wbinv", "global_prefetch_b8",
    "flat_prefetch_b8",
    # the registers in LLVM's text are the ones that these bits make of the encoded ones
    "s_set_vgpr_msb",
    "s_sethalt", "s_monitor_sleep",
})  # fmt: skip


def lower_control(ins: Instruction, ctx: Context) -> Step | None:
    """The step of a control instruction, None when ``ins`` is none of them."""
    base = ins.base
    if base in NO_EFFECT:
        return lambda w: None
    if base in ("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"):
        return _end
    if base in ("s_barrier", "s_barrier_wait"):
        if base.endswith("wait"):
            return (lambda w: None) if is_cluster_barrier(ins) else _barrier_wait
        return _barrier
    if base in ("s_barrier_signal", "s_barrier_signal_isfirst"):
        return _barrier_signal(ins, ctx)
    if base == "s_sleep" or base == "s_sleep_var":
        return lambda w: YIELD
    if base in ("s_sendmsg", "s_sendmsghalt"):
        return _message(ins)
    if base == "s_sendmsg_rtn_b32" or base == "s_sendmsg_rtn_b64":
        raise Unimplemented(f"no semantics for {ins.text}")
    if base in ("s_round_mode", "s_denorm_mode"):
        return _mode(ins)
    if "branch" in base:
        return _branch(ins, ctx)
    if base == "s_trap":
        return _trap(ins)
    make = _JUMPS.get(base) or MODES.get(base)
    return None if make is None else make(ins, ctx)


def _end(w: Wave) -> int:
    w.done = True
    return END


def _barrier(w: Wave) -> int:
    """s_barrier: signal and wait in one."""
    w.barrier = True
    if w.wg is not None:
        w.wg.signal()
    return BARRIER


def _barrier_wait(w: Wave) -> int:
    w.barrier = True
    return BARRIER


def is_cluster_barrier(ins: Instruction) -> bool:
    """gfx1250: barrier -3 is the cluster's; without clusters (no launch here has any) it does nothing.

    LLVM AMDGPU user guide, "Cluster barriers".
    """
    o = ins.operands[0] if ins.operands and ins.base.startswith("s_barrier_") else None
    return o is not None and isinstance(o.value, int) and o.value & 0xFFFF == 0xFFFD


def _trap(ins: Instruction) -> Step:
    """s_trap: 2 is how compilers abort (llvm.trap, assert); 3 is a debugger's breakpoint."""
    text = ins.text

    def step(w: Wave) -> None:
        raise StepFault("trap", f"the kernel ends itself: {text}")

    return step


def _barrier_signal(ins: Instruction, ctx: Context) -> Step:
    """gfx12: -1 is the workgroup's barrier; named barriers and traps are not executed."""
    if is_cluster_barrier(ins):
        return lambda w: None
    o = ins.operands[0] if ins.operands else None
    if o is None or o.kind is not OperandKind.INT or o.value != -1:
        raise Unimplemented(f"barrier of {ins.text}")
    first = ins.base.endswith("isfirst")

    def step(w: Wave) -> None:
        if w.wg is not None:
            if first:
                w.scc = int(w.wg.signalled == 0)
            w.wg.signal()

    return step


def _message(ins: Instruction) -> Step:
    text = ins.text
    if "DEALLOC_VGPRS" in text or "INTERRUPT" in text:
        return lambda w: None
    raise Unimplemented(f"message of {text}")


def _mode(ins: Instruction) -> Step:
    """s_round_mode sets MODE[3:0], s_denorm_mode MODE[7:4]."""
    o = ins.operands[0]
    if not isinstance(o.value, int):
        raise Unimplemented(ins.text)
    shift, value = (0 if ins.base == "s_round_mode" else 4), o.value & 15

    def step(w: Wave) -> None:
        w.set_mode(w.mode & ~(15 << shift) | value << shift)

    return step


def _condition(name: str) -> Callable[[Wave], bool] | None:
    return {
        "s_branch": lambda w: True,
        "s_cbranch_scc0": lambda w: not w.scc,
        "s_cbranch_scc1": lambda w: bool(w.scc),
        "s_cbranch_vccz": lambda w: w.lane_mask(VCC) == 0,
        "s_cbranch_vccnz": lambda w: w.lane_mask(VCC) != 0,
        "s_cbranch_execz": lambda w: w.lane_mask(EXEC) == 0,
        "s_cbranch_execnz": lambda w: w.lane_mask(EXEC) != 0,
        "s_cbranch_cdbgsys": lambda w: False,
        "s_cbranch_cdbguser": lambda w: False,
    }.get(name)


def jump_to(ctx: Context, pc: int) -> int:
    """Listing index of the instruction at ELF address ``pc``; a StepFault when there is none."""
    index = ctx.listing.by_pc.get(pc)
    if index is None:
        raise StepFault("wild_jump", f"jump to {pc:#x}, where no instruction starts", address=pc)
    return index


def _branch(ins: Instruction, ctx: Context) -> Step:
    test = _condition(ins.base)
    if test is None or ins.target is None:
        raise Unimplemented(f"no semantics for {ins.text}")
    target = ins.target
    index = ctx.listing.by_pc.get(target)
    if index is None:

        def wild(w: Wave) -> None:
            if test(w):
                jump_to(ctx, target)

        return wild
    to: int = index

    def step(w: Wave) -> None:
        if test(w):
            w.next = to
            if w.trace is not None:
                w.taken.add(w.step)

    return step


def _getpc(ins: Instruction, ctx: Context) -> Step:
    put, value = scalar_putter(ins.operands[0], 64), ins.end + ctx.load_bias
    return lambda w: put(w, value)


def _setpc(ins: Instruction, ctx: Context) -> Step:
    get = scalar_getter(ctx, ins.operands[-1], 64)
    save = scalar_putter(ins.operands[0], 64) if "swap" in ins.base else None
    back = ins.end + ctx.load_bias

    def step(w: Wave) -> None:
        to = get(w)
        if save is not None:
            save(w, back)
        w.next = jump_to(ctx, to - ctx.load_bias)
        if w.trace is not None:
            w.taken.add(w.step)

    return step


def _call(ins: Instruction, ctx: Context) -> Step:
    put, back = scalar_putter(ins.operands[0], 64), ins.end + ctx.load_bias
    target = ins.target
    if target is None:
        raise Unimplemented(ins.text)
    to: int = target

    def step(w: Wave) -> None:
        put(w, back)
        w.next = jump_to(ctx, to)
        if w.trace is not None:
            w.taken.add(w.step)

    return step


_JUMPS: dict[str, Callable[[Instruction, Context], Step]] = {
    "s_getpc_b64": _getpc, "s_get_pc_i64": _getpc,
    "s_setpc_b64": _setpc, "s_set_pc_i64": _setpc,
    "s_swappc_b64": _setpc, "s_swap_pc_i64": _setpc,
    "s_call_b64": _call, "s_call_i64": _call,
}  # fmt: skip
