"""Architectural state of one wave, and of the workgroup it belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.sim.events import MemEvents
from isaprof.sim.mode import FloatMode, decode_mode

#: slots of the scalar file (our own numbering, the same on every generation)
VCC, TTMP, M0, NULL, EXEC, SCALARS = 106, 108, 124, 125, 126, 128
FLAT_SCRATCH, XNACK_MASK = 102, 104

_BITS32 = np.uint32(1) << np.arange(32, dtype=np.uint32)


def lanes_of(mask: int, lanes: int) -> NDArray[np.bool_]:
    """Bool per lane of an integer lane mask."""
    raw = np.frombuffer(mask.to_bytes(lanes // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little").view(np.bool_)


def mask_of(lanes: NDArray[np.bool_]) -> int:
    """Integer lane mask of a bool per lane."""
    return int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")


class Rows:
    """Typed views of each vector register's lanes, so that an operand is one list lookup.

    ``u32[i]``, ``i32[i]``, ``f32[i]`` have shape (lanes,); ``lo[t][i]`` and
    ``hi[t][i]`` are the 16-bit halves and ``both[t][i]`` the halves interleaved
    (2 * lanes,), for t in u16, i16, f16.
    """

    __slots__ = ("by_type", "matrix")

    def __init__(self, matrix: NDArray[np.uint32]) -> None:
        self.matrix = matrix
        self.by_type: dict[str, list[NDArray[Any]]] = {}
        for name, dtype in (("u32", np.uint32), ("i32", np.int32), ("f32", np.float32)):
            self.by_type[name] = list(matrix.view(dtype))
        for name, half in (("u16", np.uint16), ("i16", np.int16), ("f16", np.float16)):
            both = list(matrix.view(half))
            self.by_type[name + ".both"] = both
            self.by_type[name + ".l"] = [r[0::2] for r in both]
            self.by_type[name + ".h"] = [r[1::2] for r in both]


class Wave:
    """Registers and position of one wave.

    ``v`` uint32 [registers, lanes], VGPRs first, AGPRs from row ``agpr_base``.
    ``s`` is the scalar file as Python ints (SGPRs, VCC, TTMP, M0, EXEC). ``mask``
    mirrors EXEC as bool per lane and ``full`` says that all lanes are on; both
    change only through :meth:`set_exec`.
    """

    __slots__ = (
        "agpr_base",
        "barrier",
        "clock",
        "done",
        "exec_zero",
        "facts_fnuz",
        "fm",
        "full",
        "id_in_wg",
        "lanes",
        "lds",
        "lines",
        "mask",
        "memory",
        "mode",
        "next",
        "pc",
        "phase",
        "rows",
        "s",
        "scc",
        "scratch",
        "step",
        "tables",
        "taken",
        "threads",
        "trace",
        "v",
        "wg",
        "workgroup",
    )  # fmt: skip

    def __init__(self, lanes: int, registers: int, agpr_base: int) -> None:
        self.lanes = lanes
        self.v: NDArray[np.uint32] = np.zeros((registers, lanes), np.uint32)
        self.agpr_base = agpr_base
        self.rows = Rows(self.v)
        self.tables = self.rows.by_type
        self.facts_fnuz = False
        self.reset()

    def reset(self) -> None:
        """Back to the state of a wave that was never started."""
        self.v.fill(0)
        self.s: list[int] = [0] * SCALARS
        self.scc = 0
        self.pc = self.next = 0
        self.threads = self.lanes
        self.set_exec((1 << self.lanes) - 1)
        self.set_mode(0xF0)
        self.workgroup = (0, 0, 0)
        self.id_in_wg = 0
        self.wg: Workgroup | None = None
        self.lds: Any = None
        self.scratch: NDArray[np.uint8] | None = None
        self.memory: Any = None
        self.done = False
        self.barrier = False
        self.step = 0
        self.clock = 0
        self.phase = 0
        self.trace: dict[int, Any] | None = None
        self.lines: list[int] = []
        self.taken: set[int] = set()
        self.exec_zero: set[int] = set()

    # -- EXEC, VCC, MODE -----------------------------------------------------
    @property
    def exec(self) -> int:
        return self.s[EXEC] | self.s[EXEC + 1] << 32

    def set_exec(self, value: int) -> None:
        """Write EXEC (wave32: the low half) and its mirrors."""
        self.s[EXEC] = value & 0xFFFFFFFF
        self.s[EXEC + 1] = value >> 32 & 0xFFFFFFFF
        self.refresh_exec()

    def refresh_exec(self) -> None:
        """Recompute ``mask`` and ``full`` after a write to the EXEC slots."""
        bits = self.s[EXEC] if self.lanes == 32 else self.s[EXEC] | self.s[EXEC + 1] << 32
        self.full = bits == (1 << self.lanes) - 1
        self.mask = lanes_of(bits, self.lanes)

    def lane_mask(self, slot: int) -> int:
        """Lane mask held in the scalar slots from ``slot`` on."""
        return self.s[slot] if self.lanes == 32 else self.s[slot] | self.s[slot + 1] << 32

    def set_lane_mask(self, slot: int, value: int) -> None:
        if slot == NULL:
            return
        self.s[slot] = value & 0xFFFFFFFF
        if self.lanes == 64:
            self.s[slot + 1] = value >> 32
        if slot >= EXEC:
            self.refresh_exec()

    def out_of_range(self, addresses: Any, inside: Any, lanes: Any, nbytes: int) -> None:
        """Told of buffer accesses that their descriptor's range check cuts; for a sanitizer."""

    def set_mode(self, mode: int) -> None:
        self.mode = mode
        self.fm: FloatMode = decode_mode(mode, self.facts_fnuz)

    # -- what a traced wave did ------------------------------------------------
    def path(self) -> NDArray[np.int32]:
        """Listing index of each step."""
        return np.array(self.lines, np.int32)

    def accesses(self) -> MemEvents:
        """The memory accesses by step."""
        return MemEvents.of(self.trace or {})

    # -- convenience views (tests, reports) ------------------------------------
    @property
    def vgpr(self) -> NDArray[np.uint32]:
        """VGPRs, uint32 [n, lanes] (a view)."""
        return self.v[: self.agpr_base]

    @property
    def agpr(self) -> NDArray[np.uint32]:
        """AccVGPRs, uint32 [n, lanes] (a view)."""
        return self.v[self.agpr_base :]

    @property
    def vcc(self) -> int:
        return self.lane_mask(VCC)


class Workgroup:
    """The waves of one workgroup, their LDS and barrier state.

    A barrier phase completes when every live wave has signalled; a wave that
    waits may go on once its phase is complete. s_barrier signals and waits.
    """

    __slots__ = ("id", "lds", "live", "phase", "signalled", "waves")

    def __init__(self, wg: tuple[int, int, int], waves: list[Wave], lds: Any) -> None:
        self.id = wg
        self.waves = waves
        self.lds = lds
        self.live = len(waves)
        self.signalled = 0  #: waves that signalled in the current phase
        self.phase = 0  #: phases completed

    def signal(self) -> None:
        self.signalled += 1
        self.complete_phase()

    def complete_phase(self) -> None:
        """Complete the phase when all live waves have signalled (also when a wave ends)."""
        if self.live and self.signalled >= self.live:
            self.signalled = 0
            self.phase += 1
