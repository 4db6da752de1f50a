"""Waves come in the order of a Capture, whatever order the stream has them in, block by block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("numba")
from isaprof.parsers.sqtt.order import in_order
from isaprof.parsers.sqtt.slots import END_SEEN, START_SEEN, UNSTARTED_WAVE
from isaprof.parsers.sqtt.spool import Spool
from isaprof.parsers.sqtt.stream import WAVE


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 1 << 32), count=st.integers(0, 60), latest=st.integers(0, 40),
    size=st.integers(1, 20), backwards=st.booleans(),
)  # fmt: skip
def test_in_order(seed: int, count: int, latest: int, size: int, backwards: bool) -> None:
    random = np.random.default_rng(seed)
    rows = np.zeros(count, WAVE)
    begin = random.integers(0, latest + 1, count)
    rows["begin"] = begin if backwards else np.sort(begin)
    rows["cu"], rows["simd"] = random.integers(0, 300, count), random.integers(0, 4, count)
    rows["slot"], rows["end"] = random.integers(0, 4, count), random.integers(50, 90, count)
    rows["count"], rows["flags"] = random.integers(0, 9, count), START_SEEN
    rows["entry"] = rows["threads"] = rows["dispatch"] = -1
    early = (rows["begin"] == 0) & (random.random(count) < 0.7)
    rows["flags"][early], rows["count"][early] = UNSTARTED_WAVE | END_SEEN, 0
    spool = Spool(WAVE)
    spool.append(rows)
    blocks = list(in_order(spool, size))
    numbers = np.concatenate([n for n, _ in blocks]) if blocks else np.zeros(0, np.int64)
    got = np.concatenate([r for _, r in blocks]) if blocks else np.zeros(0, WAVE)
    want = np.lexsort((np.arange(count), rows["slot"], rows["simd"], rows["cu"], rows["begin"]))
    assert numbers.tolist() == want.tolist()
    assert got.tolist() == rows[want].tolist()
