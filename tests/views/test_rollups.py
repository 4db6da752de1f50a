"""Every listing of ``isaprof show --by``: text and JSON tell the same, and what is missing is said."""

from __future__ import annotations

import io
import json
from functools import lru_cache
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from isaprof.attribution import Analysis, analyse
from isaprof.attribution.groups import LISTINGS
from isaprof.cli.show import By
from isaprof.errors import BadInput, UsageError
from isaprof.views.grids import banks, in_flight, kinds
from isaprof.views.json import to_dict
from isaprof.views.loops import gaps
from isaprof.views.table import render
from tests import synthetic_analysis as synthetic
from tests.attribution.build import Wave, capture, memory_table
from tests.attribution.test_recorded_loops import PROGRAM, WAVES

#: key of the JSON object and words of the text for each listing
SHOWN = {
    "line": ("lines", "Hottest lines"), "source": ("sources", "By source"),
    "culprit": ("culprits", "By culprit"), "cause": ("causes", "Where the cycles went"),
    "category": ("categories", "By category"), "kind": ("kinds", "By kind"), "block": ("blocks", "By block"),
    "loop": ("loops", "Whole kernel"), "gap": ("gaps", "Idle stretches"), "kernel": ("kernels", "By kernel"),
    "bank": ("banks", "LDS bank conflicts"), "vgpr-bank": ("vgpr_banks", "no conflict of VGPR banks"),
    "se": ("by_se", "By se"), "cu": ("by_cu", "By cu"), "simd": ("by_simd", "By simd"),
    "wave": ("by_wave", "By wave"), "time": ("timeline", "Over time"),
    "in-flight": ("in_flight", "Waves in flight"),
}  # fmt: skip


@lru_cache(maxsize=1)
def attention() -> Analysis:
    """The loop of tests/attribution/test_recorded_loops.py, with LDS addresses."""
    cap = capture("gfx950", PROGRAM, WAVES)
    cap._tables["memory"] = memory_table([(0, 1, 12, 4)]).assign(lanes=64, stride=128, clash="0,2,12,14")
    return analyse(cap)


def printed(a: Analysis, by: str, **kwargs: Any) -> str:
    out = io.StringIO()
    render(a, console=Console(file=out, width=200, color_system=None), by=by, **kwargs)
    return out.getvalue()


def body(a: Analysis, by: str, **kwargs: Any) -> list[dict[str, Any]]:
    whole = json.loads(json.dumps(to_dict(a, by=by, **kwargs), allow_nan=False))
    rows: list[dict[str, Any]] = whole[SHOWN[by][0]]
    return rows


def test_the_command_the_listings_and_this_test_know_the_same() -> None:
    assert {b.value for b in By} == set(LISTINGS) == set(SHOWN)


@pytest.mark.parametrize("by", list(SHOWN))
def test_text_and_json(by: str) -> None:
    a = attention()
    assert SHOWN[by][1] in printed(a, by)
    rows = body(a, by)
    assert rows or by == "vgpr-bank"


@pytest.mark.parametrize("by", ["category", "kind", "block", "kernel", "se", "cu", "simd", "source"])
def test_rollups_are_partitions_and_their_figures_are_printed(by: str) -> None:
    a = attention()
    rows, text = body(a, by), printed(a, by)
    assert sum(r["cycles"] for r in rows) == a.total_cycles
    for row in rows:
        split = "stall_" if by == "kind" else ""
        for name in ("cycles", f"{split}exposed", f"{split}hidden", f"{split}covered"):
            assert f"{row[name]:,}" in text, name


def test_a_loop_in_words() -> None:
    text = printed(attention(), "loop")
    loop = body(attention(), "loop")[1]
    for words in (
        f"iterations        {loop['iterations']} in 4 runs, 5 to 5 a wave",
        f"median {loop['t_iter_median']:,.0f}, p90 {loop['t_iter_p90']:,.0f}",
        f"exposed {loop['exposed']:,}, hidden {loop['hidden']:,}, covered {loop['covered']:,}",
        f"busy {100 * loop['matrix_efficiency']:.1f}% of its SIMDs' time: 20 instructions, 640 cycles",
        f"stalls            wait vmcnt {100 * loop['stalls']['wait vmcnt'] / loop['cycles']:.1f}%, load ",
        "skeleton          R1 w M1 G1 w B",
    ):
        assert words in text


