"""Fixtures of the capture tests."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.synthetic_capture import make_tables


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    return make_tables()
