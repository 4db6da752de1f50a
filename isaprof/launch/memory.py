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
#: bytes for each logical element while it is prepared or verified: decoded storage, values, reference
_WHILE = 40
#: bytes for each logical element as long as the launch exists: its position in the storage
_KEPT = 8


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
    def kept(self) -> int:
        """Bytes as long as the launch and its result exist."""
        return 2 * self.nbytes + _KEPT * self.logical

    @property
    def at_work(self) -> int:
        """Bytes while it is prepared or verified, beyond ``kept``."""
        return _WHILE * self.logical


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
    need = sum(copies * s.kept + s.at_work for s in sizes)
    most, source = limit()
    if need <= most:
        return
    largest = max(sizes, key=lambda s: s.kept + s.at_work)
    operands = _gib(sum(s.nbytes for s in sizes))
    times = f", for {copies} launches" if copies > 1 else ""
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
