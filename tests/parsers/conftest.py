"""Fixtures of the parser tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parsers.oracles import EXAMPLES


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest, data_dir: Path) -> Path:
    """One recorded folder after the other."""
    return data_dir / "sqtt" / str(request.param)
