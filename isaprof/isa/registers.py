"""Names of AMDGCN registers as LLVM prints them."""

from __future__ import annotations

import re
from functools import lru_cache

from isaprof.isa.model import RegClass, RegSpan

#: single names -> span
_NAMED: dict[str, RegSpan] = {
    "vcc": RegSpan(RegClass.VCC, 0, 2),
    "vcc_lo": RegSpan(RegClass.VCC, 0),
    "vcc_hi": RegSpan(RegClass.VCC, 1),
    "exec": RegSpan(RegClass.EXEC, 0, 2),
    "exec_lo": RegSpan(RegClass.EXEC, 0),
    "exec_hi": RegSpan(RegClass.EXEC, 1),
    "m0": RegSpan(RegClass.M0, 0),
    "scc": RegSpan(RegClass.SCC, 0),
    "src_scc": RegSpan(RegClass.SCC, 0),
    "null": RegSpan(RegClass.NULL, 0),
    "flat_scratch": RegSpan(RegClass.FLAT_SCRATCH, 0, 2),
    "flat_scratch_lo": RegSpan(RegClass.FLAT_SCRATCH, 0),
    "flat_scratch_hi": RegSpan(RegClass.FLAT_SCRATCH, 1),
    "xnack_mask": RegSpan(RegClass.XNACK_MASK, 0, 2),
    "xnack_mask_lo": RegSpan(RegClass.XNACK_MASK, 0),
    "xnack_mask_hi": RegSpan(RegClass.XNACK_MASK, 1),
    # vccz/execz are functions of VCC/EXEC, so a dependence on them is one on those registers
    "vccz": RegSpan(RegClass.VCC, 0, 2),
    "src_vccz": RegSpan(RegClass.VCC, 0, 2),
    "execz": RegSpan(RegClass.EXEC, 0, 2),
    "src_execz": RegSpan(RegClass.EXEC, 0, 2),
}

#: read-only sources that are no register of the wave's files
_SOURCES = (
    "src_shared_base",
    "src_shared_limit",
    "src_private_base",
    "src_private_limit",
    "src_shared_base_lo",
    "src_shared_limit_lo",
    "src_private_base_lo",
    "src_private_limit_lo",
    "src_pops_exiting_wave_id",
    "src_flat_scratch_base_lo",
    "src_flat_scratch_base_hi",
    "src_lds_direct",
    "lds_direct",
    "shared_base",
    "shared_limit",
    "private_base",
    "private_limit",
    "pops_exiting_wave_id",
)
_NAMED.update({n: RegSpan(RegClass.SOURCE, i) for i, n in enumerate(_SOURCES)})

_INDEXED = {"v": RegClass.VGPR, "a": RegClass.AGPR, "s": RegClass.SGPR, "ttmp": RegClass.TTMP}
_ONE = re.compile(r"(v|a|s|ttmp)(\d+)")
_RANGE = re.compile(r"(v|a|s|ttmp)\[(\d+)(?::(\d+))?\]")


@lru_cache(maxsize=16384)
def parse_register(text: str) -> RegSpan | None:
    """``v4``, ``s[4:7]``, ``vcc_lo``, ``src_scc`` ... as a span; None when it names no register."""
    if m := _ONE.fullmatch(text):
        return RegSpan(_INDEXED[m[1]], int(m[2]))
    if m := _RANGE.fullmatch(text):
        first = int(m[2])
        last = int(m[3]) if m[3] else first
        return RegSpan(_INDEXED[m[1]], first, last - first + 1) if last >= first else None
    return _NAMED.get(text)
