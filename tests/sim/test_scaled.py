"""v_cvt_scalef32_* and v_cvt_sr_*: values against the formats' own tables."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.sim.semantics.elements import codes_of, pack_codes
from isaprof.sim.semantics.formats import decode_table, encode, encode_stochastic
from isaprof.sim.state import Wave

from .fast.differential import compare, listing_from_texts
from .test_matrix import step


def nearest(name: str, x: np.ndarray) -> np.ndarray:
    """The value of the format nearest to x, ties to the even code, by search of the whole table."""
    table = decode_table(name).astype(np.float64)
    codes = np.flatnonzero(np.isfinite(table))
    gap = np.abs(table[codes][None] - x[:, None])
    best = gap.min(axis=1)
    out = np.empty(len(x))
    for i in range(len(x)):
        tied = codes[gap[i] == best[i]]
        out[i] = table[tied[tied % 2 == 0][0]] if (tied % 2 == 0).any() else table[tied[0]]
    return out


def wave(rng: np.random.Generator, scale: float) -> tuple[Wave, np.ndarray]:
    w = Wave(64, 96, 96)
    x = (rng.standard_normal((40, 64)) * 2).astype(np.float32)
    w.v[:40] = x.view(np.uint32)
    w.v[90] = np.float32(scale).view(np.uint32)
    w.v[91] = 0xAAAAAAAA
    return w, x


@pytest.mark.parametrize("scale", [1.0, 0.25, 8.0])
def test_pk_fp4_f32_divides_by_the_scale_and_writes_one_byte(scale: float) -> None:
    w, x = wave(np.random.default_rng(0), scale)
    step("gfx950", "v_cvt_scalef32_pk_fp4_f32 v91, v0, v1, v90 op_sel:[0,0,1,0]", w)
    byte = w.v[91] >> 8 & 0xFF
    table = decode_table("fp4")
    for i, code in enumerate((byte & 15, byte >> 4)):
        np.testing.assert_array_equal(np.abs(table[code]), np.abs(nearest("fp4", x[i] / scale)))
    assert ((w.v[91] & 0xFFFF00FF) == 0xAAAA00AA).all()


def test_only_the_exponent_of_the_scale_counts() -> None:
    first, _ = wave(np.random.default_rng(1), 2.0)
    second, _ = wave(np.random.default_rng(1), -3.7)
    for w in (first, second):
        step("gfx950", "v_cvt_scalef32_pk_fp8_f32 v91, v0, v1, v90 op_sel:[0,0,0,1]", w)
    np.testing.assert_array_equal(first.v[91], second.v[91])
    assert ((first.v[91] & 0xFFFF) == 0xAAAA).all()


@pytest.mark.parametrize(
    ("of", "to", "regs"), [("fp6", "f32", 32), ("bf6", "f32", 32), ("fp6", "bf16", 16), ("bf6", "f16", 16)]
)
def test_pk32_from_six_bits(of: str, to: str, regs: int) -> None:
    rng = np.random.default_rng(2)
    w, _ = wave(rng, 4.0)
    codes = rng.integers(0, 64, (32, 64)).astype(np.uint8)
    w.v[0:6] = pack_codes(codes, 6)
    step("gfx950", f"v_cvt_scalef32_pk32_{to}_{of} v[40:{39 + regs}], v[0:5], v90", w)
    want = decode_table(of)[codes] * np.float32(4)
    out = w.v[40 : 40 + regs]
    if to == "f32":
        got = out.view(np.float32)
    else:
        halves = np.stack([out & 0xFFFF, out >> 16], axis=1).reshape(32, 64).astype(np.uint16)
        got = (halves.astype(np.uint32) << 16).view(np.float32) if to == "bf16" else halves.view(np.float16)
    np.testing.assert_array_equal(got.astype(np.float32), want)


def test_2xpk16_alternates_its_two_sources() -> None:
    w, x = wave(np.random.default_rng(3), 1.0)
    step("gfx950", "v_cvt_scalef32_2xpk16_fp6_f32 v[40:45], v[0:15], v[16:31], v90", w)
    got = decode_table("fp6")[codes_of(w.v[40:46], 6)]
    for i in range(16):
        np.testing.assert_array_equal(np.abs(got[2 * i]), np.abs(nearest("fp6", x[i].astype(np.float64))))
        np.testing.assert_array_equal(
            np.abs(got[2 * i + 1]), np.abs(nearest("fp6", x[16 + i].astype(np.float64)))
        )


@pytest.mark.parametrize("name", ["fp8", "bf8", "fp4", "fp6", "f16", "bf16", "fp8_fnuz"])
def test_stochastic_rounding_lies_between_neighbours_and_is_fair(name: str) -> None:
    rng = np.random.default_rng(4)
    n = 40_000
    x = np.full(n, 1.3)
    r = rng.integers(0, 1 << 32, n, dtype=np.uint32)
    codes = encode_stochastic(name, x, r)
    if name == "f16":
        values = codes.astype(np.uint16).view(np.float16).astype(np.float64)
    elif name == "bf16":
        values = (codes << np.uint32(16)).view(np.float32).astype(np.float64)
    else:
        values = decode_table(name)[codes].astype(np.float64)
    found = np.unique(values)
    assert len(found) == 2
    assert found[0] <= 1.3 <= found[1]
    assert abs(values.mean() - 1.3) < 0.02 * (found[1] - found[0]) + 1e-6
    assert encode_stochastic(name, x[:1], np.zeros(1, np.uint32)) == codes[values == found[0]][0]


def test_sr_writes_the_byte_that_op_sel_names() -> None:
    w, x = wave(np.random.default_rng(5), 1.0)
    w.v[92] = 0  # truncates
    step("gfx950", "v_cvt_sr_fp8_f32 v91, v0, v92 op_sel:[0,0,1,1]", w)
    got = decode_table("fp8")[w.v[91] >> 24].astype(np.float64)
    assert (np.abs(got) <= np.abs(x[0])).all()
    assert (np.abs(x[0] - got) < np.maximum(np.abs(x[0]) / 8, 2**-9)).all()
    assert ((w.v[91] & 0xFFFFFF) == 0xAAAAAA).all()


FORMS = [
    "v_cvt_scalef32_pk_f32_fp4 v[2:3], v4, v5 op_sel:[0,1,0]",
    "v_cvt_scalef32_pk_bf16_fp8 v3, v2, v5 op_sel:[1,0,0]",
    "v_cvt_scalef32_f16_bf8 v3, v2, v5 op_sel:[1,0,1]",
    "v_cvt_scalef32_sr_pk_fp4_f32 v3, v[6:7], v4, v5 op_sel:[0,0,0,1]",
    "v_cvt_scalef32_sr_pk32_bf6_bf16 v[8:13], v[16:31], v4, v5",
    "v_cvt_scalef32_pk_fp8_f16 v3, v2, s5 op_sel:[0,0,1]",
    "v_cvt_scalef32_pk_fp8_bf16 v3, v2, 1.0",
    "v_cvt_sr_bf16_f32 v3, v2, v5 op_sel:[0,0,1]",
]


@pytest.mark.parametrize("text", FORMS)
def test_both_executors_end_alike(text: str) -> None:
    """NumPy does these for both; special values, masks and FNUZ raise nothing."""
    for seed, arch in enumerate(("gfx950", "gfx942", "gfx950")):
        bad, left = compare(arch, listing_from_texts(arch, [text]), seed, exec_mask=0xF0F0F0F0F0F0F0F0)
        assert bad is None, (text, bad)
        assert left == 1


@pytest.mark.parametrize("mask", [None, 0x123456789ABCDEF0])
def test_fp4_conversion_of_inner_loops_is_compiled(mask: int | None) -> None:
    for seed in range(6):
        for text in (
            "v_cvt_scalef32_pk_fp4_f32 v3, v2, v4, v5 op_sel:[0,0,1,0]",
            "v_cvt_scalef32_pk_fp4_f32 v3, -v2, |v3|, 1.0",
            "v_cvt_scalef32_pk_fp4_f32 v3, s4, v7, s5 op_sel:[0,0,1,1]",
            "v_cvt_scalef32_pk_fp4_bf16 v3, v4, v5 op_sel:[0,0,0,1]",
            "v_cvt_scalef32_pk_fp4_f16 v3, v4, 1.0 op_sel:[0,0,1,0]",
            "v_cvt_scalef32_pk_fp4_bf16 v3, s4, v3",
        ):
            bad, left = compare("gfx950", listing_from_texts("gfx950", [text]), seed, exec_mask=mask)
            assert bad is None, (text, seed, bad)
            assert left == 0


def test_a_format_without_nan_gives_its_largest_magnitude() -> None:
    x = np.array([np.nan, -np.nan, np.inf, -np.inf], np.float32)
    assert encode("fp4", x, saturate=True).tolist() == [7, 15, 7, 15]
    assert encode("fp6", x, saturate=True).tolist() == [31, 63, 31, 63]
