"""Which workgroups run and which are timed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof import arch
from isaprof.backends.sampling import linear, select, timed, unit_name, units, unlinear
from isaprof.errors import UsageError

dims = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 5))


@given(dims, st.integers(0, 500))
def test_linear_inverts_unlinear(grid: tuple[int, int, int], i: int) -> None:
    i %= grid[0] * grid[1] * grid[2]
    assert linear(unlinear(i, grid), grid) == i


@given(dims, st.integers(1, 500))
def test_a_number_selects_that_many_distinct_workgroups_inside_the_grid(
    grid: tuple[int, int, int], n: int
) -> None:
    s = select(str(n), grid)
    total = grid[0] * grid[1] * grid[2]
    assert s.count == min(n, total)
    if s.run is not None:
        assert len(set(s.run)) == n
        assert all(a < b for w in s.run for a, b in zip(w, grid, strict=True))
        assert s.run[0] == (0, 0, 0)


def test_one_workgroup_by_id() -> None:
    assert select("3,2", (4, 4, 1)).run == ((3, 2, 0),)
    assert select("all", (4, 4, 1)).run is None


@pytest.mark.parametrize("text", ["0", "-1", "4,0,0", "x", "", "1,2,3,4", "1.5", "0,4", "9" * 30])
def test_bad_selections_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError, match="--workgroups"):
        select(text, (4, 4, 1))


def test_round_robin_gives_unit_zero_every_nth_workgroup() -> None:
    grid = (32, 32, 1)
    got = timed(select("all", grid), grid, 48, 1000)
    assert len(got) == 22
    assert [linear(w, grid) for w in got[:3]] == [0, 48, 96]
    assert len(timed(select("all", grid), grid, 48, 5)) == 5


def test_at_least_one_workgroup_is_timed() -> None:
    grid = (32, 32, 1)
    assert timed(select("1,0,0", grid), grid, 48, 100) == ((1, 0, 0),)
    assert timed(select("all", (2, 1, 1)), (2, 1, 1), 48, 100) == ((0, 0, 0),)


def test_units_come_from_the_architecture_table() -> None:
    assert (units(arch.get("gfx942")), unit_name(arch.get("gfx942"))) == (304, "CU")
    assert (units(arch.get("gfx1151")), unit_name(arch.get("gfx1151"))) == (20, "WGP")
