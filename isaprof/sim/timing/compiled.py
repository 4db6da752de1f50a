"""The issue loop in C (src/loop.c): the same records as the reference in engine.py, many times faster.

Everything the loop reads is handed over as flat arrays; the dispatcher stays in
Python and is called when a wave ends. ``ISAPROF_SIM_TIMING`` = ``reference`` or
``compiled`` chooses; without a C compiler the reference does the work.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.errors import EnvironmentProblem, KernelFault, UsageError
from isaprof.isa.model import Category
from isaprof.sim.timing.calibration import Constants
from isaprof.sim.timing.dispatch import Dispatcher, Place
from isaprof.sim.timing.lines import CODE, Lines
from isaprof.sim.timing.memory import Memory
from isaprof.sim.timing.paths import Paths
from isaprof.sim.timing.state import NEVER
from isaprof.sim.timing.units import Fetch, by_width, lds_port_cycles, vector_cu

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: environment variable that chooses the loop
CHOICE = "ISAPROF_SIM_TIMING"


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_SCALARS = _names("""
    n_lines n_waves n_groups n_counters simds depth
    queued one_port fair grain whole exec_start untraced_slot slack retire_slack endpgm_idle barrier_release
    export_latency message_latency jump next immediate message
    lds_depth lds_spacing lds_shared lds_held
    vmem_depth vmem_spacing vmem_per_line vmem_piece vmem_store_lane vmem_acknowledge vmem_return_lines
    atomic_lane cus
    warm dram mall_latency l1_latency l2_latency scalar_latency mid_latency line_shift scalar_shift page_shift
    line_cycles dram_cycles scalar_walk vector_walk
    l1_lines mid_lines l2_lines mall_lines scalar_lines scalar_bytes
    fetch_lines start_warm start_cold sequential branch ahead fetch_warm prefetch_first prefetch_last
    last_block
""")
#: what loop.c takes from isaprof.sim.timing.lines.Lines as it is
_LINE_ARRAYS = _names("""
    kind port busy extra block exec latency release alone side hold scale category fetch taken cycles clause
    priority traced store load apart
""")
_LINE_LISTS = _names("""
    rule_ptr rule_slot rule_add sets_ptr sets_slot sets_add read_ptr read write_ptr write delay
