"""The compiled library for tests of its parts."""

from __future__ import annotations

import ctypes

import pytest

from isaprof.sim.timing.compiled import CHOICE, library


@pytest.fixture(scope="module")
def compiled() -> ctypes.CDLL:
    """The library: an error where there is none. Compiling it is no part of an example's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, "compiled")
        lib = library()
    assert lib is not None
    return lib
