"""Counters of whole dispatches: what ``rocprofv3 --pmc`` counted, one value a dispatch and counter.

``*_counter_collection.csv`` has a row each (columns are taken by name, since
their order and number differ between releases); ``*_results.json`` and
``*_results.db`` have the same by hardware unit, which :mod:`rocprof_runs` and
:mod:`rocpd` sum up. Source: ROCm/rocprofiler-sdk, source/lib/output
(generateCSV.cpp, generateJSON.cpp, generateRocpd.cpp).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isaprof.errors import BadInput
from isaprof.files import open_file

_COLUMNS = ("dispatch_id", "kernel_name", "counter_name", "counter_value")
_MAX_FIELD = 1 << 20
#: rows of a file that are read, and complaints that are kept: files may lie
_MAX_ROWS = 1_000_000
_SHOWN = 3
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Counted:
    """One counter of one dispatch, summed over the units of the GPU."""

    dispatch: int
    kernel: str | None
    name: str
    value: float  #: finite, not negative
    where: str  #: file, and its line where it has lines


class Complaints:
    """What is wrong with a file: the first few places, and how many more there are."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._more = 0

    def add(self, text: str) -> None:
        if len(self._shown) < _SHOWN:
            self._shown.append(text)
        else:
            self._more += 1

    def __bool__(self) -> bool:
        return bool(self._shown)

    def __str__(self) -> str:
        return "; ".join(self._shown) + (f"; and {self._more} more" if self._more else "")


def count_of(value: Any) -> float | None:
    """``value`` as a count: a finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def read_counter_csv(path: Path) -> tuple[list[Counted], Complaints]:
    """Rows of ``*_counter_collection.csv``, and what is wrong with those left out.

    BadInput (``bad_counters``) where it cannot be read or its header is another one.
    """
    out: list[Counted] = []
    wrong = Complaints()
    places: dict[str, int] = {}
    same: dict[str, str] = {}  # names come again on every row
    try:
        for line, row in _rows(path, wrong):
            if not places:
                places = _header(row, path)
                continue
            if not any(row):
                continue
            if len(out) >= _MAX_ROWS:
                wrong.add(f"line {line}: only the first {_MAX_ROWS:,} rows are read")
                break
            if len(row) <= max(places.values()):
                wrong.add(f"line {line} has {len(row)} columns, the header more")
                continue
            number, kernel, name, value = (row[places[c]].strip() for c in _COLUMNS)
            count = count_of(value)
            if not (number.isascii() and number.isdecimal() and len(number) < 19):
                wrong.add(f"line {line}: Dispatch_Id {number[:40]!r} is no number")
            elif not name or len(name) > _MAX_NAME:
                wrong.add(f"line {line}: Counter_Name is {'empty' if not name else 'too long'}")
            elif count is None:
                wrong.add(f"line {line}: Counter_Value {value[:40]!r} is no count")
            else:
                kernel, name = same.setdefault(kernel, kernel), same.setdefault(name, name)
                out.append(Counted(int(number), kernel or None, name, count, f"{path.name} line {line}"))
    except OSError as e:
        raise _bad(path, f"cannot read: {e.strerror or e}") from None
    if not places:
        raise _bad(path, "the file is empty")
    return out, wrong


def _rows(path: Path, wrong: Complaints) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_MAX_FIELD)
    with io.TextIOWrapper(open_file(path), "utf-8", "replace", newline="") as f:
        reader = csv.reader(f, strict=True)
        try:
            for row in reader:
                yield reader.line_num, row
        except csv.Error as e:
            wrong.add(f"line {reader.line_num}: {e}; the rest is not read")


def _header(row: list[str], path: Path) -> dict[str, int]:
    names = [c.strip().lstrip("\ufeff").lower() for c in row]
    lacking = [c for c in _COLUMNS if c not in names]
    if lacking:
        raise _bad(path, f"line 1: the header lacks {', '.join(c.title() for c in lacking)}")
    return {c: names.index(c) for c in _COLUMNS}


def _bad(path: Path, message: str) -> BadInput:
    hint = "rocprofv3 --pmc SQ_LDS_BANK_CONFLICT --output-format csv -d DIR -- APP   writes it"
    return BadInput(message, path=path, kind="bad_counters", hint=hint)


__all__ = ["Complaints", "Counted", "count_of", "read_counter_csv"]
