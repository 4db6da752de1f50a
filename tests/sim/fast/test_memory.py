"""Memory instructions: both executors leave the same registers, LDS and memory, or the same fault."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .differential import compare, listing_from_texts

_SIZES9 = (
    "ubyte",
    "sbyte",
    "ushort",
    "sshort",
    "dword",
    "dwordx2",
    "dwordx3",
    "dwordx4",
    "short_d16",
    "short_d16_hi",
    "ubyte_d16",
    "sbyte_d16_hi",
)
_SIZES11 = (
    "u8",
    "i8",
    "u16",
    "i16",
    "b32",
    "b64",
    "b96",
    "b128",
    "d16_b16",
    "d16_hi_b16",
    "d16_u8",
    "d16_hi_i8",
)
_STORES9 = ("byte", "short", "dword", "dwordx2", "dwordx3", "dwordx4", "byte_d16_hi", "short_d16_hi")
_STORES11 = ("b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16")
_DS_LOADS = ("u8", "i8", "u16", "i16", "b32", "b64", "b96", "b128")
_DS_ATOMICS = (
    "add_u32",
    "sub_u32",
    "rsub_u32",
    "inc_u32",
    "dec_u32",
    "min_i32",
    "max_i32",
    "min_u32",
    "max_u32",
    "and_b32",
    "or_b32",
    "xor_b32",
    "add_f32",
    "add_u64",
    "max_i64",
    "min_u64",
    "xor_b64",
    "min_f32",
    "max_f32",
    "mskor_b32",
)
_ATOMICS9 = (
    "add",
    "sub",
    "smin",
    "umax",
    "and",
    "xor",
    "inc",
    "dec",
    "swap",
    "add_x2",
    "umin_x2",
    "add_f32",
    "pk_add_f16",
    "pk_add_bf16",
)


def _wide(kind: str) -> int:
    for n, tails in ((4, ("x4", "b128")), (3, ("x3", "b96")), (2, ("x2", "64"))):
        if kind.endswith(tails):
            return n
    return 1


def _v(r: int, n: int) -> str:
    return f"v{r}" if n == 1 else f"v[{r}:{r + n - 1}]"


@st.composite
def gfx9(draw: st.DrawFn) -> str:
    r = draw(st.integers(0, 25)) * 2
    offset = draw(st.sampled_from(["", " offset:4", " offset:64", " offset:4095"]))
    form = draw(st.integers(0, 8))
    load = draw(st.booleans())
    kind = draw(st.sampled_from(_SIZES9 if load else _STORES9))
    reg = _v(r, _wide(kind))
    verb = "load" if load else "store"
    if form <= 1:
        base = draw(st.sampled_from(["v62, s[28:29]", "v[60:61], off"]))
        place, tail = base.split(", ")
        ops = f"{reg}, {place}, {tail}" if load else f"{place}, {reg}, {tail}"
        return f"{draw(st.sampled_from(['global', 'global']))}_{verb}_{kind} {ops}{offset}"
    if form == 2:
        ops = f"{reg}, v[60:61]" if load else f"v[60:61], {reg}"
        return f"flat_{verb}_{kind} {ops}{offset}"
    if form <= 4:
        where = draw(
            st.sampled_from(
                [
                    "v62, s[20:23], 0 offen",
                    "v62, s[20:23], s3 offen",
                    "v63, s[24:27], 0 idxen",
                    "off, s[20:23], 0",
                    "v[62:63], s[24:27], 0 idxen offen",
                    "v62, s[20:23], 16 offen",
                ]
            )
        )
        return f"buffer_{verb}_{kind} {reg}, {where}{offset}"
    if form == 5:
        atomic = draw(st.sampled_from(_ATOMICS9))
        data = _v(r, 2 if atomic.endswith("x2") else 1)
        if draw(st.booleans()):
            back = draw(st.booleans())
            return f"global_atomic_{atomic} {data + ', ' if back else ''}v62, {data}, s[28:29]{' sc0' * back}"
        return f"buffer_atomic_{atomic} {data}, v62, s[20:23], 0 offen{draw(st.sampled_from(['', ' sc0']))}"
    if form == 6:
        return draw(
            st.sampled_from(
                [
                    "buffer_load_dword v62, s[20:23], 0 offen lds",
                    "buffer_load_dwordx4 v62, s[20:23], 0 offen lds",
                    "global_load_lds_dword v[60:61], off",
                    "buffer_load_ushort v62, s[20:23], 0 offen offset:64 lds",
                ]
            )
        )
    if form == 7:
        scalar = draw(st.sampled_from(["dword s4", "dwordx2 s[4:5]", "dwordx4 s[4:7]", "dwordx8 s[8:15]"]))
        where = draw(st.sampled_from(["s[28:29], 0x40", "s[28:29], 0x0", "s[30:31], 0x1ffc", "s[28:29], s5"]))
        if draw(st.booleans()):
            return f"s_buffer_load_{scalar}, s[20:23], {draw(st.sampled_from(['0x40', '0xffc', '0x2000']))}"
        return f"s_load_{scalar}, {where}"
    ops = f"{reg}, off, off" if load else f"off, {reg}, off"
    return f"scratch_{verb}_{kind} {ops}{draw(st.sampled_from(['', ' offset:16', ' offset:250']))}"


@st.composite
def lds(draw: st.DrawFn) -> str:
    r = draw(st.integers(0, 12)) * 4
    offset = draw(st.sampled_from(["", " offset:4", " offset:128", " offset:60000"]))
    form = draw(st.integers(0, 6))
    kind = draw(st.sampled_from(_DS_LOADS))
    if form == 0:
        return f"ds_read_{kind} {_v(r, _wide(kind))}, v62{offset}"
    if form == 1:
        kind = draw(st.sampled_from(["b8", "b16", "b32", "b64", "b96", "b128"]))
        return f"ds_write_{kind} v62, {_v(r, _wide(kind))}{offset}"
    if form == 2:
        two = draw(st.sampled_from(["2", "2st64"]))
        bits = draw(st.sampled_from([32, 64]))
        n = bits // 32
        if draw(st.booleans()):
            return f"ds_read{two}_b{bits} {_v(r, 2 * n)}, v62 offset0:1 offset1:3"
        return f"ds_write{two}_b{bits} v62, {_v(r, n)}, {_v(r + 2, n)} offset0:2 offset1:2"
    if form == 3:
        name = draw(st.sampled_from(_DS_ATOMICS))
        n = 2 if name.endswith("64") else 1
        if name.startswith("mskor"):
            return f"ds_mskor_b32 v62, v{r}, v{r + 1}"
        if draw(st.booleans()):
            op, _, t = name.rpartition("_")
            return f"ds_{op}_rtn_{t} {_v(r, n)}, v62, {_v(r + 2, n)}{offset}"
        return f"ds_{name} v62, {_v(r, n)}{offset}"
    if form == 4:
        return draw(
            st.sampled_from(
                [
                    f"ds_bpermute_b32 v{r}, v62, v{r + 1}",
                    f"ds_permute_b32 v{r}, v62, v{r + 1}",
                    f"ds_cmpst_rtn_b32 v{r}, v62, v{r + 1}, v{r + 2}",
                    f"ds_wrxchg_rtn_b32 v{r}, v62, v{r + 1}",
                ]
            )
        )
    if form == 5:
        return f"v_readfirstlane_b32 s{draw(st.integers(0, 15))}, v{r}"
    return draw(
        st.sampled_from(
            [
                f"v_readlane_b32 s7, v{r}, s3",
                f"v_writelane_b32 v{r}, s2, s9",
                f"v_mbcnt_lo_u32_b32 v{r}, s4, v{r + 1}",
                f"v_mbcnt_hi_u32_b32 v{r}, -1, v{r}",
                f"v_permlane32_swap_b32 v{r}, v{r + 1}",
                f"v_permlane16_swap_b32 v{r}, v{r + 2}",
                f"v_swap_b32 v{r}, v{r + 3}",
                f"v_pk_mov_b32 v[{r}:{r + 1}], v[{r + 2}:{r + 3}], v[{r}:{r + 1}] op_sel:[1,0]",
            ]
        )
    )


MASKS = st.sampled_from([None, 0x5555AAAA0FF03333, 0x8000000000000001, 0])


@given(st.lists(gfx9(), min_size=1, max_size=6), st.integers(0, 1 << 16), MASKS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_vector_and_scalar_memory(texts: list[str], seed: int, mask: int | None) -> None:
    bad, _ = compare("gfx950", listing_from_texts("gfx950", texts), seed, exec_mask=mask, agprs=0)
    assert bad is None, (texts, bad)


@given(st.lists(lds(), min_size=1, max_size=6), st.integers(0, 1 << 16), MASKS)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_lds_and_moves_between_lanes(texts: list[str], seed: int, mask: int | None) -> None:
    bad, _ = compare("gfx950", listing_from_texts("gfx950", texts), seed, exec_mask=mask, agprs=0)
    assert bad is None, (texts, bad)


@pytest.mark.parametrize("load", _SIZES11)
def test_loads_of_gfx11(load: str) -> None:
    texts = [
        f"global_load_{load} {_v(4, _wide(load))}, v62, s[28:29]",
        f"buffer_load_{load} {_v(8, _wide(load))}, v62, s[20:23], 0 offen offset:12",
    ]
    for seed in range(6):
        bad, left = compare("gfx1100", listing_from_texts("gfx1100", texts), seed, exec_mask=0xFFFF0F0F)
        assert bad is None
        assert not left


@pytest.mark.parametrize("store", _STORES11)
def test_stores_of_gfx11(store: str) -> None:
    texts = [
        f"global_store_{store} v62, {_v(4, _wide(store))}, s[28:29]",
        f"buffer_store_{store} {_v(8, _wide(store))}, v62, s[20:23], s3 offen offset:12",
    ]
    for seed in range(6):
        bad, _ = compare("gfx1100", listing_from_texts("gfx1100", texts), seed, exec_mask=0xFFFF0F0F)
        assert bad is None
