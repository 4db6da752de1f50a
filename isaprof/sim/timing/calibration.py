"""Calibration tables of the timing model: device-dependent constants, one table per architecture.

They have the form of architecture facts (value, unit, source, confidence) but
are not facts of the instruction set: clocks, cold costs, queue depths and the
few offsets of the model that no document states. ``isaprof calibrate`` writes
tables of the same form. Confidence letters as in :class:`isaprof.arch.Fact`;
``D`` is an inference that a fit may move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isaprof.arch import ArchTable, Fact
from isaprof.arch import sources as src
from isaprof.arch.table import facts
from isaprof.errors import BadInput

_BOTH = f"{src.TINYGRAD}, gfx1100 and gfx1200"


@dataclass(frozen=True, slots=True)
class Calibration:
    """One architecture's calibration table; ``id`` goes into every capture made with it."""

    id: str
    facts: Mapping[str, Fact]


_ALL: dict[str, Fact] = {
    **facts("bytes", src.RECALLED, "C", scalar_line_bytes=64),
    **facts("bytes, fragment of a large allocation", src.INFERRED, "D", page_bytes=2 << 20),
    **facts("units", src.PRODUCT, "C", units_per_engine=8),
}

_RDNA: dict[str, Fact] = {
    **_ALL,
    **facts("bytes/cycle and unit, 64 for each of two L0 caches", src.RECALLED, "C", l2_bytes_per_cycle=128),
    # a VALU result is complete 8 cycles after issue and a dependent one executes 5 after its producer
    **facts("cycles from issue to the start of execution", f"{_BOTH}, ALUEXEC packets", "M", exec_start=3),
    # a store behind v_mov, v_cndmask of its result (which executes 4 late) and a shift: 19, not 22, in both
    **facts("cycles by which a late execution does not delay memory behind it", f"{_BOTH}, sync", "M",
            retire_slack=3),
    **facts("cycles from the end of its occupancy to the release of its queue entry", src.TG_GFX12, "D",
            matrix_release=8, valu_release=1),
    **facts("cycles of backlog the scalar unit takes before issue stalls", src.TG_GFX12, "D", salu_slack=3),
    **facts("cycles", f"{_BOTH}, packet names SALU_2 and SALU_FLOAT_3", "M",
            salu_multiply=2, salu_float=3),
    **facts("cycles of issue taken by an instruction without a packet right behind a wait", _BOTH, "M",
            untraced_slot=1),
    **facts("instructions", src.INFERRED, "D", lds_queue=16),
    **facts("instructions; 48 were taken without a stall of issue", f"{src.TG_GFX12}", "D", vmem_queue=64),
    # VMEMEXEC packets of reads behind 19 that had not returned came late, their issue did not
    **facts("accesses that LDS holds for a CU", f"{src.TG_GFX12}, VMEMEXEC packets", "M", lds_held=19),
    **facts("cycles between LDS instructions of a CU", _BOTH, "M", lds_issue_spacing=1),
    **facts("", _BOTH, "M", immediate_record="from_last_end"),
    **facts("SIMDs in placement order", _BOTH, "M", simd_order=(0, 2, 1, 3)),
    **facts("SIMD -> CU half", f"{_BOTH}, workgroups land on SIMDs 0 and 2, then 1 and 3", "D",
            simd_half=(0, 1, 0, 1)),
    **facts("bytes fetched at once", f"{src.TG_GFX12}, place of the only miss", "D", icache_fetch_bytes=256),
    # the only miss came 1535 cycles after the end of a block that took as long; later blocks never missed
    **facts("blocks fetched ahead of a wave", f"{_BOTH}, place of the only miss", "D", icache_blocks_ahead=1),
    # launches of one dispatch each at 1.23 and 2.97 GHz: 416 and 554 cycles, which is 318 cycles and 80 ns
    **facts("ns, the part of wave_start_cold that does not follow the clock", src.TG_GFX1100, "M",
            code_fetch_ns=80),
    **facts("bytes/cycle of a scalar cache", f"{_BOTH}: 24 bytes a wave, waves 1.4 and 2.2 cycles apart", "D",
            scalar_return_bytes=16),
    **facts("cycles", src.INFERRED, "D", bpermute_latency=40, bpermute_issue=1, gds_latency=200,
            export_latency=16, message_latency=50, atomic_lane_cycles=1),
    **facts("wave32s of a wave64 VALU instruction", src.ACO, "B", wave64_halves=2),
}  # fmt: skip

