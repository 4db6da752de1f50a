"""What a rule may look at: one kernel of a code object, its paths, and the source it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from isaprof import arch as tables
from isaprof.analysis import cfg as graphs
from isaprof.analysis.cfg import Cfg
from isaprof.arch.table import ArchTable
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.isa.model import Instruction, Listing
from isaprof.lint.outstanding import Outstanding

#: instructions after which a register number no longer names the register that is printed
_MODES = ("s_set_gpr_idx_on", "s_set_gpr_idx_mode")


@dataclass(frozen=True)
class Context:
    """One kernel. ``source`` and ``line_of`` (listing row -> line) only for linted ``.s`` files."""

    co: CodeObject
    listing: Listing
    kernel: Kernel
    source: str | None = field(default=None, repr=False)
    line_of: Mapping[int, int] = field(default_factory=dict, repr=False)
    original: CodeObject | None = field(default=None, repr=False)
    first: bool = True  #: the first kernel of the object: rules about the object speak once

    @cached_property
    def table(self) -> ArchTable:
        """Facts of the target, or of its generation where it has no table of its own."""
        return tables.family_table(self.co.arch)

    @cached_property
    def generation(self) -> str:
        return tables.generation(self.co.arch)

    @cached_property
    def entries(self) -> tuple[int, ...]:
        """Addresses where waves start: with kernarg preload also the fall-back at the symbol itself."""
        wanted = dict.fromkeys((self.kernel.entry, self.kernel.start))
        return tuple(a for a in wanted if a in self.listing.by_pc)

    @cached_property
    def graphs(self) -> tuple[Cfg, ...]:
        """Control flow from every entry; one graph where the first reaches the second."""
        out: list[Cfg] = []
        for address in self.entries:
            row = self.listing.by_pc[address]
            if not any(row in {i.index for i in g.lines} for g in out):
                out.append(graphs.build(self.listing, address))
        return tuple(out)

    @cached_property
    def reachable(self) -> frozenset[int]:
        """Listing rows that some path from an entry reaches."""
        return frozenset(i.index for g in self.graphs for i in g.lines)

    @cached_property
    def lines(self) -> tuple[Instruction, ...]:
        """The reachable instructions in address order."""
        return tuple(self.listing.instructions[i] for i in sorted(self.reachable))

    @cached_property
    def extent(self) -> tuple[Instruction, ...]:
        """All instructions between the kernel's symbol and its size, reachable or not."""
        end = self.kernel.entry + self.kernel.size
        return tuple(i for i in self.listing.instructions if self.kernel.entry <= i.pc < end)

    @cached_property
    def indirect(self) -> tuple[Instruction, ...]:
        """Jumps and calls through registers: behind them control flow is unknown."""
        return tuple(i for g in self.graphs for i in g.indirect)

    @cached_property
    def register_mode(self) -> Instruction | None:
        """The first instruction that makes register numbers depend on a mode; None without one."""
        unknown = self.listing.unknown_vgprs
        return next((i for i in self.lines if i.base in _MODES or i.index in unknown), None)

    @cached_property
    def outstanding(self) -> tuple[Outstanding, ...]:
        """Wait-counter state of each graph."""
        return tuple(Outstanding(g, self.table["counter_max"]) for g in self.graphs)

    def ins(self, row: int) -> Instruction:
        return self.listing.instructions[row]
