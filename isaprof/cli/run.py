"""``isaprof run``: execute a kernel, verify it, and show where its cycles go."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from isaprof.cli import options
from isaprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.backends.protocol import RawCapture
    from isaprof.capture.model import Capture
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.launch.resolve import ResolvedLaunch


class BackendName(StrEnum):
    simulator = "simulator"
    rocprofv3 = "rocprofv3"


class Show(NamedTuple):
    """How the result is printed."""

    as_json: bool
    hottest: int
    all_lines: bool | None


def command(
    kernel_object: options.OptionalKernelObject = None,
    shape: options.Shape = None,
    kernel: options.Kernel = None,
    launch: options.Launch = None,
    seed: options.Seed = None,
    workgroups: Annotated[
        str, typer.Option(metavar="all|N|X,Y,Z", help="Workgroups to execute; only theirs is verified.")
    ] = "all",
    backend: Annotated[BackendName, typer.Option(help="Where to run.")] = BackendName.simulator,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Resolve everything, print what would be run, run nothing.")
    ] = False,
    plugin: options.Plugins = None,
    output: options.CaptureOutput = None,
    force: options.ReplaceCapture = False,
    hottest: Annotated[
        int, typer.Option("--hottest", metavar="N", min=0, help="How many of the hottest lines to list.")
    ] = 10,
    all_lines: Annotated[
        bool | None,
        typer.Option("--all/--brief", help="List every instruction, in code order (default: up to 300)."),
    ] = None,
    as_json: options.AsJson = False,
    max_instructions: options.MaxInstructions = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not compare the output.")] = False,
    target: options.Target = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="TABLE.toml", help="Calibration table written by isaprof calibrate."),
    ] = None,
    co_dir: Annotated[
        Path | None,
        typer.Option("--co-dir", metavar="DIR", help="Instead of KERNEL.co: choose as the driver does."),
    ] = None,
    list_candidates: Annotated[
        bool, typer.Option("--list", help="With --co-dir: list the candidates and why, run nothing.")
    ] = False,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="With --co-dir: only such rows of the manifest."),
    ] = None,
    cus: Annotated[
        int | None, typer.Option(min=1, help="With --co-dir: compute units of the GPU to choose for.")
    ] = None,
) -> int:
    """Execute a kernel, verify its output, and print the stall table."""
    if (kernel_object is None) == (co_dir is None):
        raise UsageError("give either KERNEL.co or --co-dir DIR")
    if co_dir is not None:
        from isaprof.cli.choose_object import pick_object, require, show

        pick, path, facts = pick_object(co_dir, shape, where or [], cus, quiet=list_candidates)
        if list_candidates:
            show(pick, facts, as_json=as_json)
            return ExitCode.OK
        kernel_object = require(pick, path, co_dir)
        shape = pick.shape
        kernel = kernel or (pick.chosen.row.kernel if pick.chosen else None)
    elif list_candidates or where or cus:
        raise UsageError("--list, --where and --cus go with --co-dir DIR")
    assert kernel_object is not None
    from isaprof.capture.place import default_path, may_write
    from isaprof.cli.objects import load_plugins, open_object
    from isaprof.launch.match import find

    data, co, origin = open_object(kernel_object, target=target, kernel=kernel)
    chosen = co.kernel(origin.kernel)
    load_plugins(plugin)
    resolved = find(chosen, co, origin.path, launch).resolve(shape, seed=seed)
    out = output or default_path(chosen.name, co.arch)
    may_write(out, force=force)
    how = Show(as_json, hottest, all_lines)
    if backend is BackendName.rocprofv3:
        if calibration is not None:
            raise UsageError("--calibration is for the simulator's timing model, not for a GPU")
        co_path = out.with_suffix(".co") if origin.embedded else origin.path
        if origin.embedded and not dry_run:
            _unpack(co_path, data)
        return _hardware(co, co_path, chosen, resolved, out, how, dry_run=dry_run, force=force)
    from isaprof.accuracy.tables import for_arch, read_tables
    from isaprof.backends.simulator import MAX_INSTRUCTIONS, Simulator

    simulator = Simulator(
        co,
        data,
        chosen,
        resolved,
        workgroups=workgroups,
        max_instructions=max_instructions or MAX_INSTRUCTIONS,
        verify=not no_verify,
        calibration=for_arch(read_tables([calibration] if calibration else []), co.arch, what="kernel"),
    )
    if dry_run:
        plan = {
            "backend": "simulator",
            "workgroups": simulator.selection.count,
            "launch": resolved.describe(),
        }
        print(json.dumps({"schema_version": 1, **plan}, indent=None if as_json else 1))
        return ExitCode.OK
    from isaprof.cli.progress import Bar

    with Bar() as bar:
        raw = simulator.capture(bar.update)
    return _finish(raw, output, how, force=force)


def _unpack(path: Path, data: bytes) -> None:
    """Write the object beside the capture: the runtime loads a file that is the object itself."""
    from isaprof.files import read_bytes, write_new

    if not (path.is_file() and read_bytes(path) == data):  # an earlier run's file serves again
        write_new(path, data)


def _hardware(
    co: CodeObject,
    path: Path,
    kernel: Kernel,
    resolved: ResolvedLaunch,
    out: Path,
    show: Show,
    *,
    dry_run: bool,
    force: bool,
) -> int:
    from isaprof.backends.rocprofv3 import Rocprofv3

    backend = Rocprofv3(co, path.absolute(), kernel, resolved, out.with_suffix(".rocprofv3").absolute())
    if dry_run:
        plan = {"schema_version": 1, **backend.describe()}
        if show.as_json:
            print(json.dumps(plan))
        else:
            print(json.dumps(plan["spec"], indent=1))
            print(plan["shell"])
        return ExitCode.OK
    from isaprof.cli.progress import Bar

    with Bar() as bar:
        raw = backend.capture(bar.update)
    return _finish(raw, out, show, force=force)


def _finish(raw: RawCapture, output: Path | None, show: Show, *, force: bool) -> int:
    """Save (``output`` None: a free default name), analyse, print; exit 5 where the output was wrong."""
    from dataclasses import asdict

    from isaprof.attribution.analyse import analyse
    from isaprof.capture import save, save_numbered
    from isaprof.cli import next_step

    meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
    if output is None:
        capture = save_numbered(meta, raw.tables, raw.code_objects)
    else:
        capture = save(output, meta, raw.tables, raw.code_objects, force=force)
    analysis = analyse(capture)
    verification = meta.get("verification") or {}
    if show.as_json:
        print(json.dumps(summary(capture, analysis)))
    else:
        from isaprof.views import table

        table.render(analysis, hottest=show.hottest, all_lines=show.all_lines)
        print(verdict(verification))
        print(capture.path)
    if verification.get("verified") is False:
        print(f"isaprof: verification failed: {verification.get('message')}", file=sys.stderr)
        print(f"  try: {next_step.CHECK}", file=sys.stderr)
        return ExitCode.VERIFICATION_FAILED
    return ExitCode.OK


def summary(capture: Capture, analysis: Analysis) -> dict[str, Any]:
    """The object that ``run --json`` prints (docs/cli.md)."""
    meta = capture.meta
    v = meta.get("verification") or {}
    causes = analysis.causes
    return {
        "schema_version": 1,
        "capture": str(capture.path),
        "provenance": analysis.provenance,
        "arch": analysis.arch,
        "kernel": analysis.kernel,
        "shape": (meta.get("launch") or {}).get("shape"),
        "verified": v.get("verified"),
        "max_abs_err": v.get("max_abs_err"),
        "max_rel_err": v.get("max_rel_err"),
        "cosine": v.get("cosine"),
        "cycles": analysis.span_cycles,
        "shares": {str(c): float(s) for c, s in zip(causes["cause"], causes["share"], strict=True)},
        "verification": v,
        "coverage": meta.get("coverage"),
        "warnings": meta.get("warnings", []),
    }


def verdict(v: dict[str, Any]) -> str:
    """One line on the output: verified or not, errors, how much was checked."""
    if v.get("verified") is None:
        return str(v.get("message") or "not verified")
    word = "verified" if v["verified"] else "NOT VERIFIED"
    parts = [f"{v['checked']:,} of {v['total']:,} elements checked"]
    if v.get("max_abs_err") is not None:
        parts.append(f"max abs error {v['max_abs_err']:.3g}")
        parts.append(f"max rel error {v['max_rel_err']:.3g} (of |ref|, at least {v['rel_floor']:.3g})")
    if v.get("cosine") is not None:
        parts.append(f"cosine {v['cosine']:.7f}")
    if v.get("tolerance"):
        parts.append(f"tolerance {v['tolerance']}")
    if not v["verified"]:
        parts.append(str(v.get("message")))
    return f"output {word}: " + ", ".join(parts)
