"""Only ``main`` prints errors: each kind has its exit code, its hint, and its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pytest
import typer

from isaprof import cli, errors
from isaprof.errors import ExitCode, IsaprofError


def all_errors(base: type[IsaprofError] = IsaprofError) -> list[type[IsaprofError]]:
    """The documented errors; packages derive their own, with other arguments, and inherit the code."""
    found = [base, *(e for sub in base.__subclasses__() for e in all_errors(sub))]
    return [e for e in found if e.__module__ == base.__module__]


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """One command ``go`` that raises or returns ``verb.outcome``."""
    module = ModuleType("isaprof_test_verb")

    def command(as_json: Annotated[bool, typer.Option("--json")] = False) -> int | None:
        """Go."""
        if isinstance(module.outcome, BaseException):
            raise module.outcome
        result: int | None = module.outcome
        return result

    module.command = command  # type: ignore[attr-defined]
    module.outcome = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(cli, "VERBS", {"go": module.__name__, "other": module.__name__})
    return module


def code_of(*arguments: str) -> int:
    with pytest.raises(SystemExit) as e:
        cli.main(list(arguments))
    assert isinstance(e.value.code, int)
    return e.value.code


@pytest.mark.parametrize("error", all_errors(), ids=lambda e: e.__name__)
def test_errors_exit_with_their_code(
    verb: ModuleType, error: type[IsaprofError], capsys: pytest.CaptureFixture[str]
) -> None:
    verb.outcome = error("it broke", path="k.co", offset=16, hint="isaprof doctor")
    assert code_of("go") == error.exit_code
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "isaprof: k.co at byte 0x10: it broke\n  try: isaprof doctor\n"


def test_an_error_in_json_is_one_object_on_stdout(
    verb: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    verb.outcome = errors.BadInput("it broke", path="k.co", kind="not_elf")
    assert code_of("go", "--json") == ExitCode.BAD_INPUT
    shown = json.loads(capsys.readouterr().out)
    assert shown == {
        "schema_version": 1,
        "error": {"kind": "not_elf", "message": "k.co: it broke", "hint": None},
    }


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (errors.BadInput("cut", path="a b/k.co", kind="truncated"), "isaprof extract FILE --list"),
        (errors.BadInput("absent", path="a b/k.co", kind="not_found"), "ls 'a b'"),
        (errors.BadInput("absent", kind="not_found"), None),
        (errors.UsageError("what?"), "isaprof go --help"),
        (errors.UsageError("K: 'x' is not an integer", kind="shape"), "--shape M=128"),
        (errors.EnvironmentProblem("no tool"), "isaprof doctor"),
        (errors.KernelFault("deadlock", kind="deadlock"), "isaprof check KERNEL.co"),
        (errors.KernelFault("v_new", kind="unimplemented"), "isaprof sim coverage"),
        (errors.VerificationFailed("wrong"), "isaprof check KERNEL.co"),
    ],
)
def test_an_error_without_a_hint_gets_that_of_its_kind(
    verb: ModuleType, capsys: pytest.CaptureFixture[str], error: IsaprofError, shown: str | None
) -> None:
    verb.outcome = error
    assert code_of("go") == error.exit_code
    said = capsys.readouterr().err
    assert ("try: " in said) == (shown is not None)
    assert shown is None or shown in said


@pytest.mark.parametrize("outcome", [None, *ExitCode])
def test_returned_codes_are_kept(verb: ModuleType, outcome: int | None) -> None:
    verb.outcome = outcome
    assert code_of("go") == (outcome or 0)


@pytest.mark.parametrize("arguments", [["nonsense"], ["go", "--nonsense"], ["go", "surplus"]])
def test_wrong_command_lines_are_usage_errors(
    verb: ModuleType, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of(*arguments) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err


def test_a_wrong_command_line_in_json(verb: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("go", "--json", "--nonsense") == ExitCode.USAGE
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "usage"
    assert "--nonsense" in error["message"]


PIPED = """
import sys, types
from isaprof import cli
def command() -> None:
    "Go."
    for i in range(int(sys.argv[1])):
        print("x" * 99)
