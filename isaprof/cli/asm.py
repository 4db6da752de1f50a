"""``isaprof asm``: build a code object from its text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options


def command(
    source: Annotated[Path, typer.Argument(metavar="KERNEL.s", help="Assembly source.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Code object to write; default: SOURCE with .co.")
    ] = None,
    force: options.ReplaceOutput = False,
    as_json: options.AsJsonResult = False,
) -> None:
    """Assemble and link a source for the target that it names."""
    from isaprof.asm.assemble import assemble_text, read_text
    from isaprof.asm.facts import build_facts
    from isaprof.codeobj.elf import CodeObject
    from isaprof.codeobj.metadata import kernel_entries
    from isaprof.files import write_new

    text = read_text(source)
    data = assemble_text(text, source)
    out = output or source.with_suffix(".co")
    write_new(out, data, force=force)
    # the source names the target where the file (a minimal ELF) does not
    co = CodeObject.from_bytes(data, path=out, arch=build_facts(text, source).mcpu)
    whole = {k.symbol for k in co.kernels}
    for symbol in (e.get(".symbol") for e in kernel_entries(co.metadata)):
        if symbol not in whole:
            print(
                f"isaprof: warning: {out}: {symbol} of the metadata is no kernel: "
                "that needs a descriptor of 64 bytes whose entry offset leads to code",
                file=sys.stderr,
            )
    if as_json:
        body = {
            "schema_version": 1,
            "output": str(out),
            "target": co.target_id,
            "kernels": [k.name for k in co.kernels],
            "sha256": co.sha256,
        }
        print(json.dumps(body))
    else:
        print(out)
