"""``isaprof lint``: is this code legal, before it is launched?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isaprof.cli import options
from isaprof.errors import BadInput, ExitCode

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject
    from isaprof.lint import Finding, Report

_SHOWN = 8  #: further places of a warning that are listed


def command(
    subject: Annotated[
        Path,
        typer.Argument(metavar="K.s|K.co", help="Assembly source, code object, or a file that holds one."),
    ],
    kernel: Annotated[str | None, typer.Option("--kernel", help="Only this kernel; default: all.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="ORIGINAL.co", help="Same target, symbols and kernarg layout as this?"
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="GPU of minimal ELF files; of containers the object for it."),
    ] = None,
    as_json: options.AsJson = False,
) -> int:
    """Check a kernel for illegal code: waits, hazards, registers, LDS, branches, offsets. Errors exit 1."""
    from isaprof.lint import Severity
    from isaprof.lint.to_dict import report_dict

    original = None if against is None else _original(against, target, kernel)
    report = _report(subject, kernel, target, original)
    if as_json:
        print(json.dumps(report_dict(report)))
    else:
        _print(report)
    return ExitCode.NO if report.count(Severity.ERROR) else ExitCode.OK


def _report(subject: Path, kernel: str | None, target: str | None, original: CodeObject | None) -> Report:
    from isaprof.cli.objects import open_object
    from isaprof.files import read_bytes
    from isaprof.lint import lint_object, lint_source

    data = b"" if subject.is_dir() else read_bytes(subject)
    if not subject.is_dir() and (subject.suffix.lower() in (".s", ".asm") or _is_text(data)):
        try:
            text = data.decode()
        except UnicodeDecodeError as e:
            raise BadInput(f"is no text: {e}", path=subject, kind="encoding") from None
        return lint_source(text, path=subject, kernel=kernel, original=original)
    data, _, origin = open_object(subject, target=target, kernel=kernel)
    return lint_object(
        data, path=origin.label, arch=origin.arch, kernel=origin.kernel if kernel else None, original=original
    )


def _is_text(data: bytes) -> bool:
    """Sources hold a target directive; no container does in its first bytes."""
    head = data[:4096]
    return b"\0" not in head and (b".amdgcn_target" in data or b"isaprof.mcpu" in head)


def _original(path: Path, target: str | None, kernel: str | None) -> CodeObject:
    from isaprof.cli.objects import open_object

    return open_object(path, target=target, kernel=kernel)[1]


def _print(report: Report) -> None:
    from isaprof.lint import Severity

    for f in report.findings:
        _finding(report, f)
    for u in report.unjudged:
        where = (
            "" if u.first.pc is None else f", first at {_place(report, u.line, u.first.pc)} {u.first.text}"
        )
        kernel = f" [{u.kernel}]" if len(report.kernels) > 1 else ""
        print(f"no rule: {u.message}: {u.count} x{where}{kernel}")
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    unjudged = sum(u.count for u in report.unjudged)
    kernels = "1 kernel" if len(report.kernels) == 1 else f"{len(report.kernels)} kernels"
    print(
        f"{report.path}: {report.target}, {kernels}, {report.instructions} instructions: {errors} errors, "
        f"{warnings} warnings, {unjudged} without a rule"
    )


def _place(report: Report, line: int | None, pc: int | None) -> str:
    if line is not None:
        return f"{report.path}:{line}" if pc is None else f"{report.path}:{line} {pc:#x}"
    return report.path if pc is None else f"{pc:#x}"


def _finding(report: Report, f: Finding) -> None:
    kernel = f" [{f.kernel}]" if len(report.kernels) > 1 and f.kernel else ""
    text = "" if f.text is None else f" {f.text}"
    print(f"{f.severity.value} {f.rule} {_place(report, f.line, f.pc)}{text}{kernel}")
    print(f"  {f.message}")
    if f.also:
        shown = ", ".join(
            _place(report, s.line, s.pc) if s.line is None else str(s.line) for s in f.also[:_SHOWN]
        )
        more = f" and {len(f.also) - _SHOWN} more" if len(f.also) > _SHOWN else ""
        print(f"  also at {shown}{more}")
    if f.path:
        steps = (
            f"{'' if s.line is None else f'line {s.line} '}{s.pc:#x} {s.text} ({s.role})" for s in f.path
        )
        print("  path: " + " -> ".join(steps))
    if f.why:
        print(f"  why: {f.why}")
    if f.source:
        print(f"  rule from: {f.source}")
    print()
