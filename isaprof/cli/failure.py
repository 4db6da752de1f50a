"""What is left to say when something fails that no command foresaw, and how it is said.

Messages hold names out of untrusted files and paths: nothing of them may act
on the terminal.
"""

from __future__ import annotations

import errno
import io
import os
import sys

from isaprof.errors import BadInput, EnvironmentProblem, ExitCode, IsaprofError

#: longer messages are cut: a name out of a file may be as long as the file
MAX_MESSAGE = 4000
#: errors of the machine, not of a file
_MACHINE = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)


def printable(text: str) -> str:
    """``text`` with what a terminal would act on escaped, line breaks kept, cut to :data:`MAX_MESSAGE`."""
    if len(text) > MAX_MESSAGE:
        text = f"{text[: MAX_MESSAGE // 2]} [...] {text[-MAX_MESSAGE // 4 :]}"
    return escaped(text)


def escaped(text: str) -> str:
    """``text`` whole, with what a terminal would act on escaped, line breaks kept."""
    return "\n".join(
        line
        if line.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
        for line in text.split("\n")
    )


def say(text: str = "") -> None:
    """``print`` for results that hold names or text out of files: nothing in them acts on the terminal."""
    print(escaped(text))


def prepare_streams() -> None:
    """Output never fails for a character that the terminal's encoding lacks, nor for a closed stream."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with the descriptor closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace" if name == "stderr" else "replace")


_signals: list[int] = []


def end_cleanly() -> None:
    """SIGTERM and SIGHUP end the program as Ctrl-C does: what it has begun to write is removed.

    A signal that the caller has it ignore (nohup) stays ignored; the second one ends it at once.
    """
    import signal

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        _signals.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def ended_by() -> ExitCode:
    """The exit code of an interruption: by Ctrl-C, or by a signal of :func:`end_cleanly`."""
    return ExitCode.TERMINATED if _signals else ExitCode.INTERRUPTED


def from_system(e: Exception) -> IsaprofError | None:
    """The message for an error of the system; None where ``e`` is a fault of isaprof."""
    if isinstance(e, MemoryError):
        return EnvironmentProblem("out of memory", kind="out_of_memory")
    if not isinstance(e, OSError) or e.errno is None:
        return None
    path = os.fsdecode(e.filename) if isinstance(e.filename, str | bytes) else None
    kind = errno.errorcode.get(e.errno, "os_error").lower()
    message = e.strerror or str(e)
    if e.errno in _MACHINE:
        return EnvironmentProblem(message, path=path, kind=kind)
    return BadInput(message, path=path, kind=kind)
