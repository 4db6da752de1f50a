"""Under which conditions a rotated loop computes the same, and whether they are met."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isaprof import arch as tables
from isaprof.analysis.liveness import Reg, registers
from isaprof.isa.model import Instruction, RegClass, Space
from isaprof.transforms.context import Context
from isaprof.transforms.model import Obligation
from isaprof.transforms.rotate import Rotation

#: wait states between a VALU write of an SGPR and a vector memory instruction that reads it, where
#: the hardware does not interlock (LLVM GCNHazardRecognizer.cpp, VmemSgprWaitStates)
_VALU_SGPR_TO_VMEM = 5
#: a NUM_RECORDS that bounds nothing
_UNBOUNDED = 0x7FFFFFFF


def obligations(
    context: Context, rotation: Rotation, after: Context | None, problem: str
) -> tuple[Obligation, ...]:
    """``after``: the re-assembled object with the rotated loop; None: ``problem`` says why there is none."""
    return (
        _registers(context, rotation),
        _waits(context, rotation, after, problem),
        _hazards(context, rotation),
        _stores(context, rotation),
        _resources(context, rotation, after),
        _tail(context, rotation),
    )


def _registers(context: Context, rotation: Rotation) -> Obligation:
    body = _body(context, rotation)
    loads = set(rotation.group.loads)
    results = registers(w for i in loads for w in context.instruction(i).writes)
    users = [x for x in body if x.index not in rotation.moved and registers(x.reads) & results]
    steps = [f"loaded: {_names(results)}"]
    if users:
        steps.append(f"last read in the iteration by {context.where(users[-1].index)}")
    if rotation.renamed:
        new = frozenset().union(*(r.new for r in rotation.renamed.values()))
        steps.append(f"loaded into {_names(new)} instead, which no instruction of the kernel names")
        steps.append("copied to the old registers before their first use in the iteration")
    steps.append(
        f"the loads go before {context.where(rotation.at)}: nothing from there to the end of the iteration, "
        "and nothing before their old place, reads or writes the registers that they write, or writes "
        "those of their addresses"
    )
    same = [i for i in rotation.moved if i not in rotation.renamed]
    written = registers(w for i in same for w in context.instruction(i).writes) - {(RegClass.SCC, 0)}
    if rotation.guard:
        steps.append(
            "the guard skips them in the last iteration: at the loop's exit every register is as before"
        )
        return Obligation("P1", "registers that are written earlier are dead there", True, tuple(steps))
    exits = [
        s for s in context.cfg.blocks[rotation.group.block.index].succ if s != rotation.group.block.index
    ]
    live = frozenset().union(*(context.liveness.live_in(s) for s in exits)) & written
    if live:
        steps.append(f"read after the loop, where one iteration too many has written them: {_names(live)}")
    else:
        steps.append(f"none of {_names(written)} is read after the loop before it is written")
    return Obligation("P1", "registers that are written earlier are dead there", not live, tuple(steps))


def _waits(context: Context, rotation: Rotation, after: Context | None, problem: str) -> Obligation:
    title = "wait counters over all paths of the re-assembled kernel"
    if after is None:
        return Obligation("P2", title, False, (f"the rewritten kernel does not assemble: {problem}",))
    new = new_conflicts(context, after)
    steps = [f"{user} would use a result of {load} that may be in flight" for user, load in new]
    if not new:
        steps = [
            f"{len(after.cfg.lines)} instructions, back edges included: no register of an outstanding "
            "load is "
            "read or overwritten" + (" that was not before" if context.waits.conflicts() else "")
        ]
        if rotation.drain:
            steps.append(
                f"{rotation.drain} behind the loop: code there uses the loads' registers; with the "
                "guard nothing "
                "is in flight any more, so it does not stall"
                if rotation.guard
                else f"{rotation.drain} behind the loop retires the last iteration's surplus loads"
            )
        steps.append(
            "the order of dependent instructions is kept, so each wait retires the loads of the iteration "
            "whose values are used behind it"
        )
    return Obligation("P2", title, not new, tuple(steps))


def new_conflicts(before: Context, after: Context) -> list[tuple[str, str]]:
    """Uses of results in flight that ``before`` does not have: (user, load), as texts."""
    known = _conflicts(before)
    return [c for c in _conflicts(after) if c not in known]


def _conflicts(context: Context) -> list[tuple[str, str]]:
    return [
        (context.instruction(c.user).text, context.instruction(c.load).text)
        for c in context.waits.conflicts()
    ]


def _hazards(context: Context, rotation: Rotation) -> Obligation:
    title = "no hazard that the hardware leaves to software"
    if not tables.family_table(context.co.arch).get("needs_nops", False):
        return Obligation("P3", title, True, (f"{context.co.arch} interlocks SGPR writes before memory",))
    body = _body(context, rotation)
    at = next(p for p, x in enumerate(body) if x.index == rotation.at)
    entry = context.cfg.position(rotation.entry)
    moved = [context.instruction(i) for i in rotation.moved]
    before = [x for x in body[:at] if x.index not in rotation.moved]
    new_places = (
        before[-_VALU_SGPR_TO_VMEM:],
        context.cfg.lines[max(0, entry + 1 - _VALU_SGPR_TO_VMEM) : entry + 1],
    )
    for place in new_places:
        for user, writer in _sgpr_hazards([*place, *moved]):
            return Obligation(
                "P3", title, False,
                (f"{context.where(writer.index)} writes an SGPR that {context.where(user.index)} would "
                 "read too soon: "
                 f"{_VALU_SGPR_TO_VMEM} wait states are needed",),
            )  # fmt: skip
    step = f"no VALU write of an SGPR within {_VALU_SGPR_TO_VMEM} instructions before a load that reads it"
    return Obligation("P3", title, True, (step,))


def _sgpr_hazards(code: Sequence[Instruction]) -> Iterable[tuple[Instruction, Instruction]]:
    for p, user in enumerate(code):
        if user.mem is None:
            continue
        need = frozenset(r for r in registers(user.reads) if r[0] in (RegClass.SGPR, RegClass.VCC))
        for writer in code[max(0, p - _VALU_SGPR_TO_VMEM) : p]:
            if writer.base.startswith("v_") and registers(writer.writes) & need:
                yield user, writer


def _stores(context: Context, rotation: Rotation) -> Obligation:
    title = "no store of the loop can alias what is loaded early"
    body = _body(context, rotation)
    stores = [x for x in body if _writes_memory(x)]
    if not stores:
        step = "the loop writes no memory but LDS: what its loads read does not change while it runs"
        return Obligation("P5", title, True, (step,))
    at = next(p for p, x in enumerate(body) if x.index == rotation.at)
    first = min(p for p, x in enumerate(body) if x.index in rotation.moved)
    crossed = [x for p, x in enumerate(body) if x in stores and (p >= at or p < first)]
    barriers = [x for p, x in enumerate(body) if x.base.startswith("s_barrier") and (p >= at or p < first)]
    if not crossed and not barriers:
        steps = [f"{context.where(x.index)} stays before the loads of the next iteration" for x in stores]
        return Obligation("P5", title, True, (*steps, "no barrier is crossed"))
    steps = [f"the loads would overtake {context.where(x.index)}" for x in crossed]
    steps += [
        f"the loads would overtake {context.where(x.index)}, which other waves' stores may be ordered by"
        for x in barriers
    ]
    steps.append("that the addresses are disjoint is not proven")
    return Obligation("P5", title, False, tuple(steps))


def _writes_memory(ins: Instruction) -> bool:
    m = ins.mem
    return m is not None and (m.store or m.atomic) and m.space not in (Space.LDS, Space.GDS)


def _resources(context: Context, rotation: Rotation, after: Context | None) -> Obligation:
    title = "registers and LDS stay within the same allocation"
    d = context.kernel.descriptor
    n = len(frozenset().union(*(r.new for r in rotation.renamed.values())))
    new = f"{n} new registers of those granted" if n else "no new register"
    step = f"{new}; descriptor unchanged: {d.vgpr_count} VGPRs, {d.group_segment_fixed_size} bytes of LDS"
    if after is None:
        return Obligation("P6", title, True, (step,))
    now = after.kernel.descriptor
    same = (now.vgpr_count, now.group_segment_fixed_size) == (d.vgpr_count, d.group_segment_fixed_size)
    return Obligation("P6", title, same, (step,))


def _tail(context: Context, rotation: Rotation) -> Obligation:
    title = "the last iteration loads nothing beyond the data"
    branch = context.cfg.lines[rotation.group.block.last]
    if rotation.guard:
        condition = rotation.guard[0] if len(rotation.guard) > 1 else "SCC of the loop's own comparison"
        return Obligation(
            "tail", title, True,
            (f"guard: the loads are skipped exactly where {branch.mnemonic} leaves the loop ({condition})",
             "so the same loads are executed, at the same addresses"),
        )  # fmt: skip
    steps = ["no guard: the loop's condition is not known where the loads go"]
    met = True
    for i in rotation.group.loads:
        bounded, step = _bounded(context, context.instruction(i))
        met = met and bounded
        steps.append(step)
    return Obligation("tail", title, met, tuple(steps))


def _bounded(context: Context, load: Instruction) -> tuple[bool, str]:
    """Whether a descriptor with a known, finite NUM_RECORDS ends the buffer the load reads."""
    where = context.where(load.index)
    base = next(
        (o.reg for o in load.operands if o.reg and o.reg.cls is RegClass.SGPR and o.reg.count == 4), None
    )
    if load.mem is None or load.mem.space is not Space.BUFFER or base is None:
        return False, f"{where}: not through a buffer descriptor, nothing bounds the address"
    size = (RegClass.SGPR, base.index + 2)
    writers = [x for x in context.cfg.lines if size in registers(x.writes)]
    if len(writers) != 1:
        return False, f"{where}: NUM_RECORDS (s{base.index + 2}) is not written exactly once"
    value = writers[0].operands[-1].value if writers[0].base in ("s_mov_b32", "s_movk_i32") else None
    if value is None:
        return False, (
            f"{where}: NUM_RECORDS comes from {context.where(writers[0].index)}; that it is the "
            "buffer's size is "
            "not proven (with an exact descriptor the load returns 0 beyond it)"
        )
    exact = 0 <= int(value) < _UNBOUNDED
    word = "the hardware returns 0 beyond it" if exact else "which bounds nothing"
    return exact, f"{where}: NUM_RECORDS = {int(value) & 0xFFFFFFFF:#x}, {word}"


def _body(context: Context, rotation: Rotation) -> tuple[Instruction, ...]:
    return context.cfg.lines[rotation.group.block.first : rotation.group.block.last + 1]


def _names(regs: Iterable[Reg]) -> str:
    """``v[32:39], s4``."""
    runs: list[tuple[RegClass, int, int]] = []
    for cls, i in sorted(regs):
        if runs and runs[-1][0] == cls and runs[-1][2] == i - 1:
            runs[-1] = (cls, runs[-1][1], i)
        else:
            runs.append((cls, i, i))
    return ", ".join(f"{c}{a}" if a == b else f"{c}[{a}:{b}]" for c, a, b in runs) or "none"
