"""``*_results.db``: rocprofv3's SQLite output (rocpd), schemas 3 and 4.

The tables are read directly (names end in a UUID): views would run SQL that
stands in the file. Columns are looked up by name, since they moved between
schema versions (ROCm/rocm-systems, rocprofiler-sdk-rocpd/*.sql).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from isaprof.errors import BadInput
from isaprof.files import open_file
from isaprof.parsers.pmc import Complaints, Counted, count_of
from isaprof.parsers.rocprof_runs import DEVICE_KEYS, Run, Runs, make_run

_KIND = "bad_results"
_HINT = "copy the file again; the traces beside it can be read without it"
_MAGIC = b"SQLite format 3\0"
#: rows of a table that are read, and virtual machine steps that a query may take: files may lie
_MAX_ROWS = 1_000_000
_MAX_STEPS = 20_000_000
_STEP = 10_000
_MAX_VALUE = 1 << 20
#: what is read, by the names before the UUID
_TABLES = (
    "rocpd_metadata", "rocpd_kernel_dispatch", "rocpd_info_kernel_symbol", "rocpd_info_agent",
    "rocpd_info_code_object", "rocpd_info_pmc", "rocpd_pmc_event",
)  # fmt: skip


def read_rocpd(path: Path) -> Runs:
    """Dispatches, GPUs and load addresses. BadInput (``bad_results``) where it is no rocpd file."""
    try:
        with open_file(path) as f:
            head = f.read(len(_MAGIC))
    except OSError as e:
        raise _bad(path, f"cannot read: {e.strerror or e}") from None
    if head != _MAGIC:
        raise _bad(path, "not a SQLite file")
    try:
        uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            return _read(db, path)
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as e:
        raise _bad(path, f"unreadable: {e}") from None


def _bad(path: Path, message: str) -> BadInput:
    return BadInput(message, path=path, kind=_KIND, hint=_HINT)


class _Tables:
    """Rows of the tables of one run; absent columns are None."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.names: dict[str, list[str]] = {}
        for (name,) in db.execute("select name from sqlite_master where type = 'table'"):
            base = next((b for b in _TABLES if isinstance(name, str) and name.startswith(b)), None)
            if base is not None:
                self.names.setdefault(base, []).append(name)

    def suffixes(self, table: str) -> list[str]:
        """What follows the name of ``table``: one for each run in the file."""
        return [name.removeprefix(table) for name in self.names.get(table, ())]

    def rows(self, table: str, *columns: str, suffix: str | None = None) -> Iterator[tuple[Any, ...]]:
        """Rows of all runs, or of the one with ``suffix``."""
        for name in self.names.get(table, ()):
            if suffix is not None and name != table + suffix:
                continue
            quoted = '"' + name.replace('"', '""') + '"'
            have = {row[1] for row in self.db.execute(f"pragma table_info({quoted})")}
            wanted = ", ".join(f'"{c}"' if c in have else "null" for c in columns)
            yield from self.db.execute(f"select {wanted} from {quoted} limit {_MAX_ROWS}")


def _read(db: sqlite3.Connection, path: Path) -> Runs:
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += _STEP
        return int(steps > _MAX_STEPS)

    db.set_progress_handler(count, _STEP)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
    db.execute("pragma trusted_schema = off")
    db.execute("pragma cell_size_check = on")
    db.text_factory = lambda b: b.decode("utf-8", "replace")
    t = _Tables(db)
    if "rocpd_metadata" not in t.names and "rocpd_kernel_dispatch" not in t.names:
        raise _bad(path, "no rocpd tables")
    out = Runs()
    names = {
        ident: str(display or name).removesuffix(".kd")
        for ident, name, display in t.rows("rocpd_info_kernel_symbol", "id", "kernel_name", "display_name")
        if isinstance(display or name, str)
    }
    out.runs.extend(_dispatches(t, names))
    out.devices.extend(_devices(t))
    for ident, base, delta in t.rows("rocpd_info_code_object", "id", "load_base", "load_delta"):
        address = delta if _is(delta) else base
        if _is(ident) and _is(address):
            out.bases[ident] = address
    try:
        _counters(t, names, path.name, out)
    except sqlite3.Error as e:  # too large, or damaged: the facts before are good
        out.wrong.append(f"{path.name}: counters unreadable: {e}")
    return out


def _counters(t: _Tables, kernels: dict[Any, str], file: str, out: Runs) -> None:
    """Add the counters of dispatches: a row for each unit, joined to the dispatch by its event."""
    wrong = Complaints()
    for suffix in t.suffixes("rocpd_pmc_event"):
        names = dict(t.rows("rocpd_info_pmc", "id", "name", suffix=suffix))
        rows = t.rows("rocpd_kernel_dispatch", "event_id", "dispatch_id", "kernel_id", suffix=suffix)
        events = {event: (number, kernel) for event, number, kernel in rows if _is(event) and _is(number)}
        sums: dict[tuple[Any, str], float] = {}
        for ident, event, pmc, value in t.rows(
            "rocpd_pmc_event", "id", "event_id", "pmc_id", "value", suffix=suffix
        ):
            if event not in events:
                continue  # counted over the whole GPU, not for a dispatch
            name, count = names.get(pmc), count_of(value)
            if not isinstance(name, str) or not name or count is None:
                what = "count" if isinstance(name, str) and name else "known counter"
                wrong.add(f"rocpd_pmc_event row {str(ident)[:20]} has no {what}")
                continue
            sums[event, name] = sums.get((event, name), 0.0) + count
        for (event, name), total in sums.items():
            number, kernel = events[event]
            out.counted.append(Counted(number, kernels.get(kernel), name, total, file))
    if wrong:
        out.wrong.append(f"{file}: {wrong}")


def _dispatches(t: _Tables, names: dict[Any, str]) -> Iterator[Run]:
    sizes = [f"{what}_size_{a}" for what in ("workgroup", "grid") for a in "xyz"]
    for number, kernel, begin, end, *found in t.rows(
        "rocpd_kernel_dispatch", "dispatch_id", "kernel_id", "start", "end", *sizes
    ):
        if _is(number):
            numbers = [n if _is(n) else None for n in found]
            yield make_run(
                number, None, names.get(kernel), numbers[3:], numbers[:3],
                begin if _is(begin) else None, end if _is(end) else None,
            )  # fmt: skip


def _devices(t: _Tables) -> Iterator[dict[str, Any]]:
    for kind, name, generic, product, extra in t.rows(
        "rocpd_info_agent", "type", "name", "generic_name", "product_name", "extdata"
    ):
        if kind != "GPU":
            continue
        try:
            more = json.loads(extra) if isinstance(extra, str) else {}
        except (ValueError, RecursionError):
            more = {}
        found = {k: v for k, v in more.items() if k in DEVICE_KEYS} if isinstance(more, dict) else {}
        target = next((x for x in (name, generic) if isinstance(x, str) and x.startswith("gfx")), None)
        found.update({k: v for k, v in (("name", target), ("product_name", product)) if v})
        yield {k: v for k in DEVICE_KEYS if isinstance(v := found.get(k), int | str) and v != ""}


def _is(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 63


__all__ = ["read_rocpd"]