module = types.ModuleType("isaprof_test_verb")
module.command = command
sys.modules[module.__name__] = module
cli.VERBS = {"go": module.__name__, "other": module.__name__}
cli.main(["go"])
"""


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_reader_that_has_left_is_no_error(lines: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", PIPED, str(lines)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_interruption(verb: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    verb.outcome = KeyboardInterrupt()
    assert code_of("go") == ExitCode.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_a_mistake_of_the_program_is_not_hidden(verb: ModuleType) -> None:
    verb.outcome = ZeroDivisionError("bug")
    with pytest.raises(ZeroDivisionError):
        cli.main(["go"])


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (PermissionError(13, "Permission denied", "/locked/k.co"), ExitCode.BAD_INPUT, "eacces"),
        (OSError(36, "File name too long", "aaa"), ExitCode.BAD_INPUT, "enametoolong"),
        (OSError(28, "No space left on device"), ExitCode.ENVIRONMENT, "enospc"),
        (MemoryError(), ExitCode.ENVIRONMENT, "out_of_memory"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "interrupted"),
    ],
)
def test_errors_of_the_system_are_one_message(
    verb: ModuleType, error: BaseException, code: ExitCode, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb.outcome = error
    assert code_of("go", "--json") == code
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["kind"] == kind
    assert err.startswith("isaprof: ")
    assert [x for x in err.splitlines() if not x.startswith("  try: ")] == err.splitlines()[:1]


def test_a_fault_of_isaprof_keeps_its_traceback(verb: ModuleType) -> None:
    verb.outcome = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug"):
        cli.main(["go"])


def test_names_in_messages_do_nothing_to_the_terminal(
    verb: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    verb.outcome = errors.BadInput("no kernel \x1b[2Jx", path="a\rb\x9bc", hint="isaprof run \x07")
    assert code_of("go") == 3
    assert capsys.readouterr().err == (
        "isaprof: a\\rb\\x9bc: no kernel \\x1b[2Jx\n  try: isaprof run \\x07\n"
    )


@pytest.mark.parametrize("args", [["inspect"], ["diff", "{same}"], ["suggest"]])
def test_names_in_results_do_nothing_to_the_terminal(
    tmp_path: Path, samples_dir: Path, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    good = samples_dir / "waitcnt_relax" / "waitcnt_relax.co"
    (tmp_path / "k.co").write_bytes(good.read_bytes().replace(b"waitcnt_relax", b"w\x1b[31m_relax!"))
    code_of(*(a.format(same=good) for a in args), str(tmp_path / "k.co"))
    out = capsys.readouterr().out
    assert "w\\x1b[31m_relax!" in out
    assert "\x1b" not in out


def test_endless_names_are_cut(verb: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    verb.outcome = errors.BadInput("no kernel " + 1_000_000 * "x" + "; it has: k")
    assert code_of("go") == 3
    err = capsys.readouterr().err
    assert len(err) < 5000
    assert err.endswith("; it has: k\n")


def isaprof_process(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", "isaprof", *arguments], stderr=subprocess.PIPE, check=False, **options
    )


def test_a_terminal_without_the_characters_gets_others() -> None:
    done = isaprof_process("--help", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Usage" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_behind_stdout_is_one_message() -> None:
    with open("/dev/full", "wb") as full:
        done = isaprof_process("doctor", stdout=full)
    assert done.returncode == ExitCode.ENVIRONMENT
    assert done.stderr.splitlines()[0] == b"isaprof: No space left on device"


def test_a_closed_stdout_is_no_error() -> None:
    done = isaprof_process("--version", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.co").write_bytes(b"x")
    (tmp_path / "k.co").chmod(0)
    assert code_of("run", str(tmp_path / "k.co"), "--json") == 3
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "unreadable"


@pytest.mark.parametrize(
    ("signal", "code"),
    [("SIGTERM", ExitCode.TERMINATED), ("SIGHUP", ExitCode.TERMINATED), ("SIGINT", ExitCode.INTERRUPTED)],
)
def test_a_signal_ends_it_with_its_code_and_nothing_left(tmp_path: Path, signal: str, code: ExitCode) -> None:
    """The signal comes while a string is executed: CPython then forgot the exit code of Ctrl-C."""
    (tmp_path / "verb.py").write_text(
        "import os, signal, tempfile\n"
        "def command() -> None:\n"
        "    with tempfile.TemporaryDirectory(dir='.'):\n"
        f"        exec('os.kill(os.getpid(), signal.{signal})')\n"
    )
    program = (
        "import sys; from isaprof import cli; sys.argv = ['isaprof', 'go']; "
        "cli.VERBS = {'go': 'verb', 'other': 'verb'}; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, f"isaprof: {code.name.lower()}\n".encode())
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("tmp")] == []
