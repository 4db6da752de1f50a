"""The fault a simulated kernel ends in: which instruction, where, which wave and lane."""

from __future__ import annotations

from isaprof.errors import KernelFault
from isaprof.isa.model import Instruction


class SimulatedFault(KernelFault):
    """KernelFault with its coordinates as fields (for JSON output and tests)."""

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        instruction: Instruction | None = None,
        workgroup: tuple[int, int, int] | None = None,
        wave: int | None = None,
        lane: int | None = None,
        memory_address: int | None = None,
    ) -> None:
        where: list[str] = []
        if instruction is not None:
            words = " ".join(f"{w:08x}" for w in instruction.words)
            where.append(f"{instruction.text} at {instruction.pc:#x} (encoding {words or 'unknown'})")
        if workgroup is not None:
            where.append(f"workgroup {','.join(map(str, workgroup))}")
        if wave is not None:
            where.append(f"wave {wave}")
        if lane is not None:
            where.append(f"lane {lane}")
        if memory_address is not None:
            where.append(f"address {memory_address:#x}")
        super().__init__(f"{message}; {', '.join(where)}" if where else message, kind=kind)
        self.instruction = instruction
        self.workgroup = workgroup
        self.wave = wave
        self.lane = lane
        self.memory_address = memory_address
