"""Launch files: how a kernel's arguments, grid and reference follow from a shape.

A launch file is data (TOML, see docs/launch-files.md). Reading one runs no
code: its expressions go through :mod:`isaprof.launch.expr`, its fills, layouts
and references are names in registries. Importing this package is cheap; the
submodules that need NumPy load it when used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_LAZY = {
    "find": "isaprof.launch.match",
    "load_plugin": "isaprof.launch.plugin",
    "LaunchFile": "isaprof.launch.file",
    "ResolvedLaunch": "isaprof.launch.resolve",
    "OperandBuffer": "isaprof.launch.resolve",
    "Verification": "isaprof.launch.verify",
    "skeleton": "isaprof.launch.template",
}

if TYPE_CHECKING:
    from isaprof.launch.file import LaunchFile
    from isaprof.launch.match import find
    from isaprof.launch.plugin import load_plugin
    from isaprof.launch.resolve import OperandBuffer, ResolvedLaunch
    from isaprof.launch.template import skeleton
    from isaprof.launch.verify import Verification

__all__ = ["LaunchFile", "OperandBuffer", "ResolvedLaunch", "Verification", "find", "load_plugin", "skeleton"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
