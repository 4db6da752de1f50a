"""Manifests: the CSV beside a family of kernels that says which object serves what (aiter's hsa folders).

Columns differ by family; ``knl_name`` is the kernel's symbol and ``co_name``
the object's file, in the manifest's folder or below it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isaprof.errors import BadInput, UsageError
from isaprof.files import content

#: rows of all manifests of a folder together
MAX_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of a manifest. ``values``: its other columns, as written."""

    kernel: str
    name: str  #: file name, as the manifest has it
    path: Path | None  #: None: not in the folder
    values: Mapping[str, str]

    def number(self, *columns: str) -> int | None:
        """The first of ``columns`` that the manifest has, as an integer."""
        for column in columns:
            text = self.values.get(column)
            if text is not None:
                try:
                    return int(text)
                except ValueError:
                    return None
        return None


def read(folder: Path) -> tuple[Row, ...]:
    """All rows of the manifests in ``folder``, in file and line order.

    Raises BadInput where there is none, or one lacks the two columns.
    """
    if not folder.is_dir():
        raise BadInput(
            "is no folder of code objects", path=folder, kind="not_found", hint=f"ls {folder.parent}"
        )
    rows: list[Row] = []
    files = sorted(folder.glob("*.csv"))
    for file in files:
        rows += _read(file)
        if len(rows) > MAX_ROWS:
            raise BadInput(f"more than {MAX_ROWS} rows", path=file, kind="bad_manifest")
    if not rows:
        what = "no row in its manifests" if files else "no manifest (*.csv with knl_name and co_name)"
        raise BadInput(
            f"{what}: nothing says which object serves what",
            path=folder,
            kind="no_manifest",
            hint=f"isaprof run {folder}/KERNEL.co --shape ...   runs one of its objects",
        )
    return tuple(rows)


def _read(file: Path) -> list[Row]:
    try:
        table = csv.DictReader(io.StringIO(content(file).decode()), strict=True)
        lines = [
            {k: v for k, v in line.items() if isinstance(k, str) and isinstance(v, str)} for line in table
        ]
    except (UnicodeDecodeError, csv.Error) as e:
        raise BadInput(f"no CSV: {e}", path=file, kind="bad_manifest") from None
    columns = table.fieldnames or []
    if missing := [c for c in ("knl_name", "co_name") if c not in columns]:
        raise BadInput(f"is no manifest: no column {', '.join(missing)}", path=file, kind="bad_manifest")
    out = []
    for line in lines:
        kernel, name = line.pop("knl_name", ""), line.pop("co_name", "")
        if kernel and name:
            out.append(Row(kernel, name, _find(file.parent, name), line))
    return out


def _find(folder: Path, name: str) -> Path | None:
    """The object, in the folder or one level below (variants of one GPU lie in folders of their own)."""
    base = Path(name.replace("\\", "/")).name  # never outside the folder
    for place in (folder / base, *sorted(folder.glob(f"*/{_literal(base)}"))):
        if place.is_file():
            return place
    return None


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def where(text: Sequence[str]) -> dict[str, str]:
    """``column=value`` texts as a dict. Raises UsageError."""
    out = {}
    for item in (part for entry in text for part in entry.split(",")):
        column, equals, value = (s.strip() for s in item.partition("="))
        if not equals or not column:
            raise UsageError(f"--where {item!r}: expected COLUMN=VALUE", kind="where")
        out[column] = value
    return out
