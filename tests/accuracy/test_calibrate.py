"""Which captures a constant is fitted to."""

from __future__ import annotations

from isaprof.accuracy.calibrate import other_states
from isaprof.accuracy.measure import Component

LAUNCH, SCALAR = Component.LAUNCH, Component.SCALAR


def test_a_launch_is_fitted_to_the_captures_in_the_faster_state() -> None:
    """Cold code and translations only add; measured over modelled, as on a gfx1201-class device."""
    ratios = [{LAUNCH: 1.02, SCALAR: 1.0}, {LAUNCH: 1.65, SCALAR: 2.0}, {LAUNCH: 0.98}, {LAUNCH: 2.6}, {}]
    assert other_states(ratios) == {LAUNCH: (1, 3)}


def test_captures_that_agree_stay_together() -> None:
    assert other_states([{LAUNCH: 2.6}, {LAUNCH: 2.4}]) == {LAUNCH: ()}
    assert other_states([]) == {LAUNCH: ()}
