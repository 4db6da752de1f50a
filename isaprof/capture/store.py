"""Writing and reading ``NAME.isaprof/``: whole or not at all.

Layout: ``capture.json``, one Parquet file per table, ``code/<id>.co``.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof import __version__
from isaprof.capture.manifest import check_meta
from isaprof.capture.model import Capture, CodeObjectRef, Provenance
from isaprof.capture.place import default_path, exists, may_write
from isaprof.capture.schema import DAMAGED, REQUIRED_TABLES, SCHEMA_NAME, SCHEMA_VERSION
from isaprof.capture.tables import RowGroups, check, read, to_arrow, write
from isaprof.errors import BadInput, EnvironmentProblem, UsageError
from isaprof.files import content

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def save(
    path: str | Path,
    meta: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    code_objects: tuple[CodeObjectRef, ...] = (),
    *,
    force: bool = False,
    groups: Mapping[str, RowGroups] | None = None,
) -> Capture:
    """Write a capture directory and return it opened.

    ``groups``: further tables, too large to hold, that are written row group by row group.
    ``meta`` needs provenance, arch and kernel (with ``name``); schema fields,
    tool version and date are filled in. Raises UsageError when ``path`` exists
    and ``force`` is not set: nothing of the user's is overwritten. The
    directory appears under its final name only when complete.
    """
    path = Path(path)
    may_write(path, force=force)
    Provenance(meta["provenance"])
    groups = groups or {}
    for name in REQUIRED_TABLES:
        if name not in tables and name not in groups:
            raise ValueError(f"a capture needs the table {name}")
    full: dict[str, Any] = {
        "schema": SCHEMA_NAME,
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "isaprof", "version": __version__},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "warnings": [],
        **meta,
    }
    rows = {name: len(frame) for name, frame in tables.items()} | {n: g.rows for n, g in groups.items()}
    arrow = {name: to_arrow(name, frame) for name, frame in tables.items()}
    for name, frame in tables.items():
        check(name, frame, rows)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tmp = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            _write(tmp, full, arrow, code_objects, groups, rows)
            _put_in_place(tmp, path, force=force)
        except BaseException:
            shutil.rmtree(tmp, ignore_errors=True)
            raise
    except OSError as e:
        raise EnvironmentProblem(
            f"cannot write the capture: {e.strerror or e}", path=path, kind="cannot_write"
        ) from e
    return open(path)


def save_numbered(
    meta: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    code_objects: tuple[CodeObjectRef, ...] = (),
    *,
    directory: str | Path = ".",
    groups: Mapping[str, RowGroups] | None = None,
) -> Capture:
    """:func:`save` under the first free default name, also where another process takes one meanwhile."""
    while True:
        path = default_path(meta["kernel"]["name"], meta["arch"], directory)
        try:
            return save(path, meta, tables, code_objects, groups=groups)
        except UsageError:
            if not os.path.lexists(path):
                raise


def _write(
    tmp: Path,
    full: dict[str, Any],
    tables: Mapping[str, pa.Table],
    code_objects: tuple[CodeObjectRef, ...],
    groups: Mapping[str, RowGroups],
    rows: Mapping[str, int],
) -> None:
    """The content of a capture directory, ``capture.json`` last."""
    import pyarrow.parquet as pq

    full["tables"] = {}
    for name, table in tables.items():
        with (tmp / f"{name}.parquet").open("wb") as f:  # a file: pyarrow takes no path that is not UTF-8
            pq.write_table(table, f, compression="zstd")
        full["tables"][name] = {"file": f"{name}.parquet", "rows": table.num_rows}
    for name, group in groups.items():
        with (tmp / f"{name}.parquet").open("wb") as f:
            write(name, group, rows, f)
        full["tables"][name] = {"file": f"{name}.parquet", "rows": group.rows}
    full["code_objects"] = []
    if code_objects:
        (tmp / "code").mkdir()
    for ref in code_objects:
        rel = f"code/{ref.id}.co"
        (tmp / rel).write_bytes(ref.data)
        full["code_objects"].append(
            {
                "id": ref.id,
                "file": rel,
                "name": ref.name,
                "sha256": hashlib.sha256(ref.data).hexdigest(),
                "load_base": ref.load_base,
            }
        )
    text = json.dumps(_finite(full), indent=1, sort_keys=True, allow_nan=False)
    (tmp / "capture.json").write_text(text + "\n", encoding="utf-8")
    os.chmod(tmp, 0o777 & ~_umask())


def _put_in_place(tmp: Path, path: Path, *, force: bool) -> None:
    """Rename ``tmp`` to ``path``; an old capture there is put back if that fails."""
    if not force or not os.path.lexists(path):
        try:
            os.rename(tmp, path)  # fails where another process has written there meanwhile
        except OSError as e:
            if e.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise exists(path) from None
            raise
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    try:
        os.rename(path, old / "capture")
        os.rename(tmp, path)
    except BaseException:
        if not path.exists() and (old / "capture").exists():
            os.rename(old / "capture", path)
        raise
    finally:
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)


def _finite(value: Any) -> Any:
    """``value`` with NaN and infinities as None: JSON has no other word for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def open(path: str | Path) -> Capture:  # noqa: A001
    """Open a capture directory; its tables are read when first used.

    Raises BadInput where ``path`` is not a capture, is damaged, or was written
    by a newer schema.
    """
    path = Path(path)
    file = path / "capture.json"
    if not path.exists():
        raise BadInput("no such capture", path=path, kind="not_found", hint=f"ls -d {path.parent}/*.isaprof")
    if not file.is_file():
        raise BadInput(
            "not a capture (no capture.json)",
            path=path,
            kind="not_a_capture",
            hint=f"isaprof import {path}   reads a trace folder",
        )
    try:
        meta = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as e:
        raise BadInput(f"unreadable: {e}", path=file, kind="bad_capture", hint=DAMAGED) from e
    if not isinstance(meta, dict) or meta.get("schema") != SCHEMA_NAME:
        message = f'not a capture: expected "schema": "{SCHEMA_NAME}"'
        raise BadInput(message, path=file, kind="not_a_capture", hint=DAMAGED)
    version = meta.get("schema_version")
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        raise BadInput(
            f"schema version {version}; this isaprof reads 1 to {SCHEMA_VERSION}",
            path=file,
            kind="schema_version",
            hint="pip install --upgrade isaprof",
        )
    check_meta(meta, file)

    rows = {name: t["rows"] for name, t in meta["tables"].items()}

    def load(name: str) -> pd.DataFrame:
        part = path / meta["tables"][name]["file"]
        frame = read(name, part, rows[name])
        check(name, frame, rows, part)
        return frame

    def load_code() -> tuple[CodeObjectRef, ...]:
        return tuple(_code_object(path / entry["file"], entry) for entry in meta.get("code_objects", ()))

    return Capture(meta, loader=load, code_loader=load_code, path=path)


def _code_object(part: Path, entry: Mapping[str, Any]) -> CodeObjectRef:
    try:
        data = content(part)
    except OSError as e:
        message = f"unreadable code object: {e.strerror or e}"
        raise BadInput(message, path=part, kind="bad_capture", hint=DAMAGED) from e
    sha256 = hashlib.sha256(data).hexdigest()
    if entry.get("sha256", sha256) != sha256:
        message = "damaged: the SHA-256 differs from capture.json's"
        raise BadInput(message, path=part, kind="bad_capture", hint=DAMAGED)
    return CodeObjectRef(entry["id"], data, entry.get("name", ""), sha256, entry.get("load_base"))
