"""Wave files of ui_output (``se0_sm0_sl0_wv0.json``) in bounded memory.

A file holds a few scalars and three long lists of integer rows. Small files
are parsed whole; in large ones the lists are found by their brackets and read
piece by piece. Nothing is guessed: a piece that is not plainly rows of
integers goes through the JSON parser, which says what is wrong.
"""

from __future__ import annotations

import json
import mmap
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isaprof.errors import BadInput
from isaprof.files import open_file
from isaprof.parsers.jsonfile import INT_MAX, Fields, load_json

I64 = NDArray[np.int64]
#: files up to this size are parsed whole, bytes
SMALL = 1 << 16
#: bytes of a list that are looked at in one go
PIECE = 1 << 21
#: what remains of a large file without its long lists may have so many bytes
_REST = 1 << 22
_LISTS = (b"instructions", b"timeline", b"waitcnt")
_OPEN, _CLOSE, _QUOTE = b'[]"'
Rows = Callable[[], Iterator[I64]]


@dataclass(frozen=True, slots=True)
class WaveFile:
    """``top``: the JSON object, its large lists emptied. ``instructions`` and ``timeline`` give their rows
    again on every call, as arrays of 5 and 2 columns."""

    top: Fields
    instructions: Rows
    timeline: Rows
    large: bool = False


def open_wave(path: Path, *, kind: str, hint: str, small: int = SMALL) -> WaveFile:
    """Look at a wave file. BadInput (``kind``) where it is no JSON object; rows are checked when read."""
    if _size(path) <= small:
        top = Fields(load_json(path, kind=kind, hint=hint), path, "", kind=kind, hint=hint)
        return WaveFile(top, _held(top, "instructions", 5), _held(top, "timeline", 2))
    with _mapped(path, kind, hint) as data:
        spans = {name: span for name in _LISTS if (span := _find(data, name)) is not None}
        rest = len(data) - sum(b - a for a, b in spans.values())
        if rest > _REST:
            raise BadInput(f"{rest} bytes outside the known lists", path=path, kind=kind, hint=hint)
        text, at = bytearray(), 0
        for a, b in sorted(spans.values()):
            text += data[at:a]
            at = max(at, b)
        text += data[at:]
    try:
        value = json.loads(bytes(text))
    except (ValueError, RecursionError) as e:
        message = f"not valid JSON: {str(e).splitlines()[0] if str(e) else type(e).__name__}"
        raise BadInput(message, path=path, kind=kind, hint=hint) from None
    top = Fields(value, path, "", kind=kind, hint=hint)

    def reader(name: str, columns: int) -> Rows:
        span = spans.get(name.encode())
        if span is None:
            return _held(top, name, columns)
        return lambda: _stream(path, span, columns, top, f"wave.{name}")

    return WaveFile(top, reader("instructions", 5), reader("timeline", 2), large=True)


def int_rows(value: list[Any] | None, columns: int, f: Fields, name: str) -> I64:
    """A list of rows of at least ``columns`` integers as an int64 array (n, columns)."""
    if not value:
        return np.zeros((0, columns), np.int64)
    try:
        rows = [row[:columns] for row in value]
        out = np.array(rows)
        odd = any(x is True or x is False for row in rows for x in row)  # numpy takes them for 1 and 0
    except (ValueError, TypeError, OverflowError, KeyError):
        raise f.bad(f"{name} must be a list of rows of {columns} integers") from None
    if odd or out.ndim != 2 or out.shape[1] != columns or out.dtype.kind not in "iu":
        raise f.bad(f"{name} must be a list of rows of {columns} integers that fit 64 bits")
    if out.dtype.kind == "u" and out.max() > INT_MAX:
        raise f.bad(f"{name} holds an integer beyond 63 bits")
    return out.astype(np.int64)


def _held(top: Fields, name: str, columns: int) -> Rows:
    """Rows of a list that was parsed with its file."""

    def rows() -> Iterator[I64]:
        w = Fields(top.need("wave", dict), top.path, "wave", kind=top.kind, hint=top.hint)
        yield int_rows(w.optional(name, list), columns, w, f"wave.{name}")

    return rows


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # load_json says what is wrong


