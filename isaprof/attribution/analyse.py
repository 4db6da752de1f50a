"""``analyse(capture)``: the attribution of one capture.

Steps: records as arrays (:mod:`~isaprof.attribution.records`), what each line
is (:mod:`~isaprof.attribution.static`), the partition of every wave's life
(:mod:`~isaprof.attribution.partition`), the wait counters
(:mod:`~isaprof.attribution.counters`), causes (:mod:`~isaprof.attribution.explain`),
sums (:mod:`~isaprof.attribution.rollup`). What is not needed by every view is
computed on first use (:mod:`~isaprof.attribution.detail`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isaprof.attribution.model import Analysis

if TYPE_CHECKING:
    from isaprof.capture.model import Capture


def analyse(capture: Capture) -> Analysis:
    """Say for every cycle of every traced wave what it was spent on and who is to blame.

    Works the same on measured and modelled captures. Raises BadInput where the
    architecture is unknown or a required table is absent.
    """
    import numpy as np

    from isaprof.attribution.barriers import blame_barriers
    from isaprof.attribution.conflicts import extra_cycles
    from isaprof.attribution.counters import simulate
    from isaprof.attribution.detail import Detail
    from isaprof.attribution.explain import explain
    from isaprof.attribution.partition import partition
    from isaprof.attribution.records import read_records
    from isaprof.attribution.rollup import roll_up
    from isaprof.attribution.segments import make_segments
    from isaprof.attribution.static import Cls, static_code
    from isaprof.attribution.totals import with_totals

    code = static_code(capture)
    records = read_records(capture)
    ends = (code.cls[records.line] & int(Cls.ENDPGM)) != 0
    tiles = partition(records, np.asarray(ends), int(code.table.get("issue_period", 1)))
    simulated = simulate(code, records)
    slices = explain(code, records, tiles.window, simulated, extra_cycles(capture, records, code.table))
    segments = make_segments(code, records, tiles, slices, simulated)
    segments = blame_barriers(code, records, segments)
    analysis = roll_up(capture, code, records, tiles, segments)
    detail = Detail(capture, code, records, tiles, segments, analysis.lines)
    return with_totals(capture, replace(analysis, detail=detail))
