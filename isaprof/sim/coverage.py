"""Which instructions of a code object the simulator executes, and which executor does it.

Nothing is run: every instruction is lowered (and decoded for the fast executor)
as a kernel's first execution of it would. What depends on run-time values (a
descriptor, a MODE value) is not seen here; faults and ``FunctionalResult.fallbacks``
say that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Instruction, Listing
from isaprof.sim import archdata
from isaprof.sim.executor import lower_instruction
from isaprof.sim.lower.context import Context, IllegalOperand, Unimplemented

#: an instruction without semantics faults; one that only the reference has falls back to NumPy
MISSING, REFERENCE, FAST = "missing", "reference", "fast"
#: registers assumed for code that no kernel descriptor bounds
_VGPRS, _AGPRS = 1024, 256


@dataclass(slots=True)
class Gap:
    """One mnemonic, with the operand forms that matter, that is not executed as it should be."""

    status: str  #: MISSING or REFERENCE
    mnemonic: str
    why: str
    count: int = 0  #: static occurrences
    objects: int = 0
    example: str = ""
    address: int = 0  #: of the first occurrence in the first object

    def as_json(self) -> dict[str, Any]:
        return {
            "status": self.status, "mnemonic": self.mnemonic, "why": self.why, "count": self.count,
            "objects": self.objects, "example": self.example, "address": self.address,
        }  # fmt: skip


@dataclass(slots=True)
class Coverage:
    """What one object (or several together) has: static instructions and distinct mnemonics by status."""

    label: str
    arch: str = ""
    instructions: int = 0
    mnemonics: set[str] = field(default_factory=set)
    data_words: int = 0  #: words in .text that LLVM does not decode
    gaps: dict[tuple[str, str, str], Gap] = field(default_factory=dict)
    fast: bool = True  #: the fast executor was looked at
    error: str | None = None

    def count(self, status: str) -> int:
        """Static instructions of a status."""
        if status == FAST:
            return self.instructions - self.count(MISSING) - self.count(REFERENCE)
        return sum(g.count for g in self.gaps.values() if g.status == status)

    def sorted_gaps(self) -> list[Gap]:
        """What does not execute first, then the most frequent."""
        return sorted(
            self.gaps.values(), key=lambda g: (g.status != MISSING, -g.objects, -g.count, g.mnemonic)
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "object": self.label, "arch": self.arch, "error": self.error, "instructions": self.instructions,
            "mnemonics": len(self.mnemonics), "data_words": self.data_words,
            "missing": self.count(MISSING),
            "reference_only": self.count(REFERENCE) if self.fast else None,
            "gaps": [g.as_json() for g in self.sorted_gaps()],
        }  # fmt: skip


def library() -> Any | None:
    """The compiled executor, None where it cannot be had."""
    from isaprof.sim.fast.build import Unavailable, load

    try:
        return load()
    except Unavailable:
        return None


def context(listing: Listing, arch: str, lanes: int) -> Context:
    """A context for code of no particular kernel: all registers granted, scratch present."""
    return Context(arch, archdata.facts(arch), lanes, _VGPRS, _AGPRS, listing, 0, 1 << 16)


class Judge:
    """Says of single instructions how they would be executed; both wave sizes of one listing."""

    def __init__(self, listing: Listing, arch: str, compiled: Any | None) -> None:
        self._listing, self._arch, self._compiled = listing, arch, compiled
        self._contexts: dict[int, tuple[Context, Any]] = {}

    def _at(self, lanes: int) -> tuple[Context, Any]:
        if lanes not in self._contexts:
            ctx = context(self._listing, self._arch, lanes)
            decoder = None
            if self._compiled is not None:
                from isaprof.sim.fast.decode import Decoder

                decoder = Decoder(ctx, self._compiled, len(self._listing.instructions))
            self._contexts[lanes] = ctx, decoder
        return self._contexts[lanes]

    def status(self, ins: Instruction, lanes: int) -> tuple[str, str]:
        """(FAST, REFERENCE or MISSING, why)."""
        ctx, decoder = self._at(lanes)
        try:
            lower_instruction(ins, ctx)
        except (Unimplemented, IllegalOperand) as e:
            return MISSING, str(e).replace(ins.text, ins.mnemonic)
        if decoder is not None and not decoder.compiles(ins):
            return REFERENCE, "NumPy executes it: " + _form(ins)
        return FAST, ""


def _form(ins: Instruction) -> str:
    """The encoding and modifiers of an instruction, without registers and offsets."""
    words = [k for k in ins.modifiers if k not in ("offset", "offset0", "offset1")]
    return " ".join([ins.enc or "", *sorted(words)]).strip() or "plain form"


def of_object(co: CodeObject, listing: Listing, label: str, compiled: Any | None) -> Coverage:
    """Coverage of one code object."""
    out = Coverage(label, co.arch, fast=compiled is not None)
    judge = Judge(listing, co.arch, compiled)
    spans = [(k.entry, k.entry + k.size, k.wave_size) for k in co.kernels]
    default = spans[0][2] if spans else 64
    known: dict[tuple[object, ...], tuple[str, str]] = {}
    for ins in listing.instructions:
        if ins.mnemonic.startswith(".") or not ins.mnemonic:
            out.data_words += 1
            continue
        lanes = next((n for low, high, n in spans if low <= ins.pc < high), default)
        out.instructions += 1
        out.mnemonics.add(ins.mnemonic)
        key = (ins.text if ins.target is None else ins.mnemonic, lanes)
        found = known.get(key)
        if found is None:
            found = known[key] = judge.status(ins, lanes)
        if found[0] != FAST:
            _count(out, ins, found)
    return out


def _count(out: Coverage, ins: Instruction, found: tuple[str, str]) -> None:
    status, why = found
    key = (status, ins.mnemonic, why)
    gap = out.gaps.get(key)
    if gap is None:
        gap = out.gaps[key] = Gap(status, ins.mnemonic, why, 0, 1, ins.text, ins.pc)
    gap.count += 1


def of_bytes(data: bytes, label: str, compiled: Any | None, arch: str | None = None) -> Coverage:
    """Coverage of the bytes of one code object. Raises BadInput."""
    co = CodeObject.from_bytes(data, path=label, arch=arch)
    return of_object(co, disassemble(data, arch=arch, path=label), label, compiled)


def total(parts: Iterable[Coverage]) -> Coverage:
    """All objects together."""
    out = Coverage("all")
    for p in parts:
        out.instructions += p.instructions
        out.data_words += p.data_words
        out.mnemonics |= p.mnemonics
        out.fast = out.fast and p.fast
        for key, gap in p.gaps.items():
            mine = out.gaps.get(key)
            if mine is None:
                mine = out.gaps[key] = Gap(gap.status, gap.mnemonic, gap.why, 0, 0, gap.example, gap.address)
            mine.count += gap.count
            mine.objects += 1
    return out
