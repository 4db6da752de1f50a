"""The A/B table and its JSON: labels, figures at any width, wrong arms, hostile names."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from isaprof.ab.model import Arm, Change, Check, OutputDifference, Result, Sample
from isaprof.compare.align import compare
from isaprof.launch.verify import Verification
from isaprof.views.ab import cause_change, render, to_dict, verdict
from tests import synthetic_analysis as synthetic

RIGHT = Verification(True, 1e-6, 1e-5, 0.9999999, 64, 64, "within the tolerance", 0.01)
EQUAL = OutputDifference(1, 64, 64, 64, True, 0.0, 0.0, 0.01, 1.0, 0, "")


def result(provenance: str = "modelled", path: str = "a.co") -> Result:
    prog = synthetic.program(40, 0)
    a = synthetic.build(texts=prog, n_waves=3, provenance=provenance)
    b = synthetic.build(
        texts=[*prog[:9], ("s_nop 7", None, 0, 4), *prog[9:]], n_waves=3, provenance=provenance
    )
    arms = [
        Arm(
            n,
            path,
            "k",
            "gfx950",
            n * 64,
            n.lower() * 64,
            "k.launch.toml",
            (Check(1, RIGHT),),
            (Sample.of(x),),
        )
        for n, x in (("A", a), ("B", b))
    ]
    return Result(arms[0], arms[1], {"N": 64}, (1, 1), (EQUAL,), compare(a, b))


def printed(r: Result, width: int = 100) -> str:
    out = io.StringIO()
    render(r, console=Console(file=out, width=width, color_system=None))
    return out.getvalue()


@pytest.mark.parametrize("provenance", ["measured", "modelled"])
def test_cycles_are_labelled(provenance: str) -> None:
    text = printed(result(provenance))
    assert f"cycles, {provenance}" in text
    assert to_dict(result(provenance))["provenance"] == provenance


@pytest.mark.parametrize("width", [30, 80, 200])
def test_figures_are_whole_at_any_width(width: int) -> None:
    r = result()
    text = printed(r, width)
    for change in (r.span, r.wave_cycles):
        assert f"{int(change.a):,}" in text
        assert f"{int(change.b):,}" in text
    assert "1 inserted" in " ".join(text.split())


def test_lines_and_residual_sum_to_the_change_of_wave_cycles() -> None:
    r = result()
    assert r.lines_delta + r.residual_delta == r.wave_cycles.difference != 0
    body = json.loads(json.dumps(to_dict(r)))
    assert sum(x["delta"] for x in body["difference"]["rows"]) == body["difference"]["total_delta"]
    assert body["difference"]["total_delta"] == r.wave_cycles.difference
    assert {x["line_a"] for x in body["difference"]["rows"] if x["status"] == "inserted"} == {None}


def test_a_wrong_arm_is_named() -> None:
    r = result()
    wrong = replace(RIGHT, verified=False, message="3 of 64 elements outside the tolerance")
    r = replace(r, b=replace(r.b, checks=(Check(1, wrong, unwritten=2),)))
    text = printed(r)
    assert "WRONG" in text
    assert "B is wrong: seed 1: 2 elements never written; 3 of 64 elements outside" in " ".join(text.split())
    assert not r.correct
    assert to_dict(r)["b"]["verified"] is False


def test_arms_that_only_differ_from_each_other() -> None:
    r = replace(result(), outputs=(replace(EQUAL, equal=60, beyond=4, worst="C[3]: A 1, B 2", max_abs=1.0),))
    assert not r.correct
    assert "BEYOND TOLERANCE" in printed(r)
    assert "C[3]: A 1, B 2" in r.problem
    low = replace(r, outputs=(replace(EQUAL, cosine=0.5, cosine_limit=0.9),))
    assert not low.correct
    assert "the cosine" in low.problem


@pytest.mark.parametrize(
    ("lines", "causes", "said"),
    [
        ((4, 4), ("wait: global load", "wait: store"), "wait: global load -> wait: store"),
        ((4, 4), ("wait: store", "wait: store"), "wait: store"),
        ((4, 4), ("wait: store", ""), "wait: store -> no stall"),
        ((4, 4), ("", "wait: store"), "no stall -> wait: store"),
        ((4, 4), (None, float("nan")), ""),
        ((-1, 4), ("", "wait: store"), "wait: store"),
        ((4, -1), ("wait: store", ""), "wait: store"),
    ],
)
def test_a_changed_cause_names_both(lines: tuple[int, int], causes: tuple[object, object], said: str) -> None:
    row = dict(zip(("line_a", "line_b", "cause_a", "cause_b"), (*lines, *causes), strict=True))
    assert cause_change(row) == said


def test_the_table_prints_both_causes() -> None:
    r = result()
    rows = r.comparison.rows.copy()
    where = rows.index[(rows["line_a"] >= 0) & (rows["line_b"] >= 0) & (rows["rank"] > 0)][0]
    rows.loc[where, ["cause_a", "cause_b"]] = ["wait: global load", "wait: store"]
    r = replace(r, comparison=replace(r.comparison, rows=rows))
    assert "wait: global load -> wait: store" in printed(r, 80)


def test_names_cannot_control_the_terminal() -> None:
    text = printed(result(path="a\x1b[2J\u202e.co"))
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [(200, 100, "2.000x faster (-50.00 %)"), (100, 200, "2.000x slower (+100.00 %)"), (5, 5, "the same"),
     (0, 5, "no cycles to compare"), (5, 0, "no cycles to compare")],
)  # fmt: skip
def test_verdict(a: int, b: int, words: str) -> None:
    assert verdict(Change(a, b)) == words
