"""Tables of a capture: pandas frames to Parquet and back, checked both ways.

What is written obeys :mod:`isaprof.capture.schema`; what is read may come
from anyone, so that types, nulls, keys and the order of times are checked
before a frame is handed out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from isaprof.capture.schema import DAMAGED, TABLES, Column
from isaprof.errors import BadInput, EnvironmentProblem

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: column -> the table whose row numbers it holds
KEYS = {"wave": "waves", "line": "code"}


class RowGroups(Protocol):
    """A table too large to hold: ``rows`` in all, iterated over as frames with the columns of the schema."""

    @property
    def rows(self) -> int: ...

    def __iter__(self) -> Iterator[pd.DataFrame]: ...


def write(name: str, groups: RowGroups, rows: Mapping[str, int], f: BinaryIO) -> None:
    """Table ``name`` to a Parquet file, one row group at a time; each is checked (:func:`check`)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(c.name, arrow_type(c), c.nullable) for c in TABLES[name]]
    done = 0
    with pq.ParquetWriter(f, pa.schema(fields), compression="zstd") as out:
        for frame in groups:
            check(name, frame, rows, first=done)
            out.write_table(to_arrow(name, frame))
            done += len(frame)
    if done != groups.rows:
        raise ValueError(f"table {name}: {done} rows came, {groups.rows} were announced")


def arrow_type(column: Column) -> pa.DataType:
    """The Parquet (Arrow) type of a column of the schema."""
    import pyarrow as pa

    types: dict[str, Callable[[], pa.DataType]] = {
        "int32": pa.int32,
        "int64": pa.int64,
        "bool": pa.bool_,
        "string": pa.string,
        "binary": pa.binary,
        "float64": pa.float64,
        "category": lambda: pa.dictionary(pa.int32(), pa.string()),
    }
    return types[column.type]()


def to_arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    """Table ``name`` with exactly the columns of the schema.

    Raises ValueError where columns are missing, unknown or wrongly null: a
    mistake of the program that made the frame. Raises BadInput for a value
    that does not fit its column: what a damaged trace can lead to.
    """
    import pyarrow as pa

    columns = TABLES[name]
    missing = [c.name for c in columns if c.name not in frame.columns]
    extra = [c for c in frame.columns if c not in {x.name for x in columns}]
    if missing or extra:
        raise ValueError(f"table {name}: missing columns {missing}, unknown columns {extra}")
    fields = [pa.field(c.name, arrow_type(c), c.nullable) for c in columns]
    arrays = []
    for c in columns:
        series = frame[c.name]
        if not c.nullable and series.isna().any():
            raise ValueError(f"table {name}: column {c.name} must not be null")
        try:
            if c.type == "category":
                arrays.append(pa.array(series.astype("category"), type=arrow_type(c)))
            else:
                arrays.append(pa.array(series, type=arrow_type(c), from_pandas=True))
        except (pa.ArrowInvalid, OverflowError, UnicodeError) as e:
            message = f"table {name}, column {c.name}: a value does not fit {c.type}: {e}"
            raise BadInput(message, kind="bad_capture") from e
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def read(name: str, path: Path, rows: int) -> pd.DataFrame:
    """Table ``name`` from a Parquet file; BadInput where it is not one, or has not ``rows`` rows.

    EnvironmentProblem where so many rows have no room here: run lengths let a
    file of some kB claim any number of them.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if not path.is_file():
            raise BadInput("no such file", path=path, kind="bad_capture", hint=DAMAGED)
        with path.open("rb") as f:  # a file: pyarrow takes no path that is not UTF-8
            file = pq.ParquetFile(f)
            claimed = file.metadata.num_rows
            if claimed != rows:
                message = f"damaged: {claimed} rows where capture.json says {rows}"
                raise BadInput(message, path=path, kind="bad_capture", hint=DAMAGED)
            _room(name, rows, path)
            # one thread: pyarrow's pool, when an error ends the program early, at times aborts it
            table = file.read(use_threads=False)
        return from_arrow(name, table, path)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as e:
        reason = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise BadInput(f"unreadable table: {reason}", path=path, kind="bad_capture", hint=DAMAGED) from e


def _room(name: str, rows: int, path: Path) -> None:
    """EnvironmentProblem where the columns, 8 bytes a value at least, need more than the machine's memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return
    needed = rows * len(TABLES[name]) * 8
    if needed > memory:
        raise EnvironmentProblem(
            f"{rows:,} rows need {needed >> 30} GiB of memory, this machine has {memory >> 30} GiB",
            path=path,
            kind="out_of_memory",
            hint="trace fewer waves or engines, or use a machine with more memory; " + DAMAGED,
        )