class _mapped:
    """The bytes of a file, read on demand; pages that were used are given back at once."""

    def __init__(self, path: Path, kind: str, hint: str) -> None:
        self.path, self.kind, self.hint = path, kind, hint

    def __enter__(self) -> mmap.mmap:
        try:
            with open_file(self.path) as f:
                self.map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as e:
            raise BadInput(f"cannot read: {e}", path=self.path, kind=self.kind, hint=self.hint) from None
        return self.map

    def __exit__(self, *_: object) -> None:
        self.map.close()


def _forget(data: mmap.mmap, upto: int) -> None:
    """Give back the pages before ``upto``: what was read once counts as memory in use otherwise."""
    length = upto // mmap.PAGESIZE * mmap.PAGESIZE
    if length and hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED, 0, length)


def _find(data: mmap.mmap, name: bytes) -> tuple[int, int] | None:
    """First and last byte (exclusive) of what lies between the brackets of list ``name``.

    None where there is no such list or no long one: then it stays in the text.
    """
    at = -1
    while (at := data.find(b'"' + name + b'"', at + 1)) >= 0:
        if at and data[at - 1] == 0x5C:  # \" inside a string
            continue
        head = re.match(rb'"\w+"\s*:\s*\[', data[at : at + len(name) + 64])
        if head is None:
            continue
        start = at + head.end()
        end = _closing(data, start)
        return None if end is None else (start, end)
    return None


def _closing(data: mmap.mmap, start: int) -> int | None:
    """Where the bracket that was open at ``start`` closes; None for a short list, text, or no end."""
    depth = 1
    for a in range(start, len(data), PIECE):
        block = np.frombuffer(data[a : a + PIECE], np.uint8)
        _forget(data, a)
        marks = np.flatnonzero((block == _OPEN) | (block == _CLOSE) | (block == _QUOTE))
        if not len(marks):
            continue
        kinds = block[marks]
        level = depth + np.cumsum(np.where(kinds == _OPEN, 1, np.where(kinds == _CLOSE, -1, 0)))
        done = np.flatnonzero(level == 0)
        text = np.flatnonzero(kinds == _QUOTE)
        if len(text) and (not len(done) or text[0] < done[0]):
            return None  # no list of numbers
        if len(done):
            end = a + int(marks[done[0]])
            return end if end - start > 64 else None
        depth = int(level[-1])
    return None


def _stream(path: Path, span: tuple[int, int], columns: int, f: Fields, name: str) -> Iterator[I64]:
    """Rows of the list at ``span``, a piece at a time."""
    with _mapped(path, f.kind, f.hint or "") as data:
        at, end = span
        while at < end:
            piece = data[at : min(at + PIECE, end)]
            _forget(data, at)
            if at + len(piece) < end:
                cut = piece.rfind(b"]") + 1
                if not cut:
                    raise f.bad(f"{name} has a row of more than {PIECE} bytes")
                piece = piece[:cut]
            at += len(piece)
            body = piece.strip(b" \t\r\n,")
            if body:
                yield _rows(body, columns, f, name)


def _rows(body: bytes, columns: int, f: Fields, name: str) -> I64:
    """Rows of ``[1,2],[3,4]``."""
    shape = body.translate(None, b"0123456789-")
    row = shape[: shape.find(b"]") + 1]
    n = shape.count(row) if row else 0
    if n and row.count(b",") + 2 == len(row) and shape == b",".join([row] * n):
        with warnings.catch_warnings():  # of a text that is not read to its end: seen by its size
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                values = np.fromstring(body.translate(None, b"[]"), np.int64, sep=",")
            except ValueError:
                values = np.zeros(0, np.int64)
        width = row.count(b",") + 1
        # beyond 64 bits the parser stops at the last number that fits: the slow way tells it from a real one
        if len(values) == n * width >= n * columns and values.max() < INT_MAX and values.min() > -INT_MAX:
            return np.ascontiguousarray(values.reshape(n, width)[:, :columns])
    try:
        value = json.loads(b"[" + body + b"]")
    except (ValueError, RecursionError) as e:
        raise f.bad(f"not valid JSON in {name}: {str(e).splitlines()[0]}") from None
    return int_rows(value, columns, f, name)


__all__ = ["PIECE", "SMALL", "WaveFile", "int_rows", "open_wave"]
