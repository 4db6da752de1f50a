"""Conservation on what the timing model records of generated programs, paths and launches."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from isaprof.attribution import analyse
from isaprof.capture.model import Capture
from isaprof.isa.model import Listing
from isaprof.sim.trace import WaveTrace
from tests.attribution.build import capture
from tests.attribution.invariants import check, check_detail
from tests.sim.timing.programs import run
from tests.sim.timing.test_invariants import launches


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(launches())
def test_modelled_records_are_conserved(
    launch: tuple[Listing, list[list[WaveTrace]], dict[str, Any]],
) -> None:
    """Categories sum to each wave's life, causes to each line's stall + idle, on whatever was generated."""
    program, groups, more = launch
    tables = run(program, groups, **more)
    plain = capture(program.arch, tuple(i.text for i in program.instructions), [])
    cap = Capture(plain.meta, {"code": plain.table("code"), **tables})
    analysis = analyse(cap)
    check(cap, analysis)
    check_detail(analysis)
