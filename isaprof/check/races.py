"""LDS races of one workgroup, for comparisons of two kernels: quick, and silent about everything else."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.check.model import Severity
from isaprof.isa.model import Space
from isaprof.sim.faults import SimulatedFault

if TYPE_CHECKING:
    from isaprof.check.model import Finding
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing

#: wave-instructions after which the rest of the workgroup is not looked at
LIMIT = 100_000
_RULES = ("lds-race", "lds-dma-wait-missing")


def lds_races(co: CodeObject, kernel: Kernel, listing: Listing, launch: Any) -> tuple[Finding, ...]:
    """Errors of the LDS rules in the launch's first workgroup; none where it uses no LDS."""
    from isaprof.check.machine import CheckMachine

    if not any(
        i.mem is not None and (i.mem.space in (Space.LDS, Space.FLAT) or i.mem.lds_dma)
        for i in listing.instructions
    ):
        return ()
    machine = CheckMachine(co, kernel, listing, launch)
    # what was found before a fault counts; the fault is somebody else's to report
    with np.errstate(all="ignore"), suppress(SimulatedFault):
        machine.run_all([(0, 0, 0)], lambda wg: True, LIMIT, lambda done, total, what: None)
    return tuple(
        f for f in machine.monitor.findings.by_key.values()
        if f.rule in _RULES and f.severity is Severity.ERROR
    )  # fmt: skip
