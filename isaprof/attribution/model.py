"""What the attribution hands to the views. Views compute nothing beyond this."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.detail import Detail


class Cause(StrEnum):
    """Where a cycle of a wave's life goes. Per wave they sum to its lifetime."""

    ISSUE = "issue"  #: issuing or executing an instruction
    WAIT_LOAD = "wait: global load"
    WAIT_STORE = "wait: store"
    WAIT_LDS = "wait: LDS"
    WAIT_SMEM = "wait: SMEM"
    WAIT_EXPORT = "wait: export/GDS"
    WAIT_ASYNC = "wait: async/tensor"
    LDS_CONFLICT = "LDS bank conflict"
    VGPR_CONFLICT = "VGPR bank conflict"
    VALU_DEP = "VALU dependency"
    SALU_DEP = "SALU dependency"
    MATRIX_DEP = "matrix dependency"
    MATRIX_BUSY = "matrix pipe busy"
    VALU_BUSY = "VALU pipe busy"
    LDS_BUSY = "LDS pipe busy"
    VMEM_BUSY = "VMEM pipe busy"
    SMEM_BUSY = "SMEM pipe busy"
    SALU_BUSY = "SALU pipe busy"
    NOP = "s_nop/s_sleep"
    BARRIER = "barrier"
    FETCH = "instruction fetch"
    BRANCH = "branch"
    ARBITRATION = "lost arbitration"
    CONTEXT = "trap/context switch"
    LAUNCH = "launch"
    DRAIN = "drain"
    UNEXPLAINED = "unexplained"


CAUSES: tuple[Cause, ...] = tuple(Cause)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The attribution of one capture. All cycle columns are int64 cycles.

    ``segments`` partitions the lifetime of every traced wave: one row a piece,
    columns wave, seq (-1 for launch and drain), line (victim, -1 where there
    is none), part ("launch", "idle", "stall", "issue", "drain"), cause,
    culprit (line to blame, -1 where nobody is), ambiguous (bool: several
    culprits are possible, the wait is divided equally between them), begin,
    cycles. Per wave ``cycles`` sums exactly to end - begin. A launch piece
    carries the line of the wave's first record: AMD counts it as idle there.
    A drain piece may name the last outstanding store.

    ``lines``: one row for each code line, in code order, indexed 0..n-1, with
    columns line, pc, text, label, source, hits, latency, stall, idle (sums by
    AMD's definitions), wait (= stall + idle), issue (exclusive issue cycles,
    time inside a barrier included where the trace books it there), held (that
    time: inside a barrier or trap), lost (wait and issue cycles whose cause is
    neither issue nor launch: what an edit could save), cause (dominant cause of
    its wait and lost time, "" if none), culprit
    (the line most to blame for that cause, or -1), share (of all wave cycles, 0..1, stall + idle
    + issue), heat (0..1, lost relative to the hottest line), rank (1 = most
    lost, 0 = nothing lost).

    ``line_causes``: line, cause, cycles (> 0): per line they sum to wait.
    ``culprits``: culprit, victim, cause, cycles: wait cycles by who is to blame,
    and time inside a barrier or trap that the trace books as issue. Without
    the latter they sum to the wait of all lines.
    ``causes``: cause, cycles, share, over all traced waves, largest first; its
    cycles sum to ``total_cycles``.
    ``waves``: wave, se, cu, simd, slot, begin, end, cycles, instructions and one
    int64 column for each cause that occurs.
    """

    provenance: str  #: "measured" or "modelled"
    arch: str
    kernel: str
    segments: pd.DataFrame
    lines: pd.DataFrame
    line_causes: pd.DataFrame
    culprits: pd.DataFrame
    causes: pd.DataFrame
    waves: pd.DataFrame
    total_cycles: int  #: sum of the lifetimes of the traced waves
    span_cycles: int  #: first begin to last end of the traced waves (per shader engine, the longest)
    overlap_cycles: int  #: record cycles dropped because records of a wave overlap
    instructions: int
    notes: tuple[str, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)  #: capture.json, for headers
    #: exposure, loops, bank conflicts, roll-ups: computed on first use; None where only sums are known
    detail: Detail | None = None

    @property
    def unexplained_share(self) -> float:
        """Share (0..1) of wave cycles in the category *unexplained*."""
        if not self.total_cycles:
            return 0.0
        c = self.causes
        return float(c.loc[c["cause"] == Cause.UNEXPLAINED, "cycles"].sum()) / self.total_cycles
