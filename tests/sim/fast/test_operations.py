"""Every operation on both executors: random and special operands, modes, EXEC masks, modifiers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.sim.semantics import vector_table
from isaprof.sim.semantics.salu import TABLE as SALU
from tests.sim.test_random_programs import SCALAR, instruction

from .differential import compare, listing_from_texts

WIDE = ("u64", "i64", "f64")
#: kept denormals; f32 flushed (the default of hand-written objects); IEEE and DX10_CLAMP; round up and down
MODES = (0xF0, 0xC0, 0x3F0, 0x9)
CONSTANTS = ("0", "1.0", "-4", "0.5", "64", "0x12345678")


def text_of(name: str, rng: np.random.Generator, lanes: int, *, constants: bool) -> str:
    """One instruction with random registers, now and then a constant or an SGPR."""
    row = vector_table()[name]
    vcc = "vcc" if lanes == 64 else "vcc_lo"

    def register(t: str) -> str:
        r = 2 * int(rng.integers(0, 20))
        wide = t in WIDE or row.packed32
        if t == "mask":
            return vcc
        if constants and rng.integers(0, 5) == 0:
            return str(rng.choice(["s[4:5]" if wide else "s4", *CONSTANTS[:5]]))
        return f"v[{r}:{r + 1}]" if wide else f"v{r}"

    def result(t: str) -> str:
        r = 2 * int(rng.integers(0, 20))
        return vcc if t == "mask" else f"v[{r}:{r + 1}]" if t in WIDE or row.packed32 else f"v{r}"

    explicit = row.src[: len(row.src) - row.accumulate - row.implicit_vcc]
    operands = [*([] if row.exec_dst else [result(t) for t in row.dst]), *(register(t) for t in explicit)]
    tail = f" bitop3:{int(rng.integers(0, 256)):#x}" if row.truth_table else ""
    return f"{name} {', '.join(operands)}{tail}"


def how(name: str) -> str:
    """Which NaN comes out where two go in is NumPy's choice for 16-bit arithmetic only."""
    row = vector_table()[name]
    return "f16" if any("f16" in t for t in (*row.src, *row.dst)) else "exact"


@pytest.mark.parametrize("name", sorted(vector_table()))
def test_vector_operation(name: str) -> None:
    for arch, lanes in (("gfx1100", 32), ("gfx950", 64)):
        for seed, mode in enumerate(MODES):
            text = text_of(name, np.random.default_rng(seed), lanes, constants=seed > 0)
            listing = listing_from_texts(arch, [text])
            mask = None if seed < 2 and lanes == 64 else 0x5555AAAA0FF03333
            bad, _ = compare(arch, listing, seed, mode=mode, exec_mask=mask, how=how(name))
            assert bad is None, (arch, text, hex(mode), bad)


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_operation(name: str) -> None:
    row = SALU[name]
    wide = ["64" in t for t in (*row.dst, *(t for t in row.src if not t.startswith("dst")))]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        regs = [
            f"s[{2 * r}:{2 * r + 1}]" if w else f"s{2 * r}" for w in wide for r in [int(rng.integers(0, 12))]
        ]
        if seed % 3 == 0:
            regs[-1] = str(rng.choice(["-1", "0", "7", "64", "vcc" if wide[-1] else "vcc_lo"]))
        if seed % 4 == 0 and row.dst:
            regs[0] = "exec" if wide[0] else "exec_lo"
        listing = listing_from_texts(
            "gfx950", [f"s_cmp_eq_u32 s{seed}, s{seed + (seed & 1)}", f"{name} {', '.join(regs)}"]
        )
        bad, left = compare("gfx950", listing, seed)
        assert bad is None, (name, regs, bad)
        assert left == 0


