"""Single rules of the issue model, each on a program of a few lines."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.arch import get
from isaprof.errors import BadInput, KernelFault
from isaprof.sim.timing import Place, Resources, simulate
from isaprof.sim.timing.calibration import Constants, known
from isaprof.sim.timing.dispatch import waves_per_simd
from isaprof.sim.trace import MemEvent, WorkgroupTrace
from tests.sim.timing.programs import gaps, global_event, issues, lds_event, listing, run, straight

RDNA = "gfx1100"


def one(arch: str, *texts: str) -> list[int]:
    program = listing(arch, *texts, "s_endpgm")
    return gaps(run(program, [[straight(program)]]))


def test_dependent_valu_waits_only_where_the_code_says_so() -> None:
    a, b = "v_add_f32_e32 v1, v0, v0", "v_add_f32_e32 v2, v1, v1"
    assert one(RDNA, a, b)[0] == 1  # the queue hides it
    assert one(RDNA, a, "s_delay_alu instid0(VALU_DEP_1)", b)[0] == 5
    assert one("gfx950", a, b)[0] == 4  # one instruction a turn, ready by then


def test_s_delay_alu_names_producer_and_consumer_across_a_skip() -> None:
    got = one(
        RDNA, "v_mul_f32_e32 v1, v0, v0", "v_mul_f32_e32 v2, v0, v0",
        "s_delay_alu instid0(VALU_DEP_2) | instskip(NEXT) | instid1(VALU_DEP_2)",
        "v_add_f32_e32 v3, v1, v1", "v_add_f32_e32 v4, v2, v2",
    )  # fmt: skip
    assert got[:3] == [1, 4, 1]


def test_waits_for_alu_results_have_a_record_on_gfx11_only() -> None:
    """As the hardware writes packets: the wait is the stall of gfx11's, and idle behind gfx12's."""
    for arch, name, lines in ((RDNA, "s_waitcnt_depctr", [0, 1, 2, 3]), ("gfx1201", "s_wait_alu", [0, 2, 3])):
        program = listing(arch, "v_add_f32_e32 v4, v3, v3", f"{name} 0xfff", "s_mov_b32 s1, s0", "s_endpgm")
        rows = run(program, [[straight(program)]])["insts"]
        assert rows.line.tolist() == lines
        assert int((rows.time + rows.stall).diff().iloc[1]) == 18


def test_memory_hardly_waits_longer_for_a_late_execution() -> None:
    """The end of the traced `sync`: one executes 4 late, the store comes 19 behind the last."""
    texts = ("v_mov_b32_e32 v4, -1", "v_cndmask_b32_e32 v5, v4, v3, vcc_lo", "v_lshlrev_b32_e32 v6, 2, v0")
    for arch in (RDNA, "gfx1201"):
        assert one(arch, *texts, "global_store_b32 v6, v5, s[0:1]")[:3] == [1, 1, 19]


def test_a_queue_of_results_delays_a_delay_alu_chain_behind_it() -> None:
    chain = ["v_add_f32_e32 v1, v1, v1"] * 3
    got = one(RDNA, *chain, "s_delay_alu instid0(VALU_DEP_1)", "v_add_f32_e32 v2, v1, v1")
    assert got[:2] == [1, 1]
    assert got[2] == 13  # executes at 0, 5, 10, usable at 15; issued at 2


@pytest.mark.parametrize(
    ("arch", "texts", "want"),
    [
        (RDNA, ("v_add_f32_e32 v1, v0, v0", "ds_store_b32 v2, v3"), 18),
        (RDNA, ("s_add_u32 s2, s2, s3", "s_load_b64 s[4:5], s[0:1], 0x0"), 9),
        (RDNA, ("v_lshlrev_b64 v[2:3], 2, v[4:5]", "v_mov_b32_e32 v6, 0"), 2),
        (RDNA, ("v_rcp_f32_e32 v1, v0", "v_exp_f32_e32 v2, v0"), 4),
        (RDNA, ("v_rcp_f32_e32 v1, v0", "v_mov_b32_e32 v2, v0"), 1),
        (RDNA, ("v_cmp_eq_u32_e32 vcc_lo, 0, v0", "s_mov_b32 s0, s1"), 7),
        (RDNA, ("v_cmpx_eq_u32_e32 0, v0", "s_cbranch_execz 4"), 17),
        (RDNA, ("s_cmp_eq_u32 s0, 0", "s_cbranch_scc0 4"), 10),
        ("gfx1201", ("s_add_co_i32 s0, s2, s3", "s_wait_alu 0xfffe", "s_ashr_i32 s1, s0, 31"), 9),
        ("gfx950", ("v_add_f32_e32 v1, v0, v0", "ds_read_b32 v2, v3"), 12),
        ("gfx950", ("v_exp_f32_e32 v1, v0", "v_mov_b32_e32 v2, 0"), 8),
        ("gfx950", ("v_exp_f32_e32 v1, v0", "ds_read_b32 v2, v3"), 16),
        ("gfx950", ("v_readfirstlane_b32 s0, v0", "s_add_u32 s1, s0, s0"), 20),
        ("gfx950", ("s_cmp_eq_u32 s0, 0", "s_cbranch_scc0 4"), 8),
        ("gfx950", ("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]", "v_mov_b32_e32 v20, 0"), 8),
        ("gfx950", ("v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]", "s_mov_b32 s0, 0"), 4),
        ("gfx942", ("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[8:9], v[0:3]", "v_mov_b32_e32 v20, 0"), 4),
        ("gfx942", ("v_mfma_f32_32x32x2_f32 v[0:15], v20, v21, v[0:15]", "v_mov_b32_e32 v24, 0"), 64),
    ],
)  # fmt: skip
def test_pairs(arch: str, texts: tuple[str, ...], want: int) -> None:
    assert one(arch, *texts)[0] == want


def test_matrix_instructions_issue_once_in_their_passes() -> None:
    bf16 = "v_mfma_f32_32x32x16_bf16 v[0:15], v[16:19], v[20:23], v[0:15]"
    assert one("gfx950", bf16, bf16, bf16)[:2] == [32, 32]
    # packed f32 waits for 4 x (8 + 3) cycles behind it
    assert one("gfx950", bf16, "v_pk_mul_f32 v[30:31], v[32:33], v[34:35]")[0] == 44


def test_scaled_mfma_hides_its_scale_slot_in_a_run() -> None:
    text = "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:7], v[8:11], v[0:3], v12, v13 cbsz:4 blgp:4"
    assert one("gfx950", text, text, text)[:2] == [16, 16]
    program = listing("gfx950", text, "s_endpgm")
    assert int(run(program, [[straight(program)]])["insts"].duration[0]) == 8


def test_wmma_fill_the_queue_then_drain_at_their_rate() -> None:
    f16 = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]"
    got = one("gfx1201", *[f16] * 12)
    assert got[:7] == [1] * 7
    assert got[8:11] == [16, 16, 16]


def test_two_valu_of_two_waves_share_a_turn_on_gfx950_only() -> None:
    for arch, pairs in (("gfx950", True), ("gfx942", False)):
        program = listing(arch, *["v_add_f32_e32 v1, v0, v0"] * 8, "s_endpgm")
        places = [[Place(0, 0, 0), Place(0, 1, 0)]]
        out = run(program, [[straight(program), straight(program)]], places=places)
        same = set(issues(out, 0)[:8]) & set(issues(out, 1)[:8])
        assert bool(same) is pairs


@pytest.mark.parametrize(
    ("older", "younger", "together"),
    [
        ("v_add_f32_e32 v1, v0, v0", "v_lshlrev_b32_e32 v1, 2, v0", True),
        ("v_maximum3_f32 v1, v2, v3, v4", "v_lshlrev_b32_e32 v1, 2, v0", False),
        ("v_lshrrev_b32_e32 v1, 2, v0", "v_maximum3_f32 v1, v2, v3, v4", False),
        ("v_add_u32_e32 v1, v0, v0", "v_readfirstlane_b32 s4, v0", False),
        ("v_maximum3_f32 v1, v2, v3, v4", "v_xor_b32_e32 v1, 2, v0", True),
        ("v_add_u32_e32 v1, v0, v0", "v_add_f32_e32 v1, v0, v0", True),
    ],
)
def test_what_the_second_vector_port_takes(older: str, younger: str, together: bool) -> None:
    """gfx950, pairs and stalls of two waves in a public trace; the younger waits while the older goes on."""
    program = listing("gfx950", *[older] * 8, "s_endpgm", *[younger] * 8, "s_endpgm")
    first, second = straight(program), straight(program)
    first.lines, second.lines = np.arange(9, dtype=np.int32), np.arange(9, 18, dtype=np.int32)
    out = run(program, [[first, second]], places=[[Place(0, 0, 0), Place(0, 1, 0)]])
    a, b = issues(out, 0)[:8], issues(out, 1)[:8]
    assert a == list(range(a[0], a[0] + 32, 4))  # the older is not held up
    assert b[0] == (a[0] if together else a[-1] + 4)


def test_scalar_memory_shares_the_scalar_slot_on_cdna_only() -> None:
    for arch, load, shared in (
        ("gfx950", "s_load_dword s4, s[0:1], 0x0", True),
        ("gfx1100", "s_load_b32 s4, s[0:1], 0x0", False),
    ):
        program = listing(arch, "s_mov_b32 s6, 0", "s_endpgm", load, "s_endpgm")
        alu, mem = straight(program), straight(program)
        alu.lines, mem.lines = np.array([0, 1], dtype=np.int32), np.array([2, 3], dtype=np.int32)
        out = run(program, [[alu, mem]], places=[[Place(0, 0, 0), Place(0, 1, 0)]])
        assert (issues(out, 0)[0] != issues(out, 1)[0]) is shared


def test_a_wave64_takes_the_rdna_valu_twice() -> None:
    program = listing(RDNA, *["v_add_f32_e32 v1, v0, v0"] * 3, "s_endpgm")
    traces = [WorkgroupTrace((0, 0, 0), [straight(program)], 0)]
    out = simulate(program, get(RDNA), traces, resources=Resources(32, 0, 1, 64, warm=True)).tables
    assert gaps(out)[:2] == [2, 2]


def test_oldest_wave_wins_and_setprio_overrides() -> None:
    valu = ["v_add_f32_e32 v1, v0, v0"] * 6
    program = listing(RDNA, *valu, "s_endpgm")
    places = [[Place(0, 0, 0), Place(0, 1, 0)]]
    out = run(program, [[straight(program), straight(program)]], places=places)
    assert issues(out, 0)[:6] == list(range(30, 36))
    assert issues(out, 1)[0] == 36
    rows = out["insts"]
    assert int(rows[rows.wave == 1].stall.iloc[0]) == 6

    program = listing(RDNA, "s_setprio 2", *valu, "s_endpgm", *valu, "s_endpgm")
    young = straight(program)
    young.lines = np.arange(0, 8, dtype=np.int32)
    old = straight(program)
    old.lines = np.arange(8, 15, dtype=np.int32)
    out = run(program, [[old, young]], places=[[Place(0, 0, 2), Place(0, 1, 0)]])
    assert issues(out, 1)[6] - issues(out, 1)[1] == 5  # never held up
    assert issues(out, 0)[0] == issues(out, 1)[6] + 1  # the older one waits, although it was ready before
    assert int(out["insts"].query("wave == 0").stall.iloc[0]) == 5


def test_in_order_waits_release_at_the_named_load() -> None:
    program = listing(
        RDNA, "ds_load_b32 v1, v0", "ds_load_b128 v[4:7], v0", "s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)",
        "s_endpgm",
    )  # fmt: skip
    memory = {0: lds_event([0], 4), 1: lds_event([0], 16)}
    t = issues(run(program, [[straight(program, memory)]]))
    assert t[2] - t[0] == 32
    assert t[3] - t[1] == 37


def test_stores_and_loads_have_counters_of_their_own_on_rdna() -> None:
    store, load = "global_store_b32 v2, v3, s[0:1]", "global_load_b32 v1, v2, s[0:1]"
    memory = {0: global_event([0], store=True), 1: global_event([4096])}
    split = listing(RDNA, store, load, "s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0", "s_endpgm")
    t = issues(run(split, [[straight(split, memory)]]))
    only_store = listing(RDNA, store, "s_waitcnt vmcnt(0)", "s_endpgm")
    u = issues(run(only_store, [[straight(only_store, {0: memory[0]})]]))
    assert u[1] - u[0] <= 3
    assert t[2] - t[1] > 100


def test_a_full_counter_blocks_issue() -> None:
    loads = ["s_load_dword s4, s[0:1], 0x0"] * 17
    program = listing("gfx950", *loads, "s_endpgm")
    memory = {
        n: MemEvent("scalar", True, False, 4, np.array([n * 64], dtype=np.int64), np.zeros(0, dtype=np.int16))
        for n in range(17)
    }
    t = issues(run(program, [[straight(program, memory)]]))
    assert t[14] - t[13] == 4
    assert t[15] - t[14] > 100  # lgkmcnt holds 15


def test_barrier_releases_everyone_after_the_last_arrival() -> None:
    program = listing(RDNA, "v_mov_b32_e32 v0, 0", "s_barrier", "s_nop 0", "s_endpgm")
    places = [[Place(0, 0, 0), Place(2, 0, 100)]]
    out = run(program, [[straight(program), straight(program)]], places=places)
    rows = out["insts"]
    ends = [rows[(rows.wave == w) & (rows.seq == 1)].iloc[0] for w in (0, 1)]
    last = int(ends[1].time + ends[1].stall)
    assert all(int(e.time + e.duration) == last + 14 for e in ends)


def test_split_barrier_waits_only_for_the_signals() -> None:
    program = listing(
        "gfx1201", "s_barrier_signal -1", "v_mov_b32_e32 v0, 0", "s_barrier_wait 0xffff",
        "v_mov_b32_e32 v1, 0", "s_endpgm",
    )  # fmt: skip
    places = [[Place(0, 0, 0), Place(2, 0, 200)]]
    out = run(program, [[straight(program), straight(program)]], places=places)
    signal = issues(out, 1)[0]
    after = [int(r.time) for r in out["insts"].itertuples() if r.seq == 3]
    assert after == [signal + 13, signal + 13]


def test_a_barrier_that_some_waves_never_reach_ends_with_them() -> None:
    program = listing(RDNA, "s_barrier", "s_endpgm", "s_endpgm")
    waits, leaves = straight(program), straight(program)
    waits.lines, leaves.lines = np.array([0, 1], dtype=np.int32), np.array([2], dtype=np.int32)
    out = run(program, [[waits, leaves]])
    assert (out["waves"].end > 0).all()


def test_a_split_barrier_is_completed_by_the_end_of_the_other_waves() -> None:
    program = listing("gfx1201", "s_barrier_signal -1", "s_barrier_wait 0xffff", "s_endpgm")
    waits, waits_too = straight(program), straight(program)
    waits.lines = np.array([0, 1, 0, 1, 2], dtype=np.int32)
    waits_too.lines = np.array([0, 1, 1, 2], dtype=np.int32)
    assert len(run(program, [[waits, waits_too]])["waves"]) == 2  # the second one's end completes the barrier


def test_taken_and_untaken_branches() -> None:
    for arch, taken, untaken in ((RDNA, 9, 3), ("gfx950", 20, 4)):
        program = listing(arch, "s_cbranch_scc0 1", "s_mov_b32 s0, 0", "v_mov_b32_e32 v0, 0", "s_endpgm")
        wave = straight(program)
        assert gaps(run(program, [[wave]]))[0] == untaken

        wave.lines = np.array([0, 2, 3], dtype=np.int32)
        wave.taken = frozenset([0])
        out = run(program, [[wave]])
        assert gaps(out)[0] == taken
        assert str(out["insts"].category[0]) == "JUMP"


def test_nops_and_sleep_take_their_time() -> None:
    assert one("gfx950", "v_mov_b32_e32 v0, 0", "s_nop 5", "v_mov_b32_e32 v0, 0")[:2] == [28, 0]
    program = listing(RDNA, "s_nop 0", "s_nop 7", "s_sleep 2", "s_endpgm")
    rows = run(program, [[straight(program)]])["insts"]
    assert [int(x) for x in rows.duration[1:3]] == [8, 128]
    program = listing("gfx1201", "s_nop 0", "s_sleep_var 2", "s_sleep_var s31", "s_sleep 0x0", "s_endpgm")
    rows = run(program, [[straight(program)]])["insts"]
    assert [int(x) for x in rows.duration[1:4]] == [128, 1, 1]


def test_the_shortest_sleep_stays_on_the_grid() -> None:
    program = listing("gfx950", "s_nop 0", "s_sleep 0x0", "v_mov_b32_e32 v0, 0", "s_endpgm")
    rows = run(program, [[straight(program)]])["insts"]
    assert int(rows.duration[1]) == 4
    assert not ((rows.time | rows.stall | rows.duration) % 4).any()


def test_occupancy_follows_the_register_granules() -> None:
    def limit(arch: str, vgprs: int) -> int:
        size = 64 if arch.startswith("gfx9") else 32
        return waves_per_simd(Constants(get(arch)), Resources(vgprs, 0, 1, size))

    assert [limit("gfx1100", v) for v in (96, 120, 128, 144, 168, 256)] == [16, 12, 10, 10, 9, 5]
    assert [limit("gfx950", v) for v in (64, 72, 96, 128, 168, 256, 512)] == [8, 7, 5, 4, 3, 2, 1]


def test_workgroups_wait_for_room() -> None:
    program = listing("gfx950", *["v_mov_b32_e32 v0, 0"] * 20, "s_endpgm")
    groups = [[straight(program)] for _ in range(10)]
    out = run(program, groups, vgprs=512, lds_bytes=1024)["waves"]
    for simd in range(4):
        mine = out[out.simd == simd].sort_values("begin")
        assert (mine.begin.to_numpy()[1:] >= mine.end.to_numpy()[:-1]).all()
    half = run(program, groups, lds_bytes=100 << 10)["waves"].sort_values("begin")
    assert (half.begin.to_numpy()[1:] >= half.end.to_numpy()[:-1]).all()  # LDS for one workgroup


def test_what_does_not_fit_is_refused() -> None:
    program = listing("gfx950", "s_endpgm")
    with pytest.raises(BadInput, match="LDS"):
        run(program, [[straight(program)]], lds_bytes=1 << 20)
    with pytest.raises(BadInput, match="VGPRs"):
        run(program, [[straight(program)] * 5], vgprs=512)
    with pytest.raises(BadInput, match="no timing constants"):
        run(listing("gfx90a", "s_endpgm"), [[]])
    with pytest.raises(KernelFault, match="matrix"):
        one("gfx1100", "v_wmma_f32_16x16x16_f16x v[0:7], v[8:15], v[16:23], v[0:7]")


def test_every_architecture_with_a_calibration_has_all_constants() -> None:
    for arch in known():
        texts = ["s_nop 0", "v_mov_b32_e32 v0, 0", "s_mov_b32 s0, 0", "s_endpgm"]
        assert one(arch, *texts)
        for fact in Constants(get(arch)).calibration.facts.values():
            assert fact.source
            assert fact.confidence in "MABCD"


@pytest.mark.parametrize(
    ("arch", "distinct", "shared", "more"),
    [
        # two fragments that start in one bank: 34 instead of 32 cycles (LLVM issue 204254, gfx1151)
        (
            "gfx1151",
            "v_wmma_f32_16x16x16_f16 v[24:31], v[1:8], v[10:17], v[24:31]",
            "v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[10:17], v[24:31]",
            2,
        ),
        # three sources in one bank need another read cycle, two do not
        ("gfx1100", "v_fma_f32 v9, v0, v4, v1", "v_fma_f32 v9, v0, v4, v8", 1),
        ("gfx1100", "v_fma_f32 v9, v0, v4, v4", "v_fma_f32 v9, v0, v4, v8", 1),
    ],
)
def test_operands_in_one_vgpr_bank_take_longer_to_execute(
    arch: str, distinct: str, shared: str, more: int
) -> None:
    """Issue runs ahead of execution by the queue; behind it every conflict shows."""
    n = 32
    took = []
    for text in (distinct, shared):
        program = listing(arch, *[text] * n, "s_endpgm")
        at = issues(run(program, [[straight(program)]], vgprs=64))
        assert at[1] - at[0] == 1
        took.append(at[n - 1] - at[n - 9])
    assert took[1] - took[0] == 8 * more
