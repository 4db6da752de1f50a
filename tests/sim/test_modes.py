"""Relative registers and VSKIP (gfx9), aborting traps, scalar stores and atomics, on both executors."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.sim.executor import Program
from isaprof.sim.fast.wave import FastWave
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.state import Wave

from .fast.differential import Side, compare, context, listing_from_texts, run_fast, run_reference


def both(texts: list[str], arch: str = "gfx950") -> list[Side]:
    """The two sides after running ``texts`` from the same state."""
    listing = listing_from_texts(arch, texts)
    ctx = context(arch, 64, listing, 64, 32)
    sides = [Side(cls(64, 96, 64), 1, 0xF0, None, arch) for cls in (Wave, FastWave)]
    assert run_reference(sides[0], ctx, 100) is None
    fault, _ = run_fast(sides[1], ctx, 100)
    assert fault is None
    return sides


@pytest.mark.parametrize(
    ("which", "source", "target"),
    [("SRC0", 13, 20), ("DST", 10, 23), ("SRC0,DST", 13, 23), ("SRC1", 10, 20), ("", 10, 20)],
)
def test_relative_registers(which: str, source: int, target: int) -> None:
    for side in both([
        "v_mov_b32_e32 v10, 10", "v_mov_b32_e32 v13, 13", "v_mov_b32_e32 v20, 20", "v_mov_b32_e32 v23, 23",
        "s_mov_b32 s0, 3", f"s_set_gpr_idx_on s0, gpr_idx({which})", "v_mov_b32_e32 v20, v10",
        "s_set_gpr_idx_off", "v_mov_b32_e32 v30, v10",
    ]):  # fmt: skip
        w = side.wave
        for r in (20, 23):
            assert (w.v[r] == (source if r == target else r)).all()
        assert (w.v[30] == 10).all()


def test_index_can_change_while_on_and_reaches_only_vector_instructions() -> None:
    for side in both([
        "v_mov_b32_e32 v1, 1", "v_mov_b32_e32 v2, 2", "v_mov_b32_e32 v3, 3", "s_mov_b32 s0, 1",
        "s_mov_b32 s1, 2",
        "s_set_gpr_idx_on s0, gpr_idx(SRC0)", "v_mov_b32_e32 v40, v1", "s_set_gpr_idx_idx s1",
        "s_add_u32 s2, s0, s1",
        "v_mov_b32_e32 v41, v1", "s_set_gpr_idx_mode gpr_idx(DST)", "v_writelane_b32 v41, s2, 5",
        "s_set_gpr_idx_off",
    ]):  # fmt: skip
        w = side.wave
        assert (w.v[40] == 2).all()
        assert (w.v[41] == 3).all()
        assert w.v[43][5] == 3


def test_an_index_beyond_the_registers_is_a_fault() -> None:
    listing = listing_from_texts("gfx950", ["s_mov_b32 s0, 60", "s_set_gpr_idx_on s0, gpr_idx(SRC0)",
                                            "v_mov_b32_e32 v1, v50"])  # fmt: skip
    ctx = context("gfx950", 64, listing, 64, 32)
    fault = run_reference(Side(Wave(64, 96, 64), 1, 0xF0, None, "gfx950"), ctx, 10)
    assert fault is not None
    assert fault.kind == "illegal_register"


def test_vskip_skips_vector_instructions_only() -> None:
    for side in both([
        "v_mov_b32_e32 v1, 1", "s_mov_b32 s0, 4", "s_setvskip s0, 2", "v_mov_b32_e32 v1, 7",
        "ds_read_b32 v1, v62",
        "s_mov_b32 s5, 9", "s_setvskip s0, 1", "v_mov_b32_e32 v2, 2",
    ]):  # fmt: skip
        w = side.wave
        assert (w.v[1] == 1).all()
        assert (w.v[2] == 2).all()
        assert w.s[5] == 9


def test_random_programs_in_modes_agree() -> None:
    rng = np.random.default_rng(3)
    for seed in range(12):
        names = ("v_add_u32_e32", "v_xor_b32_e32", "v_max_f32_e32")
        body = []
        for _ in range(12):
            r = rng.integers(0, 40, 3)
            body.append(f"{rng.choice(names)} v{r[0]}, v{r[1]}, v{r[2]}")
            if rng.integers(0, 3) == 0:
                body.append(str(rng.choice([
                    "s_set_gpr_idx_on s8, gpr_idx(SRC0,DST)", "s_set_gpr_idx_off", "s_setvskip s9, 3",
                    "s_set_gpr_idx_idx s8", "s_cmp_eq_u32 s1, s2", "s_and_b32 s9, s9, s1",
                ])))  # fmt: skip
        texts = [f"s_mov_b32 s8, {int(rng.integers(0, 20))}", *body]
        bad, _ = compare("gfx942", listing_from_texts("gfx942", texts), seed)
        assert bad is None, (texts, bad)


def test_a_trap_is_a_named_fault() -> None:
    listing = listing_from_texts("gfx942", ["s_nop 0", "s_trap 2"])
    w = Wave(64, 32, 32)
    with pytest.raises(SimulatedFault, match="ends itself") as e:
        Program(context("gfx942", 64, listing, 32, 0)).run(w, 5)
    assert e.value.kind == "trap"


def test_scalar_stores_and_atomics() -> None:
    """s[30:31] is the start of the writable segment, s[20:23] a buffer of 4096 bytes there."""
    texts = [
        "s_mov_b32 s0, 5", "s_mov_b32 s1, 0x12345678", "s_store_dwordx2 s[0:1], s[30:31], 0x10 glc",
        "s_atomic_inc s0, s[30:31], 0x10", "s_load_dword s2, s[30:31], 0x10",
        "s_atomic_add s1, s[30:31], 0x14 glc", "s_load_dword s3, s[30:31], 0x14",
        "s_mov_b32 s4, 0x1000", "s_buffer_store_dword s0, s[20:23], s4",
        "s_buffer_atomic_umax s0, s[20:23], 0x20 glc",
        "s_dcache_wb",
    ]  # fmt: skip
    for side in both(texts, "gfx942"):
        w, memory = side.wave, side.memory
        at = w.s[30] | w.s[31] << 32
        assert w.s[2] == 0  # inc wraps: 5 >= 5
        assert w.s[1] == 0x12345678  # the old value comes back
        assert w.s[3] == 2 * 0x12345678
        assert memory.read(at + 0x14, 4) == (2 * 0x12345678).to_bytes(4, "little")
    bad, _ = compare("gfx942", listing_from_texts("gfx942", texts), 4)
    assert bad is None, bad


def test_a_wild_scalar_store_is_a_fault() -> None:
    bad, _ = compare("gfx942", listing_from_texts("gfx942", ["s_store_dword s0, s[0:1], 0x0"]), 4)
    assert bad is None
    side = Side(Wave(64, 96, 64), 1, 0xF0, None, "gfx942")
    listing = listing_from_texts("gfx942", ["s_mov_b64 s[0:1], 64", "s_store_dword s0, s[0:1], 0x0"])
    fault = run_reference(side, context("gfx942", 64, listing, 64, 32), 5)
    assert fault is not None
    assert fault.kind == "memory"


def test_a_cluster_barrier_without_clusters_does_nothing() -> None:
    texts = ["s_barrier_signal -3", "s_barrier_wait -3", "s_mov_b32 s5, 1"]
    listing = listing_from_texts("gfx1250", texts)
    side = Side(Wave(32, 96, 64), 1, 0xF0, None, "gfx1250")
    assert run_reference(side, context("gfx1250", 32, listing, 64, 32), 10) is None
    assert side.wave.s[5] == 1
    assert not side.wave.barrier
    bad, _ = compare("gfx1250", listing, 1)
    assert bad is None, bad


def test_a_pair_with_bitop2() -> None:
    """gfx1250: a truth table over two sources; 0x40 is and."""
    texts = ["v_mov_b32_e32 v0, 0x3c", "v_dual_mov_b32 v16, 0 :: v_dual_bitop2_b32 v15, 31, v0 bitop3:0x40"]
    listing = listing_from_texts("gfx1250", texts)
    side = Side(Wave(32, 96, 64), 1, 0xF0, None, "gfx1250")
    assert run_reference(side, context("gfx1250", 32, listing, 64, 32), 10) is None
    assert (side.wave.v[15] == 0x1C).all()
    assert (side.wave.v[16] == 0).all()
    bad, _ = compare("gfx1250", listing, 2)
    assert bad is None, bad
