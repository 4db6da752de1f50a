"""Writing and reading ``NAME.isaprof/``: whole or not at all.

Layout: ``capture.json``, one Parquet file per table, ``code/<id>.co``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof import __version__
from isaprof.capture.model import Capture, CodeObjectRef, Provenance
from isaprof.capture.schema import REQUIRED_TABLES, SCHEMA_NAME, SCHEMA_VERSION, TABLES, Column
from isaprof.errors import BadInput, UsageError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SUFFIX = ".isaprof"


def default_path(kernel: str, arch: str, directory: str | Path = ".") -> Path:
    """The first free ``./<kernel>-<arch>-<n>.isaprof``, n from 1."""
    stem = "".join(c if c.isalnum() or c in "._+" else "_" for c in kernel)[:80] or "kernel"
    n = 1
    while (path := Path(directory) / f"{stem}-{arch}-{n}{SUFFIX}").exists():
        n += 1
    return path


def _arrow_type(column: Column) -> pa.DataType:
    import pyarrow as pa

    return {
        "int32": pa.int32(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
        "string": pa.string(),
        "binary": pa.binary(),
        "float64": pa.float64(),
        "category": pa.dictionary(pa.int32(), pa.string()),
    }[column.type]


def _to_arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    import pyarrow as pa

    columns = TABLES[name]
    missing = [c.name for c in columns if c.name not in frame.columns]
    extra = [c for c in frame.columns if c not in {x.name for x in columns}]
    if missing or extra:
        raise ValueError(f"table {name}: missing columns {missing}, unknown columns {extra}")
    fields = [pa.field(c.name, _arrow_type(c), c.nullable) for c in columns]
    arrays = []
    for c in columns:
        series = frame[c.name]
        if not c.nullable and series.isna().any():
            raise ValueError(f"table {name}: column {c.name} must not be null")
        if c.type == "category":
            arrays.append(pa.array(series.astype("category"), type=_arrow_type(c)))
        else:
            arrays.append(pa.array(series, type=_arrow_type(c), from_pandas=True))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _from_arrow(name: str, table: pa.Table, path: Path) -> pd.DataFrame:
    import pandas as pd

    have = set(table.column_names)
    missing = [c.name for c in TABLES[name] if c.name not in have and not c.nullable]
    if missing:
        raise BadInput(f"table {name} lacks the columns {', '.join(missing)}", path=path, kind="bad_capture")
    nullable = {"int32": pd.Int32Dtype(), "int64": pd.Int64Dtype()}
    out: dict[str, Any] = {}
    for c in TABLES[name]:
        if c.name not in have:
            out[c.name] = pd.array([None] * table.num_rows, dtype=nullable.get(c.type, object))
            continue
        col = table.column(c.name)
        if c.nullable and c.type in nullable:
            out[c.name] = pd.array(col.to_pandas(types_mapper={}.get, integer_object_nulls=True), nullable[c.type])
        elif c.type == "category":
            out[c.name] = col.to_pandas().astype("category").array
        else:
            out[c.name] = col.to_pandas().array
    return pd.DataFrame(out)


def save(
    path: str | Path,
    meta: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame],
    code_objects: tuple[CodeObjectRef, ...] = (),
    *,
    force: bool = False,
) -> Capture:
    """Write a capture directory and return it opened.

    ``meta`` needs provenance, arch and kernel (with ``name``); schema fields,
    tool version and date are filled in. Raises UsageError when ``path`` exists
    and ``force`` is not set: nothing of the user's is overwritten. The
    directory appears under its final name only when complete.
    """
    import pyarrow.parquet as pq

    path = Path(path)
    if path.exists() and not force:
        raise UsageError("already exists", path=path, hint="choose another name with -o, or pass --force")
    if path.exists() and not (path / "capture.json").is_file():
        raise UsageError("exists and is not a capture: --force replaces captures only", path=path)
    Provenance(meta["provenance"])
    for name in REQUIRED_TABLES:
        if name not in tables:
            raise ValueError(f"a capture needs the table {name}")
    full: dict[str, Any] = {
        "schema": SCHEMA_NAME,
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "isaprof", "version": __version__},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "warnings": [],
        **meta,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        full["tables"] = {}
        for name, frame in tables.items():
            arrow = _to_arrow(name, frame)
            pq.write_table(arrow, tmp / f"{name}.parquet", compression="zstd")
            full["tables"][name] = {"file": f"{name}.parquet", "rows": arrow.num_rows}
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
        (tmp / "capture.json").write_text(json.dumps(full, indent=1, sort_keys=True) + "\n")
        os.chmod(tmp, 0o777 & ~_umask())
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
            os.rename(path, old / "x")
            os.rename(tmp, path)
            shutil.rmtree(old)
        else:
            os.rename(tmp, path)
    except BaseException:
        shutil.rmtree(tmp, ignore_errors=True)
        raise
    return open(path)


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
        raise BadInput("no such capture", path=path, kind="not_found")
    if not file.is_file():
        raise BadInput(
            "not a capture (no capture.json)",
            path=path,
            kind="not_a_capture",
            hint=f"isaprof import {path}   reads a trace folder",
        )
    try:
        meta = json.loads(file.read_text())
    except (ValueError, OSError) as e:
        raise BadInput(f"unreadable: {e}", path=file, kind="bad_capture") from e
    if not isinstance(meta, dict) or meta.get("schema") != SCHEMA_NAME:
        raise BadInput(f"not a capture: expected \"schema\": \"{SCHEMA_NAME}\"", path=file, kind="not_a_capture")
    version = meta.get("schema_version")
    if not isinstance(version, int) or version < 1 or version > SCHEMA_VERSION:
        raise BadInput(
            f"schema version {version}; this isaprof reads 1 to {SCHEMA_VERSION}",
            path=file,
            kind="schema_version",
            hint="pip install --upgrade isaprof",
        )
    _check_meta(meta, file)

    def load(name: str) -> pd.DataFrame:
        import pyarrow as pa
        import pyarrow.parquet as pq

        part = _inside(path, meta["tables"][name]["file"], file)
        try:
            table = pq.read_table(part)
        except (OSError, pa.ArrowException) as e:
            raise BadInput(f"unreadable table: {e}", path=part, kind="bad_capture") from e
        return _from_arrow(name, table, part)

    def load_code() -> tuple[CodeObjectRef, ...]:
        refs = []
        for entry in meta.get("code_objects", ()):
            part = _inside(path, entry["file"], file)
            try:
                data = part.read_bytes()
            except OSError as e:
                raise BadInput(f"unreadable code object: {e}", path=part, kind="bad_capture") from e
            refs.append(
                CodeObjectRef(entry["id"], data, entry.get("name", ""), entry.get("sha256", ""), entry.get("load_base"))
            )
        return tuple(refs)

    return Capture(meta, loader=load, code_loader=load_code, path=path)


def _check_meta(meta: dict[str, Any], file: Path) -> None:
    def need(ok: bool, what: str) -> None:
        if not ok:
            raise BadInput(f"damaged: {what}", path=file, kind="bad_capture")

    need(meta.get("provenance") in set(Provenance), "\"provenance\" must be measured or modelled")
    need(isinstance(meta.get("arch"), str), "\"arch\" must be a string")
    kernel = meta.get("kernel")
    need(isinstance(kernel, dict) and isinstance(kernel.get("name"), str), "\"kernel\" must have a \"name\"")
    tables = meta.get("tables")
    need(isinstance(tables, dict), "\"tables\" must be an object")
    for name, t in (tables or {}).items():
        need(isinstance(t, dict) and isinstance(t.get("file"), str), f"table {name} must have a \"file\"")
    for name in REQUIRED_TABLES:
        need(name in (tables or {}), f"table {name} is missing")
    objects = meta.get("code_objects", [])
    need(
        isinstance(objects, list)
        and all(isinstance(o, dict) and isinstance(o.get("file"), str) and isinstance(o.get("id"), int) for o in objects),
        "\"code_objects\" must be a list of objects with id and file",
    )
    warnings = meta.get("warnings", [])
    known = {"kind", "message", "amount", "unit", "se"}
    need(
        isinstance(warnings, list)
        and all(isinstance(w, dict) and {"kind", "message"} <= set(w) <= known for w in warnings),
        "\"warnings\" must be a list of {kind, message, amount, unit, se}",
    )


def _inside(root: Path, name: str, file: Path) -> Path:
    """``root/name``, refusing names that leave the capture directory."""
    part = root / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise BadInput(f"file name {name!r} leaves the capture", path=file, kind="bad_capture")
    return part
