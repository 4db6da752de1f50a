"""Passports of small kernels whose every figure is known."""

from __future__ import annotations

import pytest

from isaprof.inspect.model import Passport
from isaprof.inspect.occupancy import Occupancy
from isaprof.views.passport import text
from tests.inspect.kernels import passport

STORE = "  v_mov_b32 v1, 0\n  global_store_dword v1, v1, s[4:5]\n"
LOAD = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"


def states(p: Passport) -> dict[str | None, str]:
    return {a.name: a.state for a in p.kernargs.arguments}


def test_used_loaded_and_dead_arguments() -> None:
    p = passport(
        "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n  s_load_dword s8, s[0:1], 0x10\n  s_waitcnt lgkmcnt(0)\n"
        "  s_add_u32 s6, s6, 64\n  s_lshl_b32 s8, s8, 2\n  v_mov_b32 v2, s8\n"
        "  v_mov_b32 v1, 0\n  global_store_dword v2, v1, s[4:5]\n"
    )
    assert states(p) == {"out": "used", "src": "loaded, unused", "n": "used", "step": "dead"}
    row = {a.name: a for a in p.kernargs.arguments}
    assert [x.registers for x in row["src"].landings] == ["s6, s7"]
    assert [x.registers for x in row["n"].landings] == ["s8"]
    assert p.kernargs.read_bytes == 20


def test_pointer_copies_and_additions_are_followed() -> None:
    p = passport(
        "  s_mov_b64 s[10:11], s[0:1]\n  s_and_b32 s11, s11, 0xffff\n  s_add_u32 s10, s10, 8\n"
        "  s_addc_u32 s11, s11, 0\n  s_load_dword s6, s[10:11], 0x8\n  s_mov_b32 s12, 12\n"
        "  s_load_dword s7, s[10:11], s12\n"
        + LOAD
        + "  s_add_u32 s6, s6, s7\n  v_mov_b32 v1, s6\n  v_mov_b32 v2, 0\n"
        "  global_store_dword v2, v1, s[4:5]\n"
    )
    assert states(p) == {"out": "used", "src": "dead", "n": "used", "step": "used"}


def test_vector_load_of_an_argument() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v2, 0\n  global_load_dword v3, v2, s[0:1] offset:16\n  s_waitcnt vmcnt(0)\n"
        "  global_store_dword v2, v3, s[4:5]\n"
    )
    assert states(p)["n"] == "used"
    assert states(p)["step"] == "dead"


def test_an_unknown_offset_leaves_nothing_dead() -> None:
    p = passport(LOAD + "  s_lshl_b32 s6, s2, 2\n  s_load_dword s7, s[0:1], s6\n" + STORE)
    assert states(p)["step"] == "not provable"
    assert any("unknown offset" in n for n in p.kernargs.notes)


def test_a_pointer_that_escapes_leaves_nothing_dead() -> None:
    p = passport(LOAD + "  v_mov_b32 v1, s0\n  v_mov_b32 v2, 0\n  global_store_dword v2, v1, s[4:5]\n")
    assert states(p)["n"] == "not provable"


def test_preloaded_arguments() -> None:
    p = passport(
        "  s_load_dwordx2 s[2:3], s[0:1], 0x0\n  s_load_dwordx2 s[4:5], s[0:1], 0x8\n"
        "  s_waitcnt lgkmcnt(0)\n  s_branch .Lgo\n  .p2align 8\n.Lgo:\n"
        "  v_mov_b32 v1, 0\n  global_store_dword v1, v1, s[2:3]\n",
        extra="  .amdhsa_user_sgpr_kernarg_preload_length 4\n",
    )
    assert p.code.start == p.code.entry + 256
    assert states(p) == {"out": "used", "src": "loaded, unused", "n": "dead", "step": "dead"}
    assert all(x.pc is None for a in p.kernargs.arguments for x in a.landings)


def test_a_pointer_masked_again_in_a_loop_is_still_the_kernarg_pointer() -> None:
    p = passport(
        LOAD + "  s_mov_b32 s9, 8\n.Lloop:\n  s_and_b32 s1, s1, 0xffff\n  s_load_dword s7, s[0:1], 0x10\n"
        "  s_waitcnt lgkmcnt(0)\n  v_mov_b32 v1, s7\n  v_mov_b32 v2, 0\n  global_store_dword v2, v1, s[4:5]\n"
        "  s_sub_u32 s9, s9, 1\n  s_cmp_gt_i32 s9, 0\n  s_cbranch_scc1 .Lloop\n"
    )
    assert states(p) == {"out": "used", "src": "dead", "n": "used", "step": "dead"}
    assert p.loops[0].trips == "8"


