"""Which operands an instruction writes and which registers it touches silently.

Data only, by mnemonic family; :mod:`isaprof.isa.effects` applies it. Sources:
AMD's ISA guides for CDNA3, RDNA3 and RDNA4, and the implicit uses and
definitions in LLVM's AMDGPU instruction definitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Roles:
    """Operand roles of a mnemonic family.

    ``dsts`` leading operands are written; ``rmw`` says that they are read as
    well; ``swap`` that the first two operands are both read and written.
    ``reads``/``writes`` are implicit: ``scc``, ``vcc``, ``exec``, ``m0``, ``mode``.
    """

    dsts: int = 1
    rmw: bool = False
    swap: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def _rules(*rows: tuple[str, Roles]) -> tuple[tuple[re.Pattern[str], Roles], ...]:
    return tuple((re.compile(pattern), roles) for pattern, roles in rows)


_NONE = Roles(dsts=0)

#: scalar ALU and control; first full match decides, default one destination
SCALAR = _rules(
    (r"s_(cmp|cmpk|bitcmp)\w+", Roles(0, writes=("scc",))),
    (r"s_\w+_(saveexec|wrexec)_b\d+", Roles(reads=("exec",), writes=("exec", "scc"))),
    (r"s_(addc|subb)_u32|s_(add|sub)_co_ci_u32", Roles(reads=("scc",), writes=("scc",))),
    (r"s_cselect_b\d+", Roles(reads=("scc",))),
    (r"s_cmov\w+", Roles(rmw=True, reads=("scc",))),
    (r"s_addk_(co_)?i32", Roles(rmw=True, writes=("scc",))),
    (r"s_(mulk_i32|bitset[01]_b\d+|fmac_f\d+)", Roles(rmw=True)),
    (r"s_(add|sub)_(co_)?[iu]32|s_(min|max)_[iu]32|s_absdiff_i32|s_abs_i32", Roles(writes=("scc",))),
    (r"s_(and|or|xor|nand|nor|xnor|andn[12]|orn[12]|(and|or)_not[01]|not)_b\d+", Roles(writes=("scc",))),
    (r"s_(lshl|lshr)_b\d+|s_ashr_i\d+|s_bfe_[iu]\d+|s_lshl[1-4]_add_u32", Roles(writes=("scc",))),
    (r"s_(wqm|quadmask)_b\d+|s_bcnt[01]_i32_b\d+", Roles(writes=("scc",))),
    (r"s_cbranch_scc[01]", Roles(0, reads=("scc",))),
    (r"s_cbranch_vcc\w+", Roles(0, reads=("vcc",))),
    (r"s_cbranch_exec\w+", Roles(0, reads=("exec",))),
    (r"s_subvector_loop_\w+", Roles(rmw=True, reads=("exec",), writes=("exec",))),
    (r"s_(c?branch|setpc|set_pc|rfe|setvskip|setreg|nop|sleep|endpgm|trap|icache|sethalt|setkill)\w*", _NONE),
    (
        r"s_(setprio|set_inst|inst_prefetch|clause|version|delay|wait|wakeup|incperf|decperf|code_end)\w*",
        _NONE,
    ),
    (r"s_(denorm|round)_mode", Roles(0, writes=("mode",))),
    (r"s_sendmsg_rtn_b\d+", Roles(reads=("m0",))),
    (r"s_(sendmsg\w*|ttracedata)", Roles(0, reads=("m0",))),
    (r"s_ttracedata_imm|s_set_vgpr_msb|s_monitor\w*", _NONE),
    (r"s_(barrier_signal_isfirst|barrier_leave|alloc_vgpr)", Roles(0, writes=("scc",))),
    (r"s_barrier\w*", _NONE),
    (r"s_set_gpr_idx_(on|idx|mode)", Roles(0, reads=("m0",), writes=("m0",))),
    (r"s_set_gpr_idx_off", _NONE),
    (r"s_movrel\w+", Roles(reads=("m0",))),
)

#: scalar memory
SCALAR_MEMORY = _rules(
    (r"s_(buffer_|scratch_)?load\w*|s_mem(real)?time|s_get_waveid\w*|s_atc_probe_rtn", Roles()),
    (r"s_\w+", _NONE),
)

#: vector ALU; EXEC is read by all but those listed in NO_EXEC
VECTOR = _rules(
    (r"v_nop|v_illegal|v_clrexcp|v_(mfma|wmma)_ld_scale\w*|v_pipeflush", _NONE),
    (r"v_cmpx_\w+", Roles(0, writes=("exec",))),  # gfx9 also names a destination: see effects
    (r"v_(add|sub|subrev)_co_ci_u32|v_(addc|subb|subbrev)_co_u32", Roles(2)),
    (r"v_(add|sub|subrev)_co_u32|v_div_scale_\w+|v_mad_(co_)?[ui]64_[ui]32", Roles(2)),
    (r"v_div_fmas_\w+", Roles(reads=("vcc",))),
    (r"v_swap_b\d+|v_permlane(16|32)_swap_b32", Roles(2, swap=True)),
    (r"v_swaprel_b32", Roles(2, swap=True, reads=("m0",))),
    (r"v_movrel\w+", Roles(rmw=True, reads=("m0",))),
    (r"v_(fmac|mac|pk_fmac|dot\d+c|dot2acc|smfmac|swmmac)_\w+", Roles(rmw=True)),
    (r"v_dual_(fmac|dot2acc)_\w+", Roles(rmw=True)),
    (r"v_dual_cndmask_b32", Roles(reads=("vcc",))),
    (r"v_writelane_b32", Roles(rmw=True)),
    # these write only a half or a byte of their destination
    (r"v_(fma|mad)_mix(lo|hi)_\w+", Roles(rmw=True)),
    (r"v_cvt_(sr_|scalef32_)*(pk_)?(fp8|bf8|fp4)_\w+|v_cvt_scalef32_sr_\w+", Roles(rmw=True)),
    (r"v_interp_p[12]_f32|v_interp_mov_f32|v_interp_p1l\w+|v_interp_p1ll?_f16", Roles(reads=("m0",))),
)

#: vector instructions that ignore EXEC
NO_EXEC = re.compile(
    r"v_nop|v_illegal|v_readlane_b32|v_writelane_b32|v_(mfma|smfmac)_\w+|v_s_\w+|v_clrexcp|v_pipeflush"
)

#: LDS: loads and returning atomics have one destination, the rest none
LDS = _rules(
    (r"ds_bvh_stack\w*", Roles(2)),
    (r"ds_(read|load)\w*_d16\w*", Roles(rmw=True)),
    (r"ds_(read|load)_addtid_b32", Roles(reads=("m0",))),
    (r"ds_(append|consume|ordered_count)", Roles(reads=("m0",))),
    (r"ds_(read|load|swizzle|permute|bpermute)\w*|ds_\w+_rtn(_\w+)?", Roles()),
    (r"lds_(direct|param)_load", Roles(reads=("m0",))),
    (r"ds_gws_\w+|ds_(write|store)_addtid_b32", Roles(0, reads=("m0",))),
    (r"(ds|lds)_\w+", _NONE),
)

#: names of the modifier that makes an atomic return the old value: present and true
RETURN_FLAGS = ("glc", "sc0")


def first_match(rules: Iterable[tuple[re.Pattern[str], Roles]], base: str, default: Roles) -> Roles:
    """Roles of the first rule whose pattern matches all of ``base``."""
    for pattern, roles in rules:
        if pattern.fullmatch(base):
            return roles
    return default
