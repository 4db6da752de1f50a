"""Instruction fetch of a CDNA CU: cold code, and SIMDs that walk it together."""

from __future__ import annotations

from isaprof.sim.timing import Place
from tests.sim.timing.programs import gaps, issues, listing, run, straight


def test_four_simds_share_the_fetch_of_cold_code() -> None:
    """Published: their first instructions 44 cycles apart, bubbles of 28 to 64 in straight-line code."""
    program = listing("gfx950", *["v_mov_b32_e32 v1, v0"] * 40, "s_endpgm")  # 160 bytes: one more block
    waves = [straight(program, number=n) for n in range(4)]
    places = [[Place(simd, 0, 4 * n) for n, simd in enumerate((0, 2, 1, 3))]]
    out = run(program, [waves], places=places, warm=False)
    first = [issues(out, w)[0] for w in range(4)]
    assert first == [720, 736, 748, 764]
    for w in range(4):
        code = gaps(out, w)[:39]
        assert code.count(4) == 38  # one bubble, where the second block begins
        assert code.index(max(code)) == 31
        assert 28 <= max(code) - 4 <= 64


def test_a_block_that_is_there_costs_nothing() -> None:
    """A wave that comes later finds warm code."""
    program = listing("gfx950", *["v_mov_b32_e32 v1, v0"] * 40, "s_endpgm")
    waves = [straight(program, number=n) for n in range(2)]
    out = run(program, [waves], places=[[Place(0, 0, 0), Place(2, 0, 3000)]], warm=False)
    assert max(gaps(out, 0)[:39]) == 32
    assert set(gaps(out, 1)[:39]) == {4}
    assert issues(out, 1)[0] - 3000 in (28, 32)


def test_a_branch_to_cold_code_takes_as_long_as_measured() -> None:
    """232 to 252 cycles from the branch to the first instruction at a target that is not in the cache."""
    program = listing("gfx950", "s_branch 40", *["s_nop 0"] * 40, "v_mov_b32_e32 v1, v0", "s_endpgm")
    wave = straight(program)
    wave.lines = wave.lines[[0, 41, 42]]
    wave.taken = frozenset({0})
    assert 232 <= gaps(run(program, [[wave]], warm=False))[0] <= 252
