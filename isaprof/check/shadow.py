"""The shadow of a wave: which registers hold something, what is in flight, how many barriers it passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isaprof.analysis.replay import Flight, Replay
from isaprof.sim.state import EXEC, M0, SCALARS, VCC, Wave

if TYPE_CHECKING:
    from isaprof.check.monitor import Monitor
    from isaprof.sim.functional import Machine


class WaveShadow:
    """State beside a :class:`CheckedWave`.

    ``rows`` bool [vector registers, lanes], ``slots`` bool per scalar slot:
    written by the launch or the kernel. ``passed`` and ``signalled`` count
    barriers. ``path`` is what the wave executed, as listing rows.
    """

    __slots__ = (
        "flight",
        "indexing",
        "monitor",
        "passed",
        "path",
        "region",
        "rows",
        "scc",
        "signalled",
        "slots",
    )

    def __init__(
        self, monitor: Monitor, replay: Replay, rows: NDArray[np.bool_], slots: NDArray[np.bool_]
    ) -> None:
        self.monitor = monitor
        self.rows, self.slots, self.scc = rows, slots, False
        self.flight = Flight(replay)
        self.passed = self.signalled = 0
        self.region = -1  #: row of the barrier passed last
        self.path: list[int] = []
        self.indexing = False  #: VGPR numbers do not name registers at the moment


class CheckedWave(Wave):
    """A wave of the reference executor with its shadow."""

    __slots__ = ("shadow",)

    shadow: WaveShadow

    def out_of_range(self, addresses: Any, inside: Any, lanes: Any, nbytes: int) -> None:
        """A buffer access that its descriptor cuts."""
        self.shadow.monitor.clipped(addresses, inside, lanes, nbytes)


def launched(machine: Machine, w: Wave) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(vector registers [rows, lanes], scalar slots) that hold something when wave ``w`` starts.

    LLVM's AMDGPU user guide, "Initial Kernel Execution State": user SGPRs, then
    the enabled system SGPRs; work-item ids in VGPRs of the lanes that are
    active. VCC, SCC, M0, AGPRs and everything else are undefined. Of TTMPs, of
    FLAT_SCRATCH and of what the trap handler sets, nothing is said here: they
    count as written.
    """
    d, facts = machine.kernel.descriptor, machine.facts
    rows = np.zeros((w.v.shape[0], w.lanes), np.bool_)
    dims = 1 if facts.packed_workitem_id else d.workitem_id_dims
    rows[: min(dims, w.agpr_base), : w.threads] = True
    slots = np.ones(SCALARS, np.bool_)
    n = len(machine.users)
    if facts.id_source != "ttmp":
        n += sum(d.workgroup_id_enabled)
        n += int(d.workgroup_info)
    n += int(d.private_segment_enabled and not facts.architected_scratch)
    slots[n:102] = False
    slots[VCC : VCC + 2] = False
    slots[M0] = False
    slots[EXEC : EXEC + 2] = True
    return rows, slots
