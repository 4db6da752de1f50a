"""Architecture tables: complete, sourced, and consistent with the published formulas."""

from __future__ import annotations

import re

import pytest

from isaprof import arch
from isaprof.arch.decoding import FAMILY
from isaprof.arch.table import ArchTable, Fact, HazardRule, LdsPattern, MatrixRule, ValuRule
from isaprof.errors import BadInput

TIMED = ("gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1200", "gfx1201")

#: what a timing model of one CU or WGP cannot do without
NEEDED = (
    "wave_slots_per_simd", "simds_per_cu", "cus_per_unit", "vgprs_per_simd_lane", "vgpr_alloc_granule",
    "lds_bytes", "lds_alloc_granule", "lds_lane_groups", "lds_read_latency", "lds_write_latency", "clock_mhz",
    "issue_period", "time_grain", "issue_model", "valu_dep_latency", "valu_complete_latency", "valu_to_mem",
    "salu_dep_latency", "salu_to_smem", "branch_taken", "branch_not_taken", "barrier_release", "valu_queue",
    "valu_rules", "matrix", "counter_model", "counter_max", "smem_hit", "smem_cold", "l1_latency",
    "l2_latency",
    "mall_latency_ns", "dram_latency_ns", "wave_start_cold", "wave_start_warm", "endpgm_idle",
    "endpgm_after_store", "valu_sgpr_to_salu", "dependency_is_idle", "wait_satisfied",
)  # fmt: skip


def test_known_targets_have_tables() -> None:
    for name in arch.known():
        t = arch.get(name)
        assert isinstance(t, ArchTable)
        assert (t.name, t.generation) == (name, arch.generation(name))
        assert arch.get(f"{name}:xnack-") is t


@pytest.mark.parametrize("name", TIMED)
def test_timed_targets_have_every_needed_fact(name: str) -> None:
    t = arch.get(name)
    assert [k for k in NEEDED if k not in t] == []
    for key, fact in t.facts.items():
        assert isinstance(fact, Fact)
        assert fact.source, key
        assert fact.confidence in set("MABCD"), key
        assert not re.search(r"(^|[\s(])/\w", fact.source), "sources are public names, not paths of a machine"
        assert t.value(key) is t[key] is t.get(key)


def test_unknown_facts_and_targets_say_so() -> None:
    with pytest.raises(KeyError, match=r"gfx942.*warp_drive"):
        arch.get("gfx942")["warp_drive"]
    assert arch.get("gfx942").get("warp_drive", 7) == 7
    with pytest.raises(BadInput, match="no architecture table for 'gfx1036'; known: gfx90a"):
        arch.get("gfx1036")
    with pytest.raises(BadInput, match="not an AMD GPU target"):
        arch.generation("sm_90")
    with pytest.raises(BadInput, match="gfx803 is not supported"):
        arch.family_table("gfx803")
    assert arch.family_table("gfx1036").generation == "gfx10"


@pytest.mark.parametrize(
    ("name", "generation"),
    [
        ("gfx90a", "gfx9"),
        ("gfx1030", "gfx10"),
        ("gfx1151", "gfx11"),
        ("gfx1201", "gfx12"),
        ("gfx1250", "gfx1250"),
    ],
)
def test_generation(name: str, generation: str) -> None:
    assert arch.generation(name) == generation


def occupancy(t: ArchTable, vgprs: int, wave: int) -> int:
    granule = t["vgpr_alloc_granule"][wave]
    total = t["vgprs_per_simd_lane"]
    return min(t["max_waves_per_simd"], max(1, total // (-(-vgprs // granule) * granule)))


def test_occupancy_formula_gives_the_published_steps() -> None:
    rdna = arch.get("gfx1100")
    assert [occupancy(rdna, v, 32) for v in (96, 120, 128, 144, 168, 192, 216, 240, 256)] == [
        16, 12, 10, 10, 9, 8, 7, 6, 5,
    ]  # fmt: skip
    cdna = arch.get("gfx950")
    assert [occupancy(cdna, v, 64) for v in (64, 72, 80, 96, 128, 168, 256, 512)] == [8, 7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("name", TIMED)
def test_lds_groups_partition_the_wave(name: str) -> None:
    for lanes, patterns in arch.get(name)["lds_lane_groups"].items():
        assert {"read_b32", "write_b32", "read_b64", "write_b64", "read_b128", "write_b128"} <= set(patterns)
        for p in patterns.values():
            assert isinstance(p, LdsPattern)
            assert sorted(lane for g in p.groups for lane in g) == list(range(lanes))
            assert len({len(g) for g in p.groups}) == 1


def matrix_cycles(name: str, base: str) -> int:
    rules: tuple[MatrixRule, ...] = arch.get(name)["matrix"]
    return next(r.cycles for r in rules if re.fullmatch(r.pattern, base))


@pytest.mark.parametrize(
    ("name", "base", "cycles"),
    [
        ("gfx942", "v_mfma_f32_16x16x16_f16", 16),
        ("gfx942", "v_mfma_f32_32x32x8_bf16", 32),
        ("gfx942", "v_mfma_f32_16x16x32_fp8_bf8", 16),
        ("gfx942", "v_mfma_f32_16x16x8_xf32", 16),
        ("gfx942", "v_mfma_f32_16x16x4_f32", 32),
        ("gfx942", "v_mfma_f32_32x32x1_2b_f32", 64),
        ("gfx942", "v_mfma_i32_4x4x4_16b_i8", 8),
        ("gfx942", "v_mfma_f64_16x16x4_f64", 32),
        ("gfx950", "v_mfma_f64_16x16x4_f64", 64),
        ("gfx950", "v_mfma_f32_32x32x16_bf16", 32),
        ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4", 16),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", 32),
        ("gfx950", "v_mfma_i32_32x32x32_i8", 32),
        ("gfx950", "v_smfmac_f32_16x16x128_fp8_fp8", 16),
        ("gfx1100", "v_wmma_f32_16x16x16_f16", 32),
        ("gfx1151", "v_wmma_i32_16x16x16_iu4", 16),
        ("gfx1201", "v_wmma_f32_16x16x16_f16", 16),
        ("gfx1201", "v_wmma_i32_16x16x16_iu8", 8),
        ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8", 8),
        ("gfx1201", "v_swmmac_f32_16x16x32_bf16", 16),
    ],
)
def test_matrix_cycles(name: str, base: str, cycles: int) -> None:
    assert matrix_cycles(name, base) == cycles


@pytest.mark.parametrize("name", TIMED)
def test_rules_are_well_formed(name: str) -> None:
    t = arch.get(name)
    for rules, kind in ((t["valu_rules"], ValuRule), (t["matrix"], MatrixRule)):
        for r in rules:
            assert isinstance(r, kind)
            re.compile(r.pattern)
    assert re.fullmatch(t["valu_rules"][-1].pattern, "v_anything_else"), "the last rule takes the rest"
    for h in (*t.get("hazards", ()), *t.get("matrix_hazards", ())):
        assert isinstance(h, HazardRule)
        assert h.states >= 0


def test_every_counter_has_a_maximum_and_a_wait() -> None:
    for t in (*FAMILY.values(), *map(arch.get, arch.known())):
        counters = {c for cs in t["counter_model"].values() for c in cs}
        assert counters <= set(t["counter_max"])
        waited = set(t.get("waitcnt_layout") or ()) | {
            field[0] for fields in t["separate_wait_counters"].values() for field in fields
        }
        assert counters <= waited
        for counter, pieces in (t.get("waitcnt_layout") or {}).items():
            assert (1 << sum(width for _, width in pieces)) - 1 == t["counter_max"][counter]
