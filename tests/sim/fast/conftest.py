"""Tests of the fast executor need a C compiler; they say so where there is none."""

from __future__ import annotations

import pytest

from isaprof.sim.fast import build


@pytest.fixture(scope="session", autouse=True)
def compiled() -> None:
    try:
        build.load()
    except build.Unavailable as e:
        pytest.skip(f"no fast executor: {e}")
