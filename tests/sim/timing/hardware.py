"""Recorded waves as replayable paths."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isaprof import arch as tables
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Listing
from isaprof.sim.timing import Place, Resources, simulate
from isaprof.sim.trace import WaveTrace, WorkgroupTrace


@dataclass
class Recording:
    """The traced waves of one engine: rows are (pc, time, category, duration, stall)."""

    listing: Listing
    table: tables.ArchTable
    waves: list[dict[str, Any]]
    one_group: bool  #: the waves are one workgroup (with barriers), not one each
    warm: bool  #: code was there: the wave had waited for memory before it left its first block
    simds: tuple[int, ...]  #: SIMDs that ran the same waves at the same time; only the first was traced

    def replay(self) -> list[list[tuple[int, int, int, int, str]]]:
        """Model records (line, time, stall, duration, category) of every wave at its recorded place."""
        out: list[list[tuple[int, int, int, int, str]]] = [[] for _ in self.waves]
        for r in self.tables()["insts"].itertuples():
            if r.wave < len(out):
                out[r.wave].append((r.line, r.time, r.stall, r.duration, str(r.category)))
        return out

    def tables(self) -> dict[str, Any]:
        """All tables of the replay."""
        waves, places = [], []
        for simd in self.simds:
            for n, w in enumerate(self.waves):
                waves.append(self._trace(n, w))
                places.append(Place(simd or w["simd"], w["slot"], w["begin"]))
        groups, where = [WorkgroupTrace(w.workgroup, [w], 512) for w in waves], [[p] for p in places]
        if self.one_group:
            groups, where = [WorkgroupTrace((0, 0, 0), waves, 512)], [places]
        resources = Resources(
            vgprs=32,
            lds_bytes=512,
            waves_per_workgroup=len(waves) if self.one_group else 1,
            wave_size=64 if self.table.generation == "gfx9" else 32,
            workgroups=1024,
            warm=self.warm,
        )
        return simulate(self.listing, self.table, groups, resources=resources, places=where).tables

    def _trace(self, number: int, wave: dict[str, Any]) -> WaveTrace:
        lines, taken = self.path(wave)
        return WaveTrace((number, 0, 0), number, 16, np.array(lines, dtype=np.int32), taken=frozenset(taken))

    def path(self, wave: dict[str, Any]) -> tuple[list[int], list[int]]:
        """Listing lines a wave walked (those without packets included) and its taken branches."""
        lines: list[int] = []
        taken: list[int] = []
        at = self.listing.by_pc[wave["insts"][0][0]]
        for pc, _, category, *_ in wave["insts"]:
            while self.listing.instructions[at].pc != pc:
                assert (
                    not self.listing.instructions[at].traced
                    or "barrier_wait" in self.listing.instructions[at].base
                )
                lines.append(at)
                at += 1
            lines.append(at)
            if category == "JUMP":
                taken.append(len(lines) - 1)
                at = self.listing.by_pc[self.listing.instructions[at].target]
            else:
                at += 1
        return lines, taken


def load(data: Path, arch: str, example: str) -> list[Recording]:
    """All traced engines of one recorded example."""
    folder = data / "sqtt" / arch / f"{example}_run0"
    meta = json.loads((folder / "meta.json").read_text())
    expected = json.loads((folder / "expected_timing.json").read_text())
    target = {"gfx1200": "gfx1201"}.get(arch, arch)  # the device recorded in this folder
    out = []
    for trace in expected["traces"]:
        if not trace["waves"]:
            continue
        entry = next(t for t in meta["traces"] if t["file"] == trace["file"])
        program = meta["programs"][entry.get("program", 0)]
        listing = disassemble((folder / program["file"]).read_bytes(), arch=target)
        # compiled RDNA kernels have their code prefetched; it is cold in the assembled ones and on gfx950
        warm = program["elf"] == "ordinary" and arch != "gfx950"
        simds = (0, 1, 2, 3) if example == "gemm" and arch != "gfx950" else (0,)
        out.append(Recording(listing, tables.get(target), trace["waves"], example == "sync", warm, simds))
    return out
