"""The ``isaprof`` command: a thin layer on the Python API, one module a verb.

Results go to stdout, everything else to stderr. Only :func:`main` prints
errors and maps them to exit codes.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from isaprof.cli.failure import end_cleanly, ended_by, from_system, prepare_streams, printable
from isaprof.errors import BadInput, ExitCode, IsaprofError

#: verb -> module; each module has a function ``command`` whose docstring is the help
VERBS: dict[str, str] = {
    "run": "isaprof.cli.run",
    "import": "isaprof.cli.import_",
    "show": "isaprof.cli.show",
    "tui": "isaprof.cli.tui",
    "report": "isaprof.cli.report",
    "extract": "isaprof.cli.extract",
    "disasm": "isaprof.cli.disasm",
    "asm": "isaprof.cli.asm",
    "roundtrip": "isaprof.cli.roundtrip",
    "diff": "isaprof.cli.diff",
    "inspect": "isaprof.cli.inspect",
    "lint": "isaprof.cli.lint",
    "check": "isaprof.cli.check",
    "suggest": "isaprof.cli.suggest",
    "apply": "isaprof.cli.apply",
    "ab": "isaprof.cli.ab",
    "edit": "isaprof.cli.edit",
    "sim": "isaprof.cli.sim",
    "validate": "isaprof.cli.validate",
    "calibrate": "isaprof.cli.calibrate",
    "whatif": "isaprof.cli.whatif",
    "doctor": "isaprof.cli.doctor",
    "launch-template": "isaprof.cli.launch_template",
}

#: verbs whose ``quick(args)`` reads plain command lines; it returns None for what typer has to read
QUICK: dict[str, str] = {"roundtrip": "isaprof.cli.roundtrip_report"}


def main(argv: list[str] | None = None) -> None:
    """Entry point. Exits with a code of :class:`isaprof.errors.ExitCode`."""
    args = sys.argv[1:] if argv is None else argv
    prepare_streams()
    if argv is None:
        end_cleanly()
    try:
        result = import_module(QUICK[args[0]]).quick(args[1:]) if args and args[0] in QUICK else None
        if result is None:
            from isaprof.cli.app import build

            result = build(VERBS, import_module)(args=args, prog_name="isaprof", standalone_mode=False)
        code = result if isinstance(result, int) else ExitCode.OK
        sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # how typer hands on Ctrl-C
            code = _interrupted(as_json="--json" in args)
    except IsaprofError as e:
        code = _report(e, args)
    except KeyboardInterrupt:
        code = _interrupted(as_json="--json" in args)
    except BrokenPipeError:
        code = _reader_gone()
    except SystemExit as e:
        if not isinstance(e.__context__, BrokenPipeError):  # typer exits with 1 for these
            raise
        code = _reader_gone()
    except Exception as e:
        import typer

        # typer brings its own copy of click since 0.26; older ones use the package
        click_error = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")
        if isinstance(e, typer.Exit):
            code = e.exit_code
        elif isinstance(e, typer.Abort):
            code = _interrupted(as_json="--json" in args)
        elif isinstance(e, click_error):
            message = e.format_message()  # type: ignore[attr-defined]
            if message.endswith("is not readable."):  # typer looks at paths; the fault is the file's
                code = _report(BadInput(message, kind="unreadable"), args)
                sys.exit(int(code))
            e.show(file=sys.stderr)  # type: ignore[attr-defined]
            if "--json" in args:
                _print_error("usage", message, None)
            code = ExitCode.USAGE
        elif (problem := from_system(e)) is not None:
            code = _report(problem, args)
        else:
            raise
    try:
        sys.stdout.flush()
    except OSError:  # the reader has left, or the disk is full: said already
        _reader_gone()
    if argv is None and args and args[0] in QUICK:
        # taking the interpreter apart takes as long as a linker run
        sys.stderr.flush()
        os._exit(int(code))
    sys.exit(int(code))


def _reader_gone() -> int:
    """The reader of stdout (head, less) has left: no error of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK


def _interrupted(*, as_json: bool) -> int:
    code = ended_by()
    # CPython ends itself by SIGINT, whatever the exit code, where Ctrl-C came while a string was executed
    # (dataclasses are made so); evaluating another string makes it forget that
    eval("0")
    print(f"isaprof: {code.name.lower()}", file=sys.stderr)
    if as_json:
        _print_error(code.name.lower(), code.name.lower(), None)
    return code


def _report(e: IsaprofError, args: list[str]) -> int:
    from isaprof.cli.next_step import next_step

    hint = next_step(e, args)
    print(f"isaprof: {printable(str(e))}", file=sys.stderr)
    if hint:
        print(f"  try: {printable(hint)}", file=sys.stderr)
    if "--json" in args:
        _print_error(e.kind, str(e), hint)
    return e.exit_code


def _print_error(kind: str, message: str, hint: str | None) -> None:
    import json

    print(json.dumps({"schema_version": 1, "error": {"kind": kind, "message": message, "hint": hint}}))
