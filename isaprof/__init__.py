"""isaprof: ISA-level profiling and optimisation of AMD GPU kernels.

Importing this package is cheap: every public name is resolved on first use
(PEP 562), so that ``import isaprof`` loads neither pandas nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_LAZY = {
    "open": "isaprof.capture",
    "Capture": "isaprof.capture",
    "analyse": "isaprof.attribution",
    "IsaprofError": "isaprof.errors",
}

if TYPE_CHECKING:
    from isaprof.attribution.analyse import analyse
    from isaprof.capture import Capture, open  # noqa: A004
    from isaprof.errors import IsaprofError

__all__ = ["Capture", "IsaprofError", "__version__", "analyse", "open"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'isaprof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
