"""Swizzled buffer descriptors and ADD_TID_ENABLE: addresses by the formula of the ISA, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.sim.state import Wave

from .fast.differential import Side, compare, context, listing_from_texts, run_reference


def place(index: int, offset: int, stride: int, index_stride: int, element: int) -> int:
    """Element ``offset // element`` of record ``index``; ``index_stride`` records lie side by side."""
    high, low = divmod(index, index_stride)
    return (high * stride + offset // element * element) * index_stride + low * element + offset % element


@pytest.mark.parametrize(
    ("arch", "w1", "w3", "element"),
    [
        ("gfx942", 1 << 31, 1 << 21, 4),
        ("gfx1100", 1 << 30, 2 << 21, 4),
        ("gfx1100", 2 << 30, 0, 8),
        ("gfx1100", 3 << 30, 1 << 21, 16),
    ],
)
def test_swizzled_loads(arch: str, w1: int, w3: int, element: int) -> None:
    lanes = 64 if arch == "gfx942" else 32
    listing = listing_from_texts(arch, ["buffer_load_dword v5, v[6:7], s[20:23], 0 idxen offen offset:4"])
    side = Side(Wave(lanes, 96, 64), 2, 0xF0, None, arch)
    w = side.wave
    base = side.memory.segments[0].base
    stride, records = 32, 48
    w.s[20:24] = [base & 0xFFFFFFFF, base >> 32 | stride << 16 | w1, records, w3]
    rng = np.random.default_rng(0)
    index, offset = rng.integers(0, 60, lanes), rng.integers(0, 8, lanes) * 4
    w.v[6], w.v[7] = index.astype(np.uint32), offset.astype(np.uint32)
    assert run_reference(side, context(arch, lanes, listing, 64, 32), 5) is None
    for lane in range(lanes):
        at = int(offset[lane]) + 4
        want = 0
        if index[lane] < records and at + 4 <= stride:
            a = base + place(int(index[lane]), at, stride, 8 << (w3 >> 21 & 3), element)
            want = int.from_bytes(side.memory.read(a, 4), "little")
        assert w.v[5][lane] == want, lane


def test_scratch_of_older_targets_adds_the_lane() -> None:
    """The descriptor compilers use before gfx11: swizzled, 64 lanes side by side, the lane as index."""
    texts = [
        "buffer_store_dword v3, off, s[20:23], 0 offset:8",
        "buffer_load_dword v4, off, s[20:23], 0 offset:8",
    ]
    listing = listing_from_texts("gfx942", texts)
    side = Side(Wave(64, 96, 64), 2, 0xF0, None, "gfx942")
    w = side.wave
    base = side.memory.segments[0].base
    stride = 64
    w.s[20:24] = [base & 0xFFFFFFFF, base >> 32 | stride << 16 | 1 << 31, 64, 1 << 23 | 3 << 21]
    assert run_reference(side, context("gfx942", 64, listing, 64, 32), 5) is None
    np.testing.assert_array_equal(w.v[4], w.v[3])
    for lane in (0, 1, 63):
        word = side.memory.read(base + 8 * 64 + 4 * lane, 4)
        assert word == int(w.v[3][lane]).to_bytes(4, "little")


def test_both_executors_agree_on_unusual_descriptors() -> None:
    for seed, bits in enumerate((1 << 31, 0)):
        texts = [
            f"s_or_b32 s25, s25, {bits:#x}", "s_or_b32 s27, s27, 0x800000",
            "buffer_load_dwordx2 v[4:5], v63, s[24:27], 0 idxen",
            "buffer_store_dword v6, off, s[24:27], 0 offset:4",
        ]  # fmt: skip
        bad, _ = compare("gfx950", listing_from_texts("gfx950", texts), seed)
        assert bad is None, bad
