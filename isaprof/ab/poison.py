"""A second poison: what an output never wrote cannot look the same twice.

The first poison is that of the operand's type (isaprof.launch.dtypes). The
second differs from it in every byte, and is a finite number in every float
type, so that neither can pass for a result by chance in both runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from isaprof.launch.resolve import OperandBuffer, ResolvedLaunch

_FLIP = np.uint8(0xA5)


def repoisoned(launch: ResolvedLaunch) -> ResolvedLaunch:
    """``launch`` with the second poison in outputs, scratch memory and all padding."""
    return replace(launch, operands=[_buffer(o, o.fill == "poison") for o in launch.operands])


def _buffer(buffer: OperandBuffer, whole: bool) -> OperandBuffer:
    if whole:
        return replace(buffer, data=buffer.data ^ _FLIP)
    if buffer.placement.dense or buffer.type.bits < 8:
        return buffer
    width = buffer.type.bits // 8
    padding = np.ones(buffer.placement.elements, np.bool_)
    padding[buffer.placement.positions] = False
    data = buffer.data.copy().reshape(-1, width)
    data[padding] ^= _FLIP
    return replace(buffer, data=data.reshape(-1))


def examine(
    launch: ResolvedLaunch, first: Mapping[str, bytes], second: Mapping[str, bytes]
) -> tuple[int, int]:
    """(elements never written, elements that depend on the poison in another way).

    ``launch`` is the one with the first poison; ``first`` and ``second`` are
    the outputs under either. Of types below a byte, bytes are counted.
    """
    unwritten = unstable = 0
    for buffer in launch.operands:
        if buffer.role not in ("output", "inout"):
            continue
        before = _units(buffer, buffer.data.tobytes())
        one, two = _units(buffer, first[buffer.name]), _units(buffer, second[buffer.name])
        differs = (one != two).any(axis=1)
        never = (one == before).all(axis=1) & (two == before ^ _FLIP).all(axis=1)
        unwritten += int((differs & never).sum())
        unstable += int((differs & ~never).sum())
    return unwritten, unstable


def _units(buffer: OperandBuffer, data: bytes) -> NDArray[np.uint8]:
    """Storage bytes of the logical elements, shape (elements, bytes)."""
    if buffer.type.bits >= 8:
        return buffer.codes(data)
    at = np.unique(buffer.placement.positions * buffer.type.bits // 8)
    return np.frombuffer(data, np.uint8)[at].reshape(-1, 1)
