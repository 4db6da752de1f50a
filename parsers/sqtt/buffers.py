"""Trace buffers from files: small ones are read, large ones are mapped and given back page by page."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path

from isaprof.files import open_file
from isaprof.parsers.sqtt.header import Buffer
from isaprof.parsers.trace_folder import read_bytes

#: bytes from which a file is mapped instead of read
LARGE = 64 << 20


def file_size(path: Path) -> int:
    """Bytes of a file, 0 where it cannot be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_buffer(path: Path) -> Buffer:
    """Content of a trace file; BadInput of kind ``missing_file`` where it cannot be read."""
    try:
        with open_file(path) as f:
            status = os.fstat(f.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size >= LARGE:
                return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        pass  # whatever it is, reading it tells it better
    return read_bytes(path, "trace buffer")
