"""Orders and bins that views draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.attribution.display import histogram, most_exposed


@settings(max_examples=30)
@given(st.lists(st.integers(0, 10**9), max_size=50), st.integers(1, 24))
def test_every_value_is_in_its_bin(values: list[int], bins: int) -> None:
    out = histogram(np.array(values, dtype=np.int64), bins)
    assert out["count"].sum() == len(values)
    assert len(out) <= bins
    for begin, end, count in out[["begin", "end", "count"]].to_numpy().tolist():
        assert count == sum(begin <= v < end for v in values)


def test_most_exposed_first() -> None:
    out = most_exposed(pd.DataFrame({"line": [0, 1, 2, 3], "exposed": [5, 0, 20, 5]}))
    assert out["line"].tolist() == [2, 0, 3]
    assert out["heat"].tolist() == pytest.approx([1, 0.25, 0.25])
    assert not len(most_exposed(pd.DataFrame({"line": [0], "exposed": [0]})))
