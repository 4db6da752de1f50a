"""Reading and writing single files so that nothing of the user's is lost."""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from isaprof.errors import BadInput, EnvironmentProblem, UsageError


def content(path: str | PathLike[str]) -> bytes:
    """The file's bytes; OSError where it cannot be read.

    Devices and pipes are refused: they may never end, or never begin.
    """
    _is_file(path)
    return Path(path).read_bytes()


def open_file(path: str | PathLike[str]) -> BinaryIO:
    """The file opened for reading; OSError where it cannot be, or is a device or a pipe."""
    _is_file(path)
    return Path(path).open("rb")


def _is_file(path: str | PathLike[str]) -> None:
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "a device or a pipe; a file is needed", str(path))


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The bytes of a file (:func:`content`); BadInput where it cannot be read."""
    try:
        return content(path)
    except OSError as e:
        raise BadInput(
            f"cannot read: {e.strerror or e}",
            path=path,
            kind="not_found" if isinstance(e, FileNotFoundError) else "unreadable",
        ) from None


def write_new(path: str | PathLike[str], data: bytes, *, force: bool = False) -> None:
    """Write ``data`` to ``path``, whole or not at all; missing directories are made.

    Raises UsageError when something is there and ``force`` is not set, or when
    it is no file; EnvironmentProblem when it cannot be written there.
    """
    import tempfile

    out = Path(path)
    may_write(out, force=force)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{out.name[:80]}.", dir=out.parent)
    except OSError as e:
        raise cannot_write(out, e) from None
    try:
        with os.fdopen(handle, "wb") as f:
            f.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        if force:
            os.replace(name, out)
        else:
            _link(name, out)
    except FileExistsError:
        os.unlink(name)
        raise _exists(out) from None
    except OSError as e:
        Path(name).unlink(missing_ok=True)
        raise cannot_write(out, e) from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def may_write(path: str | PathLike[str], *, force: bool = False) -> None:
    """Raise what :func:`write_new` would raise for this place, before the work is done."""
    out = Path(path)
    try:
        mode = os.lstat(out).st_mode
        if stat.S_ISLNK(mode) and force:
            mode = os.stat(out).st_mode
    except FileNotFoundError:
        try:
            writable(out)
        except OSError as e:
            raise cannot_write(out, e) from None
        return
    except OSError as e:
        raise cannot_write(out, e) from None
    if stat.S_ISDIR(mode):
        raise UsageError("is a directory", path=out, hint="give a file name with -o")
    if not force:
        raise _exists(out)
    if not stat.S_ISREG(mode):
        raise UsageError("is no file that could be replaced", path=out, hint="give a file name with -o")


def writable(path: Path) -> None:
    """OSError where nothing can be made at ``path``: the nearest folder above that exists is locked."""
    above = path.absolute().parent
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    if not os.access(above, os.W_OK):
        locked = os.statvfs(above).f_flag & os.ST_RDONLY
        code = errno.EROFS if locked else errno.EACCES
        raise OSError(code, os.strerror(code), str(above))


def cannot_write(out: Path, e: OSError) -> EnvironmentProblem:
    """The error for a place that the system does not let be written."""
    return EnvironmentProblem(f"cannot write there: {e.strerror or e}", path=out, kind="cannot_write")


def _link(name: str, out: Path) -> None:
    """Give the file its name; FileExistsError where another process made one meanwhile."""
    try:
        os.link(name, out)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links (FAT, some network shares)
        os.close(os.open(out, os.O_CREAT | os.O_EXCL))
        os.replace(name, out)
    else:
        os.unlink(name)


def _exists(out: Path) -> UsageError:
    return UsageError("already exists", path=out, hint="choose another name with -o, or pass --force")
