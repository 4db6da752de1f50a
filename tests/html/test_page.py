"""The report in a real browser: nothing fetched, nothing injected, everything reachable."""

from __future__ import annotations

import pytest

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&{{7*7}}"


@pytest.fixture(scope="module")
def small(synthetic):
    return synthetic.build(60, 8, provenance="measured")


@pytest.fixture(scope="module")
def big(synthetic):
    return synthetic.build(12000, 16)


class TestSelfContained:
    """The file needs nothing but itself."""

    def test_no_request_and_a_silent_console(self, chrome, page, small):
        chrome.open(page(small))
        chrome.js("document.getElementById('theme').click()")
        chrome.settle()
        assert chrome.requests == []
        assert chrome.complaints == []

    def test_the_browser_would_refuse_a_request(self, chrome, page, small):
        chrome.open(page(small))
        outcome = chrome.js("fetch('https://example.org/').then(() => 'sent', () => 'refused')")
        assert outcome == "refused"
        assert any("Content Security Policy" in c for c in chrome.complaints)

    def test_size_at_12000_lines(self, page, big):
        size = page(big).stat().st_size
        assert size < 2_000_000
        assert size > 500_000

    def test_same_bytes_again(self, page, synthetic):
        one = page(synthetic.build(300, 8)).read_bytes()
        two = page(synthetic.build(300, 8)).read_bytes()
        assert one == two

    def test_readable_without_script(self, chrome, page, small):
        chrome.open(page(small), script=False)
        body = chrome.call("DOM.getDocument", depth=-1)
        html = chrome.call("DOM.getOuterHTML", nodeId=body["root"]["nodeId"])["outerHTML"]
        hottest = small.lines.sort_values("rank").query("rank == 1").iloc[0]
        assert "needs JavaScript" in html
        assert f'id="hot-L{hottest.line}"' in html


class TestHostileTexts:
    """Texts of somebody else's capture stay texts."""

    @pytest.fixture(scope="class")
    def hostile(self, synthetic):
        import dataclasses

        a = synthetic.build(40, 4, kernel=HOSTILE, meta={"launch": {HOSTILE: HOSTILE}, "warnings": []})
        lines = a.lines.copy()
        lines["text"] = lines["text"] + " ; " + HOSTILE
        lines["source"] = HOSTILE
        lines["label"] = [HOSTILE] * len(lines)
        warnings = [{"kind": HOSTILE, "message": HOSTILE, "amount": 3, "unit": HOSTILE}]
        return dataclasses.replace(a, lines=lines, notes=(HOSTILE,), meta={**a.meta, "warnings": warnings})

    def test_nothing_runs_and_nothing_is_lost(self, chrome, page, hostile):
        chrome.open(page(hostile))
        chrome.settle()
        assert chrome.js("window.hacked === undefined")
        assert chrome.js("document.images.length") == 0
        assert HOSTILE in chrome.js("document.querySelector('h1').textContent")
        assert HOSTILE in chrome.js("document.getElementById('detail').textContent")
        assert chrome.complaints == []

    def test_search_marks_it_as_text(self, chrome, page, hostile):
        chrome.open(page(hostile))
        chrome.js(
            "(() => {const s = document.getElementById('search'); s.value = '</script>';"
            "s.dispatchEvent(new Event('input'))})()"
        )
        assert chrome.js("document.querySelector('#canvas mark').textContent") == "</script>"
        assert chrome.js("window.hacked === undefined")


def listed(chrome) -> list[int]:
    """Refs of the rows that exist in the page, in screen order."""
    return chrome.js(
        "[...document.querySelectorAll('#canvas .row')].filter(r => !r.hidden)"
        ".sort((a, b) => parseFloat(a.style.top) - parseFloat(b.style.top)).map(r => +r.dataset.ref)"
    )


def selected(chrome) -> int:
    return chrome.js("+document.querySelector('#canvas .row.sel').dataset.ref")


