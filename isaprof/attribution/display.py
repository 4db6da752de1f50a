"""Orders and bins that views draw: what to look at first, and how values are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def most_exposed(lines: pd.DataFrame) -> pd.DataFrame:
    """Lines with exposed wait cycles, most first: line, exposed (cycles), heat (0..1, relative to the first).

    ``lines``: at least line and exposed (int64 cycles), as in Detail.lines.
    """
    out = lines.loc[lines["exposed"] > 0, ["line", "exposed"]]
    out = out.sort_values("exposed", ascending=False, kind="stable", ignore_index=True)
    out["heat"] = out["exposed"] / max(int(out["exposed"].max()), 1) if len(out) else 0.0
    return out


def histogram(values: Ints, bins: int) -> pd.DataFrame:
    """``values`` (int64 cycles) in at most ``bins`` equal steps: begin, end (cycles, end excluded), count.

    The counts sum to the number of values; no rows where there are none.
    """
    if not len(values):
        return pd.DataFrame({"begin": [], "end": [], "count": []}, dtype=np.int64)
    low, high = int(values.min()), int(values.max()) + 1
    edges = np.unique(low + (high - low) * np.arange(bins + 1) // bins)
    counts, _ = np.histogram(values, bins=edges)
    return pd.DataFrame({"begin": edges[:-1], "end": edges[1:], "count": counts.astype(np.int64)})
