"""How much memory a launch takes on this machine, known before any of it is allocated.

The operands themselves are the smaller part: storage positions, values before
rounding, the reference and the comparison hold each logical element several
times over.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from isaprof.errors import UsageError

#: GiB; replaces the default limit
VARIABLE = "ISAPROF_MAX_MEMORY"
#: bytes for each logical element, beyond the operand: position, value, reference or decoded value
_PER_ELEMENT = 24


@dataclass(frozen=True, slots=True)
class Size:
    """One operand: extents in elements, ``nbytes`` of storage."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    pitch: int
    extra: int
    least: int
    logical: int
    stored: int
    nbytes: int

    @property
    def host_bytes(self) -> int:
        """Storage, and what preparing and judging it takes."""
        return self.nbytes + _PER_ELEMENT * self.logical


def limit() -> tuple[int, str]:
    """(bytes, where the limit comes from). Raises UsageError for a variable that is no number."""
    text = os.environ.get(VARIABLE, "").strip()
    if text:
        try:
            gib = float(text)
        except ValueError:
            gib = -1.0
        if not 0 < gib < 1 << 20:
            raise UsageError(f"{VARIABLE}={text!r}: expected a size in GiB")
        return int(gib * (1 << 30)), VARIABLE
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):  # not every system says
        physical = 8 << 30
    return physical // 2, "half of this machine's memory"


def require(origin: str, sizes: Sequence[Size], copies: int = 1) -> None:
    """Refuse operands that do not fit, with the number. Raises UsageError.

    ``copies``: how many launches of this size are held at the same time.
    """
    need = copies * sum(s.host_bytes for s in sizes)
    most, source = limit()
    if need <= most:
        return
    largest = max(sizes, key=lambda s: s.host_bytes)
    operands = _gib(sum(s.nbytes for s in sizes))
    times = f", {copies} times over" if copies > 1 else ""
    extents = " x ".join(map(str, largest.shape))
    raise UsageError(
        f"the operands of this shape take {operands} GiB, and with what it takes to prepare and verify them "
        f"{_gib(need)} GiB{times}; the limit is {_gib(most)} GiB ({source}). The largest operand is "
        f"{largest.name}: {extents} {largest.dtype}",
        path=origin,
        kind="memory",
        hint=f"a smaller --shape, or {VARIABLE}=GIB",
    )


def _gib(nbytes: int) -> str:
    return f"{nbytes / (1 << 30):,.1f}"
