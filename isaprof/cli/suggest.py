"""``isaprof suggest``: which documented rewrites apply to a kernel, and what they are worth."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.cli.estimates import APART, Choice, EstimateChoice, gain, timing
from isaprof.cli.failure import say
from isaprof.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from isaprof.transforms.model import Finding
    from isaprof.transforms.subject import Subject


def command(
    subject: Annotated[
        Path,
        typer.Argument(metavar="CAPTURE|KERNEL.co|KERNEL.s", help="What to look at; a capture has cycles."),
    ],
    kernel: options.Kernel = None,
    target: options.SourceTarget = None,
    estimate: EstimateChoice = Choice.AUTO,
    launch: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Launch file of a capture, for the addresses.")
    ] = None,
    shape: Annotated[str | None, typer.Option(help="Shape that was recorded.")] = None,
    as_json: options.AsJson = False,
) -> int:
    """List the rewrites that apply to a kernel, best first, with evidence, proof and expected gain."""
    from isaprof.transforms.subject import Subject
    from isaprof.transforms.suggest import limits_text, suggest

    opened = Subject.open(subject, kernel, target)
    for note in opened.notes:
        print(f"isaprof: note: {note}", file=sys.stderr)
    recorded = opened.capture
    if recorded is None and (launch is not None or shape is not None):
        raise UsageError(
            "--launch and --shape are for a capture: they say where its waves' addresses come from",
            hint="isaprof suggest CAPTURE --launch FILE",
        )
    found = suggest(opened.context, None if recorded is None else timing(recorded, estimate, launch, shape))
    if as_json:
        print(json.dumps(found.to_dict(opened)))
        return ExitCode.OK
    context = opened.context
    label = f", {found.provenance} cycles" if found.provenance else ""
    say(f"{context.kernel.name}  {context.co.arch}{label}")
    for number, finding in enumerate(found.findings, 1):
        say()
        _print(number, finding, opened)
    if sum(f.estimate.span is not None for f in found.findings) > 1:
        say(f"\n{APART}")
    if not found.findings:
        say("\nNo transform of the catalogue applies.")
    if not any((f.estimate.expected or 0) > 0 for f in found.findings):
        say()
        say("\n".join(limits_text(found)))
    return ExitCode.OK


def _print(number: int, f: Finding, subject: Subject) -> None:
    from isaprof.transforms import discover

    transform = discover()[f.transform]
    say(f"{number}. {f.transform}: {f.title}")
    source = subject.source and subject.source.line_of.get(f.index)
    say(f"   at {f'source line {source}, ' if source else ''}line {f.index}, {f.pc:#x} {f.text}")
    say(f"   {transform.what}")
    for e in f.evidence:
        say(f"   - {e}")
    for line in gain(f.estimate):
        say(f"   {line}")
    say(f"   published: {transform.published}")
    for o in f.obligations:
        say(f"   {o.id} {'met' if o.met else 'NOT MET'}: {o.title}")
        for step in o.steps:
            say(f"       {step}")
    if f.edit is None and f.rewritten:
        say("   rewritten:")
        for line in f.rewritten:
            say(f"     {line}")
    say(f"   next: {subject.command(f)}")
