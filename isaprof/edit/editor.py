"""The user's editor on one file."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from isaprof.errors import EnvironmentProblem, UsageError


def command(environment: Mapping[str, str] | None = None) -> list[str]:
    """``$VISUAL``, else ``$EDITOR``, as an argument list.

    Raises EnvironmentProblem where neither is set, UsageError where the
    variable is no command line.
    """
    env = os.environ if environment is None else environment
    for name in ("VISUAL", "EDITOR"):
        if text := env.get(name, "").strip():
            try:
                return shlex.split(text)
            except ValueError as e:
                raise UsageError(f"${name} is no command line: {e}: {text}", kind="editor") from None
    raise EnvironmentProblem(
        "no editor: neither $VISUAL nor $EDITOR is set",
        kind="no_editor",
        hint="EDITOR=vim isaprof edit ...   or, with another program: isaprof edit ... --no-editor",
    )


def edit(argv: list[str], path: Path) -> None:
    """Run the editor on ``path`` and wait for it.

    Ctrl-C belongs to the editor meanwhile. Raises EnvironmentProblem where it
    cannot be started or ends with an error; the file is left as it is then.
    """
    try:
        with _deaf():
            code = subprocess.call([*argv, str(path)])
    except OSError as e:
        raise EnvironmentProblem(
            f"the editor cannot be started: {argv[0]}: {e.strerror or e}",
            kind="no_editor",
            hint="EDITOR=vim isaprof edit ...",
        ) from None
    if code != 0:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        raise EnvironmentProblem(
            f"the editor {how}; {path} is kept as it is and was not evaluated",
            kind="editor_failed",
            hint="run the same command again to go on with it",
        )


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignore SIGINT here, not in the child: a handler, unlike SIG_IGN, is not inherited by exec."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
