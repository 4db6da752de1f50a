"""``isaprof inspect``: the passport of the kernels in a code object."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.cli.failure import say
from isaprof.errors import UsageError

if TYPE_CHECKING:
    from isaprof.inspect.model import Passport


def command(
    kernel_file: options.KernelFile,
    kernel: Annotated[str | None, typer.Option(help="Only this kernel (default: all of them).")] = None,
    target: Annotated[
        str | None, typer.Option(help="GPU: which object of a container, or what a minimal ELF is for.")
    ] = None,
    as_json: options.AsJson = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for one Markdown page per kernel.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace pages that exist.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Show basic blocks and descriptor fields too.")
    ] = False,
) -> None:
    """Show a kernel's passport: arguments, registers, LDS, loops, descriptors, techniques present."""
    from isaprof.asm.find import recorded_arch
    from isaprof.cli.objects import open_object
    from isaprof.inspect.passport import inspect_object
    from isaprof.isa.decode import disassemble

    wanted = target or (recorded_arch(kernel_file) if kernel_file.is_file() else None)
    data, co, origin = open_object(kernel_file, target=wanted, kernel=kernel)
    listing = disassemble(data, path=origin.label, arch=co.arch)
    passports = inspect_object(co, listing, origin.kernel or kernel)
    pages = [] if output is None else _write(passports, output, force=force)
    if as_json:
        body = {
            "schema_version": 1,
            "path": str(kernel_file),
            "pages": [str(p) for p in pages],
            "kernels": [p.to_dict() for p in passports],
        }
        print(json.dumps(body))
        return
    if output is not None:
        say("\n".join(map(str, pages)))
        return
    from isaprof.views.passport import text

    say("\n".join(text(p, full=full) for p in passports).removesuffix("\n"))


def _write(passports: tuple[Passport, ...], folder: Path, *, force: bool) -> list[Path]:
    """One page a kernel; nothing is written when one of them exists already."""
    from isaprof.files import cannot_write, write_new
    from isaprof.views.passport import markdown

    if folder.exists() and not folder.is_dir():
        raise UsageError("is a file", path=folder, hint="give a folder with -o")
    places = _places(passports, folder)
    if not force and (there := next((p for p in places if p.exists()), None)) is not None:
        raise UsageError("already exists", path=there, hint="choose another folder with -o, or pass --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise cannot_write(folder, e) from None
    for place, passport in zip(places, passports, strict=True):
        write_new(place, markdown(passport).encode(), force=force)
    return places


def _places(passports: tuple[Passport, ...], folder: Path) -> list[Path]:
    """File names from kernel names: no separators, not too long, all different."""
    out: list[Path] = []
    for p in passports:
        stem = re.sub(r"[^A-Za-z0-9_.-]", "_", p.kernel).lstrip(".")[:120] or "kernel"
        name, n = stem, 1
        while folder / f"{name}.md" in out:
            n += 1
            name = f"{stem}-{n}"
        out.append(folder / f"{name}.md")
    return out
