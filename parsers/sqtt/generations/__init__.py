"""One data module for each thread-trace generation."""

from __future__ import annotations

from isaprof.parsers.sqtt.generations import gfx9, gfx11, gfx12, gfx1250
from isaprof.parsers.sqtt.model import Generation

GENERATIONS: dict[str, Generation] = {
    g.name: g for g in (gfx9.GENERATION, gfx11.GFX10, gfx11.GENERATION, gfx12.GENERATION, gfx1250.GENERATION)
}

#: version in the hardware HEADER packet -> generation
BY_VERSION: dict[int, Generation] = {
    1: gfx11.GFX10,
    2: gfx11.GFX10,
    3: gfx11.GENERATION,
    4: gfx12.GENERATION,
    5: gfx1250.GENERATION,
}

#: MISC flag bits as Capture event kinds
MISC_FLAGS: dict[str, tuple[str | None, ...]] = {
    "gfx10": ("data_lost", *gfx11.MISC_FLAGS[1:]),
    "gfx11": gfx11.MISC_FLAGS,
    "gfx12": gfx11.MISC_FLAGS,
    "gfx1250": gfx1250.MISC_FLAGS,
}
