"""4:2 sparse matrix instructions and B's lane patterns, against NumPy by formulas."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.sim.state import Wave

from .fast.differential import compare, listing_from_texts
from .test_matrix import random, step


def _bf(x: np.ndarray) -> np.ndarray:
    return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize(
    ("arch", "m", "k", "kind", "select", "bits"),
    [
        ("gfx942", 16, 32, "f16", "abid:2", 16),  # four sets of 8 bits
        ("gfx942", 32, 16, "bf16", "abid:1", 8),
        ("gfx950", 16, 64, "f16", "abid:1", 16),  # two sets of 16 bits
        ("gfx950", 32, 32, "bf16", "cbsz:1 abid:1", 0),  # CBSZ: the first set whatever ABID says
    ],
)
def test_smfmac_multiplies_the_kept_elements(
    arch: str, m: int, k: int, kind: str, select: str, bits: int
) -> None:
    """Lane i + m * g holds K from g * k * m / 64 on; element e stands at 4 * (e // 2) + two index bits."""
    rng = np.random.default_rng(5)
    groups = 64 // m
    per = k // groups  # dense elements of a lane
    kept = np.sort(rng.permuted(np.tile(np.arange(4), (m, k // 4, 1)), axis=2)[:, :, :2], axis=2)
    packed, b, c = random(rng, m, k // 2), random(rng, k, m), random(rng, m, m)
    dense = np.zeros((m, k), np.float32)
    for i in range(m):
        for e in range(k // 2):
            dense[i, 4 * (e // 2) + kept[i, e // 2, e % 2]] = packed[i, e]
    w = Wave(64, 64, 64)
    w.v[40] = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
    half = w.v.view(np.uint16)
    code = _bf if kind == "bf16" else lambda x: x.astype(np.float16).view(np.uint16)
    for g in range(groups):
        for i in range(m):
            lane = i + m * g
            field = 0
            for e in range(per // 2):
                half[e // 2, 2 * lane + e % 2] = code(packed[i, g * per // 2 + e])
                at = g * per // 2 + e
                field |= int(kept[i, at // 2, at % 2]) << 2 * e
            mask = (1 << per) - 1
            w.v[40, lane] = (int(w.v[40, lane]) & ~(mask << bits)) | field << bits
            for e in range(per):
                half[16 + e // 2, 2 * lane + e % 2] = code(b[g * per + e, i])
    regs = m * m // 64
    where = [
        (4 * (lane // m) + 4 * groups * (r // 4) + r % 4, lane % m) for r in range(regs) for lane in range(64)
    ]
    rows, cols = (np.array(x).reshape(regs, 64) for x in zip(*where, strict=True))
    w.v[44 : 44 + regs] = c[rows, cols].view(np.uint32)
    a_regs, b_regs = per // 4, per // 2
    operands = f"v[44:{43 + regs}], v[0:{a_regs - 1}], v[16:{15 + b_regs}], v40 {select}"
    text = f"v_smfmac_f32_{m}x{m}x{k}_{kind} {operands}"
    step(arch, text, w)
    np.testing.assert_array_equal(w.v[44 : 44 + regs].view(np.float32), (dense @ b + c)[rows, cols])


def test_swmmac_index_key_chooses_half_of_the_index() -> None:
    """gfx12: lane i + 16 * g holds kept elements 8 * g on of row i, B's K 16 * g on; D rows 8 * g + r."""
    rng = np.random.default_rng(6)
    packed, b, c = random(rng, 16, 16), random(rng, 32, 16), random(rng, 16, 16)
    w = Wave(32, 64, 64)
    half = w.v.view(np.float16)
    dense = np.zeros((16, 32), np.float32)
    for i in range(16):
        for e in range(16):
            at = int(rng.integers(0, 4))
            dense[i, 4 * (e // 2) + at] += packed[i, e]  # both may name the same place
            lane = i + 16 * (e // 8)
            w.v[40, lane] |= np.uint32(at << (16 + 2 * (e % 8)))
            half[e % 8 // 2, 2 * lane + e % 2] = packed[i, e]
        for kk in range(32):
            half[8 + kk % 16 // 2, 2 * (i + 16 * (kk // 16)) + kk % 2] = b[kk, i]
    lane = np.arange(32)
    for r in range(8):
        w.v[24 + r] = c[8 * (lane // 16) + r, lane % 16].view(np.uint32)
    step("gfx1201", "v_swmmac_f32_16x16x32_f16 v[24:31], v[0:3], v[8:15], v40 index_key:1", w)
    want = dense @ b + c
    for r in range(8):
        np.testing.assert_array_equal(w.v[24 + r].view(np.float32), want[8 * (lane // 16) + r, lane % 16])


def test_blgp_moves_b_between_groups_of_lanes() -> None:
    """4x4x1, 16 blocks: block b is lanes 4b to 4b + 3, so a moved B is another block's."""
    rng = np.random.default_rng(7)
    a, b = random(rng, 64), random(rng, 64)
    lane = np.arange(64)
    for blgp, source in (
        (1, lane & 31), (2, (lane & 31) + 32), (3, (lane + 16) & 63), (6, (lane & 15) + 32),
    ):  # fmt: skip
        w = Wave(64, 16, 16)
        w.v[0], w.v[1] = a.view(np.uint32), b.view(np.uint32)
        step("gfx942", f"v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, 0 blgp:{blgp}", w)
        for r in range(4):
            np.testing.assert_array_equal(w.v[4 + r].view(np.float32), a[lane // 4 * 4 + r] * b[source])


SAMPLE = [
    ("gfx950", "v_smfmac_f32_16x16x128_fp8_bf8 v[0:3], v[4:7], v[8:15], v20"),
    ("gfx950", "v_smfmac_i32_32x32x64_i8 v[0:15], v[16:19], v[24:31], v20"),
    ("gfx942", "v_smfmac_f32_16x16x64_fp8_fp8 a[0:3], v[4:5], v[8:11], v20 abid:1"),
    ("gfx942", "v_smfmac_f32_32x32x16_f16 v[0:15], v[16:17], v[24:27], v20 abid:3"),
    ("gfx950", "v_mfma_f32_16x16x1_4b_f32 a[0:15], v4, v5, a[0:15] cbsz:1 abid:1 blgp:5"),
    ("gfx1201", "v_swmmac_i32_16x16x64_iu4 v[0:7], v[8:9], v[10:13], v20 neg_lo:[1,0,0] clamp"),
    ("gfx1201", "v_swmmac_f16_16x16x32_f16 v[0:3], v[8:11], v[12:19], v20 index_key:1 neg_lo:[1,0,0]"),
    ("gfx1201", "v_swmmac_bf16_16x16x32_bf16 v[0:3], v[8:11], v[12:19], v20"),
    ("gfx1201", "v_swmmac_f32_16x16x32_fp8_bf8 v[0:7], v[8:9], v[12:15], v20"),
    ("gfx1250", "v_wmma_f32_16x16x64_fp8_fp8 v[0:7], v[8:15], v[16:23], v[0:7]"),
    ("gfx1250", "v_wmma_f32_16x16x32_bf16 v[0:7], v[8:15], v[16:23], 0"),
    ("gfx1250", "v_wmma_f32_16x16x128_f8f6f4 v[0:7], v[8:15], v[16:23], v[0:7]"
     " matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4"),
    ("gfx1250", "v_wmma_f16_16x16x32_f16 v[0:3], v[8:15], v[16:23], v[0:3]"),
]  # fmt: skip


@pytest.mark.parametrize(("arch", "text"), SAMPLE)
def test_both_executors_agree(arch: str, text: str) -> None:
    how = "f16" if "f16_16x16" in text else "f32"
    for seed in range(3):
        bad, left = compare(arch, listing_from_texts(arch, [text]), seed, how=how)
        assert bad is None, (text, seed, bad)
        assert left == 0, text
