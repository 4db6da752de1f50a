"""Finds the transforms: every module of ``isaprof.transforms.catalogue``."""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

from isaprof.errors import UsageError
from isaprof.transforms import catalogue
from isaprof.transforms.model import Transform


@lru_cache(maxsize=1)
def discover() -> dict[str, Transform]:
    """Transform id -> transform, sorted by id."""
    found: dict[str, Transform] = {}
    for info in pkgutil.iter_modules(catalogue.__path__):
        transform: Transform = import_module(f"{catalogue.__name__}.{info.name}").TRANSFORM
        if transform.id in found:
            raise ValueError(f"two transforms are called {transform.id!r}")
        found[transform.id] = transform
    return dict(sorted(found.items()))


def find(name: str) -> Transform:
    """The transform called ``name``; UsageError that lists the known ones."""
    known = discover()
    if name not in known:
        raise UsageError(f"no transform {name!r}", hint=f"known: {', '.join(known)}")
    return known[name]
