"""The ``isaprof`` command: a thin layer on the Python API, one module a verb.

Results go to stdout, everything else to stderr. Only :func:`main` prints
errors and maps them to exit codes.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

from isaprof.errors import ExitCode, IsaprofError

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
    "suggest": "isaprof.cli.suggest",
    "apply": "isaprof.cli.apply",
    "ab": "isaprof.cli.ab",
    "edit": "isaprof.cli.edit",
    "doctor": "isaprof.cli.doctor",
    "launch-template": "isaprof.cli.launch_template",
}

#: verbs whose ``quick(args)`` reads plain command lines; it returns None for what typer has to read
QUICK: dict[str, str] = {"roundtrip": "isaprof.cli.roundtrip_report"}


def main(argv: list[str] | None = None) -> None:
    """Entry point. Exits with a code of :class:`isaprof.errors.ExitCode`."""
    args = sys.argv[1:] if argv is None else argv
    try:
        result = import_module(QUICK[args[0]]).quick(args[1:]) if args and args[0] in QUICK else None
        if result is None:
            from isaprof.cli.app import build

            result = build(VERBS, import_module)(args=args, prog_name="isaprof", standalone_mode=False)
        code = result if isinstance(result, int) else ExitCode.OK
        sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # how typer hands on Ctrl-C
            print("isaprof: interrupted", file=sys.stderr)
    except IsaprofError as e:
        _report(e, as_json="--json" in args)
        code = e.exit_code
    except KeyboardInterrupt:
        print("isaprof: interrupted", file=sys.stderr)
        code = ExitCode.INTERRUPTED
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
            print("isaprof: interrupted", file=sys.stderr)
            code = ExitCode.INTERRUPTED
        elif isinstance(e, click_error):
            e.show(file=sys.stderr)  # type: ignore[attr-defined]
            if "--json" in args:
                _print_error("usage", e.format_message(), None)  # type: ignore[attr-defined]
            code = ExitCode.USAGE
        else:
            raise
    sys.exit(int(code))


def _reader_gone() -> int:
    """The reader of stdout (head, less) has left: no error of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.OK


def _report(e: IsaprofError, *, as_json: bool) -> None:
    print(f"isaprof: {e}", file=sys.stderr)
    if e.hint:
        print(f"  try: {e.hint}", file=sys.stderr)
    if as_json:
        _print_error(e.kind, str(e), e.hint)


def _print_error(kind: str, message: str, hint: str | None) -> None:
    print(json.dumps({"schema_version": 1, "error": {"kind": kind, "message": message, "hint": hint}}))
