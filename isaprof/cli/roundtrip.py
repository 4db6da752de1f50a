"""``isaprof roundtrip``: to text and back, and proof that nothing was lost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="KERNEL.co...|DIR", help="Code objects, files with some inside, folders."),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", help="GPU of minimal ELF files; of containers only the objects for it."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Prove that each object survives disassembly and reassembly: identical, equivalent or different."""
    from isaprof.cli.roundtrip_report import run

    return run(paths, target, as_json=as_json)
