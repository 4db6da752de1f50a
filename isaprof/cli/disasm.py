"""``isaprof disasm``: a code object as text that assembles again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.errors import UsageError


def command(
    kernel: Annotated[Path, typer.Argument(metavar="KERNEL.co", help="Code object.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; without it, standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object about the result.")] = False,
) -> None:
    """Write a code object as assembly that a human edits and `isaprof asm` builds again."""
    from isaprof.asm import disassemble_object
    from isaprof.files import read_bytes, write_new

    if as_json and output is None:
        raise UsageError("--json needs -o: the text would share standard output", hint="give -o KERNEL.s")
    done = disassemble_object(read_bytes(kernel), path=kernel)
    if done.kept_as_words:
        print(
            f"isaprof: {done.kept_as_words} of {done.instructions} instructions are kept as .long: LLVM's "
            "text would not give the same bytes",
            file=sys.stderr,
        )
    if output is None:
        sys.stdout.write(done.text)
        return
    write_new(output, done.text.encode(), force=force)
    if as_json:
        body = {
            "schema_version": 1,
            "output": str(output),
            "kernels": list(done.kernels),
            "instructions": done.instructions,
            "kept_as_words": done.kept_as_words,
        }
        print(json.dumps(body))
    else:
        print(output)
