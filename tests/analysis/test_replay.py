"""Wait counters along a path that was taken, and agreement with the analysis of all paths."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.analysis.replay import Replay
from tests.transforms.kernels import context

LOOP = """
	global_load_dword v0, v[20:21], off
loop:
	s_waitcnt vmcnt(0)
	v_add_f32 v4, v4, v0
	global_load_dword v0, v[20:21], off
	s_cbranch_scc1 loop
	v_mov_b32 v5, v0
	s_endpgm
"""
ROUND = [0, 1, 2, 3, 4, 1, 2, 3, 4]


def hazards(body: str, path: list[int], arch: str = "gfx942") -> list[tuple[int, int]]:
    c = context(body, arch)
    return list(Replay(c.listing.instructions, c.counter_maxima).hazards(path))


def test_a_use_in_flight() -> None:
    assert hazards(LOOP, ROUND) == []
    assert hazards(LOOP, [*ROUND, 5, 6]) == [(5, 3)]


def test_a_wait_that_is_too_weak() -> None:
    weak = LOOP.replace("vmcnt(0)", "vmcnt(1)")
    # the load of the round before; the one that overwrites it is younger on the same queue
    assert hazards(weak, ROUND) == [(2, 0), (2, 3)]


def test_out_of_order_counters_retire_at_zero_only() -> None:
    body = """
	s_load_dword s4, s[0:1], 0x0
	s_load_dword s5, s[0:1], 0x4
	s_waitcnt lgkmcnt(1)
	s_mov_b32 s6, s4
	s_waitcnt lgkmcnt(0)
	s_mov_b32 s7, s5
	s_endpgm
"""
    assert hazards(body, list(range(7))) == [(3, 0)]


def test_the_counter_is_full() -> None:
    """The 65th load cannot issue before the first has returned: vmcnt counts to 63."""
    loads = "".join(f"	global_load_dword v{n}, v[100:101], off\n" for n in range(64))
    body = loads + "	global_load_dword v90, v[100:101], off\n"
    body += "	v_mov_b32 v80, v1\n	v_mov_b32 v81, v40\n	s_endpgm\n"
    assert hazards(body, list(range(68))) == [(66, 40)]


lines = st.lists(
    st.sampled_from(
        [
            "global_load_dword v0, v[20:21], off",
            "global_load_dword v1, v[20:21], off",
            "global_store_dword v[20:21], v0, off",
            "ds_read_b32 v2, v10",
            "v_mov_b32 v3, v0",
            "v_mov_b32 v1, v2",
            "s_waitcnt vmcnt(1)",
            "s_waitcnt vmcnt(0) lgkmcnt(0)",
        ]
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(lines)
def test_on_straight_code_the_path_is_all_paths(body: list[str]) -> None:
    c = context("".join(f"	{x}\n" for x in [*body, "s_endpgm"]))
    path = list(range(len(body) + 1))
    replayed = Replay(c.listing.instructions, c.counter_maxima).hazards(path)
    assert set(replayed) == {(x.user, x.load) for x in c.waits.conflicts()}