def from_arrow(name: str, table: pa.Table, path: Path) -> pd.DataFrame:
    """A frame with exactly the columns of the schema, in its order and types.

    Nullable integers come out as pandas' Int32/Int64; an absent nullable
    column comes out all null; columns that the schema does not know are
    dropped. Raises BadInput (or ArrowException for values that do not fit).
    """
    import pandas as pd
    import pyarrow as pa

    def with_nulls(type_: pa.DataType) -> Any:
        dtypes: dict[pa.DataType, Any] = {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
        return dtypes.get(type_)

    def bad(what: str) -> BadInput:
        return BadInput(f"table {name}: {what}", path=path, kind="bad_capture", hint=DAMAGED)

    out: dict[str, Any] = {}
    for c in TABLES[name]:
        found = table.column_names.count(c.name)
        if found > 1 or (not found and not c.nullable):
            raise bad(f"column {c.name} " + ("occurs twice" if found else "is missing"))
        wanted = arrow_type(c)
        column = (
            table.column(c.name) if found else pa.chunked_array([pa.array([None] * table.num_rows, wanted)])
        )
        if column.null_count and not c.nullable:
            raise bad(f"column {c.name} must not be null")
        if c.type == "category":
            plain = column.cast(pa.string()) if not pa.types.is_dictionary(column.type) else column
            out[c.name] = plain.cast(wanted).unify_dictionaries().to_pandas().astype("category").array
        else:
            mapper = with_nulls if c.nullable else None
            out[c.name] = column.cast(wanted).to_pandas(types_mapper=mapper).array
    return pd.DataFrame(out)


def check(
    name: str, frame: pd.DataFrame, rows: Mapping[str, int], path: Path | None = None, *, first: int = 0
) -> None:
    """Keys point at rows that exist, and time does not run backwards.

    ``rows``: number of rows of each table of the capture; ``first``: row of the table that the frame begins
    with. Raises BadInput
    naming the first row that is wrong.
    """
    import numpy as np

    def must(ok: np.ndarray[Any, np.dtype[np.bool_]], what: str) -> None:
        if not ok.all():
            message = f"table {name}, row {first + int(np.argmin(ok))}: {what}"
            raise BadInput(message, path=path, kind="bad_capture", hint=None if path is None else DAMAGED)

    def values(column: str, null: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.asarray(frame[column].astype("Int64").to_numpy(dtype="int64", na_value=null))

    for column, target in KEYS.items():
        if column not in frame:
            continue
        n = rows.get(target, 0)
        if target == name:
            must(
                values(column, -1) == np.arange(first, first + len(frame)), f"{column} must be the row number"
            )
            continue
        null = frame[column].isna().to_numpy()
        inside = (values(column) >= 0) & (values(column) < n)
        must(null | inside, f"{column} is not a row of table {target} ({n} rows)")
    if name == "waves":
        must(values("end") >= values("begin"), "end is before begin")
    if name == "insts":
        must(values("stall") >= 0, "stall is negative")
        must(values("duration") >= values("stall"), "duration is shorter than stall")
    if name == "totals":
        for column in ("hits", "latency", "stall", "idle"):
            must(values(column) >= 0, f"{column} is negative")
    if name == "states":
        must(values("duration") >= 0, "duration is negative")
