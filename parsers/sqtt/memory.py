"""Memory for columns, used again once nobody holds them.

A kernel hands out new memory page by page and clears it, which takes about as
long as decoding into it. Blocks are therefore kept, up to ``KEEP`` bytes in
all, and given out again when no array refers to them any more.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: bytes that are kept at most
KEEP = 512 << 20

_lock = threading.Lock()
_kept: list[tuple[NDArray[np.uint8], weakref.ref[_Lease]]] = []


class _Lease:
    """What the arrays of one block refer to: when it is gone, the block is free."""

    __slots__ = ("__array_interface__", "__weakref__", "block")

    def __init__(self, block: NDArray[np.uint8]) -> None:
        self.block = block
        self.__array_interface__ = block.__array_interface__


def columns(rows: int, *dtypes: DTypeLike) -> tuple[NDArray[Any], ...]:
    """Arrays of ``rows`` elements with undefined content; the dtypes in the order of falling size."""
    sizes = [np.dtype(d).itemsize for d in dtypes]
    block = np.asarray(_lease(rows * sum(sizes)))
    out, at = [], 0
    for dtype, size in zip(dtypes, sizes, strict=True):
        out.append(block[at : at + rows * size].view(dtype))
        at += rows * size
    return tuple(out)


def _lease(size: int) -> _Lease:
    with _lock:
        free = [n for n, (_, user) in enumerate(_kept) if user() is None]
        for n in free:
            block = _kept[n][0]
            if size <= len(block) <= max(2 * size, 1 << 26):
                lease = _Lease(block)
                _kept[n] = block, weakref.ref(lease)
                return lease
        for n in reversed(free):
            if sum(len(b) for b, _ in _kept) + size > KEEP:
                del _kept[n]
        block = np.empty(size, np.uint8)
        lease = _Lease(block)
        if sum(len(b) for b, _ in _kept) + size <= KEEP:
            _kept.append((block, weakref.ref(lease)))
        return lease


def release() -> None:
    """Keep nothing: blocks in use are freed with their last array."""
    with _lock:
        _kept.clear()
