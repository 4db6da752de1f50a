"""gfx1250: the waves that VALU_INST packets name by their place in the list of recent ones (compiled)."""

# numba functions have no types that mypy could check
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

import numpy as np

from isaprof.parsers.sqtt.kernel import cached


@cached
def predict(kind, wave, op, role, index, moves, recent):
    """gfx1250: replace the prediction codes in ``wave`` of VALU packets by the waves they mean (255: none).

    ``recent``: the waves used last, newest first, kept from block to block. ``index``: place in that
    list by prediction code; ``role``: 1 for packet numbers of VALU_INST, 2 of INST; ``moves``: 1 for the
    operations of INST packets that move their wave to the front.
    """
    for i in range(len(kind)):
        part = role[np.uint8(kind[i])]
        if part == 1:
            slot = recent[index[wave[i]]]
            wave[i] = np.uint8(255) if slot < 0 else np.uint8(slot)
            if slot < 0:
                continue
        elif part == 2 and moves[op[i]]:
            slot = np.int64(wave[i])
        else:
            continue
        k = 0
        while k < len(recent) - 1 and recent[k] != slot:
            k += 1
        while k > 0:
            recent[k] = recent[k - 1]
            k -= 1
        recent[0] = slot
