"""Pandas frames of the Capture schema from the plain columns that parsers give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.capture.schema import TABLES

if TYPE_CHECKING:
    from isaprof.isa.model import Instruction

_DTYPES = {"int32": "int32", "int64": "int64", "bool": "bool", "string": "object", "binary": "object"}
_NULLABLE = {"int32": "Int32", "int64": "Int64"}


def frame(name: str, columns: dict[str, Any]) -> pd.DataFrame:
    """Table ``name`` from lists or arrays; a column left out is all null.

    ``category`` columns may be given as strings. Raises KeyError for a column
    that the schema does not know.
    """
    size = max((len(c) for c in columns.values()), default=0)
    out: dict[str, Any] = {}
    for c in TABLES[name]:
        given = columns.pop(c.name, None)
        if given is None:
            given = [None] * size
        if c.type == "category":
            out[c.name] = pd.Categorical(given)
        elif c.nullable and c.type in _NULLABLE:
            out[c.name] = pd.array(given, dtype=_NULLABLE[c.type])
        elif c.type in ("string", "binary"):
            out[c.name] = pd.Series(list(given), dtype=object)
        else:
            out[c.name] = np.asarray(given, dtype=_DTYPES[c.type])
    if columns:
        raise KeyError(f"table {name} has no columns {sorted(columns)}")
    return pd.DataFrame(out)


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One row of the code table before numbering."""

    codeobj: int
    instruction: Instruction
    size: int
    label: str | None = None
    source: str | None = None
    encoding: bytes | None = None


def code_frame(lines: Sequence[CodeLine]) -> pd.DataFrame:
    """The ``code`` table; row order is the order given."""
    return frame(
        "code",
        {
            "line": np.arange(len(lines), dtype=np.int32),
            "codeobj": [x.codeobj for x in lines],
            "pc": [x.instruction.pc for x in lines],
            "size": [x.size for x in lines],
            "text": [x.instruction.text for x in lines],
            "mnemonic": [x.instruction.mnemonic for x in lines],
            "category": [x.instruction.category.value for x in lines],
            "pipe": [x.instruction.pipe.value for x in lines],
            "label": [x.label for x in lines],
            "source": [x.source for x in lines],
            "target": [x.instruction.target for x in lines],
            "encoding": [x.encoding for x in lines],
        },
    )


def rows_frame(name: str, fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Table ``name`` from row tuples holding ``fields``."""
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True))
    if not columns:
        columns = [()] * len(fields)
    return frame(name, dict(zip(fields, columns, strict=True)))