MODIFIED = (
    "v_add_f32_e64 v1, -v2, |v3|",
    "v_add_f32_e64 v1, v2, v3 clamp",
    "v_mul_f32_e64 v1, v2, v3 mul:4",
    "v_fma_f32 v1, -|v2|, v3, -v4 clamp",
    "v_max_f32_e64 v1, |v2|, -s4 clamp div:2",
    "v_add_f16_e64 v1, -v2, v3 clamp",
    "v_pk_add_f16 v1, v2, v3 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]",
    "v_pk_mul_f16 v1, v2, 2.0",
    "v_pk_fma_f16 v1, v2, v3, v4 op_sel:[0,1,1] clamp",
    "v_pk_mul_f32 v[2:3], v[4:5], v[6:7] op_sel:[1,0] neg_lo:[0,1]",
    "v_pk_add_f32 v[2:3], v[1:2], s[4:5] op_sel_hi:[1,0]",
    "v_pk_fma_f32 v[4:5], v[2:3], v[4:5], v[6:7]",
    "v_fma_mix_f32 v1, v2, v3, v4 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
    "v_fma_mixlo_f16 v1, -v2, |v3|, v4 op_sel_hi:[0,1,0]",
    "v_fma_mixhi_f16 v1, v2, v3, 1.0 op_sel_hi:[1,1,0]",
    "v_dot2_f32_f16 v1, v2, v3, v4 neg_lo:[1,0,0]",
    "v_add_u32_dpp v1, v2, v3 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf",
    "v_add_u32_dpp v1, v2, v3 row_shr:3 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v1, v2 row_bcast:15 row_mask:0xa bank_mask:0xf",
    "v_add_f32_dpp v1, -v2, v3 row_ror:5 row_mask:0xf bank_mask:0x5 bound_ctrl:0",
    "v_mov_b32_dpp v1, v2 row_newbcast:7",
    "v_mov_b32_dpp v1, v2 wave_shl:1 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v1, v2 row_half_mirror row_mask:0xf bank_mask:0xf",
    "v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3",
    "v_add_u32_sdwa v1, sext(v2), v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:DWORD",
    "v_mul_f32_sdwa v1, -v2, |v3| dst_sel:WORD_1 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD",
    "v_add_f16_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0",
    "v_cmp_lt_f32_e64 s[8:9], -v2, |v3|",
    "v_cndmask_b32_e64 v1, v2, v3, s[8:9]",
    "v_cmp_class_f32_e64 s[8:9], v2, v3",
    "v_add_co_u32_e64 v1, s[8:9], v2, v3",
    "v_addc_co_u32_e64 v1, vcc, v2, v3, s[8:9]",
    "v_mad_u64_u32 v[2:3], vcc, v2, v3, v[2:3]",
    "v_add_u32_e64 v1, v2, v3 clamp",
    "v_cmpx_gt_u32_e64 s[8:9], v2, v3",
    "v_readlane_b32 s5, v1, s3",
    "v_div_scale_f32 v1, vcc, v2, v3, v2",
    "v_div_fmas_f32 v1, v2, v3, v4",
    "v_div_fixup_f32 v1, v2, v3, v4",
    "v_bitop3_b32 v1, v2, v3, v4 bitop3:0x6c",
    "v_cvt_pk_bf16_f32 v1, v2, v3",
    "v_accvgpr_write_b32 a3, v2",
)


@pytest.mark.parametrize("text", MODIFIED)
def test_modifiers_dpp_and_sdwa(text: str) -> None:
    for seed in range(3):
        for mask in (None, 0x5555AAAA0FF03333):
            bad, _ = compare(
                "gfx950",
                listing_from_texts("gfx950", [text]),
                seed,
                exec_mask=mask,
                mode=MODES[seed % 3],
                how="f16" if "f16" in text else "exact",
            )
            assert bad is None, (seed, mask, bad)


DUAL = (
    "v_dual_add_f32 v2, v3, v4 :: v_dual_mul_f32 v5, v2, v7",
    "v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2",
    "v_dual_cndmask_b32 v2, v4, v8 :: v_dual_fmac_f32 v3, v5, v9",
    "v_dual_lshlrev_b32 v2, 3, v4 :: v_dual_mov_b32 v3, s3",
)


@pytest.mark.parametrize("text", DUAL)
def test_both_halves_of_a_pair_read_before_either_writes(text: str) -> None:
    for seed in range(6):
        for mask in (None, 0x0FF03333):
            bad, left = compare(
                "gfx1100", listing_from_texts("gfx1100", [text]), seed, exec_mask=mask, mode=MODES[seed % 2]
            )
            assert bad is None
            assert not left


@given(st.lists(instruction(), min_size=1, max_size=10), st.integers(0, 1 << 20), st.sampled_from(MODES[:3]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_programs(texts: list[str], seed: int, mode: int) -> None:
    """Straight programs in which EXEC changes; NaN payloads of 16-bit results must not spread further."""
    texts = [t for t in texts if "16" not in t]
    bad, _ = compare("gfx1100", listing_from_texts("gfx1100", texts), seed, mode=mode)
    assert bad is None, (texts, bad)
