"""Few deliberate pictures: narrow, wide, empty, two captures, the exposure strip and loops side by side."""

from __future__ import annotations

from isaprof.compare.align import compare
from isaprof.tui.app import StallApp
from isaprof.views.exposure import Split
from tests.synthetic_loops import OTHER, looped


def test_narrow(snap_compare, synthetic):
    assert snap_compare(StallApp(synthetic.build(60)), press=["n", "n"], terminal_size=(80, 24))


def test_wide(snap_compare, synthetic):
    app = StallApp(synthetic.build(60, provenance="measured"))
    assert snap_compare(app, press=["n"], terminal_size=(150, 40))


def test_empty(snap_compare, synthetic):
    assert snap_compare(StallApp(synthetic.empty()), terminal_size=(80, 24))


def test_two_captures(snap_compare, synthetic):
    a, b = synthetic.variant(60, provenances=("measured", "modelled"))
    app = StallApp(a, synthetic.comparison(a, b))
    assert snap_compare(app, press=["n"], terminal_size=(120, 36))


def test_exposure_strip(snap_compare, synthetic):
    a = synthetic.build(60)
    waits = [(int(r.line), int(r.wait)) for r in a.lines.itertuples() if r.wait]
    parts = {line: (n // 2, n // 4 * (line % 2), n - n // 2 - n // 4 * (line % 2), 0) for line, n in waits}
    app = StallApp(a)
    names = ("exposed", "hidden", "covered", "unknown")
    app.panes[0].split = Split(names, parts, {}, ())
    assert snap_compare(app, press=["e", "n"], terminal_size=(80, 24))


def test_loops_of_two(snap_compare):
    c = compare(looped(), looped(OTHER, 16, provenance="modelled"))
    assert snap_compare(StallApp(c.a, c), press=["l", "down"], terminal_size=(100, 30))
