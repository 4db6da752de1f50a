"""Facts of each generation that are needed to read its code: registers, counters, waits.

Sources: LLVM's AMDGPU backend (SIInsertWaitcnts.cpp, AMDGPUBaseInfo.cpp,
AMDHSAKernelDescriptor.h) and user guide; AMD's ISA guides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isaprof.arch.table import ArchTable, Fact, build
from isaprof.arch.targets import wave_sizes

_DESC = "LLVM AMDHSAKernelDescriptor.h, AMDGPU user guide"
_VOPD = "LLVM AMDGPUBaseInfo.cpp; AMD ISA guide, VOPD"
_WAIT = "LLVM SIInsertWaitcnts.cpp and AMDGPUBaseInfo.cpp; AMD ISA guide"

#: which counters each memory event increments
_COUNTERS_GFX9 = {
    "vmem_load": ("vmcnt",), "vmem_store": ("vmcnt",), "vmem_atomic_return": ("vmcnt",),
    "flat_load": ("vmcnt", "lgkmcnt"), "flat_store": ("vmcnt", "lgkmcnt"),
    "flat_atomic_return": ("vmcnt", "lgkmcnt"),
    "sample": ("vmcnt",), "bvh": ("vmcnt",), "lds_dma": ("vmcnt",), "cache": ("vmcnt",),
    "lds": ("lgkmcnt",), "gds": ("lgkmcnt", "expcnt"), "smem": ("lgkmcnt",), "message": ("lgkmcnt",),
    "export": ("expcnt",), "lds_direct": ("expcnt",),
}  # fmt: skip
_COUNTERS_GFX10 = _COUNTERS_GFX9 | {
    "vmem_store": ("vscnt",), "flat_store": ("vscnt", "lgkmcnt"),
}  # fmt: skip
_COUNTERS_GFX12 = {
    "vmem_load": ("loadcnt",), "vmem_store": ("storecnt",), "vmem_atomic_return": ("loadcnt",),
    "flat_load": ("loadcnt", "dscnt"), "flat_store": ("storecnt", "dscnt"),
    "flat_atomic_return": ("loadcnt", "dscnt"),
    "sample": ("samplecnt",), "bvh": ("bvhcnt",), "lds_dma": ("loadcnt",),
    "cache": ("loadcnt",), "cache_writeback": ("storecnt",),
    "lds": ("dscnt",), "gds": ("dscnt",), "smem": ("kmcnt",), "message": ("kmcnt",),
    "export": ("expcnt",), "lds_direct": ("expcnt",),
}  # fmt: skip
_COUNTERS_GFX1250 = _COUNTERS_GFX12 | {"async": ("asynccnt",), "tensor": ("tensorcnt",)}


def _counters(events: Mapping[str, tuple[str, ...]], maxima: Mapping[str, int]) -> dict[str, Fact]:
    return {
        "counter_model": Fact(dict(events), "event -> counters", _WAIT),
        "counter_max": Fact(dict(maxima), "counts", _WAIT),
        # scalar loads come back in any order, so only a wait for 0 on their counter means anything
        "out_of_order_events": Fact(("smem", "message"), "", _WAIT),
    }


def _layout(**fields: tuple[tuple[int, int], ...]) -> Fact:
    return Fact(dict(fields), "counter -> (low bit, width) pieces, low piece first", _WAIT)


def _facts(unit: str = "", source: str = _DESC, **values: Any) -> dict[str, Fact]:
    return {k: Fact(v, unit, source) for k, v in values.items()}


_COMMON = _facts(
    kernarg_preload=False, unified_agpr=False, separate_agpr=False, has_wgp=False, has_ieee_dx10_bits=True,
    inst_pref_bits=0, dynamic_vgpr_bit=None, user_sgpr_count_bits=5, sgpr_fixed=None, has_vopd=False,
    waitcnt_layout=None, flat_scratch_sgpr=False, max_sgpr=102,
)  # fmt: skip

GFX9: dict[str, Fact] = {
    **_COMMON,
    **_facts(wave_sizes=wave_sizes("gfx9"), vgpr_encoding_granule={64: 4}, flat_scratch_sgpr=True),
    **_counters(_COUNTERS_GFX9, {"vmcnt": 63, "lgkmcnt": 15, "expcnt": 7}),
    "waitcnt_layout": _layout(vmcnt=((0, 4), (14, 2)), expcnt=((4, 3),), lgkmcnt=((8, 4),)),
    "separate_wait_counters": Fact({}, "mnemonic -> counters", _WAIT),
}

#: gfx90a, gfx942, gfx950: one register file for VGPRs and AGPRs, kernarg preload
CDNA_UNIFIED: dict[str, Fact] = _facts(vgpr_encoding_granule={64: 8}, unified_agpr=True, kernarg_preload=True)

_WAVE32 = _facts(
    wave_sizes=wave_sizes("gfx10"),
    vgpr_encoding_granule={32: 8, 64: 4},
    sgpr_fixed=128,
    has_wgp=True,
    max_sgpr=106,
)
_VSCNT = {
    "s_waitcnt_vscnt": (("vscnt", 0, 6),), "s_waitcnt_vmcnt": (("vmcnt", 0, 6),),
    "s_waitcnt_expcnt": (("expcnt", 0, 3),), "s_waitcnt_lgkmcnt": (("lgkmcnt", 0, 6),),
}  # fmt: skip
GFX10: dict[str, Fact] = {
    **_COMMON,
    **_WAVE32,
    **_facts(flat_scratch_sgpr=True),
    **_counters(_COUNTERS_GFX10, {"vmcnt": 63, "vscnt": 63, "lgkmcnt": 63, "expcnt": 7}),
    "waitcnt_layout": _layout(vmcnt=((0, 4), (14, 2)), expcnt=((4, 3),), lgkmcnt=((8, 6),)),
    "separate_wait_counters": Fact(_VSCNT, "mnemonic -> (counter, low bit, width)", _WAIT),
}
_DEPCTR = {
    "sa_sdst": (0, 1), "va_vcc": (1, 1), "vm_vsrc": (2, 3), "hold_cnt": (7, 1), "va_ssrc": (8, 1),
    "va_sdst": (9, 3), "va_vdst": (12, 4),
}  # fmt: skip
#: ids of s_delay_alu's two fields: kind of the producer and how many of that kind back
_DELAY_IDS = {
    **{i: ("VALU_DEP", i) for i in range(1, 5)},
    **{i + 4: ("TRANS32_DEP", i) for i in range(1, 4)},
    8: ("FMA_ACCUM_CYCLE", 1),
    **{i + 8: ("SALU_CYCLE", i) for i in range(1, 4)},
}
_VOPD_X = (
    "fmac_f32", "fmaak_f32", "fmamk_f32", "mul_f32", "add_f32", "sub_f32", "subrev_f32", "mul_dx9_zero_f32",
    "mov_b32", "cndmask_b32", "max_f32", "min_f32", "max_num_f32", "min_num_f32", "dot2acc_f32_f16",
    "dot2acc_f32_bf16",
)  # fmt: skip
_RDNA34 = {
    "depctr_fields": Fact(dict(_DEPCTR), "field -> (low bit, width); maximum = no wait", _WAIT),
    "delay_alu_ids": Fact(dict(_DELAY_IDS), "", "LLVM AMDGPUInsertDelayAlu.cpp"),
    "vopd_x": Fact(_VOPD_X, "", _VOPD),
    "vopd_y": Fact((*_VOPD_X, "add_nc_u32", "lshlrev_b32", "and_b32"), "", _VOPD),
    # registers of the two halves: one destination even, one odd; src0 and vsrc1 in different banks
    "vopd_bank_masks": Fact({"dst": 1, "src0": 3, "vsrc1": 3, "vsrc2": 1}, "index & mask differs", _VOPD),
    "vopd_max_scalars": Fact(2, "distinct scalar or literal sources", _VOPD),
}
GFX11: dict[str, Fact] = {
    **GFX10,
    **_RDNA34,
    **_facts(inst_pref_bits=6, has_vopd=True, flat_scratch_sgpr=False),
    "waitcnt_layout": _layout(expcnt=((0, 3),), lgkmcnt=((4, 6),), vmcnt=((10, 6),)),
}
_SPLIT_WAITS = {
    "s_wait_loadcnt": (("loadcnt", 0, 6),), "s_wait_storecnt": (("storecnt", 0, 6),),
    "s_wait_samplecnt": (("samplecnt", 0, 6),), "s_wait_bvhcnt": (("bvhcnt", 0, 3),),
    "s_wait_expcnt": (("expcnt", 0, 3),), "s_wait_dscnt": (("dscnt", 0, 6),),
    "s_wait_kmcnt": (("kmcnt", 0, 5),),
    "s_wait_loadcnt_dscnt": (("loadcnt", 8, 6), ("dscnt", 0, 6)),
    "s_wait_storecnt_dscnt": (("storecnt", 8, 6), ("dscnt", 0, 6)),
}  # fmt: skip
_MAX_GFX12 = {
    "loadcnt": 63, "storecnt": 63, "samplecnt": 63, "bvhcnt": 7, "expcnt": 7, "dscnt": 63, "kmcnt": 31,
}  # fmt: skip
GFX12: dict[str, Fact] = {
    **_COMMON,
    **_WAVE32,
    **_RDNA34,
    **_facts(has_ieee_dx10_bits=False, inst_pref_bits=8, has_vopd=True, dynamic_vgpr_bit=6),
    **_counters(_COUNTERS_GFX12, _MAX_GFX12),
    "separate_wait_counters": Fact(dict(_SPLIT_WAITS), "mnemonic -> (counter, low bit, width)", _WAIT),
}
GFX1250: dict[str, Fact] = {
    **GFX12,
    **_facts(
        wave_sizes=wave_sizes("gfx1250"), vgpr_encoding_granule={32: 16}, kernarg_preload=True,
        user_sgpr_count_bits=6, dynamic_vgpr_bit=None,
    ),
    **_counters(_COUNTERS_GFX1250, _MAX_GFX12 | {"asynccnt": 63, "tensorcnt": 63, "xcnt": 63}),
    "separate_wait_counters": Fact(
        dict(_SPLIT_WAITS | {
            "s_wait_asynccnt": (("asynccnt", 0, 6),), "s_wait_tensorcnt": (("tensorcnt", 0, 6),),
            "s_wait_xcnt": (("xcnt", 0, 6),),
        }),
        "mnemonic -> (counter, low bit, width)", _WAIT,
    ),
}  # fmt: skip

#: enough to disassemble, classify and describe any target of a generation
FAMILY: Mapping[str, ArchTable] = {
    gen: build(gen, gen, f"{gen} family", facts)
    for gen, facts in (
        ("gfx9", GFX9), ("gfx10", GFX10), ("gfx11", GFX11), ("gfx12", GFX12), ("gfx1250", GFX1250),
    )
}  # fmt: skip

#: targets that differ from their family in what decoding needs, and have no table of their own
VARIANTS: Mapping[str, ArchTable] = {
    "gfx908": build("gfx908", "gfx9", "MI100", GFX9, _facts(separate_agpr=True)),
    **{
        name: build(name, "gfx9", "CDNA3 family", GFX9, CDNA_UNIFIED, _facts(flat_scratch_sgpr=False))
        for name in ("gfx940", "gfx941", "gfx9-4-generic")
    },
    "gfx1251": build("gfx1251", "gfx1250", "gfx1250 family", GFX1250),
}
