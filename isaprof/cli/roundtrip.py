"""``isaprof roundtrip``: to text and back, and proof that nothing was lost."""

from __future__ import annotations

from isaprof.cli import options


def command(
    paths: options.KernelObjects,
    target: options.TargetOfMany = None,
    as_json: options.AsJson = False,
) -> int:
    """Prove that each object survives disassembly and reassembly: identical, equivalent or different."""
    from isaprof.cli.roundtrip_report import run

    return run(paths, target, as_json=as_json)
