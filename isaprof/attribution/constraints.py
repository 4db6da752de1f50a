"""The strongest known reason why each record could not issue earlier.

Every rule *offers* a cycle before which the record could not issue, with a
cause and a line to blame; the latest one wins, because only shortening that
one would have let the record issue earlier. Whatever remains between it and
the cycle of issue is left to weaker evidence and at last to *unexplained*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isaprof.attribution.model import CAUSES, Cause

if TYPE_CHECKING:
    from numpy.typing import NDArray

CAUSE_CODE: dict[Cause, int] = {c: i for i, c in enumerate(CAUSES)}
NEVER = np.iinfo(np.int64).min // 4


class Constraints:
    """Arrays over the records: earliest cycle of issue, cause, culprit line, slack."""

    def __init__(self, n: int) -> None:
        self.ready: NDArray[np.int64] = np.full(n, NEVER, np.int64)
        self.cause: NDArray[np.int64] = np.full(n, CAUSE_CODE[Cause.UNEXPLAINED], np.int64)
        self.culprit: NDArray[np.int64] = np.full(n, -1, np.int64)
        self.slack: NDArray[np.int64] = np.zeros(n, np.int64)

    def offer(
        self,
        at: NDArray[np.int64],
        ready: NDArray[np.int64],
        cause: Cause,
        culprit: NDArray[np.int64],
        slack: int = 0,
    ) -> None:
        """Records ``at`` could not issue before ``ready``; an earlier offer wins a tie."""
        code = np.full(len(at), CAUSE_CODE[cause], np.int64)
        self.offer_codes(at, ready, code, culprit, np.full(len(at), slack, np.int64))

    def offer_codes(
        self,
        at: NDArray[np.int64],
        ready: NDArray[np.int64],
        cause: NDArray[np.int64],
        culprit: NDArray[np.int64],
        slack: NDArray[np.int64],
    ) -> None:
        """As :meth:`offer`; each record with a cause (its code) and slack of its own."""
        better = ready > self.ready[at]
        at = at[better]
        self.ready[at] = ready[better]
        self.cause[at] = cause[better]
        self.culprit[at] = culprit[better]
        self.slack[at] = slack[better]
