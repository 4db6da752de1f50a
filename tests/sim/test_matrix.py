"""Matrix instructions against NumPy, operands placed by formulas written down here."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.isa.decode import decode_lines
from isaprof.isa.model import Listing
from isaprof.sim import archdata
from isaprof.sim.executor import Program
from isaprof.sim.lower.context import Context
from isaprof.sim.semantics import layouts
from isaprof.sim.state import Wave


def step(arch: str, text: str, w: Wave) -> None:
    (ins,) = decode_lines(arch, [(0, (0,), text)])
    listing = Listing(arch, (ins,), {}, {0: 0})
    ctx = Context(arch, archdata.facts(arch), w.lanes, w.agpr_base, len(w.v) - w.agpr_base, listing)
    w.pc = 0
    with np.errstate(all="ignore"):
        Program(ctx).run(w, 1)


def random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-8, 9, shape).astype(np.float32)


def test_mfma_16x16x16_f16_by_hand_written_formula() -> None:
    """A[i][k]: lane i + 16 * (k // 4), half k % 4; D[i][j]: register i % 4, lane j + 16 * (i // 4)."""
    rng = np.random.default_rng(0)
    a, b, c = random(rng, 16, 16), random(rng, 16, 16), random(rng, 16, 16)
    w = Wave(64, 64, 32)
    for i in range(16):
        for k in range(16):
            lane, half = i + 16 * (k // 4), k % 4
            w.v[0:2].view(np.float16)[half // 2, 2 * lane + half % 2] = a[i, k]
            w.v[2:4].view(np.float16)[half // 2, 2 * lane + half % 2] = b[k, i]
            w.v[32 + i % 4].view(np.float32)[k + 16 * (i // 4)] = c[i, k]
    step("gfx942", "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", w)
    got = np.array(
        [[w.v[32 + i % 4].view(np.float32)[j + 16 * (i // 4)] for j in range(16)] for i in range(16)]
    )
    np.testing.assert_array_equal(got, a @ b + c)


def test_mfma_32x32x8_bf16_by_hand_written_formula() -> None:
    rng = np.random.default_rng(1)
    a, b = random(rng, 32, 8), random(rng, 8, 32)
    w = Wave(64, 64, 64)
    for i in range(32):
        for k in range(8):
            lane, half = i + 32 * (k // 4), k % 4
            for base, value in ((0, a[i, k]), (2, b[k, i])):
                bits = np.float32(value).view(np.uint32) >> 16
                w.v[base : base + 2].view(np.uint16)[half // 2, 2 * lane + half % 2] = bits
    step("gfx950", "v_mfma_f32_32x32x8_bf16 v[16:31], v[0:1], v[2:3], 0", w)
    d = w.v[16:32].view(np.float32)
    got = np.array(
        [[d[4 * (i // 8) + i % 4, j + 32 * (i // 4 % 2)] for j in range(32)] for i in range(32)]
    )  # fmt: skip
    np.testing.assert_array_equal(got, a @ b)


def test_wmma_gfx11_rows_alternate_between_lane_halves() -> None:
    rng = np.random.default_rng(2)
    a, b = random(rng, 16, 16), random(rng, 16, 16)
    w = Wave(32, 64, 64)
    for i in range(16):
        for half in (0, 16):
            w.v[0:8].view(np.float16)[:, 2 * (i + half) : 2 * (i + half) + 2] = a[i].reshape(8, 2)
            w.v[8:16].view(np.float16)[:, 2 * (i + half) : 2 * (i + half) + 2] = b[:, i].reshape(8, 2)
    step("gfx1100", "v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], 0", w)
    d = w.v[16:24].view(np.float32)
    got = np.array([[d[i // 2, j + 16 * (i % 2)] for j in range(16)] for i in range(16)])
    np.testing.assert_array_equal(got, a @ b)


def test_wmma_gfx12_halves_of_the_wave_hold_halves_of_k() -> None:
    rng = np.random.default_rng(3)
    a, b = random(rng, 16, 16), random(rng, 16, 16)
    w = Wave(32, 64, 64)
    for i in range(16):
        for g in (0, 1):
            lane = i + 16 * g
            w.v[0:4].view(np.float16)[:, 2 * lane : 2 * lane + 2] = a[i, 8 * g : 8 * g + 8].reshape(4, 2)
            w.v[8:12].view(np.float16)[:, 2 * lane : 2 * lane + 2] = b[8 * g : 8 * g + 8, i].reshape(4, 2)
    step("gfx1200", "v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], 0", w)
    d = w.v[16:24].view(np.float32)
    got = np.array([[d[i % 8, j + 16 * (i // 8)] for j in range(16)] for i in range(16)])
    np.testing.assert_array_equal(got, a @ b)


@pytest.mark.parametrize("op_sel", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_scale_byte_is_chosen_by_op_sel_and_op_sel_hi(op_sel: tuple[int, int]) -> None:
    """All elements 1 (fp4 code 2): D = sum over four K blocks of scaleA * scaleB * 32."""
    w = Wave(64, 64, 64)
    w.v[0:8] = 0x22222222
    byte = op_sel[0] + 2 * op_sel[1]
    w.v[20] = 127 * 0x01010101
    w.v[20] = (w.v[20] & ~np.uint32(0xFF << 8 * byte)) | np.uint32(130 << 8 * byte)  # 2^3 in the chosen byte
    w.v[21] = 127 * 0x01010101
    text = (
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[8:11], v[0:3], v[4:7], 0, v20, v21 "
        f"op_sel:[{op_sel[0]},0,0] op_sel_hi:[{op_sel[1]},0,0] cbsz:4 blgp:4"
    )
    step("gfx950", text, w)
    assert (w.v[8:12].view(np.float32) == 128 * 8).all()


def test_integer_wmma_signs_and_clamp() -> None:
    w = Wave(32, 64, 64)
    w.v[0:4] = 0xFFFFFFFF  # -1 or 255
    w.v[4:8] = 0x02020202
    w.v[8:16] = 0x7FFFFFFF
    step("gfx1100", "v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[4:7], v[8:15] neg_lo:[1,0,0]", w)
    assert (w.v[16:24].view(np.int32) == 0x7FFFFFFF - 32).all()
    step("gfx1100", "v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[4:7], v[8:15] clamp", w)
    assert (w.v[16:24].view(np.int32) == 0x7FFFFFFF).all()


def test_matrix_instructions_ignore_exec() -> None:
    w = Wave(64, 64, 64)
    w.v[0:4] = 0x3F800000
    w.set_exec(1)
    step("gfx942", "v_mfma_f32_16x16x4_f32 v[8:11], v0, v1, 0", w)
    assert (w.v[8:12].view(np.float32) == 4).all()


@pytest.mark.parametrize(
    ("m", "k", "per_lane", "halves"),
    [(16, 4, 1, False), (16, 16, 4, False), (16, 32, 8, False), (32, 8, 4, False), (32, 16, 8, False),
     (16, 128, 32, True), (32, 64, 32, True), (4, 4, 4, False), (32, 1, 1, False)],
)  # fmt: skip
def test_layouts_use_every_element_once(m: int, k: int, per_lane: int, halves: bool) -> None:
    lay = layouts.mfma(m, k, per_lane, halves=halves)
    blocks = lay.a_lane.shape[0]
    pairs = set(zip(lay.a_element.flat, lay.a_lane.flat, strict=True))
    assert len(pairs) == blocks * m * k == 64 * per_lane
    results = set(zip(lay.d_block.flat, lay.d_row.flat, lay.d_col.flat, strict=True))
    assert len(results) == blocks * m * m
