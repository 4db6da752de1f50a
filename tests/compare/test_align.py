"""compare(): every line once, deltas that add up, edits recognised."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.attribution.model import Cause
from isaprof.compare.align import compare, normalised, pair_lines
from isaprof.compare.model import Status
from tests import synthetic_analysis as synthetic

Line = tuple[str, Cause | None, int, int]


def edited(prog: list[Line], seed: int) -> list[Line]:
    """``prog`` with lines dropped, changed, inserted and one run moved."""
    rng = random.Random(seed)
    out = list(prog)
    del out[rng.randrange(len(out))]
    at = rng.randrange(len(out))
    out[at] = (out[at][0].split()[0] + " v255, v254", *out[at][1:])
    out.insert(rng.randrange(len(out)), ("s_nop 7", Cause.NOP, 30, 4))
    return out


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 5))
def test_every_line_once_and_deltas_sum_to_the_change(seed: int, waves_a: int, waves_b: int) -> None:
    prog = synthetic.program(40, seed)
    a = synthetic.build(n_waves=waves_a, texts=prog, seed=seed)
    other = edited(prog, seed)
    b = synthetic.build(n_waves=waves_b, texts=other, seed=seed + 1)
    c = compare(a, b)
    rows = c.rows
    assert sorted(rows.loc[rows["line_a"] >= 0, "line_a"]) == list(range(len(prog)))
    assert sorted(rows.loc[rows["line_b"] >= 0, "line_b"]) == list(range(len(other)))
    assert int(rows["delta"].sum()) == c.delta_cycles == b.total_cycles - a.total_cycles
    assert int(c.causes["delta"].sum()) == c.delta_cycles
    assert rows["delta_per_wave"].sum() == pytest.approx(c.delta_per_wave)
    assert int(rows["cycles_a"].sum()) == a.total_cycles
    assert {"launch", "drain"} <= set(rows.loc[rows["status"] == Status.RESIDUAL, "text_b"])


def test_a_capture_compared_with_itself_has_no_change() -> None:
    a = synthetic.build(60, 4)
    c = compare(a, a)
    assert set(c.rows["status"]) == {"same", "residual"}
    assert not c.rows["delta"].any()
    assert not c.rows["rank"].any()
    assert c.notes == ()


def test_inserted_deleted_changed_and_moved_are_told_apart() -> None:
    a = ["s_load x", "v_a 1", "v_b 2", "v_c 3", "v_d 4", "ds_x 0", "v_e 5", "s_endpgm"]
    b = ["s_load x", "v_b 2", "v_c 3", "v_d 40", "s_nop 0", "v_e 5", "ds_x 0", "s_endpgm"]
    found = {(str(s), i, j) for s, i, j in pair_lines(a, b)}
    assert ("deleted", 1, -1) in found
    assert ("changed", 4, 3) in found
    assert ("inserted", -1, 4) in found
    assert ("moved", 5, 6) in found or ("moved", 6, 5) in found


def test_branches_are_compared_by_what_they_lead_to() -> None:
    before: list[Line] = [("v_mov_b32 v0, 0", None, 0, 4), ("s_cbranch_scc1 65533", Cause.BRANCH, 8, 4),
              ("s_endpgm", None, 0, 4)]  # fmt: skip
    after = [before[0], ("s_nop 0", Cause.NOP, 4, 4), ("s_cbranch_scc1 65531", Cause.BRANCH, 8, 4), before[2]]
    a, b = synthetic.build(texts=before, n_waves=1), synthetic.build(texts=after, n_waves=1)
    # the synthetic code has 8 bytes a line: both go back to the first one
    assert normalised(a)[1] == normalised(b)[2] == "s_cbranch_scc1 back v_mov_b32"
    c = compare(a, b)
    assert c.counts == {"same": 3, "changed": 0, "moved": 0, "inserted": 1, "deleted": 0}


def test_what_makes_two_captures_hard_to_compare_is_said() -> None:
    a = synthetic.build(20, 2, provenance="measured")
    b = synthetic.build(20, 3, kernel="other")
    notes = " ".join(compare(a, b).notes)
    assert "measured" in notes
    assert "other" in notes
    assert "2 and 3 traced waves" in notes


def test_captures_without_traced_waves_compare() -> None:
    c = compare(synthetic.empty(), synthetic.build(12, 2))
    assert c.waves_a == 0
    assert int(c.rows["delta"].sum()) == c.cycles_b
