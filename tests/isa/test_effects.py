"""Registers, memory, counters and waits that follow from an instruction's text."""

from __future__ import annotations

import pytest

from isaprof.isa.decode import decode_lines
from isaprof.isa.model import Category, Instruction, MemAccess, Pipe, RegClass, RegSpan


def one(arch: str, text: str, **kwargs: int) -> Instruction:
    (i,) = decode_lines(arch, [(0x100, (), text)], **kwargs)
    return i


def spans(regs: tuple[RegSpan, ...]) -> set[str]:
    """Readable form: v4, v[0:3], exec[0:1], scc."""
    out = set()
    for r in regs:
        end = "" if r.count == 1 else f":{r.index + r.count - 1}"
        single = r.cls in (RegClass.SCC, RegClass.M0, RegClass.MODE)
        out.add(
            r.cls.value
            if single
            else f"{r.cls.value}{r.index}"
            if not end
            else f"{r.cls.value}[{r.index}{end}]"
        )
    return out


def words(mem: MemAccess | None) -> str:
    """Readable form: "global load store atomic 4", "buffer load dma 16", "" for no access."""
    if mem is None:
        return ""
    flags = {"load": mem.load, "store": mem.store, "atomic": mem.atomic, "dma": mem.lds_dma}
    return " ".join([mem.space.value, *(f for f, on in flags.items() if on), str(mem.bytes)])


MFMA = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"
SDWA = "v_or_b32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE"
DPP = "v_mov_b32_dpp v1, v2 row_shr:1 bank_mask:0xf bound_ctrl:1 row_mask:"


