"""Each detector: stated where the code shows it, and not where it does not."""

from __future__ import annotations

from isaprof.inspect.model import Passport
from tests.inspect.kernels import passport

LOAD = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"


def found(p: Passport) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for t in p.techniques:
        assert t.lines
        out.setdefault(t.id, []).append(t.statement)
    return out


def test_lds_padding_is_what_nothing_writes() -> None:
    rows = "  v_lshrrev_b32 v1, 4, v0\n  v_mul_u32_u24 v1, {0}, v1\n  v_and_b32 v2, 15, v0\n"
    write = rows + "  v_lshl_add_u32 v1, v2, 2, v1\n"
    write += "  v_mov_b32 v3, 0\n  ds_write_b32 v1, v3\n"
    padded = found(passport(write.format("0x48"), lds=4096))["lds-layout"]
    assert padded == ["rows of 0x48 bytes of which 0x8 are never written (padding), 15 times or more"]
    assert "lds-layout" not in found(passport(write.format("0x40"), lds=4096))
    # the same stride, but something else writes there
    filled = write.format("0x48") + "  ds_write_b64 v1, v[4:5] offset:8\n"
    assert "lds-layout" not in found(passport(filled, lds=4096))


def test_xor_swizzle() -> None:
    p = passport(
        "  v_lshlrev_b32 v1, 4, v0\n  v_lshlrev_b32 v2, 1, v0\n  v_and_b32 v2, 48, v2\n"
        "  v_xor_b32 v1, v1, v2\n"
        "  v_mov_b32 v4, 0\n  v_mov_b32 v5, 0\n  ds_write_b64 v1, v[4:5]\n",
        lds=4096,
    )
    assert found(p)["lds-layout"] == ["addresses are XORed with bits of the work-item id"]


PHASES = (
    "  v_lshlrev_b32 v1, 2, v0\n  v_mov_b32 v2, 0\n  s_mov_b32 s9, 0\n.Lloop:\n"
    "  {0}\n  s_barrier\n  {1}\n  s_barrier\n  s_addk_i32 s9, 1\n"
    "  s_cmp_lt_i32 s9, 9\n  s_cbranch_scc1 .Lloop\n"
)


def test_double_buffering_needs_one_copy_filled_while_another_is_read() -> None:
    both = PHASES.format(
        "ds_write_b32 v1, v2\n  ds_read_b32 v3, v1 offset:1024",
        "ds_write_b32 v1, v2 offset:1024\n  ds_read_b32 v3, v1",
    )
    assert (
        "2 copies of an area at 0x0, 0x400 bytes apart"
        in found(passport(both, lds=2048))["double-buffering"][0]
    )
    # two tiles, both written and then both read: one buffer
    single = PHASES.format(
        "ds_write_b32 v1, v2\n  ds_write_b32 v1, v2 offset:1024",
        "ds_read_b32 v3, v1\n  ds_read_b32 v4, v1 offset:1024",
    )
    assert "double-buffering" not in found(passport(single, lds=2048))


def test_software_pipelining_and_its_absence() -> None:
    loop = (
        LOAD + "  v_mov_b32 v1, 0\n  v_mov_b32 v3, 0\n  v_mov_b32 v4, 0\n  s_mov_b32 s9, 0\n{0}.Lloop:\n{1}"
        "  s_addk_i32 s9, 1\n  s_cmp_lt_i32 s9, 9\n  s_cbranch_scc1 .Lloop\n"
        "  global_store_dword v1, v3, s[4:5]\n"
    )
    load = "  global_load_dword {0}, v1, s[4:5]\n"
    use = "  v_add_u32 v3, v3, v2\n"
    wait = "  s_waitcnt vmcnt(0)\n"
    now = passport(loop.format("", load.format("v2") + wait + use))
    assert "software-pipelining" not in found(now)
    ahead = passport(loop.format(load.format("v2"), wait + use + load.format("v2")))
    assert "depth 1" in found(ahead)["software-pipelining"][0]
    two = passport(
        loop.format(
            load.format("v2") + load.format("v4"), wait + use + "  v_mov_b32 v2, v4\n" + load.format("v4")
        )
    )
    assert "depth 2" in found(two)["software-pipelining"][0]


def test_magic_dequantisation() -> None:
    body = LOAD + "  s_mov_b32 s8, 0xf000f\n  v_mov_b32 v1, 0\n  {0}\n  global_store_dword v1, v2, s[4:5]\n"
    p = passport(body.format("v_and_b32 v2, s8, v0\n  v_or_b32 v2, 0x43004300, v2"))
    assert "bf16 128 + n" in found(p)["magic-dequant"][0]
    assert "magic-dequant" not in found(passport(body.format("v_or_b32 v2, 0x12341234, v0")))


def test_lane_exchanges() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v1, 0\n  v_add_f32_dpp v2, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf\n"
        "  global_store_dword v1, v2, s[4:5]\n"
    )
    assert "1 DPP arithmetic" in found(p)["lane-reductions"][0]


def test_lock() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v1, 0\n  v_mov_b32 v2, 1\n  global_atomic_add v3, v1, v2, s[4:5] sc0\n"
        "  s_waitcnt vmcnt(0)\n  v_readfirstlane_b32 s8, v3\n  s_cmp_lg_u32 s8, 7\n  s_cbranch_scc1 .Lout\n"
        "  global_store_dword v1, v2, s[4:5]\n.Lout:\n"
    )
    assert "lock" in found(p)["split-k"][0]


def test_cache_policy_priority_and_accumulators() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v1, 0\n  s_setprio 1\n  v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[4:5], a[0:3]\n"
        "  s_setprio 0\n  v_accvgpr_read_b32 v6, a0\n  global_store_dword v1, v6, s[4:5] nt\n",
        vgprs=32,
    )
    ids = found(p)
    assert ids["setprio"] == ["2 s_setprio to 0, 1 (0 in loops)"]
    assert ids["cache-policy"] == ["1 global_store_dword with nt"]
    assert ids["agpr-accumulators"] == ["1 of 1 matrix instructions write 4 AGPRs"]
    assert "direct-operands" not in ids


def test_operands_straight_from_memory() -> None:
    p = passport(
        LOAD + "  v_mov_b32 v1, 0\n  global_load_dwordx2 v[2:3], v1, s[4:5]\n  s_waitcnt vmcnt(0)\n"
        "  v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0\n  global_store_dword v1, v8, s[4:5]\n"
    )
    assert "1 of 1 matrix instructions" in found(p)["direct-operands"][0]
