"""Fixtures for the tests of the terminal view."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The builder of synthetic analyses (tests/synthetic_analysis.py)."""
    name = "isaprof_tests_synthetic"
    if name not in sys.modules:
        path = Path(__file__).resolve().parent.parent / "synthetic_analysis.py"
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]