class TestListing:
    """The annotated listing behaves like a listing of an editor."""

    def test_only_visible_rows_exist(self, chrome, page, big):
        chrome.open(page(big))
        assert chrome.js("document.querySelectorAll('#canvas .row').length") < 100
        chrome.js("document.getElementById('grid').scrollTop = 200000")
        chrome.settle()
        rows = listed(chrome)
        assert 200000 // 22 - 14 <= max(rows) <= 12000
        assert chrome.js("document.querySelectorAll('#canvas .row').length") < 100

    def test_reused_rows_show_what_their_place_holds(self, chrome, page, big):
        """Rows are recycled while scrolling: each must still show its own line."""
        chrome.open(page(big))
        for top in (0, 300, 310, 5000, 4700, 263000, 40):
            chrome.js(f"document.getElementById('grid').scrollTop = {top}")
            chrome.settle()
            shown = chrome.js(
                "[...document.querySelectorAll('#canvas .row:not(.label)')].filter(r => !r.hidden)"
                ".map(r => [+r.dataset.ref, r.children[1].textContent, r.lastChild.textContent])"
            )
            assert len({ref for ref, _, _ in shown}) == len(shown)
            for ref, line, text in shown:
                assert (int(line), text) == (ref, big.lines["text"][ref])

    def test_starts_at_the_hottest_line(self, chrome, page, small):
        chrome.open(page(small))
        rank = small.lines.set_index("rank")["line"]
        assert selected(chrome) == rank[1]
        chrome.js("document.getElementById('grid').focus()")
        chrome.key("n")
        assert selected(chrome) == rank[2]
        chrome.key("N")
        assert selected(chrome) == rank[1]

    def test_culprit_key_and_link(self, chrome, page, small):
        chrome.open(page(small))
        top = small.lines.set_index("rank").loc[1]
        assert top["culprit"] >= 0
        chrome.js("document.getElementById('grid').focus()")
        chrome.key("c")
        assert selected(chrome) == top["culprit"]
        chrome.js(f"location.hash = '#L{top['line']}'")
        chrome.settle()
        assert selected(chrome) == top["line"]

    def test_arrow_keys_move(self, chrome, page, small):
        chrome.open(page(small))
        chrome.js("document.getElementById('grid').focus()")
        chrome.key("Home")
        assert selected(chrome) == 0
        chrome.key("ArrowDown")
        assert selected(chrome) == 1
        chrome.key("End")
        assert selected(chrome) == 59

    def test_sort_by_column(self, chrome, page, small):
        chrome.open(page(small))
        buttons = "[...document.querySelectorAll('#gridhead button')]"
        chrome.js(f"{buttons}.find(b => b.textContent == 'stall').click()")
        order = small.lines.sort_values(["stall", "line"], ascending=[False, True])["line"].tolist()
        assert listed(chrome)[:10] == order[:10]

    def test_filter_by_cause_and_text(self, chrome, page, small):
        chrome.open(page(small))
        barrier = small.line_causes.query("cause == 'barrier'")["line"].sort_values().tolist()
        chrome.js(
            "(() => {const s = document.getElementById('cause'); s.value = 'barrier';"
            "s.dispatchEvent(new Event('change'))})()"
        )
        assert listed(chrome) == barrier
        assert chrome.js("document.getElementById('count').value") == f"{len(barrier)} of 60 lines"

    def test_detail_numbers_are_the_analysis(self, chrome, page, small):
        chrome.open(page(small))
        top = small.lines.set_index("rank").loc[1]
        detail = chrome.js("document.getElementById('detail').textContent")
        for value in (top["stall"], top["idle"], top["latency"], top["hits"]):
            assert f"{value:,}" in detail
        assert top["text"] in detail
        causes = small.line_causes.query(f"line == {top['line']}")
        for row in causes.itertuples():
            assert f"{row.cause}  {row.cycles:,} cycles" in detail


def test_cycles_lost_while_issuing_count_as_heat(chrome, page, synthetic):
    """A barrier that holds its wave while it issues has no wait, but is hot."""
    import dataclasses

    a = synthetic.build(40, 4)
    lines = a.lines.copy()
    quiet = int(lines.index[lines["wait"] == 0][3])
    top = int(lines["lost"].max()) * 2
    lines.loc[quiet, ["lost", "issue", "held"]] = top
    lines.loc[quiet, "cause"] = "barrier"
    lines["heat"] = lines["lost"] / top
    lines["rank"] = lines["rank"].where(lines["rank"] == 0, lines["rank"] + 1)
    lines.loc[quiet, "rank"] = 1
    chrome.open(page(dataclasses.replace(a, lines=lines)))
    assert selected(chrome) == quiet
    assert chrome.js("document.querySelector('#canvas .row.sel .heat i').style.width") == "100%"
    detail = chrome.js("document.getElementById('detail').textContent")
    assert f"lost{top:,}" in detail
    assert f"held while it issues{top:,}" in detail
    assert "causebarrier" in detail
    assert "0 cycles" not in detail


class TestLabels:
    """Every page says whether its cycles are measured or modelled."""

    @pytest.mark.parametrize("provenance", ["measured", "modelled"])
    def test_badge(self, chrome, page, synthetic, provenance):
        chrome.open(page(synthetic.build(20, 2, provenance=provenance)))
        assert chrome.js("document.querySelector('header .badge').textContent") == provenance
        assert provenance in chrome.js("document.title")

    def test_empty_capture_says_so(self, chrome, page, synthetic):
        chrome.open(page(synthetic.empty()))
        assert "No wave of this capture was traced" in chrome.js("document.body.innerText")
        assert chrome.complaints == []

    def test_sampled_timeline_says_so(self, page, synthetic):
        text = page(synthetic.build(20, 200)).read_text()
        assert "64 of 200 waves" in text

    def test_prints_tables_not_widgets(self, chrome, page, small):
        chrome.open(page(small))
        chrome.call("Emulation.setEmulatedMedia", media="print")
        assert chrome.js("getComputedStyle(document.getElementById('app')).display") == "none"
        assert "not printed" in chrome.js("document.body.innerText")
        chrome.call("Emulation.setEmulatedMedia", media="")


class TestPlotly:
    """Interactive charts only where asked for."""

    def test_not_there_unless_asked(self, page, small):
        text = page(small).read_text()
        assert len(text) < 100_000
        assert "cdn.plot.ly" not in text
        assert 'id="figures"' not in text

    def test_embedded_needs_no_request(self, chrome, page, small):
        path = page(small, plotly="embed")
        assert path.stat().st_size > 3_000_000
        chrome.open(path)
        chrome.settle()
        assert chrome.js("document.querySelectorAll('.plot .main-svg').length") >= 3
        assert chrome.requests == []
        assert chrome.complaints == []

    def test_cdn_is_the_only_request(self, chrome, page, small):
        path = page(small, plotly="cdn")
        assert path.stat().st_size < 200_000
        chrome.open(path)
        assert len(chrome.requests) == 1
        assert chrome.requests[0].startswith("https://cdn.plot.ly/plotly-")
        assert chrome.js("document.querySelectorAll('#canvas .row').length") > 10