@pytest.mark.parametrize(
    ("before", "loop", "trips"),
    [
        ("s_mov_b32 s9, 0", "s_add_i32 s9, s9, 4\n s_cmp_lt_i32 s9, 64\n s_cbranch_scc1 .Lloop", "16"),
        ("s_mov_b32 s9, 0", "s_addk_i32 s9, 3\n s_cmp_lt_u32 s9, 64\n s_cbranch_scc1 .Lloop", "22"),
        ("s_mov_b32 s9, 10", "s_sub_u32 s9, s9, 1\n s_cmp_lg_u32 s9, 0\n s_cbranch_scc1 .Lloop", "10"),
        ("s_mov_b32 s9, 10", "s_sub_i32 s9, s9, 2\n s_cmp_ge_i32 s9, 0\n s_cbranch_scc1 .Lloop", "6"),
        (
            "s_mov_b32 s9, 0",
            "s_addk_i32 s9, 1\n s_cmp_lt_i32 s9, s6\n s_cbranch_scc0 .Lout\n s_branch .Lloop\n.Lout:",
            "max(1, n)",
        ),
        (
            "s_mov_b32 s9, 0",
            "s_addk_i32 s9, 16\n s_cmp_lt_i32 s9, s6\n s_cbranch_scc1 .Lloop",
            "max(1, ceil((n) / 0x10))",
        ),
        (
            "s_mov_b32 s9, s6",
            "s_sub_u32 s9, s9, s7\n s_cmp_gt_i32 s9, 0\n s_cbranch_scc1 .Lloop",
            "max(1, ceil((n) / step))",
        ),
    ],
)
def test_trip_counts(before: str, loop: str, trips: str) -> None:
    p = passport(
        LOAD + f"  s_load_dwordx2 s[6:7], s[0:1], 0x10\n  s_waitcnt lgkmcnt(0)\n  {before}\n.Lloop:\n"
        f"  v_add_u32 v3, v3, v0\n  {loop}\n" + STORE
    )
    assert [x.trips for x in p.loops] == [trips]
    assert p.loops[0].counter == "s9"


def test_a_loop_that_is_not_simple_says_so() -> None:
    p = passport(
        LOAD + ".Lloop:\n  s_load_dword s9, s[4:5], 0x0\n  s_waitcnt lgkmcnt(0)\n  s_cmp_lg_u32 s9, 0\n"
        "  s_cbranch_scc1 .Lloop\n" + STORE
    )
    assert p.loops[0].trips.startswith("not simple")


def test_nested_loops() -> None:
    p = passport(
        LOAD
        + "  s_mov_b32 s9, 0\n.Lo:\n  s_mov_b32 s10, 0\n.Li:\n  s_addk_i32 s10, 1\n  s_cmp_lt_i32 s10, 5\n"
        "  s_cbranch_scc1 .Li\n  s_addk_i32 s9, 1\n  s_cmp_lt_i32 s9, 7\n  s_cbranch_scc1 .Lo\n" + STORE
    )
    assert [(x.depth, x.parent, x.trips) for x in p.loops] == [(1, None, "7"), (2, 0, "5")]


def test_lds_addresses_are_exact() -> None:
    p = passport(
        "  v_lshlrev_b32 v1, 2, v0\n  v_mov_b32 v2, 0\n  ds_write_b32 v1, v2 offset:256\n"
        "  ds_read2st64_b32 v[4:5], v1 offset0:1 offset1:3\n",
        lds=4096,
    )
    assert [(a.low, a.high) for a in p.lds.accesses] == [(256, 256 + 1024), (256, 3 * 256 + 1020 + 4)]
    assert p.lds.highest == 1792
    assert (p.lds.unproven, p.lds_static) == (0, 4096)


def test_lds_address_from_memory_is_not_provable() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v1, 0\n  global_load_dword v2, v1, s[4:5]\n  s_waitcnt vmcnt(0)\n"
        "  ds_write_b32 v2, v1\n  ds_write_b32 v1, v1 offset:60\n",
        lds=4096,
    )
    assert [a.high for a in p.lds.accesses] == [None, 64]
    assert (p.lds.highest, p.lds.unproven) == (64, 1)


