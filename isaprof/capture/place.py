"""Where a capture may be written: nothing of the user's is in the way, or lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

from isaprof.capture.schema import SCHEMA_NAME
from isaprof.errors import EnvironmentProblem, UsageError
from isaprof.files import writable

SUFFIX = ".isaprof"


def default_path(kernel: str, arch: str, directory: str | Path = ".") -> Path:
    """The first free ``./<kernel>-<arch>-<n>.isaprof``, n from 1."""
    stem = "".join(c if c.isalnum() or c in "._+" else "_" for c in kernel)[:80] or "kernel"
    n = 1
    while os.path.lexists(path := Path(directory) / f"{stem}-{arch}-{n}{SUFFIX}"):
        n += 1
    return path


def may_write(path: Path, *, force: bool) -> None:
    """Return when a capture may be written to ``path``.

    Raises UsageError when something is there and ``force`` is not set, and with
    ``force`` when it is not a capture or holds files that its capture.json does
    not name; EnvironmentProblem when the place cannot be looked at.
    """
    try:
        if not os.path.lexists(path):
            _reachable(path)
            return
        if not force:
            raise exists(path)
        strangers = _strangers(path)
    except OSError as e:
        raise EnvironmentProblem(
            f"cannot write the capture: {e.strerror or e}", path=path, kind="cannot_write"
        ) from None
    if strangers is None:
        raise UsageError("exists and is not a capture: --force replaces captures only", path=path)
    if strangers:
        more = "" if len(strangers) == 1 else f" and {len(strangers) - 1} more"
        raise UsageError(
            f"the capture holds {strangers[0]}{more}, which is no part of it and would be lost",
            path=path,
            hint="move it away, or choose another name with -o",
        )


def exists(path: Path) -> UsageError:
    """The error for a place that is taken."""
    return UsageError("already exists", path=path, hint="choose another name with -o, or pass --force")


def _reachable(path: Path) -> None:
    """OSError where ``path`` could not be made: lexists is False for those, too."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        writable(path)


def _strangers(path: Path) -> list[str] | None:
    """Files below ``path`` that are no part of the capture there; None where there is no capture."""
    try:
        meta = json.loads((path / "capture.json").read_bytes())
        if meta["schema"] != SCHEMA_NAME:
            return None
        own = {"capture.json"}
        own.update(os.path.normpath(t["file"]) for t in meta["tables"].values())
        own.update(os.path.normpath(c["file"]) for c in meta.get("code_objects", ()))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return None
    except (KeyError, TypeError, AttributeError):
        return None  # JSON, but not of a capture
    found = []
    for directory, folders, files in os.walk(path):
        links = [f for f in folders if os.path.islink(os.path.join(directory, f))]
        found += [os.path.relpath(os.path.join(directory, f), path) for f in (*files, *links)]
    return sorted(set(found) - own)
