"""One check: the monitored run, the hazards on its paths, the proofs, the other orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.check.hazards import confirmed
from isaprof.check.machine import CheckMachine
from isaprof.check.memory import CheckedMemory
from isaprof.check.model import RULES, Finding, Findings, Place, Report, Severity
from isaprof.check.variants import Laboratory, Origin, Outcome, Variant, differs
from isaprof.launch import verify as verdicts
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.functional import MAX_INSTRUCTIONS, chosen_workgroups

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing
    from isaprof.launch.verify import Verification

Dim3 = tuple[int, int, int]
Progress = Callable[[int, int, str], None]

#: schedules that are compared with the plain one, unless told otherwise
ORDERS = 3
#: origins of unwritten values that are proven one by one
MAX_PROOFS = 24
#: fault kinds that say nothing about the kernel: they are raised
_NOT_THE_KERNEL = ("unimplemented", "instruction_limit", "simulator_error")
_RANK = {Severity.ERROR: 0, Severity.WARNING: 1}


def _no_progress(done: int, total: int, what: str) -> None:
    """The default progress callback."""


def check(
    co: CodeObject,
    kernel: Kernel,
    listing: Listing,
    launch: Any,
    *,
    workgroups: Sequence[Dim3] | None = None,
    orders: int = ORDERS,
    seed: int = 0,
    max_instructions: int = MAX_INSTRUCTIONS,
    executor: str | None = None,
    path: str = "",
    progress: Progress = _no_progress,
) -> Report:
    """Execute ``kernel`` under the sanitizer; all workgroups of the launch, or those given.

    ``launch`` is a ResolvedLaunch, or anything that the simulator takes; only
    the former gives a verdict and element indices. Raises SimulatedFault for
    instructions without semantics and the instruction limit; other faults are
    findings.
    """
    chosen = chosen_workgroups(launch.grid, workgroups)
    machine = CheckMachine(co, kernel, listing, launch)
    monitor = machine.monitor
    findings = monitor.findings
    fault: SimulatedFault | None = None
    with np.errstate(all="ignore"):
        try:
            machine.run_all(chosen, lambda wg: True, max_instructions, progress)
        except SimulatedFault as e:
            if e.kind in _NOT_THE_KERNEL:
                raise
            fault = e
            _fault(findings, e)
    monitor.drop_explained()
    for n, found in enumerate(confirmed(co, kernel, listing, machine.paths.values())):
        findings.add(("hazard", n), found)
    verification = None if fault is not None else _verdict(machine, launch, workgroups)
    notes: list[str] = []
    if monitor.indexed is not None:
        notes.append(
            f"VGPR numbers depend on a mode or M0 from {monitor.indexed.pc:#x} {monitor.indexed.text} on: "
            "unwritten VGPRs were not looked for behind it, nor waits of the VALU instructions under it"
        )
    done = 0
    if fault is None:
        notes += _unwritten(machine, launch, workgroups)
        lab = Laboratory(co, kernel, listing, launch, chosen, limit=max_instructions, executor=executor)
        plain = lab.run(Variant())
        if plain.fault is None:
            _prove(lab, machine, plain, notes)
            done = _orders(lab, machine, plain, orders, seed, verification, progress)
        else:
            notes.append(
                "other orders of waves, and what depends on values that nobody wrote, were not looked at: "
                "without the sanitizer, which goes on behind accesses outside, the run ends in a fault"
            )
    return Report(
        path,
        kernel.name,
        co.arch,
        dict(getattr(launch, "shape", {})),
        len(chosen),
        launch.grid[0] * launch.grid[1] * launch.grid[2],
        machine.executed,
        tuple(sorted(findings.by_key.values(), key=_order)),
        None if verification is None else verification.verified,
        "" if verification is None else verification.message,
        done,
        fault is None,
        tuple(notes),
    )


def _order(f: Finding) -> tuple[int, int, int]:
    return _RANK[f.severity], list(RULES).index(f.rule), -1 if f.place is None else f.place.pc


def _fault(findings: Findings, e: SimulatedFault) -> None:
    ins = e.instruction
    place = None if ins is None else Place(ins.index, ins.pc, ins.text)
    rule = "barrier-mismatch" if e.kind == "deadlock" else "fault"
    findings.add(
        (rule, e.kind),
        Finding(
            rule, Severity.ERROR, str(e), place, e.workgroup, e.wave, () if e.lane is None else (e.lane,),
            {"kind": e.kind},
        ),
    )  # fmt: skip


def _outputs(machine: CheckMachine, launch: Any) -> dict[str, bytes]:
    return {
        o.name: machine.memory.contents(machine.segments[o.name])
        for o in launch.operands
        if o.role in ("output", "inout")
    }


def _verdict(machine: CheckMachine, launch: Any, workgroups: Sequence[Dim3] | None) -> Verification | None:
    if not hasattr(launch, "verify"):
        return None
    found: Verification = launch.verify(_outputs(machine, launch), workgroups)
    return found


# -- outputs that nobody wrote -------------------------------------------------------------------


def _unwritten(machine: CheckMachine, launch: Any, workgroups: Sequence[Dim3] | None) -> list[str]:
    """Findings for output elements that no store reached; notes for what cannot be judged."""
    notes = []
    outputs = _outputs(machine, launch)
    for o in launch.operands:
        if o.role != "output":
            continue
        due = _due(launch, o, workgroups, outputs[o.name])
        if due is None:
            notes.append(
                f"output-unwritten was not looked at for {o.name}: not all workgroups ran, and the launch "
                "file names no tile per workgroup"
            )
            continue
        never = _never(machine, o) & due
        n = int(never.sum())
        if not n:
            continue
        first = int(np.argmax(never))
        shape = getattr(o, "shape", ()) if never.size == _count(o) else ()
        index = [int(i) for i in np.unravel_index(first, shape)] if shape else first
        text = (
            f"{o.name}[{', '.join(map(str, index))}]"
            if isinstance(index, list)
            else f"byte {index} of {o.name}"
        )
        unit = "elements" if isinstance(index, list) else "bytes"
        machine.monitor.findings.add(
            ("output-unwritten", o.name),
            Finding(
                "output-unwritten", Severity.ERROR,
                f"{n} {unit} of output {o.name} are never written, the first is {text}",
                values={"operand": o.name, "index": index, "unwritten": n}, count=n,
            ),
        )  # fmt: skip
    return notes


def _count(operand: Any) -> int:
    placement = getattr(operand, "placement", None)
    return -1 if placement is None else int(placement.positions.size)


def _never(machine: CheckMachine, operand: Any) -> Any:
    """Bool per logical element (per byte where the operand has no type): no byte of it was stored."""
    s = machine.segments[operand.name]
    assert isinstance(machine.memory, CheckedMemory)
    at = s.base - machine.memory.base
    wrote = machine.memory.written[at : at + s.size]
    placement = getattr(operand, "placement", None)
    if placement is None or operand.type.bits < 8:
        return ~wrote
    width = operand.type.bits // 8
    return ~wrote[: placement.elements * width].reshape(-1, width)[placement.positions].all(axis=1)


def _due(launch: Any, operand: Any, workgroups: Sequence[Dim3] | None, after: bytes) -> Any:
    """Which of them the workgroups that ran should have written; None where that is not known."""
    if workgroups is None:
        return True
    if not hasattr(launch, "tiles") or operand.type.bits < 8:
        return None
    mask, guessed = verdicts._ran(launch, operand, after, tuple(workgroups))
    return None if guessed else mask


# -- what comes from values that nobody wrote ----------------------------------------------------


def _prove(lab: Laboratory, machine: CheckMachine, plain: Outcome, notes: list[str]) -> None:
    """Make errors of those reads of unwritten values that change an output."""
    origins = machine.monitor.origins
    if not origins:
        return
    if all(_change(lab, machine, plain, None, n) is None for n in (1, 2)):
        for keys in origins.values():
            for key in keys:
                machine.monitor.findings.by_key[
                    key
                ].message += "; no output depends on it, with these operands"
        return
    for n, (origin, keys) in enumerate(origins.items()):
        if n >= MAX_PROOFS:
            notes.append(f"only the first {MAX_PROOFS} origins of unwritten values were looked at one by one")
            break
        said = next((s for k in (1, 2) if (s := _change(lab, machine, plain, origin, k))), None)
        for key in keys:
            found = machine.monitor.findings.by_key[key]
            if said is None:
                found.message += "; no output depends on it, with these operands"
            else:
                found.severity = Severity.ERROR
                found.message += f"; {said}"


def _change(
    lab: Laboratory, machine: CheckMachine, plain: Outcome, origin: Origin | None, poison: int
) -> str | None:
    """What other contents of the unwritten change, in words; None where nothing."""
    other = lab.run(Variant(poison=poison, only=origin))
    if other.fault is not None:
        return f"with other contents there the kernel faults: {other.fault}"
    return _said(differs(plain, other, _never_bytes(machine, lab.launch)), "with other contents there")


def _never_bytes(machine: CheckMachine, launch: Any) -> dict[str, Any]:
    """Output bytes that no store reached: they hold what memory held before."""
    out = {}
    assert isinstance(machine.memory, CheckedMemory)
    for o in launch.operands:
        if o.role in ("output", "inout"):
            s = machine.segments[o.name]
            at = s.base - machine.memory.base
            wrote = machine.memory.written[at : at + s.size]
            placement = getattr(o, "placement", None)
            if placement is not None and not placement.dense and o.type.bits >= 8:
                wrote = o.codes(wrote.view(np.uint8)) != 0
            out[o.name] = ~np.asarray(wrote, np.bool_).reshape(-1)
    return out


def _said(difference: tuple[str, int, bytes, bytes] | None, when: str) -> str | None:
    if difference is None:
        return None
    name, at, one, two = difference
    return f"{when} byte {at} of {name} on is {two.hex()} instead of {one.hex()}"


# -- orders ------------------------------------------------------------------------------------------


def _orders(
    lab: Laboratory, machine: CheckMachine, plain: Outcome, orders: int, seed: int,
    verification: Verification | None, progress: Progress,
) -> int:  # fmt: skip
    """Compare ``orders`` shuffled schedules with the plain one; returns how many ran."""
    floats = any(
        i.mem is not None and i.mem.atomic and ("f32" in i.base or "f16" in i.base or "f64" in i.base)
        for i in machine.ctx.listing.instructions
    )
    for n in range(orders):
        other = lab.run(Variant(order=seed + n))
        progress(n + 1, orders, "orders of waves")
        difference = differs(plain, other)
        if other.fault is None and difference is None:
            continue
        severity = Severity.ERROR
        if other.fault is not None:
            message = f"in wave order {seed + n} the kernel faults: {other.fault}"
        else:
            message = str(_said(difference, f"in wave order {seed + n}"))
            if floats and difference is not None and _within(lab.launch, other):
                severity = Severity.WARNING
                message += "; float atomics add in any order, and the output is within the tolerance"
        values: dict[str, Any] = {"order": seed + n}
        if difference is not None:
            values.update(operand=difference[0], byte=difference[1], values=[b.hex() for b in difference[2:]])
        machine.monitor.findings.add(
            ("order-dependent",), Finding("order-dependent", severity, message, values=values)
        )
        return n + 1
    return orders


def _within(launch: Any, outcome: Outcome) -> bool:
    """Whether the launch file's reference accepts the outputs of another order."""
    if not hasattr(launch, "verify"):
        return False
    padded = all(getattr(o, "placement", None) is None or o.placement.dense for o in launch.operands)
    return bool(padded and launch.verify(outcome.outputs).verified)