@pytest.mark.parametrize(
    ("arch", "text", "reads", "writes"),
    [
        ("gfx942", "v_add_f32_e32 v1, v2, v3", "v2 v3 exec[0:1]", "v1"),
        ("gfx1100", "v_add_f32_e32 v1, v2, v3", "v2 v3 exec0", "v1"),
        ("gfx942", "v_cmp_gt_u32_e32 vcc, s3, v1", "s3 v1 exec[0:1]", "vcc[0:1]"),
        ("gfx942", "v_cmpx_gt_u32_e64 s[4:5], v1, v2", "v1 v2 exec[0:1]", "s[4:5] exec[0:1]"),
        ("gfx1100", "v_cmpx_eq_u32_e32 0, v0", "v0 exec0", "exec0"),
        ("gfx942", "v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", "v2 v3 vcc[0:1] exec[0:1]", "v1 vcc[0:1]"),
        ("gfx942", "v_mad_u64_u32 v[0:1], s[2:3], v4, s5, v[6:7]", "v4 s5 v[6:7] exec[0:1]", "v[0:1] s[2:3]"),
        ("gfx942", "v_div_fmas_f32 v1, v2, v3, v4", "v2 v3 v4 vcc[0:1] exec[0:1]", "v1"),
        ("gfx942", "v_fmac_f32_e32 v1, v2, v3", "v1 v2 v3 exec[0:1]", "v1"),
        ("gfx942", MFMA, "v[0:1] v[2:3] a[0:15]", "a[0:15]"),
        ("gfx950", "v_permlane32_swap_b32_e32 v1, v2", "v1 v2 exec[0:1]", "v1 v2"),
        ("gfx1100", "v_swap_b32 v1, v2", "v1 v2 exec0", "v1 v2"),
        ("gfx942", "v_readlane_b32 s1, v2, 3", "v2", "s1"),
        ("gfx942", "v_readfirstlane_b32 s1, v2", "v2 exec[0:1]", "s1"),
        ("gfx942", "v_writelane_b32 v1, s2, 3", "s2 v1", "v1"),
        ("gfx1100", "v_add_f16_e64 v4.h, v5.l, v6.l", "v4 v5 v6 exec0", "v4"),
        ("gfx942", SDWA, "v1 v2 v3 exec[0:1]", "v1"),
        ("gfx942", DPP + "0xa", "v1 v2 exec[0:1]", "v1"),
        ("gfx942", DPP + "0xf", "v2 exec[0:1]", "v1"),
        ("gfx942", "v_nop", "", ""),
        ("gfx942", "s_add_u32 s0, s1, s2", "s1 s2", "s0 scc"),
        ("gfx942", "s_addc_u32 s0, s1, s2", "s1 s2 scc", "s0 scc"),
        ("gfx942", "s_mul_i32 s0, s1, s2", "s1 s2", "s0"),
        ("gfx942", "s_cselect_b32 s0, s1, s2", "s1 s2 scc", "s0"),
        ("gfx942", "s_cmp_eq_u32 s1, 0", "s1", "scc"),
        ("gfx942", "s_cmpk_eq_u32 s28, 0x2006", "s28", "scc"),
        ("gfx942", "s_addk_i32 s28, 0x7f4f", "s28", "s28 scc"),
        ("gfx942", "s_movk_i32 s28, 0x25c9", "", "s28"),
        ("gfx942", "s_cmovk_i32 s28, 0x25c9", "s28 scc", "s28"),
        ("gfx942", "s_and_saveexec_b64 s[4:5], vcc", "vcc[0:1] exec[0:1]", "s[4:5] exec[0:1] scc"),
        ("gfx1100", "s_and_saveexec_b32 s4, vcc_lo", "vcc0 exec0", "s4 exec0 scc"),
        ("gfx942", "s_cbranch_scc0 4", "scc", ""),
        ("gfx942", "s_cbranch_vccnz 4", "vcc[0:1]", ""),
        ("gfx1100", "s_cbranch_execz 4", "exec0", ""),
        ("gfx942", "s_setpc_b64 s[30:31]", "s[30:31]", ""),
        ("gfx942", "s_swappc_b64 s[30:31], s[4:5]", "s[4:5]", "s[30:31]"),
        ("gfx942", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "", "mode"),
        ("gfx1100", "s_load_b64 s[0:1], s[2:3], null", "s[2:3]", "s[0:1]"),
        ("gfx942", "s_store_dword s0, s[2:3], 0x0", "s0 s[2:3]", ""),
        ("gfx942", "global_store_dword v[0:1], v2, off", "v[0:1] v2 exec[0:1]", ""),
        ("gfx942", "global_atomic_add_f32 v1, v2, v3, s[0:1] sc0", "v2 v3 s[0:1] exec[0:1]", "v1"),
        ("gfx942", "global_atomic_add_f32 v2, v3, s[0:1]", "v2 v3 s[0:1] exec[0:1]", ""),
        ("gfx942", "buffer_atomic_add_f32 v1, v2, s[0:3], 0 offen sc0", "v1 v2 s[0:3] exec[0:1]", "v1"),
        ("gfx950", "buffer_load_dwordx4 v1, s[8:11], s3 offen lds", "v1 s[8:11] s3 m0 exec[0:1]", ""),
        ("gfx942", "buffer_load_short_d16 v1, v2, s[0:3], 0 offen", "v1 v2 s[0:3] exec[0:1]", "v1"),
        ("gfx942", "ds_write_b64 v1, v[2:3]", "v1 v[2:3] exec[0:1]", ""),
        ("gfx942", "ds_add_rtn_u32 v1, v2, v3", "v2 v3 exec[0:1]", "v1"),
        ("gfx1200", "ds_store_b16_d16_hi v0, v1", "v0 v1 exec0", ""),
        ("gfx942", "ds_bpermute_b32 v1, v2, v3", "v2 v3 exec[0:1]", "v1"),
        ("gfx1100", "v_dual_mov_b32 v1, 0 :: v_dual_fmac_f32 v4, v2, v3", "v2 v3 v4 exec0", "v1 v4"),
    ],
)  # fmt: skip
def test_reads_and_writes(arch: str, text: str, reads: str, writes: str) -> None:
    i = one(arch, text)
    assert spans(i.reads) == set(reads.split())
    assert spans(i.writes) == set(writes.split())


def test_wave64_on_rdna_has_wide_masks() -> None:
    assert RegSpan(RegClass.EXEC, 0, 2) in one("gfx1100", "v_add_f32_e32 v1, v2, v3", wave_size=64).reads


