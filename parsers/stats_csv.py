"""``stats_ui_output_agent_*_dispatch_*.csv``: totals of each instruction, one row a line.

Columns are taken by name: they differ in number and order between releases of
rocprofv3 (``CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source``,
later with ServiceType, Issued and Stalled before Source). Latency includes
Stall; Idle is outside it; the issue time is Latency - Stall.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from isaprof.errors import BadInput
from isaprof.files import read_bytes
from isaprof.parsers.jsonfile import INT_MAX
from isaprof.parsers.ui_output import CodeRow

NAME = re.compile(r"stats_ui_output_agent_(?P<agent>\d+)_dispatch_(?P<dispatch>\d+)\.csv$")
_KIND = "bad_stats"
_HINT = "copy the file again; its first line must name the columns CodeObj, Vaddr, Instruction, Hitcount, ..."
_COLUMNS = ("codeobj", "vaddr", "instruction", "hitcount", "latency", "stall", "idle")
_MAX_FIELD = 1 << 20
_INT32 = (1 << 31) - 1


def read_stats(path: Path) -> list[CodeRow]:
    """Rows in file order, numbered from 1 (labels are folded into the row they precede).

    Raises BadInput: ``stats_empty`` (a header and nothing else), ``pc_sampling``
    or ``bad_stats``, naming line and column.
    """
    text = read_bytes(path).decode("utf-8", "replace")
    rows: list[CodeRow] = []
    label: str | None = None
    sampled = count = 0
    places: dict[str, int] = {}
    seen: set[tuple[int, int]] = set()
    for number, row in _records(text, path):
        if not places:
            places = _header(row, path)
            continue
        if not any(row):
            continue
        if len(row) < max(places[c] for c in _COLUMNS) + 1:
            raise _bad(path, f"line {number} has {len(row)} columns, the header {len(places)}")
        count += 1
        instruction = row[places["instruction"]]
        if instruction.lstrip().startswith(";"):
            label = instruction.lstrip("; \t").strip() or None
            continue
        codeobj, vaddr, hits, latency, stall, idle = (
            _int(row[places[c]], f"line {number}, column {c}", path, _INT32 if c == "codeobj" else INT_MAX)
            for c in ("codeobj", "vaddr", "hitcount", "latency", "stall", "idle")
        )
        if (codeobj, vaddr) in seen:
            raise _bad(path, f"line {number}: the address {vaddr:#x} of code object {codeobj} comes twice")
        seen.add((codeobj, vaddr))
        at = places.get("source", -1)
        source = row[at] if 0 <= at < len(row) else ""
        rows.append(
            CodeRow(
                len(rows) + 1, codeobj, vaddr, instruction, label, source or None, hits, latency, stall, idle
            )
        )
        label = None
        at = places.get("servicetype", -1)
        sampled += 0 <= at < len(row) and row[at] in ("1", "2")
    if not places:
        raise _bad(path, "the file is empty")
    if rows and sampled == len(rows):
        raise BadInput(
            "holds PC sampling results, no thread trace",
            path=path,
            kind="pc_sampling",
            hint="rocprofv3 --att -d DIR -- APP   records a thread trace",
        )
    if not rows:
        raise BadInput(
            "holds a header and no instruction: the decoder attributed nothing to any wave",
            path=path,
            kind="stats_empty",
            hint=f"isaprof doctor {quote(str(path.parent))}   says why, where the rest is beside it",
        )
    return rows


def _records(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as e:
        raise _bad(path, f"line {reader.line_num}: {e}") from None


def _header(row: list[str], path: Path) -> dict[str, int]:
    """Column name, in lower case -> its place."""
    places = {name.strip().lstrip("\ufeff").lower(): i for i, name in enumerate(row)}
    missing = [c for c in _COLUMNS if c not in places]
    if missing:
        raise _bad(path, f"the header lacks {', '.join(missing)}")
    return places


def _int(text: str, where: str, path: Path, high: int) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 20) or int(text) > high:
        raise _bad(path, f"{where}: {text[:40]!r} is no number of 0..{high}")
    return int(text)


def _bad(path: Path, message: str) -> BadInput:
    return BadInput(message, path=path, kind=_KIND, hint=_HINT)
