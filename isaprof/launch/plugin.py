"""``--plugin FILE.py``: the only way a launch file's names can run code.

The file is executed as a module; it registers what it adds with the decorators
``isaprof.launch.references.reference``, ``isaprof.launch.fills.fill`` and
``isaprof.launch.layouts.layout``.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from isaprof.errors import BadInput


def load_plugin(path: str | Path) -> None:
    """Execute a plug-in file. Raises BadInput where it cannot be run."""
    file = Path(path)
    if not file.is_file():
        raise BadInput("no such plug-in file", path=file, kind="not_found")
    spec = importlib.util.spec_from_file_location(f"isaprof_plugin_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise BadInput("a plug-in is a Python file (.py)", path=file, kind="bad_plugin")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:  # a plug-in that exits would end the command with its code
        raise BadInput(f"the plug-in failed: {type(e).__name__}: {e}", path=file, kind="bad_plugin") from e