@pytest.mark.parametrize(
    ("arch", "text", "mem", "counters"),
    [
        ("gfx942", "global_load_dwordx4 v[0:3], v[4:5], off", "global load 16", "vmcnt"),
        ("gfx942", "global_store_short v[4:5], v1, off", "global store 2", "vmcnt"),
        ("gfx1100", "global_store_b16 v4, v1, s[0:1]", "global store 2", "vscnt"),
        ("gfx1200", "global_store_b128 v4, v[0:3], s[0:1]", "global store 16", "storecnt"),
        ("gfx942", "flat_load_dword v0, v[4:5]", "flat load 4", "vmcnt lgkmcnt"),
        ("gfx1100", "flat_store_b32 v[4:5], v0", "flat store 4", "vscnt lgkmcnt"),
        ("gfx1200", "flat_load_b64 v[0:1], v[4:5]", "flat load 8", "loadcnt dscnt"),
        ("gfx942", "buffer_load_ubyte v0, v1, s[0:3], 0 offen", "buffer load 1", "vmcnt"),
        ("gfx950", "buffer_load_dword v1, s[0:3], 0 offen lds", "buffer load dma 4", "vmcnt"),
        ("gfx950", "global_load_lds_dwordx4 v[2:3], off", "global load dma 16", "vmcnt"),
        ("gfx1100", "global_atomic_add_u32 v4, v[0:1], v3, off glc", "global load store atomic 4", "vmcnt"),
        ("gfx1100", "global_atomic_add_u64 v[0:1], v[2:3], off", "global store atomic 8", "vscnt"),
        ("gfx1200", "global_atomic_add_u32 v4, v[0:1], v3, off th:TH_ATOMIC_RETURN",
         "global load store atomic 4", "loadcnt"),
        ("gfx942", "global_atomic_cmpswap_x2 v0, v[2:5], s[0:1]", "global store atomic 8", "vmcnt"),
        ("gfx942", "ds_read2st64_b64 v[0:3], v4 offset1:2", "lds load 16", "lgkmcnt"),
        ("gfx950", "ds_read_b64_tr_b16 v[0:1], v4", "lds load 8", "lgkmcnt"),
        ("gfx1200", "ds_store_2addr_b32 v0, v1, v2 offset1:1", "lds store 8", "dscnt"),
        ("gfx942", "ds_add_u32 v0, v1", "lds store atomic 4", "lgkmcnt"),
        ("gfx942", "ds_bpermute_b32 v1, v2, v3", "", "lgkmcnt"),
        ("gfx942", "s_load_dwordx8 s[0:7], s[8:9], 0x0", "scalar load 32", "lgkmcnt"),
        ("gfx1200", "s_load_b96 s[0:2], s[8:9], 0x0", "scalar load 12", "kmcnt"),
        ("gfx942", "s_memtime s[0:1]", "", "lgkmcnt"),
        ("gfx1100", "scratch_store_b8 off, v2, off", "scratch store 1", "vscnt"),
        ("gfx1100", "image_sample v[0:3], v[4:5], s[0:7], s[8:11] dmask:0x7 dim:SQ_RSRC_IMG_2D",
         "global load 12", "vmcnt"),
        ("gfx1200", "image_sample v[0:3], [v4, v5], s[0:7], s[8:11] dmask:0xf dim:SQ_RSRC_IMG_2D",
         "global load 16", "samplecnt"),
        ("gfx942", "buffer_load_format_d16_xy v1, off, s[0:3], 0", "buffer load 4", "vmcnt"),
        ("gfx1100", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "", "lgkmcnt"),
        ("gfx942", "v_add_f32_e32 v1, v2, v3", "", ""),
    ],
)  # fmt: skip
def test_memory_and_counters(arch: str, text: str, mem: str, counters: str) -> None:
    i = one(arch, text)
    assert words(i.mem) == mem
    assert i.counters == tuple(counters.split())


