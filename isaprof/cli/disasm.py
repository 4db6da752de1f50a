"""``isaprof disasm``: a code object as text that assembles again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options
from isaprof.errors import UsageError


def command(
    kernel: options.KernelFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; without it, standard output.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="GPU: which object of several, or what a minimal ELF is for."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--kernel", help="Choose the object by a kernel it holds.")
    ] = None,
    force: options.ReplaceOutput = False,
    as_json: options.AsJsonResult = False,
) -> None:
    """Write a code object as assembly that a human edits and `isaprof asm` builds again."""
    from isaprof.asm import disassemble_object
    from isaprof.asm.find import recorded_arch
    from isaprof.cli.objects import open_object
    from isaprof.files import write_new

    if as_json and output is None:
        raise UsageError("--json needs -o: the text would share standard output", hint="give -o KERNEL.s")
    data, _, origin = open_object(kernel, target=target or recorded_arch(kernel), kernel=name)
    done = disassemble_object(data, path=origin.label, arch=origin.arch)
    if done.kept_as_words or done.with_bits:
        print(
            f"isaprof: of {done.instructions} instructions {done.kept_as_words} are kept as .long, because "
            f"LLVM does not take its own text back; {done.with_bits} have a comment with bits that LLVM "
            "encodes otherwise",
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
            "with_bits": done.with_bits,
        }
        print(json.dumps(body))
    else:
        print(output)
