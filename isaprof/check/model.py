"""What the sanitizer says: rules, findings, the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Dim3 = tuple[int, int, int]


class Severity(StrEnum):
    """``error``: the kernel is wrong (exit 1); ``warning``: true, and it may be harmless."""

    ERROR = "error"
    WARNING = "warning"


#: rule -> what it finds, in one line
RULES: Mapping[str, str] = {
    "uninitialised-register": "a register is read that neither the launch nor the kernel has written",
    "uninitialised-lds": "LDS bytes are read that no wave of the workgroup has written",
    "uninitialised-memory": "memory is read that neither the host nor the kernel has written",
    "wait-missing": "a register is read or overwritten while its load may be outstanding",
    "lds-dma-wait-missing": "a wave's own LDS access and LDS-DMA meet, with no wait between them",
    "hazard": "too few wait states on the executed path, where the hardware does not interlock",
    "lds-race": "two waves touch the same LDS bytes, one writes, and no barrier orders them",
    "lds-outside": "an LDS access beyond the workgroup's allocation",
    "outside-operand": "a memory access outside the operand it came from",
    "descriptor-allows-overrun": "a buffer access passes its descriptor's check and leaves the operand",
    "descriptor-hides-overrun": "a buffer access beyond the operand that only the descriptor's check stops",
    "descriptor-cuts-operand": "a buffer access inside the operand that the descriptor's check drops",
    "write-to-input": "a store to an operand that is an input, to the code or to the kernarg segment",
    "misaligned": "an address that is not a multiple of what the access needs",
    "output-unwritten": "output elements that no store reached",
    "output-written-twice": "output bytes written with different values, and nothing orders the writers",
    "barrier-mismatch": "the waves of a workgroup do not pass the same number of barriers",
    "order-dependent": "another legal order of waves or workgroups gives other outputs",
    "fault": "the kernel ends in a fault",
}


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction of the listing, by row and address."""

    row: int
    pc: int
    text: str

    def __str__(self) -> str:
        return f"{self.pc:#x} {self.text}"


@dataclass(slots=True)
class Finding:
    """One rule broken at one instruction; ``count`` lanes (or waves) broke it, the fields are the first.

    ``other`` is the second instruction of the pair: the load, the other wave's
    access, the producer. ``missing`` is the instruction to insert, where one
    would do. ``lanes`` are those of the first time, ``values`` whatever numbers
    belong to it (addresses, byte offsets, results).
    """

    rule: str
    severity: Severity
    message: str
    place: Place | None = None
    workgroup: Dim3 | None = None
    wave: int | None = None
    lanes: tuple[int, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    other: Place | None = None
    missing: str | None = None
    count: int = 1
    source: str | None = None  #: who says that it is wrong, for hazards


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one check found. ``workgroups`` executed, of the launch's ``total``.

    ``verified``: the launch file's verdict on the outputs of the checked run,
    None without a reference. ``orders``: schedules compared; ``complete`` is
    False where a fault ended the run early. ``notes`` say what was not looked at.
    """

    path: str
    kernel: str
    arch: str
    shape: Mapping[str, int]
    workgroups: int
    total: int
    instructions: int
    findings: tuple[Finding, ...]
    verified: bool | None
    verdict: str
    orders: int
    complete: bool
    notes: tuple[str, ...] = ()

    def count(self, severity: Severity) -> int:
        return sum(f.severity is severity for f in self.findings)


class Findings:
    """Collects findings, one for each key (rule, instruction, and what else tells two apart)."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[Any, ...], Finding] = {}

    def again(self, key: tuple[Any, ...], n: int = 1) -> bool:
        """Count a finding that is there already; False when it is not."""
        found = self.by_key.get(key)
        if found is None:
            return False
        found.count += n
        return True

    def add(self, key: tuple[Any, ...], finding: Finding) -> Finding:
        self.by_key[key] = finding
        return finding
