"""Why the simulator does not follow certain conformance vectors, by class.

All are ``pcode`` records, whose expected state comes from one emulator alone,
but for two ``hwtest`` records at the end. A class is a pattern over
"mnemonic | text | status"; the first that matches is the reason.
"""

from __future__ import annotations

import re

#: records of a trusted kind that are not followed: exactly these
EXCEPTIONS = {
    "rdna3-01488": "ds_bpermute, one active lane: the record writes inactive lanes, the ISA only active ones",
    "rdna3-00074": "DPP control row_bcast on gfx11: removed in gfx10, LLVM does not decode it",
}

_CLASSES: list[tuple[str, str, str]] = [
    (
        "invalid",
        r"\| .*/\*Invalid .*\| unimplemented"
        r"|^v_(cndmask_b(16|32)|\w+_co_ci_u32|addc_co_u32) \|.*\| unimplemented",
        "no encoding that the ISA allows (a VGPR as lane mask, an SGPR where a VGPR must be): a named fault",
    ),
    (
        "integer clamp",
        r"^v_(msad_u8|mad_i64_i32) \| .*clamp.*\| unimplemented",
        "the ISA gives no meaning to clamp on this instruction: a named fault",
    ),
    (
        "dpp",
        r"_dpp ",
        "row_mask and bank_mask keep lanes as they are, source lanes out of the row or switched off"
        " are invalid (written as 0 with bound_ctrl, else not at all), wave_rol and wave_ror rotate"
        " the whole wave: the emulator has none of it. ISA, Data Parallel Processing",
    ),
    (
        "saturation",
        r"^v_cvt_(norm|pk_norm|pknorm)_[iu]16_f(16|32) |^v_cvt_pk_(i16_i32|u16_u32|i16_f32|u8_f32) "
        r"|^v_cvt_([iu](16|32)_f(16|32|64)|nearest_i32_f32|rpi_i32_f32|flr_i32_f32) ",
        "out of range saturates, NaN gives 0; the emulator wraps. ISA, conversion instructions; an "
        "integer constant -1 in front of a float source is a NaN",
    ),
    (
        "truncation",
        r"^[vs]_cvt_(pk_rtz|pkrtz)_f16_f32 ",
        "rounds towards zero by its name; the emulator rounds to nearest",
    ),
    (
        "small subnormals",
        r"^v_cvt_pk_(fp8|bf8)_f32 ",
        "fp8 and bf8 have subnormals (OCP 8-bit Floating Point Specification); the emulator makes them 0",
    ),
    (
        "empty table",
        r"^v_cvt_off_f32_i4 ",
        "the emulator's table of the 16 values is empty",
    ),
    (
        "accumulated byte",
        r"^v_cvt_pkaccum_u8_f32 ",
        "writes one byte of the destination and keeps three; the emulator clears them",
    ),
    (
        "f16 turns",
        r"^v_(sin|cos)_f16 ",
        "evaluated exactly and rounded once; the emulator computes in f16 and loses part of the argument",
    ),
    (
        "denormals",
        r"^v_(frexp_exp_i32_f32|frexp_mant_f32|cubetc_f32|div_scale_f32|exp_f32|mul_f16) "
        r"|^(v_max_f32|v_max_num_f32|s_maximum_f32) .*\b(1|12)\b|^v_fma_f64 .* 4 "
        r"|^v_ldexp_f64 .* 1, ",
        "a denormal source or result (small integers in front of a float source are denormals): f32"
        " ones are flushed on input as the vectors' mode says; f16 and f64 ones the vectors do not "
        "vouch for",
    ),
    (
        "zero times anything",
        r"^v_ldexp_f(16|64) \| .* 0, |^v_frexp_mant_f64 .* 0 ",
        "0 scaled is 0, the mantissa of 0 is 0; the emulator multiplies by infinity, or divides",
    ),
    (
        "f64 constants",
        r"^v_cmp_class_f64 .*, 1, ",
        "an integer 1 in front of an f64 source is a denormal, not 1.0",
    ),
    (
        "nan",
        r"^v_(minimum|maximum|minimummaximum)3?_f32 |^v_pk_minimum_f16 |^v_maxmin_(num_)?f16 .*-1",
        "IEEE 754-2019 minimum and maximum hand on a NaN, min_num and max_num the number; -1 in "
        "front of f16 is a NaN",
    ),
    (
        "carry of idle lanes",
        r"^v_\w+_co(_ci)?_u32 ",
        "inactive lanes get 0 in the carry mask; the emulator keeps or sets them. ISA, VOP3SD",
    ),
    (
        "second result",
        r"^v_mad_(co_)?[iu]64_[iu]32 ",
        "the mask is a result of the instruction; the emulator leaves it",
    ),
    (
        "not computed",
        r"^v_(mqsad_u32_u8|mqsad_pk_u16_u8) |^s_wqm_b64 |^v_fma_legacy_f16 |^v_fmac_f64 "
        r"|^v_dot2_bf16_bf16 |^v_dot4_f32_\w+ |^v_trig_preop_f64 ",
        "the emulator does not do what the description says: mqsad without its mask, accumulator or"
        " at all, wqm of 32 bits, a float operation on integers or halves, fp8 codes multiplied as "
        "integers, 2/pi cut short",
    ),
    (
        "bit number",
        r"^s_bitset1_b64 ",
        "six bits choose among 64; the emulator uses five",
    ),
    (
        "idle sources",
        r"^v_permlane16_var_b32 ",
        "a lane whose source is switched off keeps its value unless FI (LLVM, llvm.amdgcn.permlane16.var)",
    ),
    (
        "lds exchange",
        r"^ds_(permute|bpermute)_b32 |^ds_(wrxchg2|storexchg_2addr)\w* |^ds_add_rtn_f64 "
        r"|^ds_load_i8_d16_hi ",
        "lane numbers are taken modulo the wave and the offset counts; an exchange returns what was"
        " there before any lane wrote; 64-bit results have two dwords; d16_hi keeps the low half",
    ),
    (
        "rounded once",
        r"^v_dot2c?_f32_b?f16 ",
        "the sum is exact and rounded once, the emulator rounds after each step; the last place differs",
    ),
    (
        "integer dots",
        r"^v_dot(2_i32_i16|4_\w+|8_\w+) ",
        "op_sel has no meaning for dot4 and dot8, their clamp saturates; the emulator selects "
        "halves and wraps",
    ),
    (
        "op_sel of gfx9",
        r"^v_(add|max3|mul|rcp|rsq|sqrt|subrev|trunc)_f16 |^v_(min|max|subrev|mad_legacy)_u16 "
        r"|^v_lshlrev_b16 |^v_cvt_f16_u16 ",
        "OPSEL bits on an instruction that has no op_sel according to LLVM; the emulator follows "
        "them, and keeps the upper half where gfx9 clears it",
    ),
    (
        "op_sel of 32 bits",
        r"^v_mad_([iu])32_\1?16 |^v_mad_[iu]32_[iu]16 ",
        "op_sel concerns 16-bit operands, the third has 32",
    ),
    (
        "float clamp",
        r"^v_(fma_mixlo_f16|mad_u16) .*clamp",
        "clamp limits the result; the emulator leaves it out",
    ),
]

CLASSES = [(name, re.compile(pattern), why) for name, pattern, why in _CLASSES]


def reason(base: str, text: str, status: str) -> str | None:
    """Name of the class that explains a disagreement, None when none does."""
    line = f"{base} | {text} | {status}"
    return next((name for name, pattern, _ in CLASSES if pattern.search(line)), None)