""")
#: pointers, in the order of unit_t, with the type of their elements
_ARRAYS: tuple[tuple[str, type[np.generic]], ...] = (
    *((n, np.int32) for n in (*_LINE_ARRAYS, "lds_latency", "lds_port", "load_bytes", "vmem_cycles")),
    ("lds_cycles", np.float64),
    *((n, np.int32) for n in (*_LINE_LISTS, *_names("counters_ptr counters waits_ptr wait_counter wait_n"))),
    *((n, np.int32) for n in ("path_line", "path_event")),
    ("path_taken", np.uint8),
    ("path_start", np.int64),
    *((n, np.int32) for n in _names("space event_store atomic lanes event_bytes passes least")),
    *((n, np.int64) for n in ("lowest", "lines_ptr", "cache_lines")),
    *((n, np.int32) for n in ("half", "cu", "counter_max")),
    ("first_wave", np.int64),
    *((n, np.int32) for n in ("r_wave", "r_category")),
    *((n, np.int64) for n in ("r_step", "r_time", "r_stall", "r_duration", "end")),
)  # fmt: skip


class Unit(ctypes.Structure):
    """unit_t of loop.c."""

    _fields_ = (
        *((n, ctypes.c_int64) for n in _SCALARS),
        ("fetch_wave_cycles", ctypes.c_double),
        *((n, ctypes.c_void_p) for n, _ in _ARRAYS),
        ("n_records", ctypes.c_int64),
        ("status", ctypes.c_int64),
    )


_ENDED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64)


def library() -> ctypes.CDLL | None:
    """The compiled loop, or None where the reference is to be used.

    Raises UsageError for an unknown choice, EnvironmentProblem where the
    compiled loop was asked for and cannot be had.
    """
    wanted = os.environ.get(CHOICE, "auto")
    if wanted not in ("auto", "reference", "compiled"):
        raise UsageError(f"{CHOICE}={wanted!r}: expected auto, reference or compiled", kind="bad_choice")
    if wanted == "reference":
        return None
    from isaprof.sim.fast import build

    try:
        lib = build.load()
    except build.Unavailable as e:
        if wanted == "compiled":
            raise EnvironmentProblem(f"the compiled timing loop cannot be used: {e}") from None
        return None
    lib.tl_new.restype = ctypes.c_void_p
    lib.tl_new.argtypes = [ctypes.c_void_p, _ENDED, _PROGRESS]
    lib.tl_run.argtypes = lib.tl_free.argtypes = [ctypes.c_void_p]
    lib.tl_free.restype = None
    lib.tl_first_fetch.argtypes, lib.tl_first_fetch.restype = [ctypes.c_void_p, ctypes.c_int64], None
    lib.tl_place.argtypes, lib.tl_place.restype = [ctypes.c_void_p, *[ctypes.c_int64] * 4], None
    lib.tl_size.restype = ctypes.c_int64
    if lib.tl_size() != ctypes.sizeof(Unit):
        raise EnvironmentProblem("the compiled timing loop has another layout than its caller")
    return lib


class Loop:
    """One run. ``place``, ``end`` and ``records`` are as in :class:`isaprof.sim.timing.engine.Engine`."""

    def __init__(
        self,
        lib: ctypes.CDLL,
        k: Constants,
        lines: Lines,
        paths: Paths,
        dispatcher: Dispatcher,
        fetch: Fetch,
        memory: Memory,
        counter_max: Sequence[int],
    ) -> None:
        self._lib = lib
        self.dispatcher = dispatcher
        n_waves = len(paths.start) - 1
        self.place: list[Place | None] = [None] * n_waves
        self._first_wave = [0, *accumulate(dispatcher.sizes)]
        total = len(paths.line)
        arrays = {
            **_line_arrays(k, lines),
            **_path_arrays(paths),
            "half": k["simd_half"], "cu": vector_cu(k), "counter_max": counter_max,
            "first_wave": self._first_wave,
            "r_wave": np.zeros(total, np.int32), "r_category": np.zeros(total, np.int32),
            **{n: np.zeros(total, np.int64) for n in ("r_step", "r_time", "r_stall", "r_duration")},
            "end": np.zeros(n_waves, np.int64),
        }  # fmt: skip
        self._arrays = {n: np.ascontiguousarray(arrays[n], dtype=t) for n, t in _ARRAYS}
        self._unit = Unit(
            **_constants(k, fetch, memory, dispatcher, (len(lines.kind), n_waves, len(counter_max)))
        )
        for name, array in self._arrays.items():
            setattr(self._unit, name, array.ctypes.data)
        self._state: int | None = None
        self._error: BaseException | None = None

    def run(self, progress: Callable[[int], None] | None = None) -> None:
        """Play all workgroups. Raises as the reference does, and what ``progress`` raises."""
        ended, told = _ENDED(self._ended), _PROGRESS(self._told(progress))
        self._state = self._lib.tl_new(ctypes.byref(self._unit), ended, told)
        if self._state is None:
            raise MemoryError
        try:
            if self.dispatcher.places is not None:
                begins = [p.begin for places in self.dispatcher.places for p in places]
                self._lib.tl_first_fetch(self._state, min(begins, default=0))
            self._launch(0)
            status = self._lib.tl_run(self._state)
        finally:
            self._lib.tl_free(self._state)
            self._state = None
        if self._error is not None:
            raise self._error
        if status:
            raise MemoryError
        stuck = np.flatnonzero(self._arrays["end"] == NEVER)
        if len(stuck):
            raise_stuck(stuck.tolist())

    @property
    def end(self) -> list[int]:
        """Cycle at which each wave ended."""
        ends: list[int] = self._arrays["end"].tolist()
        return ends

    @property
    def records(self) -> dict[str, NDArray[np.int64]]:
        """wave, step, time, stall, duration, category; those of one wave in program order."""
        n = self._unit.n_records
        return {
            name: self._arrays[f"r_{name}"][:n]
            for name in ("wave", "step", "time", "stall", "duration", "category")
        }

    def _ended(self, wave: int, now: int, empty: int) -> int:
        try:
            place = self.place[wave]
            assert place is not None
            self.dispatcher.end_wave(place)
            if empty:
                self.dispatcher.end_workgroup()
            self._launch(now)
        except BaseException as e:  # it must not unwind through C
            self._error = e
            return 1
        return 0

    def _launch(self, now: int) -> None:
        while (got := self.dispatcher.launch(now)) is not None:
            number, places = got
            for w, place in enumerate(places, self._first_wave[number]):
                self.place[w] = place
                self._lib.tl_place(self._state, w, number, place.simd, place.begin)

    def _told(self, progress: Callable[[int], None] | None) -> Callable[[int], int]:
        def tell(issued: int) -> int:
            if progress is None:
                return 0
            try:
                progress(issued)
            except BaseException as e:  # as above
                self._error = e
                return 1
            return 0

        return tell


def raise_stuck(waves: Sequence[int]) -> None:
    """The fault of waves that wait for ever."""
    raise KernelFault(
        f"{len(waves)} waves wait at a barrier that never completes (wave {waves[0]})",
        kind="barrier_deadlock",
    )


def _line_arrays(k: Constants, lines: Lines) -> dict[str, Any]:
    share = k.get("lds_port_share", 1)
    spacing = k.get("vmem_spacing", 1)
    tables = [(k["lds_read_cycles"], k["lds_read_latency"]), (k["lds_write_cycles"], k["lds_write_latency"])]
    cycles, latency = [], []
    for store, width, permute in zip(lines.store, lines.bytes, lines.permute, strict=True):
        cycle_table, latency_table = tables[store]
        cycles.append(by_width(cycle_table, width) / share)
        # a negative latency: no passes are added, the access only moves data between lanes
        latency.append(-int(k["bpermute_latency"]) if permute else by_width(latency_table, width))
    return {
        **{n: getattr(lines, n) for n in (*_LINE_ARRAYS, *_LINE_LISTS)},
        "lds_latency": latency,
        "lds_cycles": cycles,
        "lds_port": [lds_port_cycles(k, s, b) for s, b in zip(lines.store, lines.bytes, strict=True)],
        "load_bytes": lines.bytes,
        "vmem_cycles": [max(spacing, by_width(k["vmem_load_cycles"], b)) for b in lines.bytes],
        "counters_ptr": [0, *accumulate(len(c) for c in lines.counters)],
        "counters": [c for cs in lines.counters for c in cs],
        "waits_ptr": [0, *accumulate(len(w) for w in lines.waits)],
        "wait_counter": [c for ws in lines.waits for c, _ in ws],
        "wait_n": [n for ws in lines.waits for _, n in ws],
    }


def _path_arrays(paths: Paths) -> dict[str, Any]:
    return {
        "path_line": paths.line, "path_event": paths.event, "path_taken": paths.taken,
        "path_start": paths.start,
        "space": paths.space, "event_store": paths.store, "atomic": paths.atomic, "lanes": paths.lanes,
        "event_bytes": paths.bytes, "passes": paths.passes, "least": paths.least, "lowest": paths.lowest,
        "lines_ptr": paths.lines_ptr, "cache_lines": paths.lines,
    }  # fmt: skip


def _constants(
    k: Constants, fetch: Fetch, m: Memory, dispatcher: Dispatcher, sizes: tuple[int, int, int]
) -> dict[str, float]:
    """The scalars of unit_t; ``sizes``: lines, waves, counters."""
    return {
        "n_lines": sizes[0], "n_waves": sizes[1], "n_groups": len(dispatcher.sizes), "n_counters": sizes[2],
        "simds": dispatcher.simds, "depth": k["valu_queue"], "queued": k["valu_queue"] > 1,
        "one_port": k["valu_per_turn"] == 1, "fair": k["issue_model"] == "simd_round_robin",
        "grain": k["time_grain"],
        "whole": k["immediate_record"] == "whole", "exec_start": k["exec_start"],
        "untraced_slot": k["untraced_slot"], "slack": k["salu_slack"], "retire_slack": k["retire_slack"],
        "endpgm_idle": int(k["endpgm_idle"]),
        "barrier_release": int(k["barrier_release"]), "export_latency": int(k["export_latency"]),
        "message_latency": int(k["message_latency"]),
        "jump": CODE[Category.JUMP], "next": CODE[Category.NEXT],
        "immediate": CODE[Category.IMMED], "message": CODE[Category.MESSAGE],
        "lds_depth": k["lds_queue"], "lds_spacing": k["lds_issue_spacing"],
        "lds_shared": bool(k.get("lds_shared_banks", False)), "lds_held": k.get("lds_held", 0),
        "vmem_depth": k["vmem_queue"], "vmem_spacing": k.get("vmem_spacing", 1),
        "vmem_per_line": k.get("vmem_extra_line", 1), "vmem_piece": k.get("vmem_bytes_per_cycle", 0),
        "vmem_store_lane": k.get("vmem_uncoalesced_store", 0),
        "vmem_acknowledge": k["endpgm_after_store"] - k["endpgm_idle"],
        "vmem_return_lines": k.get("vmem_return_lines", 0),
        "atomic_lane": int(k["atomic_lane_cycles"]), "cus": len(m.l1),
        "warm": m.warm, "dram": m.dram, "mall_latency": m.mall_latency, "l1_latency": m.l1_latency,
        "l2_latency": m.l2_latency, "scalar_latency": m.scalar_latency, "mid_latency": m.mid_latency,
        "line_shift": m.line_shift, "scalar_shift": m.scalar_shift, "page_shift": m.page_shift,
        "line_cycles": m.line_cycles, "dram_cycles": m.dram_cycles, "scalar_walk": m.scalar_walk,
        "vector_walk": m.vector_walk,
        "l1_lines": m.l1[0].capacity, "mid_lines": m.mid.capacity if m.mid else 0, "l2_lines": m.l2.capacity,
        "mall_lines": m.mall.capacity, "scalar_lines": m.scalar.capacity,
        "scalar_bytes": k.get("scalar_return_bytes", 0), "fetch_wave_cycles": fetch.wave_cycles,
        "fetch_lines": fetch.cache.capacity, "start_warm": fetch.start_warm, "start_cold": fetch.start_cold,
        "sequential": fetch.sequential, "branch": fetch.branch, "ahead": fetch.ahead,
        "fetch_warm": fetch.warm,
        "prefetch_first": fetch.prefetched.start, "prefetch_last": fetch.prefetched.stop - 1,
        "last_block": fetch.last,
    }  # fmt: skip
