"""A small capture with every table of the schema filled in."""

from __future__ import annotations

from typing import Any

import pandas as pd

from isaprof.capture import TABLES, CodeObjectRef

META: dict[str, Any] = {"provenance": "modelled", "arch": "gfx1100", "kernel": {"name": "k"}}
CODE = (
    CodeObjectRef(1, b"\x7fELF code", name="k.co"),
    CodeObjectRef(2, b"", name="empty.co", load_base=4096),
)

_VALUES: dict[str, tuple[Any, Any]] = {
    "int32": (0, 3),
    "int64": (7, 2**40),
    "bool": (True, False),
    "string": ("s_endpgm", "v_mov_b32 v0, s1 ; é"),
    "category": ("VALU", "SALU"),
    "binary": (b"\x00\x01", b""),
    "float64": (0.5, -1.0),
}


def make_tables() -> dict[str, pd.DataFrame]:
    """Two rows a table; nullable columns have a null in the second row."""
    tables = {}
    for name, columns in TABLES.items():
        data: dict[str, Any] = {}
        for c in columns:
            first, second = _VALUES[c.type]
            data[c.name] = pd.array([first, None if c.nullable else second], dtype=object)
        frame = pd.DataFrame(data)
        for column in ("wave", "line"):
            if column in frame:
                frame[column] = [0, 1]
        tables[name] = frame
    tables["waves"][["begin", "end"]] = [[0, 10], [5, 5]]
    tables["insts"][["stall", "duration"]] = [[0, 4], [3, 3]]
    tables["states"]["duration"] = [0, 9]
    return tables
