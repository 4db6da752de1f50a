"""Finds the rules: every module of ``isaprof.lint.rules`` has a tuple ``RULES``."""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

from isaprof.lint import rules
from isaprof.lint.model import Rule


@lru_cache(maxsize=1)
def discover() -> dict[str, Rule]:
    """Rule id -> rule, sorted by id. Raises ValueError when two rules share an id."""
    found: dict[str, Rule] = {}
    for info in pkgutil.iter_modules(rules.__path__):
        for rule in import_module(f"{rules.__name__}.{info.name}").RULES:
            if rule.id in found:
                raise ValueError(f"two lint rules are called {rule.id!r}")
            found[rule.id] = rule
    return dict(sorted(found.items()))
