"""Two captures in one page: aligned, with deltas that are those of the comparison."""

from __future__ import annotations

import pytest

from .test_page import listed


@pytest.fixture(scope="module")
def pair(synthetic):
    a, b = synthetic.variant(60, 8)
    return synthetic.comparison(a, b)


def row_text(chrome, ref: int) -> list[str]:
    return chrome.js(f"[...document.getElementById('row{ref}').children].map(c => c.textContent)")


class TestComparison:
    """What changed, by cause and by line."""

    def test_silent_and_offline(self, chrome, page, pair):
        chrome.open(page(pair.a, pair))
        assert chrome.requests == []
        assert chrome.complaints == []

    def test_total_and_provenance(self, chrome, page, pair):
        chrome.open(page(pair.a, pair))
        verdict = chrome.js("document.querySelector('.verdict').textContent")
        assert f"{pair.delta_per_wave:+,.1f} cycles per wave" in verdict
        assert "modelled" in verdict
        text = chrome.js("document.querySelector('.diff').textContent")
        assert f"{pair.delta_cycles:+,}" in text

    def test_every_row_has_both_texts(self, chrome, page, pair):
        """B's texts are stored once where they equal A's: the page puts them together again."""
        chrome.open(page(pair.a, pair), height=4000)
        chrome.js("document.getElementById('grid').style.cssText = 'height:3000px;max-height:none'")
        chrome.settle()
        assert listed(chrome) == list(range(len(pair.rows)))
        for i, row in enumerate(pair.rows.itertuples()):
            cells = row_text(chrome, i)
            assert cells[-2:] == [row.text_a, row.text_b], i
            assert cells[3:5] == [str(n) if n >= 0 else "" for n in (row.line_a, row.line_b)]

    def test_deltas_and_marks(self, chrome, page, pair):
        chrome.open(page(pair.a, pair))
        top = pair.rows.set_index("rank", drop=False).loc[1]
        index = pair.rows.index[pair.rows["rank"] == 1][0]
        cells = row_text(chrome, index)
        assert cells[1].replace("−", "-") == f"{round(10 * top['delta_per_wave']) / 10:+,.1f}"
        assert cells[2] == "~"
        for status, css in (("inserted", "ins"), ("deleted", "del")):
            k = pair.rows.index[pair.rows["status"] == status][0]
            chrome.js(f"document.getElementById('grid').scrollTop = {22 * k}")
            chrome.settle()
            assert css in chrome.js(f"document.getElementById('row{k}').className").split()

    def test_single_views_are_reachable(self, chrome, page, pair):
        chrome.open(page(pair.a, pair))
        chrome.js("location.hash = '#B30'")
        chrome.settle()
        assert "s_setprio 3" in chrome.js("document.getElementById('detail').textContent")
        chrome.js(
            "(() => {const s = document.getElementById('which'); s.value = '1';"
            "s.dispatchEvent(new Event('change'))})()"
        )
        chrome.js("location.hash = '#B4'")
        chrome.settle()
        assert "s_waitcnt vmcnt(63)" in chrome.js("document.getElementById('detail').textContent")

    def test_mixing_is_loud(self, chrome, page, synthetic):
        a, b = synthetic.variant(40, 4, provenances=("measured", "modelled"))
        chrome.open(page(a, synthetic.comparison(a, b)))
        alarm = chrome.js("document.querySelector('header [role=alert]').textContent")
        assert "One capture is measured, the other modelled" in alarm
        assert chrome.js("[...document.querySelectorAll('header .badge')].map(b => b.textContent)") == [
            "measured",
            "modelled",
        ]
        assert chrome.js("document.querySelector('.verdict b').className") == ""

    def test_same_kind_is_not_loud(self, chrome, page, pair):
        chrome.open(page(pair.a, pair))
        assert chrome.js("document.querySelector('[role=alert]') === null")

    def test_plotly_with_two(self, chrome, page, pair):
        chrome.open(page(pair.a, pair, plotly="embed"))
        chrome.settle()
        assert chrome.js("document.querySelectorAll('.plot .main-svg').length") >= 5
        assert chrome.requests == []
        assert chrome.complaints == []

    def test_size_at_12000_lines_each(self, page, synthetic):
        a, b = synthetic.variant(12000, 8)
        assert page(a, synthetic.comparison(a, b)).stat().st_size < 2_000_000
