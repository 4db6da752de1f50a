"""What a detector may look at: the kernel's code, and a capture of it where there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from isaprof import arch as tables
from isaprof.analysis import cfg, waits
from isaprof.analysis.liveness import Liveness
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Listing
from isaprof.transforms.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from isaprof.attribution.model import Analysis
    from isaprof.isa.model import Instruction
    from isaprof.transforms.source import Source


#: these change which register an instruction means, or whether it is executed
_MODES = ("s_set_vgpr_msb", "s_set_gpr_idx", "s_setvskip", "v_movrel", "v_swaprel", "s_movrel")


@dataclass(frozen=True)
class LineCost:
    """Cycles of one instruction, summed over the traced waves of the capture."""

    hits: int
    stall: int
    idle: int


@dataclass(frozen=True)
class Context:
    """One kernel of one code object; ``analysis`` is None without a capture."""

    data: bytes = field(repr=False)
    co: CodeObject
    kernel: Kernel
    listing: Listing
    analysis: Analysis | None = None

    @classmethod
    def of(
        cls,
        data: bytes,
        kernel: str | None = None,
        *,
        analysis: Analysis | None = None,
        path: str | None = None,
        arch: str | None = None,
    ) -> Context:
        """Context of the (only, or named) kernel of an object; errors as for CodeObject.

        ``arch`` is needed for objects whose header names none.
        """
        co = CodeObject.from_bytes(data, path=path, arch=arch)
        return cls(data, co, co.kernel(kernel), disassemble(data, path=path, arch=co.arch), analysis)

    @cached_property
    def cfg(self) -> cfg.Cfg:
        """Control flow of the kernel, from its entry (with kernarg preload both entries are code)."""
        return cfg.build(self.listing, self.kernel.entry)

    @property
    def opaque(self) -> str | None:
        """Why nothing can be said about all paths of this kernel; None where it can.

        Jumps through registers and to places without an instruction hide the
        control flow, data among the code hides what is executed, and some
        instructions make a register number mean another register or skip what
        follows. Code that another kernel runs too has paths of its own there.
        """
        if self.cfg.indirect:
            return f"control flow through a register: {self.where(self.cfg.indirect[0].index)}"
        for ins in self.cfg.lines:
            if ins.base.startswith(_MODES):
                return f"register numbers or execution depend on a mode: {self.where(ins.index)}"
            if ins.target is not None and ins.target not in self.listing.by_pc:
                return f"a branch to where no instruction starts: {self.where(ins.index)}"
            if ins.mnemonic.startswith("."):
                return f"data among the code: {self.where(ins.index)}"
        return self._shared_code

    @cached_property
    def _shared_code(self) -> str | None:
        """Which other kernel runs code of this one; None where none does."""
        own = {ins.index for ins in self.cfg.lines}
        for other in self.co.kernels:
            if other.name == self.kernel.name or other.entry not in self.listing.by_pc:
                continue
            common = own.intersection(cfg.reachable(self.listing, other.entry))
            if common:
                return f"kernel {other.name} runs some of this code too: {self.where(min(common))}"
        return None

    @cached_property
    def disassembled(self) -> Source:
        """The object as a source; BadInput where that does not give the same code again."""
        from isaprof.transforms.source import Source

        return Source.of_object(self.data, self.co.path)

    @property
    def counter_maxima(self) -> Mapping[str, int]:
        maxima: Mapping[str, int] = tables.family_table(self.co.arch)["counter_max"]
        return maxima

    @cached_property
    def waits(self) -> waits.WaitAnalysis:
        """Wait counters of the code as it is."""
        return waits.WaitAnalysis(self.cfg, self.counter_maxima)

    @cached_property
    def liveness(self) -> Liveness:
        """Which registers matter where."""
        return Liveness(self.cfg)

    def instruction(self, index: int) -> Instruction:
        return self.listing.instructions[index]

    def where(self, index: int) -> str:
        """``0x17b0 s_waitcnt lgkmcnt(0)``: how evidence names an instruction."""
        ins = self.listing.instructions[index]
        return f"{ins.pc:#x} {ins.text}"

    @cached_property
    def _costs(self) -> dict[int, LineCost]:
        if self.analysis is None:
            return {}
        lines: pd.DataFrame = self.analysis.lines
        return {
            int(pc): LineCost(int(hits), int(stall), int(idle))
            for pc, hits, stall, idle in lines[["pc", "hits", "stall", "idle"]].to_numpy()
        }

    @cached_property
    def timeline(self) -> Timeline | None:
        """Issue times and stalls of the capture; None without one."""
        return None if self.analysis is None else Timeline(self.analysis)

    def cost(self, index: int) -> LineCost | None:
        """Cycles of the instruction in the capture; None without a capture."""
        return self._costs.get(self.listing.instructions[index].pc)

    @property
    def total_cycles(self) -> int | None:
        """Wave cycles of the capture."""
        return None if self.analysis is None else self.analysis.total_cycles

    @property
    def provenance(self) -> str | None:
        return None if self.analysis is None else self.analysis.provenance
