"""Data passes of LDS accesses by lane groups and banks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.arch import get
from isaprof.sim.timing import Place
from isaprof.sim.timing.lds import passes, pattern_key
from tests.sim.timing.programs import issues, lds_event, listing, run, straight


def count(arch: str, addresses: list[int], width: int, *, store: bool = False, atomic: bool = False) -> int:
    size = 64 if arch.startswith("gfx9") else 32
    lanes = np.arange(len(addresses), dtype=np.int16)
    stack = np.array([addresses], dtype=np.int64)
    total, _ = passes(get(arch)["lds_lane_groups"][size], store, width, stack, lanes, atomic=atomic)
    return int(total[0])


@pytest.mark.parametrize(
    ("arch", "width", "least"),
    [
        ("gfx942", 4, 2), ("gfx942", 8, 4), ("gfx942", 16, 8),
        ("gfx950", 4, 2), ("gfx950", 8, 2), ("gfx950", 16, 4),
        ("gfx1100", 4, 1), ("gfx1100", 8, 2), ("gfx1100", 16, 4),
    ],
)  # fmt: skip
def test_contiguous_access_takes_the_fewest_passes(arch: str, width: int, least: int) -> None:
    lanes = 64 if arch.startswith("gfx9") else 32
    assert count(arch, [n * width for n in range(lanes)], width) == least


@pytest.mark.parametrize(("stride", "factor"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)])
def test_strides_of_dwords_on_32_banks(stride: int, factor: int) -> None:
    """The published MI300 measurement grows with the power of two in the stride; odd strides are free."""
    assert count("gfx942", [4 * stride * n for n in range(64)], 4) == 2 * factor


def test_the_same_dword_is_broadcast_but_atomics_serialise() -> None:
    assert count("gfx942", [128] * 64, 4) == 2
    assert count("gfx942", [128] * 64, 4, atomic=True) == 64
    assert count("gfx942", list(range(64)), 1) == 2  # bytes of 16 dwords


def test_128_bit_reads_conflict_by_their_own_groups() -> None:
    """Rows of 256 bytes: lanes 0-3 and 20-23 of MI300 share a group, lanes 0 and 4 do not."""
    together = [0] * 32 + [16 * n for n in range(32, 64)]
    apart = list(together)
    together[1] = 4096 + 0  # lane 1, same bank as lane 0, another row: same group
    apart[4] = 4096 + 0  # lane 4: its own group
    base = count("gfx942", [0] * 32 + [16 * n for n in range(32, 64)], 16)
    assert count("gfx942", together, 16) == base + 1
    assert count("gfx942", apart, 16) == base + 1  # conflicts with lanes 5-7 and 16-19 of its group


def test_two_addresses_a_lane_are_two_accesses() -> None:
    lanes = np.repeat(np.arange(32, dtype=np.int16), 2)
    addresses = np.array([[x for n in range(32) for x in (4 * n, 4096 + 4 * n)]], dtype=np.int64)
    total, least = passes(get("gfx1100")["lds_lane_groups"][32], False, 4, addresses, lanes)
    assert (int(total[0]), least) == (2, 2)


@given(
    st.lists(st.integers(0, 16383).map(lambda x: 4 * x), min_size=1, max_size=64),
    st.sampled_from([4, 8, 16]),
    st.booleans(),
    st.sampled_from(["gfx942", "gfx950"]),
)
def test_passes_are_at_least_the_groups_and_at_most_the_lanes(
    addresses: list[int], width: int, store: bool, arch: str
) -> None:
    lanes = np.arange(len(addresses), dtype=np.int16)
    stack = np.array([addresses], dtype=np.int64)
    patterns = get(arch)["lds_lane_groups"][64]
    total, least = passes(patterns, store, width, stack, lanes)
    assert least == len(patterns[pattern_key(store, width)].groups)
    assert least <= int(total[0]) <= least + len(addresses) * width // 4


def test_conflicts_cost_time_and_are_reported() -> None:
    program = listing("gfx942", "ds_read_b32 v1, v0", "s_waitcnt lgkmcnt(0)", "s_endpgm")
    free = run(program, [[straight(program, {0: lds_event([4 * n for n in range(64)], 4)})]])
    bad = run(program, [[straight(program, {0: lds_event([128 * n for n in range(64)], 4)})]])
    assert [int(x) for x in bad["memory"][["passes", "min_passes"]].iloc[0]] == [64, 2]
    assert [int(x) for x in free["memory"][["passes", "min_passes"]].iloc[0]] == [2, 2]
    waits = [int(t["insts"].stall.iloc[1]) for t in (free, bad)]
    assert waits[1] - waits[0] == 124  # 62 more passes of 2 cycles


@pytest.mark.parametrize(
    ("arch", "text", "cycles"),
    [
        ("gfx950", "ds_read_b128 v[4:7], v0", 56),  # 591 of 624 reads with nothing ahead of them
        ("gfx950", "ds_read_b64_tr_b16 v[4:5], v0", 52),
        ("gfx942", "ds_read_b32 v4, v0", 32),
        ("gfx1100", "ds_load_b32 v4, v0", 32),
    ],
)
def test_a_wait_ends_when_its_access_is_there(arch: str, text: str, cycles: int) -> None:
    """Latencies are published from issue to the end of the wait, which takes no slot after that."""
    program = listing(arch, text, "s_waitcnt lgkmcnt(0)", "s_mov_b32 s0, 0", "s_endpgm")
    rows = run(program, [[straight(program)]])["insts"]
    if arch.startswith("gfx9"):
        end = rows.time.iloc[1] + rows.duration.iloc[1]
        assert rows.stall.iloc[1] == rows.duration.iloc[1]
        assert end == rows.time.iloc[2] + rows.stall.iloc[2]
    else:
        end = rows.time.iloc[1] + rows.stall.iloc[1]
    assert end - rows.time.iloc[0] - rows.stall.iloc[0] == cycles


@pytest.mark.parametrize(
    ("width", "stride", "simds", "cycles"),
    [
        (16, 16, (0, 1, 2, 3), 16),  # published for a CDNA4 burst: one ds_read_b128 a SIMD in 16 cycles
        (16, 32, (0, 1, 2, 3), 32),  # with a 2-way conflict
        (8, 8, (0, 1, 2, 3), 8),
        (16, 16, (0, 2), 8),  # one SIMD of each pair: its 128 B/clk bus alone
        (16, 32, (0,), 8),  # which hides a 2-way conflict
    ],
)
def test_gfx950_sustains_the_published_rates(
    width: int, stride: int, simds: tuple[int, ...], cycles: int
) -> None:
    """64 banks make a pass a cycle for all four SIMDs; each pair has a bus of 128 B/clk of its own."""
    n, name = 24, {16: "ds_read_b128 v[4:7], v0", 8: "ds_read_b64 v[4:5], v0"}[width]
    program = listing("gfx950", *[name] * n, "s_waitcnt lgkmcnt(0)", "s_endpgm")
    places = [[Place(simd, 0, 0) for simd in simds]]
    event = lds_event([stride * lane for lane in range(64)], width)
    waves = [straight(program, dict.fromkeys(range(n), event), number=w) for w in range(len(simds))]
    out = run(program, [waves], places=places)
    at = issues(out, 0)
    assert (at[n - 1] - at[n - 9]) / 8 == pytest.approx(cycles, abs=0.5)


def test_simds_take_turns_at_the_lds() -> None:
    """Two SIMDs of a pair, both bursting: neither starves, although one wave is older."""
    program = listing("gfx950", *["ds_read_b128 v[4:7], v0"] * 24, "s_endpgm")
    event = lds_event([16 * lane for lane in range(64)], 16)
    waves = [straight(program, dict.fromkeys(range(24), event), number=w) for w in range(2)]
    out = run(program, [waves], places=[[Place(0, 0, 0), Place(1, 0, 0)]])
    first, second = issues(out, 0)[:24], issues(out, 1)[:24]
    assert all(abs(a - b) <= 16 for a, b in zip(first, second, strict=True))
