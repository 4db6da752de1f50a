"""The capture format in words: the generated part of docs/capture.md.

``python -m isaprof.capture.describe`` prints it.
"""

from __future__ import annotations

from isaprof.capture.manifest import FIELDS
from isaprof.capture.schema import REQUIRED_TABLES, TABLES


def markdown() -> str:
    """Fields of capture.json and columns of every table, as Markdown."""
    lines = ["### capture.json", "", "| field | type | | meaning |", "|---|---|---|---|"]
    lines += [f"| `{f.name}` | {f.type} | {'required' if f.required else ''} | {f.doc} |" for f in FIELDS]
    for name, columns in TABLES.items():
        kind = "required" if name in REQUIRED_TABLES else "optional"
        lines += [
            "",
            f"### {name}.parquet ({kind})",
            "",
            "| column | type | | meaning |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| `{c.name}` | {c.type} | {'nullable' if c.nullable else ''} | {c.doc} |" for c in columns
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