def test_lds_access_of_few_lanes() -> None:
    body = "  v_lshlrev_b32 v1, 2, v0\n  v_cmp_gt_u32 vcc, {0}, v0\n  s_and_saveexec_b64 s[6:7], vcc\n"
    body += "  ds_write_b32 v1, v1\n"
    assert passport(body.format(8), lds=64).lds.highest == 32
    unknown = "  s_load_dword s8, s[0:1], 0x10\n  s_waitcnt lgkmcnt(0)\n" + body.format("s8")
    assert passport(unknown, lds=64).lds.highest is None


def test_lds_dma_is_counted_with_all_lanes_of_the_wave() -> None:
    p = passport(
        LOAD + "  v_lshrrev_b32 v1, 6, v0\n  v_readfirstlane_b32 s8, v1\n  s_lshl_b32 s8, s8, 8\n"
        "  s_mov_b32 m0, s8\n  s_mov_b32 s6, -1\n  s_mov_b32 s7, 0x20000\n  v_mov_b32 v2, 0\n"
        "  buffer_load_dword v2, s[4:7], 0 offen lds\n",
        lds=1024,
    )
    assert p.lds.highest == 1024
    assert "lds-dma" in {t.id for t in p.techniques}


def test_pressure_counts_live_registers() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v10, 1\n  v_mov_b32 v11, 2\n  v_mov_b32 v12, 3\n  v_add_u32 v10, v10, v11\n"
        "  v_add_u32 v10, v10, v12\n  v_mov_b32 v1, 0\n  global_store_dword v1, v10, s[4:5]\n"
    )
    vgpr = next(r for r in p.registers if r.name == "vgpr")
    assert (vgpr.live, vgpr.highest, vgpr.granted, vgpr.distinct) == (3, 13, 64, 4)


def test_a_write_under_the_same_exec_ends_the_life_of_the_register() -> None:
    """v20 is written and read under the narrowed EXEC only: it is not live before."""
    p = passport(
        LOAD + "  v_mov_b32 v20, 5\n  v_mov_b32 v1, 0\n  global_store_dword v1, v20, s[4:5]\n"
        "  v_cmp_gt_u32 vcc, 8, v0\n  s_and_saveexec_b64 s[6:7], vcc\n  v_mov_b32 v20, 7\n"
        "  global_store_dword v1, v20, s[4:5]\n  s_or_b64 exec, exec, s[6:7]\n"
    )
    live = dict(zip((p.texts[p.pcs[i]] for i in p.pressure.indices), p.pressure.vgpr, strict=True))
    assert live["v_cmp_gt_u32_e32 vcc, 8, v0"] == 2  # v0 and v1


def test_a_write_of_some_lanes_keeps_the_others_alive() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v20, 5\n  v_mov_b32 v1, 0\n  v_cmp_gt_u32 vcc, 8, v0\n"
        "  s_and_saveexec_b64 s[6:7], vcc\n  v_mov_b32 v20, 7\n  s_or_b64 exec, exec, s[6:7]\n"
        "  global_store_dword v1, v20, s[4:5]\n"
    )
    live = dict(zip((p.texts[p.pcs[i]] for i in p.pressure.indices), p.pressure.vgpr, strict=True))
    assert live["v_cmp_gt_u32_e32 vcc, 8, v0"] == 3  # v20 too


@pytest.mark.parametrize(
    ("arch", "vgprs", "waves", "following"),
    [
        ("gfx942", 64, 8, None), ("gfx942", 72, 7, 64), ("gfx942", 128, 4, 96), ("gfx942", 168, 3, 128),
        ("gfx1100", 96, 16, None), ("gfx1100", 120, 12, 96), ("gfx1100", 128, 10, 120),
        ("gfx1100", 256, 5, 240),
    ],
)  # fmt: skip
def test_occupancy_by_registers(arch: str, vgprs: int, waves: int, following: int | None) -> None:
    load = "  s_load_b64 s[4:5], s[0:1], 0x0\n" if arch == "gfx1100" else LOAD
    o = passport(load, arch=arch, vgprs=vgprs, threads=64 if arch == "gfx942" else 32).occupancy
    assert isinstance(o, Occupancy)
    limit = next(x for x in o.limits if x.resource == "vgpr")
    assert limit.waves_per_simd == waves
    assert limit.next_amount == following


def test_occupancy_by_lds_and_the_next_step() -> None:
    o = passport(LOAD, lds=40000, vgprs=32).occupancy
    assert isinstance(o, Occupancy)
    assert (o.waves_per_simd, o.workgroups, o.limiters) == (1, 1, ("lds",))
    lds = next(x for x in o.limits if x.resource == "lds")
    assert (lds.next_amount, lds.next_waves_per_simd) == (32768, 2)


