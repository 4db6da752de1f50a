"""Exposure, loops, banks, time and roll-ups of the page: the analysis' figures, readable without script."""

from __future__ import annotations

import dataclasses

import pytest

from isaprof.attribution import Analysis, analyse
from isaprof.compare.align import compare
from isaprof.views.exposure import Split
from isaprof.views.html.details import MOST, split_payload
from isaprof.views.html.payload import script_json
from isaprof.views.html.steps import HEIGHT, WIDTH, distribution
from tests.attribution.build import Wave, capture
from tests.synthetic_loops import OTHER, PROGRAM, looped

from .test_page import HOSTILE, listed, selected


@pytest.fixture(scope="module")
def one() -> Analysis:
    return looped()


@pytest.fixture(scope="module")
def one_page(page, one):
    return page(one)


@pytest.fixture(scope="module")
def pair():
    return compare(looped(), looped(OTHER, 16, provenance="modelled"))


@pytest.fixture(scope="module")
def pair_page(page, pair):
    return page(pair.a, pair)


def text(chrome, selector: str) -> str:
    return chrome.js(f"document.querySelector('{selector}').textContent")


def rows(chrome, selector: str) -> list[list[str]]:
    return chrome.js(
        f"[...document.querySelectorAll('{selector} tbody tr')]"
        ".map(r => [...r.cells].map(c => c.textContent))"
    )


class TestOneCapture:
    """Sections of one capture."""

    def test_the_figures_are_those_of_the_analysis(self, chrome, one_page, one) -> None:
        chrome.open(one_page)
        assert chrome.complaints == []
        assert chrome.requests == []
        loop = one.detail.loops.set_index("loop").loc[0]
        assert text(chrome, "#loops-L .loop:last-of-type .skeleton code") == loop["skeleton"] == "R1 w M1"
        facts = text(chrome, "#loops-L .loop:last-of-type dl")
        assert f"median {loop['t_iter_median']:,.0f}" in facts
        assert f"prologue {loop['prologue']:,}, loop {loop['cycles']:,}" in facts
        assert "LDS cover" in facts
        by = one.detail.by("category").set_index("cause")
        for cells in rows(chrome, "#exposure-L .grid"):
            values = by.loc[cells[0], ["exposed", "hidden", "unknown"]]
            assert {f"{v:,}" for v in values} <= set(cells)
        banks = rows(chrome, "#banks-L .grid")
        assert banks[0][:2] == ["1", PROGRAM[1]]
        assert one.detail.conflicts["evidence"][0] in text(chrome, "#banks-L caption")
        assert "No conflict of VGPR banks." in text(chrome, "#banks-L")
        assert chrome.js("document.querySelectorAll('#time-L .chart').length") == 3
        assert {"By SIMD", "By wave", "By basic block"} <= set(
            chrome.js("[...document.querySelectorAll('#places-L h3')].map(h => h.textContent)")
        )

    def test_every_section_says_measured_and_collapses(self, chrome, one_page, one) -> None:
        chrome.open(one_page)
        for name in ("exposure", "loops", "banks", "time", "places"):
            assert "measured" in text(chrome, f"#{name}-L"), name
        chrome.js("document.querySelector('#loops-L summary').click()")
        assert not chrome.js("document.querySelector('#loops-L').open")

    def test_tables_need_no_script(self, chrome, one_page, one) -> None:
        chrome.open(one_page, script=False)
        body = chrome.call("DOM.getDocument", depth=-1)
        html = chrome.call("DOM.getOuterHTML", nodeId=body["root"]["nodeId"])["outerHTML"]
        assert "<code>R1 w M1</code>" in html
        assert "Wave cycles by wave, measured" in html

    def test_the_listing_splits_waits_and_heats_by_exposed(self, chrome, one_page, one) -> None:
        chrome.open(one_page)
        line = one.detail.lines.set_index("line").loc[2]
        cell = chrome.js("document.querySelector('#row2 .split').textContent")
        assert cell == f"{line['exposed']:,}"
        detail = text(chrome, "#detail")
        assert f"{line['exposed']:,}" in rows(chrome, ".hot")[0]
        assert selected(chrome) == 2
        for name in one.detail.classes:
            assert f"{name}  {line[name]:,}" in detail or not line[name]
        chrome.js("document.getElementById('exposed').click()")
        ranked = one.detail.most_exposed["line"].tolist()
        assert selected(chrome) == ranked[0]
        chrome.js(
            "[...document.querySelectorAll('#gridhead button')].find(b => b.textContent == 'heat').click()"
        )
        assert listed(chrome)[: len(ranked)] == ranked

    def test_links_lead_to_the_listing(self, chrome, one_page, one) -> None:
        chrome.open(one_page)
        chrome.js("document.querySelector('#banks-L .grid a').click()")
        chrome.settle()
        assert selected(chrome) == 1

    def test_plotly_has_iterations_flight_and_life(self, page, one) -> None:
        text = page(one, plotly="cdn").read_text()
        for label in ("cycles of an iteration", "waves in flight", "life of the longest traced wave"):
            assert f'"label":"{label}' in text, label


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: analyse(capture("gfx950", PROGRAM, [])), "No wave of this capture was traced"),
        (
            lambda: analyse(capture("gfx1151", ("s_nop 0", "s_endpgm"), [Wave().straight((0, 1))])),
            "No LDS access",
        ),
        (lambda: dataclasses.replace(looped(), detail=None), "Sums of each instruction only: exposure"),
        (lambda: looped(waves=1), "R1 w M1"),
    ],
)
def test_captures_without_waves_loops_or_records(chrome, page, make, says) -> None:
    chrome.open(page(make()))
    assert says in chrome.js("document.body.textContent")
    assert chrome.complaints == []


