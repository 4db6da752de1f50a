"""``isaprof extract``: code objects out of host binaries, bundles and Triton caches."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.errors import UsageError

if TYPE_CHECKING:
    from isaprof.codeobj.source import Item, Source


def command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Program, library, offload bundle or Triton cache folder."),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="GFX", help="For this GPU: gfx1151, gfx90a:xnack-, ...")
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(metavar="NAME", help="With this kernel: full name, or a part only it has.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR|FILE",
            help="File (a name with a suffix), or folder for all that fit. Default: ./NAME-TARGET.co",
        ),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List what is inside, write nothing.")] = False,
    as_json: options.AsJson = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:  # fmt: skip
    """Write the code objects inside a program, library, offload bundle or Triton cache to files."""
    from isaprof.codeobj.bundle_select import choose, fitting, stated
    from isaprof.codeobj.source import read_source
    from isaprof.files import cannot_write, write_new

    source = read_source(file)
    items: Sequence[Item]
    notes = list(source.notes)
    if list_only and target is None and kernel is None:
        items = source.items
    elif list_only or _is_folder(output):
        items, _, how = fitting(source, target, kernel)
        notes += [how] * bool(how) + [n for i in items for n in stated(i, target)]
    else:
        item, _, chosen = choose(source, target, kernel)
        items, notes = [item], list(chosen)
    for note in dict.fromkeys(notes):
        print(f"isaprof: note: {note}", file=sys.stderr)
    if list_only:
        _show(source, items, as_json=as_json, name_kernels=target is not None or kernel is not None)
        return
    places = _places(source, items, output)
    taken = [p for p in places if p.exists()]
    if taken and not force:  # all or nothing
        raise UsageError(
            "already exists", path=taken[0], hint="choose another place with -o, or pass --force"
        )
    for parent in {p.parent for p in places}:
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise cannot_write(parent, e) from None
    for item, place in zip(items, places, strict=True):
        write_new(place, item.data(), force=force)
    if as_json:
        objects = [{"path": str(p), **i.describe()} for i, p in zip(items, places, strict=True)]
        print(json.dumps({"schema_version": 1, "source": str(file), "objects": objects}))
    else:
        for place in places:
            print(place)


def _is_folder(output: Path | None) -> bool:
    """-o names a folder when it is one, or has no suffix."""
    return output is not None and (output.is_dir() or (not output.suffix and not output.is_file()))


def _places(source: Source, items: Sequence[Item], output: Path | None) -> list[Path]:
    """One path for each item, all different."""
    if output is not None and not _is_folder(output):
        return [output]
    folder = output or Path()
    several = len({i.bundle for i in items}) > 1
    out: dict[Path, None] = {}
    for i in items:
        stem = i.path.stem if i.bundle is None or i.target is not None else i.id
        if i.container == "AOTriton archive":
            stem = i.id
        parts = [_safe(stem), *([f"bundle{i.bundle}"] if several else []), _safe(i.target or "unknown")]
        place = folder / ("-".join(parts) + ".co")
        n = 2
        while place in out:
            place = folder / ("-".join([*parts, str(n)]) + ".co")
            n += 1
        out[place] = None
    return list(out)


def _safe(text: str) -> str:
    """A file name's part: entry names come from the file and may be paths."""
    return re.sub(r"[^A-Za-z0-9._+-]", "_", text).strip(".")[:120] or "object"


def _show(source: Source, items: Sequence[Item], *, as_json: bool, name_kernels: bool) -> None:
    from isaprof.codeobj.bundle_select import demangle
    from isaprof.views.palette import clean

    if as_json:
        body = {
            "schema_version": 1,
            "source": str(source.path),
            "container": source.container,
            "bundles": [_bundle(source, n) for n in range(len(source.bundles))],
            "objects": [i.describe() for i in items],
        }
        print(json.dumps(body))
        return
    print(clean(f"{source.path}: {source.container}"))
    shown: int | None = None
    for i in items:
        if i.bundle is not None and i.bundle != shown and source.bundles:
            shown = i.bundle
            b = source.bundles[shown]
            print(f"bundle {shown} at {b.offset:#x}: {b.what}, {b.size:,} bytes")
        if not i.size:
            continue
        what = "host code" if i.host else i.peek.payload
        if i.is_object and not i.host:
            n = len(i.kernels)
            version = "?" if i.peek.code_object_version is None else i.peek.code_object_version
            only = f": {i.kernels[0]}" if n == 1 and not name_kernels else ""
            what = f"code object v{version}, {n} kernel{'s' * (n != 1)}{only}"
        name = i.id if i.target is None else i.target
        place = f"  {i.path}" if i.bundle is None and i.path != source.path else ""
        print(clean(f"  {name:<24} {i.size:>10,} bytes  {what}{place}"))
        if name_kernels:
            for kernel, readable in demangle(i.kernels).items():
                print(clean(f"    {kernel}" + (f"  {readable}" if readable != kernel else "")))


def _bundle(source: Source, n: int) -> dict[str, object]:
    b = source.bundles[n]
    c = b.compression
    body: dict[str, object] = {"bundle": n, "offset": b.offset, "size": b.size, "compressed": c is not None}
    if c is not None:
        body |= {
            "version": c.version,
            "method": c.method,
            "header_size": c.header_size,
            "uncompressed_size": c.uncompressed_size,
            "hash": f"{c.hash:016x}",
        }
    return body
