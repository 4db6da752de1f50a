"""What all memory instructions share: element sizes, lane selection, data movement, trace events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isaprof.isa.model import Operand
from isaprof.sim.lower.context import Context, Unimplemented
from isaprof.sim.lower.operands import is_vector, row_of
from isaprof.sim.state import Wave
from isaprof.sim.trace import MemEvent

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any

_ALL = {n: np.arange(n, dtype=np.int16) for n in (32, 64)}


@dataclass(frozen=True, slots=True)
class Element:
    """Data of one lane: ``nbytes``, sign extension, and which half of a register (d16 forms)."""

    nbytes: int
    signed: bool = False
    half: int | None = None

    @property
    def dwords(self) -> int:
        return (self.nbytes + 3) // 4


def _elements() -> dict[str, Element]:
    out = {
        "dword": Element(4), "dwordx2": Element(8), "dwordx3": Element(12), "dwordx4": Element(16),
        "b32": Element(4), "b64": Element(8), "b96": Element(12), "b128": Element(16),
        "short_d16": Element(2, False, 0), "short_d16_hi": Element(2, False, 1),
        "d16_b16": Element(2, False, 0), "d16_hi_b16": Element(2, False, 1), "d16_hi_b8": Element(1,
        False, 1),
        "b8": Element(1), "b16": Element(2), "byte": Element(1), "short": Element(2),
        "byte_d16_hi": Element(1, False, 1), "b8_d16_hi": Element(1, False, 1), "b16_d16_hi": Element(2,
        False, 1),
    }  # fmt: skip
    for names, nbytes, signed in (
        (("ubyte", "u8"), 1, False), (("sbyte", "i8"), 1, True),
        (("ushort", "u16"), 2, False), (("sshort", "i16"), 2, True),
    ):  # fmt: skip
        for n in names:
            out[n] = Element(nbytes, signed)
            out[n + "_d16"] = out["d16_" + n] = Element(nbytes, signed, 0)
            out[n + "_d16_hi"] = out["d16_hi_" + n] = Element(nbytes, signed, 1)
    return out


#: mnemonic tail (after load_/store_/read_/write_) -> element
ELEMENTS = _elements()


def active(w: Wave) -> Vec | None:
    """Indices of active lanes, None when all are."""
    return None if w.full else np.flatnonzero(w.mask)


def take(x: Vec, lanes: Vec | None) -> Vec:
    """The active lanes of a lane vector."""
    return x if lanes is None else x[lanes]


def sign_extend(data: Vec, element: Element) -> Vec:
    if element.signed:
        shift = np.int32(32 - 8 * element.nbytes)
        return ((data.view(np.int32) << shift) >> shift).view(np.uint32)
    return data


Writer = Callable[[Wave, Vec, "Vec | None"], None]
Reader = Callable[[Wave, "Vec | None"], Vec]


def destination(ctx: Context, o: Operand, element: Element) -> Writer:
    """Writer of loaded dwords [n, active] into registers."""
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} as a load destination")
    n = element.dwords
    row = row_of(ctx, o.reg, n)
    if element.half is not None or o.half is not None:
        half = element.half or int(o.half == "h")
        key = "u16.h" if half else "u16.l"

        def write_half(w: Wave, data: Vec, lanes: Vec | None) -> None:
            value = sign_extend(data, element)[0].astype(np.uint16)
            r = w.tables[key][row]
            r[slice(None) if lanes is None else lanes] = value

        return write_half
    end = row + n

    def write(w: Wave, data: Vec, lanes: Vec | None) -> None:
        if element.signed:
            data = sign_extend(data, element)
        if lanes is None:
            w.v[row:end] = data
        else:
            w.v[row:end, lanes] = data

    return write


def source(ctx: Context, o: Operand, element: Element) -> Reader:
    """Reader of the dwords [n, active] to store."""
    if o.reg is None or not is_vector(o):
        raise Unimplemented(f"{o.text} as store data")
    row = row_of(ctx, o.reg, element.dwords)
    end = row + element.dwords
    if element.half == 1 or o.half == "h":
        return lambda w, lanes: (take(w.tables["u32"][row], lanes) >> np.uint32(16))[None]

    def read(w: Wave, lanes: Vec | None) -> Vec:
        return w.v[row:end] if lanes is None else w.v[row:end, lanes]

    return read


def record(
    w: Wave, space: str, addresses: Vec, lanes: Vec | None, nbytes: int, *, load: bool, store: bool
) -> None:
    """Keep a MemEvent for the current step when this wave is traced."""
    if w.trace is None:
        return
    which = _ALL[w.lanes] if lanes is None else lanes.astype(np.int16)
    event = MemEvent(space, load, store, nbytes, addresses.astype(np.int64), which)
    old = w.trace.get(w.step)
    if old is not None:
        # two addresses per lane (ds_read2): one event, the second half follows the first
        event = MemEvent(
            space, load, store, nbytes,
            np.concatenate([old.addresses, event.addresses]), np.concatenate([old.lanes, event.lanes]),
        )  # fmt: skip
    w.trace[w.step] = event
