"""Tools are started anew in every test here."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _tools() -> None:
    """No results of earlier tests (tests/remembered_tools.py)."""