def test_the_idle_matrix_pipe_names_who_left_it_idle() -> None:
    a = attention()
    assert a.detail is not None
    grid = gaps(a, a.detail.gaps, 2)
    assert len(grid.rows) == 2 * a.detail.gaps["loop"].nunique()
    first = [c.text for c in grid.rows[-2]]
    assert first[0] == "0"
    assert first[3:] == ["load", "8", "7", PROGRAM[7]]
    assert gaps(a, a.detail.gaps[:0], 2).empty == "no SIMD executed two matrix instructions"


def test_bank_conflicts_with_degree_pattern_and_evidence() -> None:
    text = printed(attention(), "bank")
    assert "conflicts: addresses from the capture (simulated kernel)" in text
    (row,) = body(attention(), "bank")
    assert (row["degree"], row["extra"], row["stride"], row["clash"], row["charged"]) == (
        3.0, 8, 128, "0,2,12,14", 8,
    )  # fmt: skip
    assert "0,2,12,14" in text
    nothing = banks("bank", pd.DataFrame({"line": [], "evidence": []}))
    assert (nothing.rows, nothing.empty) == ((), "no LDS access was executed")


def test_a_capture_without_source_lines_says_so() -> None:
    assert "no source lines: neither the capture nor a line table" in printed(attention(), "source")


def test_vgpr_banks_in_words() -> None:
    wave = Wave()
    for _ in range(3):
        wave.add(0, issue=1).add(1, idle=1, issue=1)
    a = analyse(capture("gfx1100", ["v_fma_f32 v1, v4, v8, v12", "v_mov_b32_e32 v20, v21"], [wave]))
    (row,) = body(a, "vgpr-bank")
    assert (row["form"], row["possible"], row["charged"]) == ("VOP3", 3, 3)
    assert "VGPR bank conflicts" in printed(a, "vgpr-bank")


def test_the_life_of_a_wave_and_the_waves_in_flight() -> None:
    a = attention()
    rows = body(a, "time", wave=2)
    begin, end = WAVES[2].begin, rows[-1]["end"]
    assert rows[0]["begin"] == begin
    assert sum(v for r in rows for k, v in r.items() if k not in ("begin", "end")) == end - begin
    assert "The life of wave 2" in printed(a, "time", wave=2)
    with pytest.raises(UsageError, match="wave 9 has no instruction records; traced are 0, 1, 2, 3"):
        body(a, "time", wave=9)
    flight = body(a, "in-flight")
    assert [r["waves"] for r in flight][:3] == [2, 3, 4]
    grid = in_flight(pd.DataFrame(flight))
    assert [c.text for c in grid.rows[0]] == ["0", "1,000", "2"]


def test_kinds_show_only_classes_that_occur() -> None:
    a = analyse(capture("gfx950", ["v_mov_b32_e32 v0, 0", "s_endpgm"], [Wave().add(0, stall=8).add(1)]))
    assert a.detail is not None
    names = [n for n, _ in kinds(a.detail.by("kind"), a.detail.classes).columns]
    assert "unknown" in names
    assert not {"hidden", "covered"} & set(names)


@pytest.mark.parametrize("by", [b for b in SHOWN if b not in ("line", "cause", "culprit", "wave")])
def test_sums_only_know_no_rollups(by: str) -> None:
    with pytest.raises(BadInput, match="no instruction records"):
        printed(synthetic.build(20, 2), by)


@pytest.mark.parametrize("by", list(SHOWN))
def test_a_capture_without_waves_lists_nothing(by: str) -> None:
    a = analyse(capture("gfx950", PROGRAM, []))
    assert "0 waves traced" in printed(a, by)
    json.dumps(to_dict(a, by=by), allow_nan=False)
