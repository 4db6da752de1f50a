"""fp8 and bf8 conversions: all exponents, all roundings, both families, saturating or not."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.sim.fast.wave import FastWave
from isaprof.sim.state import Wave

from .differential import FastProgram, Side, context, listing_from_texts, run_reference


def inputs() -> np.ndarray:
    """Every upper half of an f32 with lower halves below, at and above a tie."""
    upper = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return (upper[:, None] | lower).reshape(-1, 64)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32"])
@pytest.mark.parametrize("mode", [0xF0, 0xF0 | 1 << 23])
def test_conversions(arch: str, name: str, mode: int) -> None:
    rows = inputs()
    texts = [f"{name} v{128 + i}, v{i}, v{i}" for i in range(128)]
    listing = listing_from_texts(arch, texts)
    ctx = context(arch, 64, listing, 256, 0)
    program = FastProgram(ctx)
    for start in range(0, len(rows), 128 * 8):
        part = rows[start : start + 128]
        sides = [Side(kind(64, 256, 256), 1, mode, None, arch) for kind in (Wave, FastWave)]
        for s in sides:
            s.wave.v[: len(part)] = part
        assert run_reference(sides[0], ctx, 1000) is None
        program.run(sides[1].wave, 1000)
        np.testing.assert_array_equal(sides[1].wave.v, sides[0].wave.v)
    assert program.fallbacks == 0
