"""Trace category and execution pipe of an instruction, from its mnemonic.

The category is the one a thread trace's packets carry; the prefixes follow
the decoder of ROCm's rocprof-trace-decoder (MIT), which matches records to
lines of the disassembly by them.
"""

from __future__ import annotations

from functools import lru_cache

from isaprof.isa.model import Category, Pipe

#: longest matching prefix decides
_CATEGORY_PREFIXES: dict[str, Category] = {
    "v_": Category.VALU,
    "s_": Category.SALU,
    **dict.fromkeys(
        (
            "s_wait_", "s_waitcnt", "s_nop", "s_sleep", "s_wakeup", "s_sendmsg", "s_setprio", "s_set_inst",
            "s_inst_prefetch", "s_setkill", "s_version", "s_trap", "s_barrie", "s_endpgm", "s_icache_inv",
            "s_incperflevel", "s_decperflevel", "s_sethalt", "s_setvskip", "s_ttrace", "s_clause",
            "s_monitor", "s_delay", "s_set_vgpr", "buffer_nop",
        ),
        Category.IMMED,
    ),
    "s_setprio_inc": Category.SALU,
    **dict.fromkeys(
        (
            "s_load", "s_buffer", "s_atomic", "s_atc", "s_scratch", "s_store", "s_dcache", "s_memrealtime",
            "s_memtime", "s_prefetch", "s_gl1_inv", "s_get_waveid_in_workgroup",
        ),
        Category.SMEM,
    ),
    **dict.fromkeys(
        ("buffer_", "tbuffer_", "global_", "scratch_", "cluster_", "tensor_", "dds_", "image_"), Category.VMEM
    ),
    "flat_": Category.FLAT,
    "ds_": Category.LDS,
    "lds_": Category.LDS,
    "image_bvh": Category.BVH,
    "ds_bvh": Category.BVH,
}  # fmt: skip

#: instructions for which hardware writes no trace packet (gfx11's s_waitcnt_depctr is not among them)
_SKIP_PREFIXES = ("s_wait_dep", "s_wait_alu", "s_delay", "s_set_vgpr", "buffer_nop")

_MATRIX_PREFIXES = ("v_mfma_", "v_smfmac_", "v_wmma_", "v_swmmac_")
_TRANS_PREFIXES = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_tanh_", "v_s_")
#: control transfers that the trace counts as SALU but that take the branch path
_JUMP_PREFIXES = ("s_setpc", "s_swappc", "s_call", "s_rfe", "s_set_pc", "s_swap_pc", "s_subvector_loop")

_PIPE_OF: dict[Category, Pipe] = {
    Category.VALU: Pipe.VALU,
    Category.SALU: Pipe.SALU,
    Category.SMEM: Pipe.SMEM,
    Category.VMEM: Pipe.VMEM,
    Category.FLAT: Pipe.VMEM,
    Category.BVH: Pipe.VMEM,
    Category.LDS: Pipe.LDS,
    Category.JUMP: Pipe.BRANCH,
}


@lru_cache(maxsize=8192)
def categorise(base: str) -> tuple[Category, bool, Pipe]:
    """(category, traced, pipe) of a mnemonic without encoding suffix.

    Data words (``.long``) and unknown mnemonics have category NONE, no packet
    and no pipe.
    """
    if "branch" in base and base.startswith("s_"):
        return Category.JUMP, True, Pipe.BRANCH
    category = Category.NONE
    for n in range(len(base), 1, -1):
        if (c := _CATEGORY_PREFIXES.get(base[:n])) is not None:
            category = c
            break
    traced = category is not Category.NONE and not base.startswith(_SKIP_PREFIXES)
    if base.startswith("exp") and (base == "exp" or base.startswith("export")):
        return Category.NONE, True, Pipe.EXPORT
    pipe = _PIPE_OF.get(category, Pipe.INTERNAL)
    if category is Category.VALU:
        if base.startswith(_MATRIX_PREFIXES):
            pipe = Pipe.MATRIX
        elif base.startswith(_TRANS_PREFIXES):
            pipe = Pipe.TRANS
    elif category is Category.SALU and base.startswith(_JUMP_PREFIXES):
        pipe = Pipe.BRANCH
    return category, traced, pipe
