"""``isaprof apply``: make the edit of a transform, with its proof, or write nothing."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isaprof.cli import options
from isaprof.cli.estimates import Choice, EstimateChoice, gain, timing
from isaprof.errors import AnswerNo, BadInput, ExitCode, IsaprofError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isaprof.capture.model import Capture
    from isaprof.launch.file import LaunchFile
    from isaprof.transforms.apply import Applied, Rewrite
    from isaprof.transforms.model import Finding
    from isaprof.transforms.retime import Timing
    from isaprof.transforms.source import Source
    from isaprof.transforms.subject import Captured


def command(
    source: Annotated[Path, typer.Argument(metavar="KERNEL.s|KERNEL.co", help="Source or code object.")],
    transform: Annotated[
        str,
        typer.Argument(
            metavar="TRANSFORM[@LINE]",
            help="LINE: source line of a .s; listing line (as in `isaprof show`) of a .co; or 0xADDRESS. "
            "Without it: every place.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PATH", help="File to write, .s or .co.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print proof and diff, write nothing.")] = False,
    kernel: options.Kernel = None,
    target: options.SourceTarget = None,
    launch: options.Launch = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(help="Sizes to compare outputs on; may be repeated. Default: the launch file's."),
    ] = None,
    capture: Annotated[
        Path | None, typer.Option(metavar="CAPTURE", help="A capture of this kernel, for the estimate.")
    ] = None,
    estimate: EstimateChoice = Choice.AUTO,
    force: options.ReplaceOutput = False,
    as_json: options.AsJson = False,
) -> int:
    """Rewrite a kernel by one transform, if it is proven safe and computes the same."""
    from isaprof.cli.objects import open_object
    from isaprof.cli.progress import Bar
    from isaprof.files import read_bytes, write_new
    from isaprof.transforms.apply import prove_equal, rewrite
    from isaprof.transforms.source import Source, is_binary
    from isaprof.transforms.subject import parse_place

    _check_output(output, dry_run=dry_run, force=force)
    chosen, number, is_address = parse_place(transform)
    data = b"" if source.is_dir() else read_bytes(source)
    assembly = not source.is_dir() and not is_binary(data)
    if not assembly:
        data, _, origin = open_object(source, target=target, kernel=kernel)
        source, kernel = origin.path, origin.kernel
    text = Source.load(source, data)
    recorded = None if capture is None else _recorded(capture, text)
    say: Callable[[str], None] = (lambda line: None) if as_json else print
    result = rewrite(
        text,
        chosen,
        kernel,
        at=None if number is None else _selector(number, is_address, assembly=assembly),
        where="" if number is None else f"{number:#x}" if is_address else f"line {number}",
        place=_placer(assembly),
        analysis=None if recorded is None else recorded.analysis,
        timing=None if recorded is None else _timing(recorded.capture, estimate, source, launch),
        note=lambda applied: _print_step(applied, say, assembly=assembly),
    )
    for f in result.refused:
        why = next((f"{o.id} is not met" for o in f.obligations if not o.met), "advice only")
        print(f"isaprof: left as it is: {f.pc:#x} {f.text}: {why}", file=sys.stderr)
    if dry_run:
        say("")
        for line in result.diff(source.with_suffix(".s").name).splitlines():
            say(line)
        say("")
    if result.estimate is not None:
        say(f"all {len(result.applied)} edits together:")
        for line in gain(result.estimate):
            say(f"  {line}")
    file = _launch_file(result, source, launch)
    with Bar() as bar:
        equal = prove_equal(result, file, shape or (), bar.update)
    say("outputs before and after, on the simulator:")
    for line in equal:
        say(f"  {line}")
    if not dry_run and output is not None:
        body = result.after.text.encode() if output.suffix == ".s" else result.after.data
        write_new(output, body, force=force)
    if as_json:
        print(json.dumps(_to_dict(result, equal, source, None if dry_run else output, dry_run=dry_run)))
    elif dry_run:
        say("every obligation is met; nothing was written (--dry-run)")
    else:
        say(str(output))
    return ExitCode.OK


def _check_output(output: Path | None, *, dry_run: bool, force: bool) -> None:
    """Refuse now what could not be written after a long proof."""
    if output is None:
        if not dry_run:
            raise UsageError("no output file", hint="give -o KERNEL.s, -o KERNEL.co or --dry-run")
        return
    if output.suffix not in (".s", ".co"):
        raise UsageError(f"{output}: the name must end in .s (source) or .co (code object)")
    if not dry_run:
        from isaprof.files import may_write

        may_write(output, force=force)


def _selector(number: int, is_address: bool, *, assembly: bool) -> Callable[[Finding, Source], bool]:
    def at(finding: Finding, source: Source) -> bool:
        if is_address:
            return finding.pc == number
        return _line(finding, source, assembly) == number

    return at


def _placer(assembly: bool) -> Callable[[Finding, Source], str]:
    def place(finding: Finding, source: Source) -> str:
        line = _line(finding, source, assembly)
        return f"{finding.pc:#x}" if line is None else f"line {line} ({finding.pc:#x})"

    return place


def _line(finding: Finding, source: Source, assembly: bool) -> int | None:
    """The number that ``TRANSFORM@LINE`` has for a finding: source line of a .s, else listing line."""
    return source.line_of.get(finding.index) if assembly else finding.index


def _recorded(capture: Path, source: Source) -> Captured:
    from isaprof.codeobj.elf import CodeObject
    from isaprof.transforms.subject import open_capture

    found = open_capture(capture)
    ours = CodeObject.from_bytes(source.data)
    theirs = CodeObject.from_bytes(found.data, arch=found.capture.arch)
    if [s.data for s in ours.text] != [s.data for s in theirs.text]:
        raise BadInput("is a capture of other code", path=capture, kind="other_code")
    return found


def _timing(capture: Capture, estimate: Choice, source: Path, launch: Path | None) -> Timing:
    """What the edits are timed on, with the addresses of this launch file if it is that of the capture."""
    found = timing(capture, estimate)
    file = launch or source.with_name(f"{source.stem}.launch.toml")
    if file.is_file():
        with suppress(IsaprofError):
            found.prepare(file)
    return found


def _launch_file(result: Rewrite, path: Path, explicit: Path | None) -> LaunchFile:
    from isaprof.codeobj.elf import CodeObject
    from isaprof.launch.match import find

    co = CodeObject.from_bytes(result.before.data, path=path)
    chosen = co.kernel(result.kernel)
    try:
        return find(chosen, co, path, explicit)
    except BadInput as e:
        if e.kind != "no_launch_file":
            raise
        build = "" if path.suffix != ".s" else f"isaprof asm {path} && "
        obj = path.with_suffix(".co")
        beside = path.with_name(path.stem + ".launch.toml")
        raise AnswerNo(
            f"no launch file describes kernel {chosen.name}: that both objects compute the same cannot be "
            "tested, so nothing is written",
            path=path,
            kind="no_launch_file",
            hint=f"{build}isaprof launch-template {obj} --kernel {chosen.name} -o {beside}",
        ) from None


def _print_step(applied: Applied, say: Callable[[str], None], *, assembly: bool) -> None:
    f, text_line = applied.finding, applied.line
    at = f"line {f.index}, {f.pc:#x}"  # the listing line, as `show`, `suggest` and `ab` print it
    if text_line is not None:
        at = f"source line {text_line}, {at}" if assembly else f"{at} (line {text_line} of the disassembly)"
    say(f"{f.transform} at {at}: {f.title}")
    if f.estimate.total is not None:
        for line in gain(f.estimate):
            say(f"  {line}")
    for o in f.obligations:
        say(f"  {o.id} {'met' if o.met else 'NOT MET'}: {o.title}")
        for step in o.steps:
            say(f"    {step}")
    say("  re-assembled object:")
    for step in applied.proof:
        say(f"    {step}")


def _to_dict(
    result: Rewrite, equal: list[str], source: Path, output: Path | None, *, dry_run: bool
) -> dict[str, Any]:
    """The object that ``apply --json`` prints (docs/transforms.md)."""
    return {
        "schema_version": 1,
        "source": str(source),
        "output": None if output is None else str(output),
        "dry_run": dry_run,
        "kernel": result.kernel,
        "applied": [
            {**a.finding.to_dict(), "source_line": a.line, "proof": list(a.proof)} for a in result.applied
        ],
        "refused": [f.to_dict() for f in result.refused],
        "estimate": None if result.estimate is None else result.estimate.to_dict(),
        "outputs": equal,
        "diff": result.diff(source.with_suffix(".s").name),
    }