_CDNA: dict[str, Fact] = {
    **_ALL,
    **facts("bytes/cycle and unit", src.RECALLED, "C", l2_bytes_per_cycle=64),
    **facts("cycles between LDS instructions of a SIMD pair", src.FLYDSL, "M", lds_issue_spacing=4),
    **facts("", f"{src.FLYDSL}: a wait's stall is its whole duration", "M", immediate_record="whole"),
    **facts("cycles", src.FLYDSL, "M", untraced_slot=0, salu_multiply=4, salu_float=4,
            salu_slack=0, exec_start=0, retire_slack=0, matrix_release=0, valu_release=0),
    **facts("SIMDs in placement order", src.FLYDSL, "M", simd_order=(0, 2, 1, 3)),
    **facts("SIMD -> LDS port", src.FLYDSL, "M", simd_half=(0, 0, 1, 1)),
    **facts("bytes fetched at once", src.RECALLED, "C", icache_fetch_bytes=128),
    **facts("blocks fetched ahead; part of the bubbles", src.FLYDSL, "D", icache_blocks_ahead=0),
    # straight-line cold code shows bubbles of 28-64, not at every block: the model, which cannot tell where,
    # takes the smallest at each; a branch to a cold line costs 232-252, 20 of them the taken branch's own
    **facts("cycles", src.FLYDSL, "M", icache_sequential_miss=28, icache_branch_miss=220),
    # four waves of a workgroup whose first line misses start 208 to 252 after their begin
    **facts("cycles a wave", src.FLYDSL, "D", icache_wave_cycles=14),
    **facts("instructions", f"{src.GLUON}; 12 to 15 seen in {src.FLYDSL}", "A", vmem_queue=12),
    **facts("cycles", src.INFERRED, "D", gds_latency=200, export_latency=16, message_latency=50,
            atomic_lane_cycles=1),
}  # fmt: skip

_TABLES: dict[str, dict[str, Fact]] = {
    "gfx942": {
        **_CDNA,
        **facts("instructions per SIMD pair", f"{src.GLUON}, by analogy with gfx950", "D", lds_queue=8),
        **facts("SIMDs per port in the table's cycles", src.ROCPROF_COMPUTE, "B", lds_port_share=1),
        **facts("cycles", src.INFERRED, "D", bpermute_latency=52, bpermute_issue=8),
        **facts("engines", src.PRODUCT, "C", engines=32),
    },
    "gfx950": {
        **_CDNA,
        **facts("instructions per SIMD pair", src.GLUON, "A", lds_queue=8),
        # the table's cycles are per SIMD with all four active, two SIMDs to a port
        **facts("SIMDs per port in the table's cycles", src.GLUON, "A", lds_port_share=2),
        # 64 banks of 4 bytes are the 256 bytes a cycle of the CU: one pass a cycle, whichever pair asks
        **facts("", f"{src.GLUON}: 256 B/clk of the CU, 128 B/clk of a SIMD pair's bus", "A",
                lds_shared_banks=True),
        **facts("cycles, whole GPU starting together", f"{src.TG_GFX950}, 1040-1890, median about 1840", "M",
                global_cold=1840),
        **facts("cycles", src.FLYDSL, "M", global_cold_few_lanes=900),
        **facts("engines", src.PRODUCT, "C", engines=32),
        # not the peak clock: traced devices ran at 2076 to 2213 MHz, and what is constant in ns follows it
        **facts("MHz", f"{src.FLYDSL}, realtime stamps of six captures: 2076-2213", "M", clock_mhz=2150),
    },
    "gfx1100": {**_RDNA, **facts("engines", src.PRODUCT, "C", engines=6),
                **facts("", src.TG_GFX1100, "M", matrix_record_cycles=False)},
    "gfx1151": {**_RDNA, **facts("engines", src.PRODUCT, "C", engines=2),
                **facts("", f"{src.TG_GFX1100}, same packets", "D", matrix_record_cycles=False)},
    "gfx1200": {**_RDNA, **facts("engines", src.PRODUCT, "C", engines=2),
                **facts("", src.TG_GFX12, "M", matrix_record_cycles=True)},
    "gfx1201": {**_RDNA, **facts("engines", src.TG_GFX12, "M", engines=4),
                **facts("", src.TG_GFX12, "M", matrix_record_cycles=True)},
}  # fmt: skip


#: goes up when a built-in constant changes, so that captures tell which constants they were timed with
BUILT_IN = 2


def known() -> tuple[str, ...]:
    """Architectures that can be timed."""
    return tuple(_TABLES)


def get(name: str) -> Calibration:
    """Built-in calibration of an architecture; BadInput where there is none."""
    if name not in _TABLES:
        raise BadInput(
            f"no timing constants for {name}; known: {', '.join(_TABLES)}", kind="unknown_architecture"
        )
    return Calibration(f"{name}-builtin-{BUILT_IN}", _TABLES[name])


class Constants:
    """The constants of one run: calibration first, then the architecture's facts."""

    def __init__(self, table: ArchTable, calibration: Calibration | None = None) -> None:
        self.table = table
        self.calibration = calibration or get(table.name)
        self._facts = {**table.facts, **self.calibration.facts}

    def __getitem__(self, key: str) -> Any:
        try:
            return self._facts[key].value
        except KeyError:
            raise BadInput(
                f"{self.table.name}: the timing model needs {key!r}, and neither the architecture table nor "
                f"calibration {self.calibration.id} has it",
                kind="missing_constant",
            ) from None

    def get(self, key: str, default: Any = None) -> Any:
        fact = self._facts.get(key)
        return default if fact is None else fact.value

    def __contains__(self, key: object) -> bool:
        return key in self._facts

    def fact(self, key: str) -> Fact | None:
        return self._facts.get(key)

    def cycles_from_ns(self, key: str, clock_mhz: float | None = None) -> int:
        """A constant kept in nanoseconds, in cycles of ``clock_mhz`` (default: the device clock)."""
        return max(1, round(float(self[key]) * float(clock_mhz or self["clock_mhz"]) / 1000))
