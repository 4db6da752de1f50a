"""The sequential part of decoding: where each packet starts.

Packets have no sync marks, so the start of one follows from the length of the
one before. Everything else (times, fields) is computed from the starts in
whole columns. :func:`chain` is written in the subset of Python that numba
compiles; the plain interpreter runs it on bytes, lists and memoryviews.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def chain(
    code: Sequence[int],
    step: Sequence[int],
    extended: Sequence[int],
    position: int,
    end: int,
    skip: int,
    pending: int,
    out: Any,
) -> tuple[int, int, int]:
    """Write the start of every packet from ``position`` on into ``out``.

    ``code[p]`` is the 8-bit value at unit ``p``; ``step[c]`` the length in
    units of a packet that begins with ``c``. ``extended[c]`` is 1 for packets
    that extension bytes may follow, 2 for those that do not end that state
    (NOP), 0 for all others; ``skip`` units make one extension byte. Stops at ``end``
    or when ``out`` is full. Returns (packets written, next position, pending
    state), which continue the walk.
    """
    n = 0
    room = len(out)
    while position < end and n < room:
        c = code[position]
        if pending and c & 1:
            position += skip
            continue
        e = extended[c]
        if e != 2:
            pending = e
        out[n] = position
        n += 1
        position += step[c]
    return n, position, pending
