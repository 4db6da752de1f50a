"""Numbers and bars keep their width; texts of others keep no control characters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from isaprof.attribution.model import CAUSES
from isaprof.views.palette import CAUSE_LOOKS, bar, cause_look, clean, compact, heat_colour, percent


@given(st.integers(-(10**18), 10**18))
def test_compact_fits_five_cells_and_keeps_three_digits(value):
    text = compact(value)
    assert len(text.lstrip("-")) <= 5
    assert (text[0] == "-") == (value < 0)
    unit = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(text[-1])
    shown = float(text[:-1]) * unit if unit else float(text)
    assert abs(shown - value) <= (0.006 if abs(value) < 0.9995e15 else 0.5) * abs(value)


@given(st.floats(0, 1), st.integers(1, 40))
def test_bar_has_its_width_and_grows(fraction, width):
    text = bar(fraction, width)
    assert cell_len(text) == width
    assert (text.strip() == "") == (fraction == 0)
    assert text.count("█") <= bar(min(1.0, fraction + 0.1), width).count("█")


@given(st.floats(0, 1))
def test_percent_fits_five_cells(share):
    assert len(percent(share)) <= 5


@given(st.text())
def test_clean_leaves_nothing_a_terminal_would_obey(text):
    out = clean(text)
    assert len(out) == len(text)
    assert out.isprintable()
    assert clean(out) == out


def test_every_cause_has_a_look_of_its_own():
    assert set(CAUSE_LOOKS) == {str(c) for c in CAUSES}
    assert len({look.short for look in CAUSE_LOOKS.values()}) == len(CAUSE_LOOKS)
    assert len({look.colour for look in CAUSE_LOOKS.values()}) == len(CAUSE_LOOKS)
    assert all(len(look.short) <= 10 for look in CAUSE_LOOKS.values())
    assert cause_look("a cause of a later version").short == "a cause of"


def test_heat_ends():
    assert heat_colour(0.0) != heat_colour(1.0)
    assert heat_colour(2.0) == heat_colour(1.0)
