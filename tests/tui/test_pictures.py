"""Few deliberate pictures: narrow, wide, empty, and two captures."""

from __future__ import annotations

from isaprof.tui.app import StallApp


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
