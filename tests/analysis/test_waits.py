"""Wait-counter interpretation: what is outstanding, where, and since how many operations."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.analysis.waits import WaitAnalysis
from tests.transforms.kernels import context


def analysis(body: str, arch: str = "gfx942") -> WaitAnalysis:
    return context(body, arch).waits


def test_loads_and_stores_share_vmcnt_on_gfx9() -> None:
    body = """
	global_load_dword v0, v[20:21], off
	global_store_dword v[22:23], v5, off
	s_waitcnt vmcnt(1)
	v_mov_b32 v1, v0
	s_endpgm
"""
    assert analysis(body).conflicts() == []
    (conflict,) = analysis(body.replace("vmcnt(1)", "vmcnt(2)")).conflicts()
    assert conflict.missing_wait == "vmcnt(1)"
    assert not conflict.overwrite


def test_stores_have_their_own_counter_on_gfx11() -> None:
    body = """
	global_load_b32 v0, v[20:21], off
	global_store_b32 v[22:23], v5, off
	s_waitcnt vmcnt(0)
	v_mov_b32 v1, v0
	s_endpgm
"""
    assert analysis(body, "gfx1151").conflicts() == []
    assert len(analysis(body.replace("vmcnt(0)", "vmcnt(1)"), "gfx1151").conflicts()) == 1


def test_overwriting_a_destination_in_flight() -> None:
    body = """
	global_load_dword v0, v[20:21], off
	v_mov_b32 v0, 0
	s_endpgm
"""
    (conflict,) = analysis(body).conflicts()
    assert conflict.overwrite


def test_a_younger_load_of_the_queue_may_overwrite() -> None:
    body = """
	global_load_dword v0, v[20:21], off
	global_load_dword v0, v[22:23], off
	s_waitcnt vmcnt(0)
	v_mov_b32 v1, v0
	s_endpgm
"""
    assert analysis(body).conflicts() == []


def test_a_full_counter_proves_completion() -> None:
    """lgkmcnt of gfx9 holds 15: fifteen younger LDS operations prove an older one done."""
    young = "".join(f"	ds_read_b32 v{i}, v40\n" for i in range(10, 24))
    body = "	ds_read_b32 v0, v40\n" + young + "{}	v_mov_b32 v1, v0\n	s_endpgm\n"
    assert len(analysis(body.format("")).conflicts()) == 1
    assert analysis(body.format("	ds_read_b32 v30, v40\n")).conflicts() == []


def test_all_ones_is_no_wait() -> None:
    body = """
	global_load_dword v0, v[20:21], off
	s_waitcnt vmcnt(63)
	v_mov_b32 v1, v0
	s_endpgm
"""
    assert len(analysis(body).conflicts()) == 1


def test_a_wait_on_one_path_only() -> None:
    body = """
	global_load_dword v0, v[20:21], off
	s_cbranch_scc1 other
	s_waitcnt vmcnt(0)
other:
	v_mov_b32 v1, v0
	s_endpgm
"""
    (conflict,) = analysis(body).conflicts()
    assert conflict.age == 0


@given(st.lists(st.sampled_from("LWSR"), min_size=1, max_size=24), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_straight_line_code_agrees_with_a_plain_queue(ops: list[str], n: int) -> None:
    """Straight code: the abstract state is exactly the hardware queue."""
    lines, queue, expected = [], [], []
    for at, op in enumerate(ops):
        if op == "L":
            lines.append(f"	global_load_dword v{at}, v[50:51], off")
            queue.append(at)
        elif op == "S":
            lines.append("	global_store_dword v[50:51], v60, off")
            queue.append(-1)
        elif op == "W":
            lines.append(f"	s_waitcnt vmcnt({n})")
            queue = queue[len(queue) - n :] if n < len(queue) and n else ([] if n == 0 else queue)
        else:
            first = next((q for q in queue if q >= 0), None)
            lines.append(f"	v_mov_b32 v61, v{first if first is not None else 62}")
            if first is not None:
                expected.append(at)
    found = analysis("\n".join([*lines, "	s_endpgm", ""])).conflicts()
    assert sorted({c.user for c in found if not c.overwrite}) == expected
