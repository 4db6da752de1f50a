"""LDS data passes of an access, from its real addresses.

Lanes are checked for bank conflicts in fixed groups that depend on the width
(architecture fact ``lds_lane_groups``); a group takes as many passes as the
largest number of distinct dwords it wants from one bank. Lanes that want the
same dword share it. A group without an active lane takes its pass all the
same: SQ_LDS_IDX_ACTIVE, as the hardware counted it for a GEMM of workgroups of
16 lanes (public traces of gfx950, gfx1100 and gfx1200), is the sum of these
passes. Sources: timing of bank conflicts on MI300 (CK-Tile LDS documentation)
and gfx950 (HipKittens); RDNA's order inside wide accesses is an assumption.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isaprof.arch.table import LdsPattern

#: access widths (bytes per lane) that have a pattern of their own
_WIDTHS = ((4, "b32"), (8, "b64"), (12, "b96"), (16, "b128"))


def pattern_key(store: bool, width: int) -> str:
    """Key of the lane pattern for an access of ``width`` bytes a lane."""
    for limit, name in _WIDTHS:
        if width <= limit:
            return f"{'write' if store else 'read'}_{name}"
    return "write_b128" if store else "read_b128"


def passes(
    patterns: Mapping[str, LdsPattern],
    store: bool,
    width: int,
    addresses: NDArray[np.int64],
    lanes: NDArray[np.int16],
    *,
    atomic: bool = False,
) -> tuple[NDArray[np.int64], int]:
    """(passes of each access, passes without conflicts) of a stack of accesses.

    ``addresses``: [n, active lanes] byte offsets in LDS; ``lanes``: the lane
    number of each column. A lane that occurs twice (the two addresses of
    ``ds_read2``) makes a second sub-access, whose passes are added. Atomics of
    several lanes on one dword take a pass each.
    """
    import numpy as np

    pattern = patterns[pattern_key(store, width)]
    total = np.zeros(len(addresses), dtype=np.int64)
    least = 0
    dwords = max(1, -(-width // 4))
    order = np.argsort(lanes, kind="stable")
    ordered = lanes[order]
    repeat = np.arange(len(ordered)) - np.searchsorted(ordered, ordered, side="left")
    for k in range(int(repeat.max(initial=0)) + 1):
        columns = order[repeat == k]
        here = lanes[columns]
        for group in pattern.groups:
            member = np.isin(here, group)
            if not member.any():  # the pass of a group is not skipped
                total += 1
                least += 1
                continue
            first = addresses[:, columns[member]] // 4
            wanted = (first[:, :, None] + np.arange(dwords)).reshape(len(addresses), -1)
            total += _worst_bank(wanted, pattern.banks, shared=not atomic)
            least += 1
    return total, max(least, 1)


def clash(
    patterns: Mapping[str, LdsPattern],
    store: bool,
    width: int,
    addresses: NDArray[np.int64],
    lanes: NDArray[np.int16],
    *,
    atomic: bool = False,
) -> tuple[int | None, tuple[int, ...]]:
    """(stride, lanes) of one access: what makes its banks conflict.

    ``lanes``: those of one group that want different dwords of the busiest
    bank, one of each dword (of an atomic all). ``stride``: the most frequent
    distance in bytes from a lane to the next, None with fewer than two lanes.
    """
    import numpy as np

    pattern = patterns[pattern_key(store, width)]
    dwords = max(1, -(-width // 4))
    order = np.argsort(lanes, kind="stable")
    ordered, addresses = lanes[order], addresses[order]
    repeat = np.arange(len(ordered)) - np.searchsorted(ordered, ordered, side="left")
    worst: tuple[int, ...] = ()
    for k in range(int(repeat.max(initial=0)) + 1):
        here, first = ordered[repeat == k], addresses[repeat == k] // 4
        for group in pattern.groups:
            member = np.isin(here, group)
            wanted = (first[member][:, None] + np.arange(dwords)).reshape(-1)
            who = np.repeat(here[member], dwords)
            if not atomic:
                wanted, at = np.unique(wanted, return_index=True)
                who = who[at]
            if not len(wanted):
                continue
            bank = wanted % pattern.banks
            busiest = np.bincount(bank).argmax()
            found = tuple(sorted(who[bank == busiest].tolist()))
            worst = found if len(found) > len(worst) else worst
    first_access = addresses[repeat == 0]
    steps, count = np.unique(np.diff(first_access), return_counts=True)
    return (int(steps[count.argmax()]) if len(steps) else None), worst


def _worst_bank(dwords: NDArray[np.int64], banks: int, *, shared: bool) -> NDArray[np.int64]:
    """Largest number of (distinct, when ``shared``) dwords in one bank, for each row."""
    import numpy as np

    n = len(dwords)
    rows = np.sort(dwords, axis=1)
    new = np.ones(rows.shape, dtype=bool)
    if shared:
        new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    flat = (np.arange(n)[:, None] * banks + rows % banks)[new]
    worst: NDArray[np.int64] = np.bincount(flat, minlength=n * banks).reshape(n, banks).max(axis=1)
    return worst
