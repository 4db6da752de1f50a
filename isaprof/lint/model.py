"""What a rule says, and what a run of all rules gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isaprof.isa.model import Instruction
    from isaprof.lint.context import Context


class Severity(StrEnum):
    """``error``: the code is illegal (exit 1); ``warning``: legal, but probably not what was meant."""

    ERROR = "error"
    WARNING = "warning"


class Kind(StrEnum):
    """What the wait between two instructions of a finding is counted in."""

    WAIT_STATES = "wait states"  #: s_nop k gives k + 1, every other instruction 1
    VALU = "VALU instructions"
    WAIT = "wait"  #: a wait instruction: ``required`` and ``present`` are counts that may stay outstanding


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction that a finding names, and what part it plays."""

    row: int  #: position in the listing
    pc: int
    text: str
    role: str
    line: int | None = None

    @classmethod
    def of(cls, ins: Instruction, role: str) -> Site:
        return cls(ins.index, ins.pc, ins.text, role)


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation: where, what, why, and who says so.

    ``row``/``pc``/``text`` are the instruction to look at (None for findings
    about the object), ``line`` the line of the ``.s`` that was linted.
    ``path`` leads there: instructions in execution order, branches taken
    included. ``required`` and ``present`` are counted in ``unit``.
    """

    rule: str
    severity: Severity
    message: str
    why: str
    source: str
    kernel: str | None = None
    row: int | None = None
    pc: int | None = None
    text: str | None = None
    line: int | None = None
    path: tuple[Site, ...] = ()
    required: int | None = None
    present: int | None = None
    unit: Kind | None = None
    also: tuple[Site, ...] = ()  #: further places of the same rule in this kernel, where it reports once


@dataclass(frozen=True, slots=True)
class NoRule:
    """Something that lint saw and cannot judge: reported and counted, never taken for fine."""

    topic: str  #: stable slug
    message: str
    row: int | None = None
    pc: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Unjudged:
    """All :class:`NoRule` of one topic and message in one kernel."""

    topic: str
    message: str
    count: int
    kernel: str | None
    first: NoRule
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the catalogue. ``check`` yields findings of this rule, and what it cannot judge.

    ``once``: one finding a kernel, the other places in its ``also``.
    """

    id: str
    severity: Severity
    title: str
    why: str
    source: str
    check: Callable[[Context, Rule], Iterator[Finding | NoRule]]
    once: bool = False

    def at(self, ins: Instruction, message: str, **more: Any) -> Finding:
        """A finding of this rule at ``ins``; ``why`` may be given to say more."""
        why = more.pop("why", self.why)
        source = more.pop("source", self.source)
        return Finding(
            self.id, self.severity, message, why, source, row=ins.index, pc=ins.pc, text=ins.text, **more
        )

    def about(self, message: str, **more: Any) -> Finding:
        """A finding of this rule that concerns no single instruction."""
        return Finding(self.id, self.severity, message, self.why, self.source, **more)


def no_rule(topic: str, message: str, ins: Instruction | None = None) -> NoRule:
    """A :class:`NoRule`, at ``ins`` where there is one."""
    if ins is None:
        return NoRule(topic, message)
    return NoRule(topic, message, ins.index, ins.pc, ins.text)


@dataclass(frozen=True, slots=True)
class Report:
    """Result of linting one object or source."""

    path: str
    target: str
    kernels: tuple[str, ...]
    instructions: int
    findings: tuple[Finding, ...]
    unjudged: tuple[Unjudged, ...]
    rules: tuple[str, ...]  #: ids of the rules that ran
    from_source: bool = False
    against: str | None = None

    def count(self, severity: Severity) -> int:
        return sum(f.severity is severity for f in self.findings)
