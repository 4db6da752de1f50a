"""Which registers matter where, on all paths and under a changing EXEC."""

from __future__ import annotations

from isaprof.analysis.liveness import Liveness
from isaprof.isa.model import RegClass
from tests.transforms.kernels import context

V, S = RegClass.VGPR, RegClass.SGPR
BODY = """
	s_cbranch_scc1 other
	v_mov_b32 v1, v2
	s_branch join
other:
	v_mov_b32 v3, s4
join:
	v_add_f32 v5, v1, v3
	v_mov_b32 v1, 0
	v_mov_b32 v6, v1
	s_endpgm
"""


def at(body: str, text: str) -> frozenset[tuple[RegClass, int]]:
    c = context(body)
    index = next(i.index for i in c.listing.instructions if i.text.startswith(text))
    return Liveness(c.cfg).live_before(index)


def test_both_sides_of_a_branch() -> None:
    start = at(BODY, "s_cbranch_scc1")
    # v1 is written on one side only, v3 on the other: both are live at the start
    assert {(V, 1), (V, 2), (V, 3), (S, 4)} <= start
    assert (V, 5) not in start
    assert (V, 6) not in start


def test_a_write_ends_it() -> None:
    assert (V, 1) not in at(BODY, "v_mov_b32_e32 v1, 0")
    assert (V, 1) in at(BODY, "v_add_f32_e32 v5, v1, v3")


def test_a_vector_write_under_another_exec_does_not() -> None:
    """Lanes that are off keep the old value, and may be read when they are on again."""
    body = BODY.replace("	v_mov_b32 v6", "	s_mov_b64 exec, -1\n	v_mov_b32 v6")
    assert (V, 1) in at(body, "v_mov_b32_e32 v1, 0")
    # scalar registers have no lanes
    body = body.replace("v_mov_b32 v1, 0", "s_mov_b32 s9, 0\n	v_mov_b32 v7, s9")
    assert (S, 9) not in at(body, "s_mov_b32 s9, 0")


def test_a_loop_carries_registers_round() -> None:
    body = """
loop:
	v_mov_b32 v1, v8
	v_mov_b32 v8, v2
	s_cbranch_scc1 loop
	s_endpgm
"""
    assert (V, 8) in at(body, "s_cbranch_scc1")
    assert (V, 1) not in at(body, "s_cbranch_scc1")
