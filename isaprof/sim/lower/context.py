"""What lowering needs to know about the kernel, and how it refuses an instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isaprof.isa.model import Instruction, Listing
from isaprof.sim.archdata import SimFacts
from isaprof.sim.state import Wave

#: one executed instruction; returns None or a Signal
Step = Callable[[Wave], "int | None"]

#: signals of a step to the scheduler
END, BARRIER, YIELD = 1, 2, 3


class Unimplemented(Exception):
    """The instruction has no semantics here; the message says what exactly is missing."""


class IllegalOperand(Exception):
    """The instruction names a register the kernel does not have."""


class StepFault(Exception):
    """A fault found while executing: kind slug, message, lane and address where known."""

    def __init__(self, kind: str, message: str, lane: int | None = None, address: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.lane, self.address = kind, message, lane, address


@dataclass(frozen=True, slots=True)
class Context:
    """Facts common to all instructions of one kernel."""

    arch: str
    facts: SimFacts
    lanes: int
    vgprs: int  #: architectural VGPRs the wave may name
    agprs: int
    listing: Listing
    load_bias: int = 0  #: device address minus ELF virtual address of the code
    scratch_bytes: int = 0  #: private segment, bytes per lane

    @property
    def wave32(self) -> bool:
        return self.lanes == 32


def modifier_int(ins: Instruction, name: str, default: int = 0) -> int:
    """Integer value of modifier ``name``; flags count as 1."""
    v = ins.modifiers.get(name, default)
    if isinstance(v, int):
        return int(v)
    raise Unimplemented(f"modifier {name}:{v}")


def modifier_bits(ins: Instruction, name: str) -> tuple[int, ...]:
    """List modifier such as ``op_sel:[0,1]``; empty when absent."""
    v = ins.modifiers.get(name)
    return v if isinstance(v, tuple) else ()