def test_texts_of_others_stay_texts(chrome, page) -> None:
    a = looped()
    for frame in (a.lines, a.detail.conflicts, a.detail.lines):
        frame["text"] = HOSTILE
    chrome.open(page(dataclasses.replace(a, kernel=HOSTILE)))
    assert chrome.js("window.hacked === undefined && !document.images.length")
    assert HOSTILE in text(chrome, "#banks-L")
    assert HOSTILE in text(chrome, "#loops-L")
    assert chrome.complaints == []


class TestTwoCaptures:
    """A and B side by side."""

    def test_skeletons_iterations_and_exposed_waits(self, chrome, pair_page, pair) -> None:
        chrome.open(pair_page)
        assert chrome.complaints == []
        cells = [x[1:] for x in _skeleton(chrome)]
        assert cells == [["R1", "w", "M1"], ["R2", "w", "M1"], ["~", "", ""]]
        figures = {r[0]: r[1:] for r in rows(chrome, "#loops-AB .loop:last-of-type .figures")}
        assert figures["cycles/iteration, median"] == ["56", "36", "-20"]
        exposed = [int(x.detail.by("category")["exposed"].sum()) / 2 for x in (pair.a, pair.b)]
        assert rows(chrome, "#exposure-AB .grid")[0][1:3] == [f"{x:,.1f}" for x in exposed]

    def test_a_row_of_both_names_the_split_of_each(self, chrome, pair_page, pair) -> None:
        chrome.open(pair_page)
        chrome.js("location.hash = '#A2'")
        chrome.settle()
        for analysis in (pair.a, pair.b):
            of = analysis.detail.lines.set_index("text").loc[PROGRAM[2], "exposed"]
            assert f"exposed{of:,}" in text(chrome, "#detail")

    def test_each_side_says_what_it_is(self, chrome, pair_page, pair) -> None:
        chrome.open(pair_page)
        assert "A measured, B modelled" in text(chrome, "#loops-AB caption")
        assert "A measured, B modelled" in text(chrome, "#exposure-AB caption")
        assert "measured" in text(chrome, "#loops-A caption")
        assert "modelled" in text(chrome, "#loops-B caption")

    def test_long_skeletons_are_lines_instead_of_a_table(self, chrome, page) -> None:
        unrolled = ("ds_read_b128 v[4:7], v1", "s_waitcnt lgkmcnt(0)") * 200
        sides = [
            analyse(
                capture("gfx950", (*unrolled, *more, "s_endpgm"), [Wave().straight(range(401 + len(more)))])
            )
            for more in ((), ("s_barrier",))
        ]
        chrome.open(page(sides[0], compare(*sides)))
        lines = chrome.js("[...document.querySelectorAll('#loops-AB .skeleton')].map(p => p.textContent)")
        assert lines == ["A " + "R1 w " * 199 + "R1 w", "B " + "R1 w " * 199 + "R1 w B"]

    def test_sums_only_have_no_pair(self, page, pair, synthetic) -> None:
        a, b = synthetic.variant(20, 2)
        assert 'id="loops-AB"' not in page(a, synthetic.comparison(a, b)).read_text()


def _skeleton(chrome) -> list[list[str]]:
    return rows(chrome, "#loops-AB .loop:last-of-type .skeletons")


def test_a_real_trace(chrome, page, data_dir) -> None:
    from isaprof.backends.recorded import open_recording
    from isaprof.capture.model import Capture

    raw = open_recording(data_dir / "sqtt" / "gfx1100" / "gemm_run0").read(0)
    a = analyse(Capture({**raw.meta, "warnings": []}, raw.tables, raw.code_objects))
    chrome.open(page(a))
    assert chrome.complaints == []
    assert a.detail.loops["skeleton"][0] in text(chrome, "#loops-L")
    assert "measured" in text(chrome, "#time-L")


def test_the_split_of_12000_lines_is_small() -> None:
    parts = {i: (1000 + i, i % 97, 0, i % 13) for i in range(12000)}
    heat = dict.fromkeys(parts, 0.5)
    payload = split_payload(Split(("exposed", "hidden", "covered", "unknown"), parts, heat, tuple(parts)))
    assert len(script_json(payload)) < 400_000


def test_long_tables_are_cut_and_say_so(chrome, page) -> None:
    waves = [Wave(8 * w, slot=w).straight((0, 1)) for w in range(MOST + 5)]
    chrome.open(page(analyse(capture("gfx1151", ("s_nop 0", "s_endpgm"), waves))))
    assert "the first 40, 5 more by isaprof show --by" in text(chrome, "#places-L")


def test_bars_of_a_distribution_lie_in_the_chart() -> None:
    chart = distribution([(10, 20, 1), (20, 30, 0), (30, 40, 3)], "#fff", span=(0, 99))
    assert chart is not None
    assert chart.paths[0][2].startswith(f"M{WIDTH / 10:.1f} {HEIGHT * 2 / 3:.1f}h60.0")
    assert (chart.ticks[0], chart.ticks[-1]) == ("0", "99")
    assert distribution([], "#fff") is None
    assert distribution([(5, 6, 9)], "#fff") is None
