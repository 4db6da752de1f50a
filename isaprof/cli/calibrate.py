"""``isaprof calibrate``: fit a device's constants to its traces."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from isaprof.cli import options
from isaprof.errors import BadInput, ExitCode, IsaprofError, UsageError


def command(
    traces: options.Traces,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="TABLE.toml", help="Table to write.")],
    name: Annotated[
        str | None, typer.Option("--id", help="Name of the table; it goes into captures made with it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing table.")] = False,
    as_json: options.AsJson = False,
) -> int:
    """Fit launch, cold-memory, cold-code and drain costs of the model to hardware traces of one device.

    Use other traces to judge the result: isaprof validate OTHER --calibration TABLE.toml
    """
    from isaprof.accuracy.calibrate import calibrate
    from isaprof.accuracy.tables import to_toml
    from isaprof.accuracy.validate import collect, measured, prepare
    from isaprof.cli.progress import Bar
    from isaprof.files import may_write, write_new

    if output.suffix != ".toml":
        raise UsageError("expected a name that ends in .toml", path=output, kind="bad_output")
    may_write(output, force=force)
    prepared = []
    for label, item in collect(traces):
        try:
            if isinstance(item, IsaprofError):
                raise item
            recording, addresses, notes = prepare(measured(item))
        except IsaprofError as e:
            print(f"isaprof: note: {label} is left out: {e.message}", file=sys.stderr)
            continue
        for note in notes:
            print(f"isaprof: note: {label}: {note}", file=sys.stderr)
        prepared.append((label, recording, addresses))
    if not prepared:
        raise BadInput(
            "no trace that can be replayed",
            path=traces[0],
            kind="nothing_compared",
            hint="isaprof validate TRACE   says why of each",
        )
    arch = prepared[0][1].capture.arch
    with Bar() as bar:
        _, facts, fits = calibrate(prepared, name or f"{arch}-{output.stem}", bar.update)
    remarks = [f"Fitted by isaprof calibrate to {label}" for label, _, _ in prepared]
    if not facts:
        raise BadInput(
            "no constant could be moved to a smaller error; nothing was written",
            path=traces[0],
            kind="nothing_to_fit",
        )
    write_new(output, to_toml(arch, name or f"{arch}-{output.stem}", facts, remarks).encode(), force=force)
    rows = [
        {
            "constant": f.name, "component": f.component.value, "before": f.before, "after": f.after,
            "error_before": f.error_before, "error_after": f.error_after, "left_out": list(f.left_out),
        }
        for f in fits
    ]  # fmt: skip
    if as_json:
        print(json.dumps({"schema_version": 1, "arch": arch, "table": str(output), "fits": rows}))
        return ExitCode.OK
    for f in fits:
        used = len(prepared) - len(f.left_out)
        without = f"; without {', '.join(f.left_out)}: colder" if f.left_out else ""
        print(
            f"{f.name}: {f.before:,} -> {f.after:,} cycles  ({f.component.value}: mean error "
            f"{f.error_before / used:.0%} -> {f.error_after / used:.0%}{without})"
        )
    print(output)
    return ExitCode.OK
