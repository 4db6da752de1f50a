"""Which lanes of an LDS access are checked together for bank conflicts."""

from __future__ import annotations

from isaprof.arch.table import LdsPattern

Groups = tuple[tuple[int, ...], ...]


def consecutive(size: int, lanes: int) -> Groups:
    """Groups of ``size`` consecutive lanes."""
    return tuple(tuple(range(i, i + size)) for i in range(0, lanes, size))


def _spans(*spans: tuple[int, int]) -> tuple[int, ...]:
    return tuple(lane for first, last in spans for lane in range(first, last + 1))


#: the order measured for 128-bit reads on MI300, per half-wave of 32 lanes
_B128_HALF: Groups = (
    _spans((0, 3), (20, 23)),
    _spans((4, 7), (16, 19)),
    _spans((8, 11), (28, 31)),
    _spans((12, 15), (24, 27)),
)
#: the same for gfx950, which reads 16 lanes at once
_B128_HALF_GFX950: Groups = (
    _spans((0, 3), (12, 15), (20, 27)),
    _spans((4, 11), (16, 19), (28, 31)),
)


def both_halves(half: Groups) -> Groups:
    """``half`` (32 lanes) and the same pattern for lanes 32 to 63."""
    return half + tuple(tuple(lane + 32 for lane in g) for g in half)


GFX942: dict[str, LdsPattern] = {
    "read_b32": LdsPattern(consecutive(32, 64), 32),
    "write_b32": LdsPattern(consecutive(32, 64), 32),
    "read_b64": LdsPattern(consecutive(16, 64), 32),
    "write_b64": LdsPattern(consecutive(16, 64), 32),
    "read_b96": LdsPattern(both_halves(_B128_HALF), 32),
    "write_b96": LdsPattern(consecutive(8, 64), 32),
    "read_b128": LdsPattern(both_halves(_B128_HALF), 32),
    "write_b128": LdsPattern(consecutive(8, 64), 32),
}

GFX950: dict[str, LdsPattern] = GFX942 | {
    "read_b64": LdsPattern(consecutive(32, 64), 64),
    "read_b128": LdsPattern(both_halves(_B128_HALF_GFX950), 64),
}


def rdna(lanes: int) -> dict[str, LdsPattern]:
    """RDNA, for a wave of ``lanes``: 32 banks for each CU half.

    The order inside 64- and 128-bit passes is not published: consecutive
    lanes for writes, the MI300 order for 128-bit reads.
    """
    half = _B128_HALF
    b128 = half if lanes == 32 else both_halves(half)
    return {
        "read_b32": LdsPattern(consecutive(32, lanes), 32),
        "write_b32": LdsPattern(consecutive(32, lanes), 32),
        "read_b64": LdsPattern(consecutive(16, lanes), 32),
        "write_b64": LdsPattern(consecutive(16, lanes), 32),
        "read_b96": LdsPattern(b128, 32),
        "write_b96": LdsPattern(consecutive(8, lanes), 32),
        "read_b128": LdsPattern(b128, 32),
        "write_b128": LdsPattern(consecutive(8, lanes), 32),
    }
