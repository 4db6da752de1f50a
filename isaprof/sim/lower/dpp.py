"""DPP16, DPP8 and SDWA: how src0 is fetched and which lanes or bytes are written.

Source: RDNA3 ISA, "DPP: data parallel primitives"; CDNA3 ISA, "SDWA" and "DPP".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.isa.model import Instruction, Operand
from isaprof.sim.lower.context import Context, Unimplemented, modifier_int
from isaprof.sim.lower.operands import (
    DTYPES,
    HALF,
    Get,
    Put,
    getter,
    is_vector,
    row_of,
    view_raw,
    with_modifiers,
)
from isaprof.sim.state import Wave

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any


@dataclass(frozen=True, slots=True)
class DppControl:
    """Source lane of each lane, which of them exist, and which lanes are written at all."""

    source: NDArray[np.intp]
    valid: NDArray[np.bool_]
    enabled: NDArray[np.bool_]
    zero_invalid: bool  #: BOUND_CTRL: invalid sources read 0; else the lane is not written
    fetch_inactive: bool

    def lanes(self, w: Wave) -> tuple[Vec, Vec]:
        """(lanes whose source counts, lanes to write) for this wave's EXEC."""
        ok = self.valid if w.full or self.fetch_inactive else self.valid & w.mask[self.source]
        write = w.mask & self.enabled
        return ok, write if self.zero_invalid else write & ok


def control(ins: Instruction, ctx: Context) -> DppControl | None:
    """The DPP control of ``ins``, or None when it has none."""
    n = ctx.lanes
    lane = np.arange(n)
    row, col = lane & ~15, lane & 15
    m = ins.modifiers
    if "dpp8" in m:
        sel = np.array(m["dpp8"])
        source = (lane & ~7) + sel[lane & 7]
        ones = np.ones(n, bool)
        return DppControl(source, ones, ones, True, bool(m.get("fi")))
    source, valid = None, np.ones(n, bool)
    if "quad_perm" in m:
        source = (lane & ~3) + np.array(m["quad_perm"])[lane & 3]
    elif "row_shl" in m:
        source = lane + modifier_int(ins, "row_shl")
        valid = source - row < 16
    elif "row_shr" in m:
        source = lane - modifier_int(ins, "row_shr")
        valid = source >= row
    elif "row_ror" in m:
        source = row + (col - modifier_int(ins, "row_ror") & 15)
    elif "row_mirror" in m:
        source = row + 15 - col
    elif "row_half_mirror" in m:
        source = (lane & ~7) + 7 - (lane & 7)
    elif "row_share" in m or "row_newbcast" in m:
        source = row + modifier_int(ins, "row_share" if "row_share" in m else "row_newbcast")
    elif "row_xmask" in m:
        source = lane ^ modifier_int(ins, "row_xmask")
    elif "wave_shl" in m or "wave_shr" in m:
        source = lane + (1 if "wave_shl" in m else -1)
        valid = (source >= 0) & (source < n)
    elif "wave_rol" in m or "wave_ror" in m:
        source = (lane + (1 if "wave_rol" in m else -1)) % n
    elif "row_bcast" in m:
        k = modifier_int(ins, "row_bcast")
        source = row - 1 if k == 15 else np.full(n, 31)
        valid = lane >= (16 if k == 15 else 32)
    if source is None:
        return None
    rows, banks = modifier_int(ins, "row_mask", 15), modifier_int(ins, "bank_mask", 15)
    enabled = ((rows >> (lane >> 4)) & 1 != 0) & ((banks >> ((lane & 15) >> 2)) & 1 != 0)
    source = np.where(valid, source, lane)
    return DppControl(source, valid, enabled, bool(m.get("bound_ctrl")), bool(m.get("fi")))


def dpp_getter(ctx: Context, o: Operand, t: str, c: DppControl) -> Get:
    """src0 of a DPP instruction as type ``t``."""
    if not is_vector(o) or o.reg is None:
        raise Unimplemented(f"DPP on {o.text}")

    def fetch(row: int) -> Callable[[Wave], Vec]:
        def get(w: Wave) -> Vec:
            raw = w.tables["u32"][row][c.source]
            ok, _ = c.lanes(w)
            return np.where(ok, raw, np.uint32(0))

        return get

    if t in ("u64", "i64", "f64"):
        row = row_of(ctx, o.reg, 2)
        lo, hi = fetch(row), fetch(row + 1)
        dtype = DTYPES[t]
        wide = lambda w: (lo(w).astype(np.uint64) | hi(w).astype(np.uint64) << np.uint64(32)).view(dtype)  # noqa: E731
        return with_modifiers(wide, o, t)
    raw = fetch(row_of(ctx, o.reg, 1))
    half = int(o.half == "h")
    return with_modifiers(lambda w: view_raw(raw(w), t, half), o, t)


_SELECT = {
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16),
    "WORD_1": (16, 16),
    "DWORD": (0, 32),
}  # fmt: skip


def _selection(ins: Instruction, name: str) -> tuple[int, int]:
    try:
        return _SELECT[str(ins.modifiers.get(name, "DWORD"))]
    except KeyError:
        raise Unimplemented(f"{name}:{ins.modifiers[name]}") from None


def sdwa_getter(ctx: Context, ins: Instruction, o: Operand, t: str, index: int) -> Get:
    """Source ``index`` of an SDWA instruction: a byte or word of it, zero- or sign-extended."""
    low, width = _selection(ins, f"src{index}_sel")
    raw = getter(ctx, o, "u32", mods=False)
    if width == 32:
        get = getter(ctx, o, t, mods=False)
    elif o.sext:
        left = np.uint32(32 - low - width)
        right = np.int32(32 - width)
        get = lambda w: view_raw(((raw(w) << left).view(np.int32) >> right).view(np.uint32), t)  # noqa: E731
    else:
        shift, keep = np.uint32(low), np.uint32((1 << width) - 1)
        get = lambda w: view_raw((raw(w) >> shift) & keep, t)  # noqa: E731
    return with_modifiers(get, o, t)


def sdwa_putter(ctx: Context, ins: Instruction, o: Operand, t: str) -> Put:
    """Result of an SDWA instruction into a byte or word of the destination."""
    low, width = _selection(ins, "dst_sel")
    if o.reg is None:
        raise Unimplemented(f"SDWA destination {o.text}")
    row = row_of(ctx, o.reg, 1)
    unused = str(ins.modifiers.get("dst_unused", "UNUSED_PAD"))
    keep = np.uint32((1 << width) - 1)
    shift = np.uint32(low)

    def put(w: Wave, r: Vec, full: bool, mask: Vec) -> None:
        bits = r.view(np.uint16).astype(np.uint32) if t in HALF else r.view(np.uint32)
        dst = w.tables["u32"][row]
        value = (bits & keep) << shift
        if width < 32:
            if unused == "UNUSED_PRESERVE":
                value = value | dst & ~(keep << shift)
            elif unused == "UNUSED_SEXT":
                left = np.uint32(32 - low - width)
                sign = ((value << left).view(np.int32) >> np.int32(32 - low - width)).view(np.uint32)
                value = sign & ~((np.uint32(1) << shift) - np.uint32(1)) | value
        np.copyto(dst, value, where=True if full else mask)

    return put
