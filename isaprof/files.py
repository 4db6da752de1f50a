"""Reading and writing single files so that nothing of the user's is lost."""

from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path

from isaprof.errors import BadInput, UsageError


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The file's bytes; BadInput where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise BadInput(
            f"cannot read: {e.strerror or e}",
            path=path,
            kind="not_found" if not Path(path).exists() else "unreadable",
        ) from None


def write_new(path: str | PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Write ``data`` to ``path``, whole or not at all.

    Raises UsageError when the file exists and ``force`` is not set, or when it
    cannot be written there.
    """
    out = Path(path)
    if out.is_dir():
        raise UsageError("is a directory", path=out, hint="give a file name with -o")
    if out.exists() and not force:
        raise UsageError("already exists", path=out, hint="choose another name with -o, or pass --force")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.parent)
    except OSError as e:
        raise UsageError(f"cannot write there: {e.strerror or e}", path=out) from None
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        if force:
            os.replace(name, out)
        else:
            os.link(name, out)  # fails where another process made the file meanwhile
            os.unlink(name)
    except FileExistsError:
        os.unlink(name)
        raise UsageError(
            "already exists", path=out, hint="choose another name with -o, or pass --force"
        ) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
