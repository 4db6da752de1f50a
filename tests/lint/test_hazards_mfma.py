"""Wait states around matrix instructions: LLVM's numbers, per architecture and use."""

from __future__ import annotations

import pytest

from isaprof.lint import Kind
from tests.lint.kernels import clean, lint, of_rule, only, variants

RULE = "mfma-wait-states"
M4 = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]"  # 4 passes
M8 = "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[10:11], v[16:31]"  # 8
M16 = "v_mfma_f32_32x32x4_2b_f16 v[32:63], v[8:9], v[10:11], v[32:63]"  # 16
M2 = "v_mfma_f32_4x4x4_16b_f16 v[0:3], v[8:9], v[10:11], v[0:3]"  # 2
S8 = "v_mfma_f32_16x16x4_f32 v[0:3], v8, v10, v[0:3]"  # not XDL, 8
D4 = "v_mfma_f64_4x4x4_4b_f64 v[0:1], v[8:9], v[10:11], v[0:1]"
D16 = "v_mfma_f64_16x16x4_f64 v[16:23], v[8:9], v[10:11], v[16:23]"

#: (producer, consumer, wait states on gfx942, on gfx950)
USES = [
    (M2, "v_add_f32 v70, v1, v70", 5, 5),
    (M4, "v_add_f32 v70, v1, v70", 7, 8),
    (M8, "v_add_f32 v70, v17, v70", 11, 12),
    (M16, "v_add_f32 v70, v33, v70", 19, 20),
    (S8, "v_add_f32 v70, v1, v70", 10, 10),
    (M4, "ds_write_b32 v70, v1", 7, 8),
    (M4, "global_store_dword v70, v1, s[4:5]", 7, 8),
    (M4, "v_mov_b32 v1, 0", 7, 8),
    (M4, "ds_read_b32 v1, v70", 7, 8),
    (M4, "v_mfma_f32_16x16x16_f16 v[64:67], v[0:1], v[10:11], v[64:67]", 7, 8),
    (M4, "v_mfma_f32_16x16x16_f16 v[64:67], v[8:9], v[2:3], v[64:67]", 7, 8),
    (S8, "v_mfma_f32_16x16x16_f16 v[64:67], v[8:9], v[2:3], v[64:67]", 10, 10),
    (M4, "v_mfma_f32_16x16x16_f16 v[64:67], v[8:9], v[10:11], v[2:5]", 5, 6),
    (M2, M2, 2, 2),
    (D4, "v_add_f64 v[70:71], v[0:1], v[0:1]", 6, 6),
    (D4, "ds_write_b64 v70, v[0:1]", 9, 9),
    (D16, "v_add_f64 v[70:71], v[16:17], v[16:17]", 11, 19),
    (D16, "ds_write_b64 v70, v[16:17]", 18, 18),
    (D16, "v_mov_b32 v16, 0", 11, 11),
    (D16, "v_mfma_f64_16x16x4_f64 v[64:71], v[8:9], v[10:11], v[18:25]", 9, 17),
    ("v_mov_b32 v8, 0", M4, 2, 2),
    ("v_cmpx_eq_u32 v70, v71", M4, 4, 4),
]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("producer", "consumer", "cdna3", "cdna4"), USES)
def test_each_use(producer: str, consumer: str, cdna3: int, cdna4: int, arch: str) -> None:
    states = cdna3 if arch == "gfx942" else cdna4
    found = of_rule(lint(variants(producer, consumer, [[], nops(states - 1), nops(states)]), arch), RULE)
    assert {(f.required, f.unit) for f in found} == {(states, Kind.WAIT_STATES)}
    assert [f.present for f in found] == [0, states - 1]


def nops(n: int) -> list[str]:
    return [f"s_nop {min(n - k, 16) - 1}" for k in range(0, n, 16)]


@pytest.mark.parametrize(
    ("passes", "producer", "states"),
    [
        (2, "v_mfma_f32_4x4x4f16 v[16:19], v[8:9], v[10:11], v[16:19]", 5),
        (8, "v_mfma_f32_16x16x16f16 v[16:19], v[8:9], v[10:11], v[16:19]", 11),
        (16, "v_mfma_f32_32x32x8f16 v[16:31], v[8:9], v[10:11], v[16:31]", 19),
    ],
)
def test_gfx90a(passes: int, producer: str, states: int) -> None:
    assert only(f"\t{producer}\n\tv_add_f32 v70, v17, v70", RULE, "gfx90a").required == states


def test_accumulating_in_place_needs_nothing() -> None:
    assert clean(f"\t{M4}\n\t{M4}\n\t{M8}\n\t{M8}", RULE)


@pytest.mark.parametrize(("producer", "states"), [(M2, 1), (M4, 3), (M16, 15)])
def test_c_is_read_late(producer: str, states: int) -> None:
    """VALU overwrites C (here another register than D)."""
    _, _, c = producer.rpartition(" v[")
    first = int(c.split(":")[0])
    text = producer.replace(" v[0:3], v[8", " v[64:67], v[8").replace(" v[32:63], v[8", " v[64:95], v[8")
    assert only(f"\t{text}\n\tv_mov_b32 v{first}, 0", RULE, vgprs=128).required == states
    assert clean(f"\t{text}\n\ts_nop {states - 1}\n\tv_mov_b32 v{first}, 0", RULE)


def test_matrix_instructions_between_take_their_time() -> None:
    """Two matrix instructions of one wave issue no closer than the passes of the first."""
    between = "	v_mfma_f32_32x32x8_f16 v[80:95], v[8:9], v[10:11], v[80:95]\n"
    late = f"\t{M4}\n{between}{between}\tv_add_f32 v70, v1, v70"
    # 4 slots until the first of them issues, 8 until the second: 12 states are behind the result
    assert clean(late, RULE)
    assert only(f"\t{M4}\n{between}\tv_add_f32 v70, v1, v70", RULE).present == 1


def test_eight_bit_operands_take_longer() -> None:
    head = (
        "	v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:{a}], v[16:{b}], v[0:3]{m}\n	v_add_f32 v70, v1, v70"
    )
    assert only(head.format(a=15, b=23, m=""), RULE, "gfx950").required == 12
    assert only(head.format(a=11, b=19, m=" cbsz:4 blgp:4"), RULE, "gfx950").required == 8


def test_packed_f32_is_held_back_by_the_hardware() -> None:
    body = f"\t{M4}\n\tv_pk_fma_f32 v[70:71], v[0:1], v[72:73], v[70:71]"
    assert clean(body, RULE)
    assert len(of_rule(lint(body), "mfma-packed-f32")) == 1


def test_no_table_is_no_verdict() -> None:
    report = lint("	v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", "gfx908", accum=None)
    assert not report.findings
    assert [u.topic for u in report.unjudged] == ["matrix_hazard"]


def test_f64_fma_behind_f64_matrix() -> None:
    body = f"\t{D4}\n\tv_fma_f64 v[70:71], v[72:73], v[74:75], v[76:77]"
    assert only(body, RULE).required == 2
    assert clean(body.replace("\n\tv_fma", "\n\ts_nop 1\n\tv_fma"), RULE)


def test_gfx90a_f64_matrix_between_valu_and_memory() -> None:
    matrix = "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]"
    body = f"\tv_mov_b32 v70, 0\n\t{matrix}\n\tds_write_b32 v71, v70"
    assert only(body, RULE, "gfx90a").present == 1
    assert clean(body.replace("\n\tds_", "\n\ts_nop 0\n\tds_"), RULE, "gfx90a")
    assert clean("	v_mov_b32 v70, 0\n	ds_write_b32 v71, v70", RULE, "gfx90a")
