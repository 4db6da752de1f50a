"""``isaprof edit``: a kernel in the user's editor, every attempt assembled, verified and compared."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.errors import BadInput, ExitCode

if TYPE_CHECKING:
    from isaprof.edit.ladder import Ladder, Outcome
    from isaprof.edit.model import Step


def command(
    kernel_object: Annotated[Path, typer.Argument(metavar="KERNEL.co", help="Code object to start from.")],
    shape: Annotated[
        str | None, typer.Option(help="Sizes of the launch file's axes (the first time; kept afterwards).")
    ] = None,
    kernel: options.Kernel = None,
    launch: options.Launch = None,
    from_step: Annotated[
        int | None,
        typer.Option(
            "--from", metavar="N", min=0, help="Start from step N (default: the last that assembled)."
        ),
    ] = None,
    step: Annotated[
        Path | None, typer.Option("--step", metavar="FILE.s", help="Take this source as the next step.")
    ] = None,
    no_editor: Annotated[
        bool,
        typer.Option("--no-editor", help="Open nothing: begin a step, or evaluate the one that was begun."),
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="With how many seeds to verify (default 3).")
    ] = None,
    seed: options.FirstSeed = None,
    workgroups: Annotated[
        str | None, typer.Option(metavar="all|N|X,Y,Z", help="Workgroups to execute (default all).")
    ] = None,
    plugin: options.Plugins = None,
    hottest: options.ChangedLines = 10,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Default: ./KERNEL.edit")
    ] = None,
    as_json: options.AsJson = False,
    max_instructions: options.MaxInstructionsOfRun = None,
    target: options.Target = None,
) -> int:
    """Edit a kernel step by step: each attempt is assembled, verified, compared and kept."""
    from isaprof.cli.objects import load_plugins, open_object
    from isaprof.cli.progress import Bar
    from isaprof.edit import editor
    from isaprof.edit.ladder import Options, open_ladder

    # what can be refused is refused before anything is written
    argv = [] if no_editor or step is not None else editor.command()
    data, _, origin = open_object(kernel_object, target=target, kernel=kernel)
    ready = None if step is None else _text(step)
    load_plugins(plugin)
    directory = output or Path(f"{kernel_object.stem}.edit")
    asked = Options(shape, origin.kernel, launch, seeds, seed, workgroups, max_instructions, origin.arch)
    with ExitStack() as stack:
        with Bar() as bar:
            ladder = stack.enter_context(open_ladder(directory, origin.path, data, asked, bar.update))
        return _attempts(ladder, argv, ready, from_step, kernel_object, hottest=hottest, as_json=as_json)


def _text(path: Path) -> str:
    from isaprof.files import read_bytes

    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as e:
        raise BadInput(
            f"is no UTF-8 text: byte {e.object[e.start]:#04x} cannot stand there; expected assembly source",
            path=path,
            offset=e.start,
            kind="unreadable",
        ) from None


def _attempts(
    ladder: Ladder,
    argv: list[str],
    ready: str | None,
    from_step: int | None,
    kernel_object: Path,
    *,
    hottest: int,
    as_json: bool,
) -> int:
    """One attempt; on a terminal, more of them while they do not assemble."""
    from isaprof.edit import editor

    _tell_about_the_original(ladder)
    current = _next_step(ladder, ready, from_step)
    while current is not None:
        path = ladder.source_path(current)
        if argv:
            _say(f"{path}, from step {current.base}; the line `; step: ...` describes it in the ladder")
            editor.edit(argv, path)
        if not ladder.changed(current):
            return _unchanged(ladder, current, kernel_object, as_json=as_json, edited=bool(argv))
        try:
            outcome = _evaluate(ladder, current)
        except BadInput as e:
            if not (argv and e.kind == "assembler" and _ask(e)):
                raise
            current = ladder.begin(ladder.step(current.step))
            continue
        return _report(ladder, outcome, hottest=hottest, as_json=as_json)
    return _same_source(ladder, as_json=as_json)


def _next_step(ladder: Ladder, ready: str | None, from_step: int | None) -> Step | None:
    """The step to work on; None where the ready source is that of the step it would follow."""
    from isaprof.edit.model import without_description

    base = ladder.last_assembled if from_step is None else ladder.step(from_step)
    if ready is not None:
        if without_description(ready) == without_description(ladder.store.text(base.step)):
            return None
        return ladder.begin(base, ready)
    pending = ladder.open_step
    if from_step is None and pending is not None:
        _say(f"going on with {ladder.source_path(pending)}, which was begun and not evaluated")
        return pending
    last = ladder.steps[-1]
    if from_step is None and not last.status.assembled:
        _say(
            f"{last.name} {last.status.value}; starting from {base.name} (--from {last.step} goes on with it)"
        )
    return ladder.begin(base)


def _evaluate(ladder: Ladder, step: Step) -> Outcome:
    from isaprof.cli.progress import Bar

    with Bar() as bar:
        return ladder.evaluate(step, bar.update)


def _ask(error: BadInput) -> bool:
    """Show the assembler's message and ask whether to edit again; False off a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    _say(str(error))
    return typer.confirm("Edit again? (this attempt is kept)", default=True, err=True)


def _tell_about_the_original(ladder: Ladder) -> None:
    first = ladder.step(0)
    if first.verified is False:
        _say(f"the original is not right itself: {first.message}")
    elif first.message and len(ladder.steps) == 1:
        _say(f"the original: {first.message}")


def _unchanged(ladder: Ladder, step: Step, kernel_object: Path, *, as_json: bool, edited: bool) -> int:
    path = ladder.source_path(step)
    if edited:
        _say(
            f"{path} is unchanged: nothing to evaluate (an editor that returns at once needs its wait option)"
        )
    else:
        _say(f"edit {path}, then: isaprof edit {shlex.quote(str(kernel_object))} --no-editor")
    _print(ladder, step, str(path), as_json=as_json)
    return ExitCode.OK


def _same_source(ladder: Ladder, *, as_json: bool) -> int:
    _say("the source is unchanged: nothing to evaluate")
    _print(ladder, None, None, as_json=as_json)
    return ExitCode.OK


def _print(ladder: Ladder, step: Step | None, line: str | None, *, as_json: bool) -> None:
    from isaprof.views import ladder as view

    if as_json:
        print(json.dumps(view.to_dict(ladder.settings, ladder.steps, str(ladder.store.directory), step)))
    elif line is not None:
        print(line)


def _report(ladder: Ladder, outcome: Outcome, *, hottest: int, as_json: bool) -> int:
    from isaprof.edit.model import Status
    from isaprof.views import ladder as view

    if as_json:
        _print(ladder, outcome.step, None, as_json=True)
    else:
        view.render_outcome(outcome, hottest=hottest)
        print()
        view.render_ladder(ladder.steps)
        print()
        if outcome.previous is not None:
            pair = " ".join(shlex.quote(str(a.capture)) for a in (outcome.previous.a, outcome.previous.b))
            print(f"next: isaprof tui {pair}")
        print(ladder.store.directory / "ladder.md")
    if outcome.step.status is Status.WRONG:
        _say(f"{outcome.step.name} is wrong: {outcome.step.message}")
        return ExitCode.VERIFICATION_FAILED
    return ExitCode.OK


def _say(text: str) -> None:
    print(f"isaprof: {text}", file=sys.stderr)
