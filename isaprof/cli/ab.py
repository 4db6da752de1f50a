"""``isaprof ab``: two kernels against each other on the simulator."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from isaprof.ab.model import Result


def command(
    a: Annotated[Path, typer.Argument(metavar="A.co", help="Code object before the edit.")],
    b: Annotated[Path, typer.Argument(metavar="B.co", help="Code object after it.")],
    shape: options.Shape = None,
    kernel: Annotated[str | None, typer.Option(help="Kernel, where A has several.")] = None,
    kernel_b: Annotated[
        str | None, typer.Option("--kernel-b", help="Kernel of B (default: the name of A's).")
    ] = None,
    launch: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Launch file of A (default: beside the object, else built in)."),
    ] = None,
    launch_b: Annotated[
        Path | None, typer.Option("--launch-b", metavar="FILE", help="Launch file of B (default: A's).")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="With how many seeds to compare outputs.")] = 3,
    seed: options.FirstSeed = None,
    workgroups: Annotated[
        str, typer.Option(metavar="all|N|X,Y,Z", help="Workgroups to execute; only theirs is compared.")
    ] = "all",
    plugin: options.Plugins = None,
    fail_slower: Annotated[
        float | None,
        typer.Option("--fail-slower", metavar="PCT", help="Exit 1 where B's span is more than PCT % longer."),
    ] = None,
    hottest: options.ChangedLines = 20,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Directory for the two captures.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With -o: replace the captures of the first comparison there.")
    ] = False,
    as_json: options.AsJson = False,
    allow_lossy: options.AllowLossy = False,
    max_instructions: options.MaxInstructionsOfRun = None,
    target: options.Target = None,
) -> int:
    """Compare two kernels: both outputs, modelled cycles, and the lines that make the difference."""
    if output is not None and output.exists() and not output.is_dir():
        raise UsageError("is no directory", path=output, hint="-o names the directory for the captures")
    if fail_slower is not None and not fail_slower >= 0:
        raise UsageError(f"--fail-slower {fail_slower}: expected a percentage of at least 0")
    from isaprof.ab import run, source
    from isaprof.cli.objects import load_plugins, open_object
    from isaprof.cli.progress import Bar
    from isaprof.files import cannot_write, writable

    load_plugins(plugin)
    data, _, origin = open_object(a, target=target, kernel=kernel)
    one = source.load_a(origin.path, data, kernel=origin.kernel, launch=launch, target=origin.arch)
    data, _, origin = open_object(b, target=target, kernel=kernel_b)
    two = source.load_b(one, origin.path, data, kernel=origin.kernel, launch=launch_b, target=origin.arch)
    source.refuse_same_text(one, two)
    run.check_launches(one, two, shape, seeds)
    numbers = run.seed_list(one, seeds, seed)
    try:
        writable((output or Path(".")) / "A")
    except OSError as e:
        raise cannot_write(output or Path("."), e) from None
    with Bar() as bar:
        runs = [
            run.execute(
                s,
                shape,
                numbers,
                workgroups=workgroups,
                max_instructions=max_instructions,
                progress=bar.update,
            )
            for s in (one, two)
        ]
        paths = run.capture_paths((one, two), output or Path("."), replace=force and output is not None)
        saved = [run.save(r, path, force=force) for r, path in zip(runs, paths, strict=True)]
        result = run.put_together(*map(run.side, runs, saved), allow_lossy=allow_lossy)
    if as_json:
        from isaprof.views.ab import to_dict

        print(json.dumps({**to_dict(result), "slower": _slower(result, fail_slower)}))
    else:
        from isaprof.views.ab import render

        render(result, hottest=hottest)
        print()
        for line in next_commands(result):
            print(line)
        for path in saved:
            print(path)
    return _code(result, fail_slower)


def next_commands(result: Result) -> list[str]:
    """The commands that show the comparison, ready to paste."""
    pair = " ".join(shlex.quote(str(arm.capture)) for arm in (result.a, result.b))
    return [f"next: isaprof report {pair} -o ab.html", f"      isaprof tui {pair}"]


def _slower(result: Result, limit: float | None) -> dict[str, float | bool | None]:
    percent = result.span.percent
    return {
        "allowed_percent": limit,
        "percent": percent,
        "failed": limit is not None and percent is not None and percent > limit,
    }


def _code(result: Result, limit: float | None) -> int:
    if not result.correct:
        from isaprof.cli.next_step import CHECK

        print(f"isaprof: {result.problem}", file=sys.stderr)
        print(f"  try: {CHECK}", file=sys.stderr)
        return ExitCode.VERIFICATION_FAILED
    slower = _slower(result, limit)
    if slower["failed"]:
        print(
            f"isaprof: B is slower by {slower['percent']:.2f} % (span, {result.b.samples[0].provenance}); "
            f"--fail-slower allows {limit:g} %",
            file=sys.stderr,
        )
        return ExitCode.NO
    return ExitCode.OK