def test_a_workgroup_size_that_does_not_fit_is_not_reported_as_no_waves() -> None:
    """The metadata's maximum is no promise: such a kernel runs, with smaller workgroups."""
    p = passport("  s_load_b64 s[4:5], s[0:1], 0x0\n", arch="gfx1100", vgprs=256, threads=1024)
    assert isinstance(p.occupancy, Occupancy)
    assert p.occupancy.workgroups == 0
    shown = text(p)
    assert "Occupancy: at most 5 waves per SIMD by vgpr; a workgroup of 32 waves does not fit" in shown


def test_descriptor_parts() -> None:
    body = (
        "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_load_dword s9, s[0:1], 0x10\n  s_waitcnt lgkmcnt(0)\n"
        "  s_and_b32 s5, s5, 0xffff\n  s_or_b32 s5, s5, 0x40000\n  {0}\n  s_mov_b32 s7, 0x20000\n"
        "  v_mov_b32 v1, 0\n  buffer_store_dword v1, v1, s[4:7], 0 offen\n"
    )
    exact = passport(body.format("s_lshl_b32 s6, s9, 2")).buffers[0]
    assert (exact.registers, exact.pointer, exact.bound, exact.limits) == (
        "s[4:7]",
        "out",
        "computed",
        ("(n << 2)",),
    )
    assert (exact.word3, exact.stride) == (0x20000, 4)
    assert passport(body.format("s_mov_b32 s6, -1")).buffers[0].bound == "unbounded"
    assert passport(body.format("s_mov_b32 s6, 0x1000")).buffers[0].bound == "constant"
    set_once = "s_cmp_eq_u32 s9, 7\n  s_cbranch_scc1 .Lskip\n  s_lshl_b32 s20, s9, 1\n.Lskip:\n"
    some = passport(body.format(f"{set_once}  s_sub_u32 s6, s9, s20")).buffers[0]
    assert some.bound == "computed, where set"
    loaded = passport(body.format("s_load_dword s6, s[4:5], 0x0\n  s_waitcnt lgkmcnt(0)")).buffers[0]
    assert loaded.bound == "not provable"


@pytest.mark.parametrize(
    "arch", ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1250"]
)
def test_every_generation(arch: str) -> None:
    """The same small kernel everywhere: workgroup id, work-item id, one argument."""
    old = arch.startswith("gfx9") or arch == "gfx1030"
    wg = "ttmp9" if arch in ("gfx1200", "gfx1250") else "s2"
    wait = "s_wait_kmcnt 0" if arch in ("gfx1200", "gfx1250") else "s_waitcnt lgkmcnt(0)"
    add = "v_add_u32" if arch.startswith("gfx9") else "v_add_nc_u32"
    p = passport(
        f"  {'s_load_dwordx2' if old else 's_load_b64'} s[4:5], s[0:1], 0x0\n  {wait}\n"
        f"  s_lshl_b32 s6, {wg}, 8\n"
        f"  v_and_b32 v1, 0x3ff, v0\n  v_lshlrev_b32 v1, 2, v1\n  {add} v1, s6, v1\n"
        f"  global_store_{'dword' if old else 'b32'} v1, v1, s[4:5]\n",
        arch=arch,
    )
    assert states(p) == {"out": "used", "src": "dead", "n": "dead", "step": "dead"}
    assert set(p.inputs) == {"wg.x", "tid.x"}
    assert p.code.unreachable == 0


def test_a_call_through_a_register_leaves_nothing_dead() -> None:
    p = passport(LOAD + "  s_getpc_b64 s[8:9]\n  s_swappc_b64 s[10:11], s[8:9]\n" + STORE)
    assert states(p)["step"] == "not provable"
    assert any("through a register" in x for x in p.limits)


def test_registers_addressed_by_m0_are_not_known_afterwards() -> None:
    move = "  s_mov_b32 s9, 64\n  s_mov_b32 m0, s2\n  s_movreld_b32 s6, s2\n"
    p = passport(LOAD + move + "  v_mov_b32 v1, s9\n  ds_write_b32 v1, v1\n", lds=256)
    assert p.lds.highest is None
    assert any("M0" in x for x in p.limits)


def test_byte_loads_to_lds_step_a_dword_a_lane() -> None:
    p = passport(
        LOAD + "  s_mov_b32 m0, 0\n  s_mov_b32 s6, -1\n  s_mov_b32 s7, 0x20000\n  v_mov_b32 v2, 0\n"
        "  buffer_load_ubyte v2, s[4:7], 0 offen lds\n",
        lds=1024,
    )
    assert p.lds.highest == 4 * 63 + 1
