"""What is compiled, or decoded once for many lines, against the plain way."""

from __future__ import annotations

import ctypes
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof import arch
from isaprof.isa.decode import disassemble
from isaprof.sim.timing import lines, records
from isaprof.sim.timing.calibration import Constants

pytestmark = pytest.mark.usefixtures("compiled")


times = st.integers(-3, 30)


@given(
    st.lists(
        st.tuples(times, times, st.lists(st.tuples(times, st.integers(0, 9), st.booleans()), max_size=6))
    )
)
def test_states_are_the_reference(
    compiled: ctypes.CDLL, waves: list[tuple[int, int, list[tuple[int, int, bool]]]]
) -> None:
    """Also of records outside their wave's life and out of order."""
    begin, end = (np.array([w[i] for w in waves], dtype=np.int64) for i in (0, 1))
    first = np.cumsum([0, *(len(w[2]) for w in waves)])
    rows = np.array([r for w in waves for r in w[2]], dtype=np.int64).reshape(-1, 3)
    args = (first, begin, end, rows[:, 0], rows[:, 1], rows[:, 2] != 0)
    got, want = records._compiled_stretches(compiled, *args), records._stretches(*args)
    assert [a.dtype for a in got] == [a.dtype for a in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128.co", "gfx950"),
        ("sqtt/gfx1200/handwritten_run0/kernel.co", "gfx1201"),
        ("sqtt/gfx1100/gemm_run0/kernel.co", "gfx1100"),
    ],
)
def test_lines_of_one_form_cost_the_same(data_dir: Path, name: str, target: str) -> None:
    """Decoded by form, and line by line."""
    listing, table = disassemble((data_dir / name).read_bytes(), arch=target), arch.get(target)
    k = Constants(table, None)
    counters = tuple(k["counter_max"])
    got = lines.decode(listing, k, counters, 32, range(len(listing.instructions)))
    plain = lines._Decoder(k, {n: i for i, n in enumerate(counters)}, 32)
    for i in listing.instructions:
        plain.add(i)
    by_line = {"fetch", "read", "read_ptr", "write", "write_ptr"}
    for f in fields(lines.Lines):
        if f.name not in by_line:
            assert getattr(got, f.name) == getattr(plain.out, f.name), f.name
