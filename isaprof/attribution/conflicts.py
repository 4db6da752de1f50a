"""LDS bank conflicts of executed instructions, where the capture knows their addresses.

A conflict-free access takes ``min_passes`` data passes, a conflicting one
``passes``, at a cycle each; the capture's ``memory`` table has both (the
simulator computes them from the addresses; a thread trace carries none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isaprof.attribution.records import Records
    from isaprof.capture.model import Capture


def extra_passes(capture: Capture, records: Records) -> dict[int, int]:
    """Record number -> cycles that bank conflicts added to it; records without conflict are left out."""
    memory = capture.memory
    if memory is None or not len(records):
        return {}
    extra = (memory["passes"] - memory["min_passes"]).to_numpy(dtype=np.int64, na_value=0)
    hit = np.flatnonzero(extra > 0)
    span = int(records.seq.max()) + 1
    key = records.waves.wave[records.w] * span + records.seq
    order = np.argsort(key, kind="stable")
    seq = memory["seq"].to_numpy(dtype=np.int64)[hit]
    wanted = memory["wave"].to_numpy(dtype=np.int64)[hit] * span + seq
    at = np.minimum(np.searchsorted(key[order], wanted), len(order) - 1)
    found = (key[order][at] == wanted) & (seq < span)
    return dict(zip(order[at[found]].tolist(), extra[hit[found]].tolist(), strict=True))
