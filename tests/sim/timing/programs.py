"""Small programs as listings and wave paths for tests of the timing model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isaprof import arch as tables
from isaprof.isa.decode import decode_lines
from isaprof.isa.model import Listing
from isaprof.sim.timing import Place, Resources, simulate
from isaprof.sim.trace import MemEvent, WaveTrace, WorkgroupTrace


def listing(arch: str, *texts: str) -> Listing:
    """Listing of 4-byte instructions from address 0x1000 on."""
    rows = [(0x1000 + 4 * n, (0,), text) for n, text in enumerate(texts)]
    instructions = decode_lines(arch, rows)
    return Listing(arch, instructions, {}, {i.pc: i.index for i in instructions})


def straight(program: Listing, memory: dict[int, MemEvent] | None = None, number: int = 0) -> WaveTrace:
    """A wave that executes every line once."""
    lines = np.arange(len(program.instructions), dtype=np.int32)
    return WaveTrace((0, 0, 0), number, 64, lines, memory or {})


def lds_event(addresses: Sequence[int], width: int, *, store: bool = False) -> MemEvent:
    lanes = np.arange(len(addresses), dtype=np.int16)
    return MemEvent("lds", not store, store, width, np.array(addresses, dtype=np.int64), lanes)


def global_event(addresses: Sequence[int], width: int = 4, *, store: bool = False) -> MemEvent:
    lanes = np.arange(len(addresses), dtype=np.int16)
    return MemEvent("global", not store, store, width, np.array(addresses, dtype=np.int64), lanes)


def run(
    program: Listing,
    groups: Sequence[Sequence[WaveTrace]],
    *,
    places: Sequence[Sequence[Place]] | None = None,
    vgprs: int = 32,
    lds_bytes: int = 0,
    warm: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """Tables of a run of ``groups`` (workgroups) on the architecture of ``program``."""
    table = tables.get(program.arch)
    resources = Resources(
        vgprs=vgprs,
        lds_bytes=lds_bytes,
        waves_per_workgroup=max((len(g) for g in groups), default=1),
        wave_size=64 if table.generation == "gfx9" else 32,
        warm=warm,
        **more,
    )
    traces = [WorkgroupTrace((n, 0, 0), list(g), lds_bytes) for n, g in enumerate(groups)]
    return simulate(program, table, traces, resources=resources, places=places).tables


def issues(tables_: dict[str, Any], wave: int = 0) -> list[int]:
    """Issue cycles of a wave's records."""
    rows = tables_["insts"]
    rows = rows[rows.wave == wave]
    return [int(t) for t in rows.time + rows.stall]


def gaps(tables_: dict[str, Any], wave: int = 0) -> list[int]:
    return [int(x) for x in np.diff(issues(tables_, wave))]
