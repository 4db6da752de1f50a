"""Missing wait states along executed paths: lint's hazard rules, confirmed by what waves ran.

Lint looks at all paths of the control flow graph. Here a finding counts when
some wave really executed its producer and, no farther behind than the finding
says, its consumer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isaprof.check.model import Finding, Place, Severity
from isaprof.lint.context import Context
from isaprof.lint.kinds import is_valu
from isaprof.lint.model import Finding as LintFinding
from isaprof.lint.model import Kind
from isaprof.lint.model import Severity as LintSeverity
from isaprof.lint.rules import nops_dot, nops_gfx9, nops_mfma, rdna3, rdna4_sgpr, rdna_wmma
from isaprof.lint.search import wait_states

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Instruction, Listing

_MODULES = (nops_dot, nops_gfx9, nops_mfma, rdna3, rdna4_sgpr, rdna_wmma)
#: executed instructions between producer and consumer that are looked back over
_WINDOW = 256

Path = NDArray[np.int32]


def confirmed(co: CodeObject, kernel: Kernel, listing: Listing, paths: Iterable[Path]) -> Iterator[Finding]:
    """Findings of the hazard rules that some path in ``paths`` runs into."""
    ctx = Context(co, listing, kernel)
    ran = list(paths)
    seen: set[tuple[str, int | None]] = set()
    for module in _MODULES:
        for rule in module.RULES:
            if rule.severity is not LintSeverity.ERROR:
                continue
            for said in rule.check(ctx, rule):
                if not isinstance(said, LintFinding) or (said.rule, said.row) in seen:
                    continue
                count = sum(_occurrences(said, path, listing.instructions) for path in ran)
                if count:
                    seen.add((said.rule, said.row))
                    yield _finding(said, count)


def _finding(said: LintFinding, count: int) -> Finding:
    assert said.row is not None
    assert said.pc is not None
    assert said.text is not None
    producer = said.path[0] if said.path else None
    other = None if producer is None else Place(producer.row, producer.pc, producer.text)
    missing = None
    if said.unit is Kind.WAIT_STATES and said.required is not None and said.present is not None:
        missing = f"s_nop {said.required - said.present - 1}"
    return Finding(
        "hazard", Severity.ERROR, said.message, Place(said.row, said.pc, said.text), other=other,
        missing=missing, count=count, source=said.source,
        values={
            "hazard": said.rule, "required": said.required, "present": said.present,
            "unit": None if said.unit is None else said.unit.value,
        },
    )  # fmt: skip


def _occurrences(said: LintFinding, path: Path, code: tuple[Instruction, ...]) -> int:
    """How often ``path`` reaches the finding's consumer behind its producer, as close as it says."""
    at = np.flatnonzero(path == said.row)
    if not said.path or said.path[0].row == said.row:
        return int(at.size)
    return sum(_close(said, path, int(p), code) for p in at)


def _close(said: LintFinding, path: Path, consumer: int, code: tuple[Instruction, ...]) -> bool:
    producer = said.path[0].row
    passed = 0
    for p in range(consumer - 1, max(-1, consumer - _WINDOW), -1):
        row = int(path[p])
        if row == producer:
            return True
        if said.present is not None and said.unit in (Kind.WAIT_STATES, Kind.VALU):
            passed += wait_states(code[row]) if said.unit is Kind.WAIT_STATES else int(is_valu(code[row]))
            if passed > said.present:
                return False
        elif row == said.row:  # the consumer itself, an earlier time round
            return False
    return False
