"""Loop depth and labels decide which of several equal lines are the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from isaprof.compare.align import pair_lines
from isaprof.compare.context import Place, depths, destination
from isaprof.compare.model import Status


def test_destination_is_relative_to_the_next_instruction() -> None:
    assert destination(0x100, "3") == 0x110
    assert destination(0x100, "65535") == 0x100
    assert destination(0x100, "s[4:5]") is None


def test_depth_counts_the_loops_around_a_line() -> None:
    texts = [
        "s_mov",
        "v_outer",
        "v_inner",
        "s_cbranch_scc1 65534",
        "v_after",
        "s_cbranch_scc0 65531",
        "s_endpgm",
    ]
    pcs = [4 * i for i in range(7)]
    assert depths(pcs, texts) == [0, 1, 2, 2, 1, 1, 0]


def test_two_branches_to_one_header_are_one_loop() -> None:
    texts = ["v_a", "s_cbranch_scc1 65534", "v_b", "s_branch 65532", "s_cbranch_scc1 3", "s_endpgm"]
    assert depths([4 * i for i in range(6)], texts) == [1, 1, 1, 1, 0, 0]


def looped(before: list[str], body: list[str], after: list[str]) -> tuple[list[str], list[Place]]:
    where = [Place()] * len(before) + [Place(1)] * len(body) + [Place()] * len(after)
    return before + body + after, where


def test_an_equal_line_in_front_of_the_loop_is_not_the_one_inside() -> None:
    a, at_a = looped(["v_x"], ["ds_load", "v_y"], ["s_endpgm"])
    b, at_b = looped(["v_x", "ds_load"], ["v_y"], ["s_endpgm"])
    assert (Status.SAME, 1, 1) in pair_lines(a, b), "without places: the same line"
    b, at_b = looped(["v_x", "ds_load", "s_nop 1"], ["ds_load", "v_y"], ["s_endpgm"])
    rows = pair_lines(a, b, at_a, at_b)
    assert (Status.SAME, 1, 3) in rows
    assert (Status.INSERTED, -1, 1) in rows


def test_a_loop_that_got_an_outer_loop_is_still_the_same() -> None:
    a, at_a = looped(["v_x"], ["ds_load", "v_y", "v_z"], ["s_endpgm"])
    at_b = [Place(p.depth + 1) for p in at_a]
    assert {s for s, _, _ in pair_lines(a, a, at_a, at_b)} == {Status.SAME}


def test_the_label_tells_equal_lines_apart() -> None:
    a, at_a = ["v_x", "v_y"], [Place(), Place()]
    b, at_b = ["v_x", "s_nop 0", "v_x", "v_y"], [Place(), Place(), Place(0, "here"), Place()]
    assert (Status.SAME, 0, 0) in pair_lines(a, b, at_a, at_b)
    assert (Status.SAME, 0, 2) in pair_lines(a, b, [Place(0, "here"), Place()], at_b)


PROGRAM = st.lists(
    st.tuples(st.sampled_from(["v_a 1", "v_a 2", "v_b 1", "s_c"]), st.integers(0, 2)), max_size=30
)


@given(PROGRAM, PROGRAM)
def test_every_line_once_and_in_order(a: list[tuple[str, int]], b: list[tuple[str, int]]) -> None:
    texts = [[t for t, _ in x] for x in (a, b)]
    at = [[Place(d) for _, d in x] for x in (a, b)]
    rows = pair_lines(*texts, *at)
    assert sorted(i for _, i, _ in rows if i >= 0) == list(range(len(a)))
    assert [j for _, _, j in rows if j >= 0] == list(range(len(b)))
    for status, i, j in rows:
        if status in (Status.SAME, Status.MOVED):
            assert texts[0][i] == texts[1][j]
        if status is Status.CHANGED:
            assert texts[0][i].split()[0] == texts[1][j].split()[0]
            assert at[0][i] == at[1][j]