@pytest.mark.parametrize(
    ("arch", "text", "waits"),
    [
        ("gfx942", "s_waitcnt vmcnt(1) lgkmcnt(0)", {"vmcnt": 1, "lgkmcnt": 0}),
        ("gfx942", "s_waitcnt 0x0f70", {"vmcnt": 0}),
        ("gfx942", "s_waitcnt 0xcf7f", {}),
        ("gfx942", "s_waitcnt 0", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
        ("gfx942", "s_waitcnt 0x4f71", {"vmcnt": 17}),
        ("gfx1100", "s_waitcnt 0xfc07", {"lgkmcnt": 0}),
        ("gfx1100", "s_waitcnt 0x07f7", {"vmcnt": 1}),
        ("gfx1030", "s_waitcnt 0xc07f", {"lgkmcnt": 0}),
        ("gfx1100", "s_waitcnt_vscnt null, 0x0", {"vscnt": 0}),
        ("gfx1200", "s_wait_loadcnt_dscnt 0x101", {"loadcnt": 1, "dscnt": 1}),
        ("gfx1200", "s_wait_loadcnt_dscnt 0x3f00", {"dscnt": 0}),
        ("gfx1200", "s_wait_kmcnt 0x0", {"kmcnt": 0}),
        ("gfx1200", "s_wait_loadcnt 0x3f", {}),
        ("gfx1200", "s_wait_alu 0xfffd", {}),
        ("gfx1250", "s_wait_tensorcnt 0x1", {"tensorcnt": 1}),
    ],
)
def test_waits(arch: str, text: str, waits: dict[str, int]) -> None:
    assert dict(one(arch, text).waits) == waits


@pytest.mark.parametrize("text", ["s_wait_idle", "s_waitcnt 0x0", "s_waitcnt 0xffff"])
def test_a_full_drain_waits_for_every_counter(text: str) -> None:
    assert dict(one("gfx1200", text).waits) == dict.fromkeys(
        ["loadcnt", "storecnt", "samplecnt", "bvhcnt", "expcnt", "dscnt", "kmcnt"], 0
    )


@pytest.mark.parametrize(
    ("text", "category", "pipe", "traced"),
    [
        ("v_add_f32_e32 v1, v2, v3", Category.VALU, Pipe.VALU, True),
        ("v_exp_f32_e32 v1, v2", Category.VALU, Pipe.TRANS, True),
        ("v_s_rcp_f32 s1, s2", Category.VALU, Pipe.TRANS, True),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]", Category.VALU, Pipe.MATRIX, True),
        ("s_add_u32 s0, s1, s2", Category.SALU, Pipe.SALU, True),
        ("s_load_b32 s0, s[2:3], 0x0", Category.SMEM, Pipe.SMEM, True),
        ("s_dcache_inv", Category.SMEM, Pipe.SMEM, True),
        ("s_icache_inv", Category.IMMED, Pipe.INTERNAL, True),
        ("global_load_b32 v0, v1, s[0:1]", Category.VMEM, Pipe.VMEM, True),
        ("flat_load_b32 v0, v[2:3]", Category.FLAT, Pipe.VMEM, True),
        ("ds_load_b32 v0, v1", Category.LDS, Pipe.LDS, True),
        ("s_cbranch_execz 4", Category.JUMP, Pipe.BRANCH, True),
        ("s_setpc_b64 s[0:1]", Category.SALU, Pipe.BRANCH, True),
        ("s_nop 0", Category.IMMED, Pipe.INTERNAL, True),
        ("s_wait_loadcnt 0x0", Category.IMMED, Pipe.INTERNAL, True),
        ("s_delay_alu instid0(VALU_DEP_1)", Category.IMMED, Pipe.INTERNAL, False),
        ("s_wait_alu 0xfffd", Category.IMMED, Pipe.INTERNAL, False),
        ("s_setprio 1", Category.IMMED, Pipe.INTERNAL, True),
        ("s_barrier_wait 0xffff", Category.IMMED, Pipe.INTERNAL, True),
        ("s_endpgm", Category.IMMED, Pipe.INTERNAL, True),
        ("image_bvh_intersect_ray v[0:3], v[4:14], s[0:3]", Category.BVH, Pipe.VMEM, True),
        (".long 0x12345678", Category.NONE, Pipe.INTERNAL, False),
    ],
)
def test_category_and_pipe(text: str, category: Category, pipe: Pipe, traced: bool) -> None:
    i = one("gfx1200", text)
    assert (i.category, i.pipe, i.traced) == (category, pipe, traced)


@pytest.mark.parametrize(
    ("text", "target"),
    [("s_branch 3", 0x110), ("s_cbranch_scc0 65535", 0x100), ("s_cbranch_vccz 32768", 0x104 - 4 * 32768),
     ("s_call_b64 s[4:5], 16", 0x144), ("s_setpc_b64 s[4:5]", None), ("s_add_u32 s0, s1, 3", None)],
)  # fmt: skip
def test_branch_target(text: str, target: int | None) -> None:
    i = one("gfx942", text)
    assert i.target == target
    assert i.is_branch is (target is not None)
