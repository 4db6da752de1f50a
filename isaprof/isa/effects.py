"""What an instruction does to the machine: registers, memory, counters."""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.isa.model import Category, MemAccess, Pipe, RegSpan
from isaprof.isa.text import ParsedText


@dataclass(frozen=True, slots=True)
class Effects:
    """Derived facts of one instruction text on one architecture."""

    reads: tuple[RegSpan, ...] = ()
    writes: tuple[RegSpan, ...] = ()
    mem: MemAccess | None = None
    counters: tuple[str, ...] = ()
    waits: tuple[tuple[str, int], ...] = ()


def effects_of(arch: str, parsed: ParsedText, category: Category, pipe: Pipe) -> Effects:
    """Effects of a parsed instruction on ``arch``."""
    return Effects()
